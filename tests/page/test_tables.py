#!/usr/bin/env python3
"""The tables of the page in a real browser: kernels, ops, all sheets. Expected cells are computed here from the data of the
page (pack.py), not by its program.

    python3 -m tests.page.test_tables --bin build/gputally [ONLY]
"""
import contextlib
import csv
import io
import os
import random
import re
import sys
import tempfile
from collections import defaultdict

from tests.page.browser import Browser, Keys, require_browser
from tests.common.harness import run_test_functions
from tests.page import sample
from tests.page.pack import Column, Table, read_page

ROWS = "#kernels-table tr[data-place]"


@contextlib.contextmanager
def opened(*options, hash_="", extra=()):
    """A browser with a sample page, and the page's data. extra: more tables of the first source."""
    require_browser()
    with tempfile.TemporaryDirectory(prefix="gputally-page-") as folder:
        path = os.path.join(folder, "page.html")
        if extra:
            front, sources = sample.make_single(sample.parse([path, *options]))
            sample.write_page(path, front, [[*sources[0], *extra]])
        else:
            sample.make(path, *options)
        with Browser() as browser:
            browser.path = path
            browser.open(path, hash_)
            yield browser, read_page(path)


def kernel_sums(tables, begin=None, end=None):
    """{kernel row: [count, ns]}, of the events in a range."""
    sums = defaultdict(lambda: [0, 0])
    for event in tables["page_gpu"].records():
        inside = event["ns"]
        if begin is not None:
            inside = min(event["start"] + event["ns"], end) - max(event["start"], begin)
        if inside > 0:
            sums[event["kernel"]][0] += 1
            sums[event["kernel"]][1] += inside
    return sums


def shown_cells(browser, table="kernels", column=0):
    """The titles of a column's cells: values in full."""
    return browser.js("return [...document.querySelectorAll(`#${arguments[0]}-table tr[data-place]`)].map((row) => row.cells[arguments[1]].title)",
                      table, column)


def numbers(texts):
    return [float(re.match(r"[-\d.e+]+", text).group()) for text in texts]


def headings(browser, table="kernels"):
    return browser.js("return [...document.querySelectorAll(`#${arguments[0]}-table .grid-table > thead th`)].map((one) => [one.innerText.trim().split('\\n')[0], one.ariaSort])",
                      table)


def click_heading(browser, key, table="kernels"):
    browser.js("document.querySelector(`#${arguments[0]}-table th button[data-key='${arguments[1]}']`).click()", table, key)
    browser.settle()


# ---- numbers ----

def test_kernels_have_the_sums_of_the_events(_):
    with opened() as (browser, page):
        tables = page.tables[0]
        sums = sorted(kernel_sums(tables).items(), key=lambda item: -item[1][1])
        names = tables["page_kernels"].column("name")
        assert shown_cells(browser) == [names[kernel] for kernel, _ in sums]
        assert numbers(shown_cells(browser, column=2)) == [ns for _, (_, ns) in sums]
        assert numbers(shown_cells(browser, column=4)) == [count for _, (count, _) in sums]
        assert numbers(shown_cells(browser, column=6)) == [tables["page_kernels"].column("min_ns")[kernel] for kernel, _ in sums]
        total = sum(ns for _, (_, ns) in sums)
        for share, (_, (_, ns)) in zip(numbers(shown_cells(browser, column=3)), sums):
            assert abs(share - 100 * ns / total) < 1e-9
        assert len(headings(browser)) == len(headings(browser, "ops")) == 8



def check_calls_and_shares(browser, tables, rows, sums):
    """Of each op the calls, not their kernels; and the share of all GPU time, not of what belongs to some op."""
    calls = [(call["op"], call["shapes"]) for call in tables["page_calls"].records()]
    counts, events = defaultdict(int), tables["page_gpu"].records()
    for event in events:
        if event["call"] is not None:
            counts[calls[event["call"]]] += event["begins"]
    assert headings(browser, "ops")[5][0] == "Calls"
    assert numbers(shown_cells(browser, "ops", 5)) == [counts[row] for row in rows]
    assert sum(counts.values()) < len(events)
    total = sum(event["ns"] for event in events)
    for share, row in zip(numbers(shown_cells(browser, "ops", 4)), rows):
        assert abs(share - 100 * sums[row] / total) < 1e-9, (row, share)


