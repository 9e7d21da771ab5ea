#!/usr/bin/env python3
"""The first screen in a real browser: header, verdict, tiles, findings, bar, chips, footer; themes, paper, damaged files.

    python3 -m tests.page.test_first_screen --bin build/gputally [ONLY]
"""
import contextlib
import copy
import json
import os
import pathlib
import re
import sys
import tempfile
import time

from tests.common.harness import run_test_functions
from tests.page import sample
from tests.page.browser import Browser, Keys, require_browser
from tests.page.pack import read_page

LONG = "x" * 20000 + "<script>document.title = 'hacked'</script>" + "y" * 20000
TURNED = "\u202eright to left"


@contextlib.contextmanager
def page_of(change=None, *options):
    """A sample page whose front was changed: its path and its front."""
    require_browser()
    front, sources = sample.make_single(sample.parse(["page.html", *options]))
    front = copy.deepcopy(front)
    if change:
        change(front)
    with tempfile.TemporaryDirectory(prefix="gputally-page-") as folder:
        path = os.path.join(folder, "page.html")
        sample.write_page(path, front, sources)
        yield path, front


def has_sideways_scrolling(browser):
    return browser.js("return document.documentElement.scrollWidth > innerWidth")


def three_digits(value):
    """Independent of format.js, for values from 1 to 999."""
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def tile_values(browser):
    return {tile: figure for tile, figure in browser.js(
        "return [...document.querySelectorAll('.tile')].map((one) => [one.dataset.tile, one.querySelector('.tile-value').innerText])")}


# ---- what it shows ----

def test_first_screen_fits_and_holds_the_answers(_):
    with page_of() as (path, front), Browser(1280, 800) as browser:
        browser.open(path)
        for section in ("#header", "#verdict", "#findings .card", "#bar .bar", "#bar .bar-names"):
            bottom = browser.js("return Math.max(...[...document.querySelectorAll(arguments[0])].slice(0, 3).map((one) => "
                                "one.getBoundingClientRect().bottom))", section)
            assert 0 < bottom <= 800, f"{section} ends at {bottom}"
        assert not has_sideways_scrolling(browser)
        header = browser.text("#header")
        for word in ("train.json.gz", "NVIDIA H200 × 2", "PyTorch", "5 steps", "trust: usable with care"):
            assert word in header, header
        assert browser.text("h1") == front["facts"]["sentence"].replace("*", "")
        assert browser.texts("h1 b") == re.findall(r"\*(.*?)\*", front["facts"]["sentence"])
        assert tile_values(browser) == {tile["id"]: f"{tile['value']:.1f} %" if tile["unit"] == "%" else f"{three_digits(tile['value'])} {tile['unit']}"
                                        for tile in front["facts"]["tiles"]}
        spark = front["facts"]["tiles"][0]["spark"]
        assert browser.js("return document.querySelector('.tile .spark title').textContent") == \
            f"{len(spark)} steps: {three_digits(min(spark))} to {three_digits(max(spark))} ms"
        findings = [one for one in front["answers"]["findings"] if not one["hint"]]
        assert browser.texts("#findings > .body > .cards h3") == [one["title"] for one in findings[:3]]
        assert browser.text(".finding .evidence").split("\n") == findings[0]["evidence"]
        assert browser.text(".finding .advice") == findings[0]["advice"]
        assert f"{findings[0]['gain_pct']:.1f} %" in browser.text(".finding .gain") and "high confidence" in browser.text(".finding .gain")


def test_the_bar_shows_all_parts(_):
    with page_of() as (path, front), Browser() as browser:
        browser.open(path)
        parts = [part for part in front["facts"]["bar"] if part["ns"] > 0]
        whole = sum(part["ns"] for part in parts)
        widths = browser.js("return [...document.querySelectorAll('.segment')].map((one) => one.getBoundingClientRect().width)")
        room = sum(widths)
        for part, width in zip(parts, widths):
            assert abs(width / room - part["ns"] / whole) < 0.005, (part, width)
        labels = browser.js("return [...document.querySelectorAll('.segment')].map((one) => one.getAttribute('aria-label'))")
        assert len(labels) == len(parts)
        for part, label in zip(parts, labels):
            assert f"{100 * part['ns'] / whole:.1f} % of a step" in label, label
        # every part has its name in the bar or below it
        shown = browser.count(".segment:not(.bare)") + browser.count(".bar-names li")
        assert shown == len(parts) and browser.count(".segment:not(.bare)") >= 2
        browser.hover(".segment")
        gemm = parts[0]
        tip = browser.text(".tooltip")
        assert "GEMM" in tip and f"{gemm['ns']:,} ns" in tip and f"{three_digits(gemm['ns'] / 1e6 / front['answers']['window_steps'])} ms" in tip, tip


