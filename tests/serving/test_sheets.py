#!/usr/bin/env python3
"""The serving sheets of `gputally report`: compared with reference.py on synthetic servers, and with what is known by hand.

    python3 -m tests.serving.test_sheets --bin build/gputally [--only TEXT]
"""
import csv
import os
import sys
import tempfile

from tests.common import harness
from tests.page import pack
from tests.serving import generate, reference
from tests.serving.generate import Trace

SHEETS = ("serving_steps", "serving_summary", "host_between_steps", "decode_cost", "kernel_classes", "graph_replays")
CLASSES = {"rms_norm_kernel": "norm", "nvjet_tst_64x8": "gemm", "nvjet_tst_8x8": "gemm", "flash_fwd_splitkv_kernel": "attention",
           "silu_and_mul": "activation", "copy_kernel": "elementwise", "ArgMaxOps": "sampling", "Lonely": "other",
           "between_steps": "other", "Memcpy DtoH (Device -> Pinned)": "copy", "ncclDevKernel_AllReduce": "comm"}


def report(binary, trace, classes=CLASSES):
    """{sheet: [row as dict]} of `gputally report`, and what the reference says of annotated steps."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        trace.write(path)
        outcome = harness.run([binary, "report", path, "--no_graph_ops", "--output_csvs_dir", os.path.join(folder, "out")])
        assert outcome.code == 0 and not outcome.problems(), outcome.stderr
        found = {}
        for name in os.listdir(os.path.join(folder, "out")):
            with open(os.path.join(folder, "out", name), newline="", encoding="utf-8") as file:
                found[name.removesuffix(".csv")] = list(csv.DictReader(file))
        return found, reference.sheets(path, classes.__getitem__) if classes else None


def differs(cell, wanted):
    if wanted is None or wanted == "":
        return cell != ""
    if isinstance(wanted, str):
        return cell != wanted
    return cell == "" or abs(float(cell) - wanted) > max(1e-6 * abs(wanted), 6e-4)


def compare(sheets, wanted):
    problems = []
    for name, rows in wanted.items():
        got = sheets.get(name, [])
        if len(got) != len(rows):
            problems.append(f"{name}: {len(got)} rows instead of {len(rows)}")
        for number, (row, want) in enumerate(zip(got, rows)):
            problems += [f"{name}[{number}].{column}: {row[column]!r} instead of {want.get(column)!r}" for column in row
                         if differs(row[column], want.get(column))]
            problems += [f"{name}: no column {column}" for column in set(want) - set(row)]
    return problems


def check_server(binary, _, seed, annotate):
    return compare(*report(binary, generate.server(seed, annotate)))


# ---- annotations ----

def annotated(names, ops=1):
    trace = Trace()
    for name in names:
        with trace.step(name):
            for _ in range(ops):
                trace.launch("nvjet_tst_8x8", 5)
    return trace


def check_phases(binary, _, names, phases, outside=0):
    sheets, wanted = report(binary, annotated(names))
    got = [row["phase"] for row in sheets["serving_steps"]]
    out = sum(float(row["ops_per_step"]) for row in sheets["kernel_classes"] if row["phase"] == "outside")
    return compare(sheets, wanted) + ([] if got == phases else [f"phases {got}"]) + ([] if out == outside else [f"{out} outside"])


def check_verify(binary, _):
    """A step of speculative decoding tells how many tokens it checks, not how many are accepted."""
    sheets, wanted = report(binary, annotated(["execute_context_0(0)_generation_8(32)"] * 5))
    row = next(row for row in sheets["serving_summary"] if row["phase"] == "verify")
    got = row["steps"], row["output_tokens"], row["output_is"], row["generation_tokens"]
    return compare(sheets, wanted) + ([] if got == ("5", "40", "at least", "160") else [str(got)])


def check_nested(binary, _):
    """A server's step inside another one, and both in a step of the profiler, are one step."""
    outer = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)"
    problems = []
    for around in (None, "ProfilerStep#3"):
        trace = Trace()
        for _ in range(3):
            with (trace.step(around) if around else trace.op("aten::any")), trace.step(outer), trace.step("step[DECODE bs=32]"):
                trace.launch("nvjet_tst_8x8", 5)
        sheets, wanted = report(binary, trace)
        got = [(row["phase"], row["kind"], row["sk_sum"]) for row in sheets["serving_steps"]]
        problems += compare(sheets, wanted) + ([] if got == [("decode", "vllm_detailed", "32785")] * 3 else [str(got)])
    return problems


