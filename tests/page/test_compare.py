#!/usr/bin/env python3
"""The page of `gputally compare`, end to end: what a browser shows is compared with the CSV files of the same comparison, and
with contributions that are known because the traces are made here.

    python3 -m tests.page.test_compare --bin build/gputally [ONLY]
"""
import contextlib
import json
import os
import re
import sys
import tempfile

from tests.common.harness import ROOT, read_csv, run, run_test_functions
from tests.findings import small_traces
from tests.findings.test_waterfalls import Trace, kinds_traces, ns
from tests.page.browser import Browser, Keys, require_browser
from tests.page.pack import read_page
from tests.page.test_document import HOSTILE

ROWS = "#compare .waterfall-row"


def compare(binary, folder, a, b, *options, code=0):
    """Writes page.html and out/*.csv."""
    done = run([binary, "compare", a, b, "--output_html", os.path.join(folder, "page.html"), "--output_csvs_dir",
                os.path.join(folder, "out"), "--no_progress", *options])
    assert done.code == code, (done.code, done.stderr)
    return done


def sheet(folder, name):
    names, rows = read_csv(os.path.join(folder, "out", name + ".csv"))
    return [dict(zip(names, row)) for row in rows]


def rich_traces(folder):
    """kinds_traces with what more sections need: shapes and types of the product, sizes of copies, memory of the device. The
    second also has what is not in the window: a memset before the first step, and a faster product in the last one."""
    paths = kinds_traces(folder)
    for number, path in enumerate(paths):
        trace = small_traces.read(path)
        for event in trace["traceEvents"]:
            if event["name"] == "aten::mm":
                event["args"].update({"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"],
                                      "Input Strides": [[64, 1], [64, 1]], "Concrete Inputs": ["", ""]})
            if event["cat"] == "gpu_memcpy":
                event["args"].update({"bytes": 1000000})
        first = min(event["ts"] for event in trace["traceEvents"])
        if number:
            max((event for event in trace["traceEvents"] if event["name"] == "gemm_b"), key=lambda event: event["ts"])["dur"] = 90
            copy = next(event for event in trace["traceEvents"] if event["cat"] == "gpu_memcpy")
            trace["traceEvents"].append({**copy, "name": "Memset (Device)", "cat": "gpu_memset", "ts": first - 500, "dur": 7,
                                         "args": {**copy["args"], "correlation": 10**6}})
        trace["traceEvents"] += [{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 10, "ts": first + 100 * i, "args": {
            "Device Type": 1, "Device Id": 0, "Bytes": 1, "Addr": i, "Total Allocated": (1 + i % 3 + number) * 10**9,
            "Total Reserved": (4 + number) * 10**9}} for i in range(9)]
        with open(path, "w") as file:
            json.dump(trace, file)
    return paths


@contextlib.contextmanager
def opened(binary, *options, code=0):
    require_browser()
    with tempfile.TemporaryDirectory(prefix="gputally-compare-") as folder:
        compare(binary, folder, *rich_traces(folder), *options, code=code)
        with Browser() as browser:
            browser.open(os.path.join(folder, "page.html"))
            yield browser, folder


def sections(browser):
    return browser.js("return [...document.querySelectorAll('main > section')].map((one) => one.id)")


def drawn(browser):
    """[(order, label, amount, left, right)] of the rows of the waterfall."""
    return browser.js(f"""return [...document.querySelectorAll('{ROWS}')].map((row) => {{
      const bar = row.querySelector('.fall');
      const left = Number(bar.getAttribute('x'));
      return [Number(row.dataset.order), row.querySelectorAll('text')[0].textContent, row.querySelector('.amount').textContent,
        left, left + Number(bar.getAttribute('width'))];
    }})""")


def table_titles(browser, css):
    return browser.js("return [...document.querySelectorAll(arguments[0] + ' tr:has(> td:nth-child(2))')].map((row) => [...row.cells].map("
                      "(cell) => cell.title || cell.textContent))", css)


# ---- what it shows ----

