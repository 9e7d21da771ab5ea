#!/usr/bin/env python3
"""`gputally pytorch-inference` with captures: each kernel of a graph counts for the op that launched it, once.

    python3 -m tests.captures.test_captures --bin build/gputally [--only TEXT]

The expected times follow from how the traces are made (generate_captures.py): which op has which kernel is known.
"""
import ast
import collections
import json
import os
import random
import sys

from tests.captures import generate_captures as made
from tests.captures.generate_captures import Kernel, Op, Replay, capture, event
from tests.common import harness
from tests.common.harness import Case

MM, RELU = Op("aten::mm", "gemm", dims=((4, 8), (8, 2))), Op("aten::relu", "act")
GEMM, ACT = Kernel("gemm", 1100, 30), Kernel("act", 1140, 10)
MODULES = ["--group_by_parent_module", "--include_call_stack"]


# ---- running ----


def report(binary, folder, *options, command="pytorch-inference", folder_option=True):
    """The outcome of a report on folder/replay.json, whose sheets are then in folder/out."""
    with_folder = ["--capture_folder", os.path.join(folder, "capture")] if folder_option else []
    return harness.run([binary, command, os.path.join(folder, "replay.json"), *with_folder, "--output_csvs_dir",
                        os.path.join(folder, "out"), "--no_progress", *options])


def rows(folder, sheet):
    names, cells = harness.read_csv(os.path.join(folder, "out", sheet + ".csv"))
    return [dict(zip(names, row)) for row in cells]


def times(folder, sheet="ops_summary", name="name", time="total_direct_kernel_time_sum"):
    found = collections.Counter()
    for row in rows(folder, sheet):
        found[row[name]] += float(row[time])
    return dict(found)


def unified_times(folder):
    return times(folder, "unified_perf_summary", time="Kernel Time (µs)_sum")


def differences(what, expected, got):
    return [] if expected == got else [f"{what}: expected {expected}, got {got}"]


def check(binary, folder, expected, unified=None, options=MODULES, warns=None):
    """Both sheets have these times; `unified` is only given where the second differs."""
    outcome = report(binary, folder, *options)
    problems = outcome.problems() + ([f"exit {outcome.code}: {outcome.stderr}"] if outcome.code else [])
    problems += differences("ops_summary", expected, times(folder))
    problems += differences("unified", unified or expected, unified_times(folder))
    if warns is not None and warns not in outcome.stderr:
        problems.append(f"no {warns!r} in {outcome.stderr!r}")
    return problems


# ---- alignment ----


def check_in_order(binary, folder):
    made.write(folder, Replay().step([[GEMM, ACT]]), {"a.json": capture([MM, RELU])})
    problems = check(binary, folder, {"aten::mm": 30, "aten::relu": 10})
    row = rows(folder, "ops_summary")[0]
    stack = ["aten::mm", "nn.Module: Layer_0", "nn.Module: Model_0", "nn.Module: Model_0"]
    problems += differences("stack", stack, ast.literal_eval(row["call_stack_first"]))
    problems += differences("module", "nn.Module: Layer", row["parent_module"])
    problems += differences("count of subtrees", "1", row["total_subtree_kernel_time_count"])
    first = rows(folder, "unified_perf_summary")[0]
    full = ["nn.Module: Model", "nn.Module: Model", "nn.Module: Layer", "aten::mm", "gemm"]
    problems += differences("full stack", full, ast.literal_eval(first["call_stack_full"]))
    problems += differences("uid and host time", ("9", "50"), (first["ex_UID"], first["total_duration_us"]))
    with open(os.path.join(folder, "capture", "execution_details.json"), encoding="utf-8") as file:
        text = file.read()
    details = '[\n  {\n    "file": "a.json",\n    "batch_size": 4,\n    "mode": "FULL"\n  }\n]'
    return problems + differences("details", details, text)