def test_shares_are_those_of_all_gpu_time(_):
    """Of a kernel of 90 ms that no op launched and one of 10 ms of an op, the op has 10 %."""
    with opened() as (browser, page):
        kernels = page.tables[0]["page_kernels"].rows()
        sums = Table("page_sums", [Column("call", "int", [None, 0]), Column("kernel", "int", [0, min(1, kernels - 1)]),
                                   Column("count", "int", [9, 4]), Column("calls", "int", [0, 1]), Column("ns", "int", [90_000_000, 10_000_000]),
                                   Column("category", "string", ["GEMM", "elementwise"])])
        path = browser.path.replace(".html", "_sums.html")
        front, sources = sample.make_single(sample.parse([path]))
        sample.write_page(path, front, [[*[table for table in sources[0] if table.name != "page_sums"], sums]])
        browser.open(path, "#kernels")
        assert numbers(shown_cells(browser, "ops", 4)) == [10] and numbers(shown_cells(browser, "ops", 5)) == [1]
        assert "(10.0 % of all GPU time)" in browser.text("#ops-table .note"), browser.text("#ops-table .note")
        assert numbers(shown_cells(browser, "kernels", 3)) == [90, 10] and numbers(shown_cells(browser, "kernels", 4)) == [9, 4]


def test_an_empty_table_says_why(_):
    """Only a filter that was set is called one."""
    with opened() as (browser, page):
        steps = page.tables[0]["page_steps"].records()
        end = steps[-1]["start"] + steps[-1]["ns"]
        for hash_, said in ((f"#kernels&range={end + 10**9}-{end + 10**9 + 5}", "No kernels, copies and memsets in the chosen range."),
                            ("#kernels&kernels.filter=nothing_has_this", "No kernels, copies and memsets with this filter."),
                            ("#kernels&search=nothing_has_this", "No kernels, copies and memsets of the chosen category or text.")):
            browser.open(browser.path, hash_)
            assert browser.text("#kernels-table .empty") == said, (hash_, browser.text("#kernels-table .empty"))


def test_ops_have_sums_and_roofline(_):
    with opened() as (browser, page):
        tables = page.tables[0]
        calls = [(call["op"], call["shapes"]) for call in tables["page_calls"].records()]
        sums = defaultdict(int)
        for row in tables["page_sums"].records():
            sums[calls[row["call"]]] += row["ns"]
        rows = list(zip(shown_cells(browser, "ops", 0), shown_cells(browser, "ops", 1)))
        assert rows == sorted(sums, key=lambda key: -sums[key])[:len(rows)] and len(rows) == len(sums)
        assert numbers(shown_cells(browser, "ops", 3)) == [sums[row] for row in rows]
        check_calls_and_shares(browser, tables, rows, sums)
        unified = {(row["name"], row["Input Dims"]): row for row in tables["unified_perf_summary"].records()}
        shown = shown_cells(browser, "ops", 7)
        assert headings(browser, "ops")[7][0] == "Of roofline"
        for key, text in zip(rows, shown):
            expected = unified[key]["Pct Roofline_mean"]
            assert text == "" if expected is None else abs(float(text.split()[0]) - expected) < 1e-6, (key, text, expected)


def test_range_filters_the_tables(_):
    with opened() as (browser, page):
        tables = page.tables[0]
        steps = tables["page_steps"].records()
        begin, end = steps[1]["start"] + 100_000, steps[1]["start"] + steps[1]["ns"] // 2
        browser.open(browser.path, f"#kernels&range={begin}-{end}")
        sums = sorted(kernel_sums(tables, begin, end).items(), key=lambda item: (-item[1][1], item[0]))
        assert sorted(numbers(shown_cells(browser, column=2)), reverse=True) == [ns for _, (_, ns) in sums]
        assert sum(numbers(shown_cells(browser, column=4))) == sum(count for _, (count, _) in sums)
        assert "chosen range" in browser.text("#kernels-table .note")


