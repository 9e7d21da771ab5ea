#!/usr/bin/env python3
"""`gputally compare` of servers: only like steps are compared, by phase, whatever the numbers and the mix of steps are.

    python3 -m tests.serving.test_compare --bin build/gputally [--only TEXT]
"""
import csv
import json
import os
import sys
import tempfile

from tests.common import harness
from tests.findings import small_traces
from tests.serving.generate import Trace


def decode(trace, requests, kernel_us, gap_us=0, graph=True):
    trace.now = max(trace.now, trace.free - trace.latency) + round(1000 * gap_us)
    with trace.step(f"step[DECODE bs={requests}]"):
        called = trace.call("cudaGraphLaunch" if graph else "cudaLaunchKernel", 1)
        trace.run("kernel", "rms_norm_kernel", kernel_us, called, grid=[requests, 1, 1])
        trace.run("kernel", "nvjet_tst", kernel_us, called, grid=[4, 1, 1])


def prefill(trace, tokens, kernel_us, gap_us=0):
    trace.now = max(trace.now, trace.free - trace.latency) + round(1000 * gap_us)
    with trace.step(f"step[EXTEND bs=1 toks={tokens}]"):
        trace.launch("nvjet_tst", kernel_us)


def server(steps, kernel_us=50, gap_us=0, requests=(4,), prefills=0, prefill_us=2000, wait_us=0, graph=True):
    trace = Trace()
    for number in range(prefills):
        prefill(trace, 1000, prefill_us, wait_us)
    for number in range(steps):
        decode(trace, requests[number % len(requests)], kernel_us, gap_us, graph)
    return trace


class Compared:
    def __init__(self, folder, binary, a, b, *options, reports=False):
        self.paths = []
        for name, trace in (("a", a), ("b", b)):
            path = os.path.join(folder, name + ".json")
            trace.write(path)
            if reports:
                done = harness.run([binary, "report", path, "--output_csvs_dir", os.path.join(folder, name)])
                assert done.code == 0, done.stderr
                path = os.path.join(folder, name)
            self.paths.append(path)
        out = os.path.join(folder, "out.json")
        self.outcome = harness.run([binary, "compare", *self.paths, "--sheets", "waterfall", "--output_json", out, *options])
        self.json = json.load(open(out, encoding="utf-8")) if os.path.exists(out) else {}

    def phase(self, name):
        return next((row for row in self.json["phase_changes"] if row["phase"] == name), None)


def compared(binary, a, b, *options, **how):
    with tempfile.TemporaryDirectory() as folder:
        done = Compared(folder, binary, a, b, *options, **how)
        problems = [problem for problem in done.outcome.problems() if problem != "exit code 3"]  # the gate failed
        assert not problems, problems
        return done


GATE = ("--fail_if", "step_ms > 5%")


def near(value, wanted, tolerance=.01):
    return abs(value - wanted) <= tolerance * max(abs(wanted), 1)


def check_change(binary, _, a, b, phase, pct, code, reports=False):
    done = compared(binary, server(**a), server(**b), *GATE, reports=reports)
    row, problems = done.phase(phase), []
    if done.outcome.code != code:
        problems.append(f"exit {done.outcome.code}: {done.outcome.stderr}")
    if not row or row["pct"] is None or not near(row["pct"], pct):
        problems.append(f"{phase}: {row} instead of {pct} %")
    return problems


def check_refused(binary, _, a, b, wanted, condition="step_ms > 5%"):
    """No verdict, but one sentence; without the condition the rest is compared."""
    done = compared(binary, server(**a) if isinstance(a, dict) else a, server(**b) if isinstance(b, dict) else b, "--fail_if", condition)
    problems = [] if done.outcome.code == 1 else [f"exit {done.outcome.code}"]
    lines = [line for line in done.outcome.stderr.splitlines() if "--fail_if" in line]
    if len(lines) != 1 or wanted not in lines[0]:
        problems.append(f"{lines}: no {wanted!r}")
    return problems