def check_skipping(binary, folder):
    made.write(folder, Replay().step([[GEMM, ACT]]), {"a.json": capture([MM, Op("lost", "lost"), RELU])})
    return check(binary, folder, {"aten::mm": 30, "aten::relu": 10})


def check_by_name(binary, folder):
    made.write(folder, Replay().step([[Kernel("act", 1100, 10), Kernel("gemm", 1120, 30)]]), {"a.json": capture([MM, RELU])})
    return check(binary, folder, {"aten::mm": 30, "aten::relu": 10})


def check_by_name_with_copy(binary, folder):
    """Copies have another name on the host than on the GPU."""
    kernels = [Kernel("act", 1100, 10), Kernel("gemm", 1120, 30),
               Kernel("Memcpy DtoD (Device -> Device)", 1160, 5, category="gpu_memcpy")]
    made.write(folder, Replay().step([kernels]).eager(),
               {"a.json": capture([MM, RELU, Op("aten::copy_", ("hipMemcpyAsync", None))])})
    return check(binary, folder, {"aten::mm": 30, "aten::relu": 10, "aten::copy_": 5, "aten::eager": 5})


def check_copy_of_no_kernel(binary, folder):
    """A copy is no kernel of another name: what does not fit is not merged."""
    made.write(folder, Replay().step([[GEMM, ACT]]).eager(), {"a.json": capture([MM, Op("aten::copy_", ("hipMemcpyAsync", None))])})
    return check(binary, folder, {"hipGraphLaunch": 40, "aten::eager": 5}, warns="with other kernels than were captured",
                 unified={"hipGraphLaunch->gemm (Synthetic Op)": 30, "hipGraphLaunch->act (Synthetic Op)": 10, "aten::eager": 5})


def check_streams(binary, folder):
    kernels = [Kernel("gemm", 1100, 30, 1), Kernel("act", 1105, 10, 2), Kernel("act", 1140, 12, 1)]
    made.write(folder, Replay().step([kernels]), {"a.json": capture([MM, RELU, Op("aten::gelu", "act")])})
    return check(binary, folder, {"aten::mm": 30, "aten::relu": 12, "aten::gelu": 10})


def check_streams_by_longest_run(binary, folder):
    """The first call takes the kernel of the stream whose next kernels fit the next calls."""
    kernels = [Kernel("a", 1100, 1, 1), Kernel("a", 1102, 2, 2), Kernel("b", 1106, 4, 2), Kernel("c", 1112, 8, 1)]
    ops = [Op("op::first", "a"), Op("op::second", "b"), Op("op::third", "a"), Op("op::fourth", "c")]
    made.write(folder, Replay().step([kernels]), {"a.json": capture(ops)})
    return check(binary, folder, {"op::first": 2, "op::second": 4, "op::third": 1, "op::fourth": 8})


def check_streams_without_names(binary, folder):
    kernels = [Kernel("gemm", 1100, 30, 1), Kernel("act", 1105, 10, 2)]
    unnamed = capture([Op("aten::mm", ("hipLaunchKernel", None)), Op("aten::relu", ("hipLaunchKernel", None))])
    made.write(folder, Replay().step([kernels]).step([[Kernel("x", 2100, 7)]], 2).eager(),
               {"a.json": unnamed, "b.json": capture([Op("op::x", "x")])},
               [{"file": "a.json", "batch_size": 4, "mode": "FULL"}, {"file": "b.json", "batch_size": 2, "mode": "FULL"}])
    launch = "hipGraphLaunch->{} (Synthetic Op)"
    return check(binary, folder, {"hipGraphLaunch": 30, "aten::eager": 5, "op::x": 7}, warns="with other kernels",
                 unified={launch.format("gemm"): 30, launch.format("act"): 10, "aten::eager": 5, "op::x": 7})


def check_one_stream_without_names(binary, folder):
    unnamed = capture([Op("aten::mm", ("hipLaunchKernel", None)), Op("aten::relu", ("hipLaunchKernel", None))])
    made.write(folder, Replay().step([[GEMM, ACT]]), {"a.json": unnamed})
    return check(binary, folder, {"aten::mm": 30, "aten::relu": 10})