def test_category_search_and_finding(_):
    with opened(hash_="#kernels&category=GEMM") as (browser, page):
        kernels = page.tables[0]["page_kernels"].records()
        assert set(shown_cells(browser, column=1)) == {"GEMM"} and browser.count(ROWS) == 3
        browser.open(browser.path, "#kernels&search=flash")
        assert browser.count(ROWS) == 2 and all("flash" in name for name in shown_cells(browser))
        browser.open(browser.path, "#kernels&finding=3")
        marked = browser.js("return [...document.querySelectorAll('#kernels-table tr.marked')].map((row) => row.cells[0].title)")
        assert marked == [kernel["name"] for kernel in kernels if kernel["category"] == "communication"]
        assert browser.count("#ops-table tr.marked") == 1
        browser.open(browser.path, "#kernels&category=idle:data")
        assert browser.count(ROWS) == len(kernels), "idle time has no kernels to choose"


def window_sums(tables):
    """Time by kernel in a step of the window, on average."""
    facts = dict(zip(tables["page_facts"].column("name"), tables["page_facts"].column("value")))
    names, sums = tables["page_kernels"].column("name"), {}
    for start, ns, kernel in zip(*(tables["page_gpu"].column(name) for name in ("start", "ns", "kernel"))):
        inside = min(start + ns, facts["window_end"]) - max(start, facts["window_start"])
        if inside > 0:
            sums[names[kernel]] = sums.get(names[kernel], 0) + inside
    return {name: ns / sum(tables["page_steps"].column("in_window")) for name, ns in sums.items()}


def test_compare_shows_both_sides(_):
    with opened("--compare") as (browser, page):
        assert [name for name, _ in headings(browser)] == ["Kernel", "Category", "A", "B", "B − A", "Change", "A count", "B count"]
        sides = [window_sums(tables) for tables in page.tables[:2]]
        deltas = {name: sides[1][name] - sides[0][name] for name in sides[0]}
        rows = shown_cells(browser)
        assert rows == sorted(deltas, key=lambda name: -abs(deltas[name]))
        for text, name in zip(numbers(shown_cells(browser, column=4)), rows):
            assert abs(text - deltas[name]) < 1e-3
        shown = browser.texts(f"{ROWS}:first-of-type td.difference, #kernels-table td.difference")
        assert shown[0].startswith("+") == (deltas[rows[0]] > 0)
        browser.click(ROWS)
        assert browser.count("#kernels-table .histogram") == 2


def test_rocprof_has_no_ops(_):
    with opened("--kind", "rocprof") as (browser, page):
        assert browser.count("#kernels-table") == 1 and browser.count("#ops-table") == 0
        assert browser.count("#kernels-table .chooser input") == 8, "no columns about ops"
        browser.click(ROWS)
        name = shown_cells(browser)[0]
        assert "Total Kernel Time (ms)" in browser.text("#kernels-table .details") and name in browser.text("#kernels-table .details")


# ---- what a user does ----

def test_sort_by_click_and_key(_):
    with opened() as (browser, _):
        assert dict(headings(browser))["Time"] == "descending"
        click_heading(browser, "count")
        counts = numbers(shown_cells(browser, column=4))
        assert counts == sorted(counts, reverse=True) and "kernels.sort=-count" in browser.hash()
        click_heading(browser, "count")
        assert numbers(shown_cells(browser, column=4)) == sorted(counts) and dict(headings(browser))["Count"] == "ascending"
        browser.js("document.querySelector(\"#kernels-table th button[data-key='name']\").focus()")
        browser.keys(Keys.ENTER)
        shown = browser.texts("#kernels-table td.name")
        names = [re.split("[<(]", text.lstrip("▸▾ "))[0].lower() for text in shown]
        assert names == sorted(names) and "kernels.sort=name" in browser.hash()
        assert browser.js("return document.activeElement.dataset.key") == "name", "the heading keeps the focus"
        click_heading(browser, "ns")
        assert "kernels.sort" not in browser.hash(), "the usual order needs no state"


