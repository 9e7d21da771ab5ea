#!/usr/bin/env python3
"""Damaged traces are named by the verdict, and clean ones are not called damaged.

    python3 -m tests.findings.test_trust --bin build/gputally [--only TEXT]

Each damage is done here to a synthetic trace and, if the folder faults exists next to the conformance folder, to a real one.
What the clean traces of these folders must get was computed by another program from the definitions of the checks.
"""
import gzip
import json
import os
import sys

from tests.common import harness
from tests.findings import small_traces

FAULTS = os.path.join(harness.CONFORMANCE_TRACES, "..", "..", "faults")
REAL = os.path.join(FAULTS, "gpt_data_stall.json.gz")
GOOD, CARE, DISTRUST = "good", "usable with care", "do not trust"
CALLS = ("cuda_runtime", "cuda_driver")

# Checks that warn, per clean trace.
EXPECTED = {
    "faults": {
        "gpt_allocator_churn": [], "gpt_cpu_roundtrip": [], "gpt_data_stall": [], "gpt_fp32_gemm": [], "gpt_healthy": [],
        "gpt_host_sync": ["T9"], "gpt_launch_bound": ["T9"], "gpt_layout_copies": ["T11"], "gpt_math_attention": [],
        "gpt_odd_shapes": [], "gpt_pageable_copy": [], "gpt_python_busy": [], "gpt_recompute": ["T11"],
        "gpt_slow_optimizer": ["T9"]},
    "traces": {
        "h100__Qwen_Qwen1.5-0.5B-Chat__1016005": [],
        "h100__gaunernst_bert-small-uncased__1016001": ["T9"],
        "h100__google_owlv2-large-patch14-ensemble__1016001": [],
        "hta__mi250_minitoy": ["T6"],
        "hta__nccl_data": ["T9", "T11"],
        "inference__sglang_prefilldecode__sglang_Qwen3-8B_prefilldecode": ["T14"],
        "inference__vllm_decode_full__graph_execution": ["T3"],
        "inference__vllm_prefilldecode_piecewise__graph_execution": ["T3"],
        "mi210__gpu_only_trace__gpu_only_trace": ["T3"],
        "mi300__Falconsai_nsfw_image_detection__1016002": ["T9"],
        "mi300__Qwen_Qwen1.5-0.5B-Chat__1016005": [],
        "mi300__facebook_timesformer-base-finetuned-k400__1016002": [],
        "mi300__gaunernst_bert-small-uncased__1016001": ["T9"],
        "mi300__resnet_act_checkpoint": [],
        "perf_model__normalization__normalization_layer_test": [],
        "torch_compile_triton__trace": []},
}


# ---- running ----


def judge(binary, folder, path, code=0):
    """(verdict, levels by check, texts by check) of a trace."""
    output = os.path.join(folder, "out.json")
    outcome = harness.run([binary, "report", path, "--output_json", output, "--quiet"])
    assert outcome.code == code and not outcome.problems(), outcome
    with open(output) as file:
        trust = json.load(file)["trust"]
    assert trust["verdict"] == {"ok": GOOD, "warn": CARE, "fail": DISTRUST}[worst(trust["checks"])], trust
    for check in trust["checks"]:
        expect_level(check)
    return trust["verdict"], {c["id"]: c["level"] for c in trust["checks"]}, {c["id"]: c["text"] for c in trust["checks"]}


def worst(checks):
    levels = {check["level"] for check in checks}
    return "fail" if "fail" in levels else "warn" if "warn" in levels else "ok"


def expect_level(check):
    """The level follows from value and thresholds. Notes have none: they say what the trace does not have."""
    value, warn, fail = check["value"], check["threshold"]["warn"], check["threshold"]["fail"]
    level = "fail" if fail is not None and value > fail else "warn" if warn is not None and value > warn else \
        "note" if warn is None and fail is None and value > 0 else "ok"
    assert check["level"] == level, check


# ---- damage ----


def events(trace):
    return trace["traceEvents"]


def is_kernel(event):
    return event.get("cat") == "kernel"