def check_without_op(binary, folder):
    made.write(folder, Replay().step([[GEMM, ACT]]), {"a.json": capture([MM, Op(None, "act")])})
    return check(binary, folder, {"aten::mm": 30, "hipLaunchKernel": 10},
                 unified={"aten::mm": 30, "hipLaunchKernel->act (Synthetic Op)": 10})


# ---- steps and files ----


def check_two_launches(binary, folder):
    later = [Kernel("gemm", 1200, 30), Kernel("act", 1240, 10)]
    made.write(folder, Replay().step([[GEMM, ACT], later]), {"a.json": capture([MM, RELU])})
    problems = check(binary, folder, {"aten::mm": 60, "aten::relu": 20})
    row = rows(folder, "unified_perf_summary")[0]
    return problems + differences("count and host time", ("2", "100"), (row["operation_count"], row["total_duration_us"]))


def check_pieces(binary, folder):
    """As many captured graphs as launches: the n-th is the n-th."""
    made.write(folder, Replay().step([[GEMM], [Kernel("act", 1240, 10)]]), {"a.json": capture([MM], [RELU])})
    return check(binary, folder, {"aten::mm": 30, "aten::relu": 10})


def check_other_number_of_pieces(binary, folder):
    made.write(folder, Replay().step([[GEMM, ACT]]).eager(), {"a.json": capture([MM], [RELU])})
    return check(binary, folder, {"hipGraphLaunch": 40, "aten::eager": 5}, warns="do not launch as many graphs",
                 unified={"hipGraphLaunch->gemm (Synthetic Op)": 30, "hipGraphLaunch->act (Synthetic Op)": 10, "aten::eager": 5})


def check_next_larger_file(binary, folder):
    files = {name: capture([Op("op::" + name[0], "gemm")]) for name in ("a.json", "b.json", "c.json")}
    details = [{"file": "a.json", "batch_size": 8, "mode": "FULL"}, {"file": "b.json", "batch_size": 16, "mode": "FULL"},
               {"file": "c.json", "batch_size": 2, "mode": "FULL"}, {"file": "gone.json", "batch_size": 4, "mode": "FULL"},
               {"file": "b.json", "batch_size": None, "mode": "FULL"}, {"file": "b.json", "batch_size": 4, "mode": "decode"}]
    made.write(folder, Replay().step([[GEMM]]), files, details)
    return check(binary, folder, {"op::a": 30}, warns="gone.json: named in execution_details.json, but not there")


def check_no_file_is_large_enough(binary, folder):
    made.write(folder, Replay().step([[GEMM]]).eager(), {"a.json": capture([MM])}, [{"file": "a.json", "batch_size": 2, "mode": "FULL"}])
    return check(binary, folder, {"hipGraphLaunch": 30, "aten::eager": 5}, warns="in steps larger than every capture",
                 unified={"hipGraphLaunch->gemm (Synthetic Op)": 30, "aten::eager": 5})


def check_annotations(binary, folder):
    """An annotation for each run of the model says what a capture is of; without the runs, its batch size counts if all agree."""
    run = event("python_function", "vllm/v1/worker/gpu_model_runner.py(3380): _dummy_run", 90, 600, 7)
    note = event("user_annotation", "capture_16_FULL", 92, 500, 7)
    one, two = capture([MM]), capture([MM], [RELU])
    made.write(folder, Replay().step([[GEMM]]),
               {"a.json": [run, note, *two], "b.json": [{**note, "name": "capture_32_DECODE"}, *one],
                "c.json": [note, {**note, "name": "capture_24_FULL"}, *one], "d.json": [run, {**note, "name": "capture_9_decode"}, *one],
                "e.json": [event("cpu_op", "x", 1, 1)]})
    report(binary, folder)
    with open(os.path.join(folder, "capture", "execution_details.json"), encoding="utf-8") as file:
        found = [(entry["file"], entry["batch_size"], entry["mode"]) for entry in json.load(file)]
    expected = [("a.json", 16, "FULL"), ("b.json", 32, "FULL"), ("c.json", 4, "FULL"), ("d.json", 9, "FULL"), ("e.json", None, "FULL")]
    return differences("details", expected, found)


