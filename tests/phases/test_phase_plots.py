#!/usr/bin/env python3
"""Plots of inference phases: files, formats, sizes, and the lengths of bars in the pictures.

    python3 -m tests.phases.test_phase_plots --bin build/gputally [--only TEXT]
"""
import os
import sys
import tempfile
from xml.etree import ElementTree

from tests.common import harness
from tests.phases.generate_serving import Server, write
from tests.sweep.test_plots import Png

NAMES = ["detailed_breakdowns", "operation_frequencies", "performance_bottlenecks", "phase_overview", "time_distributions"]
PREFILL, DECODE = (0x2e, 0x86, 0xab), (0xe0, 0x7a, 0x3f)
MIXED, GREY = (0x8e, 0x5e, 0xa2), (0x9a, 0x9a, 0x9a)
PREFILL_STEP = "execute_context_1(64)_generation_0(0)"
DECODE_STEP = "execute_context_0(0)_generation_8(8)"
MIXED_STEP = "execute_context_1(64)_generation_8(8)"


def make_trace(folder):
    """Prefill takes 300 us in 3 launches, decode 100 us in 1."""
    server = Server(1)
    server.step(PREFILL_STEP, lambda: [server.op("my::gemm", "k", 100) for _ in range(3)])
    server.step(DECODE_STEP, lambda: server.op("my::gemm", "k", 100))
    path = os.path.join(folder, "trace.json")
    write(path, server)
    return path


def run(binary, folder, *options, command="report"):
    return harness.run([binary, command, make_trace(folder), "--inference_phase_analysis", *options])


def row_lengths(picture, colour, left, right):
    """The longest run of pixels in this colour (on white, 15 to 10 % transparent) per line of the picture, in [left, right)."""
    lengths = []
    for y in range(picture.height):
        longest = run_length = 0
        for x in range(left, right):
            is_bar = all(abs(a - (255 + (b - 255) * 0.85)) < 12 for a, b in zip(picture.at(x, y), colour))
            run_length = run_length + 1 if is_bar else 0
            longest = max(longest, run_length)
        lengths.append(longest)
    return lengths


def check_overview(binary, folder):
    """The lengths of the bars have the ratios of the values."""
    outcome = run(binary, folder, "--generate_plots", "--plot_dpi", "72", "--output_csvs_dir", os.path.join(folder, "out"))
    picture = Png(os.path.join(folder, "out", "inference_plots", "phase_overview.png"))
    problems = outcome.problems()
    third = picture.width // 3
    for panel, expected in ((0, 3), (1, 3), (2, 1)):  # kernel time, launches, op names
        bars = [max(row_lengths(picture, colour, panel * third, (panel + 1) * third)) for colour in (PREFILL, DECODE)]
        if not bars[1] or abs(bars[0] / bars[1] - expected) > 0.1:
            problems.append(f"panel {panel}: bars of {bars} pixels, not {expected}:1")
    return problems


def check_steps(binary, folder):
    """One bar per step, with heights in proportion to its GPU time."""
    run(binary, folder, "--generate_plots", "--plot_dpi", "72", "--output_csvs_dir", os.path.join(folder, "out"))
    picture = Png(os.path.join(folder, "out", "inference_plots", "phase_steps.png"))
    heights = []
    for colour in (PREFILL, DECODE):
        columns = [sum(all(abs(a - (255 + (b - 255) * 0.9)) < 10 for a, b in zip(picture.at(x, y), colour))
                       for y in range(60, picture.height)) for x in range(picture.width)]
        heights.append(max(columns))
    return [] if heights[1] and abs(heights[0] / heights[1] - 3) < 0.1 else [f"heights {heights}"]


def draw(binary, folder, make, name, *options):
    """A plot of a trace whose events make(server) adds."""
    server = Server(1)
    make(server)
    path, out = os.path.join(folder, "made.json"), tempfile.mkdtemp(dir=folder)
    write(path, server)
    outcome = harness.run([binary, "report", path, "--inference_phase_analysis", "--generate_plots", "--plot_dpi", "72",
                           "--output_csvs_dir", out, *options])
    return outcome.problems(), Png(os.path.join(out, "inference_plots", name + ".png"))


def column_heights(picture, colour):
    """Numbers of pixels of bars of steps in this colour per column."""
    return [sum(all(abs(a - (255 + (b - 255) * 0.9)) < 10 for a, b in zip(picture.at(x, y), colour)) for y in range(60, picture.height))
            for x in range(picture.width)]