def keep(trace, wanted):
    trace["traceEvents"] = [event for event in events(trace) if wanted(event)]


def every(count, matches):
    """True for each count-th event that matches."""
    seen = [0]

    def found(event):
        if not matches(event):
            return False
        seen[0] += 1
        return seen[0] % count == 0
    return found


def remove_kernels(trace):
    drop = every(5, is_kernel)
    keep(trace, lambda event: not drop(event))


def remove_launches(trace):
    drop = every(5, lambda event: event.get("cat") in CALLS and "Launch" in event["name"])
    keep(trace, lambda event: not drop(event))


def remove_all_calls(trace):
    keep(trace, lambda event: event.get("cat") not in CALLS)


def shift_gpu(trace, us):
    for event in events(trace):
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            event["ts"] += us


def stretch_kernels(trace, factor=1.5):
    for event in events(trace):
        if is_kernel(event):
            event["dur"] = event["dur"] * factor


def remove_shapes(trace):
    for event in events(trace):
        for name in ("Input Dims", "Input type", "Input Strides", "Concrete Inputs"):
            event.get("args", {}).pop(name, None)


def remove_stacks(trace):
    keep(trace, lambda event: event.get("cat") != "python_function")


def remove_steps(trace):
    keep(trace, lambda event: not str(event.get("name", "")).startswith("ProfilerStep"))


# name, what is done, the check, its level, the verdict, and a part of its sentence
DAMAGES = [
    ("kernels removed", remove_kernels, "T2", "fail", DISTRUST, "have no kernel in the trace: GPU records were lost"),
    ("launches removed", remove_launches, "T1", "warn", CARE, "have no recorded launch."),
    ("calls removed", remove_all_calls, "T1", "fail", DISTRUST, "host calls were not recorded, so idle time cannot be explained"),
    ("GPU clock early", lambda trace: shift_gpu(trace, -500), "T5", "fail", DISTRUST, "start before their launch (worst 4"),
    ("kernels overlap", stretch_kernels, "T4", "fail", DISTRUST, "Operations of one stream overlap for"),
    ("no shapes", remove_shapes, "T7", "note", GOOD, "record_shapes=False"),
    ("no stacks", remove_stacks, "T8", "note", GOOD, "with_stack=False"),
    ("no steps", remove_steps, "T10", "note", GOOD, "Times are those of the window, not of steps"),
]


def damaged(binary, folder, row, path=None):
    _, damage, check, level, verdict, sentence = row
    trace = small_traces.read(path) if path else small_traces.training()
    damage(trace)
    found, levels, texts = judge(binary, folder, small_traces.write(os.path.join(folder, "t.json"), trace))
    if check == "T10" and path:  # the host was recorded for long before the window, and operations that it launched there
        level, verdict = "warn", CARE
    if level == "note" and levels["T12"] == "warn":  # the data loader is seen no more
        verdict = CARE
    assert levels[check] == level and sentence in texts[check], (levels, texts[check])
    assert found == verdict, (found, levels)
    return []


# ---- other cases ----


def clean(binary, folder):
    verdict, levels, texts = judge(binary, folder, small_traces.write(os.path.join(folder, "t.json"), small_traces.training()))
    assert (verdict, {level for level in levels.values()}) == (GOOD, {"ok"}), (levels, texts)
    return []


def truncated(binary, folder):
    """How much a truncated file lost nobody knows: nothing of it can be trusted, even if only its last kernels are gone."""
    text = json.dumps(small_traces.training())
    for share, t0 in ((0.98, "ok"), (0.5, "fail")):
        path = os.path.join(folder, "cut.json")
        with open(path, "w") as file:
            file.write(text[:int(len(text) * share)])
        verdict, levels, texts = judge(binary, folder, path, code=0 if t0 == "ok" else 1)
        assert (verdict, levels["T0"], levels["T6"]) == (DISTRUST, t0, "fail"), (verdict, levels)
        assert texts["T6"].startswith("The file is truncated: its end is lost, so counts and sums are too small."), texts
    return []