def check_less_detailed_outside(binary, _):
    """The numbers come from the part that says more."""
    trace = Trace()
    with trace.step("step[DECODE bs=4]"), trace.step("step[DECODE bs=4 g=4 g_sq=4 g_sk=700 g_sqsq=4 g_sqsk=700]"):
        trace.launch("nvjet_tst_8x8", 5)
    sheets, wanted = report(binary, trace)
    row = sheets["serving_steps"][0]
    return compare(sheets, wanted) + ([] if (row["kind"], row["sk_sum"]) == ("sglang_native", "700") else [str(row)])


def check_other_thread(binary, _):
    """Another thread launches while a step is open: the step that began last has its ops; later ones have none."""
    trace = Trace()
    with trace.step("step[DECODE bs=1]"):
        with trace.on_thread(202):
            trace.launch("ArgMaxOps", 5)
        trace.launch("nvjet_tst_8x8", 5)
    with trace.on_thread(202):
        trace.launch("ArgMaxOps", 5)
    with trace.step("step[DECODE bs=1]"):
        trace.launch("nvjet_tst_8x8", 5)
    sheets, wanted = report(binary, trace)
    got = [row["gpu_ops"] for row in sheets["serving_steps"]]
    return compare(sheets, wanted) + ([] if got == ["2", "1"] else [str(got)])


def check_by_hand(binary, _):
    """Two steps whose times are known: 10 us of work, 90 us without any, 20 us of which 5 us overlap on two streams."""
    trace = Trace(latency_ns=0)
    with trace.step("step[DECODE bs=1]"):
        trace.launch("nvjet_tst_8x8", 10)
    first_end = trace.free
    trace.now = first_end + 80_000
    trace.host(10)
    with trace.step("step[DECODE bs=1]"):
        trace.now = first_end + 90_000
        called = trace.call("cudaLaunchKernel")
        trace.run("kernel", "nvjet_tst_8x8", 15, called, grid=[1, 1, 1])
        trace.free -= 5000
        trace.run("kernel", "ncclDevKernel_AllReduce", 10, called, stream=8, grid=[1, 1, 1])
    sheets, wanted = report(binary, trace)
    row = sheets["serving_steps"][1]
    got = {name: float(row[name]) for name in ("gpu_span_us", "gpu_busy_us", "gap_before_us", "outside_us", "interval_us", "comm_us")}
    by_hand = {"gpu_span_us": 20, "gpu_busy_us": 20, "gap_before_us": 90, "outside_us": 0, "interval_us": 110, "comm_us": 10}
    return compare(sheets, wanted) + ([] if got == by_hand else [str(got)])


def check_padded(binary, _, requests, rows, known):
    """The grid of norm kernels is the batch size of the graph if it is from the batch to four times that, or 64."""
    trace = Trace()
    for _ in range(3):
        with trace.step(f"step[DECODE bs={requests}]"):
            trace.graph([("rms_norm_kernel", 5, (rows, 1, 1)), ("nvjet_tst_8x8", 5, None)])
    sheets, wanted = report(binary, trace)
    got = {row["padded"] for row in sheets["serving_steps"]}
    return compare(sheets, wanted) + ([] if got == {str(rows) if known else ""} else [str(got)])


def check_fit(binary, _, steps, has_fit):
    """Busy times that are a plane of the batch size: its terms are found; with fewer than 8 steps there is no fit."""
    trace = Trace()
    for number in range(steps):
        requests = 1 + number % 4
        with trace.step(f"step[DECODE bs={requests}]"):
            trace.launch("nvjet_tst_8x8", 100 + 2.5 * requests)
    sheets, wanted = report(binary, trace)
    fits = [row for row in sheets["decode_cost"] if row["row"] == "fit" and row["y"] == "gpu_busy_us"]
    got = [(float(row["a_us"]), float(row["us_per_x"]), row["us_per_sk"], float(row["r2"]), row["x"]) for row in fits]
    return compare(sheets, wanted) + ([] if got == [(100, 2.5, "", 1, "requests")] * has_fit else [str(got)])