def test_filter_by_expression(_):
    with opened() as (browser, page):
        browser.fill("#kernels-table .filter-box", "dur>20us -nccl name:native count>=5")
        kernels = {kernel["name"]: kernel for kernel in page.tables[0]["page_kernels"].records()}
        expected = {name for name, kernel in kernels.items() if kernel["ns"] / kernel["count"] > 20_000 and kernel["count"] >= 5
                    and "native" in name and "nccl" not in name}
        assert expected and set(shown_cells(browser)) == expected
        assert f"{len(expected)} of {len(kernels)}" in browser.text("#kernels-table .note")
        assert "kernels.filter=dur>20us -nccl name:native count>=5" in browser.hash()
        browser.fill("#kernels-table .filter-box", "dur>abc")
        assert browser.text("#kernels-table .grid-error") == 'wrong filter: "abc" is not a number (column Mean)'
        assert browser.js("return document.querySelector('#kernels-table .filter-box').ariaInvalid") == "true"
        assert browser.count(ROWS) == len(kernels), "a wrong filter hides nothing"
        browser.fill("#kernels-table .filter-box", "nothing_has_this_name")
        assert browser.count(ROWS) == 0 and "No kernels" in browser.text("#kernels-table .empty")
        browser.fill("#kernels-table .filter-box", "")
        assert browser.count(ROWS) == len(kernels) and "kernels.filter" not in browser.hash()


def test_expand_by_click_and_key(_):
    with opened() as (browser, page):
        kernels = page.tables[0]["page_kernels"].records()
        browser.click(f"{ROWS}:nth-of-type(3)")
        name = shown_cells(browser)[1]
        kernel = next(kernel for kernel in kernels if kernel["name"] == name)
        assert f"kernels.open={kernels.index(kernel)}" in browser.hash() and f"kernel={kernels.index(kernel)}" in browser.hash()
        assert browser.text("#kernels-table .whole-name") == name
        assert browser.count("#kernels-table .histogram-bar") == len(kernel["histogram"])
        titles = browser.js("return [...document.querySelectorAll('#kernels-table .histogram title')].map((one) => one.textContent)")
        assert [int(title.split()[0].replace(",", "")) for title in titles] == kernel["histogram"]
        details = browser.text("#kernels-table .details")
        row = next(row for row in page.tables[0]["kernel_summary"].records() if row["Kernel name"] == name)
        assert "Kernel duration (µs)_sum" in details and row["Parent cpu_op"] in details
        browser.click(f"{ROWS}.open")
        assert browser.count("#kernels-table .details") == 0 and "kernels.open" not in browser.hash()
        browser.keys(Keys.HOME, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER, css="#kernels-table .grid-table")
        assert browser.text("#kernels-table .whole-name") == shown_cells(browser)[2]
        active = browser.js("return document.querySelector('#kernels-table .grid-table').getAttribute('aria-activedescendant')")
        assert active == "kernels-row-2" and browser.js("return document.getElementById(arguments[0]).ariaExpanded", active) == "true"
        browser.keys(Keys.ESCAPE)
        assert browser.count("#kernels-table .details") == 0


def test_opened_row_is_in_sight(_):
    with opened() as (browser, page):
        last = browser.js("return document.querySelectorAll('#kernels-table tr[data-place]').length - 1")
        browser.js("const g = document.querySelector('#kernels-table .grid'); g.scrollTop = g.scrollHeight; document.querySelector(`#kernels-row-${arguments[0]}`).click()", last)
        browser.settle()
        browser.settle()
        inside = browser.js("""
            const grid = document.querySelector('#kernels-table .grid').getBoundingClientRect();
            const row = document.querySelector('#kernels-table tr.open').getBoundingClientRect();
            const details = document.querySelector('#kernels-table .details').getBoundingClientRect();
            return [row.top - grid.top, grid.bottom - details.top]""")
        assert inside[0] >= 30 and inside[1] > 150, inside


