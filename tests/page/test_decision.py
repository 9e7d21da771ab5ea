#!/usr/bin/env python3
"""The page of `gputally sweep decide` and `sweep compare` in a real browser. Expected numbers are computed here from what was
planted in the traces (tests/sweep/generate_axes.py, generate_decisions.py).

    python3 -m tests.page.test_decision --bin build/gputally [ONLY]
"""
import json
import math
import os
import statistics
import sys
import tempfile

from tests.common.harness import run, run_test_functions
from tests.page.browser import Browser, Keys, require_browser
from tests.sweep import generate_axes as axes
from tests.sweep import generate_decisions as classic

NOISE = (0.995, 1.0, 1.006, 0.999)  # of the repeats of every setting
AXES = {"mode": ["eager", "compile"], "batch": ["8", "16", "32"], "proto": ["LL", "Simple"]}
FACTORS = {"eager": 1.2, "compile": 1.0, "8": 1.0, "16": 1.05, "32": 1.1, "LL": 1.0, "Simple": 0.97}


def truth(setting, base=6000.0):
    return base * math.prod(FACTORS[value] for value in setting)


def noisy(setting, base=6000.0):
    return [truth(setting, base) * one for one in NOISE]


def mean_ms(setting):
    return axes.geometric_mean(noisy(setting)) / 1000


def decide(browser, binary, folder, *options, sweep="s"):
    path = os.path.join(folder, "page.html")
    done = run([binary, "sweep", "decide", sweep, "--output_html", path, *options], cwd=folder)
    assert done.code == 0, done.stderr
    assert f"wrote {path}" == done.stdout.splitlines()[-1], done.stdout
    browser.open(path)
    return done


def cells(browser, css):
    """Texts of a table, and the titles of cells that have all digits."""
    return browser.js("""return [...document.querySelectorAll(`${arguments[0]} tbody tr`)].map((row) => [...row.cells].map((cell) =>
        ({text: cell.innerText.trim(), title: cell.title})))""", css)


def number(text):
    """The first word of a cell or title as a number: '6.43 ms', '+3.6 %', '1.2×'."""
    return float(text.split()[0].replace("−", "-").replace(",", "").rstrip("×"))


def near(got, wanted, relative=1e-6):
    assert math.isclose(got, wanted, rel_tol=relative, abs_tol=1e-9), (got, wanted)


def dots(browser, css):
    """Places of the dots and of both ends of the intervals, in percent of the plot's width, by row."""
    return browser.js("""return [...document.querySelectorAll(`${arguments[0]} tbody tr[data-setting]`)].map((row) => {
        const dot = row.querySelector('.dot'), line = row.querySelector('.whisker');
        return [dot, line, line].map((one, i) => one && parseFloat(one.getAttribute(['cx', 'x1', 'x2'][i])))})""", css)


# ---- the recommendation ----

