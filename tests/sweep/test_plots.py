#!/usr/bin/env python3
"""The plots of `gputally sweep plot`: the printed text, and the positions of boxes, violins and points in the pixels.

Expected values are computed by hand for the sixteen rows below. Positions in a picture follow from its frame, which is found in
the pixels, and from the range of the data plus a twentieth on each side.
"""
import os
import struct
import sys
import zlib

from tests.common.harness import Case, files_under, run, run_cases

# threads, channel, rank, time_diff_us
ROWS = [(512, 42, 1, 43), (512, 42, 0, 42), (512, 28, 1, 29), (512, 28, 0, 28), (256, 42, 1, 26.25), (512, 42, 1, 26.25),
        (256, 42, 0, 25.75), (512, 42, 0, 25.75), (256, 28, 1, 24.25), (512, 28, 1, 24.25), (256, 28, 0, 23.75),
        (512, 28, 0, 23.75), (256, 42, 1, 22), (256, 42, 0, 21), (256, 28, 1, 15), (256, 28, 0, 14)]
PRINTED = """\
  256 threads: mean=21.50us, median=22.88us, max=26.25us, n=8
  512 threads: mean=30.25us, median=27.12us, max=43.00us, n=8
  28ch: mean=22.75us, median=24.00us, max=29.00us, n=8
  42ch: mean=29.00us, median=26.00us, max=43.00us, n=8
  Rank 0: mean=25.50us, median=24.75us, max=42.00us, n=8
  Rank 1: mean=26.25us, median=25.25us, max=43.00us, n=8
""".splitlines()
SIZES = {"variance_by_threads_boxplot.png": (10, 6), "variance_by_channels_boxplot.png": (12, 6),
         "variance_by_ranks_boxplot.png": (14, 6), "variance_violin_combined.png": (20, 6),
         "variance_thread_channel_interaction.png": (12, 7)}
# file: (fill, first quartile, third quartile, median, whiskers, outliers) of each box from left to right
BOXES = {
    "variance_by_threads_boxplot.png": [((0xad, 0xd8, 0xe6), 19.5, 24.625, 22.875, (14, 26.25), []),
                                        ((0xf0, 0x80, 0x80), 25.375, 32.25, 27.125, (23.75, 42), [43])],
    "variance_by_channels_boxplot.png": [((0xe6, 0xf2, 0xff), 21.5625, 25.1875, 24, (21.5625, 29), [14, 15]),
                                         ((0x99, 0xcc, 0xff), 24.8125, 30.1875, 26, (21, 30.1875), [42, 43])],
    "variance_by_ranks_boxplot.png": [((0x44, 0x01, 0x54), 23.0625, 26.3125, 24.75, (21, 28), [14, 42])],
}
FRAME, MEDIAN, EDGE, WHITE = (0xcc, 0xcc, 0xcc), (0xff, 0x7f, 0x0e), (0x26, 0x26, 0x26), (255, 255, 255)