def check_step_inside_step(binary, folder):
    """Two annotations around one launch: it is merged once."""
    replay = Replay().step([[GEMM, ACT]])
    replay.events.append(event("user_annotation", "step[DECODE bs=4 g_sq=4 g_sk=40 g_sqsq=4 g_sqsk=40]", 1001, 900))
    made.write(folder, replay, {"a.json": capture([MM, RELU])})
    problems = check(binary, folder, {"aten::mm": 30, "aten::relu": 10})
    return problems + differences("count", "1", rows(folder, "unified_perf_summary")[0]["operation_count"])


def check_op_around_launch(binary, folder):
    """The time of a graph below an op counts once: for the modelled ops in it, and the rest for the op."""
    made.write(folder, Replay().step([[GEMM, ACT]], around=[("cpu_op", "my::graph")]), {"a.json": capture([MM, Op(None, "act")])})
    return check(binary, folder, {"aten::mm": 30, "hipLaunchKernel": 10},
                 unified={"aten::mm": 30, "my::graph->act (Synthetic Op)": 10})


def check_without_steps(binary, folder):
    """pytorch-inference merges nothing, as TraceLens; report takes the only capture for all launches."""
    made.write(folder, Replay().step([[GEMM, ACT]], name="my step").eager(), {"a.json": capture([MM, RELU])})
    problems = check(binary, folder, {"hipGraphLaunch": 40, "aten::eager": 5}, warns="no annotated steps",
                     unified={"hipGraphLaunch->gemm (Synthetic Op)": 30, "hipGraphLaunch->act (Synthetic Op)": 10, "aten::eager": 5})
    outcome = report(binary, folder, "--no_html", command="report")
    return problems + outcome.problems() + differences("report", {"aten::mm": 30, "aten::relu": 10, "aten::eager": 5}, times(folder))


# ---- what is in a capture ----


def check_other_threads(binary, folder):
    """What another thread did while a graph was captured is not in it."""
    others = [event("python_function", "other.py(1): run", 100, 500, 7, 2), event("cpu_op", "op::other", 220, 50, 7, 2),
              event("cuda_runtime", "hipLaunchKernel", 230, 5, 7, 2, kernel="gemm")]
    made.write(folder, Replay().step([[GEMM, ACT]]), {"a.json": capture([MM, RELU]) + others})
    return check(binary, folder, {"aten::mm": 30, "aten::relu": 10})


def check_calls_outside_of_frames(binary, folder):
    """A call directly below the frame around the capture."""
    events = capture([MM])
    events.append(event("cuda_runtime", "hipLaunchKernel", 202, 2, 7, kernel="act"))
    made.write(folder, Replay().step([[Kernel("act", 1100, 10), Kernel("gemm", 1120, 30)]]), {"a.json": events})
    return check(binary, folder, {"aten::mm": 30, "hipLaunchKernel": 10},
                 unified={"aten::mm": 30, "hipLaunchKernel->act (Synthetic Op)": 10})


def check_without_python(binary, folder):
    """A capture that was recorded without stacks: its ops have no callers."""
    events = [e for e in capture([MM, RELU]) if e["cat"] != "python_function"]
    made.write(folder, Replay().step([[GEMM, ACT]]), {"a.json": events})
    return check(binary, folder, {"aten::mm": 30, "aten::relu": 10})