def test_reasons_of_the_trust_verdict(_):
    def change(front):
        front["answers"]["trust"]["checks"].append({"id": "T9", "level": "fail", "value": 12345.678, "threshold": {"warn": 5, "fail": None}, "text": "Bad."})
    with page_of(change) as (path, front), Browser() as browser:
        browser.open(path)
        browser.click(".badge")
        assert "header.open=trust" in browser.hash()
        rows = browser.js("return [...document.querySelectorAll('#header-panel tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))")
        assert [row[0] for row in rows] == ["fails", "care"] + ["ok"] * (len(rows) - 2)
        assert rows[0][1:] == ["Bad.", "12,346", "care above 5", "T9"], rows[0]
        assert browser.js("return document.querySelector('#header-panel td.number').title") == "12345.678"
        browser.click(".badge")
        assert browser.hash() == "" and not browser.js("return document.querySelector('#header-panel').checkVisibility()")
        browser.click(".masthead .button")
        assert front["command"] in browser.text("#header-panel") and front["version"] in browser.text("#header-panel")


def test_copying_the_command(_):
    with page_of() as (path, front), Browser() as browser:
        browser.open(path, "#header.open=details")
        browser.js("window.board = navigator.clipboard")
        # as usual, not there, and not allowed
        for clipboard in ("board", "undefined", "{writeText: () => Promise.reject(new Error('not allowed'))}"):
            browser.driver.execute_async_script("const done = arguments[0]; board.writeText('').then(() => done())")
            browser.js(f"Object.defineProperty(navigator, 'clipboard', {{configurable: true, value: {clipboard}}})")
            browser.click("#header-panel .button")
            browser.wait("document.querySelector('#header-panel .button').textContent === 'copied'", "the button to say that it copied")
            assert browser.driver.execute_async_script("const done = arguments[0]; board.readText().then(done)") == front["command"], clipboard
            browser.wait("document.querySelector('#header-panel .button').textContent === 'copy the command'")
            assert browser.count("textarea") == 0


# ---- what it does ----

def test_choosing_a_finding_and_a_part(_):
    with page_of() as (path, _), Browser() as browser:
        browser.open(path)
        browser.click('[data-finding="2"] .show')
        assert "finding=2" in browser.hash() and browser.count(".finding.chosen") == 1
        assert "finding 2" in browser.text("#filter .chip")
        browser.js("scrollTo(0, 0)")
        browser.click(".segment")
        assert "category=GEMM" in browser.hash() and browser.count("#filter .chip") == 2
        browser.js("document.querySelector('#filter .button').click()")
        assert "finding" not in browser.hash() and "category" not in browser.hash() and browser.count("#filter .chip") == 0
        assert not browser.js("return document.querySelector('#filter').checkVisibility()")
        browser.keys(Keys.ARROW_RIGHT, Keys.ENTER, css=".segment")
        assert "category=attention" in browser.hash()
        browser.keys(Keys.END, Keys.ENTER)
        assert "category=idle:" in browser.hash()
        browser.keys(Keys.ENTER)
        assert "category" not in browser.hash()


def naive_balance(tables, begin, end):
    """The parts of a range by looking at every stretch between two borders."""
    lanes, kernels = tables["page_lanes"].column("judged"), tables["page_kernels"].column("category")
    order = {"communication": 1, "copy": 2}
    events = [(row["start"], row["start"] + row["ns"], kernels[row["kernel"]]) for row in tables["page_gpu"].records()
              if lanes[row["lane"]] is not False and row["start"] < end and row["start"] + row["ns"] > begin]
    gaps = [(row["start"], row["start"] + row["ns"], row["cause"]) for row in tables["page_idle"].records()]
    borders = sorted({begin, end, *(at for event in events + gaps for at in event[:2] if begin < at < end)})
    sums = {}
    for start, stop in zip(borders, borders[1:]):
        running = sorted((event for event in events if event[0] <= start and event[1] >= stop), key=lambda one: (order.get(one[2], 0), one[0]))
        idle = [gap for gap in gaps if gap[0] <= start and gap[1] >= stop]
        key = running[0][2] if running else "idle:" + (idle[0][2] if idle else "outside")
        sums[key] = sums.get(key, 0) + stop - start
    return sums