def check_step_phases(binary, folder):
    """Mixed steps and steps without a phase have their own colours: 100, 200, 300 and 400 us."""
    def make(server):
        for number, step in enumerate((PREFILL_STEP, DECODE_STEP, MIXED_STEP, "execute_diffusion_1_64x64")):
            server.step(step, lambda: server.op("my::gemm", "k", 100 * (number + 1)))

    problems, picture = draw(binary, folder, make, "phase_steps")
    heights = [max(column_heights(picture, colour)) for colour in (PREFILL, DECODE, MIXED, GREY)]
    if any(abs(height / max(1, heights[0]) - number) > 0.1 for number, height in enumerate(heights, 1)):
        problems.append(f"heights {heights}")
    return problems


def check_rest(binary, folder):
    """Ops without a phase have a bar in the overview: 300 us in 2 launches, as long as 3 times the prefill."""
    def make(server):
        server.step(PREFILL_STEP, lambda: server.op("my::gemm", "k", 100))
        server.step("execute_diffusion_1_64x64", lambda: server.op("my::gemm", "k", 100))
        server.op("my::other", "k", 200)

    problems, picture = draw(binary, folder, make, "phase_overview")
    third = picture.width // 3
    for panel, expected in ((0, 3), (1, 2), (2, 2)):
        bars = [max(row_lengths(picture, colour, panel * third, (panel + 1) * third)) for colour in (GREY, PREFILL)]
        if not bars[1] or abs(bars[0] / bars[1] - expected) > 0.1:
            problems.append(f"panel {panel}: bars of {bars} pixels, not {expected}:1")
    everything, picture = draw(binary, folder, lambda server: server.step(PREFILL_STEP, lambda: server.op("my::gemm", "k", 9)), "phase_overview")
    return problems + everything + (["a bar for no ops"] if max(row_lengths(picture, GREY, 0, picture.width)) > 20 else [])


def bars_of(picture, colour, right):
    """Lengths of the bars in this colour, from the top, left of a column."""
    lengths = [0] + row_lengths(picture, colour, 0, right)
    return [max(lengths[i:i + 5]) for i in range(1, len(lengths)) if lengths[i] > 3 and lengths[i - 1] <= 3]


