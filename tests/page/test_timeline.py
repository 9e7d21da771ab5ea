#!/usr/bin/env python3
"""The timeline in a real browser: zoom, range, selection, search, highlights, folds, the trace file, two traces.

    python3 -m tests.page.test_timeline --bin build/gputally [ONLY]
"""
import bisect
import collections
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

from tests.common.harness import run_test_functions
from tests.page.browser import Browser, Keys, require_browser
from tests.page import sample
from tests.page.pack import read_page

CANVAS = ".timeline-upper"
HEAD = 43  # pixels of axis and steps


@contextlib.contextmanager
def opened(*options, hash_="", size=(1280, 900)):
    """A browser with a sample page, and the tables of its sources."""
    require_browser()
    with tempfile.TemporaryDirectory(prefix="gputally-timeline-") as folder:
        path = os.path.join(folder, "page.html")
        sample.make(path, *options)
        with Browser(*size) as browser:
            browser.open(path, hash_)
            show(browser)
            yield browser, read_page(path).tables


def show(browser):
    browser.js("document.getElementById('timeline').scrollIntoView({behavior: 'instant'})")
    browser.settle()


def facts_of(tables):
    return dict(zip(tables["page_facts"].column("name"), tables["page_facts"].column("value")))


def value(browser, key):
    found = re.search(rf"(?:^#?|&){re.escape(key)}=([^&]*)", browser.hash())
    return found.group(1) if found else None


def interval(text):
    return tuple(float(part) for part in re.fullmatch(r"(-?[\d.]+)-([\d.]+)", text).groups())


def rest(browser):
    """Until the view is in the state."""
    browser.driver.execute_async_script("setTimeout(arguments[0], 300)")
    browser.settle()


def view(browser, tables):
    rest(browser)
    text = value(browser, "view")
    return interval(text) if text else (0.0, float(facts_of(tables)["end"]))


def x_of(time, shown):
    """Where a time is, as a share of the canvas."""
    return (time - shown[0]) / (shown[1] - shown[0])


def y_of(browser, label):
    """The middle of a lane's first track, as a share of the canvas; the first lane with this label."""
    return browser.js("""
        const canvas = document.querySelector('.timeline-upper').getBoundingClientRect();
        const label = [...document.querySelectorAll('.timeline-label')].find((one) => one.innerText.trim() === arguments[0]);
        return (label.getBoundingClientRect().top + 8 - canvas.top) / canvas.height;""", label)


def pixel(browser, x, y):
    """The colour on the lower canvas, x and y in shares of its size."""
    return tuple(browser.js("""
        const canvas = document.querySelector('.timeline-stage > canvas');
        const place = [arguments[0] * canvas.width, arguments[1] * canvas.height].map(Math.floor);
        return [...canvas.getContext('2d').getImageData(...place, 1, 1).data].slice(0, 3);""", x, y))


def color(text):
    return tuple(int(text[i:i + 2], 16) for i in (1, 3, 5))


GEMM, COMMUNICATION = color("#0072b2"), color("#d55e00")


def longest(tables, category, count=1):
    """Rows of page_gpu on the first GPU with a kernel of this category, the longest first."""
    gpu, kernels, lanes = (tables[name] for name in ("page_gpu", "page_kernels", "page_lanes"))
    rows = [row for row, (kernel, lane) in enumerate(zip(gpu.column("kernel"), gpu.column("lane")))
            if kernels.column("category")[kernel] == category and lanes.column("device")[lane] == 0]
    return sorted(rows, key=lambda row: (-gpu.column("ns")[row], row))[:count]


def event(tables, row):
    return {name: tables["page_gpu"].column(name)[row] for name in tables["page_gpu"].names()}


def around(tables, row, width=20):
    """A hash with a view around a GPU event, and that view."""
    one = event(tables, row)
    middle, half = one["start"] + one["ns"] // 2, one["ns"] * width // 2
    shown = (max(0, middle - half), max(0, middle - half) + 2 * half)
    return f"view={shown[0]}-{shown[1]}", shown