def test_a_range_changes_tiles_and_bar(_):
    begin, end = 3_000_000, 9_000_000
    with page_of() as (path, front), Browser() as browser:
        browser.open(path, f"#range={begin}-{end}")
        sums = naive_balance(read_page(path).tables[0], begin, end)
        assert abs(sum(sums.values()) - (end - begin)) < 1
        labels = browser.js("return Object.fromEntries([...document.querySelectorAll('.segment')].map((one) => [one.dataset.key, one.getAttribute('aria-label')]))")
        assert set(labels) == set(sums), (labels, sums)
        for key, ns in sums.items():
            assert f"{100 * ns / (end - begin):.1f} % of the selection" in labels[key], (key, ns, labels[key])
        values = tile_values(browser)
        busy = sum(ns for key, ns in sums.items() if not key.startswith("idle:"))
        assert values["step"] == "6.00 ms" and values["busy"] == f"{100 * busy / (end - begin):.1f} %", values
        assert values["communication"] == f"{100 * sums.get('communication', 0) / (end - begin):.1f} %"
        assert values["roofline"] == "–"
        assert "3.00–9.00 ms of the trace" in browser.text("#filter .chip")
        browser.click("#filter .close")
        assert browser.hash() == "" and tile_values(browser)["busy"] == f"{front['facts']['tiles'][1]['value']:.1f} %"


def test_a_range_of_bins_is_an_estimate(_):
    with page_of(None, "--binned") as (path, _), Browser() as browser:
        browser.open(path, "#range=33000000-41000000")
        assert "Estimate" in browser.text("#bar .note") and "sums:" in browser.text("#filter .chip")
        shares = [float(re.search(r"([\d.]+) % of the selection", text).group(1)) for text in
                  browser.js("return [...document.querySelectorAll('.segment')].map((one) => one.getAttribute('aria-label'))")]
        assert abs(sum(shares) - 100) < 0.06 * len(shares), shares


def test_links_keep_the_state(_):
    with page_of() as (path, _), Browser() as browser:
        browser.open(path, "#range=3000000-9000000&theme=dark")
        browser.click('#navigation a[href="#bar"]')
        assert browser.hash() == "#bar&range=3000000-9000000&theme=dark"
        browser.driver.back()
        browser.wait("!location.hash.includes('bar')", "the browser to go back")
        assert browser.hash() == "#range=3000000-9000000&theme=dark" and browser.count("#filter .chip") == 1
        browser.driver.forward()
        browser.wait("location.hash.startsWith('#bar')", "the browser to go forward")
        assert browser.js("return document.activeElement.id") == "bar"


def test_data_as_json_and_csv(_):
    with page_of() as (path, front), Browser() as browser:
        browser.open(path)
        tables = read_page(path).tables[0]
        browser.click("#footer .toolbar .button")
        saved = browser.downloaded()
        assert os.path.basename(saved) == "train.report.json"
        with open(saved, encoding="utf-8") as file:
            report = json.load(file)
        sheets = report.pop("sheets")
        assert report == front["answers"] and list(sheets) == [name for name in tables if not name.startswith("page_")] and sheets
        for name, sheet in sheets.items():
            rows = tables[name].records()
            assert sheet["columns"] == [column.name for column in tables[name].columns]
            assert sheet["rows"] == [[row[column] for column in sheet["columns"]] for row in rows], name
        os.remove(saved)
        browser.js("const select = document.querySelector('#footer select'); select.value = [...select.options].findIndex((o) => o.text.startsWith('page_lanes'))")
        browser.click("#footer select + .button")
        with open(browser.downloaded(), encoding="utf-8", newline="") as file:
            lines = file.read().split("\r\n")
        lanes = tables["page_lanes"]
        assert lines[0] == ",".join(column.name for column in lanes.columns) and len(lines) == lanes.rows() + 2


