#!/usr/bin/env python3
"""The page of `gputally batch` in a real browser, compared with the CSV files of the same report.

    python3 -m tests.page.test_batch --bin build/gputally [ONLY]
"""
import json
import os
import sys
import tempfile

from tests.page.browser import Browser, require_browser
from tests.common.harness import read_csv, run, run_test_functions
from tests.page.pack import read_page
from tests.pytorch import generate_trace

PARTS = ["computation_time", "exposed_comm_time", "exposed_memcpy_time", "idle_time"]
LABELS = ["computation", "exposed communication", "exposed copies", "idle"]


def write_ranks(folder, ranks, name="run"):
    os.makedirs(os.path.join(folder, name))
    for place, rank in enumerate(ranks):
        generate_trace.write_trace(os.path.join(folder, name, f"t_rank_{rank}.json"), generate_trace.Options(seed=place + 1))


def make(binary, folder, *options):
    return run([binary, "batch", "-b", ".", "-f", "rank_", "--output_html", "page.html", "--output_csvs_dir", "csvs", *options], cwd=folder)


def sheet(folder, name):
    headings, rows = read_csv(os.path.join(folder, "csvs", f"{name}.csv"))
    return [dict(zip(headings, row)) for row in rows]


def lines(browser, section):
    """Name, width of the bar, [part, width] of its segments, exact time in ms."""
    return browser.js("""return [...document.querySelectorAll(`#${arguments[0]} .batch-line`)].map((line) => [line.children[0].textContent,
        line.querySelector('.batch-bar').getBoundingClientRect().width,
        [...line.querySelectorAll('.batch-segment')].map((one) => [one.dataset.part, one.getBoundingClientRect().width]),
        Number(line.children[2].title.replace(' ms', ''))])""", section)


def close(got, wanted, tolerance=1e-9):
    return abs(got - wanted) <= tolerance * max(1, abs(wanted))


def test_bars_of_ranks_have_the_times_of_gpu_timelines(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        write_ranks(folder, [0, 3, 12])
        done = make(binary, folder)
        assert done.code == 0 and done.stdout.splitlines()[-1] == "wrote page.html", (done.stdout, done.stderr)
        assert not [name for name in os.listdir(os.path.join(folder, "run")) if name.endswith(".xlsx")], "outputs that are named replace the workbook"
        times = {row["type"]: row for row in sheet(folder, "gpu_timelines")}
        browser.open(os.path.join(folder, "page.html"))
        found = lines(browser, "rank-times")
        assert [name for name, *_ in found] == ["rank 0", "rank 3", "rank 12"], found
        track = browser.js("return document.querySelector('.batch-track').getBoundingClientRect().width")
        totals = [float(times["total_time"][f"time_ms_{rank}"]) for rank in (0, 3, 12)]
        for (_, width, segments, exact), rank, total in zip(found, (0, 3, 12), totals):
            assert close(exact, total) and abs(width - track * total / max(totals)) < 1, (width, exact, total)
            wanted = {label: float(times[part][f"time_ms_{rank}"]) for part, label in zip(PARTS, LABELS)}
            assert [part for part, _ in segments] == [label for label in LABELS if wanted[label] > 0], segments
            assert all(abs(size - width * wanted[part] / total) < 1 for part, size in segments), (segments, wanted)
        browser.click("#rank-times .alternative summary")
        cells = browser.js("""return [...document.querySelectorAll('#rank-times .alternative tbody tr')].map((row) =>
            [...row.cells].slice(1).map((cell) => Number(cell.title.replace(' ms', ''))))""")
        for row, rank in zip(cells, (0, 3, 12), strict=True):
            assert all(close(got, float(times[part][f"time_ms_{rank}"])) for got, part in zip(row, [*PARTS, "total_time"], strict=True)), row
        tiles = browser.js("return [...document.querySelectorAll('.tile .figure')].map((one) => Number(one.title.replace(' ms', '')))")
        assert all(close(got, float(times[part]["time_ms_avg"])) for got, part in zip(tiles, ["total_time", *PARTS], strict=True)), tiles
        share = 100 * float(times["idle_time"]["time_ms_avg"]) / float(times["total_time"]["time_ms_avg"])
        sentence = browser.text("h1")
        assert 0 < share < 0.1 and sentence.startswith("The GPUs are idle under 0.1 % of ") and sentence.endswith("the mean of 3 ranks."), (sentence, share)


def test_bars_of_groups_have_the_times_of_grouped_breakdown(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        write_ranks(folder, [0, 1])
        assert make(binary, folder).code == 0
        wanted = sorted(((row["Group"], 1000 * float(row["Time (s)"])) for row in sheet(folder, "grouped_breakdown")
                         if row["Group"] != "Total" and float(row["Time (s)"]) > 0), key=lambda row: -row[1])
        browser.open(os.path.join(folder, "page.html"))
        found = lines(browser, "group-times")
        assert [name for name, *_ in found] == [name for name, _ in wanted] and len(found) > 1, (found, wanted)
        for (_, width, _, exact), (_, ms) in zip(found, wanted):
            assert close(exact, ms) and abs(width - found[0][1] * ms / wanted[0][1]) < 1.5, (width, exact, ms)


def test_all_sheets_are_in_the_page(binary):
    with tempfile.TemporaryDirectory() as folder:
        write_ranks(folder, [0, 1])
        assert make(binary, folder, "--all_kernels").code == 0
        page = read_page(os.path.join(folder, "page.html"))
        assert page.front["kind"] == "batch" and page.front["title"] == "run" and "--all_kernels" in page.front["command"], page.front
        names = sorted(name[:-4] for name in os.listdir(os.path.join(folder, "csvs")))
        assert sorted(page.tables[0]) == names and "kernels_1" in names, (sorted(page.tables[0]), names)
        for name in names:
            headings, rows = read_csv(os.path.join(folder, "csvs", f"{name}.csv"))
            assert page.tables[0][name].rows() == len(rows), name


def test_the_same_bytes_for_any_number_of_threads(binary):
    with tempfile.TemporaryDirectory() as folder:
        write_ranks(folder, [0, 1, 2])
        pages = set()
        for threads in "1", "2", "5":
            assert make(binary, folder, "--threads", threads).code == 0
            with open(os.path.join(folder, "page.html"), "rb") as file:
                pages.add(file.read())
        assert len(pages) == 1


def test_traces_without_gpu_events(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        name = "<img src=x onerror=alert(1)>"
        os.makedirs(os.path.join(folder, name))
        with open(os.path.join(folder, name, "t_rank_0.json"), "w") as file:
            json.dump({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5}]}, file)
        done = make(binary, folder)
        assert done.code == 0, done.stderr
        browser.open(os.path.join(folder, "page.html"))
        assert browser.count("#rank-times, #group-times") == 0 and browser.count("img") == 0
        assert browser.text("h1") == "No trace has work of a GPU." and browser.text(".file") == name


def test_one_page_for_one_folder(binary):
    with tempfile.TemporaryDirectory() as folder:
        write_ranks(folder, [0], "a")
        write_ranks(folder, [0], "b")
        done = make(binary, folder)
        assert done.code == 2 and "argument --output_html: one output file for 2 folders of traces" in done.stderr, done.stderr
        assert not os.path.exists(os.path.join(folder, "page.html"))
        done = run([binary, "batch", "-b", "a", "-f", "rank_", "--output_html", "a/t_rank_0.json"], cwd=folder)
        assert done.code == 1 and "output path is the input trace" in done.stderr, done.stderr


if __name__ == "__main__":
    sys.exit(run_test_functions(__doc__, globals()))