def test_op_details(_):
    with opened() as (browser, page):
        browser.click("#ops-table tr[data-place]:nth-of-type(4)")
        op, shapes = (shown_cells(browser, "ops", column)[2] for column in (0, 1))
        details = browser.text("#ops-table .details")
        assert f"{op} {shapes}" in details and "Launched by" in details and "GFLOPS" in details
        row = next(row for row in page.tables[0]["unified_perf_summary"].records() if (row["name"], row["Input Dims"]) == (op, shapes))
        titles = browser.js("return [...document.querySelectorAll('#ops-table .sheet-rows td')].map((one) => one.title)")
        assert len(titles) == len(row) and str(row["operation_count"]) in titles
        assert any(title and abs(float(title) - row["Kernel Time (µs)_sum"]) < 1e-6 for title in titles if re.fullmatch(r"[\d.]+", title))


def test_hash_restores_everything(_):
    with opened() as (browser, _):
        state = "#kernels&kernels.sort=name&kernels.filter=-copy count>5&kernels.columns=name,count,python&kernels.open=3&ops.sort=-tflops"
        browser.open(browser.path, state)
        assert [name for name, _ in headings(browser)] == ["Kernel", "Count", "Python"]
        assert dict(headings(browser))["Kernel"] == "ascending" and dict(headings(browser, "ops"))["TFLOP/s"] == "descending"
        assert browser.js("return document.querySelector('#kernels-table .filter-box').value") == "-copy count>5"
        assert browser.count("#kernels-table tr.open") == 1
        before = shown_cells(browser)
        again = browser.js("return location.hash")
        browser.open(browser.path, again)
        assert shown_cells(browser) == before
        browser.js("location.hash = '#kernels&kernels.sort=-max'")
        browser.wait("document.querySelectorAll('#kernels-table .grid-table > thead th').length === 8", "the table to follow the hash")
        assert dict(headings(browser))["Max"] == "descending" and browser.count("#kernels-table tr.open") == 0


def test_choose_columns(_):
    with opened() as (browser, page):
        browser.click("#kernels-table .chooser summary")
        browser.click("#kernels-table .chooser input[data-key='python']")
        assert [name for name, _ in headings(browser)][-1] == "Python" and "kernels.columns=" in browser.hash()
        assert browser.js("return document.activeElement.dataset.key") == "python", "the menu stays open"
        browser.click("#kernels-table .chooser input[data-key='min']")
        assert [name for name, _ in headings(browser)] == ["Kernel", "Category", "Time", "Share", "Count", "Mean", "Max", "Python"]
        browser.click("#kernels-table .chooser button")
        assert len(headings(browser)) == 8 and "kernels.columns" not in browser.hash()
        browser.keys(Keys.ESCAPE, css="#kernels-table .chooser input")
        assert not browser.js("return document.querySelector('#kernels-table .chooser').open")


def copied(browser, label):
    browser.js("[...document.querySelectorAll('#kernels-table button')].find((one) => one.textContent === arguments[0]).click()", label)
    browser.wait("[...document.querySelectorAll('#kernels-table button')].some((one) => one.textContent === 'copied')", "the button to say so")
    return browser.clipboard()


def test_copy_csv_and_markdown(_):
    with opened(hash_="#kernels&kernels.filter=count>5") as (browser, page):
        kernels = [k for k in page.tables[0]["page_kernels"].records() if k["count"] > 5]
        rows = list(csv.reader(io.StringIO(copied(browser, "Copy CSV"))))
        assert rows[0] == ["Kernel", "Category", "Time (ns)", "Share (%)", "Count", "Mean (ns)", "Min (ns)", "Max (ns)"]
        assert {(row[0], int(row[2]), int(row[4])) for row in rows[1:]} == {(k["name"], k["ns"], k["count"]) for k in kernels}
        assert [float(row[5]) for row in rows[1:]] == [int(row[2]) / int(row[4]) for row in rows[1:]], "all digits"
        browser.click("#kernels-table label input[type=checkbox]:not(.chooser input)")
        lines = copied(browser, "Copy Markdown").splitlines()
        assert len(lines) == len(kernels) + 2 and lines[0].endswith("| Op | Shapes | Python |") and lines[1].startswith("| :--- | :--- | ---: |")