def test_keys(_):
    with page_of() as (path, _), Browser() as browser:
        browser.open(path)
        browser.keys("?")
        assert browser.count("dialog[open]") == 1 and "light, dark, or as the system" in browser.text("dialog")
        browser.keys("t")
        assert browser.hash() == "", "keys of the page work behind the dialog"
        browser.keys(Keys.ESCAPE)
        assert browser.count("dialog[open]") == 0
        browser.keys("t")
        assert browser.hash() == "#theme=light"
        browser.keys("t")
        assert browser.hash() == "#theme=dark" and browser.text(".nav-tools .button") == "theme: dark"
        browser.keys("t")
        assert browser.hash() == ""
        browser.js("document.activeElement.blur()")
        browser.keys(Keys.TAB)
        assert browser.js("return document.activeElement.className") == "skip"
        browser.keys(Keys.ENTER)
        assert browser.js("return document.activeElement.id") == "verdict"


# ---- hard cases ----

def test_few_and_many_findings(_):
    def none(front):
        front["answers"].update(findings=[], recorded_ms=10.2, busy_ms=9.9)

    def many(front):
        base = front["answers"]["findings"][0]
        front["answers"]["findings"] = [{**base, "rank": i + 1, "title": f"finding {i + 1}", "hint": i >= 17} for i in range(20)]

    def idle(front):
        front["answers"].update(findings=[], recorded_ms=987, busy_ms=493, per="trace")
        front["facts"]["limit"] = "the GPU is idle 50 % of the window (987 ms): launched work starts late"

    def distrusted(front):
        front["answers"].update(findings=[])
        front["answers"]["trust"]["verdict"] = "do not trust"
        front["answers"]["trust"]["checks"][0].update(level="fail", text="The file is <b>truncated</b>.")
    with Browser() as browser:
        with page_of(none) as (path, _):
            browser.open(path)
            assert browser.text(".nothing") == "Nothing stands out: the GPU is busy 97.1 % of a step (10.2 ms), and no rule finds 1 % of it or more to gain."
            assert browser.count(".distrust") == 0
        with page_of(idle) as (path, _):
            browser.open(path)
            assert browser.text(".nothing") == ("No rule finds 1 % of the window or more to gain, although the GPU is idle 50 % "
                                                "of the window (987 ms): launched work starts late.")
        with page_of(distrusted) as (path, _):
            browser.open(path)
            assert "cannot be trusted" in browser.text(".nothing") and browser.count(".badge.trust-fail") == 1
            assert browser.text(".distrust") == "Do not trust this report. The file is <b>truncated</b>."
            assert browser.js("return document.querySelector('.distrust').getBoundingClientRect().bottom") < 200
        with page_of(many) as (path, _):
            browser.open(path)
            assert browser.texts(".fold summary") == ["14 more findings", "3 hints with low confidence"]
            assert browser.count("#findings > .body > .cards > .finding") == 3
            browser.click(".fold summary")
            assert "findings.more=yes" in browser.hash()
            assert browser.js("return document.querySelector('[data-finding=\"17\"]').checkVisibility()")
            assert not browser.js("return document.querySelector('[data-finding=\"18\"]').checkVisibility()")
            assert not has_sideways_scrolling(browser)


def test_a_trace_without_steps(_):
    def change(front):
        front["facts"].update(steps=0, per="trace")
        front["answers"].update(steps=0, per="trace", window_steps=1)
        for tile in front["facts"]["tiles"]:
            tile["spark"] = []
        front["facts"]["tiles"][4].update(value=None, detail="no shapes in this trace")
    with page_of(change) as (path, _), Browser() as browser:
        browser.open(path)
        assert "no steps" in browser.text("#header") and tile_values(browser)["roofline"] == "–"
        assert browser.count("svg.spark") == 0 and "of the window" in browser.js("return document.querySelector('.segment').getAttribute('aria-label')")
        assert "in the window" in browser.text(".gain")


def test_a_front_without_answers_and_facts(_):
    def change(front):
        front.update(answers=None, facts=None, framework=None, command=None)
    with page_of(change) as (path, _), Browser() as browser:
        browser.open(path, "#range=0-5000000")
        assert browser.js("return document.documentElement.dataset.ready") == "yes"
        assert browser.text(".masthead .file") == "train.json.gz" and browser.count("#verdict, #findings, #bar, .badge") == 0


