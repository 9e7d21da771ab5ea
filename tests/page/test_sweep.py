#!/usr/bin/env python3
"""The page of `gputally sweep html` in a real browser: positions of what is drawn, and numbers of the CSV files.

    python3 -m tests.page.test_sweep --bin build/gputally [ONLY]

What scripts look for in the file itself is tested by tests/sweep/test_html.py.
"""
import json
import os
import random
import statistics
import sys
import tempfile
from collections import defaultdict

from tests.page.browser import Browser, Keys, require_browser
from tests.common.harness import run, run_test_functions

HEADINGS = ["Sweep Information", "Variance by Thread Count", "Variance by Channel Count", "Variance by Rank",
            "Variance Distribution (Violin Plots)", "Thread-Channel Interaction", "Data Files Information", "All sheets", "About this page"]
KINDS = {"threads": 0, "channels": 1, "ranks": 2}
HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>*b*", "\u202egnp.exe", "x" * 200]
PNG = b"\x89PNG\r\n\x1a\n"  # not a picture that a browser can show


def rows_of(seed, scale=1.0, threads=(256, 512), channels=(28, 42, 56), ranks=range(4)):
    """(threads, channel, rank, time_diff_us); with the same seed the same values, scaled."""
    source = random.Random(seed)
    return [(t, c, r, round(source.gammavariate(4, 6) + 2 * r + c / 4, 3) * scale)
            for t in threads for c in channels for r in ranks for _ in range(5)]


def write_sweep(folder, rows, plots=False):
    analysis = os.path.join(folder, "tracelens_analysis")
    os.makedirs(os.path.join(analysis, "plots"))
    if plots:
        with open(os.path.join(analysis, "plots", "variance_by_threads_boxplot.png"), "wb") as file:
            file.write(PNG + bytes(50))
    if rows is not None:
        with open(os.path.join(analysis, "top5_gemm_kernels_time_variance.csv"), "w", newline="") as file:
            file.write("threads,channel,rank,kernel_name,kernel_time_min_us,kernel_time_max_us,time_diff_us\r\n")
            file.writelines(f"{t},{c},{r},Cijk,100,200,{d}\r\n" for t, c, r, d in rows)


def open_page(browser, binary, folder, sweeps, *options, plots=False):
    """sweeps: label and rows (None: no CSV file)."""
    arguments = []
    for i, (label, rows) in enumerate(sweeps):
        write_sweep(os.path.join(folder, f"sweep{i}"), rows, plots)
        place = os.path.join(folder, f"sweep{i}")
        arguments += [f"--sweep{i + 1}", place, f"--label{i + 1}", label] if i < 2 else ["--sweep", f"{place}={label}"]
    path = os.path.join(folder, "page.html")
    done = run([binary, "sweep", "html", *arguments, "--output", path, *options])
    assert done.code == 0, done.stderr
    browser.open(path)
    return done


def panels(browser, section, selector, attributes):
    """Attributes of the drawn elements, per panel of a section, as numbers."""
    return browser.js("""
        const [section, selector, names] = arguments;
        return [...document.querySelectorAll(`#${section} .sweep-panel`)].map((panel) => [...panel.querySelectorAll(selector)]
          .map((one) => names.map((name) => Number(one.getAttribute(name)))))""", section, selector, attributes)


def tick_labels(browser, section):
    return browser.js("""return [...document.querySelectorAll(`#${arguments[0]} .sweep-panel`)].map((panel) =>
        [...panel.querySelectorAll('.axis text')].map((one) => [one.textContent, one.getAttribute('y')]))""", section)


def table_rows(browser, section):
    """The cells of "as a table" with all digits: titles where there are some."""
    browser.click(f"#{section} details.alternative summary")
    browser.wait(f"document.querySelector('#{section} .alternative tbody tr')")
    return browser.js("""return [...document.querySelectorAll(`#${arguments[0]} .alternative tbody tr`)].map((row) =>
        [...row.cells].map((cell) => cell.title || cell.textContent))""", section)


def in_us(text):
    assert text.endswith(" µs"), text
    return float(text[:-3])


def check_numbers(got, expected):
    assert len(got) == len(expected), (got, expected)
    for one, other in zip(got, expected):
        assert abs(one - other) <= 1e-9 * max(1, abs(other)), (got, expected)


