#!/usr/bin/env python3
"""Flame graph, roofline, steps, memory and copies in a real browser: numbers, pointer, keys, search, state.

Expected numbers are computed here from the tables of the page (pack.py reads them).

    python3 -m tests.page.test_charts --bin build/gputally [ONLY]
"""
import atexit
import contextlib
import os
import re
import statistics
import sys
import tempfile
from collections import defaultdict

from tests.page.browser import Browser, require_browser
from tests.common.harness import run_test_functions
from tests.page import sample
from tests.page.pack import Column, Table, read_page

try:
    from selenium.webdriver.common.keys import Keys
except ImportError:
    Keys = None  # require_browser skips the tests

CANVAS = "#flame canvas"
started = []  # one browser for all tests: starting it takes longer than most of them


def shared_browser(size):
    if not started:
        browser = Browser(*size)
        started.append(browser.__enter__())
        atexit.register(browser.stop)
    started[0].set_size(*size)
    return started[0]


@contextlib.contextmanager
def charts(*options, change=None, size=(1280, 900)):
    """(browser, path, tables) of a sample page. `change` gets the list of tables and returns another."""
    require_browser()
    with tempfile.TemporaryDirectory(prefix="gputally-charts-") as folder:
        path = os.path.join(folder, "page.html")
        front, (tables,) = sample.make_single(sample.parse([path, *options]))
        if change:
            tables = change(tables)
        sample.write_page(path, front, [tables])
        browser = shared_browser(size)
        browser.collect()
        browser.found = []  # of a test that failed
        browser.open(path)
        yield browser, path, read_page(path).tables[0]
        assert not browser.problems(), browser.found


def drawn(browser, css):
    """The text of SVG elements."""
    return browser.js("return [...document.querySelectorAll(arguments[0])].map((one) => one.firstChild.textContent)", css)


def keys(browser, css, *keys_):
    """Types in a chart that is in sight: scrolling hides the tooltip."""
    browser.box(css)
    browser.keys(*keys_, css=css)


def without(*names):
    return lambda tables: [table for table in tables if table.name not in names]


# ---- expected values ----