def test_copy_of_a_selection_has_full_names(_):
    with opened() as (browser, page):
        names = shown_cells(browser)
        browser.js("""const cells = document.querySelectorAll('#kernels-table td.name'); const range = document.createRange();
            range.selectNodeContents(cells[1]); getSelection().removeAllRanges(); getSelection().addRange(range);""")
        browser.chord(Keys.CONTROL, "c")
        assert browser.clipboard() == names[1]


# ---- hard data ----

def test_hostile_names_set_no_width(_):
    with opened("--hostile") as (browser, page):
        kernels = page.tables[0]["page_kernels"]
        used = {event["kernel"] for event in page.tables[0]["page_gpu"].records()}
        browser.js("document.querySelector('#kernels-table .grid').style.maxHeight = 'none'")
        browser.settle()
        assert browser.count(ROWS) == len(used)
        widths = browser.js("const g = document.querySelector('#kernels-table .grid'); return [g.scrollWidth, g.clientWidth, document.documentElement.scrollWidth]")
        assert widths[0] == widths[1] and widths[2] <= 1280, widths
        assert max(map(len, browser.texts("#kernels-table td.name"))) < 200
        longest = max(used, key=lambda kernel: len(kernels.column("name")[kernel]))
        browser.open(browser.path, f"#kernels&kernels.open={longest}")
        assert browser.js("return document.querySelector('#kernels-table .whole-name').textContent") == kernels.column("name")[longest]
        assert browser.js("const g = document.querySelector('#kernels-table .grid'); return g.scrollWidth === g.clientWidth")
        assert browser.count("#kernels b, #kernels script, #kernels img") == 0


def big_sheet(rows):
    source = random.Random(7)
    return Table("big", [Column("name", "string", [f"kernel_{source.randrange(rows)}" for _ in range(rows)]),
                         Column("Time (µs)_sum", "float", [source.random() * 1e6 for _ in range(rows)]),
                         Column("count", "int", [source.randrange(1000) for _ in range(rows)]),
                         *(Column(f"more {number}", "int", [None] * rows) for number in range(24))])


def test_sheet_of_200000_rows(_):
    sheet = big_sheet(200_000)
    with opened(extra=[sheet], hash_="#sheets&sheets.sheet=big") as (browser, _):
        rows = "#sheets-table tr[data-place]"
        assert browser.text("#sheets-table .note").startswith("200,000 rows") and browser.count(rows) < 80
        browser.js("const g = document.querySelector('#sheets-table .grid'); g.scrollTop = g.scrollHeight")
        browser.wait("document.querySelector('#sheets-row-199999')", "the last row")
        assert browser.count(rows) < 80 and shown_cells(browser, "sheets")[-1] == sheet.column("name")[-1]
        header = browser.js("return document.querySelector('#sheets-table th').getBoundingClientRect().top - document.querySelector('#sheets-table .grid').getBoundingClientRect().top")
        assert 0 <= header <= 2, "the heading stays in sight"
        click_heading(browser, "Time (µs)_sum", "sheets")
        browser.js("document.querySelector('#sheets-table .grid').scrollTop = 100000 * 28")
        browser.wait("document.querySelector('#sheets-row-100000')", "a row in the middle")
        first = browser.js("return Number(document.querySelector('#sheets-table tr[data-place]').dataset.place)")
        expected = sorted(sheet.column("Time (µs)_sum"), reverse=True)[first:first + 5]
        assert [abs(a - b) < 1e-6 for a, b in zip(numbers(shown_cells(browser, "sheets", 1)), expected)] == [True] * 5
        browser.open(browser.path, "#sheets&sheets.sheet=big&sheets.open=1000")
        browser.settle()
        heights = browser.js("""
            const grid = document.querySelector('#sheets-table .grid');
            return [grid.scrollHeight, document.querySelector('#sheets-table .details').parentNode.getBoundingClientRect().height,
                document.querySelector('#sheets-table thead').getBoundingClientRect().height,
                document.querySelector('#sheets-row-1001').getBoundingClientRect().top - document.querySelector('#sheets-row-1000').getBoundingClientRect().bottom]""")
        assert abs(heights[0] - (200_000 * 28 + heights[1] + heights[2])) < 2, heights
        assert abs(heights[3] - heights[1]) < 1, "details lie between the rows"
        browser.js("const g = document.querySelector('#sheets-table .grid'); g.scrollTop = g.scrollHeight")
        browser.wait("document.querySelector('#sheets-row-199999')", "the last row")
        assert browser.js("return document.querySelector('#sheets-table .grid').scrollHeight") == heights[0], "the height stays"
        browser.js("document.querySelector('#sheets-table .grid').scrollTop = 150000 * 28")
        browser.settle()
        places = browser.js("""
            const grid = document.querySelector('#sheets-table .grid');
            grid.scrollIntoView({block: 'center', behavior: 'instant'});
            const box = grid.getBoundingClientRect();
            return [box.top + 50, box.bottom - 20].map((y) => document.elementFromPoint(box.left + 30, y).closest('tr')?.dataset.place)""")
        assert all(places) and 149_900 < int(places[0]) < int(places[1]) < 150_100, places
        assert browser.count("#sheets-table .details") == 0, "details out of sight are not drawn"
        browser.fill("#sheets-table .filter-box", "count>=990 time<100ms")
        found = sum(1 for row in sheet.records() if row["count"] >= 990 and row["Time (µs)_sum"] < 100_000)
        assert browser.text("#sheets-table .note").startswith(f"{found:,} of 200,000 rows")