def check_main_phase(binary, _):
    """Conditions are on decode, which takes less time than prefill here; each phase has its own."""
    a, b = server(20, prefills=9, prefill_us=5000), server(20, prefills=9, prefill_us=10000)
    problems = []
    for condition, code in (("step_ms > 5%", 0), ("step_ms_decode > 5%", 0), ("step_ms_prefill > 5%", 3), ("step_ms_prefill > 4.9", 3),
                            ("step_ms_prefill > 5.1", 0)):
        done = compared(binary, a, b, "--fail_if", condition)
        if done.outcome.code != code or [row["phase"] for row in done.json["phase_changes"]] != ["decode", "prefill"]:
            problems.append(f"{condition}: exit {done.outcome.code}, {done.json.get('phase_changes')}")
        met = done.json["fail_if"]
        if code and (met[0]["sheet"], met[0]["row"], met[0]["baseline"], met[0]["variant"]) != ("phase_changes", "prefill", 5.0, 10.0):
            problems.append(f"{condition}: {met}")
    return problems


def check_mix(binary, _):
    """The mean over all steps says twice as slow, and is explained; like steps are as fast. No times of steps of all phases."""
    done = compared(binary, server(30, prefills=1), server(30, prefills=6), *GATE)
    told = [(row["what"], row["baseline"], row["variant"]) for row in done.json["differences"] if row["what"] == "phases"]
    problems = [] if done.outcome.code == 0 and near(done.phase("decode")["pct"], 0, .5) else [f"{done.outcome.code} {done.phase('decode')}"]
    if told != [("phases", "1 prefill, 30 decode", "6 prefill, 30 decode")] or done.json["step_times"]:
        problems.append(f"{told} {done.json['step_times']}")
    if done.json["waterfalls"][0]["b_ms"] < 1.5 * done.json["waterfalls"][0]["a_ms"]:
        problems.append("the case does not test what it should")
    return problems


def check_cells(binary, _):
    """The change is that of the cells, each with the smaller number of steps: m tA, m tB are 10*100, 10*150 and 5*100, 5*100. The
    first step has no step before it, and does not count."""
    def trace(steps):
        made = Trace()
        for requests, kernel_us in steps:
            decode(made, requests, kernel_us)
        return made
    a = trace([(4, 50)] * 40 + [(8, 50)] * 5 + [(16, 50)])
    b = trace([(4, 75)] * 11 + [(8, 50)] * 20)
    row = compared(binary, a, b).phase("decode")
    wanted = {"a_steps": 45, "b_steps": 30, "a_alike": 44, "b_alike": 30, "a_ms": .1, "b_ms": (10 * .15 + 5 * .1) / 15, "time": "interval"}
    return [f"{key}: {row[key]} instead of {value}" for key, value in wanted.items()
            if (row[key] != value if isinstance(value, str) else not near(1000 * row[key], 1000 * value, .005))]


def check_outputs(binary, _):
    """Terminal, Markdown, sheet and page say the same number."""
    with tempfile.TemporaryDirectory() as folder:
        md, html, sheets = (os.path.join(folder, name) for name in ("c.md", "c.html", "csvs"))
        done = Compared(folder, binary, server(30, prefills=2), server(30, kernel_us=75, prefills=2), "--output_md", md, "--output_html", html,
                        "--output_csvs_dir", sheets)
        row = next(csv.DictReader(open(os.path.join(sheets, "phase_changes.csv"), encoding="utf-8")))
        texts = {"terminal": (done.outcome.stdout, "49.8%"), "Markdown": (open(md, encoding="utf-8").read(), " | +49.8 | 30 of 30, 30 of 30 |"),
                 "page": (open(html, encoding="utf-8").read(), "Decode steps of b take *50.0 µs* (50 %) longer than those of a")}
        problems = [f"{where}: no {wanted!r}" for where, (text, wanted) in texts.items() if wanted not in text]
        if row["phase"] != "decode" or not near(float(row["pct"]), 50):
            problems.append(f"sheet: {row}")
        return problems


def named(steps):
    """A server whose steps are (name, microseconds of the GPU, microseconds of pause before it)."""
    trace = Trace()
    for name, kernel_us, gap_us in steps:
        trace.now = max(trace.now, trace.free - trace.latency) + round(1000 * gap_us)
        with trace.step(name):
            trace.launch("nvjet_tst", kernel_us)
    return trace