def go(browser, hash_):
    browser.js("location.hash = arguments[0]", hash_)
    browser.driver.execute_async_script("setTimeout(arguments[0], 350)")
    show(browser)


# ---- moving ----

def test_wheel_zooms_at_the_pointer(_):
    with opened() as (browser, (tables, *_)):
        whole = view(browser, tables)
        browser.wheel(CANVAS, -400, x=0.25, y=0.5)
        zoomed = view(browser, tables)
        assert zoomed[1] - zoomed[0] < 0.7 * (whole[1] - whole[0]), zoomed
        at = whole[0] + 0.25 * (whole[1] - whole[0])
        assert abs(x_of(at, zoomed) - 0.25) < 0.002, "the time below the pointer has moved"
        browser.wheel(CANVAS, 100, x=0.5, y=0.5, modifiers=8)
        moved = view(browser, tables)
        assert moved[0] > zoomed[0] and abs((moved[1] - moved[0]) - (zoomed[1] - zoomed[0])) < 2, "shift + wheel moves"
        browser.wheel(CANVAS, 0, delta_x=-100)
        assert view(browser, tables)[0] < moved[0], "a horizontal wheel moves back"
        for _ in range(12):
            browser.wheel(CANVAS, 5000, x=0.9)
        rest(browser)
        assert value(browser, "view") is None, "zoomed out to the whole trace"


def test_zoom_reaches_single_nanoseconds(_):
    with opened() as (browser, (tables, *_)):
        width = browser.box(CANVAS)[2]
        for _ in range(24):
            browser.wheel(CANVAS, -600, x=0.5)
        begin, end = view(browser, tables)
        assert abs((end - begin) - 20 * width / 1000) < 0.1, (begin, end)


def test_wheel_over_labels_scrolls_the_page(_):
    with opened(size=(1280, 500)) as (browser, (tables, *_)):
        before = browser.js("return scrollY")
        browser.js("document.documentElement.style.scrollBehavior = 'auto'")
        browser.wheel(".timeline-labels", 100)
        browser.wait(f"scrollY > {before}", "the page to scroll")
        rest(browser)
        assert value(browser, "view") is None


def test_a_page_that_scrolls_goes_on_scrolling(_):
    with opened() as (browser, _):
        taken = """
            const send = (css) => {
              const wheel = new WheelEvent('wheel', {deltaY: 50, bubbles: true, cancelable: true});
              document.querySelector(css).dispatchEvent(wheel);
              return wheel.defaultPrevented;
            };
            return [...arguments].map(send);"""
        assert browser.js(taken, ".timeline-labels", CANVAS, CANVAS) == [False, False, False], "the timeline came below the pointer"
        rest(browser)
        rest(browser)
        assert browser.js(taken, CANVAS) == [True], "a new turn of the wheel zooms"


def test_keys_and_drags_move(_):
    with opened() as (browser, (tables, *_)):
        browser.keys("w", "w", css=CANVAS)
        zoomed = view(browser, tables)
        end = facts_of(tables)["end"]
        assert abs((zoomed[1] - zoomed[0]) / end - 0.49) < 0.01, zoomed
        browser.keys("d")
        right = view(browser, tables)
        assert abs(right[0] - zoomed[0] - 0.15 * (zoomed[1] - zoomed[0])) < 2
        browser.keys(Keys.ARROW_LEFT)
        assert abs(view(browser, tables)[0] - zoomed[0]) < 2
        browser.drag(CANVAS, (0.5, 0.5), (0.4, 0.5), modifiers=8)
        assert abs(view(browser, tables)[0] - (zoomed[0] + 0.1 * (zoomed[1] - zoomed[0]))) < 0.002 * end
        browser.keys("s", css=CANVAS)
        assert view(browser, tables)[1] - view(browser, tables)[0] > zoomed[1] - zoomed[0]
        browser.keys("0")
        rest(browser)
        assert value(browser, "view") is None