def check_driver_calls(binary, folder):
    """A runtime call and the driver call that it makes are one call."""
    events = capture([Op("aten::mm", ("cudaLaunchKernel", None)), Op("aten::relu", ("cudaLaunchKernel", None))])
    events = [{**e, "name": e["name"].replace("hip", "cuda")} for e in events]
    events += [event("cuda_driver", "cuLaunchKernel", e["ts"] + 1, 2, 7) for e in events if e["name"] == "cudaLaunchKernel"]
    made.write(folder, Replay().step([[GEMM, ACT]], launch="cudaGraphLaunch"), {"a.json": events})
    return check(binary, folder, {"aten::mm": 30, "aten::relu": 10})


def check_gpu_work_in_window(binary, folder):
    """GPU events that ran while a graph was captured are not of it."""
    events = capture([MM, RELU])
    for e in events:
        if e["name"] == "hipLaunchKernel":
            e["args"]["correlation"] = e["ts"]
    events += [Kernel("gemm", 215, 20).event(events[5]["args"]["correlation"])]
    made.write(folder, Replay().step([[GEMM, ACT]]), {"a.json": events})
    return check(binary, folder, {"aten::mm": 30, "aten::relu": 10})


def check_call_below_launch(binary, folder):
    """What the launch called before is replaced: the driver call, which has the kernels."""
    replay = Replay().step([[GEMM, ACT]], launch="cudaGraphLaunch")
    replay.events.append(event("cuda_driver", "cuGraphLaunch", 1012, 40, correlation=50))
    made.write(folder, replay, {"a.json": capture([MM, RELU])})
    return check(binary, folder, {"aten::mm": 30, "aten::relu": 10})


def check_attention(binary, folder):
    """The annotation around a step does not hide the step."""
    for outer in ([], [event("user_annotation", "ProfilerStep#1", 900, 1300)]):
        shapes = {"Input Dims": [[4, 8, 64], [4, 2, 64], [4, 2, 64]], "Input type": ["c10::BFloat16"] * 3}
        replay = Replay().step([])
        replay.events = outer + replay.events + [
            event("cpu_op", "vllm::unified_attention_with_output", 1100, 50, **shapes),
            event("cuda_runtime", "hipLaunchKernel", 1110, 5, correlation=9),
            {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 9, "pid": 1, "tid": 1, "ts": 1110},
            {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 9, "pid": 0, "tid": 0, "ts": 1120}, Kernel("attn", 1120, 20).event(9)]
        made.write_trace(os.path.join(folder, "replay.json"), replay.events)
        report(binary, folder, folder_option=False)
        found = [float(row["GFLOPS_first"]) for row in rows(folder, "InferenceAttention_fwd")]
        # 8 heads, dimensions 64 + 64, and a pair costs 2 flops per dimension; 40 pairs of the step
        if found != [8 * 128 * 2 * 40 / 1e9]:
            return [f"GFLOPS {found} with {outer}"]
    return []


def check_shared_id(binary, folder):
    """Two launches with one correlation id: each kernel counts for the first."""
    replay = Replay().step([[GEMM, ACT], []])
    for e in replay.events:
        if e["name"] == "hipGraphLaunch":
            e["args"]["correlation"] = 50
    made.write(folder, replay, {"a.json": capture([MM, RELU])})
    return check(binary, folder, {"aten::mm": 30, "aten::relu": 10}, warns="1 without kernels")


def check_hint(binary, folder):
    made.write(folder, Replay().step([[GEMM, ACT]]).eager(), {"a.json": capture([MM, RELU])})
    outcome = report(binary, folder, folder_option=False)
    problems = [] if "gputally: warning: 1 graph launch: their kernels" in outcome.stderr else [outcome.stderr]
    with open(os.path.join(folder, "e.py"), "w", encoding="utf-8"):
        pass
    outcome = report(binary, folder, "--extension_file", os.path.join(folder, "e.py"))
    return problems + ([] if outcome.code == 1 and "not allowed with capture_folder" in outcome.stderr else [outcome.stderr])


# ---- the check of kernels ----