def test_all_sheets_can_be_chosen(_):
    large = Table("large", [Column("at", "int", [1_700_000_000_123_456, -1_700_000_000_123_456]), Column("value", "float", [1234567890.5, 1e300]),
                            *(Column(f"more {i}", "int", [123_456_789, 5]) for i in range(6))])
    with opened(extra=[large]) as (browser, page):
        names = browser.js("return [...document.querySelectorAll('#sheets select option')].map((one) => one.value)")
        assert names == [name for name in page.tables[0] if not name.startswith("page_")]
        for name in names:
            sheet = page.tables[0][name]
            browser.js("const s = document.querySelector('#sheets select'); s.value = arguments[0]; s.dispatchEvent(new Event('change'));", name)
            browser.settle()
            shown = browser.js("return [...document.querySelectorAll('#sheets-table thead button')].map((one) => one.dataset.key)")
            assert len(shown) == min(8, len(sheet.columns)) and f"sheets.sheet={name}" in browser.hash()
            cut = browser.js("return [...document.querySelectorAll('#sheets-table td.number')].filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)")
            assert not cut, (name, cut)
            for at, column in enumerate(shown):
                for text, cell in zip(shown_cells(browser, "sheets", at), sheet.column(column)):
                    assert same_cell(text, cell), (name, column, text, cell)


def same_cell(text, cell):
    if cell is None:
        return text == ""
    if isinstance(cell, bool):
        return text == str(cell).lower()
    if isinstance(cell, (int, float)):
        return float(text) == cell
    if isinstance(cell, list):
        return text == "[" + ",".join(f'"{item}"' if isinstance(item, str) else str(item) for item in cell) + "]"
    return text == cell


def test_paper_says_how_many_rows_are_missing(_):
    with opened(extra=[big_sheet(500)], hash_="#sheets&sheets.sheet=big") as (browser, _):
        browser.js("dispatchEvent(new Event('beforeprint'))")
        browser.settle()
        rows = browser.count("#sheets-table tr[data-place]")
        assert 40 <= rows < 60 and browser.text("#sheets-table td.empty") == f"{500 - rows} more in the page."
        browser.js("dispatchEvent(new Event('afterprint'))")
        browser.settle()
        assert browser.count("#sheets-table td.empty") == 0


def test_printed_tables_have_rows_without_scrolling(_):
    with opened("--hostile") as (browser, page):
        browser.js("dispatchEvent(new Event('beforeprint'))")
        browser.cdp("Emulation.setEmulatedMedia", media="print")
        browser.settle()
        heights = browser.js("const g = document.querySelector('#kernels-table .grid'); return [g.scrollHeight, g.clientHeight]")
        assert heights[0] == heights[1], heights
        assert browser.count(ROWS) == len({event["kernel"] for event in page.tables[0]["page_gpu"].records()})


if __name__ == "__main__":
    sys.exit(run_test_functions(__doc__, globals()))