def check_named(binary, _, a, b, phase, pct, code, note=""):
    done = compared(binary, named(a), named(b), *GATE)
    row = done.phase(phase)
    problems = [] if done.outcome.code == code else [f"exit {done.outcome.code}: {done.outcome.stderr}"]
    if row["pct"] is None or abs(row["pct"] - pct) > 1 or note not in row["note"] or bool(note) != bool(row["note"]):
        problems.append(f"{row} instead of {pct} % with a note {note!r}")
    return problems


def check_unlike(binary, _, a, b, wanted):
    """The whole phase is other work: no verdict."""
    done = compared(binary, named([(a, 100, 0)] * 20), named([(b, 200, 0)] * 20), *GATE)
    problems = [] if done.outcome.code == 1 and wanted in done.outcome.stderr else [f"exit {done.outcome.code}: {done.outcome.stderr}"]
    return problems


def check_report(binary, _, change, wanted):
    """A report of a server whose steps cannot be read is refused, not compared by the mean of all steps."""
    with tempfile.TemporaryDirectory() as folder:
        done = Compared(folder, binary, server(20, prefills=1), server(20, prefills=6), reports=True)
        sheet = os.path.join(done.paths[1], "serving_steps.csv")
        with open(sheet, encoding="utf-8") as file:
            lines = file.read().splitlines()
        os.remove(sheet)
        if change:
            with open(sheet, "w", encoding="utf-8") as file:
                cells = lines[3].split(",")
                cells[lines[0].split(",").index("interval_us")] = "abc"
                file.write("\n".join(lines[:3] + [",".join(cells)] + lines[4:]) + "\n")
        outcome = harness.run([binary, "compare", *done.paths, "--sheets", "waterfall", *GATE])
        return [] if outcome.code == 1 and wanted in outcome.stderr else [f"exit {outcome.code}: {outcome.stderr}"]


def after_prefill(pairs, decodes):
    """Decode as fast in any mix, but for a pause of 110 us after each prefill."""
    steps = []
    for _ in range(pairs):
        steps.append(("step[EXTEND bs=1 toks=100]", 500, 0))
        steps += [("step[DECODE bs=4]", 100, 0 if number else 110) for number in range(decodes)]
    return steps


DECODE = ("step[DECODE bs=4]", 100, 0)
LONG_DECODE = ("step[DECODE bs=4]", 20100, 0)
DETAILED = "step[DECODE bs=4 c=0 g=4 c_sq=0 c_sk=0 c_sqsq=0 c_sqsk=0 g_sq=4 g_sk={} g_sqsq=4 g_sqsk=4]"
SIZE = "have the batch size and the context length"
SAYS_NOT = "do not say how much work"


class WithoutSteps:
    """Kernels, and nothing that says what a step is."""

    @staticmethod
    def write(path):
        trace = Trace()
        for number in range(20):
            trace.launch(f"kernel_{number}", 10 + number)
        trace.write(path)


class Training:
    @staticmethod
    def write(path):
        small_traces.write(path, small_traces.training(5, "NVIDIA H200"))


def case(name, check, **how):
    return harness.Case(name, lambda binary, folder: check(binary, folder, **how))