CHECK = """
============================================================
Perf Report Sanity Check
============================================================
  computation_time (gpu_timeline):     5.00 µs
  Kernel time (kernel_launchers):       5.00 µs
  Kernel time (unified_perf):           5.00 µs
  kernel_launchers >= computation_time: PASS
  unified_perf     >= computation_time: PASS

  --- kernel_launchers ---
  Total GPU events in tree:  2
  Kernels accounted:         1
  Total count match:         FAIL
  Per-kernel mismatches (1):
    stray
      tree=1  kernel_launchers=0  diff=1

  --- unified_perf ---
  Total GPU events in tree:  2
  Kernels accounted:         1
  Total count match:         FAIL
  Per-kernel mismatches (1):
    stray
      tree=1  unified_perf=0  diff=1
============================================================

"""


def check_kernel_check(binary, folder):
    replay = Replay().step([]).eager()
    replay.events.append(Kernel("stray", 3000, 3).event(999))
    made.write_trace(os.path.join(folder, "replay.json"), replay.events)
    outcome = report(binary, folder, folder_option=False)
    problems = [] if CHECK in outcome.stdout else [f"no such check in {outcome.stdout}"]
    return problems + differences("with --quiet", "", report(binary, folder, "--quiet", folder_option=False).stdout)


# ---- TraceLens' lines ----


def check_old_name(binary, folder):
    made.write(folder, Replay().step([[GEMM, ACT]]), {"a.json": capture([MM, Op("lost", "lost"), RELU])})
    os.symlink(binary, os.path.join(folder, "TraceLens_generate_perf_report_pytorch_inference"))
    here = os.path.join(folder, "capture")
    outcome = harness.run([os.path.join(folder, "TraceLens_generate_perf_report_pytorch_inference"), "--profile_json_path",
                           os.path.join(folder, "replay.json"), "--capture_folder", here, "--output_csvs_dir", os.path.join(folder, "out")])
    step = made.STEP.format(n=4)
    lines = [f"Found 1 graph-capture trace file(s) in {here}", "", "batch_size: 4, mode: FULL inferred, num_captures: 1", "",
             f"Results written to {here}/execution_details.json", "", "Capture folder loaded: 1 unique batch_size_mode keys",
             "Building tree with add_python_func=True", "Building CPU op tree with add_python_func=True",
             "Loaded graph tree with 6 events", "Found 1 execution roots in graph tree", f"  Execution root '{step}': 1 graph roots",
             f"Processing execution root: {step}", f"Loading capture trace: {here}/a.json (key=4_FULL)",
             "Found 1 capture roots and 1 graph roots", "Mismatch in number of events: Capture 3, Graph 2",
             "Greedy alignment succeeded: matched 2 capture events to 2 graph kernels (1 capture events discarded)."]
    problems = differences("lines", lines, outcome.stdout.split("\n")[:len(lines)])
    sheets = sorted(os.listdir(os.path.join(folder, "out")))
    expected = ["GEMM.csv", "gpu_timeline.csv", "ops_summary.csv", "ops_summary_by_category.csv", "ops_unique_args.csv",
                "unified_perf_summary.csv"]
    return problems + outcome.problems() + differences("sheets", expected, sheets) + differences("errors", "", outcome.stderr)


# ---- damage ----


def check_damaged_file(binary, folder):
    """Its steps are not merged; with --strict that is an error."""
    made.write(folder, Replay().step([[GEMM]]).step([[Kernel("x", 2100, 7)]], 2).eager(),
               {"a.json": capture([MM]), "b.json": capture([Op("op::x", "x")])},
               [{"file": "a.json", "batch_size": 4, "mode": "FULL"}, {"file": "b.json", "batch_size": 2, "mode": "FULL"}])
    with open(os.path.join(folder, "capture", "a.json"), "w", encoding="utf-8") as file:
        file.write('{"noEvents": []}')
    problems = check(binary, folder, {"hipGraphLaunch": 30, "aten::eager": 5, "op::x": 7}, warns="a.json",
                     unified={"hipGraphLaunch->gemm (Synthetic Op)": 30, "aten::eager": 5, "op::x": 7})
    return problems + differences("strict", 1, report(binary, folder, "--strict").code)