def test_waterfall_has_the_rows_of_the_sheet(binary):
    with opened(binary) as (browser, folder):
        rows, shown = sheet(folder, "waterfall"), drawn(browser)
        assert sections(browser) == ["header", "filter", "verdict", "compare", "timeline", "flame", "roofline", "kernels", "steps",
                                     "memory", "sheets", "footer"]
        assert [row[0] for row in shown] == [int(row["order"]) for row in rows]
        assert [row[1] for row in shown][0] == "step time of x" and [row[1] for row in shown][-1] == "step time of y"
        expected = [row["contribution"] for row in rows if row["kind"] not in ("step", "idle")]
        assert [row[1] for row in shown[1:-1] if not row[1].startswith("idle")] == expected
        # Made by hand: 80 µs each from the longer product and two more additions.
        amounts = {label: amount for _, label, amount, _, _ in shown}
        assert amounts["slower: aten::mm"] == "+80.0 µs" and amounts["more calls: aten::add"] == "+80.0 µs"
        assert amounts["vanished: aten::cat"] == "−30.0 µs" and amounts["new: aten::softmax"] == "+25.0 µs"


def test_bars_hang_together(binary):
    with opened(binary) as (browser, folder):
        shown, rows = drawn(browser), sheet(folder, "waterfall")
        scale = (shown[-1][4] - shown[0][4]) / (ns(rows[-1]["b_ms"]) - ns(rows[0]["a_ms"]))
        at = shown[0][4]
        for (_, label, _, left, right), row in zip(shown[1:-1], rows[1:-1]):
            change = ns(row["delta_ms"]) * scale
            assert abs((left if change > 0 else right) - at) < 1.6, f"{label} begins where the one before ends"
            at += change
        assert abs(at - shown[-1][4]) < 0.1, "the last contribution ends at the step time of B"


def test_parts_add_up_in_the_text(binary):
    with opened(binary) as (browser, folder):
        browser.js("document.querySelector('#compare details').open = true")
        browser.settle()
        rows, cells = sheet(folder, "waterfall"), table_titles(browser, "#compare details")
        added = [int(row[1].replace(",", "").replace(" ns", "")) for row in cells[1:-1]]
        assert added == [ns(row["delta_ms"]) for row in rows[1:-1]]
        assert float(cells[0][2].split()[0]) == float(rows[0]["a_ms"]) and float(cells[-1][3].split()[0]) == float(rows[-1]["b_ms"])
        assert sum(added) == ns(rows[-1]["b_ms"]) - ns(rows[0]["a_ms"])


def test_sentence_and_tiles(binary):
    with opened(binary) as (browser, folder):
        rows, parts = sheet(folder, "waterfall"), sheet(folder, "waterfall_parts")
        a, b = ns(rows[0]["a_ms"]), ns(rows[-1]["b_ms"])
        # 195 µs of kernels and copies more; idle time of the GPU is in the sheet.
        idle = [sum(ns(part[side]) for part in parts if part["part"] == "idle") for side in ("a_ms", "b_ms")]
        assert b - a == 195000 + idle[1] - idle[0]
        sentence = browser.text("#verdict h1")
        assert sentence.startswith(f"y is {(b - a) / 1000:.0f} µs ({100 * (b - a) / a:.0f} %) slower per step than x: "), sentence
        assert "add 80.0 µs, everything else adds" in sentence, sentence
        tiles = dict(zip(browser.js("return [...document.querySelectorAll('.tile')].map((one) => one.dataset.tile)"), browser.texts(".tile-value")))
        assert tiles["step"] == f"{a / 1000:.0f} → {b / 1000:.0f} µs", tiles
        assert tiles["communication"] == "50.0 → 65.0 µs" and tiles["copies"] == "10.0 → 35.0 µs", tiles
        assert tiles["busy"] == f"{100 * (1 - idle[0] / a):.1f} → {100 * (1 - idle[1] / b):.1f} %", tiles


def test_tables_and_timelines_have_both(binary):
    with opened(binary) as (browser, _):
        assert browser.count("#timeline .timeline-upper") == 2
        rows = {row[0]: row for row in table_titles(browser, "#kernels-table")}
        # Per step of the window: 100 µs of gemm_a in x only, 40 and 120 µs of add.
        assert [float(rows["add"][i].split()[0].replace(",", "")) for i in (2, 3, 4)] == [40000, 120000, 80000], rows["add"]
        assert [float(rows["gemm_b"][i].split()[0].replace(",", "")) for i in (2, 3)] == [0, 180000], rows["gemm_b"]
        assert browser.js("return document.querySelector('#sheets select').value") == "2.step_times"


