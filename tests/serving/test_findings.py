#!/usr/bin/env python3
"""Findings about servers: cases at the thresholds, planted faults whose repair is known, and what is said of steps elsewhere.

    python3 -m tests.serving.test_findings --bin build/gputally [--only TEXT]
"""
import csv
import os
import sys
import tempfile

from tests.common import harness
from tests.serving.generate import Trace


def report(binary, trace):
    """{sheet: [row as dict]}, and what the terminal shows."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        trace.write(path)
        outcome = harness.run([binary, "report", path, "--all_findings", "--output_csvs_dir", os.path.join(folder, "out")])
        assert outcome.code == 0 and not outcome.problems(), outcome.stderr
        found = {}
        for name in os.listdir(os.path.join(folder, "out")):
            with open(os.path.join(folder, "out", name), newline="", encoding="utf-8") as file:
                found[name.removesuffix(".csv")] = list(csv.DictReader(file))
        return found, outcome.stdout + outcome.stderr


def finding(sheets, name):
    return next((row for row in sheets["findings"] if row["id"] == name), None)


def decode(trace, gap_ns=0, inside_ns=0, busy=(50, 50), graph=True, requests=4, padded=4):
    """A decode step of two kernels. The host launches so late that the GPU is idle for these times."""
    before = max(gap_ns, 0) - trace.latency - 500
    trace.now = max(trace.now, trace.free + before if gap_ns else 0)
    with trace.step(f"step[DECODE bs={requests}]"):
        for number, microseconds in enumerate(busy):
            if number and inside_ns:
                trace.now = max(trace.now, trace.free + inside_ns - trace.latency)
            called = trace.call("cudaGraphLaunch" if graph else "cudaLaunchKernel", 1)
            trace.run("kernel", ("rms_norm_kernel", "nvjet_tst")[number], microseconds, called, grid=[padded, 1, 1])


def check_threshold(binary, _, name, found, **gaps):
    trace = Trace()
    for _ in range(40):
        decode(trace, **gaps)
    row = finding(report(binary, trace)[0], name)
    if bool(row) != found:
        return [f"{'no ' if found else ''}{name}"]
    # Intervals are 100 us and the gap, and nothing else is in the way: the gain is the gap.
    gap = (gaps.get("gap_ns", 0) or gaps.get("inside_ns", 0)) / 1e6
    return [f"gain {row['gain_ms']} instead of {gap}"] if found and abs(float(row["gain_ms"]) - gap) > .05 * gap else []


def check_few(binary, _, steps, found):
    """Three steps with an interval are needed: the first has none."""
    trace = Trace()
    for _ in range(steps):
        decode(trace, gap_ns=50_000)
    return [] if bool(finding(report(binary, trace)[0], "decode_gap")) == found else [f"{steps} steps"]


def check_no_sync(binary, _, inside):
    """Waits before and after the steps do not hold up the server; waits of each step do."""
    trace = Trace()
    for _ in range(30):
        trace.launch("warm_up", 20)
        trace.wait()
    for _ in range(40):
        with trace.step("step[DECODE bs=4]"):
            for _ in range(4):
                trace.launch("nvjet_tst", 50)
                if inside:
                    trace.wait()
    for _ in range(30):
        trace.launch("afterwards", 20)
        trace.wait()
    sheets, shown = report(binary, trace)
    row = finding(sheets, "host_sync")
    problems = ["0 calls"] * (" 0 synchronising" in shown or "outside the window" in shown)
    return problems + ([] if bool(row) == inside else [f"host_sync: {row}"])


def check_communication(binary, _):
    """Advice on exposed communication is that for servers, not for training."""
    trace = Trace()
    for _ in range(40):
        with trace.step("step[DECODE bs=4]"):
            trace.launch("nvjet_tst", 50)
            trace.launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 25)
    row = finding(report(binary, trace)[0], "exposed_comm")
    text = row["advice"] if row else "no exposed_comm"
    return [] if "custom or fused all-reduce" in text and not any(word in text for word in ("DDP", "FSDP", "gradient")) else [text]


def prefill_and_decode(prefill, running):
    """Prompts of one request between decode steps, with so many requests in each."""
    trace = Trace()
    for _ in range(10):
        with trace.step("step[EXTEND bs=1 toks=100]"):
            trace.launch("nvjet_tst", prefill)
        for _ in range(3):
            decode(trace, requests=running, padded=running)
    return trace


def check_stall(binary, _, prefill, running, found):
    row = finding(report(binary, prefill_and_decode(prefill, running))[0], "prefill_stall")
    if bool(row) != found:
        return [f"{'no ' if found else ''}prefill_stall"]
    # 10 prefill steps, of which the first has no interval, in a window of 39 steps.
    wanted = 9 * prefill / 39 / 1000
    return [str(row)] if found and (row["hint"].lower() != "true" or abs(float(row["gain_ms"]) - wanted) > 1e-4) else []


def check_padding(binary, _, more, found):
    """Half of the steps have 5 requests in a graph of 8 that takes `more` longer than that of 4."""
    trace = Trace()
    for number in range(40):
        decode(trace, requests=5 if number % 2 else 4, padded=8 if number % 2 else 4, busy=(50, 50 + (more if number % 2 else 0)))
    row = finding(report(binary, trace)[0], "graph_padding")
    if bool(row) != found:
        return [f"{'no ' if found else ''}graph_padding"]
    return [str(row["gain_ms"])] if found and abs(float(row["gain_ms"]) - more / 2000) > 1e-3 else []


def served(pause=0, eager=False):
    """A server whose scheduler, a Python function, takes `pause` microseconds between steps."""
    trace = Trace()
    for _ in range(40):
        with trace.around("python_function", "server.py(10): serve"):
            with trace.around("python_function", "server.py(20): schedule"):
                trace.host(5 + pause)
            with trace.step("step[DECODE bs=4]"):
                if eager:
                    for number in range(40):
                        with trace.op("aten::mm"):
                            trace.host(8)
                            trace.launch("nvjet_tst", 3)
                else:
                    trace.graph([("rms_norm_kernel", 3, (4, 1, 1))] + [("nvjet_tst", 3, (1, 1, 1))] * 39)
                trace.read_back()
    return trace


def mean_decode_ms(sheets):
    intervals = [float(row["interval_us"]) for row in sheets["serving_steps"] if row["interval_us"]]
    return sum(intervals) / len(intervals) / 1000


def check_planted(binary, _, name, where, **fault):
    """The planted fault comes first, and its gain is what the repaired server is faster, within a quarter."""
    slow, text = report(binary, served(**fault))
    fast, _ = report(binary, served())
    first, gain = slow["findings"][0], mean_decode_ms(slow) - mean_decode_ms(fast)
    problems = [] if first["id"] in name and where in first["where"] else [f"first is {first['id']} in {first['where']}"]
    if not .75 <= float(first["gain_ms"]) / gain <= 1.25:
        problems.append(f"gain {first['gain_ms']} instead of {gain}")
    if "decode" not in first["title"] or "No ProfilerStep" in text or "per trace" in text:
        problems.append(first["title"])
    return problems


def check_overview(binary, _):
    """The overview counts the steps of each phase; checks T6 and T10 know them."""
    sheets, text = report(binary, prefill_and_decode(200, 4))
    facts = {row["name"]: row["value"] for row in sheets["overview"]}
    trust = {row["id"]: row["text"] for row in sheets["trust"]}
    got = float(facts["steps"]), float(facts["steps_prefill"]), float(facts["steps_decode"])
    problems = [] if got == (40, 10, 30) else [str(got)]
    # 100 us of decode and 200 us of prefill without gaps; prefill steps have an interval of their own each.
    if abs(float(facts["step_ms_decode"]) - .1) > 1e-3 or abs(float(facts["step_ms_prefill"]) - .2) > 1e-2:
        problems.append(f"{facts['step_ms_decode']}, {facts['step_ms_prefill']}")
    # The main phase is decode, although prefill takes longer. The mean over all steps, what GPU time is a share of, has a name of its own.
    if facts["step_ms"] != facts["step_ms_decode"] or abs(float(facts["recorded_ms"]) - float(facts["busy_ms"]) - float(facts["idle_ms"])) > 1e-6:
        problems.append(f"{facts['step_ms']}, {facts['recorded_ms']}, {facts['busy_ms']} + {facts['idle_ms']}")
    if "every step has GPU work" not in trust["T6"] or "same phase" not in trust["T10"] or "T11" in trust:
        problems.append(str(trust))
    if "decode: 30 steps" not in text or "prefill: 10 steps" not in text:
        problems.append("no phases on the terminal")
    return problems


def check_no_steps(binary, _):
    """Without steps there is no step time, but the time of the window."""
    trace = Trace()
    for number in range(20):
        trace.launch(f"kernel_{number}", 10 + number)
    facts = {row["name"]: row["value"] for row in report(binary, trace)[0]["overview"]}
    window_ms = float(facts["window_ns"]) / 1e6
    return [] if "step_ms" not in facts and abs(float(facts["recorded_ms"]) - window_ms) < 1e-6 else [str(facts)]


def check_capture(binary, _, replayed, is_capture):
    """A trace made while a graph is captured has calls and hardly any kernels."""
    trace = Trace()
    trace.launch("warm_up", 5)
    with trace.around("user_annotation", "capture_32_FULL"):
        trace.call("cudaStreamBeginCapture_v10000")
        for number in range(9):
            trace.call("cudaLaunchKernel")
            if replayed:
                trace.run("kernel", "nvjet_tst", 5, trace.now, grid=[1, 1, 1])
        trace.call("cudaStreamEndCapture_v10000")
    sheets, text = report(binary, trace)
    said = all(part in text for part in ("this is a graph capture (batch 32)", "This is a graph capture: its kernels did not run, so it does not say"))
    if said and ("idle 97" in text or "does not launch" in text):
        return [text[:500]]
    return [] if said == is_capture and not (said and sheets.get("findings")) else [text[:300]]


CASES = [
    harness.Case("gap of 4.9 %", lambda b, f: check_threshold(b, f, "decode_gap", False, gap_ns=5150)),
    harness.Case("gap of 5.1 %", lambda b, f: check_threshold(b, f, "decode_gap", True, gap_ns=5380)),
    harness.Case("idle 4.9 %", lambda b, f: check_threshold(b, f, "decode_idle_in_step", False, inside_ns=5150)),
    harness.Case("idle 5.1 %", lambda b, f: check_threshold(b, f, "decode_idle_in_step", True, inside_ns=5380)),
    harness.Case("idle without graphs", lambda b, f: check_threshold(b, f, "decode_idle_in_step", True, inside_ns=9000, graph=False)),
    harness.Case("three steps", check_few, 3, False),
    harness.Case("four steps", check_few, 4, True),
    harness.Case("stall of 4.9 %", check_stall, 17, 4, False),
    harness.Case("stall of 5.1 %", check_stall, 18, 4, True),
    harness.Case("nobody waits", check_stall, 100, 1, False),
    harness.Case("padding of 0.9 %", check_padding, 1.8, False),
    harness.Case("padding of 1.2 %", check_padding, 2.5, True),
    harness.Case("slow scheduler", lambda b, f: check_planted(b, f, ["decode_gap"], "schedule", pause=500)),
    harness.Case("eager decode", lambda b, f: check_planted(b, f, ["launch_bound", "decode_idle_in_step"], "", eager=True)),
    harness.Case("waits outside of steps", check_no_sync, False),
    harness.Case("waits in steps", check_no_sync, True),
    harness.Case("exposed communication", check_communication),
    harness.Case("overview and trust", check_overview),
    harness.Case("no steps", check_no_steps),
    harness.Case("capture", check_capture, False, True),
    harness.Case("kernels that ran", check_capture, True, False),
]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], CASES))