def check_damaged_folders(binary, folder):
    """One line that names the file, exit 1, and no report."""
    problems = []
    for details, expected in ((None, "no capture traces"), ("{", "not a JSON list"), ('{"a": 1}', "not a JSON list"),
                              ('[{"file": "a.json", "mode": "FULL"}]', 'entry 0 has no "batch_size"'), ("[3]", 'entry 0 has no "file"'),
                              ('[{"file": 3, "batch_size": 4, "mode": "FULL"}]', '"file" of entry 0 is no string')):
        made.write(folder, Replay().step([[GEMM]]), {})
        path = os.path.join(folder, "capture", "execution_details.json")
        if details:
            with open(path, "w", encoding="utf-8") as file:
                file.write(details)
        outcome = report(binary, folder)
        lines = outcome.stderr.strip().split("\n")
        if outcome.code != 1 or len(lines) != 1 or expected not in lines[0] or os.path.exists(os.path.join(folder, "out")):
            problems.append(f"{details}: exit {outcome.code}, {lines}")
    outcome = harness.run([binary, "pytorch-inference", os.path.join(folder, "replay.json"), "--capture_folder", os.path.join(folder, "no")])
    return problems + ([] if outcome.code == 1 and "no is not a directory" in outcome.stderr else [f"no folder: {outcome}"])


def check_truncated_files(binary, folder):
    """No cut through a capture trace or its details ends the program."""
    made.write(folder, Replay().step([[GEMM, ACT]]).eager(), {"a.json": capture([MM, RELU])})
    report(binary, folder)
    problems = []
    for name, step in (("a.json", 97), ("execution_details.json", 7)):
        path = os.path.join(folder, "capture", name)
        with open(path, "rb") as file:
            whole = file.read()
        for length in range(0, len(whole), step):
            with open(path, "wb") as file:
                file.write(whole[:length])
            outcome = report(binary, folder, "--quiet", *MODULES)
            problems += [f"{name} cut at {length}: {p}" for p in outcome.problems()]
            if outcome.code == 0 and sum(unified_times(folder).values()) != 45:
                problems.append(f"{name} cut at {length}: {unified_times(folder)}")
        with open(path, "wb") as file:
            file.write(whole)
    return problems


def check_read_only_folder(binary, folder):
    """execution_details.json cannot be written: a warning, and the report."""
    made.write(folder, Replay().step([[GEMM]]), {"a.json": capture([MM])})
    os.mkdir(os.path.join(folder, "capture", "execution_details.json"))
    return check(binary, folder, {"aten::mm": 30}, warns="the next run reads all capture traces again")


# ---- report ----


def check_report(binary, folder):
    """report finds the folder next to the trace, writes nothing into it, and counts each kernel once."""
    made.write(folder, Replay().step([[GEMM, ACT]], around=[("cpu_op", "my::graph")]).eager(), {"a.json": capture([MM, RELU])})
    os.rename(os.path.join(folder, "capture"), os.path.join(folder, "capture_traces"))
    problems, sums = [], {}
    for options in ([], ["--no_captures"], ["--capture_folder", os.path.join(folder, "capture_traces"), "--no_captures"]):
        outcome = report(binary, folder, "--no_html", *options, command="report", folder_option=False)
        problems += outcome.problems() + differences("time", 45, sum(unified_times(folder).values()))
        sums[len(options)] = times(folder)
        if "call_stack" in rows(folder, "unified_perf_summary")[0]["kernel_details_summary"]:
            problems.append("call stacks among the details")
    merged = {"aten::mm": 30, "aten::relu": 10, "aten::eager": 5}
    problems += differences("found", merged, sums[0]) + differences("named", merged, sums[3])
    problems += differences("without", {"my::graph": 40, "aten::eager": 5}, sums[1])
    return problems + differences("folder", ["a.json"], os.listdir(os.path.join(folder, "capture_traces")))