def milliseconds(text):
    """12.3 ms as a number; also µs and s."""
    value, unit = re.search(r"([\d.,]+) (ns|µs|ms|s)\b", text).groups()
    return float(value.replace(",", "")) * {"ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1e3}[unit]


def close(shown, exact):
    """Numbers are shown with three digits."""
    return abs(shown - exact) <= 0.0051 * abs(exact)


def path_names(tables, call):
    """The names of all nodes above a call."""
    nodes, names = tables["page_nodes"].records(), []
    at = None if call is None else tables["page_calls"].column("node")[call]
    while at is not None:
        names.append(nodes[at]["name"])
        at = nodes[at]["parent"]
    return names


def share_with(tables, text):
    """Percent of GPU time whose path has the text."""
    kernels = tables["page_kernels"].column("name")
    rows = tables["page_sums"].records()
    found = sum(row["ns"] for row in rows if any(text in name.lower() for name in [kernels[row["kernel"]], *path_names(tables, row["call"])]))
    return 100 * found / sum(row["ns"] for row in rows)


def percent_in(text):
    return float(re.search(r"([\d.]+) %", text).group(1))


def category_sums(tables, rows=None):
    categories, sums = tables["page_kernels"].column("category"), defaultdict(int)
    for row in rows or tables["page_sums"].records():
        sums[categories[row["kernel"]]] += row["ns"]
    return sums


def clipped(tables, begin, end):
    """GPU events of a range, with the part of their time that is in it."""
    rows = [{**row, "ns": min(row["start"] + row["ns"], end) - max(row["start"], begin)} for row in tables["page_gpu"].records()]
    return [row for row in rows if row["ns"] > 0]


# ---- flame graph ----

def test_flame_graph_has_the_times_of_all_gpu_work(_):
    with charts() as (browser, _, tables):
        sums = category_sums(tables)
        total = sum(sums.values())
        text = browser.text(".flame-summary")
        assert close(milliseconds(text), total / 1e6) and f"{sum(tables['page_sums'].column('count')):,} kernels" in text, text
        bars = [bar.split("\n") for bar in browser.texts(".category-bar")]
        expected = sorted(sums.items(), key=lambda item: -item[1])
        assert [bar[0] for bar in bars] == [name for name, ns in expected if ns > 0]
        for (_, share, time), (_, ns) in zip(bars, expected):
            assert share == f"{100 * ns / total:.1f} %" and close(milliseconds(time), ns / 1e6), (share, time)


def test_flame_graph_zooms_by_pointer_keys_and_link(_):
    with charts() as (browser, path, _):
        height = browser.box(CANVAS)[3]
        row = 20 / height
        browser.click(CANVAS, 0.01, 1.5 * row)  # the longest below the top
        first = re.search(r"flame\.root=(\d+)", browser.hash()).group(1)
        crumbs = browser.texts(".crumbs button")
        assert crumbs[0] == "All GPU work" and len(crumbs) > 1
        browser.click(".crumbs button")
        assert "flame.root" not in browser.hash() and not browser.js("return document.querySelector('.crumbs').checkVisibility()")
        keys(browser, CANVAS, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
        assert f"flame.root={first}" in browser.hash(), "the first box below the top is the same by keys"
        browser.keys(Keys.ESCAPE)
        assert "flame.root" not in browser.hash()
        browser.open(path, f"#flame&flame.root={first}")
        assert browser.texts(".crumbs button") == crumbs
        browser.open(path, "#flame&flame.root=999999")
        assert browser.texts(".crumbs button") == ["All GPU work"] or not browser.js("return document.querySelector('.crumbs').checkVisibility()")


def test_flame_graph_says_what_is_below_the_pointer(_):
    with charts() as (browser, _, tables):
        browser.hover(CANVAS, 0.3, 10 / browser.box(CANVAS)[3])
        text = browser.text("#tooltip")
        total, count = (sum(tables["page_sums"].column(name)) for name in ("ns", "count"))
        assert text.startswith("All GPU work") and "100.0 % of GPU time" in text and f"{count:,}" in text, text
        mean = re.search(r"mean\s+(.*)", text).group(1)
        assert close(milliseconds(mean), total / count / 1e6), text
        keys(browser, CANVAS, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        said = browser.text("#flame [aria-live]")
        assert "ms" in said and said.split(",")[0] in browser.text("#tooltip"), said


def test_search_highlights_and_sums(_):
    with charts() as (browser, path, tables):
        before = browser.js("return document.querySelector(arguments[0]).toDataURL()", CANVAS)
        browser.fill("#flame input", "gemm")
        text = browser.text(".flame-summary")
        assert "“gemm” matches" in text and abs(percent_in(text) - share_with(tables, "gemm")) <= 0.051, text
        assert "search=gemm" in browser.hash()
        assert browser.js("return document.querySelector(arguments[0]).toDataURL()", CANVAS) != before
        browser.fill("#flame input", "block_3")
        assert abs(percent_in(browser.text(".flame-summary")) - share_with(tables, "block_3")) <= 0.051, "one of the modules that are shown together"
        browser.fill("#flame input", "no such name")
        assert percent_in(browser.text(".flame-summary")) == 0
        browser.open(path, "#flame&search=addmm")
        assert browser.js("return document.querySelector('#flame input').value") == "addmm"
        assert abs(percent_in(browser.text(".flame-summary")) - share_with(tables, "addmm")) <= 0.051


def test_flame_graph_orders_and_modules(_):
    with charts() as (browser, _, tables):
        pressed = "return [...document.querySelectorAll('#flame .toolbar .button')].filter((b) => b.getAttribute('aria-pressed') === 'true').map((b) => b.innerText)"
        assert browser.js(pressed) == ["by time", "repeated modules together"]
        browser.click("#flame .alternative summary")
        names = browser.texts("#flame .alternative td:nth-child(2)")
        assert any("×" in name for name in names) and not any(re.search(r"Block_\d", name) for name in names), names
        browser.js("[...document.querySelectorAll('#flame .toolbar .button')].at(-1).click()")
        browser.settle()
        assert "flame.modules=apart" in browser.hash()
        assert any(re.fullmatch(r"Block_\d+", name) for name in browser.texts("#flame .alternative td:nth-child(2)"))
        browser.click("#flame .segmented .button:nth-child(2)")
        assert "flame.order=time" in browser.hash()
        # Roots in order of their first start.
        first = {}
        for row in tables["page_gpu"].records():
            name = ([*path_names(tables, row["call"])] or ["(no launch recorded)"])[-1]
            first[name] = min(first.get(name, row["start"]), row["start"])
        rows = browser.js("return [...document.querySelectorAll('#flame .alternative tr')].map((row) => [...row.cells].map((cell) => cell.innerText))")
        shown = [row[1].split(" › ")[0] for row in rows if row[0] == "1"]
        expected = [name for name in sorted(first, key=first.get) if name in shown]
        assert len(shown) > 2 and shown == expected, (shown, expected)


def test_flame_graph_follows_the_range(_):
    with charts() as (browser, path, tables):
        steps = tables["page_steps"].records()
        begin, end = steps[1]["start"], steps[1]["start"] + steps[1]["ns"]
        browser.open(path, f"#flame&range={begin}-{end}")
        rows = clipped(tables, begin, end)
        sums = category_sums(tables, rows)
        assert close(milliseconds(browser.text(".flame-summary")), sum(sums.values()) / 1e6)
        assert f"{len(rows):,} kernels" in browser.text(".flame-summary")
        browser.open(path, "#flame&range=1-2")
        assert browser.text(".flame-summary") == "No GPU work in this range."
        assert browser.text(".roofline-summary") == "No op with a performance model ran in this range."


def test_category_and_finding_highlight_everywhere(_):
    with charts() as (browser, path, tables):
        browser.click(".category-bar")
        name = browser.text(".category-bar").split("\n")[0]
        assert f"category={name}" in browser.hash()
        sums = category_sums(tables)
        assert abs(percent_in(browser.text(".flame-summary")) - 100 * sums[name] / sum(sums.values())) <= 0.051
        off = "return [...document.querySelectorAll('.bubble')].map((one) => one.classList.contains('off'))"
        assert True in browser.js(off) and False in browser.js(off)
        browser.click(".category-bar")
        assert "category" not in browser.hash() and True not in browser.js(off)
        evidence = [row for row in tables["page_evidence"].records() if row["kernel"] is not None]
        if evidence:
            rank = evidence[0]["finding"]
            pairs = {(row["call"], row["kernel"]) for row in evidence if row["finding"] == rank}
            rows = tables["page_sums"].records()
            share = 100 * sum(row["ns"] for row in rows if (row["call"], row["kernel"]) in pairs) / sum(row["ns"] for row in rows)
            browser.open(path, f"#flame&finding={rank}")
            assert abs(percent_in(browser.text(".flame-summary")) - share) <= 0.051, browser.text(".flame-summary")


def test_binned_pages_say_how_exact_they_are(_):
    with charts("--binned", "--events", "4000") as (browser, path, tables):
        assert close(milliseconds(browser.text(".flame-summary")), sum(tables["page_sums"].column("ns")) / 1e6)
        browser.open(path, "#flame&flame.order=time")
        assert "does not have all events: starts are known to" in browser.text("#flame")
        end = next(row["value"] for row in tables["page_facts"].records() if row["name"] == "end")
        browser.open(path, f"#flame&range=1-{end - 1}")
        assert "in bins only" in browser.text("#flame")


def test_work_without_ops(_):
    with charts("--kind", "rocprof") as (browser, _, tables):
        assert close(milliseconds(browser.text(".flame-summary")), sum(tables["page_sums"].column("ns")) / 1e6)
        browser.click("#flame .alternative summary")
        sums = category_sums(tables)
        assert browser.texts("#flame .alternative td:nth-child(2)")[1] == max(sums, key=sums.get)
        assert "does not say which ops launched its kernels" in browser.text("#flame")


# ---- roofline ----

def test_roofline_has_a_bubble_per_op_and_shape(_):
    with charts() as (browser, _, tables):
        rows = [row for row in tables["unified_perf_summary"].records() if row["FLOPS/Byte"]]
        assert browser.count(".bubble") == len(rows) > 5
        areas = browser.js("return [...document.querySelectorAll('.bubble')].map((one) => one.r.baseVal.value ** 2)")
        times = sorted((row["Kernel Time (µs)_sum"] for row in rows), reverse=True)
        for area, time in zip(areas, times):
            assert area <= 2.5 ** 2 + 1e-6 or abs(area / areas[0] - time / times[0]) < 1e-6, "area is time"
        judged = [row for row in rows if row["Roofline Time (µs)_first"]]
        taken = sum(row["Kernel Time (µs)_sum"] for row in judged)
        roof = sum(min(row["Kernel Time (µs)_sum"], row["Roofline Time (µs)_first"] * row["operation_count"]) for row in judged)
        shown = [milliseconds(part) for part in browser.texts(".roofline-summary b")]
        assert close(shown[0], taken / 1e3) and close(shown[1], roof / 1e3), shown
        names = drawn(browser, ".roof-name")
        assert any("memory: 4.80 TB/s" in name for name in names) and len(names) >= 2, names
        assert browser.count(".roof.achievable") == browser.count(".roof:not(.achievable)") > 0
        assert "80\u00a0% of the roof" in browser.text("#roofline .note")


def test_roofline_names_do_not_overlap(_):
    for width in (1280, 3840):
        with charts(size=(width, 900)) as (browser, _, _):
            boxes = browser.js("return [...document.querySelectorAll('.bubble-name')].map((one) => { const b = one.getBoundingClientRect();"
                               " return [b.left, b.top, b.right, b.bottom]; })")
            assert boxes
            for i, one in enumerate(boxes):
                for other in boxes[:i]:
                    assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] + 3 or other[3] <= one[1] + 3, (one, other)


def test_roofline_says_the_gap(_):
    with charts() as (browser, _, tables):
        rows = sorted((row for row in tables["unified_perf_summary"].records() if row["FLOPS/Byte"]), key=lambda row: -row["Kernel Time (µs)_sum"])
        row = rows[0]
        keys(browser, "#roofline svg", Keys.ARROW_RIGHT)
        text = browser.text("#tooltip")
        gap = (row["Kernel Time (µs)_sum"] - row["Roofline Time (µs)_first"] * row["operation_count"]) / 1e3
        shown = float(re.search(r"gap\s+([\d.]+) ms", text).group(1))
        assert text.startswith(row["name"]) and row["Input Dims"] in text and close(shown, max(gap, 0)), (text, gap)
        assert browser.count(".bubble.focused") == 1
        browser.keys(Keys.ENTER)
        call = int(re.search(r"call=(\d+)", browser.hash()).group(1))
        assert tables["page_calls"].column("op")[call] == row["name"]
        assert browser.count(".bubble.chosen") == 1
        browser.keys(Keys.ESCAPE)
        assert browser.count(".bubble.focused") == 0


def test_roofline_follows_the_range(_):
    with charts() as (browser, path, tables):
        steps = tables["page_steps"].records()
        begin, end = steps[2]["start"], steps[2]["start"] + steps[2]["ns"]
        calls, whole, inside = tables["page_calls"].records(), defaultdict(int), defaultdict(int)
        key = lambda call: (calls[call]["op"], calls[call]["shapes"].replace(" ", ""))
        for row in tables["page_sums"].records():
            if row["call"] is not None:
                whole[key(row["call"])] += row["ns"]
        for row in clipped(tables, begin, end):
            if row["call"] is not None:
                inside[key(row["call"])] += row["ns"]
        expected = 0
        for row in tables["unified_perf_summary"].records():
            if row["FLOPS/Byte"] and row["Roofline Time (µs)_first"]:
                at = (row["name"], row["Input Dims"].replace(" ", ""))
                expected += row["Kernel Time (µs)_sum"] * inside[at] / whole[at]
        browser.open(path, f"#roofline&range={begin}-{end}")
        assert close(milliseconds(browser.texts(".roofline-summary b")[0]), expected / 1e3)


def test_roofline_without_a_known_gpu(_):
    def change(tables):
        for table in tables:
            if table.name == "unified_perf_summary":
                table.columns[:] = [column for column in table.columns if not column.name.startswith(("Roofline", "Pct Roofline"))]
        return without("page_peaks")(tables)
    with charts(change=change) as (browser, _, tables):
        assert browser.count(".bubble") > 5 and browser.count(".roof") == 0
        assert "are not known, so there are no roofs" in browser.text("#roofline .note")


def test_roofline_without_models(_):
    def change(tables):
        for table in tables:
            if table.name == "unified_perf_summary":
                table.columns[:] = [column for column in table.columns if column.name != "FLOPS/Byte"]
        return tables
    with charts(change=change) as (browser, _, _):
        assert "No op of this trace has a performance model" in browser.text("#roofline .empty")


# ---- steps ----

def test_steps_have_their_times(_):
    with charts("--events", "8000") as (browser, path, tables):
        window = [row["ns"] for row in tables["page_steps"].records() if row["in_window"]]
        shown = browser.texts(".steps-summary b")
        assert int(shown[0]) == len(window)
        assert close(milliseconds(shown[1]), statistics.mean(window) / 1e6) and close(milliseconds(shown[2]), statistics.median(window) / 1e6)
        keys(browser, "#steps canvas", Keys.ARROW_RIGHT)
        step = tables["page_steps"].records()[0]
        text = browser.text("#tooltip")
        assert text.startswith(step["name"]) and close(milliseconds(text), step["ns"] / 1e6), text
        parts = {row["part"]: row["ns"] for row in tables["page_step_parts"].records() if row["step"] == 0 and row["kind"] == "computation"}
        largest = max(parts, key=parts.get)
        line = re.search(rf"{largest}\s+(.*)", text).group(1)
        assert close(milliseconds(line), parts[largest] / 1e6), (line, parts)
        browser.keys(Keys.ENTER)
        assert f"range={step['start']}-{step['start'] + step['ns']}" in browser.hash()
        browser.keys(Keys.ENTER)
        assert "range" not in browser.hash()
        browser.click("#steps canvas", 0.07, 0.7)
        assert f"range={step['start']}-" in browser.hash(), "the first bar"


def many_steps(count, phases):
    """Replaces the steps: 1 ms each, but the 43rd takes 30 ms."""
    def change(tables):
        ns = [1_000_000 + 997 * i % 9000 for i in range(count)]
        ns[42] = 30_000_000
        starts = [i * 1_100_000 + (i > 42) * 29_000_000 for i in range(count)]
        columns = [Column("name", "string", [f"step#{i}" for i in range(count)]), Column("start", "int", starts), Column("ns", "int", ns),
                   Column("phase", "string", [phases[i % len(phases)] for i in range(count)]), Column("in_window", "bool", [True] * count)]
        parts = [Column("step", "int", list(range(count))), Column("part", "string", ["GEMM"] * count),
                 Column("kind", "string", ["computation"] * count), Column("ns", "int", ns)]
        return without("page_steps", "page_step_parts")(tables) + [Table("page_steps", columns), Table("page_step_parts", parts)]
    return change


def test_ten_thousand_steps(_):
    with charts(change=many_steps(10000, [None])) as (browser, _, _):
        note = browser.text("#steps .note")
        assert re.search(r"10,000 steps: each bar is the mean of \d+", note) and "3 scaled MADs" in note, note
        assert "1 is marked as unusual" in browser.text(".steps-summary")
        pixels = browser.js("const c = document.querySelector('#steps canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                            " let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n / (c.width * c.height);")
        assert pixels > 0.3, "bars are drawn"


def test_steps_of_servers_by_phase(_):
    with charts(change=many_steps(60, ["prefill", "decode", "decode"])) as (browser, _, tables):
        rows = browser.js("return [...document.querySelectorAll('.steps-summary tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))")
        steps = tables["page_steps"].records()
        for phase, count, mean, middle, _ in rows:
            times = [step["ns"] for step in steps if step["phase"] == phase]
            assert int(count) == len(times) and close(milliseconds(mean), statistics.mean(times) / 1e6), rows
            assert close(milliseconds(middle), statistics.median(times) / 1e6), rows
        assert [row[0] for row in rows] == ["prefill", "decode"]
        note = browser.text("#steps .note")
        assert "Line above the bars" in browser.text("#steps") and "of the phase" in note and "are cut off" in note, note


def test_a_window_without_steps_has_no_section(_):
    with charts(change=without("page_steps", "page_step_parts")) as (browser, _, _):
        assert browser.count("#steps") == 0 and browser.count("#flame") == 1


# ---- memory and copies ----

def test_copies_and_memory(_):
    with charts() as (browser, path, tables):
        groups = defaultdict(lambda: [0, 0])
        for row in tables["page_copies"].records():
            groups[row["direction"], row["kind"]][0] += row["count"]
            groups[row["direction"], row["kind"]][1] += row["ns"]
        rows = browser.js("return [...document.querySelectorAll('table.copies tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))")
        expected = sorted(groups.items(), key=lambda item: -item[1][1])
        assert len(rows) == len(expected)
        for row, ((_, kind), (count, ns)) in zip(rows, expected):
            assert row[1] == (kind or "") and row[2] == f"{count:,}" and close(milliseconds(row[4]), ns / 1e6), (row, kind, count, ns)
        assert browser.count(".chip.pageable") == sum(1 for (_, kind) in groups if kind == "pageable") > 0
        sized = sum(1 for row in tables["page_copies"].records() if row["bytes"])
        assert browser.count(".copy-mark[data-index]") == sized
        keys(browser, "#memory .copies-columns svg[tabindex]", Keys.ARROW_RIGHT)
        assert "GB/s" in browser.text("#tooltip") and "pageable" in browser.text("#tooltip")
        peaks = defaultdict(int)
        for row in tables["page_memory"].records():
            peaks[row["device"]] = max(peaks[row["device"]], row["allocated"])
        shown = [float(re.search(r"peak ([\d.]+) GB", text).group(1)) for text in drawn(browser, ".peak-name")]
        assert len(shown) == len(peaks) and all(close(one, peak / 1e9) for one, peak in zip(shown, peaks.values())), (shown, peaks)
        middle = tables["page_memory"].records()[len(tables["page_memory"].records()) // 4]["start"]
        browser.open(path, f"#memory&range=0-{middle}")
        inside = max(row["allocated"] for row in tables["page_memory"].records() if row["start"] <= middle and row["device"] == min(peaks))
        shown = float(re.search(r"peak ([\d.]+) GB", drawn(browser, ".peak-name")[0]).group(1))
        assert close(shown, inside / 1e9), (shown, inside)


def test_memory_of_one_device(_):
    def change(tables):
        for table in tables:
            if table.name == "page_memory":
                rows = [i for i, device in enumerate(table.column("device")) if device == 0]
                table.columns[:] = [column._replace(cells=[column.cells[i] for i in rows]) for column in table.columns]
        return tables
    with charts(change=change) as (browser, _, _):
        assert len(drawn(browser, ".peak-name")) == 1
        for section in ("flame", "roofline", "steps", "memory"):
            assert not re.search(r"\b(null|undefined|NaN)\b", browser.text(f"#{section}")), section


def test_empty_parts_of_memory_say_why(_):
    with charts(change=without("page_memory")) as (browser, _, _):
        assert "profile with profile_memory=True" in browser.text("#memory .empty")
    with charts(change=without("page_copies")) as (browser, _, _):
        assert "There are no copies or memsets in this trace" in browser.text("#memory .empty")
    with charts(change=without("page_memory", "page_copies")) as (browser, _, _):
        assert browser.count("#memory") == 0


# ---- all of them ----

def test_charts_say_the_same_as_tables(_):
    with charts() as (browser, _, _):
        for section in ("flame", "roofline", "steps", "memory"):
            browser.js("document.querySelector(arguments[0]).open = true", f"#{section} .alternative")
            browser.wait(f"document.querySelectorAll('#{section} .alternative tbody tr').length > 2")
            for chart in ("canvas[tabindex]", "svg[tabindex]"):
                labels = browser.js("return [...document.querySelectorAll(arguments[0])].map((one) => one.getAttribute('aria-label'))", f"#{section} {chart}")
                assert all(labels), f"{section}: a chart without a label"


def test_hostile_names_are_only_drawn(_):
    with charts("--hostile") as (browser, path, _):
        for hash_ in ("#flame", "#flame&flame.order=time", "#flame&flame.modules=apart", "#flame&search=%3Cscript%3E", "#steps&theme=dark"):
            browser.open(path, hash_)
            for y in (0.1, 0.3, 0.5, 0.7, 0.95):
                browser.hover(CANVAS, 0.2, y)
            keys(browser, "#roofline svg", Keys.ARROW_RIGHT)
            keys(browser, "#steps canvas", Keys.ARROW_RIGHT)
            browser.js("document.querySelectorAll('.alternative').forEach((one) => one.open = true)")
            browser.settle()
            assert browser.js("return document.title") == read_page(path).title
            assert browser.js("return document.documentElement.scrollWidth") <= 1280, "a name sets no width"


if __name__ == "__main__":
    sys.exit(run_test_functions(__doc__, globals()))