def plain_rows(browser, css):
    """{first cell: cells} of a small table, as titles where there are some."""
    return {row[0]: row for row in table_titles(browser, css)}


def number(text):
    return float(text.split()[0].replace(",", ""))


def check_flame(browser, folder):
    """230 µs per step in x, 425 in y."""
    assert browser.text(".flame-summary") == "230 µs → 425 µs, +195 µs (+84.8 %) of GPU time per step"
    rows = plain_rows(browser, "#flame details")
    assert [number(cell) for cell in rows["aten::mm"][3:6]] == [100000, 180000, 80000], rows["aten::mm"]
    assert [number(cell) for cell in rows["cat"][3:6]] == [30000, 0, -30000] and rows["cat"][6] == "-100 %", rows["cat"]
    bars = browser.texts("#flame .category-bar.two:not(.heads)")
    assert any(bar.split("\n") == ["GEMM", "100 µs", "180 µs", "+80.0 µs", "+80.0 %"] for bar in bars), bars
    browser.click("#flame [data-width=b]")
    browser.fill("#flame .filter-box", "gemm")
    assert browser.text(".flame-summary").startswith("“gemm”: 100 µs → 180 µs, +80.0 µs"), browser.text(".flame-summary")
    assert "flame.width=b" in browser.hash() and "gemm_a" not in plain_rows(browser, "#flame details")
    browser.fill("#flame .filter-box", "")


def check_roofline(browser, folder):
    """2 * 64^3 flops in 100 and 180 µs, also if a call outside the window takes 90 µs."""
    assert browser.count("#roofline .ring") == 1 and browser.count("#roofline .bubble:not(.ring)") == 1
    [row] = table_titles(browser, "#roofline details")
    assert [round(number(cell) * 1e6) for cell in row[6:8]] == [round(2 * 64**3 / us) for us in (100, 180)], row
    browser.keys(Keys.HOME, Keys.ENTER, css="#roofline svg")
    assert [row[0] for row in table_titles(browser, "#ops-table")] == ["aten::mm"], "a bubble leads to the table"


def check_steps(browser, folder):
    """Times of the waterfall; parts made by hand. Headings sort."""
    waterfall, parts_css = sheet(folder, "waterfall"), "#steps .steps-summary > div:last-child"
    times = plain_rows(browser, "#steps .steps-summary > div:first-child")
    assert [number(cell) for cell in times["mean"][1:3]] == [ns(waterfall[0]["a_ms"]), ns(waterfall[-1]["b_ms"])], times
    parts = plain_rows(browser, parts_css)
    assert [number(cell) for cell in parts["exposed copies and memsets"][1:4]] == [10000, 35000, 25000], parts
    for is_descending in (True, False):
        browser.click(f"{parts_css} th:nth-child(4) button")
        order = [number(row[3]) for row in table_titles(browser, parts_css)]
        assert order == sorted(order, reverse=is_descending) and len(order) > 3, order
    browser.keys(Keys.END, Keys.ENTER, css="#steps canvas")
    assert "view=" in browser.hash(), "a step leads to the timelines"


def check_memory(browser, folder):
    """1 MB of pinned memory in 10 µs, and of pageable memory in 35 µs; no memset, which was before the first step; the highest of 1, 2, 3 and of 2, 3, 4 GB."""
    copies = {row[1]: row for row in table_titles(browser, "#memory .copy-pairs")}
    assert copies.keys() == {"pinned", "pageable"}, copies
    assert [number(copies["pinned"][2]), number(copies["pageable"][3])] == [1, 1], copies
    assert [number(cell) for cell in copies["pinned"][6:9]] == [10000, 0, -10000] and copies["pinned"][11:] == ["100", "–"], copies
    assert [number(cell) for cell in copies["pageable"][6:9]] == [0, 35000, 35000] and number(copies["pageable"][12]) == 1000 / 35, copies
    [allocated, reserved] = table_titles(browser, "#memory .body > table")
    assert [number(cell) for cell in allocated[2:5]] == [3e9, 4e9, 1e9] and allocated[5] == "+33.3 %", allocated
    assert [number(cell) for cell in reserved[2:5]] == [4e9, 5e9, 1e9] and browser.count("#memory .memory-line") == 4, reserved