def truncated_gzip(binary, folder):
    """Terminal and Markdown say it before anything else, too."""
    path, notes = os.path.join(folder, "cut.json.gz"), os.path.join(folder, "cut.md")
    packed = gzip.compress(json.dumps(small_traces.training()).encode())
    with open(path, "wb") as file:
        file.write(packed[:int(len(packed) * 0.97)])
    verdict, levels, _ = judge(binary, folder, path)
    assert levels["T6"] == "fail" and verdict == DISTRUST, levels
    outcome = harness.run([binary, "report", path, "--output_md", notes])
    assert outcome.code == 0 and not outcome.problems(), outcome
    lines = outcome.stdout.splitlines()
    at = lines.index("Trust: do not trust")
    assert any(line.startswith("  T6 fail: The file is truncated: its end is lost") for line in lines[at + 1:at + 5]), lines
    with open(notes) as file:
        text = file.read()
    assert text.index("- T6 fail: The file is truncated: its end") < text.index("### Findings"), text
    assert harness.run([binary, "report", path, "--strict_trust", "-q"]).code == 4
    return []


def truncated_and_more(binary, folder):
    """The terminal shows every failure, however little room it has."""
    trace = small_traces.training()
    for damage in (remove_kernels, stretch_kernels, lambda trace: shift_gpu(trace, -500)):
        damage(trace)
    text = json.dumps(trace)
    path = os.path.join(folder, "cut.json")
    with open(path, "w") as file:
        file.write(text[:int(len(text) * 0.98)])
    for width in ("100", "44"):
        outcome = harness.run([binary, "report", path, "--print"], env={**os.environ, "COLUMNS": width})
        assert outcome.code == 0 and not outcome.problems(), outcome
        for start in ("T2 fail: ", "T4 fail: ", "T5 fail: ", "T6 fail: The file is truncated"):
            assert f"  {start}" in outcome.stdout, (width, start, outcome.stdout[:1500])
    return []


def empty_steps(binary, folder):
    trace = small_traces.training()
    correlations = {event["args"]["correlation"] for event in events(trace) if is_kernel(event)}
    last = sorted(correlations)[-small_traces.KERNELS:]
    keep(trace, lambda event: event["args"].get("correlation") not in last)
    _, levels, texts = judge(binary, folder, small_traces.write(os.path.join(folder, "t.json"), trace))
    assert levels["T6"] == "warn" and texts["T6"] == "1 of 5 steps have no GPU work.", texts
    return []


def lost_step(binary, folder):
    """A step in the middle without its kernels changes neither the time per step nor its spread."""
    trace = small_traces.training()
    lost = range(2 * small_traces.KERNELS + 1, 3 * small_traces.KERNELS + 1)
    keep(trace, lambda event: not (is_kernel(event) and event["args"]["correlation"] in lost))
    path = small_traces.write(os.path.join(folder, "t.json"), trace)
    _, levels, texts = judge(binary, folder, path)
    with open(os.path.join(folder, "out.json")) as file:
        report = json.load(file)
    assert (report["steps"], report["window_steps"]) == (4, 4), report["window_steps"]
    assert abs(report["step_ms"] - small_traces.STEP_US / 1000) < 1e-6, report["step_ms"]
    assert levels["T6"] == "warn" and texts["T6"] == "1 of 5 steps have no GPU work.", texts
    assert levels["T10"] == "ok" and texts["T10"] == "The longest step takes 0% more time than the shortest (2.00 and 2.00 ms).", texts
    return []


def other_process(trace, shift_us, correlation):
    """The host and GPU events of a trace as those of another process."""
    for event in events(trace):
        event["ts"] += shift_us
        if event["pid"] == 100:
            event["pid"] = 200
        if "correlation" in event["args"]:
            event["args"]["correlation"] += correlation
    return events(trace)