def check_absent(binary, _, names):
    """A training loop without graphs has none of these sheets."""
    sheets, _ = report(binary, annotated(names) if names else bare_launches(), None)
    return [f"has {name}" for name in SHEETS if name in sheets]


def bare_launches():
    trace = Trace()
    for number in range(9):
        trace.launch(f"kernel_{number}", 5)
    return trace


# ---- first screens ----

def check_first_screens(binary, folder):
    """The terminal, Markdown and the page say of each phase what serving_summary has."""
    trace = os.path.join(folder, "t.json")
    generate.server(0, generate.vllm).write(trace)
    done = harness.run([binary, "report", trace, "--output_csvs_dir", "out", "--output_md", "t.md", "--output_html", "t.html"], cwd=folder)
    rows = [row for row in csv.DictReader(open(os.path.join(folder, "out", "serving_summary.csv"), encoding="utf-8")) if row["phase"] != "all"]
    with open(os.path.join(folder, "t.md"), encoding="utf-8") as file:
        markdown = file.read()
    front = pack.read_page(os.path.join(folder, "t.html")).front
    tile = next(tile["detail"] for tile in front["facts"]["tiles"] if tile["id"] == "step")
    problems, tokens = [] if {"prefill", "decode"} <= {row["phase"] for row in rows} else ["no prefill and decode"], 0
    for row in rows:
        phase, steps, share, median_ms = row["phase"], row["steps"], float(row["time_pct"]), float(row["interval_p50_us"]) / 1000
        generates = phase == "decode"
        tokens += float(row["output_tokens_per_s"]) * generates
        gap = float(row["gap_pct"])
        inside = (100 - gap) * float(row["idle_in_step_pct"]) / 100
        cells = f"{float(row['output_tokens_per_s']):.0f} | {gap:.1f} | {inside:.1f} |" if generates else "| | |"
        for text, document in ((f"{phase}: {steps} steps, {share:.0f}% of the time, median {median_ms:.2f} ms", done.stdout),
                               (f"| {phase} | {steps} | {share:.1f} | {median_ms:.3f} | {cells}", markdown), (f"{phase} {1000 * median_ms:.3g} µs", tile)):
            problems += [] if text in document else [f"{text!r} is not in {document[:1500]!r}"]
    return problems + ([] if tile.endswith(f"; {round(tokens):,} tokens/s") else [tile])


# ---- inferred steps ----

def generation_loop(prompt=1536, tokens=15, waits=True, checks=0, parts=1):
    """A loop without annotations, as Llama's generate: a prompt, then one token after the other, each of which is read back."""
    trace = Trace()
    for number in range(tokens + 1):
        rows = prompt if number == 0 else 1
        trace.host(30)
        with trace.op("model::forward"):
            with trace.op("aten::embedding", **{"Input Dims": [[32000, 64], [1, rows], [], [], []]}):
                trace.launch("indexSelectLargeIndex", 3)
            for part in range(parts):
                for _ in range(3):
                    with trace.op("aten::mm", **{"Input Dims": [[rows, 64], [64, 64]]}):
                        trace.launch(f"nvjet_part{part}", 2000 if number == 0 else 200)
                    with trace.op("aten::scaled_dot_product_attention", **{"Input Dims": [[1, 4, rows, 16], [1, 4, rows, 16], [1, 4, rows, 16]]}):
                        trace.launch("flash_fwd" + "_abc"[part] * 9, 100)
                if part + 1 < parts:
                    trace.wait()
        for _ in range(checks):
            with trace.op("aten::item"), trace.op("aten::_local_scalar_dense", **{"Input Dims": [[1]]}):
                trace.read_back()
        with trace.op("aten::argmax"):
            trace.launch("ArgMaxOps", 2)
        with trace.op("aten::copy_", **{"Input Dims": [[1, 1], [1, 1], []]}):
            trace.read_back(wait=waits)
    return trace


def check_inferred(binary, _, kind, options):
    sheets, _ = report(binary, generation_loop(**options), None)
    got = [(row["phase"], row["kind"], row["source"], row["context_requests"], row["context_tokens"], row["generation_requests"])
           for row in sheets.get("serving_steps", [])]
    wanted = [("prefill", kind, "inferred", "1", "1536", "0")] + [("decode", kind, "inferred", "0", "0", "1")] * 15
    return [] if got == wanted else [f"{len(got)} steps: {got[:3]}"]