def check_sheets(browser, folder):
    """Sheets that both have show the differences that the comparison's own sheets have, and rows that one has."""
    browser.open(os.path.join(folder, "page.html"), "#sheets&sheets.sheet=both.ops_summary")
    groups = browser.js("return [...document.querySelectorAll('#sheets optgroup')].map((one) => one.label)")
    assert groups[1] == "A and B, with differences", groups
    at = next(i for i, head in enumerate(browser.texts("#sheets-table th")) if head.startswith("B − A"))
    rows, csv = plain_rows(browser, "#sheets-table"), {row["name"]: row for row in sheet(folder, "ops_summary")}
    for name in ("aten::mm", "aten::add"):
        expected = float(csv[name]["total_direct_kernel_time_ms__y_diff"])
        assert abs(number(rows[name][at]) - expected) < 1e-9, (rows[name], expected)
    # 30 µs in each of four steps.
    assert "only A" in rows["aten::cat"] and number(rows["aten::cat"][at]) == -0.12, rows["aten::cat"]
    assert list(rows)[0] == "aten::mm" or list(rows)[0] == "aten::add", "the largest difference first"


def test_sections_have_both(binary):
    """Times are per step of the window and known by hand (kinds_traces)."""
    with opened(binary) as (browser, folder):
        browser.js("document.querySelectorAll('#flame details, #roofline details, #steps details').forEach((one) => one.open = true)")
        browser.settle()
        for check in (check_flame, check_roofline, check_steps, check_memory, check_sheets):
            check(browser, folder)


def test_a_page_the_other_way_round_is_faster(binary):
    with tempfile.TemporaryDirectory(prefix="gputally-compare-") as folder:
        a, b = kinds_traces(folder)
        compare(binary, folder, b, a)
        rows = sheet(folder, "waterfall")
        saved = (ns(rows[0]["a_ms"]) - ns(rows[-1]["b_ms"])) / 1000
        sentence = read_page(os.path.join(folder, "page.html")).front["facts"]["sentence"]
        assert sentence.startswith(f"x is *{saved:.0f} µs* (") and " faster per step than y: " in sentence, sentence
        compare(binary, folder, a, a, "--names", "one", "two")
        sentence = read_page(os.path.join(folder, "page.html")).front["facts"]["sentence"]
        assert sentence == f"two takes *as long* per step as one: {ns(rows[-1]['b_ms']) / 1000:.0f} µs.", sentence


# ---- the gate ----

def test_gate_says_what_failed(binary):
    with opened(binary, "--fail_if", "step_ms > 5%", "idle_ms > 50", code=3) as (browser, folder):
        [row] = sheet(folder, "fail_if")
        assert "gate: failed" in browser.text("#compare .badge")
        met, not_met = browser.texts("#compare .gate li")
        assert met.startswith("step_ms > 5% is met: step_ms: ") and f"+{float(row['pct']):.1f} %" in met, met
        assert not_met == "idle_ms > 50 is not met"


def test_gate_passes(binary):
    with opened(binary, "--fail_if", "step_ms > 500%") as (browser, _):
        assert "gate: passed" in browser.text("#compare .badge")
    with opened(binary) as (browser, _):
        assert browser.count("#compare .gate") == 0, "no condition, no gate"


# ---- what a user does ----

def test_a_click_filters_the_tables(binary):
    with opened(binary) as (browser, folder):
        orders = {row["contribution"]: row["order"] for row in sheet(folder, "waterfall")}
        everything = browser.count("#kernels-table tbody tr[data-place]")
        browser.click(f"{ROWS}[data-order='{orders['more calls: aten::add']}']")
        assert [row[0] for row in table_titles(browser, "#kernels-table")] == ["add"]
        assert [row[0] for row in table_titles(browser, "#ops-table")] == ["aten::add"]
        assert "more calls: aten::add" in browser.text(".waterfall-chosen")
        browser.click(f"{ROWS}[data-order='{orders['copies: Memcpy HtoD']}']")
        assert all("Memcpy" in row[0] for row in table_titles(browser, "#kernels-table")) and "category=copy" in browser.hash()
        hash_ = browser.hash()
        browser.click(".waterfall-chosen button")
        assert browser.count("#kernels-table tbody tr[data-place]") == everything and "compare.row" not in browser.hash()
        browser.open(os.path.join(folder, "page.html"), hash_)
        assert browser.count(f"{ROWS}.chosen") == 1, "the hash restores the choice"