def test_long_and_turned_names_stay_in_their_place(_):
    def change(front):
        facts, answers = front["facts"], front["answers"]
        front.update(title=LONG, command=LONG, messages=["3 events are ignored", LONG, TURNED])
        facts.update(gpu=LONG, sentence=f"The GPU is idle *60 %*: {LONG}", notes=[LONG, TURNED])
        answers["findings"][0].update(title=LONG, where=LONG, evidence=[LONG] * 3, advice=LONG)
        answers["findings"][1].update(title=TURNED, where=TURNED, evidence=[TURNED], advice=TURNED)
        answers["trust"]["checks"][0]["text"] = LONG
        facts["tiles"][0].update(label=LONG, detail=LONG)
        facts["bar"][0]["part"], facts["bar"][1]["part"] = "__proto__", LONG
    with page_of(change) as (path, _), Browser() as browser:
        for width, height in ((1280, 800), (700, 900)):
            browser.set_size(width, height)
            for hash_ in ("", "#header.open=trust", "#header.open=details", "#finding=1&category=__proto__"):
                browser.open(path, hash_)
                assert not has_sideways_scrolling(browser), (width, hash_)
                assert browser.js("return document.title").startswith("xxx") and browser.count("main script") == 0
        assert browser.texts("#footer .notes h3") == ["Messages about the trace", "What this page leaves out"]
        assert browser.text("#footer .notes li") == "3 events are ignored"
        browser.js("document.querySelectorAll('.finding .plain').forEach((button) => button.click())")
        assert not has_sideways_scrolling(browser)
        assert browser.js("return document.querySelector('.finding h3').textContent.length") == len(LONG)
        browser.hover(".segment:nth-child(2)")
        left, top, box_width, box_height = browser.box(".tooltip")
        assert left >= 0 and top >= 0 and left + box_width <= 700 and top + box_height <= 900


def test_themes_and_paper(_):
    light, dark = "rgb(255, 254, 252)", "rgb(20, 22, 26)"
    ground = "return getComputedStyle(document.documentElement).backgroundColor"
    first = "return document.querySelector('.segment').style.background"
    with page_of() as (path, _), Browser() as browser:
        browser.open(path)
        assert browser.js(ground) == light
        colour = browser.js(first)
        browser.set_dark(True)
        browser.settle()
        assert browser.js(ground) == dark and browser.js(first) != colour
        browser.js("dispatchEvent(new Event('beforeprint'))")
        assert browser.js(first) == colour, "the program draws in light colours on paper"
        browser.js("dispatchEvent(new Event('afterprint'))")
        assert browser.js(ground) == dark
        browser.cdp("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        assert browser.js(ground) == "rgb(255, 255, 255)"
        for css in ("#navigation", ".finding .show", "#footer .toolbar"):
            assert not browser.js("return document.querySelector(arguments[0]).checkVisibility()", css), css
        assert browser.js("return document.querySelector('#findings .evidence').checkVisibility()")
        browser.cdp("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        browser.open(path, "#theme=light")
        assert browser.js(ground) == light


# ---- damaged files and old browsers ----

def failure(path, browser):
    browser.driver.get("about:blank")
    browser.driver.get(pathlib.Path(path).as_uri())
    while browser.js("return document.documentElement.dataset.ready") is None:
        time.sleep(0.02)
    text = browser.text(".failure")
    assert browser.js("return document.documentElement.dataset.ready") == "failed" and browser.count("#starting") == 0
    browser.collect()
    assert len(browser.found) == 1, browser.found  # the console has the error for those who look
    browser.found.clear()
    return text


def test_a_damaged_page_says_so(_):
    with page_of() as (path, _), Browser() as browser:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        pack = text.index('application/octet-stream">') + len('application/octet-stream">')
        damages = {"truncated": text[:len(text) - (len(text) - pack) // 2],
                   "changed": text[:pack + 1000] + "AAAAAAAAAAAAAAAAAAAAAAAA" + text[pack + 1024:],
                   "not base64": text[:pack + 1000] + "\u20ac" + text[pack + 1001:],
                   "without data": text[:pack], "without packs": text[:text.rindex("<script", 0, pack)]}
        for name, damaged in damages.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(damaged)
            assert "damaged or not complete" in failure(path, browser), name
            assert browser.count(".tile") == 5, "the first screen is there"


def test_a_damaged_front_says_so(_):
    with page_of() as (path, _), Browser() as browser:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace('"schema":"gputally-page/1"', '"schema":"gputally-page/1', 1))
        assert "damaged or not complete" in failure(path, browser)


def test_an_old_browser_is_told_so(_):
    with page_of() as (path, _), Browser() as browser:
        browser.cdp("Page.addScriptToEvaluateOnNewDocument", source="delete globalThis.DecompressionStream;")
        text = failure(path, browser)
        assert "cannot unpack" in text and "last two years" in text


if __name__ == "__main__":
    sys.exit(run_test_functions(__doc__, globals()))