# ---- the scale ----

def test_a_spread_half_as_large_looks_half_as_large(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        open_page(browser, binary, folder, [("whole", rows_of(1)), ("half", rows_of(1, 0.5))])
        for section in ("variance-threads", "variance-channels", "variance-ranks"):
            whole, half = panels(browser, section, ".quartiles", ["height", "x", "width"])
            assert len(whole) == len(half) > 1
            for one, other in zip(whole, half):
                assert abs(one[0] / 2 - other[0]) < 1e-6 and one[0] > 20 and one[1:] == other[1:], (section, one, other)
            whole, half = panels(browser, section, ".median", ["y1"])
            zero = panels(browser, section, ".axis > line:last-of-type", ["y1"])[0][-1][0] - 0.5
            for one, other in zip(whole, half):
                assert abs((zero - one[0]) / 2 - (zero - other[0])) < 1e-6, (section, one, other)
            first, second = tick_labels(browser, section)
            assert first == second and len(first) > 6, "the axes differ"


def test_violins_and_lines_share_their_scale(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        open_page(browser, binary, folder, [("whole", rows_of(2)), ("half", rows_of(2, 0.5))])
        heights = browser.js("""return [...document.querySelectorAll('#variance-distribution .sweep-panel')].map((panel) =>
            [...panel.querySelectorAll('.violin')].map((one) => one.getBBox().height))""")
        assert [len(one) for one in heights] == [2, 2, 3, 3, 4, 4]
        for whole, half in zip(heights[::2], heights[1::2]):
            assert all(abs(one / 2 - other) < 0.02 for one, other in zip(whole, half)), (whole, half)
        whole, half = browser.js("""return [...document.querySelectorAll('#variance-interaction .sweep-panel')].map((panel) =>
            [...panel.querySelectorAll('.series-mark')].map((one) => one.getBBox().y + one.getBBox().height / 2))""")
        zero = panels(browser, "variance-interaction", ".axis > line:last-of-type", ["y1"])[0][-1][0] - 0.5
        assert len(whole) == len(half) == 6
        shape = 1  # the middle of a triangle's box is not its value
        assert all(abs((zero - one) / 2 - (zero - other)) < shape for one, other in zip(whole, half)), (whole, half)
        assert tick_labels(browser, "variance-interaction")[0] == tick_labels(browser, "variance-interaction")[1]


def test_panels_have_all_keys_in_the_same_places(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        sweeps = [("a", rows_of(3, threads=(256,))), ("b", rows_of(4, threads=(512, 1024))), ("c", rows_of(5, threads=(64, 256, 512)))]
        open_page(browser, binary, folder, sweeps)
        first, second, third = tick_labels(browser, "variance-threads")
        assert first == second == third and [text for text, _ in first][-5:-1] == ["64", "256", "512", "1,024"], first
        middles = panels(browser, "variance-threads", ".quartiles", ["x", "width"])
        places = [[x + width / 2 for x, width in one] for one in middles]
        assert places[0] == [places[2][1]] and places[1][0] == places[2][2] and len(places[1]) == 2, places


# ---- numbers ----

def test_numbers_are_those_of_the_csv_files(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        sweeps = [("first", rows_of(6)), ("second", rows_of(7, 3.7))]
        open_page(browser, binary, folder, sweeps)
        for kind, column in KINDS.items():
            expected = []
            for _, rows in sweeps:
                groups = defaultdict(list)
                for row in rows:
                    groups[row[column]].append(row[3])
                for key in sorted(groups):
                    quartiles = statistics.quantiles(groups[key], n=4, method="inclusive")
                    expected.append([statistics.fmean(groups[key]), quartiles[1], quartiles[0], quartiles[2], min(groups[key]), max(groups[key])])
            got = table_rows(browser, f"variance-{kind}")
            assert [row[0] for row in got] == ["first"] * (len(got) // 2) + ["second"] * (len(got) // 2)
            for row, numbers in zip(got, expected, strict=True):
                check_numbers([in_us(cell) for cell in row[3:]], numbers)
        means = defaultdict(list)
        for label, rows in sweeps:
            for threads, channels, _, value in rows:
                means[label, str(threads), str(channels)].append(value)
        got = {tuple(row[:3]): in_us(row[4]) for row in table_rows(browser, "variance-interaction")}
        assert got.keys() == means.keys()
        check_numbers([got[key] for key in means], [statistics.fmean(values) for values in means.values()])
        tiles = browser.js("return [...document.querySelectorAll('.tile .figure')].map((one) => one.title)")
        check_numbers([in_us(tile) for tile in tiles], [statistics.median(row[3] for row in rows) for _, rows in sweeps])


def test_drawn_boxes_are_at_the_values_of_the_axis(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        # Quartiles 10, 20, 30; the largest value 40 makes an axis from 0 to 40 µs.
        open_page(browser, binary, folder, [("a", [(256, 28, 0, float(v)) for v in (0, 10, 20, 30, 40)]), ("b", [(256, 28, 0, 20.0)])])
        zero = panels(browser, "variance-threads", ".axis > line:last-of-type", ["y1"])[0][-1][0] - 0.5
        ((top, height),), _ = panels(browser, "variance-threads", ".quartiles", ["y", "height"])
        label = {text: float(y) - 4.5 for text, y in tick_labels(browser, "variance-threads")[0] if text.endswith(" µs")}
        assert abs(top - label["30 µs"]) <= 1 and abs(top + height - label["10 µs"]) <= 1 and abs(label["0 µs"] - zero) <= 1, (top, height, label)
        assert abs(height - (zero - label["40 µs"]) / 2) <= 1


# ---- the page ----

def test_sections_are_those_of_the_document(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        done = open_page(browser, binary, folder, [("a", rows_of(8)), ("b", rows_of(9))], plots=True)
        assert browser.texts("h2") == HEADINGS, browser.texts("h2")
        assert browser.count("#document") == 0 and browser.count("h1") == 1
        assert browser.js("return document.title") == "GEMM Kernel Variance - Sweep Comparison"
        assert browser.texts("#sweeps td")[1::3] == ["a", "b"] and browser.count("#sweep-files .body a") == 6
        images = browser.js("return [...document.querySelectorAll('#variance-threads .sweep-images img')].map((one) => one.alt)")
        assert images == ["Threads Sweep 1", "Threads Sweep 2"] and browser.count("#variance-ranks .sweep-images") == 0
        assert not browser.js("return document.querySelector('#variance-threads img').checkVisibility()")
        assert "no plot" in done.stderr
        found = browser.found  # the image is damaged on purpose
        found[:] = [one for one in found if "data:image" not in one]


def test_marks_have_a_tooltip_by_pointer_and_keys(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        rows = rows_of(10)
        open_page(browser, binary, folder, [("a", rows), ("b", rows_of(11))])
        chart = "#variance-ranks .sweep-panel svg"
        browser.box(chart)
        browser.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, css=chart)
        median = statistics.median(row[3] for row in rows if row[2] == 1)
        assert browser.text("#tooltip").startswith("a: rank 1") and f"{median:.1f} µs" in browser.text("#tooltip"), browser.text("#tooltip")
        assert browser.count(f"{chart} .focused") == 1
        browser.keys(Keys.ESCAPE)
        assert browser.count(f"{chart} .focused") == 0
        browser.hover(f"{chart} .sweep-mark[data-key='3'] .hit")
        assert browser.text("#tooltip").startswith("a: rank 3")


def test_sweeps_without_rows(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        open_page(browser, binary, folder, [("a", rows_of(12)), ("none", None)])
        assert browser.count("#variance-threads svg[role=img]") == 1 and "missing or empty" in browser.text("#variance-threads")
        assert browser.texts(".tile-value")[1].strip() == "–" and "not all sweeps have rows" in browser.text("h1")
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        open_page(browser, binary, folder, [("one", None), ("none", None)])
        assert browser.texts("h2") == [one for one in HEADINGS if one != "All sheets"]
        assert browser.count("svg[role=img]") == 0 and browser.count("#variance-threads .missing") == 2
        assert browser.text("h1").startswith("No sweep has the rows")


def test_damaged_rows_are_left_out_with_a_warning(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        rows = [*rows_of(13), (256, 28, 0, float("nan")), (256, "x", 0, 5.0), (256, 28, 0, 1e300)]
        done = open_page(browser, binary, folder, [("a", rows), ("b", [(256, 28, 0, "no")])])
        assert done.stderr.count("Skipping row") == 4 and "shows only the plots of this sweep" in done.stderr, done.stderr
        assert browser.texts(".tile-detail")[0].endswith(f"{len(rows) - 3} rows"), browser.texts(".tile-detail")


def test_very_many_rows_and_groups(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        rows = [(256, 28, i % 300, float(i % 1000)) for i in range(60000)]
        open_page(browser, binary, folder, [("a", rows), ("b", rows[:300])])
        assert browser.count("#variance-ranks .sweep-panel:first-child .sweep-mark") == 128
        assert "172 further groups are not drawn" in browser.text("#variance-ranks")
        assert "a has 60,000 rows; the charts are drawn from 50,000 of them" in browser.text("#footer")
        assert "60,000 rows" in browser.texts(".tile-detail")[0]


def test_many_sweeps_have_the_same_size(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        open_page(browser, binary, folder, [(f"sweep {i}", rows_of(i)) for i in range(9)])
        for css in ("#variance-threads .sweep-panel", "#sweep-files h3"):
            widths = browser.js("return [...document.querySelectorAll(arguments[0])].map((one) => one.getBoundingClientRect().width)", css)
            assert len(widths) == 9 and max(widths) - min(widths) < 0.1 and min(widths) > 300, (css, widths)
        assert browser.count(".tile") == 5 and browser.js("return document.documentElement.scrollWidth") <= 1280


def test_other_axes_are_charts_in_the_order_of_the_grid(binary):
    """Sweeps of mode and size, without threads and channels; one of the values is hostile."""
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        modes = ["slow", "fast", HOSTILE[0].replace("/", "|")]
        for i in range(2):
            analysis = os.path.join(folder, f"s{i}", "tracelens_analysis")
            os.makedirs(analysis)
            with open(os.path.join(folder, f"s{i}", "sweep.json"), "w") as file:
                json.dump({"sweep": "s", "axes": [{"name": "mode", "values": modes}, {"name": "size", "values": ["8", "16"]}], "points": []}, file)
            with open(os.path.join(analysis, "top5_gemm_kernels_time_variance.csv"), "w", newline="") as file:
                file.write("mode,size,rank,kernel_name,time_diff_us\r\n")
                file.writelines(f"{mode},{size},{rank},Cijk,{(m + 1) * size + rank + 10 * i}\r\n"
                                for m, mode in enumerate(modes) for size in (16, 8) for rank in (0, 1))
        path = os.path.join(folder, "page.html")
        done = run([binary, "sweep", "html", "--sweep", os.path.join(folder, "s0"), os.path.join(folder, "s1"), "--output", path])
        assert done.code == 0, done.stderr
        browser.open(path)
        titles = browser.js("return [...document.querySelectorAll('main section h2')].map((one) => one.textContent)")
        assert [t for t in titles if "Variance" in t or "Interaction" in t] == [
            "Variance by Other Axes", "Variance by Rank", "Variance Distribution (Violin Plots)", "Interaction of Axes"], titles
        rows = table_rows(browser, "variance-axes")
        assert [row[1] for row in rows if row[0] == "s0"] == [f"mode {mode}" for mode in modes] + ["size 8", "size 16"], rows
        means = {(row[0], row[1]): row[3] for row in rows}
        check_numbers([in_us(means["s0", "mode fast"]), in_us(means["s1", "size 8"])], [24.5, 26.5])
        pairs = table_rows(browser, "variance-axes-interaction")
        assert [row[1:4] for row in pairs if row[0] == "s0"][:2] == [["slow", "8", "2"], ["slow", "16", "2"]], pairs
        assert browser.js("return document.querySelectorAll('#variance-axes .sweep-panel').length") == 4


def test_hostile_labels_are_text(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        open_page(browser, binary, folder, [(label, rows_of(14)) for label in HOSTILE])
        assert browser.js("return [...document.querySelectorAll('#variance-threads figcaption')].map((one) => one.textContent)") == HOSTILE
        assert browser.count("img, iframe") == 0 and browser.count("h1 b") == 1 and "∗b∗" not in browser.text("h1 b")
        browser.js("document.querySelectorAll('details').forEach((one) => one.open = true)")
        browser.settle()
        assert browser.js("return document.documentElement.scrollWidth") <= 1280, "a label widens the page"


if __name__ == "__main__":
    sys.exit(run_test_functions(__doc__, globals()))
