#!/usr/bin/env python3
"""Pages of real traces, end to end: `gputally report` writes page and CSV files, a browser shows the page, and its text is
compared with the CSV files. Training, inference, rocprofv3 and JAX.

    python3 -m tests.page.test_page --bin build/gputally [ONLY]

Sections on their own, with all they can do, are tested with sample pages (test_first_screen, test_timeline, ...).
"""
import atexit
import contextlib
import glob
import json
import os
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from typing import NamedTuple

from tests.page.browser import Browser, Keys, require_browser
from tests.common.harness import CONFORMANCE_TRACES, FIXTURES, ROOT, Skipped, read_csv, run, run_test_functions
from tests.findings import small_traces
from tests.page.pack import read_page
from tests.page.test_document import HOSTILE, hostile_trace

TRACES = {"training": os.path.join(FIXTURES, "pytorch", "training.json.gz"), "inference": os.path.join(FIXTURES, "pytorch", "inference.json.gz"),
          "rocprof": os.path.join(ROOT, "examples", "gputally_demo_results.json.gz"), "jax": os.path.join(FIXTURES, "jax", "training.xplane.pb.gz"),
          "server": os.path.join(CONFORMANCE_TRACES, "inference__vllm_prefilldecode_piecewise__graph_execution.json.gz")}
FIRST = ["header", "filter", "verdict", "findings", "bar"]
SECTIONS = {
    "training": [*FIRST, "timeline", "flame", "roofline", "kernels", "steps", "memory", "sheets", "footer"],
    "inference": [*FIRST, "timeline", "flame", "roofline", "kernels", "steps", "memory", "sheets", "footer"],
    "rocprof": [*FIRST, "devices", "timeline", "flame", "kernels", "memory", "sheets", "footer"],
    "jax": [*FIRST, "timeline", "flame", "kernels", "sheets", "footer"],
    "server": [*FIRST, "timeline", "flame", "roofline", "kernels", "steps", "memory", "sheets", "footer"],
}


class Report(NamedTuple):
    html: str
    sheets: dict  # name: list of rows as dicts of text
    document: dict  # the JSON of the same report


made = {}