def check_report_with_useless_folder(binary, folder):
    """A folder that nobody named is no reason to fail."""
    made.write(folder, Replay().step([[GEMM, ACT]]).eager(), {})
    os.rename(os.path.join(folder, "capture"), os.path.join(folder, "capture_traces"))
    outcome = report(binary, folder, "--no_html", command="report", folder_option=False)
    problems = outcome.problems() + differences("exit", 0, outcome.code)
    problems += [] if "no capture traces" in outcome.stderr else [outcome.stderr]
    problems += differences("times", {"graph::gemm": 30, "graph::other": 10, "aten::eager": 5}, times(folder))
    return problems + differences("strict", 1, report(binary, folder, "--strict", command="report", folder_option=False).code)


def check_comparison(binary, folder):
    """Both traces have captures: the ops of the two are compared."""
    for name, length in (("one", 30), ("two", 60)):
        made.write(os.path.join(folder, name), Replay().step([[Kernel("gemm", 1100, length), Kernel("act", 1190, 10)]]),
                   {"a.json": capture([MM, RELU])})
    one, two = os.path.join(folder, "one"), os.path.join(folder, "two")
    outcome = report(binary, one, "--comparison_json_path", os.path.join(two, "replay.json"), "--comparison_capture_folder",
                     os.path.join(two, "capture"), *MODULES)
    found = {row["name"]: row["delta_us (trace2 - trace1)"] for row in rows(one, "unified_perf_summary")}
    problems = outcome.problems() + differences("delta", {"aten::mm": "30", "aten::relu": "0"},
                                                {name: str(int(float(text))) for name, text in found.items()})
    alone = report(binary, one, "--comparison_capture_folder", two)
    return problems + differences("alone", 2, alone.code)


# ---- random traces ----


def random_case(chance):
    """A replay with its captures, and the time of each op. Kernels of one graph have distinct names if they are shuffled."""
    replay, files, details, expected = Replay(), {}, [], collections.Counter()
    for batch in range(1, chance.randint(2, 6)):
        shuffled, pieces = chance.random() < 0.4, chance.choice([1, 1, 3])
        graphs, launches = [], []
        for piece in range(pieces):
            ops, kernels = [], []
            for i in range(chance.randint(1, 6)):
                names = [f"k{batch}_{piece}_{i}_{k}" if shuffled else chance.choice("abc") for k in range(chance.randint(0, 3))]
                ops.append(Op(f"op::b{batch}p{piece}i{i}", *names))
                kernels += [(name, ops[-1].name) for name in names]
            if not kernels:
                ops.append(Op(f"op::b{batch}p{piece}last", "a"))
                kernels.append(("a", ops[-1].name))
            if chance.random() < 0.3:
                ops.insert(chance.randint(0, len(ops)), Op("op::lost", "lost"))
            elif shuffled:
                chance.shuffle(kernels)
            graphs.append(ops)
            launches.append(kernels)
        rounds = chance.randint(1, 3)
        for _ in range(rounds):
            at, step = replay.end + 50, []
            for kernels in launches:
                step.append([])
                for name, op in kernels:
                    length = chance.randint(1, 20)
                    step[-1].append(Kernel(name, at, length))
                    expected[op] += length
                    at += length + 1
            replay.step(step, batch)
        files[f"{batch}.json"] = capture(*graphs)
        details.append({"file": f"{batch}.json", "batch_size": batch, "mode": "PIECEWISE" if pieces > 1 else "FULL"})
    return replay, files, details, dict(expected)


def check_random(binary, folder, seed):
    replay, files, details, expected = random_case(random.Random(seed))
    made.write(folder, replay, files, details)
    return check(binary, folder, expected, options=MODULES + random.Random(seed).choice([[], ["--threads", "3"]]))


CASES = [Case(name[len("check_"):].replace("_", " "), function) for name, function in list(globals().items())
         if name.startswith("check_") and name != "check_random"]
CASES += [Case(f"random {seed}", check_random, seed) for seed in range(200 if harness.LONG else 40)]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], CASES))