def test_keys_go_through_the_waterfall(binary):
    with opened(binary) as (browser, folder):
        rows = sheet(folder, "waterfall")
        browser.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, css="#compare .waterfall svg")
        assert browser.count(f"{ROWS}.focused") == 1 and not browser.js("return document.getElementById('tooltip').hidden")
        assert f"{ns(rows[1]['delta_ms']):,} ns" in browser.text("#tooltip")
        browser.keys(Keys.ENTER)
        assert "compare.row=1" in browser.hash()
        browser.keys(Keys.ESCAPE, Keys.ESCAPE)
        assert "compare.row" not in browser.hash()
        browser.hover(f"{ROWS}[data-order='1']")
        assert f"{ns(rows[1]['delta_ms']):,} ns" in browser.text("#tooltip")


# ---- other inputs ----

def test_reports_have_waterfall_and_sheets(binary):
    require_browser()
    with tempfile.TemporaryDirectory(prefix="gputally-compare-") as folder:
        reports = []
        for path in kinds_traces(folder):
            reports.append(path.replace(".json", "_report"))
            assert run([binary, "report", path, "-q", "--output_csvs_dir", reports[-1]]).code == 0
        compare(binary, folder, *reports)
        with Browser() as browser:
            browser.open(os.path.join(folder, "page.html"))
            assert sections(browser) == ["header", "filter", "verdict", "compare", "sheets", "footer"]
            assert [row[0] for row in drawn(browser)] == [int(row["order"]) for row in sheet(folder, "waterfall")]
            # Of a trace and a report, sections that need two traces are absent.
            compare(binary, folder, os.path.join(folder, "x.json"), reports[1])
            browser.open(os.path.join(folder, "page.html"))
            assert sections(browser) == ["header", "filter", "verdict", "compare", "timeline", "sheets", "footer"]


def test_traces_of_rocprof(binary):
    require_browser()
    with tempfile.TemporaryDirectory(prefix="gputally-compare-") as folder:
        trace = os.path.join(ROOT, "examples", "gputally_demo_results.json.gz")
        compare(binary, folder, trace, trace, "--names", "a", "b")
        with Browser() as browser:
            browser.open(os.path.join(folder, "page.html"))
            assert browser.text("#verdict h1").startswith("b takes as long as a: ") and browser.count(ROWS) == 2
            # Both GPUs of both, with the shares of the sheet gpu_timeline_by_device; one of them is judged.
            names = [text.replace(" (judged)", "") for text in browser.texts("#devices .batch-line > span:first-child")]
            assert names == ["A: GPU 1: 92.8 % busy", "B: GPU 1: 92.8 % busy", "A: GPU 2: 93.2 % busy", "B: GPU 2: 93.2 % busy"], names
            assert browser.text(".flame-summary").endswith(" of GPU time in the whole trace"), browser.text(".flame-summary")


def test_without_a_waterfall(binary):
    require_browser()
    with tempfile.TemporaryDirectory(prefix="gputally-compare-") as folder:
        compare(binary, folder, *kinds_traces(folder), "--sheets", "gpu_timeline")
        with Browser() as browser:
            browser.open(os.path.join(folder, "page.html"))
            assert "no waterfall" in browser.text("#verdict h1") and "There is no waterfall: it was not asked for." in browser.text("#compare")
            assert browser.count("#timeline .timeline-upper") == 2