def check_categories(binary, folder):
    """A graph launch with kernels of two categories: with kernel sheets each kernel counts for its own, 90 and 30 us."""
    def make(server):
        server.step(PREFILL_STEP, lambda: server.launch("cudaGraphLaunch", [("nvjet_kernel", 90), ("softmax_kernel", 30)]))
        server.step(DECODE_STEP, lambda: server.op("my::gemm", "k", 100))

    problems, picture = draw(binary, folder, make, "detailed_breakdowns", "--enable_kernel_summary")
    bars = bars_of(picture, PREFILL, picture.width // 2)
    if len(bars) != 2 or abs(bars[0] / bars[1] - 3) > 0.1:
        problems.append(f"bars of {bars} pixels, not 3:1")
    problems_of_ops, picture = draw(binary, folder, make, "detailed_breakdowns", "--disable_kernel_summary", "--no_graph_ops")
    together = bars_of(picture, PREFILL, picture.width // 2)
    return problems + problems_of_ops + ([] if len(together) == 1 else [f"bars {together} without kernel sheets"])


def check_names(binary, folder):
    """A name of 36 characters is not cut: it is twice as wide as one of 18."""
    def make(server):
        def prefill():
            server.op("a" * 36, "k", 100)
            server.op("a" * 18, "k", 100)
        server.step(PREFILL_STEP, prefill)
        server.step(DECODE_STEP, lambda: server.op("a", "k", 100))

    problems, picture = draw(binary, folder, make, "performance_bottlenecks")
    widths = []
    for top in range(60, 140):
        dark = [x for x in range(picture.width // 2) if max(picture.at(x, top)) < 130]
        bar = [x for x in range(picture.width // 2) if all(abs(a - (255 + (b - 255) * 0.85)) < 12 for a, b in zip(picture.at(x, top), PREFILL))]
        if bar and dark and dark[0] < bar[0]:
            widths.append(bar[0] - dark[0])
    ratio = max(widths, default=0) / max(1, min(widths, default=0))
    return problems + ([] if 1.8 < ratio < 2.2 else [f"names of {widths} pixels"])


def check_formats(binary, folder):
    problems = []
    for form, begin in (("png", b"\x89PNG\r\n"), ("pdf", b"%PDF-"), ("svg", b"<?xml")):
        out = tempfile.mkdtemp(dir=folder)
        outcome = run(binary, folder, "--generate_plots", "--plot_format", form, "--output_csvs_dir", out)
        plots = os.path.join(out, "inference_plots")
        expected = sorted(f"{name}.{form}" for name in NAMES + ["phase_steps"])
        if outcome.problems() or sorted(os.listdir(plots)) != expected:
            problems.append(f"{form}: {os.listdir(plots)}")
        for name in expected:
            path = os.path.join(plots, name)
            with open(path, "rb") as file:
                content = file.read()
            if not content.startswith(begin) or (form == "pdf" and b"%%EOF" not in content[-32:]):
                problems.append(f"{name} is not {form}")
            if form == "svg":
                ElementTree.fromstring(content)
            if f"wrote {path}" not in outcome.stdout:
                problems.append(f"no line for {name}")
    return problems


def check_places(binary, folder):
    """Next to the first document; the methods without steps have no plot of steps; --disable_plots wins."""
    problems = []
    for options, place, names in (
            (["--output_xlsx_path", "r.x.xlsx"], "r.x_inference_plots", NAMES + ["phase_steps"]),
            (["--output_db", "r.db"], "r_inference_plots", NAMES + ["phase_steps"]),
            (["--output_json", "j.json"], "j_inference_plots", NAMES + ["phase_steps"]),
            (["--output_html", "p.html"], "p_inference_plots", NAMES + ["phase_steps"]),
            (["--output_db", "s.db", "--phase_detection_method", "kernel_names"], None, []),
            (["--output_db", "h.db", "--phase_detection_method", "hybrid"], "h_inference_plots", NAMES),
            (["--output_db", "d.db", "--disable_plots"], None, []), ([], "trace_perf_report_inference_plots", NAMES + ["phase_steps"])):
        where = tempfile.mkdtemp(dir=folder)
        trace = make_trace(where)
        outcome = harness.run([binary, "report", trace, "--inference_phase_analysis", "--generate_plots", "--plot_dpi", "40", *options],
                              cwd=where)
        found = [name for name in os.listdir(where) if name.endswith("_inference_plots")]
        files = sorted(os.listdir(os.path.join(where, found[0]))) if found else []
        if outcome.problems() or found != ([place] if place else []) or files != sorted(f"{name}.png" for name in names):
            problems.append(f"{options}: {found} {files} {outcome.stderr[-200:]}")
        if "kernel_names" in options and "no op has a phase; nothing to draw" not in outcome.stderr:
            problems.append("no warning that there is nothing to draw")
    return problems


def check_refusals(binary, folder):
    problems = []
    for value in ("0", "19", "1201", "-5"):
        outcome = run(binary, folder, "--generate_plots", f"--plot_dpi={value}")
        if outcome.code != 2 or "argument --plot_dpi: must be between 20 and 1200" not in outcome.stderr:
            problems.append(f"--plot_dpi {value}: exit code {outcome.code}")
    plain = harness.run([binary, "report", make_trace(folder), "--generate_plots", "--output_csvs_dir", os.path.join(folder, "out")])
    if "--generate_plots has no effect without --inference_phase_analysis" not in plain.stderr:
        problems.append("no warning that --generate_plots has no effect")
    return problems


def check_full_disk(binary, folder):
    """If a plot cannot be written, nothing is: neither plots nor sheets."""
    out = os.path.join(folder, "out")
    trace = make_trace(folder)
    outcome = harness.run([binary, "report", trace, "--inference_phase_analysis", "--generate_plots", "--plot_dpi", "200",
                           "--output_csvs_dir", out], file_size_limit=8192)
    left = harness.files_under(out) if os.path.exists(out) else []
    return [] if outcome.code == 1 and not left else [f"exit code {outcome.code}, left {left}"]


CASES = [harness.Case("lengths of bars", check_overview), harness.Case("steps", check_steps),
         harness.Case("phases of steps", check_step_phases), harness.Case("ops without a phase", check_rest),
         harness.Case("categories", check_categories), harness.Case("long names", check_names),
         harness.Case("formats", check_formats),
         harness.Case("places", check_places), harness.Case("refusals", check_refusals), harness.Case("full disk", check_full_disk)]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], CASES))