def two_processes(binary, folder):
    """Another process with fewer launches and steps of its own uses the same GPU."""
    trace = small_traces.training()
    trace["traceEvents"] += other_process(small_traces.training(steps=2), 700, 5000)
    path = small_traces.write(os.path.join(folder, "t.json"), trace)
    verdict, levels, texts = judge(binary, folder, path)
    with open(os.path.join(folder, "out.json")) as file:
        report = json.load(file)
    assert (report["steps"], report["step_ms"]) == (5, small_traces.STEP_US / 1000), (report["steps"], report["step_ms"])
    assert levels["T6"] == "ok", texts
    assert levels["T16"] == "warn" and texts["T16"].startswith(
        "2 processes use this GPU: the steps are those of process 100, which launches most"), texts
    assert verdict != GOOD, levels
    return []


def long_process_name(binary, folder):
    """A name is cut between two characters."""
    trace = small_traces.training()
    trace["traceEvents"] += other_process(small_traces.training(steps=2), 700, 5000)
    for event in events(trace):
        if event["pid"] == 100:
            event["pid"] = 100 * "\u00e9"
    path = os.path.join(folder, "t.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file, ensure_ascii=False)
    _, _, texts = judge(binary, folder, path)
    assert "of process \"" + 49 * "\u00e9" + ", which" in texts["T16"], texts["T16"]
    return []


def steps_twice(binary, folder):
    """Steps that a second thread, or a nested annotation, records once more are the same steps."""
    for shift, shorter, thread in ((0, 0, 101), (0.5, 1, 100), (0, 200, 101), (50, 0, 102)):
        trace = small_traces.training()
        for event in list(events(trace)):
            if event["name"].startswith("ProfilerStep"):
                trace["traceEvents"].insert(0, dict(event, ts=event["ts"] + shift, dur=event["dur"] - shorter, tid=thread))
        verdict, levels, texts = judge(binary, folder, small_traces.write(os.path.join(folder, "t.json"), trace))
        with open(os.path.join(folder, "out.json")) as file:
            report = json.load(file)
        assert (report["steps"], report["window_steps"]) == (5, 4), (report["steps"], report["window_steps"])
        assert (verdict, levels["T6"]) == (GOOD, "ok"), texts
    return []


def late_gpu_by_steps(binary, folder):
    """The kernels seem to run 2 ms, a whole step, after their launch: all idle time seems to have work."""
    trace = small_traces.training()
    for event in events(trace):
        if event["cat"] in CALLS:
            event["ts"] -= 400
    shift_gpu(trace, 1600)
    verdict, levels, texts = judge(binary, folder, small_traces.write(os.path.join(folder, "t.json"), trace))
    assert (verdict, levels["T14"]) == (DISTRUST, "fail"), (levels, texts["T14"])
    # The step does not seem to depend on the host, and is as long without recording.
    assert levels["T9"] == "ok" and texts["T9"].endswith("which changes the step time by less than 2%."), texts["T9"]
    return []


def no_durations(binary, folder):
    """Kernels whose durations are 0."""
    for count, level in ((20, "fail"), (8, "warn"), (1, "warn")):
        trace = small_traces.training()
        kernels = [event for event in events(trace) if is_kernel(event)]
        for i, event in enumerate(kernels):
            if i % 20 >= count:
                continue
            event["dur"] = 0
        _, levels, texts = judge(binary, folder, small_traces.write(os.path.join(folder, "t.json"), trace))
        assert levels["T17"] == level, (levels, texts)
        assert texts["T17"].startswith(f"{5 * count} of 100 kernels have no duration"), texts["T17"]
    return []


def late_gpu(binary, folder):
    """A clock that is ahead makes work seem launched long before it runs."""
    trace = small_traces.training()
    for event in events(trace):
        if is_kernel(event):
            event["ts"] += 900
    _, levels, texts = judge(binary, folder, small_traces.write(os.path.join(folder, "t.json"), trace))
    assert levels["T14"] == "warn", (levels, texts)
    return []


def lost_graphs(binary, folder):
    """Graph launches: of four replays one has its kernels."""
    trace = small_traces.training()
    for i in range(4):
        at = small_traces.START_US + 700 + i * 1000
        trace["traceEvents"].insert(0, small_traces.host("cuda_runtime", "cudaGraphLaunch", at, 5.0, correlation=9000 + i))
    trace["traceEvents"].append(small_traces.kernel(small_traces.START_US + 1100, 20.0, 9000))
    _, levels, texts = judge(binary, folder, small_traces.write(os.path.join(folder, "t.json"), trace))
    assert levels["T15"] == "fail" and texts["T15"].startswith("3 of 4 graph launches have no kernel"), texts
    return []


def several_devices(binary, folder):
    """The kernels of a device that is not scheduled are not lost."""
    trace = small_traces.training()
    for event in events(trace):
        if is_kernel(event) and event["args"]["correlation"] % 4 == 0:
            event["pid"] = event["args"]["device"] = 1
    verdict, levels, texts = judge(binary, folder, small_traces.write(os.path.join(folder, "t.json"), trace))
    assert levels["T2"] == "ok" and texts["T2"].startswith("0 of 100 kernel launches"), texts
    return []


def slow_step(binary, folder):
    """The kernels of one step take 30 % longer, as if the GPU's clock had dropped."""
    trace = small_traces.training()
    for event in events(trace):
        if is_kernel(event) and event["ts"] > small_traces.START_US + 4 * small_traces.STEP_US:
            event["dur"] *= 1.01  # does not overlap
        if is_kernel(event) and event["ts"] < small_traces.START_US + small_traces.STEP_US:
            event["dur"] /= 1.3
    _, levels, texts = judge(binary, folder, small_traces.write(os.path.join(folder, "t.json"), trace))
    assert levels["T11"] == "warn" and "31% more time" in texts["T11"], texts
    return []


def earlier_work(binary, folder):
    """Without steps, kernels that were launched before the recording began are before the window, and the report says so."""
    trace = small_traces.training()
    remove_steps(trace)
    kernels = sorted((event for event in events(trace) if is_kernel(event)), key=lambda event: event["ts"])
    early = {event["args"]["correlation"] for event in kernels[:6]}
    keep(trace, lambda event: event.get("cat") not in CALLS or event["args"]["correlation"] not in early)
    path = small_traces.write(os.path.join(folder, "t.json"), trace)
    _, levels, texts = judge(binary, folder, path)
    assert levels["T1"] != "ok", levels
    assert texts["T1"].startswith(f"6 of {len(kernels)} GPU operations have no recorded launch; 6 of them lie outside the window"), texts
    window = kernels[-1]["ts"] + kernels[-1]["dur"] - kernels[6]["ts"]
    first = harness.run([binary, "report", path, "--no_html", "--output_csvs_dir", os.path.join(folder, "csv")]).stdout.split("Trust:")[0]
    assert f"  {window / 1000:.2f} ms in the window: " in " ".join(first.split("\n     ")), first
    return []


def clean_trace(binary, folder, path, expected):
    verdict, levels, texts = judge(binary, folder, path)
    found = [check for check in levels if levels[check] not in ("ok", "note")]
    assert found == expected and verdict == (CARE if expected else GOOD), (verdict, found, expected, texts)
    return []


def cases():
    yield harness.Case("clean", clean)
    for damage in DAMAGES:
        yield harness.Case(f"{damage[0]}, synthetic", damaged, damage)
        if os.path.exists(REAL):
            yield harness.Case(f"{damage[0]}, real", damaged, damage, REAL)
    for name, check in (("truncated", truncated), ("truncated gzip", truncated_gzip),
                        ("truncated and more", truncated_and_more), ("empty step", empty_steps),
                        ("lost step", lost_step), ("two processes", two_processes), ("steps twice", steps_twice),
                        ("long process name", long_process_name),
                        ("GPU clock late by a step", late_gpu_by_steps), ("no durations", no_durations),
                        ("GPU clock late", late_gpu), ("graph replays", lost_graphs), ("several devices", several_devices),
                        ("slow step", slow_step), ("earlier work", earlier_work)):
        yield harness.Case(name, check)
    for folder, names in EXPECTED.items():
        for name, expected in names.items():
            path = os.path.join(FAULTS if folder == "faults" else harness.CONFORMANCE_TRACES, name + ".json.gz")
            if os.path.exists(path):
                yield harness.Case(name, clean_trace, path, expected)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, list(cases())))