def report(binary, kind):
    """The report of a trace, made once."""
    require_browser()
    if not os.path.exists(TRACES[kind]):
        raise Skipped("needs the conformance folder")
    if kind not in made:
        folder = tempfile.mkdtemp(prefix="gputally-page-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        trace = shutil.copy(TRACES[kind], folder)
        made[kind] = write_report(binary, trace, folder)
    return made[kind]


def write_report(binary, trace, folder):
    html, csvs, document = (os.path.join(folder, name) for name in ("page.html", "csvs", "report.json"))
    done = run([binary, "report", trace, "-q", "--output_html", html, "--output_csvs_dir", csvs, "--output_json", document])
    assert done.code == 0, done.stderr
    sheets = {}
    for path in glob.glob(os.path.join(glob.escape(csvs), "*.csv")):
        names, rows = read_csv(path)
        sheets[os.path.basename(path)[:-4]] = [dict(zip(names, row)) for row in rows]
    with open(document, encoding="utf-8") as file:
        return Report(html, sheets, json.load(file))


@contextlib.contextmanager
def opened(binary, kind, hash_=""):
    made_report = report(binary, kind)
    with Browser() as browser:
        browser.open(made_report.html, hash_)
        yield browser, made_report


# ---- numbers as the page writes them, by the rules of docs and design: three significant digits ----

def three_digits(value):
    if value == 0:
        return "0"
    rounded = float(f"{value:.2e}")
    if abs(rounded) >= 1000:
        return f"{round(value):,}"
    text = f"{rounded:.2e}"
    return f"{rounded:.{max(0, 2 - int(text.split('e')[1]))}f}"


def time_text(ns):
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(ns) >= 0.9995 * size:
            return f"{three_digits(ns / size)} {unit}"
    return f"{round(ns)} ns"


# ---- every section, every trace ----

def check_sections(binary, kind):
    with opened(binary, kind) as (browser, _):
        found = browser.js("return [...document.querySelectorAll('main > section')].map((one) => one.id)")
        assert found == SECTIONS[kind], found
        assert "could not be drawn" not in browser.text("main")
        linked = browser.js("return [...document.querySelectorAll('#navigation .nav-links a')].map((one) => one.hash.slice(1))")
        titled = browser.js("return [...document.querySelectorAll('main > section > h2 > a')].map((one) => one.hash.slice(1))")
        assert linked == titled, (linked, titled)
        for canvas in browser.js("return [...document.querySelectorAll('canvas')].filter((one) => one.clientWidth).map((one) => [one.ariaLabel, one.getAttribute('aria-hidden')])"):
            assert canvas[0] or canvas[1] == "true", "a canvas without a text"


def check_first_screen(browser, made_report):
    overview = {row["name"]: row for row in made_report.sheets["overview"]}
    number = {name: float(row["value"]) for name, row in overview.items() if row["value"]}
    assert overview["verdict"]["text"] in browser.text("#header") and overview["device"]["text"].split()[0] in browser.text("#header")
    tile = browser.js("""return Object.fromEntries([...document.querySelectorAll('#verdict .tile')].map((one) =>
        [one.dataset.tile, [one.querySelector('.figure').title, one.querySelector('.tile-value').innerText]]))""")
    first, busy = tile["step"], tile["busy"]
    scale = {"ms": 1, "µs": 1e-3, "us": 1e-3, "s": 1e3}
    value, unit = first[0].split()
    assert abs(float(value) * scale[unit] - number["recorded_ms"]) < 1e-6 * number["recorded_ms"], (first, number["recorded_ms"])
    assert abs(float(busy[0].split()[0]) - 100 * number["busy_ms"] / number["recorded_ms"]) < 1e-6, (busy, number)
    titles = browser.js("return [...document.querySelectorAll('#findings .finding h3')].map((one) => one.textContent)")
    expected = [row["title"] for row in made_report.sheets["findings"]]
    assert sorted(titles) == sorted(expected), (titles, expected)
    gains = browser.js("return Object.fromEntries([...document.querySelectorAll('#findings .finding')].map((one) => [one.dataset.finding, one.querySelector('.gain').title]))")
    for row in made_report.sheets["findings"]:
        assert f"{float(row['gain_ms']):g}"[:6] in gains[row["rank"]], (gains, row)


def check_bar(browser, made_report):
    """Idle time by cause is in the sheet as well; other parts are those of the page's own categories, which add up to the rest."""
    labels = browser.js("return Object.fromEntries([...document.querySelectorAll('#bar .segment')].map((one) => [one.dataset.key, one.ariaLabel]))")
    causes = {f"idle:{row['cause']}": float(row["ms"]) * 1e6 for row in made_report.sheets["idle_causes"]}
    for key, ns in causes.items():
        assert f": {time_text(ns)} · " in labels[key], (labels[key], time_text(ns))
    assert {key for key in labels if key.startswith("idle:")} == set(causes)
    shares = [float(re.search(r"([\d.]+) %", label).group(1)) for label in labels.values()]
    assert abs(sum(shares) - 100) < 0.05 * len(shares) + 0.01, shares


def sheet_kernels(made_report):
    """Kernels of the report's sheet: {name: (count, ns)}."""
    sums = defaultdict(lambda: [0, 0.0])
    sheets = made_report.sheets
    if "kernel_launchers_summary" in sheets:
        rows = [(row["name"], row["Count"], float(row["total_direct_kernel_time_sum"]) * 1e3) for row in sheets["kernel_launchers_summary"]]
    elif "Kernel name" in sheets["kernel_summary"][0]:
        rows = [(row["Kernel name"], row["Kernel duration (µs)_count"], float(row["Kernel duration (µs)_sum"]) * 1e3) for row in sheets["kernel_summary"]]
    else:
        rows = [(row["name"], row["Count"], float(row["Total Kernel Time (ms)"]) * 1e6) for row in sheets["kernel_summary"]]
    for name, count, ns in rows:
        sums[name][0] += int(count)
        sums[name][1] += ns
    return sums


def whole_table(browser, table):
    """All rows of a table as dicts: full values by heading."""
    browser.js("document.querySelector(`#${arguments[0]}-table .grid`).style.maxHeight = 'none'", table)
    browser.settle()
    browser.settle()
    return browser.js("""
        const grid = document.querySelector(`#${arguments[0]}-table .grid-table`);
        const names = [...grid.querySelectorAll(':scope > thead th')].map((one) => one.innerText.trim().split('\\n')[0]);
        return [...grid.querySelectorAll('tr[data-place]')].map((row) =>
            Object.fromEntries(names.map((name, i) => [name, row.cells[i].title])))""", table)


def check_kernels(browser, made_report):
    expected = sheet_kernels(made_report)
    rows = {row["Kernel"]: row for row in whole_table(browser, "kernels")}
    assert expected and set(expected) <= set(rows), set(expected) - set(rows)
    for name, (count, ns) in expected.items():
        assert int(rows[name]["Count"]) == count, (name, rows[name], count)
        assert abs(float(rows[name]["Time"].split()[0]) - ns) <= max(1, count * 0.51, 1e-6 * ns), (name, rows[name], ns)


def check_ops(browser, made_report):
    """Ops with their shapes have the kernel time of unified_perf_summary."""
    expected = defaultdict(float)
    for row in made_report.sheets["unified_perf_summary"]:
        if row["Kernel Time (µs)_sum"]:
            expected[row["name"], row["Input Dims"]] += float(row["Kernel Time (µs)_sum"]) * 1e3
    rows = {(row["Op"], row["Shapes"]): float(row["Time"].split()[0]) for row in whole_table(browser, "ops")}
    common = set(expected) & set(rows)
    assert len(common) > len(rows) // 2, (len(common), len(rows), len(expected))
    for key in common:
        assert abs(rows[key] - expected[key]) < 0.01 * expected[key] + 5, (key, rows[key], expected[key])


def check_sheets(browser, made_report):
    """All sheets are there; the first rows of each are those of the CSV file."""
    names = browser.js("return [...document.querySelectorAll('#sheets select option')].map((one) => one.value)")
    assert set(names) == set(made_report.sheets) == set(made_report.document["sheets"]), set(names) ^ set(made_report.sheets)
    for name in names:
        browser.js("const s = document.querySelector('#sheets select'); s.value = arguments[0]; s.dispatchEvent(new Event('change'));", name)
        browser.settle()
        shown = browser.js("""
            const grid = document.querySelector('#sheets-table .grid-table');
            const keys = [...grid.querySelectorAll(':scope > thead button')].map((one) => one.dataset.key);
            return [...grid.querySelectorAll('tr[data-place]')].map((row) => keys.map((key, i) => [key, row.cells[i].title]))""")
        rows = made_report.sheets[name]
        assert len(shown) == min(len(rows), len(shown)) and bool(shown) == bool(rows), (name, len(shown), len(rows))
        for cells, row in zip(shown, rows):
            for key, text in cells:
                assert same_text(text, row[key.replace(";", ",")] if key not in row else row[key]), (name, key, text, row.get(key))


def same_text(shown, cell):
    if shown == cell or shown == cell[:4000]:
        return True
    try:
        return abs(float(shown) - float(cell)) <= 1e-9 * abs(float(cell))
    except ValueError:
        pass
    if shown in ("true", "false"):
        return shown == cell.lower()
    return shown.startswith("[") and json.loads(shown) == [item.strip("' ") for item in cell.strip("[]").split(",") if item.strip()]


def check_copies(browser, made_report):
    """Times and counts by direction and kind."""
    expected = defaultdict(lambda: [0, 0.0])
    for row in made_report.sheets["memory_copies"]:
        expected[row["kind"]][0] += int(row["count"])
        expected[row["kind"]][1] += float(row["time ms"]) * 1e6
    rows = browser.js("""return [...document.querySelectorAll('#memory table.copies tbody tr')].map((row) =>
        [row.cells[0].innerText, row.cells[1].innerText, row.cells[2].innerText, row.cells[4].title])""")
    for kind, (count, ns) in expected.items():
        mine = [row for row in rows if row[1] == kind and row[0] != "memset"]
        assert sum(int(row[2].replace(",", "")) for row in mine) == count, (kind, rows)
        assert abs(sum(int(row[3].split()[0].replace(",", "")) for row in mine) - ns) <= count, (kind, rows, ns)


def check_numbers(binary, kind):
    with opened(binary, kind) as (browser, made_report):
        check_first_screen(browser, made_report)
        check_bar(browser, made_report)
        check_kernels(browser, made_report)
        if "unified_perf_summary" in made_report.sheets:
            check_ops(browser, made_report)
        if "memory_copies" in made_report.sheets:
            check_copies(browser, made_report)
        check_sheets(browser, made_report)


def test_training_sections(binary):
    check_sections(binary, "training")


def test_training_numbers(binary):
    check_numbers(binary, "training")


def test_inference_sections(binary):
    check_sections(binary, "inference")


def test_inference_numbers(binary):
    check_numbers(binary, "inference")


def test_rocprof_sections(binary):
    check_sections(binary, "rocprof")


def test_rocprof_numbers(binary):
    check_numbers(binary, "rocprof")


def test_jax_sections(binary):
    check_sections(binary, "jax")


def test_jax_numbers(binary):
    check_numbers(binary, "jax")


def test_server_sections(binary):
    check_sections(binary, "server")


def test_server_numbers(binary):
    check_numbers(binary, "server")


# ---- sections together ----

def kernel_time(browser):
    """Time of all rows of the kernels table, in ns."""
    return sum(float(row["Time"].split()[0]) for row in whole_table(browser, "kernels"))


def state(browser, key):
    found = re.search(rf"(?:^#?|&){re.escape(key)}=([^&]*)", browser.hash())
    return found.group(1) if found else None


def test_brushed_range_filters_everything_below(binary):
    with opened(binary, "training") as (browser, made_report):
        gpu = read_page(made_report.html).tables[0]["page_gpu"].records()
        before, tiles = kernel_time(browser), browser.text("#verdict .tiles")
        browser.js("document.getElementById('timeline').scrollIntoView({behavior: 'instant'})")
        browser.drag(".timeline-upper", (0.35, 0.2), (0.6, 0.2))
        begin, end = (float(part) for part in state(browser, "range").split("-"))
        expected = sum(max(0, min(e["start"] + e["ns"], end) - max(e["start"], begin)) for e in gpu)
        assert 0 < expected < before and abs(kernel_time(browser) - expected) <= len(gpu), (expected, kernel_time(browser))
        assert browser.text("#verdict .tiles") != tiles and browser.count("#filter .chip") == 1
        where = browser.text("#flame")
        assert time_text(expected) in where, where[:300]
        browser.click("#filter .chip .close")
        assert state(browser, "range") is None and abs(kernel_time(browser) - before) < 1


def test_wheel_zooms_the_timeline(binary):
    with opened(binary, "training") as (browser, _):
        browser.js("document.getElementById('timeline').scrollIntoView({behavior: 'instant'})")
        before = browser.text("#timeline")
        browser.wheel(".timeline-upper", -400, x=0.5, y=0.3)
        browser.wait("/view=/.test(location.hash)", "the view to be in the hash")
        assert browser.text("#timeline") != before
        begin, end = (float(part) for part in state(browser, "view").split("-"))
        assert 0 <= begin < end


def test_finding_leads_to_its_evidence(binary):
    with opened(binary, "training") as (browser, _):
        browser.click("#findings .finding .show")
        assert state(browser, "finding") == "1" and browser.count("#filter .chip") >= 1


def test_kernel_row_opens_with_its_sheet_row(binary):
    with opened(binary, "training") as (browser, made_report):
        browser.js("document.querySelector('#kernels').scrollIntoView({behavior: 'instant'})")
        browser.keys(Keys.HOME, Keys.ENTER, css="#kernels-table .grid-table")
        details = browser.text("#kernels-table .details")
        name = browser.js("return document.querySelector('#kernels-table tr.open').cells[0].title")
        row = next(row for row in made_report.sheets["kernel_summary"] if row["Kernel name"] == name)
        assert name in details and row["Parent cpu_op"] in details and "Percent of kernels time (%)" in details
        assert browser.count("#kernels-table .histogram-bar") > 0 and state(browser, "kernel") is not None


def test_hash_restores_the_page(binary):
    with opened(binary, "training") as (browser, made_report):
        end = dict(zip(*(read_page(made_report.html).tables[0]["page_facts"].column(name) for name in ("name", "value"))))["end"]
        hash_ = f"#kernels&range={end // 4}-{end // 2}&kernels.sort=-count&kernels.filter=count>1&theme=dark&category=GEMM"
        browser.open(made_report.html, hash_)
        rows = whole_table(browser, "kernels")
        counts = [int(row["Count"]) for row in rows]
        assert counts and counts == sorted(counts, reverse=True) and min(counts) > 1 and {row["Category"] for row in rows} == {"GEMM"}
        assert browser.js("return document.documentElement.dataset.theme") == "dark"
        assert browser.count("#filter .chip") == 2
        browser.wait("Math.abs(document.getElementById('kernels').getBoundingClientRect().top) < 200", "the page to scroll to its anchor")
        again = browser.js("return location.hash")
        browser.open(made_report.html, again)
        assert whole_table(browser, "kernels") == rows


def test_search_in_flame_graph_filters_tables(binary):
    with opened(binary, "training", "#search=layer_norm") as (browser, _):
        names = [row["Kernel"] for row in whole_table(browser, "kernels")]
        assert names and all("layer_norm" in name for name in names)
        ops = [row["Op"] for row in whole_table(browser, "ops")]
        assert ops and all("layer_norm" in name for name in ops)


# ---- hostile names ----

def test_hostile_names_are_text(binary):
    require_browser()
    with tempfile.TemporaryDirectory(prefix="gputally-page-") as folder:
        trace = hostile_trace()
        trace["traceEvents"] += [dict(event, name="x" * 20000 + HOSTILE[0] + "y" * 20000) for event in trace["traceEvents"]
                                 if event.get("cat") == "kernel"][:1]
        name = os.path.join(folder, "a<img src=x onerror=alert(1)>.json")
        small_traces.write(name, trace)
        made_report = write_report(binary, name, folder)
        with Browser() as browser:
            browser.open(made_report.html)
            clean = browser.js("return [...document.querySelectorAll('script, style, iframe, img, object, embed, base, meta')].map((one) => one.tagName)")
            with open(made_report.html, encoding="utf-8") as file:
                packs = file.read().count('<script type="application/octet-stream">')
            assert clean.count("SCRIPT") == 2 + packs and clean.count("STYLE") == 1, clean
            assert not set(clean) & {"IFRAME", "IMG", "OBJECT", "EMBED", "BASE"}
            assert browser.js("return document.title").startswith("a<img src=x onerror=alert(1)>.json")
            kernels = [row["Kernel"] for row in whole_table(browser, "kernels")]
            assert any(HOSTILE[0] in kernel for kernel in kernels), kernels
            browser.js("document.querySelectorAll('#kernels-table tr[data-place], #ops-table tr[data-place]').forEach((row) => row.click())")
            browser.settle()
            browser.js("document.querySelectorAll('details').forEach((one) => one.open = true)")
            browser.settle()
            assert browser.js("return document.documentElement.scrollWidth") <= 1280, "a name widens the page"
            after = browser.js("return [...document.querySelectorAll('script, style, iframe, img, object, embed, base, meta')].map((one) => one.tagName)")
            assert after == clean


if __name__ == "__main__":
    sys.exit(run_test_functions(__doc__, globals()))