def test_hostile_names_are_text(binary):
    require_browser()
    with tempfile.TemporaryDirectory(prefix="gputally-compare-") as folder:
        paths = []
        for number in (1, 2):
            trace = Trace()
            for _ in range(3):
                trace.step(lambda one, number=number: [one.kernel(name * (50 if at == 0 else 1), name, 10 * number + at)
                                                       for at, name in enumerate([*HOSTILE, 'a"b*c* <b>', "\u202eabc"])])
            paths.append(trace.write(folder, f"t<b>{number}*"))
        compare(binary, folder, *paths, "--fail_if", "waterfall.'<script>' < 1", code=3)
        with Browser() as browser:
            browser.open(os.path.join(folder, "page.html"))
            assert browser.count("main b") == browser.count("#verdict h1 b") and browser.count("iframe, img, object") == 0
            for at in range(1, browser.count(ROWS) - 1):
                browser.click(f"{ROWS}[data-order='{at}']")
                browser.hover(f"{ROWS}[data-order='{at}']")
            browser.js("document.querySelectorAll('main details').forEach((one) => one.open = true)")
            for y in (0.2, 0.4, 0.6, 0.8):
                browser.hover("#flame canvas", 0.3, y)
            browser.keys(Keys.HOME, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER, css="#flame canvas")
            browser.open(os.path.join(folder, "page.html"), "#sheets&sheets.sheet=both.kernel_summary&sheets.open=0")
            assert re.match(rf"{len(HOSTILE) + 2} rows: .*; all are in both\.", browser.text("#sheets .note")), browser.text("#sheets .note")
            assert browser.count("main b") == browser.count("#verdict h1 b, #roofline b, #steps b") and browser.count("iframe, img, object") == 0
            assert browser.js("return document.documentElement.scrollWidth") <= 1280


# ---- messages ----

def test_warnings_and_the_reason_are_on_the_page(binary):
    """Those of the terminal, with the names of the comparison instead of paths."""
    with tempfile.TemporaryDirectory(prefix="gputally-compare-") as folder:
        a, b = kinds_traces(folder)
        trace = small_traces.read(b)
        trace["traceEvents"] = [event for event in trace["traceEvents"] if not event["name"].startswith("ProfilerStep")]
        for event in trace["traceEvents"][-3:]:
            del event["dur"]
        with open(b, "w") as file:
            json.dump(trace, file)
        for threads in ("1", "4"):
            done = compare(binary, folder, a, b, "--threads", threads)
            lines = [line.replace(a, "x").replace(b, "y") for line in done.stderr.splitlines()]
            front = read_page(os.path.join(folder, "page.html")).front
            told = [line.removeprefix("gputally: warning: ") for line in lines if ": warning: " in line and " more file: " not in line]
            assert front["messages"] == sorted(told), (front["messages"], done.stderr)
            assert any("3 left out: 3 without a start or a duration" in said for said in front["messages"]), front["messages"]
            assert front["facts"]["why_no_waterfall"] == "the time of x is per step, but y has no steps", front["facts"]
            assert f"gputally: no waterfall: {front['facts']['why_no_waterfall']}" in lines, lines


# ---- files ----

def test_files_and_usage(binary):
    with tempfile.TemporaryDirectory(prefix="gputally-compare-") as folder:
        a, b = kinds_traces(folder)
        page = os.path.join(folder, "page.html")
        compare(binary, folder, a, b)
        with open(page, "rb") as file:
            first = file.read()
        for threads in ("1", "7"):
            compare(binary, folder, a, b, "--threads", threads)
            with open(page, "rb") as file:
                assert file.read() == first, "a second run, with other threads, has the same bytes"
        done = run([binary, "compare", a, b, b, "--names", "p", "q", "r", "--output_html", page])
        assert done.code == 2 and "argument --output_html: a page compares two files, not 3" in done.stderr, done
        done = run([binary, "compare", a, b, "--output_html", b])
        assert done.code == 1 and "output path is one of the input reports" in done.stderr, done
        assert small_traces.read(b)["traceEvents"], "the trace is still there"
        only = os.path.join(folder, "only")
        os.mkdir(only)
        assert run([binary, "compare", a, b, "-q", "--output_html", os.path.join(only, "p.html")], cwd=only).code == 0
        assert os.listdir(only) == ["p.html"], "with only a page asked for, there is no workbook"


if __name__ == "__main__":
    sys.exit(run_test_functions(__doc__, globals()))