def test_recommendation_has_the_planted_step_times(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        axes.lay_out(os.path.join(folder, "s"), AXES, noisy)
        decide(browser, binary, folder)
        order = sorted(axes.grid(AXES), key=truth)
        best, second = order[:2]
        assert best == ("compile", "8", "Simple")
        sentence = browser.text("h1").replace("\u00a0", " ")
        faster = 100 * (1 - truth(best) / truth(second))
        assert sentence.startswith("Use mode=compile batch=8 proto=Simple: it is the best of 12 settings, "
                                   f"{faster:.1f} % faster than the next"), sentence
        rows = cells(browser, "#recommendation")
        assert [tuple(cell["text"] for cell in row[1:4]) for row in rows] == order
        for row, setting in zip(rows, order):
            near(number(row[5]["title"]), mean_ms(setting))
            assert row[5]["text"] == f"{mean_ms(setting):.3f} ms", row
            if setting != best:
                near(number(row[7]["title"]), 100 * (truth(setting) / truth(best) - 1))
        # The intervals are those of the sheet, around the mean on a logarithmic scale, as far as no run may be disturbed.
        for row, setting in zip(rows, order):
            low, high = (float(word) for word in row[6]["title"].replace(" ms", "").split(" to "))
            near(math.sqrt(low * high), mean_ms(setting), 1e-3)
            assert low < mean_ms(setting) < high
        assert [row[10]["text"] for row in rows][:3] == ["best", "slower", "slower"]
        middle = order[len(order) // 2]
        saved = 24 * (1 - truth(best) / truth(middle))
        assert f"{saved:.1f} hours of every day" in browser.text("#recommendation .advice").replace("\u00a0", " ")
        tiles = browser.js("return Object.fromEntries([...document.querySelectorAll('.tile')].map((one) => "
                           "[one.dataset.tile, one.querySelector('.figure').title]))")
        near(number(tiles["step"]), mean_ms(best))
        near(number(tiles["margin"]), faster)
        near(number(tiles["worth"]), saved)
        lines = "export SWEEP_0=compile\nexport SWEEP_1=8\nexport SWEEP_2=Simple"
        assert browser.text(".environment pre") == lines
        browser.click(".environment .button")
        assert browser.clipboard() == lines + "\n"


def test_marks_are_at_the_places_of_their_values(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        axes.lay_out(os.path.join(folder, "s"), AXES, noisy)
        decide(browser, binary, folder)
        values = [[number(row[5]["title"]), *(float(word) for word in row[6]["title"].replace(" ms", "").split(" to "))]
                  for row in cells(browser, "#recommendation")]
        places = dots(browser, "#recommendation")
        scale = (places[-1][0] - places[0][0]) / (values[-1][0] - values[0][0])
        for value, place in zip(values, places, strict=True):
            for one, at in zip(value, place):
                assert abs(places[0][0] + scale * (one - values[0][0]) - at) < 0.01, (value, place)
        assert scale > 0 and 0 <= min(map(min, places)) and max(map(max, places)) <= 100


def test_no_best_setting_is_said_plainly(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        times = {"8": (5000, 5050, 4990), "16": (5010, 5040, 5000), "32": (5005, 4985, 5055), "64": (6000, 6040, 6010)}
        axes.lay_out(os.path.join(folder, "s"), {"batch": list(times)}, lambda setting: times[setting[0]])
        decide(browser, binary, folder)
        text = browser.text("h1").replace("\u00a0", " ")
        assert text.startswith("No setting is supported as the best: 3 of 4 settings cannot be told apart"), text
        rows = cells(browser, "#recommendation")
        words = {row[1]["text"]: row[8]["text"].removesuffix(" median") for row in rows}
        assert words == {"8": "not told apart", "16": "not told apart", "32": "not told apart", "64": "slower"}, words
        assert browser.text(".environment h3") == "How to set the fastest"
        assert "# the fastest, not supported as the best" in browser.text(".environment pre")
        assert "These settings cannot be told apart" in browser.text(".advice")
        assert "no interaction to show" in browser.text("#effects") and browser.count(".heat-table") == 0
        assert browser.count("#effects .main-effect") == 1 and browser.count("#overlap, #bandwidth, #timelines, #changes") == 0


def test_one_measurement_has_no_intervals(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        axes.lay_out(os.path.join(folder, "s"), {"threads": ["256", "512"], "channels": ["28"]}, lambda setting: [5000 + int(setting[0])])
        decide(browser, binary, folder)
        assert "Each setting was run once, which does not show how much runs differ." in browser.text(".limit")
        assert "noise is unknown" in browser.js("return document.querySelector('.tile[data-tile=margin]').innerText")
        assert browser.count("#recommendation .whisker") == 0 and browser.count("#recommendation .dot") == 2
        assert "All settings have channels=28" in browser.text("#recommendation")


def test_one_setting(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        axes.lay_out(os.path.join(folder, "s"), {"mode": ["fast"]}, lambda setting: [5000, 5010], ranks=2, slowdown=lambda setting: 1.25)
        decide(browser, binary, folder)
        assert browser.text("h1") == "Only one setting was measured."
        rows = cells(browser, "#recommendation")
        assert len(rows) == 1 and rows[0][8]["text"] == "only one", rows
        assert browser.count("#effects, #tradeoffs") == 0
        near(number(cells(browser, "#overlap .heat-table")[0][1]["text"]), 1.25)


def test_baseline(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        axes.lay_out(os.path.join(folder, "s"), {"batch": ["8", "16"], "mode": ["eager", "compile"]}, lambda one: noisy((one[1], one[0])))
        decide(browser, binary, folder, "--baseline", "batch_16_mode_eager")
        heads = browser.texts("#recommendation thead th")
        column = heads.index("to baseline")
        base = 1.05 * 1.2
        for row in cells(browser, "#recommendation"):
            wanted = 100 * (FACTORS[row[1]["text"]] * FACTORS[row[2]["text"]] / base - 1)
            assert abs(number(row[column]["text"]) - wanted) < 0.06, (row, wanted)
        assert browser.text(".standing.baseline") == "baseline"


# ---- effects ----

def expected_mean(**fixed):
    """The geometric mean over all settings with these values of axes."""
    wanted = [setting for setting in axes.grid(AXES) if all(dict(zip(AXES, setting))[name] == value for name, value in fixed.items())]
    return axes.geometric_mean([mean_ms(setting) for setting in wanted]), len(wanted)


def test_means_of_axes_and_pairs(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        axes.lay_out(os.path.join(folder, "s"), AXES, noisy)
        decide(browser, binary, folder)
        for name, values in AXES.items():
            rows = cells(browser, f'.main-effect[data-axis="{name}"]')
            assert sorted(row[0]["text"] for row in rows) == sorted(values)
            least = min(expected_mean(**{name: value})[0] for value in values)
            for row in rows:
                mean, count = expected_mean(**{name: row[0]["text"]})
                near(number(row[2]["title"]), mean)
                assert row[5]["text"] == str(count)
                near(number(row[4]["title"]), 100 * (mean / least - 1))
                low, high = (float(word) for word in row[3]["title"].replace(" ms", "").split(" to "))
                near(math.sqrt(low * high), mean, 1e-3)
                # The mean of several settings: its interval is narrower than that of one, in which runs may be disturbed.
                single = cells(browser, "#recommendation")[0][6]["title"].replace(" ms", "").split(" to ")
                ratio = math.log(high / low) / math.log(float(single[1]) / float(single[0]))
                assert 0.8 < ratio * math.sqrt(count) and ratio < 1, (ratio, count)
        grand = axes.geometric_mean([mean_ms(setting) for setting in axes.grid(AXES)])
        pairs = [("mode", "batch"), ("mode", "proto"), ("batch", "proto")]
        assert browser.texts("#effects select option") == [f"{a} and {b}" for a, b in pairs]
        for i, (first, second) in enumerate(pairs):
            browser.js("const one = document.querySelector('#effects select'); one.value = arguments[0]; one.dispatchEvent(new Event('change'))", str(i))
            browser.settle()
            table = cells(browser, ".heat-map .heat-table")
            columns = browser.texts(".heat-map thead th")
            assert [row[0]["text"] for row in table] == AXES[first] and columns == AXES[second]
            for row in table:
                for column, cell in zip(columns, row[1:], strict=True):
                    mean, count = expected_mean(**{first: row[0]["text"], second: column})
                    shown, relative = cell["text"].split("\n")
                    assert shown == f"{mean:.3f} ms" and f"mean of {count} setting" in cell["title"], (cell, mean)
                    assert abs(number(relative) - 100 * (mean / grand - 1)) < 0.06, (cell, mean / grand)
            other = next(name for name in AXES if name not in (first, second))
            assert f"mean over {other}" in browser.text(".heat-map .note:last-child")
        assert "effects.pair=2" in browser.hash()


def test_colours_of_the_heat_map_follow_its_numbers(binary):
    """Faster cells are bluer, slower ones more orange, in both themes, and every number has a contrast of 4.5."""
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        axes.lay_out(os.path.join(folder, "s"), AXES, noisy)
        decide(browser, binary, folder)
        for dark in (False, True):
            browser.set_dark(dark)
            browser.settle()
            found = browser.js("""return [...document.querySelectorAll('.heat-map .heat')].map((cell) => {
                const style = getComputedStyle(cell), numbers = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
                return [parseFloat(cell.innerText), numbers(style.backgroundColor), numbers(style.color)]})""")
            assert len(found) == 6
            warmth = [back[0] - back[2] for _, back, _ in sorted(found)]
            assert warmth == sorted(warmth) and warmth[0] < -20 and warmth[-1] > 20, (dark, warmth)
            for _, back, ink in found:
                assert contrast(back, ink) >= 4.5, (dark, back, ink)


def contrast(one, other):
    def luminance(color):
        parts = [value / 255 for value in color]
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_missing_settings_are_hatched_cells(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        grid = {"batch": ["8", "16"], "mode": ["eager", "compile"]}
        axes.lay_out(os.path.join(folder, "s"), grid, lambda one: noisy((one[1], one[0])), leave_out={("16", "compile")})
        decide(browser, binary, folder)
        assert browser.count(".heat-map .heat") == 4 and browser.texts(".heat-map .missing-cell") == ["–"]
        assert "batch=16 mode=compile: not measured" == browser.js("return document.querySelector('.missing-cell').title")
        assert "unbalanced" in browser.text("#effects")


# ---- overlap and bandwidth ----

def test_planted_slowdown(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        planted = {(256, 28): 1.1, (256, 42): 1.2, (512, 28): 1.3, (512, 42): 1.4}
        classic.lay_out(os.path.join(folder, "s"), lambda setting: 7000.0, slowdown=planted.get, repeats=2, run_noise=0, step_noise=0,
                        kernel_noise=0)
        decide(browser, binary, folder)
        for row in cells(browser, "#overlap .heat-table"):
            wanted = planted[tuple(int(part.split("=")[1]) for part in row[0]["text"].split())]
            assert [number(cell["text"]) for cell in row[1:]] == [wanted] * 3, row
        gemms = browser.texts("#overlap select option")
        assert len(gemms) == 2 and classic.K1 in gemms[0], "the costliest GEMM comes first"
        rows = cells(browser, ".overlap-detail")
        for row in rows:
            wanted = planted[int(row[0]["text"]), int(row[1]["text"])]
            near(number(row[3]["title"]), wanted)
            near(number(row[6]["title"]), 200)
            near(number(row[7]["title"]), 200 * wanted)
            near(number(row[8]["title"]), (wanted - 1) * 200 * classic.GEMMS / 2 / 1000)
            assert row[9]["text"] == "48 / 48"  # 2 repeats, 2 ranks, 3 steps, half of 8 calls
        places = [place[0] for place in dots(browser, ".overlap-detail")]
        values = [number(row[3]["title"]) for row in rows]
        scale = (places[1] - places[0]) / (values[1] - values[0])
        assert all(abs(places[0] + scale * (value - values[0]) - place) < 0.01 for value, place in zip(values, places))


SIZES = [2 ** k for k in (12, 14, 16, 18, 20, 22)]  # elements of 2 bytes


def latency_us(setting, elements):
    return 10 + elements * 2 / {"LL": 20e3, "Simple": 40e3}[setting[0]]


def test_bandwidth_by_message_size(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        def messages(setting):
            return [("allreduce", one, latency_us(setting, one)) for one in SIZES] + [("_allgather_base", SIZES[-1], 900.0)]
        axes.lay_out(os.path.join(folder, "s"), {"proto": ["LL", "Simple"]}, lambda setting: [5000 * FACTORS[setting[0]] * one for one in NOISE],
                     ranks=2, messages=messages)
        decide(browser, binary, folder)
        assert sorted(browser.texts("#bandwidth select option")) == ["_allgather_base", "allreduce"]
        browser.js("const one = document.querySelector('#bandwidth select'); one.value = 'allreduce'; one.dispatchEvent(new Event('change'))")
        browser.settle()
        table = cells(browser, "#bandwidth table")
        assert len(table) == len(SIZES)
        for row, elements in zip(table, SIZES, strict=True):
            near(number(row[0]["title"]), elements * 2)
            # on 2 ranks a link carries 2 * 1/2 of the bytes; GB are 2^30 bytes, as in the collective report
            expected = [elements * 2 / 2 ** 30 / (latency_us((proto,), elements) * 1e-6) for proto in ("Simple", "LL")]
            for cell, wanted in zip(row[1:], expected, strict=True):
                near(number(cell["title"]), wanted)
            assert abs(number(row[2]["text"].split("\n")[1]) - 100 * (expected[1] / expected[0] - 1)) < 0.06
        # Both axes are logarithmic: sizes that grow by 4 are at equal distances, and so are their logarithms of bandwidth.
        for line in browser.js("return [...document.querySelectorAll('#bandwidth .bandwidth-line')].map((one) => one.getAttribute('d'))"):
            points = [tuple(map(float, part.split())) for part in line.lstrip("M").split("L")]
            gaps = [b[0] - a[0] for a, b in zip(points, points[1:])]
            assert len(points) == len(SIZES) and max(gaps) - min(gaps) < 0.3, gaps
        browser.keys(Keys.ARROW_RIGHT, css="#bandwidth svg")
        assert browser.text("#tooltip").startswith("proto=Simple") and "8.19 kB" in browser.text("#tooltip"), browser.text("#tooltip")
        browser.js("const one = document.querySelector('#bandwidth select'); one.value = '_allgather_base'; one.dispatchEvent(new Event('change'))")
        browser.settle()
        assert browser.count("#bandwidth svg.bandwidth-line") == 0 and "All messages of _allgather_base have" in browser.text("#bandwidth")
        assert [row[0]["text"] for row in cells(browser, "#bandwidth > .body > div:not([hidden])")] == ["Simple", "LL"]


# ---- trade-offs ----

def test_pareto_front(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        # slowdown falls with the step time, except for 32, which 16 beats in both
        slow = {"8": 1.4, "16": 1.2, "32": 1.3, "64": 1.1}
        times = {"8": 5000, "16": 5200, "32": 5300, "64": 5400}
        axes.lay_out(os.path.join(folder, "s"), {"batch": list(times)}, lambda one: [times[one[0]] * noise for noise in NOISE], ranks=2,
                     slowdown=lambda one: slow[one[0]], messages=lambda one: [("allreduce", 2 ** 20, 100.0)])
        decide(browser, binary, folder)
        browser.js("[...document.querySelectorAll('#tradeoffs .segmented button')].find((one) => one.innerText === 'GEMM slowdown').click()")
        browser.settle()
        front = browser.js("return [...document.querySelectorAll('#tradeoffs .front-line')].map((one) => one.getAttribute('d'))")
        marks = browser.js("""return Object.fromEntries([...document.querySelectorAll('.pareto-mark')].map((one) => {
            const hit = one.querySelector('.hit'); return [one.dataset.setting, ['cx', 'cy'].map((name) => Number(hit.getAttribute(name)))]}))""")
        assert len(marks) == 4 and len(front) == 1
        # the line goes through 8, 16 and 64, not through 32
        corners = [part for part in front[0].replace("H", " H").replace("V", " V").replace("M", "M").split(" ") if part]
        assert sum(part.startswith("V") for part in corners) == 2
        for name, on in (("batch_16", True), ("batch_64", True), ("batch_32", False)):
            assert any(part.startswith("V") and abs(float(part[1:]) - marks[name][1]) < 0.1 for part in corners) == on, (name, front, marks)
        names = [row[0]["text"] for row in cells(browser, "#tradeoffs")]
        assert names[0] == "batch=8" and "batch=16" in names and "batch=64" in names, names


# ---- all sweeps ----

def test_hostile_names(binary):
    require_browser()
    hostile = {"setting": ["<script>alert(1)</script>", "a*b*c", "x" * 40000, "\"'&amp;</td>"],
               "step_ms": ["\u202egnp.exe", "new\nline", "=1+1", "<img src=x onerror=alert(1)>"], "axis_1": ["1"]}
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        settings = axes.grid(hostile)
        axes.lay_out(os.path.join(folder, "s"), hostile, lambda one: [part + 10 * settings.index(one) for part in (4000, 4000.5, 4001)],
                     names_of_folders=[f"point_{i}" for i in range(16)], ranks=2, slowdown=lambda one: 1.2,
                     messages=lambda one: [("allreduce", 2 ** 20, 100.0), ("<b>reduce</b>", 2 ** 18, 50.0)])
        decide(browser, binary, folder)
        rows = cells(browser, "#recommendation")
        assert len(rows) == 16 and [row[1]["title"] for row in rows] == [f"point_{i}" for i in range(16)]
        near(number(rows[3][4]["title"]), math.cbrt(4030 * 4030.5 * 4031) / 1000)
        assert rows[0][1]["text"] == "<script>alert(1)</script>"
        assert browser.count("main script, main img, main b:not(h1 b, p b)") == 0
        assert browser.js("return document.documentElement.scrollWidth") <= 1280, "a name makes the page too wide"
        lines = browser.text(".environment pre").split("\n")
        assert len(lines) == 3 and all(line.startswith("export ") for line in lines), lines
        assert browser.js("return document.documentElement.scrollHeight") < 9000


def test_many_settings(binary):
    require_browser()
    grid = {"a": [str(i) for i in range(20)], "b": [str(i) for i in range(25)]}
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        axes.lay_out(os.path.join(folder, "s"), grid, lambda one: [1000 + 2 * int(one[0]) + 0.1 * int(one[1]) + noise for noise in (0, 0.05)])
        decide(browser, binary, folder)
        assert os.path.getsize(os.path.join(folder, "page.html")) < 1_000_000
        rows = browser.count("#recommendation tbody tr")
        assert rows == 26, "24 rows, the gap and the median setting"
        assert browser.text("#recommendation tr.gap") == "475 more"
        browser.click("#recommendation .plot-table > .button")
        assert browser.count("#recommendation tbody tr") == 500
        assert browser.count(".heat-map .heat") == 500


def test_failed_runs_are_left_out_or_marked(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        def status(setting, repeat):
            return "FAILED" if setting == ("16",) else "SUCCESS"
        axes.lay_out(os.path.join(folder, "s"), {"batch": ["8", "16", "32"]}, lambda one: [5000 * FACTORS[one[0]] * noise for noise in NOISE],
                     status=status)
        done = decide(browser, binary, folder)
        assert "did not end well" in done.stderr
        assert [row[1]["text"] for row in cells(browser, "#recommendation")] == ["8", "32"]
        decide(browser, binary, folder, "--include_failed")
        assert {row[1]["text"]: row[-1]["text"] for row in cells(browser, "#recommendation")} == {"8": "SUCCESS", "16": "FAILED", "32": "SUCCESS"}
        assert "1 with runs that did not end well" in browser.text("#recommendation")


def test_other_steps_are_on_the_page_of_all(binary):
    """`sweep all` writes the page last, with the GEMM variance and the timelines of the other steps."""
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        classic.lay_out(os.path.join(folder, "s"), lambda setting: 6600.0 + setting[0], repeats=1, slowdown=lambda setting: setting[1] / 28)
        done = run([binary, "sweep", "all", "s", "--dpi", "40"], cwd=folder)
        assert done.code == 0, done.stderr
        path = "s/tracelens_analysis/decision.html"
        assert done.stdout.splitlines()[-1] == f"wrote {path}", done.stdout
        browser.open(os.path.join(folder, path))
        for section in ("recommendation", "tradeoffs", "effects", "overlap", "bandwidth", "timelines", "variance-threads", "variance-channels",
                        "variance-ranks", "variance-distribution", "variance-interaction"):
            assert browser.count(f"#{section}") == 1, section
        assert browser.count("#sweeps, #sweep-files, #document") == 0
        with open(os.path.join(folder, "s/tracelens_analysis/top5_gemm_kernels_time_variance.csv"), encoding="utf-8") as file:
            rows = [line.split(",") for line in file.read().splitlines()[1:]]
        medians = {t: statistics.median(float(row[6]) for row in rows if row[0] == t) for t in ("256", "512")}
        least = min(medians.values())
        for row in cells(browser, "#variance-threads .beside"):
            near(number(row[1]["title"]), medians[row[0]["text"]])
            if row[2]["text"] != "least":
                near(number(row[2]["title"]), medians[row[0]["text"]] - least)
        # A trace has 4 steps, of which the last one only ends the third.
        for row in cells(browser, "#timelines"):
            total = number(row[3]["title"])
            near(total, sum(number(cell["title"]) for cell in row[5:]), 1e-6)
            near(number(row[6]["title"]), 4 * classic.exposed_us() / 1000, 1e-6)


def test_second_run_replaces_the_page(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        axes.lay_out(os.path.join(folder, "a b's"), {"batch": ["8", "16"]}, lambda one: [5000 * FACTORS[one[0]] * noise for noise in NOISE])
        decide(browser, binary, folder, sweep="a b's")
        with open(os.path.join(folder, "page.html"), "rb") as file:
            first = file.read()
        decide(browser, binary, folder, "--threads", "8", sweep="a b's")
        with open(os.path.join(folder, "page.html"), "rb") as file:
            assert file.read() == first, "the same bytes with any number of threads"
        assert browser.text(".masthead .file") == "a b's"
        done = run([binary, "sweep", "decide", "a b's", "--baseline", "none", "--output_html", "new.html"], cwd=folder)
        assert done.code == 1 and not os.path.exists(os.path.join(folder, "new.html"))


# ---- two sweeps ----

def lay_out_two(folder):
    """The second sweep is 4 % slower with batch 16, and lacks batch 32; it has 64 instead."""
    both = {"batch": ["8", "16", "32"], "mode": ["eager", "compile"]}
    later = {"batch": ["8", "16", "64"], "mode": ["eager", "compile"]}
    factors = {**FACTORS, "64": 1.2}
    axes.lay_out(os.path.join(folder, "old"), both, lambda one: [6000 * factors[one[0]] * factors[one[1]] * noise for noise in NOISE])
    axes.lay_out(os.path.join(folder, "new"), later, lambda one: [6000 * factors[one[0]] * factors[one[1]] * noise *
                                                                  (1.04 if one[0] == "16" else 1) for noise in NOISE])


def test_two_sweeps(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        lay_out_two(folder)
        page = os.path.join(folder, "two.html")
        done = run([binary, "sweep", "compare", "old", "new", "--fail_if", "step_ms > 3% significant", "--allow_missing", "--output_html", page],
                   cwd=folder)
        assert done.code == 3, done.stderr
        browser.open(page)
        sentence = browser.text("h1").replace("\u00a0", " ")
        assert sentence.startswith("From old to new, 2 of 4 settings are slower and 0 faster; the largest change is +4.0 % of batch=16"), sentence
        assert "gate: failed" in browser.text("#changes") and "step_ms > 3% significant" in browser.text("#changes")
        rows = cells(browser, "#changes .plot-table")
        changes = {(row[0]["text"], row[1]["text"]): (number(row[5]["title"]), row[-1]["text"]) for row in rows}
        assert set(changes) == {(batch, mode) for batch in ("8", "16") for mode in ("eager", "compile")}
        for (batch, _), (change, word) in changes.items():
            near(change, 4.0 if batch == "16" else 0.0)
            assert word == ("worse" if batch == "16" else "may be noise")
        note = browser.text("#changes .change-of .note")
        assert "Measured only in old: batch=32 mode=compile, batch=32 mode=eager" in note and "Measured only in new: batch=64" in note, note
        # Axes are shared: equal values are at equal places in both tables, and the ticks are the same.
        ticks = browser.js("return [...document.querySelectorAll('#recommendation .plot-head')].map((one) => [...one.querySelectorAll('text')]"
                           ".map((tick) => [tick.textContent, tick.getAttribute('x')]))")
        assert len(ticks) == 2 and ticks[0] == ticks[1] and len(ticks[0]) > 1
        place = browser.js("""return [...document.querySelectorAll('#recommendation .decision')].map((one) => [...one.querySelectorAll(
            'tr[data-setting=batch_8_mode_compile] .dot')].map((dot) => dot.getAttribute('cx'))[0])""")
        assert place[0] == place[1] and place[0]
        # Cells of the later sweep's map say how they differ from the first one.
        old, new = (cells(browser, f'.heat-map .heat-figure[data-sweep="{name}"] .heat-table') for name in ("old", "new"))
        assert [row[0]["text"] for row in old] == [row[0]["text"] for row in new] == ["8", "16", "32", "64"]
        assert [cell["text"].split("\n")[-1] for cell in new[1][1:]] == ["+4.0 %", "+4.0 %"]
        assert [cell["text"] for cell in new[2][1:]] == ["–", "–"] and old[3][1]["text"] == "–"
        assert [cell["text"].split("\n")[-1] for cell in new[3][1:]] == ["new", "new"]
        assert browser.texts("h2")[:2] == ["What changed", "Which setting to use"]
        # Tables of both sweeps have a column for the difference to the first one.
        heads = browser.js("return [...document.querySelectorAll('#recommendation table')].map((one) => [...one.querySelectorAll('thead th')]"
                           ".map((head) => head.innerText))")
        assert heads[0] == heads[1] and "since old" in heads[1]
        later = cells(browser, "#recommendation .decision:nth-child(2)")
        since = {(row[1]["text"], row[2]["text"]): row[heads[1].index("since old")]["text"] for row in later}
        assert since == {(batch, mode): {"8": "0.0 %", "16": "+4.0 %", "64": "–"}[batch] for batch in ("8", "16", "64") for mode in ("eager", "compile")}


def test_three_sweeps(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        for name, factor in (("a", 1.0), ("b", 1.03), ("c", 0.9)):
            axes.lay_out(os.path.join(folder, name), {"batch": ["8", "16"], "mode": ["eager", "compile"]},
                         lambda one, factor=factor: [factor * one for one in noisy((one[1], one[0]))])
        done = run([binary, "sweep", "compare", "a", "b", "c", "--output_html", "page.html"], cwd=folder)
        assert done.code == 0 and done.stdout.splitlines()[-1] == "wrote page.html", done.stderr
        browser.open(os.path.join(folder, "page.html"))
        sentence = browser.text("h1").replace("\u00a0", " ")
        assert "From a to b, 4 of 4 settings are slower and 0 faster; the largest change is +3.0 %" in sentence, sentence
        assert "From a to c, 0 of 4 settings are slower and 4 faster; the largest change is -10.0 %" in sentence, sentence
        assert browser.texts("#changes h3") == ["a → b", "a → c"] and browser.count("#recommendation .decision") == 3
        found = [number(row[5]["title"]) for row in cells(browser, "#changes .plot-table")]
        assert len(found) == 8
        for change, wanted in zip(found, [3.0] * 4 + [-10.0] * 4):
            near(change, wanted)
        assert browser.count(".heat-map .heat-figure") == 3
        for options in (["--fail_if", "step_ms > 3%"], ["-o", "out"], ["--baseline", "a"], ["--generate_plots"]):
            done = run([binary, "sweep", "compare", "a", "b", "c", "--output_html", "new.html", *options], cwd=folder)
            assert done.code == 2 and "not allowed with" in done.stderr and not os.path.exists(os.path.join(folder, "new.html"))


def test_two_sweeps_without_noise_or_common_axes(binary):
    require_browser()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        axes.lay_out(os.path.join(folder, "old"), {"batch": ["8", "16"]}, lambda one: [5000])
        axes.lay_out(os.path.join(folder, "new"), {"batch": ["8", "16"]}, lambda one: [5100])
        done = run([binary, "sweep", "compare", "old", "new", "--output_html", "two.html"], cwd=folder)
        assert done.code == 0, done.stderr
        browser.open(os.path.join(folder, "two.html"))
        assert "nothing can be said about changes" in browser.text("h1")
        assert {row[-1]["text"] for row in cells(browser, "#changes .plot-table")} == {"noise is unknown"}
        axes.lay_out(os.path.join(folder, "other"), {"mode": ["a", "b"]}, lambda one: [5100])
        done = run([binary, "sweep", "compare", "old", "other", "--output_html", "none.html"], cwd=folder)
        assert done.code == 1 and not os.path.exists(os.path.join(folder, "none.html"))


def test_page_has_its_data_in_the_front(binary):
    """What scripts may read: the verdict and the axes."""
    with tempfile.TemporaryDirectory() as folder:
        axes.lay_out(os.path.join(folder, "s"), AXES, noisy)
        done = run([binary, "sweep", "decide", "s", "--output_html", "page.html", "--quiet"], cwd=folder)
        assert done.code == 0 and done.stdout == ""
        with open(os.path.join(folder, "page.html"), encoding="utf-8") as file:
            text = file.read()
        front = json.loads(text.split('id="front">', 1)[1].split("</script>", 1)[0])
        decision = front["facts"]["decisions"][0]
        assert [(axis["name"], axis["values"]) for axis in decision["axes"]] == list(AXES.items())
        assert (decision["settings"], decision["measured"], decision["candidates"], decision["spread"]) == (12, 12, 1, "repeats")


if __name__ == "__main__":
    sys.exit(run_test_functions(__doc__, globals()))