def touch(browser, kind, *places):
    browser.cdp("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)])


def test_touch_pinches_and_moves(_):
    with opened() as (browser, (tables, *_)):
        left, top, width, _ = browser.box(CANVAS)
        browser.cdp("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=5)
        y = top + 120
        touch(browser, "touchStart", (left + 0.4 * width, y), (left + 0.6 * width, y))
        for part in (0.05, 0.1, 0.2):
            touch(browser, "touchMove", (left + (0.4 - part) * width, y), (left + (0.6 + part) * width, y))
        touch(browser, "touchEnd")
        whole = (0.0, float(facts_of(tables)["end"]))
        pinched = view(browser, tables)
        assert abs((pinched[1] - pinched[0]) / whole[1] - 1 / 3) < 0.03, pinched
        touch(browser, "touchStart", (left + 0.6 * width, y))
        for part in (0.05, 0.1, 0.2):
            touch(browser, "touchMove", (left + (0.6 - part) * width, y))
        touch(browser, "touchEnd")
        moved = view(browser, tables)
        assert moved[0] > pinched[0] and abs((moved[1] - moved[0]) - (pinched[1] - pinched[0])) < 2, (pinched, moved)


def test_overview_moves_the_view(_):
    with opened() as (browser, (tables, *_)):
        end = facts_of(tables)["end"]
        assert browser.js("return document.querySelector('.timeline-frame').hidden")
        go(browser, f"#timeline&view=0-{end // 10}")
        browser.click(".timeline-strip", 0.5, 0.5)
        begin, stop = view(browser, tables)
        assert abs((begin + stop) / 2 / end - 0.5) < 0.01 and abs(stop - begin - end // 10) < 2, (begin, stop)
        browser.drag(".timeline-strip", (0.52, 0.5), (0.72, 0.5))
        begin, stop = view(browser, tables)
        assert abs((begin + stop) / 2 / end - 0.7) < 0.01, "the frame follows from where it was taken"


# ---- range ----

def test_drag_chooses_a_range(_):
    with opened() as (browser, (tables, *_)):
        end = facts_of(tables)["end"]
        width = browser.box(CANVAS)[2]
        browser.drag(CANVAS, (0.3, 0.5), (0.6, 0.5))
        begin, stop = interval(value(browser, "range"))
        assert abs(begin / end - 0.3) < 2 / width and abs(stop / end - 0.6) < 2 / width, (begin, stop)
        browser.drag(CANVAS, (0.6, 0.7), (0.8, 0.7))
        assert interval(value(browser, "range"))[0] == begin, "the other edge stays"
        assert abs(interval(value(browser, "range"))[1] / end - 0.8) < 2 / width
        browser.keys("f", css=CANVAS)
        shown = view(browser, tables)
        assert shown[0] < begin < 0.8 * end < shown[1] and shown[1] - shown[0] < 0.6 * end, shown
        browser.keys(Keys.ESCAPE)
        assert value(browser, "range") is None
        steps = tables["page_steps"]
        browser.keys("0")
        rest(browser)
        middle = steps.column("start")[1] + steps.column("ns")[1] // 2
        browser.click(CANVAS, middle / end, 32 / browser.box(CANVAS)[3])
        assert interval(value(browser, "range")) == (steps.column("start")[1], steps.column("start")[1] + steps.column("ns")[1])


# ---- events ----

def test_click_selects_and_details_tell(_):
    with opened() as (browser, (tables, *_)):
        row = longest(tables, "GEMM")[0]
        one = event(tables, row)
        hash_, shown = around(tables, row)
        go(browser, f"#timeline&{hash_}")
        x, y = x_of(one["start"] + one["ns"] / 2, shown), y_of(browser, "stream 7")
        browser.hover(CANVAS, x, y)
        kernels, calls, nodes = tables["page_kernels"], tables["page_calls"], tables["page_nodes"]
        tip = browser.text("#tooltip")
        for text in (kernels.column("short")[one["kernel"]], calls.column("op")[one["call"]], calls.column("shapes")[one["call"]], "GPU 0, stream 7",
                     calls.column("runtime")[one["call"]]):
            assert text in tip, (text, tip)
        browser.click(CANVAS, x, y)
        assert value(browser, "timeline.event") == f"g{row}"
        details = browser.text(".timeline-details")
        path, node = [], calls.column("node")[one["call"]]
        while node is not None:
            path.append(nodes.column("name")[node])
            node = nodes.column("parent")[node]
        for text in (kernels.column("name")[one["kernel"]], calls.column("shapes")[one["call"]], *path):
            assert text in details, (text, details)
        assert browser.js("return document.querySelector('.timeline-details dd').title") == f"{one['ns']:,} ns"
        assert browser.js("return document.querySelector('#timeline [aria-live]').textContent").startswith(kernels.column("short")[one["kernel"]][:40])
        browser.keys(".", css=CANVAS)
        assert value(browser, "timeline.event") == f"g{row + 1}"
        browser.keys(",", ",")
        assert value(browser, "timeline.event") == f"g{row - 1}"
        browser.keys(Keys.ARROW_RIGHT)
        assert value(browser, "timeline.event") == f"g{row}"
        browser.keys("f")
        begin, end = view(browser, tables)
        assert begin < one["start"] and one["start"] + one["ns"] < end and end - begin < 6 * one["ns"], (begin, end)
        browser.keys("l")
        begin, end = view(browser, tables)
        assert begin < one["launch"] and one["start"] + one["ns"] < end, "the launch is in view"
        browser.js("[...document.querySelectorAll('.timeline-details button')].find((b) => b.textContent === 'all of this kernel').click()")
        assert value(browser, "kernel") == str(one["kernel"])
        browser.keys(Keys.ESCAPE, css=CANVAS)
        assert value(browser, "timeline.event") is None and browser.js("return document.querySelector('.timeline-details').hidden")


def test_hover_of_a_launch_and_of_idle_time(_):
    with opened() as (browser, (tables, *_)):
        idle = tables["page_idle"]
        row = max(range(idle.rows()), key=lambda i: idle.column("ns")[i])
        start, ns = idle.column("start")[row], idle.column("ns")[row]
        browser.hover(CANVAS, (start + ns / 2) / facts_of(tables)["end"], y_of(browser, "idle, by cause"))
        tip = browser.text("#tooltip")
        assert "idle: data loading" in tip and idle.column("site")[row] in tip, tip


def test_state_restores_everything(_):
    with opened() as (browser, (tables, *_)):
        row = longest(tables, "communication")[0]
        one = event(tables, row)
        hash_, shown = around(tables, row, 8)
        go(browser, f"#timeline&{hash_}&timeline.event=g{row}&range={one['start']}-{one['start'] + one['ns']}&timeline.folds=g0&search=nccl")
        assert "ncclDevKernel" in browser.text(".timeline-details h3")
        assert browser.js("return document.querySelector('#timeline input').value") == "nccl"
        assert browser.js("return document.querySelector('[data-key=g0]').ariaExpanded") == "false"
        assert view(browser, tables) == shown
        folded = y_of(browser, "GPU 0") + 24 / browser.box(CANVAS)[3]
        assert pixel(browser, x_of(one["start"] + one["ns"] * 0.9, shown), folded) == COMMUNICATION


# ---- highlights ----

def test_search_dims_and_counts(_):
    with opened() as (browser, (tables, *_)):
        kernels, calls, sums, host = (tables[name] for name in ("page_kernels", "page_calls", "page_sums", "page_host"))
        hits = [row for row in sums.records()
                if "flash" in kernels.column("name")[row["kernel"]].lower() or "flash" in (calls.column("op")[row["call"]] or "").lower()]
        row = longest(tables, "GEMM")[0]
        one = event(tables, row)
        hash_, shown = around(tables, row)
        go(browser, f"#timeline&{hash_}")
        place = (x_of(one["start"] + one["ns"] * 0.9, shown), y_of(browser, "stream 7"))
        assert pixel(browser, *place) == GEMM
        browser.keys("/", css=CANVAS)
        browser.keys("FLASH")
        browser.wait("document.querySelector('#timeline [role=status]').textContent", "the result of the search")
        result = browser.text("#timeline [role=status]")
        assert f"{sum(hit['count'] for hit in hits):,} GPU events" in result, result
        ns = sum(hit["ns"] for hit in hits)
        assert f"{ns / 1e6:.1f} ms" in result or f"{ns / 1e6:.2f} ms" in result, (ns, result)
        assert f"{sum('flash' in name.lower() for name in host.column('name')):,} host events" in result, result
        browser.settle()
        assert pixel(browser, *place) != GEMM, "what was not found is dimmed"
        browser.keys(Keys.ENTER, Keys.ENTER)
        gpu = tables["page_gpu"]
        flash = sorted((gpu.column("start")[i], i) for i in range(gpu.rows()) if gpu.column("start")[i] >= shown[0]
                       and "flash" in kernels.column("name")[gpu.column("kernel")[i]])
        assert value(browser, "timeline.event") == f"g{flash[1][1]}", "the second match in view"
        browser.keys(Keys.ESCAPE, css=CANVAS)
        browser.keys(Keys.ESCAPE, css="#timeline input")
        browser.settle()
        assert value(browser, "search") is None and pixel(browser, *place) == GEMM


def test_category_dims_others(_):
    with opened() as (browser, (tables, *_)):
        row = longest(tables, "GEMM")[0]
        one = event(tables, row)
        hash_, shown = around(tables, row)
        place = (x_of(one["start"] + one["ns"] * 0.9, shown), None)
        for category, is_lit in (("GEMM", True), ("copy", False), ("idle:data", False)):
            go(browser, f"#timeline&{hash_}&category={category}")
            assert (pixel(browser, place[0], y_of(browser, "stream 7")) == GEMM) is is_lit, category


def test_finding_shows_its_evidence(_):
    with opened() as (browser, (tables, *_)):
        evidence = tables["page_evidence"].records()
        rank = next(row["finding"] for row in evidence if row["start"] is not None)
        first = min((row for row in evidence if row["finding"] == rank), key=lambda row: row["start"])
        go(browser, f"#timeline&finding={rank}")
        begin, end = view(browser, tables)
        assert begin < first["start"] and first["start"] + first["ns"] < end and end - begin < 4 * first["ns"] + 10, (begin, end, first)
        work = next((row for row in evidence if row["kernel"] is not None), None)
        assert work, "the sample has a finding about kernels"
        go(browser, f"#timeline&finding={work['finding']}")
        steps = tables["page_steps"]
        begin, end = view(browser, tables)
        shown = [row for row in steps.records() if begin < row["start"] and row["start"] + row["ns"] < end]
        assert len(shown) == 1 and end - begin < 1.1 * shown[0]["ns"], "one step is shown"
        go(browser, f"#timeline&finding={rank}&view=3000-9000")
        assert view(browser, tables) == (3000, 9000), "a link with a view shows that view"


def test_lanes_fold(_):
    with opened() as (browser, (tables, *_)):
        labels = browser.count(".timeline-label")
        browser.click("[data-key=g1]")
        assert browser.count(".timeline-label") == labels - 3 and value(browser, "timeline.folds") == "g1"
        assert browser.js("return document.activeElement.dataset.key") == "g1", "the focus stays"
        browser.keys(Keys.ENTER)
        assert browser.count(".timeline-label") == labels and value(browser, "timeline.folds") is None
        width = browser.box(CANVAS)[2]
        go(browser, "#timeline&timeline.folds=g0,g1,g2,g3")
        assert browser.count(".timeline-label") == 5, "four groups and the idle time"
        assert browser.box(CANVAS)[2] == width, "the canvas keeps its width when there is nothing to scroll"


# ---- the trace file ----

def check_trace(path, tables, begin, end):
    """Reads a saved file and compares it with the tables, independently of the page's program."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    gpu, kernels, lanes = (tables[name] for name in ("page_gpu", "page_kernels", "page_lanes"))
    complete = [one for one in events if one["ph"] == "X"]
    wanted = [(kernels.column("name")[row["kernel"]], row["start"], row["ns"]) for row in gpu.records()
              if row["start"] <= end and row["start"] + row["ns"] > begin]
    found = [(one["name"], round(one["ts"] * 1000), round(one["dur"] * 1000)) for one in complete
             if one["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
    assert sorted(wanted) == sorted(found) and wanted, (len(wanted), len(found))
    names = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["ph"] == "M" and one["name"] == "thread_name"}
    assert set(lanes.column("label")) | {"steps", "idle, by cause"} == set(names.values())
    assert all((one["pid"], one["tid"]) in names for one in complete)
    starts = {one["id"]: one for one in events if one["ph"] == "s"}
    ends = {one["id"]: one for one in events if one["ph"] == "f"}
    assert len(starts) == len(wanted) and starts.keys() == ends.keys(), "every kernel has a flow from its launch"
    calls = collections.defaultdict(list)
    for one in complete:
        calls[one["pid"], one["tid"]].append((one["ts"], one["dur"]))
    for flow in list(starts.values()) + list(ends.values()):
        times = sorted(calls[flow["pid"], flow["tid"]])
        at = bisect.bisect_left(times, (flow["ts"], 0))
        assert at < len(times) and times[at][0] == flow["ts"], "a flow begins and ends at an event"
    idle = [row for row in tables["page_idle"].records() if row["start"] <= end and row["start"] + row["ns"] > begin]
    assert sorted(round(one["dur"] * 1000) for one in complete if one["cat"] == "idle") == sorted(row["ns"] for row in idle)
    return wanted


def test_saved_trace_can_be_read(binary):
    with opened() as (browser, (tables, *_)):
        steps = tables["page_steps"]
        begin, end = steps.column("start")[1], steps.column("start")[1] + steps.column("ns")[1]
        go(browser, f"#timeline&range={begin}-{end}")
        browser.click("[data-action=perfetto]")
        path = browser.downloaded()
        assert os.path.basename(path) == "train.perfetto.json", path
        assert "Open this file in ui.perfetto.dev" in browser.text(".timeline-saved")
        launched = check_trace(path, tables, begin, end)
        copies = ("Memcpy", "Memset")
        kernels = sum(not name.startswith(copies) for name, *_ in launched)
        with tempfile.TemporaryDirectory(prefix="gputally-timeline-") as folder:
            trace = os.path.join(folder, "range.json")
            os.rename(path, trace)
            report = command(binary, "pytorch", trace, "--output_csvs_dir", folder)
            assert f"{kernels} kernels, {len(launched)} launches linked" in report, report
            assert "tracks" in command(binary, "convert", trace, os.path.join(folder, "range.pftrace"))


def command(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


# ---- other pages ----

def test_bins_and_single_kernels(_):
    with opened("--binned") as (browser, (tables, *_)):
        facts = facts_of(tables)
        notes = " ".join(browser.texts("#timeline .note"))
        assert "Bins: the page has single kernels between" in notes and "left out on" in notes, notes
        bins, lanes = tables["page_bins"], tables["page_lanes"]
        width = facts["end"] / facts["bins"]
        full = next(row for row in bins.records() if row["bin"] * width > facts["exact_end"] + 2 * width and row["busy"] > 0.99 * width
                    and lanes.column("device")[row["lane"]] == 0 and lanes.column("label")[row["lane"]] == "stream 7" and row["category"] == "GEMM")
        shown = (full["bin"] * width - 20 * width, full["bin"] * width + 20 * width)
        go(browser, f"#timeline&view={shown[0]:.0f}-{shown[1]:.0f}")
        place = (x_of((full["bin"] + 0.5) * width, shown), y_of(browser, "stream 7"))
        assert pixel(browser, *place) == GEMM
        browser.hover(CANVAS, *place)
        assert "a bin of time" in browser.text("#tooltip") and "100.0 %" in browser.text("#tooltip")
        row = longest(tables, "GEMM")[0]
        hash_, shown = around(tables, row)
        go(browser, f"#timeline&{hash_}")
        one = event(tables, row)
        browser.hover(CANVAS, x_of(one["start"] + one["ns"] / 2, shown), y_of(browser, "stream 7"))
        assert tables["page_kernels"].column("short")[one["kernel"]] in browser.text("#tooltip")


def test_two_traces_share_the_time(_):
    with opened("--compare") as (browser, (*sources, _)):
        assert browser.count(CANVAS) == 2
        starts = [facts_of(tables)["window_start"] for tables in sources]
        ends = [facts_of(tables)["end"] for tables in sources]
        # The first source's time of both windows' start; the whole scale reaches from the earlier begin to the later end.
        whole = (min(0, starts[0] - starts[1]), max(ends[0], ends[1] + starts[0] - starts[1]))
        browser.js("document.querySelectorAll('.timeline-upper')[1].classList.add('second')")
        for css, tables in ((CANVAS, sources[0]), (".second", sources[1])):
            box = browser.box(css)
            at = x_of(starts[0], whole)
            browser.hover(css, at + 3 / box[2], 32 / box[3])
            assert tables["page_steps"].column("name")[0] in browser.text("#tooltip"), css
            browser.hover(css, at - 3 / box[2], 32 / box[3])
            assert browser.js("return document.getElementById('tooltip').hidden"), "nothing before the first step"
        browser.click(".second", x_of(starts[0], whole) + 3 / box[2], 32 / box[3])
        begin, end = interval(value(browser, "range"))
        steps = sources[1]["page_steps"]
        assert abs(begin - starts[0]) <= 1 and abs((end - begin) - steps.column("ns")[0]) <= 1, "a range of the second trace is in the time of the first"


def test_words_for_screen_readers(_):
    with opened() as (browser, (tables, *_)):
        lanes, idle, facts = tables["page_lanes"], tables["page_idle"], facts_of(tables)
        text = browser.text("#timeline-text")
        streams = sum(kind == "stream" for kind in lanes.column("kind"))
        busy = 1 - sum(idle.column("ns")) / (facts["window_end"] - facts["window_start"])
        assert f"{streams} streams with {tables['page_gpu'].rows():,} GPU events" in text and f"busy {100 * busy:.1f} %" in text, text
        assert browser.js("return document.querySelector('.timeline-upper').getAttribute('aria-label')") == "timeline of train.json.gz"
        assert browser.js("return document.querySelector('.timeline-upper').tabIndex") == 0


def test_hostile_names_are_text(_):
    with opened("--hostile") as (browser, (tables, *_)):
        for row in range(0, tables["page_gpu"].rows(), 97):
            go(browser, f"#timeline&timeline.event=g{row}")
            kernel = tables["page_kernels"].column("name")[tables["page_gpu"].column("kernel")[row]]
            shown = browser.js("return document.querySelector('.timeline-details h3').textContent")
            assert not kernel or shown == kernel, (kernel[:80], shown[:80])
        browser.keys(*"sdfw..,", css=CANVAS)
        assert browser.count("#timeline :is(script, img, b, style, iframe)") == 0


def test_odd_states_do_no_harm(_):
    with opened() as (browser, (tables, *_)):
        for hash_ in ("view=5-5", "view=-900-99999999999999", "view=a-b", "timeline.event=g99999999", "timeline.event=g1@7", "kernel=-1&call=1e9",
                      "timeline.folds=,,x,l999", "finding=99", "range=0-1", "search=%00%ff", "category=__proto__"):
            go(browser, f"#timeline&{hash_}")
            browser.keys("w", "f", ".", "0", css=CANVAS)


if __name__ == "__main__":
    sys.exit(run_test_functions(__doc__, globals()))