class Png:
    """The pixels of an 8-bit RGB picture."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        assert data[:8] == b"\x89PNG\r\n\x1a\n", "not a PNG"
        at, packed = 8, b""
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at:at + 8])
            body = data[at + 8:at + 8 + length]
            assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body), "CRC"
            if kind == b"IHDR":
                self.width, self.height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
                assert (depth, colour, interlaced) == (8, 2, 0), "not 8-bit RGB"
            elif kind == b"IDAT":
                packed += body
            at += 12 + length
        raw, stride = zlib.decompress(packed), 3 * self.width
        self.rows, before = [], bytes(stride)
        low, high = (int.from_bytes(bytes([bits]) * stride, "big") for bits in (0x7f, 0x80))
        for y in range(self.height):
            kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
            if kind == 2:  # all bytes at once: the sums of the lower seven bits, and the highest bits
                one, other = int.from_bytes(line, "big"), int.from_bytes(before, "big")
                line = ((one & low) + (other & low) ^ (one ^ other) & high).to_bytes(stride, "big")
            for i in range(stride if kind not in (0, 2) else 0):
                left = line[i - 3] if i >= 3 else 0
                up, corner = before[i], before[i - 3] if i >= 3 else 0
                if kind == 4:
                    guess = left + up - corner
                    nearest = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
                else:
                    nearest = left if kind == 1 else (left + up) // 2
                line[i] = (line[i] + nearest) & 255
            self.rows.append(bytes(line))
            before = self.rows[-1]

    def at(self, x, y):
        x, y = int(x), int(y)
        return tuple(self.rows[y][3 * x:3 * x + 3])

    def frame(self):
        """Left, top, right and bottom of the frame: the columns and rows that are mostly of its colour."""
        def near(pixel):
            return all(abs(a - b) < 24 for a, b in zip(pixel, FRAME))
        columns = [x for x in range(self.width) if sum(near(self.at(x, y)) for y in range(0, self.height, 16)) > self.height / 32]
        rows = [y for y in range(self.height) if sum(near(self.at(x, y)) for x in range(0, self.width, 16)) > self.width / 32]
        return min(columns), min(rows), max(columns), max(rows)


class Places:
    """Positions of values in a picture of one plot."""

    def __init__(self, picture, x_range, y_range):
        self.left, self.top, self.right, self.bottom = picture.frame()
        self.x_range, self.y_range = x_range, y_range

    def x(self, value):
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * (self.right - self.left)

    def y(self, value):
        low, high = self.y_range
        return self.bottom - (value - low) / (high - low) * (self.bottom - self.top)


def widened(low, high):
    return low - (high - low) / 20, high + (high - low) / 20


def close(pixel, colour, by=40):
    return all(abs(a - b) <= by for a, b in zip(pixel, colour))


def expect(picture, x, y, colour, what, by=40):
    """The colour is within two pixels above or below the position: lines are one to two pixels wide."""
    if any(close(picture.at(x, y + dy), colour, by) for dy in (-2, -1, 0, 1, 2)):
        return []
    return [f"{what}: no {colour} at {x:.0f},{y:.0f} but {picture.at(x, y)}"]


def write_csv(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write("threads,channel,rank,kernel_name,kernel_time_min_us,kernel_time_max_us,time_diff_us\r\n")
        for threads, channel, rank, time in rows:
            file.write(f"{threads},{channel},{rank},\"K<1, 2>\",1,2,{float(time)}\r\n")


def plot(binary, folder, rows, *options):
    write_csv(os.path.join(folder, "top.csv"), rows)
    return run([binary, "sweep", "plot", "--csv-path", "top.csv", *options], cwd=folder)


def check_boxes(folder, name, boxes, count):
    picture, problems = Png(os.path.join(folder, "plots", name)), []
    if (picture.width, picture.height) != tuple(100 * side for side in SIZES[name]):
        problems.append(f"{picture.width} x {picture.height} pixels")
    places = Places(picture, (-0.5, count - 0.5), widened(14, 43))
    for i, (fill, low, high, median, whiskers, outliers) in enumerate(boxes):
        inside = places.x(i - 0.2)  # within the box, clear of whiskers and grid
        for value, colour in ((low + 0.4, fill), (high - 0.4, fill), (high + 0.4, WHITE), (low - 0.4, WHITE), (median, MEDIAN)):
            problems += expect(picture, inside, places.y(value), colour, f"{name}, box {i}, {value}")
        for end in whiskers:
            problems += expect(picture, places.x(i - 0.1), places.y(end), EDGE, f"{name}, whisker of box {i}")
        radius = 4 / 72 * 100
        for value in outliers:
            for dy in (radius, -radius):
                problems += expect(picture, places.x(i), places.y(value) + dy, EDGE, f"{name}, outlier {value} of box {i}", 90)
        beyond = max(whiskers[1], *outliers, high) if outliers else whiskers[1]
        if beyond < 42:
            problems += expect(picture, places.x(i - 0.05), places.y(beyond + 1), WHITE, f"{name}, above box {i}")
    return problems


def check_printed(binary, folder):
    done = plot(binary, folder, ROWS, "--dpi", "30")
    lines = [line for line in done.stdout.splitlines() if "mean=" in line]
    wanted = sorted(["top.csv"] + ["plots/" + name for name in SIZES])
    return done.problems() + ([f"printed {lines}"] if lines != PRINTED else []) + (
        [f"files {files_under(folder)}"] if files_under(folder) != wanted else []) + ([done.stderr] if done.stderr else [])


def check_box_plots(binary, folder):
    problems = plot(binary, folder, ROWS, "--dpi", "100").problems()
    for name, boxes in BOXES.items():
        problems += check_boxes(folder, name, boxes, 2)
    return problems


def check_violins(binary, folder):
    """The first of three panels: its frame is the leftmost; widths from the density of the eight values of 256 threads."""
    problems = plot(binary, folder, ROWS, "--dpi", "100").problems()
    picture = Png(os.path.join(folder, "plots", "variance_violin_combined.png"))
    columns = [x for x in range(picture.width) if sum(close(picture.at(x, y), FRAME, 24) for y in range(0, 600, 4)) > 75]
    places = Places(picture, (-0.5, 1.5), widened(14, 43))
    edges = [columns[i] for i in range(len(columns)) if i == 0 or columns[i] - columns[i - 1] > 50]
    if len(edges) != 6:
        return problems + [f"{len(edges)} vertical lines of frames, not 6: {columns}"]
    places.left, places.right = edges[0], edges[1] + 1
    fill = tuple(round(255 - 0.7 * (255 - part)) for part in (0xad, 0xd8, 0xe6))
    for index, density in ((0, 0.03353786846201143), (50, 0.05588865939988276), (80, 0.08205241375770095)):
        value = 14 + 12.25 * index / 99 + (0.15 if index == 0 else 0)
        half = 0.25 * density / 0.08205241375770095
        for side in (-1, 1):
            problems += expect(picture, places.x(side * (half - 0.02)), places.y(value), fill, f"violin at {value}")
            if not close(picture.at(places.x(side * (half + 0.025)), places.y(value)), WHITE, 20):
                problems.append(f"violin at {value} is too wide")
    for value in (14, 26.25, 21.5, 22.875):
        problems += expect(picture, places.x(0.1), places.y(value), (0x1f, 0x77, 0xb4), f"line of the violin at {value}")
    return problems


def check_points(binary, folder, options, x_range, y_range, points):
    problems = plot(binary, folder, [row for row in ROWS if row[:2] != (512, 28)], "--dpi", "100", *options).problems()
    picture = Png(os.path.join(folder, "plots", "variance_thread_channel_interaction.png"))
    places = Places(picture, widened(*x_range), widened(*y_range))
    for x, y, colour in points:
        if not close(picture.at(places.x(x), places.y(y)), colour, 20):
            problems.append(f"no point at {x}, {y} but {picture.at(places.x(x), places.y(y))}")
    return problems


def check_skipped_rows(binary, folder):
    with open(os.path.join(folder, "top.csv"), "w", encoding="utf-8") as file:
        file.write("rank,time_diff_us,threads,channel\n0,1,256,28\n0,2,many,28\n0,,256,28\n0,3,256,28\n0.5,3,256,28\n")
    done = run([binary, "sweep", "plot", "--csv-path", "top.csv", "--dpi", "20"], cwd=folder)
    wanted = ["row 2: threads is not an integer", "row 3: time_diff_us is not a time", "row 5: rank is not an integer"]
    reported = [line.partition("Skipping row due to error: top.csv, ")[2] for line in done.stderr.splitlines()]
    return done.problems() + ([f"reported {reported}"] if reported != wanted else []) + (
        [] if "  28ch: mean=2.00us, median=2.00us, max=3.00us, n=2" in done.stdout else [done.stdout])


def check_failure(binary, folder, text, message):
    if text is not None:
        with open(os.path.join(folder, "top.csv"), "w", encoding="utf-8") as file:
            file.write(text)
    done = run([binary, "sweep", "plot", "--csv-path", "top.csv"], cwd=folder)
    left = files_under(folder)
    return ([] if done.code == 1 else [f"exit code {done.code}"]) + (
        [] if message in done.stderr else [f"said {done.stderr!r}"]) + ([f"left {left}"] if left not in ([], ["top.csv"]) else [])


def check_full_disk(binary, folder):
    write_csv(os.path.join(folder, "top.csv"), ROWS)
    done = run([binary, "sweep", "plot", "--csv-path", "top.csv"], cwd=folder, file_size_limit=20000)
    left = files_under(folder)
    return ([] if done.code == 1 and "cannot write" in done.stderr else [f"exit code {done.code}: {done.stderr}"]) + (
        [f"left {left}"] if left != ["top.csv"] else [])


HEADER = "threads,channel,rank,time_diff_us\n"
BLUE, ORANGE = (0x1f, 0x77, 0xb4), (0xff, 0x7f, 0x0e)
CASES = [
    Case("printed text and files", check_printed),
    Case("boxes, whiskers and outliers", check_box_plots),
    Case("violins", check_violins),
    # 512 threads have no row with 28 channels here: one point, and 0 with --compat
    Case("points of the interaction plot", check_points, (), (28, 42), (19.25, 34.25),
         [(28, 19.25, BLUE), (42, 23.75, BLUE), (42, 34.25, ORANGE), (35, 21.5, BLUE)]),
    Case("points with --compat", check_points, ("--compat",), (28, 70), (0, 34.25),
         [(28, 19.25, BLUE), (42, 23.75, BLUE), (42, 34.25, ORANGE), (28, 0, ORANGE), (56, 0, ORANGE), (70, 0, ORANGE)]),
    Case("invalid rows", check_skipped_rows),
    Case("no file", check_failure, None, "gputally: CSV file not found: top.csv"),
    Case("no column", check_failure, "threads,channel,time_diff_us\n1,2,3\n", "gputally: top.csv: no column rank"),
    Case("no rows", check_failure, HEADER, "gputally: top.csv: no row has threads, channel, rank and time_diff_us"),
    Case("no valid row", check_failure, HEADER + "a,b,c,d\n", "gputally: top.csv: no row has"),
    Case("too many settings", check_failure, HEADER + "".join(f"{i},{i},0,1\n" for i in range(1001)),
         "1001 values of threads and 1001 of channels are too many to plot"),
    Case("a full disk", check_full_disk),
]


if __name__ == "__main__":
    sys.exit(run_cases(__doc__, CASES))