SLOWER = dict(phase="decode", pct=50, code=3)
CASES = [
    case("same", check_change, a=dict(steps=41), b=dict(steps=41), phase="decode", pct=0, code=0),
    case("fewer steps", check_change, a=dict(steps=41), b=dict(steps=21), phase="decode", pct=0, code=0),
    case("slower kernels", check_change, a=dict(steps=41), b=dict(steps=41, kernel_us=75), **SLOWER),
    case("fewer and slower", check_change, a=dict(steps=41), b=dict(steps=21, kernel_us=75), **SLOWER),
    case("reports", check_change, a=dict(steps=41), b=dict(steps=21, kernel_us=75), reports=True, **SLOWER),
    case("slower host", check_change, a=dict(steps=41, gap_us=100), b=dict(steps=41, gap_us=200), **SLOWER),
    case("no graphs", check_change, a=dict(steps=41), b=dict(steps=41, graph=False), phase="decode", pct=0, code=0),
    case("waiting for requests", check_change, a=dict(steps=9, prefills=5), b=dict(steps=9, prefills=5, wait_us=9000), phase="prefill", pct=0,
         code=0),
    case("longer prefill", check_change, a=dict(steps=9, prefills=5), b=dict(steps=9, prefills=5, prefill_us=3000), phase="prefill", pct=50,
         code=0),
    case("main phase", check_main_phase),
    case("mix", check_mix),
    case("cells", check_cells),
    case("outputs", check_outputs),
    case("every third step stalls", check_named, a=[DECODE] * 30, b=[DECODE, DECODE, LONG_DECODE] * 10, phase="decode", pct=6862, code=3),
    case("one step stalls", check_named, a=[DECODE] * 30, b=[DECODE] * 20 + [LONG_DECODE] + [DECODE] * 9, phase="decode", pct=686, code=3,
         note="one step makes the difference: it takes 20.1"),
    case("other share of prefill", check_named, a=after_prefill(6, 6), b=after_prefill(20, 1) + [DECODE] * 30, phase="decode", pct=0, code=0),
    case("context in one trace", check_named, a=[DECODE] * 20, b=[(DETAILED.format(99), 100, 0)] * 20, phase="decode", pct=0, code=0),
    case("no report of steps", check_report, change=False, wanted="without the sheet serving_steps"),
    case("damaged report", check_report, change=True, wanted="has texts where numbers belong"),
    case("context", check_unlike, a=DETAILED.format(99), b=DETAILED.format(999), wanted=SIZE),
    case("mixed", check_unlike, a="step[MIXED bs=3 c=1 g=2 c_sq=9 g_sq=2]", b="step[MIXED bs=9 c=1 g=8 c_sq=9 g_sq=8]", wanted=SIZE),
    case("draft", check_unlike, a="step[DRAFT_EXTEND bs=4 toks=4]", b="step[DRAFT_EXTEND bs=64 toks=64]", wanted=SIZE),
    case("verify", check_unlike, a="step[TARGET_VERIFY bs=4 toks=8]", b="step[TARGET_VERIFY bs=4 toks=32]", wanted=SIZE),
    case("prompt", check_unlike, a="step[EXTEND bs=1 toks=1024]", b="step[EXTEND bs=1 toks=2040]", wanted=SIZE),
    case("no prompt", check_unlike, a="step[EXTEND bs=1]", b="step[EXTEND bs=9]", wanted=SAYS_NOT),
    case("TensorRT-LLM", check_unlike, a="[Executor] _forward_step 1: 1 ctx reqs, 0 gen reqs", b="[Executor] _forward_step 1: 9 ctx reqs, 0 gen reqs",
         wanted=SAYS_NOT),
    case("diffusion", check_unlike, a="execute_diffusion_1_256x256", b="execute_diffusion_4_1024x1024", wanted=SAYS_NOT),
    case("two decode steps", check_refused, a=dict(steps=2, prefills=30), b=dict(steps=2, prefills=30, prefill_us=9000), wanted="2 decode steps, but"),
    case("half of the time", check_refused, a=named([DECODE] * 20 + [("step[DECODE bs=8]", 9000, 0)] * 10), b=dict(steps=30), wanted="only 2 % of their time"),
    case("other batch", check_refused, a=dict(steps=20), b=dict(steps=20, requests=(9,)), wanted="0 of 19 decode steps of a have the batch size"),
    case("mostly other", check_refused, a=dict(steps=30), b=dict(steps=30, requests=(4, 9, 9)), wanted="9 of 29 decode steps of b"),
    case("no decode", check_refused, a=dict(steps=20, prefills=1), b=dict(steps=0, prefills=9), wanted="b has no decode steps"),
    case("no such phase", check_refused, a=dict(steps=20), b=dict(steps=20), condition="step_ms_verify > 1", wanted="has verify steps"),
    case("no steps", check_refused, a=WithoutSteps, b=WithoutSteps, wanted="has no steps"),
    case("training", check_refused, a=Training, b=Training, condition="step_ms_decode > 1", wanted="no phases"),
    case("server and training", check_refused, a=dict(steps=20), b=Training, wanted="has steps of a server"),
]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], CASES))