def check_host_of_inferred(binary, _):
    """The host's part of such a step is from the outermost event of its first launch to the end of the wait."""
    trace = generation_loop()
    waits = sorted((e["ts"] * 1000 + e["dur"] * 1000 for e in trace.events if e["name"] == "cudaStreamSynchronize"))
    starts = sorted(e["ts"] * 1000 for e in trace.events if e["name"] == "model::forward")
    sheets, _ = report(binary, trace, None)
    got = [(float(row["host_start_us"]), float(row["host_us"])) for row in sheets["serving_steps"]]
    wanted = [(start / 1000, (end - start) / 1000) for start, end in zip(starts, waits)]
    return [f"{a} instead of {b}" for a, b in zip(got, wanted) if max(abs(a[0] - b[0]), abs(a[1] - b[1])) > 2e-3][:3]


def check_not_inferred(binary, _, steps):
    """Fewer than three repetitions are no steps; neither are pieces that do not repeat."""
    trace = Trace()
    for number in range(steps):
        for part in range(5):
            trace.launch(f"kernel_{'abcdefghij'[number % 10] * (part + 3)}_{'xyz'[part % 3] * (number + 1)}", 50)
        trace.wait()
    sheets, _ = report(binary, trace, None)
    return ["has steps"] if "serving_steps" in sheets and sheets["serving_steps"] else []


CASES = [harness.Case(f"{annotate.__name__} server {seed}", check_server, seed, annotate)
         for seed in range(6) for annotate in (generate.vllm, generate.vllm_detailed, generate.sglang)] + [
    harness.Case("speculative decoding", check_phases,
                 ["step[TARGET_VERIFY bs=8]", "step[DRAFT_EXTEND bs=8]", "step[DECODE bs=8]"] * 5, ["verify", "draft", "draft"] * 5),
    harness.Case("plain decode", check_phases, ["step[DECODE bs=8]"] * 5, ["decode"] * 5),
    harness.Case("idle and unknown modes", check_phases, ["step[IDLE bs=0]", "step[PREBUILT bs=3 toks=3]", "step[MIXED bs=3 toks=40]"],
                 ["idle", "decode", "mixed"]),
    harness.Case("TensorRT-LLM", check_phases, ["[Executor] _forward_step 0: 1 ctx reqs, 7 gen reqs"] * 5, ["mixed"] * 5),
    harness.Case("diffusion", check_phases, ["execute_diffusion_1_1024x1024"] * 3, ["diffusion"] * 3),
    harness.Case("server steps and profiler steps", check_phases, ["ProfilerStep#1", "step[DECODE bs=8]", "ProfilerStep#2"], ["decode"], 2),
    harness.Case("verify", check_verify),
    harness.Case("nested", check_nested),
    harness.Case("less detailed outside", check_less_detailed_outside),
    harness.Case("other thread", check_other_thread),
    harness.Case("by hand", check_by_hand),
    harness.Case("padded below the batch", check_padded, 9, 8, False),
    harness.Case("padded as the batch", check_padded, 8, 8, True),
    harness.Case("padded up to 64", check_padded, 3, 64, True),
    harness.Case("padded above 64", check_padded, 3, 65, False),
    harness.Case("padded up to four times the batch", check_padded, 20, 80, True),
    harness.Case("padded above four times the batch", check_padded, 20, 81, False),
    harness.Case("fit of 8 steps", check_fit, 8, True),
    harness.Case("no fit of 7 steps", check_fit, 7, False),
    harness.Case("first screens", check_first_screens),
    harness.Case("training", check_absent, ["ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"]),
    harness.Case("only launches", check_absent, None),
    harness.Case("generation by waits", check_inferred, "waits", {}),
    harness.Case("generation with checks", check_inferred, "waits", {"checks": 3}),
    harness.Case("generation with two waits per step", check_inferred, "waits", {"parts": 2}),
    harness.Case("generation by read-backs", check_inferred, "read-backs", {"waits": False}),
    harness.Case("host of inferred steps", check_host_of_inferred),
    harness.Case("two pieces", check_not_inferred, 2),
    harness.Case("pieces that differ", check_not_inferred, 9),
]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], CASES))
