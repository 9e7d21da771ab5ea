#!/usr/bin/env python3
"""Writes seeds of the targets that run commands (fuzz_command_*): small runs, sweeps and ranks from the tests' generators.

    python3 -m tests.fuzz.make_command_corpus --bin build/gputally --fuzz_dir build-asan

Each scenario lays out files and runs command lines on them one after another, because the later ones read what the earlier
ones wrote. A line with "&&" is several commands, which the target also runs one after another: indexes are not part of a
seed, because only the build that wrote them reads them. A target keeps the seeds that reach new code; record_seeds.py adds
those of the end-to-end tests.
"""
import argparse
import glob
import gzip
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from tests.captures import generate_captures as captures
from tests.common import harness
from tests.doctor import test_doctor
from tests.findings import small_traces
from tests.fuzz import make_corpus
from tests.fuzz import make_page_corpus
from tests.fuzz import make_pytorch_corpus as traces
from tests.fuzz import record_seeds
from tests.jax import generate_xplane
from tests.jax import test_reports as jax_reports
from tests.phases import test_methods as phases
from tests.pytorch import test_cases as pytorch_cases
from tests.replay import test_replay
from tests.rocprof import generate_run
from tests.sweep import generate_sweep

OUT = ["--output_csvs_dir", "out"]
PAGE = ["--output_html", "p.html"]
PROGRAM = ""  # set by run()


def write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode() if isinstance(data, str) else
                json.dumps(data, separators=(",", ":")).encode())


def remove(*paths):
    for path in paths:
        shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.remove(path)


# ---- rocprofv3 ----

def rocprof():
    run, two = generate_run.make_run(5), generate_run.make_run(3, processes=2, seed=3)
    generate_run.write_all(run, ".")
    generate_run.write_all(two, "two")
    generate_run.write_csv_old(run[0], "old/9")
    generate_run.write_csv_converted(run, "converted/9")
    generate_run.write_rocpd(two, "newer/n.db", newer=True)
    bare = "bare/9"
    generate_run.write_csv(run[0], bare)
    os.remove(bare + "_agent_info.csv")
    details = ["--kernel_details", "--short_kernel_study", "--topk_kernels", "3"]
    for source in ("json", "csv", "rocpd", "pftrace", "two/csv", "two/rocpd", "two/json", "two/pftrace", "old", "converted", "bare",
                   "newer/n.db"):
        yield ["rocprof", source, *details, *OUT]
        yield ["rocprof", source, "--all_processes", "--output_db", "out.db"]
        for out in ("out.pftrace", "out.json", "out.db", "out.json.gz"):
            yield ["convert", source, out]
        yield ["report", source, "--threads", "2", *PAGE, *OUT]
    for name in glob.glob("csv/node-a/*.csv") + glob.glob("old/*.csv") + glob.glob("converted/*.csv"):
        yield ["rocprof", name, *details, *OUT]
        yield ["convert", name, "out.pftrace"]
    for name in glob.glob("pftrace/node-a/*"):
        for command in ("pftrace-hip-api", "pftrace-hip-activity", "pftrace-memory-copy"):
            yield [command, name, *OUT]


def genesis():
    run = generate_run.make_run(6)
    generate_run.write_all(run, "all")
    shutil.move("all/csv/node-a", "a")
    shutil.copy(glob.glob("all/pftrace/node-a/*")[0], "a")
    write("a/run.log", "step 1\nwall_time: 2.5 s\n[genesis] wall_time=3.25\n")
    write("a/kernel_trace/manifest.json", {"scene": "franka", "steps": 10, "wall_time": 2.5, "n_envs": 4096})
    shutil.move("all/json/node-a", "b")
    for folder in ("a", "b"):
        yield ["genesis", folder, "--output_dir", "o", "--kernel_details", "--include_api", *OUT]
        yield ["genesis", "--capture_dir", folder, "--steady_state_gap_ms", "0.001"]
        yield ["genesis", folder, "--steady_state_fallback_s", "0.00001", "--no_short_kernel_study"]


def small_database(path):
    """A database of few small pages, for changes of its bytes: the tables of a run without views and most columns' rows."""
    generate_run.write_rocpd(generate_run.make_run(2), "./large.db")
    source = sqlite3.connect("./large.db")
    target = sqlite3.connect(path)
    target.execute("PRAGMA page_size=512")
    for name, in source.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
        rows = source.execute(f'SELECT * FROM "{name}"')
        columns = ",".join(f'"{column[0]}"' for column in rows.description)
        rows = rows.fetchall()
        if rows:
            target.execute(f'CREATE TABLE "{name}"({columns})')
            target.executemany(f'INSERT INTO "{name}" VALUES({",".join("?" * columns.count(",") + "?")})', rows)
    target.commit()
    target.close()
    source.close()
    os.remove("./large.db")


# ---- PyTorch ----

def make_all_options():
    return ["--enable_kernel_summary", "--short_kernel_study", "--include_overlap_info", "--detect_recompute", "--include_call_stack",
            "--enable_pseudo_ops", "--include_unlinked_kernels", "--group_by_num_kernels", "--extra", "--gpu_arch_platform", "MI300X",
            "--include_first_occurrence_time", "--inference_phase_analysis", *OUT]


def on_devices(*devices):
    """One op and one kernel per device; a device is (process, number, rank), each of which may be absent."""
    events = []
    for i, (process, number, rank) in enumerate(devices):
        events.append(traces.op("aten::mm", 1000 * i + 100, 50, [[4, 8], [8, 2]], ["float", "float"]))
        launch = traces.launch(("k", "ncclDevKernel_AllReduce")[i % 2], 1000 * i + 110, 1000 * i + 120, 9, i + 1)
        launch[1]["pid"] = process
        launch[1]["args"].update({key: value for key, value in (("device", number), ("rank", rank)) if value is not None})
        events += launch
        events.append({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": process, "tid": 9, "ts": 1000 * i + 130, "dur": 4,
                       "args": {**launch[1]["args"], "bytes": 4096, "correlation": 900 + i}})
    return events


def devices():
    for chosen in (((0, 0, None), (1, 1, None)), ((0, 0, None), (7, 0, None), (8, None, None)), (("a", 0, None), ("b", 0, None)),
                   ((0, 0, 0), (1, 0, 1), (1, 1, 1), (2, None, None)), ((-3, 0, None), (12345678901234567890, 0, None))):
        write("t.json", on_devices(*chosen))
        yield ["pytorch", "t.json", *OUT]
        yield ["report", "t.json", *PAGE, *OUT]
        write("u.json", on_devices(*reversed(chosen)))
        subprocess.run([PROGRAM, "fuse", "t.json", "u.json", "-o", "fused.json", "--quiet"], check=True)
        yield ["report", "fused.json", *OUT]


def pytorch():
    for make in (traces.attention, traces.gemms, traces.python, traces.experts, traces.functions, traces.mixture):
        write("t.json", make())
        yield ["pytorch", "t.json", *make_all_options()]
        yield ["pytorch", "t.json", "--topk_ops", "2", "--topk_roofline_ops", "1", "--output_db", "out.db"]
        yield ["report", "t.json", "--threads", "3"]
        yield ["report", "t.json", "--index", "auto", *OUT]
        yield ["index", "t.json", "--python_functions"]
    write("u.json", traces.gemms())
    yield ["pytorch", "t.json", "--comparison_json_path", "u.json", *OUT]
    write("arch.json", {"name": "X", "mem_bw_gbps": 5300, "max_achievable_tflops": {"matrix_bf16": 700, "matrix_fp16": 650}})
    yield ["pytorch", "u.json", "--gpu_arch_json_path", "arch.json", *OUT]
    for path in sorted(glob.glob(os.path.join(harness.ROOT, "tests/pytorch/cases/*.json"))):
        with open(path) as f:
            for case in json.load(f)["runs"]:
                try:
                    write("t.json", pytorch_cases.trace_of(case))
                except (KeyError, TypeError, ValueError):
                    continue
                yield ["pytorch", "t.json", *make_all_options()]
    for name in sorted(glob.glob(os.path.join(harness.FIXTURES, "pytorch", "*.json.gz"))):
        shutil.copy(name, "f.json.gz")
        yield ["pytorch", "f.json.gz", *make_all_options()]


def inference():
    """Captures that are aligned in every way, and damaged ones; steps by repetition."""
    options = ["--group_by_parent_module", "--enable_kernel_summary", "--include_overlap_info", *OUT]
    mm, relu = captures.Op("aten::mm", "gemm", dims=((4, 8), (8, 2))), captures.Op("aten::relu", "act")
    gemm, act = captures.Kernel("gemm", 1100, 30), captures.Kernel("act", 1140, 10)
    unnamed = [captures.Op("aten::mm", ("hipLaunchKernel", None)), relu]
    launches = {"order": ([[gemm, act]], [[mm, relu]]), "skip": ([[gemm, act]], [[mm, captures.Op("lost", "lost"), relu]]),
                "name": ([[captures.Kernel("act", 1100, 10), captures.Kernel("gemm", 1140, 30), captures.Kernel("Memcpy DtoD", 1180, 5,
                                                                                                               category="gpu_memcpy")]],
                         [[mm, relu, captures.Op("aten::copy_", ("hipMemcpyAsync", None))]]),
                "streams": ([[gemm, captures.Kernel("act", 1105, 10, 2), act]], [[mm, relu, relu]]),
                "unnamed": ([[gemm, captures.Kernel("act", 1105, 10, 2)]], [unnamed]), "pieces": ([[gemm], [act]], [[mm], [relu]])}
    for kernels, graphs in launches.values():
        replay = captures.Replay().step(kernels, around=[("cpu_op", "my::graph")]).eager()
        captures.write(".", replay, {"a.json": captures.capture(*graphs)}, [{"file": "a.json", "batch_size": 4, "mode": "FULL"}])
        yield ["pytorch-inference", "replay.json", "--capture_folder", "capture", "--enable_pseudo_ops", "--include_call_stack", *options]
        yield ["pytorch-inference", "replay.json", "--comparison_json_path", "replay.json", "--comparison_capture_folder", "capture",
               "--capture_folder", "capture", *options]
        os.remove("capture/execution_details.json")
        yield ["pytorch-inference", "replay.json", "--capture_folder", "capture", *options]
        yield ["report", "replay.json", "--capture_folder", "capture", *OUT]
    steps = [captures.event("python_function", "main", 0, 1000)]
    for i in range(4):
        steps.append(captures.event("python_function", "step", 10 + 100 * i, 90))
        steps += [captures.event("cpu_op", "aten::mm", 11 + 100 * i, 80), *traces.launch("k", 20 + 100 * i, 50 + 100 * i, 9, i + 1)]
    write("steps.json", steps)
    yield ["split", "steps.json", "-o", "out", "--store-single-iteration"]


def replay():
    """Ops of all kinds of arguments; schemas; results."""
    calls = [call for call, *_ in test_replay.CALLS.values()] + [call for call, _ in test_replay.REFUSED.values()]
    test_replay.write_trace(".", calls)
    write("s.txt", test_replay.COSTS + "mine::op(Tensor(a!)[] x, str? s=\"a\\\",)\", *, int[2] n=[1, 2]) -> ()\n")
    yield ["replay-ir", "t.json", "-o", "out"]
    yield ["replay-ir", "t.json", "-o", "out", "--op_regex", "m+", "--kernel_regex", "k|Memcpy", "--topk_ops", "3"]
    yield ["replay-ir", "t.json", "-o", "ir", "--schemas", "s.txt", "--list_type", "float"]
    with open("ir/event_replay_ir.json", encoding="utf-8") as file:
        entries = json.load(file)
    for i, entry in enumerate(entries):
        entry["replay"] = {"error": "no"} if i % 3 == 0 else {"event_us": 3} if i % 3 == 1 else {"kernel_us": 1.5, "kernels": ["k"]}
    write("r.json", entries)
    yield ["replay-ir", "--results", "r.json", "-o", "out"]


def extremes():
    """Times and numbers of requests that are the largest integers."""
    largest = 9223372036854775807
    steps = []
    for i in range(3):
        name = f"execute_{i}_context_{largest}(sq8sk9sqsq64sqsk72)_generation_{largest}(sq1sk9sqsq1sqsk9)"
        steps += [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 1000 * i, "dur": 900},
                  {"ph": "X", "cat": "gpu_user_annotation", "name": name, "pid": 0, "tid": 7, "ts": 1000 * i, "dur": 900},
                  *traces.launch("k", 1000 * i + 10, 1000 * i + 20, largest, i + 1)]
    write("t.json", steps)
    yield ["split", "t.json", "-o", "out", "--store-single-iteration"]
    yield ["split", "t.json", "-o", "out", "--find-steady-state", "--num-steps", "1"]
    yield ["match-blocks", "t.json", "t.json", "-o", "out", "--num-steps", "2"]
    for rank in range(2):
        trace = rank_trace(rank, range(2))
        for event in trace["traceEvents"]:
            event["ts"], event["dur"] = int(event["ts"]), largest
        write(f"r/rank{rank}_trace.json", trace)
        write(f"b/rank_{rank}.json", trace)
    yield ["collective", "--trace_dir", "r", "--world_size", "2", *OUT]
    yield ["batch", "--base_dir", "b", "--filters", "rank_", "--all_kernels", *OUT]


def phase_methods():
    for seed in range(3):
        trace = phases.synthetic(seed)
        trace["traceEvents" if isinstance(trace, dict) else slice(None)] = (trace["traceEvents"] if isinstance(trace, dict) else trace)[:110]
        write("t.json", trace)
        for form in ("png", "svg", "pdf"):
            yield ["pytorch", "t.json", "--inference_phase_analysis", "--enable_kernel_summary", "--generate_plots", "--plot_format", form,
                   "--plot_dpi", "20", "--output_xlsx_path", "out/r.xlsx"]
        for method in ("auto", "hybrid", "kernel_names", "operation_frequency", "framework_apis", "attention_patterns", "gemm_params", "union"):
            yield ["pytorch", "t.json", "--inference_phase_analysis", "--enable_kernel_summary", "--phase_detection_method", method, *OUT]


# ---- several ranks ----

def collective_kernel(trace, number, name, ranks, start, **more):
    trace.op("record_param_comms", {}, f"ncclDevKernel_{name}", start, 30 + number, 2,
             {"Collective name": name, "dtype": "BFloat16", "In msg nelems": 1024, "Out msg nelems": 1024 * len(ranks),
              "Group size": len(ranks), "Process Group Name": "0", "Process Group Ranks": str(list(ranks)),
              "Process Group Description": "default_pg", "Seq": number, **more})


def rank_trace(rank, ranks, kinds=("allreduce", "_allgather_base", "reduce_scatter", "all_to_allv", "broadcast", "send")):
    trace = generate_sweep.Trace(rank)
    for number, name in enumerate(kinds):
        splits = {"In split size": str([512 * (1 + rank)] * len(ranks)), "Out split size": str([512 * (1 + r) for r in ranks])}
        collective_kernel(trace, number, name, ranks, 100 * number + 3 * rank, **(splits if name == "all_to_allv" else {}))
    return {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": len(ranks)}, "deviceProperties": [{"id": 0}, {"id": 1}],
            "traceEvents": trace.events}


def stepping_rank(rank, ranks, collectives=1):
    """Three steps of a kernel and some collectives; rank 1 arrives later than the others."""
    events, correlation = [], 1
    for number in range(3):
        on_host, on_gpu, correlation = small_traces.step(number, correlation, kernels=1 + collectives)
        compute = on_gpu[0]
        compute["dur"] += 50 * (rank == 1)
        for i, collective in enumerate(on_gpu[1:]):
            collective.update(name="ncclDevKernel_AllReduce_Sum", ts=compute["ts"] + compute["dur"] + 1 + 110 * i, dur=100 - 50 * (rank == 1))
            collective["args"].update({"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1024, "Out msg nelems": 1024,
                                       "Group size": len(ranks), "Process Group Name": "0", "Process Group Ranks": str(list(ranks)),
                                       "Process Group Description": "default_pg", "Seq": collectives * number + i})
        events += on_host + on_gpu
    return {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": len(ranks)}, "deviceProperties": [{"id": 0}],
            "traceEvents": events}


def late_rank(rank, ranks):
    """Two collectives per step, of which rank 1 lacks the first step, and rank 2 the record of one in the second step."""
    trace = stepping_rank(rank, ranks, collectives=2)
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e["cat"] != "python_function"]
    second = sorted(e["ts"] for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep"))[1]
    trace["traceEvents"] = [e for e in trace["traceEvents"] if not (rank == 1 and e["ts"] < second) and
                            not (rank == 2 and e["args"].get("Seq") == 2)]
    return trace


def report_of_ranks():
    """The report of a folder: one workbook per rank and one of all ranks."""
    for rank in range(2):
        write(f"r/rank{rank}_trace.json", stepping_rank(rank, range(2)))
        write(f"k/rank{rank}_trace.json", rank_trace(rank, range(2)))
    for rank in range(3):
        write(f"l/rank{rank}_trace.json", late_rank(rank, range(3)))
    for folder in "rkl":
        yield ["report", folder]


def collective():
    for rank in range(3):
        write(f"r/rank{rank}_trace.json", rank_trace(rank, range(3)))
        write(f"g/rank_{rank}/t.json", rank_trace(rank, range(3), ("allreduce", "all_to_allv") if rank else ("allreduce", "all_to_all")))
        write(f"b/rank_{rank}.json", rank_trace(rank, range(3)))
        trace = rank_trace(rank, range(3), ("allreduce",))
        trace["traceEvents"] += on_devices(*(((0, 0, None), (1, 1, None)), ((0, 0, None),), (("a", 0, None), ("b", 0, None)))[rank])
        write(f"m/rank{rank}_trace.json", trace)
    yield ["collective", "--trace_dir", "m", "--world_size", "3", "--extra", *OUT]
    yield ["collective", "--trace_dir", "r", "--world_size", "3", "--all2allv_heatmap", "--gpus_per_node", "2", "--agg_metrics", "mean",
           "std", "var", "sum", "count", "first", "last", "nunique", "size", "median", *OUT]
    yield ["collective", "--trace_dir", "r", "--world_size", "3", "--extra", "--output_db", "out.db"]
    yield ["collective", "--trace_pattern", "r/rank*_trace.json", "--world_size", "3", *OUT]
    yield ["collective", "--trace_glob", "g/*/t.json", "--world_size", "3", "--leave_out_mismatches", *OUT]
    yield ["collective", "--trace_glob", "g/*/t.json", "--world_size", "3", *OUT]
    yield ["batch", "--base_dir", "b", "--filters", "rank_", "--all_kernels", *PAGE, *OUT]
    yield ["fuse", "r/rank0_trace.json", "r/rank1_trace.json", "-o", "out.json", "--align_times"]
    yield ["sweep", "merge", "g"]


def partial():
    """The partials that the first commands write are input of the others."""
    for rank in range(2):
        write(f"r/rank{rank}_trace.json", stepping_rank(rank, range(2)))
    yield ["partial", "r"]
    yield ["partial", "r/rank0_trace.json", "--rank", "1", "--output", "out", "--comm_kernels", "tracelens"]
    yield ["partial", "r", "--extra", "--output", "out"]
    yield ["merge", "r", "--gpus_per_node", "2", *OUT]
    yield ["merge", "r/rank0_trace.json.gtpart", "r/rank1_trace.json.gtpart", "--no_findings", "--allow_missing_ranks", "--output_db", "out.db"]
    yield ["merge", "r/rank0_trace.json.gtpart", "--world_size", "3", "--output_json", "out.json"]


def twice(*line):
    return [*line, "&&", *line]


def indexes():
    """The second command reads the index that the first one writes: the whole report, or only the events."""
    auto = ["--index", "auto"]
    write("t.json", make_page_corpus.steps())
    write("c.json", on_devices((0, 0, None), (1, 1, None)))
    generate_run.write_json(generate_run.make_run(4), "./9_results.json")
    write("s_results.json", make_corpus.with_samples())
    for name in ("t.json", "c.json", "9_results.json", "s_results.json"):
        yield twice("report", name, *auto, *OUT)
        yield ["report", name, *auto, "&&", "report", name, *auto, "--short_kernel_study", *OUT, *PAGE]
        yield ["index", name, "&&", "report", name, *auto, *PAGE]
    yield twice("pytorch", "c.json", *auto, "--enable_kernel_summary", *OUT)
    for name in ("9_results.json", "s_results.json"):
        yield twice("rocprof", name, *auto, "--kernel_details", *OUT)
        yield ["rocprof", name, *auto, *OUT, "&&", "rocprof", name, *auto, "--topk_kernels", "1", *OUT]


def partials():
    """The second command reads the partials that the first one writes; and the command alone, with the partials."""
    kept = ["--partials", "p"]
    for rank in range(2):
        write(f"r/rank{rank}_trace.json", stepping_rank(rank, range(2)))
        write(f"b/rank_{rank}.json", traces.gemms() + rank_trace(rank, range(2), ("allreduce", "all_to_allv"))["traceEvents"])
        write(f"several/x/rank_{rank}.json", traces.gemms())
    write("several/y/rank_0.json", traces.python())
    lines = (["partial", "r", "&&", "merge", "r", *OUT],
             ["partial", "r", "--extra", "&&", "merge", "r/rank0_trace.json.gtpart", "r/rank1_trace.json.gtpart", "--output_json", "out.json"],
             twice("collective", "--trace_dir", "r", "--world_size", "2", *kept, *OUT),
             twice("batch", "--base_dir", "b", "--filters", "rank_", "--all_kernels", *kept, *OUT),
             twice("batch", "--base_dir", "several", "--filters", "rank_", *kept),
             twice("compare", "r/rank0_trace.json", "r/rank1_trace.json", *kept, *PAGE),
             twice("fuse", "r/rank0_trace.json", "r/rank1_trace.json", "-o", "out.json", *kept),
             twice("fuse", "r/rank0_trace.json", "r/rank1_trace.json", "-o", "out.json.gz", *kept),
             twice("report", "r", *kept),
             twice("report", "r/rank0_trace.json", "b/rank_1.json", *kept, *OUT))
    for line in lines:
        yield line
        remove(*glob.glob("[rb]/*.xlsx"), *glob.glob("several/**/*.xlsx", recursive=True), *glob.glob("r/*.gtpart"))
        if line[0] in ("batch", "collective", "compare"):  # other partials name the current folder, or files beside them
            yield line[line.index("&&") + 1:]
        remove("p", *glob.glob("[rb]/*.xlsx"), *glob.glob("several/**/*.xlsx", recursive=True))


def query():
    """Statements that fail, too, and every kind of answer; the second command reads the partials that the first one writes."""
    for rank in range(2):
        write(f"r/rank{rank}_trace.json", stepping_rank(rank, range(2)))
    write("t.json", traces.gemms())
    generate_run.write_json(generate_run.make_run(3), "./9_results.json")
    files = ["t.json", "9_results.json"]
    for name in ("x.csv", "x.json", "x.jsonl", "x.md", "x.txt", "x.xlsx", "x.db"):
        yield ["query", "SELECT * FROM gpu_timeline", *files, "-o", name]
    for format in ("table", "csv", "json", "jsonl", "md"):
        yield ["query", *files, "--format", format]
        yield ["query", "VALUES (1, 2.5, 'x|y', NULL, x'0aff'), ('a', 1, NULL, 1e999, 9223372036854775807)", "t.json", "--format", format]
    for sql in ('SELECT trace, median("time ms"), percentile(percent, 90), stddev(percent) FROM gpu_timeline GROUP BY 1',
                "SELECT * FROM kernel_summary WHERE \"Kernel name\" REGEXP '(gemm|nccl).*'", "SELECT 'x' REGEXP '('", "SELECT 'x' REGEXP 'a|x', NULL REGEXP 1",
                "SELECT * FROM gpu_timelin", 'SELECT "time m" FROM gpu_timeline', 'SELECT nothing FROM gpu_timeline', 'SELECT "x" FROM gpu_timeline',
                "SELECT 1; SELECT 2", "SELECT 1 -- end", "/* a */ -- b", "SELECT load_extension('x')", "SELECT * FROM pragma_table_info('traces')",
                "SELECT * FROM pragma_user_version", "WITH x AS (SELECT 1) DELETE FROM traces", "DROP TABLE traces", "SELECT FROM", "PRAGMA x",
                "SELECT percentile(1, 101), median('x')", "SELECT median('x')", "SELECT * FROM kernel_details, short_kernels_summary",
                "SELECT count(*) FROM temporal_breakdown JOIN sqlite_master", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9999) SELECT i FROM n",
                "SELECT json_extract('[1]', '$[0]'), value FROM json_each('[1, 2]')", "EXPLAIN SELECT 1", "SELECT 1 AS a, 2 AS a, 3 AS A"):
        yield ["query", sql, *files]
    write("q.sql", "SELECT rank, name\n  FROM ops_summary;\n")
    yield ["query", "--sql_file", "q.sql", "r"]
    yield ["query", "SELECT * FROM findings", "r", "nothing.json", "--output_db", "out.db"]
    yield twice("query", "SELECT * FROM ops_summary", "r", "--partials", "p")


def keep_sheets(folder, *names):
    """Removes all other sheets of the reports below a folder, so that seeds stay small."""
    for path in glob.glob(folder + "/**/*.xlsx", recursive=True):
        sheets = generate_sweep.read_workbook(path)
        kept = {name: rows for name, rows in sheets.items() if name in names}
        generate_sweep.write_workbook(path, **(kept or dict(list(sheets.items())[:1])))


def sweep():
    for threads in (256, 512):
        for rank in (0, 1):
            trace = generate_sweep.trace(threads, 28, rank)
            trace["traceEvents"] = trace["traceEvents"][:11] + trace["traceEvents"][-15:]
            write(f"traces/{threads}thread/nccl_28channels/torch_profiler/rank{rank}/t.json", trace)
    shutil.copytree("traces", "s")
    yield ["sweep", "decide", "traces", "-o", "decision", "--output_html", "page.html"]
    yield ["sweep", "report", "s"]
    for name, sheets in (("timelines", ("gpu_timeline",)), ("gemms", ("GEMM",)), ("comms", ("nccl_summary_implicit_sync",)),
                         ("overlaps", ("nccl_long",)), ("both", ("gpu_timeline", "nccl_summary_implicit_sync", "nccl_summary_long"))):
        shutil.copytree("s/tracelens_analysis", name + "/tracelens_analysis")
        keep_sheets(name, *sheets)
    yield ["sweep", "timeline", "--sweep_dir", "timelines"]
    yield ["sweep", "timeline", "--sweep_dir", "timelines", "--geo_mean"]
    yield ["sweep", "comms", "--sweep_dir", "comms"]
    yield ["sweep", "top", "--base_path", "gemms/tracelens_analysis", "--threads", "256", "512", "--channels", "28", "--ranks", "0", "1",
           "--output_file", "top.csv"]
    shutil.copy("gemms/tracelens_analysis/top.csv", ".")
    yield ["sweep", "yaml", "--input_csv", "top.csv"]
    yield ["sweep", "plot", "--csv_path", "top.csv", "--dpi", "20"]
    yield ["sweep", "timestamps", "--input_csv", "top.csv", "--base_path", "traces"]
    yield ["sweep", "overlap", "--input_csv", "top_with_timestamps.csv", "--tracelens_path", "overlaps/tracelens_analysis"]
    for threads in (256, 512):
        os.makedirs(f"both/{threads}thread/nccl_28channels", exist_ok=True)
        write(f"both/{threads}thread/nccl_28channels/empty", "")
    sides = ["--baseline", "both/256thread/nccl_28channels", "--test", "both/512thread/nccl_28channels"]
    yield ["sweep", "compare", *sides, "--output", "out"]
    yield ["sweep", "compare", *sides, "--output", "out", "--geo_mean", "--baseline_label", "B", "--test_label", "T"]


def single_runs():
    """The steps of the single-configuration pipeline, each on what the one before wrote."""
    for name, threads in (("a", 256), ("b", 512)):
        trace = generate_sweep.trace(threads, 28, 0)
        trace["traceEvents"] = trace["traceEvents"][:11] + trace["traceEvents"][-15:]
        write(f"{name}/torch_profiler/rank0/t.json", trace)
        yield ["sweep", "run-tracelens-single-config", name]
        keep_sheets(name, "gpu_timeline", "nccl_summary_implicit_sync", "nccl_summary_long")
        yield ["sweep", "timeline", "--reports_dir", f"{name}/tracelens_analysis/individual_reports"]
    for kind, file in (("gpu", "gpu_timeline_summary_mean.xlsx"), ("coll", "collective_reports/collective_all_ranks.xlsx")):
        yield ["sweep", "combine-reports", "--baseline", f"a/tracelens_analysis/{file}", "--test", f"b/tracelens_analysis/{file}", "--output",
               f"{kind}_combined.xlsx", "--baseline_label", "1", "--test_label", "x"]
    yield ["sweep", "add-comparison-sheets", "--input", "gpu_combined.xlsx", "--output", "gpu_comparison.xlsx"]
    yield ["sweep", "add-collective-comparison", "--input", "coll_combined.xlsx", "--output", "coll_comparison.xlsx"]
    parts = [word for part in ("gpu_combined", "gpu_comparison", "coll_combined", "coll_comparison") for word in (f"--{part}", f"{part}.xlsx")]
    yield ["sweep", "create-final-report", *parts, "--output", "final.xlsx"]
    yield ["sweep", "create-final-plots", "--input", "final.xlsx"]
    yield ["sweep", "create-final-html", "-p", "plots"]
    yield ["sweep", "compare-all-runs", "--inputs", "a", "b", "--output", "all"]
    shutil.rmtree("a/tracelens_analysis")
    yield ["sweep", "compare", "--baseline", "a", "--test", "b", "--output", "out", "--final_report"]


def sweep_of_rocprof():
    for channels in (28, 42):
        generate_run.write_csv(generate_run.make_run(4, seed=channels)[0], f"s/256thread/nccl_{channels}channels/rocprof_traces/rank0/9")
    yield ["sweep", "report", "s", "--rocprof"]
    yield ["sweep", "timeline", "--sweep_dir", "s"]
    yield ["sweep", "counters", "--sweep_dir", "s"]


def packed(value):
    """The numbers of a repeated field, packed or not."""
    if isinstance(value, int):
        return [value]
    numbers, at = [], 0
    while at < len(value):
        number, at = generate_xplane.varint(value, at)
        numbers.append(number)
    return numbers


def edit(data, path, change):
    """A message with every part at a path of field numbers changed."""
    if not path:
        return change(data)
    return b"".join(generate_xplane.counted(number, edit(value, path[1:], change)) if number == path[0] and isinstance(value, bytes) else raw
                    for number, value, raw in generate_xplane.fields(data))


def small_profile(data):
    """A JAX profile whose compiled modules have only the instructions of the ops that ran, and their operands."""
    used = b"".join(value for number, value, _ in generate_xplane.fields(data) if number == 1 and b"/device:GPU" in value[:200])

    def shorten(computation):
        fields = list(generate_xplane.fields(computation))
        root = generate_xplane.first(computation, 6, 0)
        found = [(generate_xplane.first(v, 35, 0), generate_xplane.first(v, 1, b""), [o for n, w, _ in generate_xplane.fields(v) if n == 36
                 for o in packed(w)]) for number, v, _ in fields if number == 2]
        kept = {root} | {i for i, name, _ in found if name in used}
        kept |= {o for i, _, operands in found if i in kept for o in operands}
        return b"".join(raw for number, v, raw in fields if number != 2 or generate_xplane.first(v, 35, 0) in kept)

    return edit(data, (1, 4, 2, 5, 6, 1, 3), shorten)


DETAILS, GROUP, SCOPE, PROGRAM_ID, TF_OP = 20, 21, 22, 23, 24
jax_reports.STATS.update({DETAILS: "kernel_details", GROUP: "group_id", SCOPE: "scope_range_id", PROGRAM_ID: "program_id", TF_OP: "tf_op"})


def described(kind, start_ns, correlation, op, number):
    """An event with everything that a viewer makes lines of."""
    r = jax_reports
    stats = r.counted(4, r.number(1, DETAILS) + r.text(5, "regs:32")) + r.counted(4, r.number(1, GROUP) + r.number(4, number % 3))
    stats += r.counted(4, r.number(1, SCOPE) + r.number(4, number)) + r.counted(4, r.number(1, PROGRAM_ID) + r.number(3, 100))
    if not op:
        stats += r.counted(4, r.number(1, TF_OP) + r.text(5, f"a/b{number}/dot_general:Einsum"))
    event = r.event(kind, start_ns, 500, correlation, op)
    body = next(value for _, value, _ in generate_xplane.fields(event))
    if number % 2:  # fields in another order, and one that we do not know
        body = b"".join(raw for _, _, raw in reversed(list(generate_xplane.fields(body)))) + r.number(19, 5)
    return r.counted(4, body + stats)


def products_profile():
    """Calls of convolutions and attention, with and without bias, forward and backward."""
    r = jax_reports
    odd_layout = r.number(2, r.F32) + r.number(3, 4) + r.counted(5, r.number(1, 0) + r.number(7, 4) + r.number(8, 5))
    tensors = [r.shape(r.BF16, 2, 16, 8, 64), r.shape(r.BF16, 2, 32, 4, 64), r.shape(r.F32, 8, 3, 16, 16), r.shape(r.F32, 4, 3, 3, 3),
               odd_layout, r.shape(r.F32, 8, 4, 14, 14)]
    instructions = [r.instruction(i, f"p{i}", "parameter", form) for i, form in enumerate(tensors, 1)]
    calls = [("attn", "te_fused_attn_forward_ffi", tensors[0], (1, 2, 2)), ("attn_bias", "te_fused_attn_forward_ffi", tensors[0], (1, 2, 2, 5)),
             ("attn_bwd", "te_fused_attn_backward_ffi", tensors[0], (1, 2, 2)), ("conv", "__cudnn$convForward", tensors[5], (3, 4)),
             ("conv_bias", "__cudnn$convBiasActivationForward", tensors[5], (3, 4, 5)),
             ("conv_bwd", "__cudnn$convBackwardInput", tensors[2], (6, 4)), ("conv_bwd2", "__cudnn$convBackwardFilter", tensors[3], (3, 6)),
             ("conv_pair", "__cudnn$convForward", r.pair(tensors[5], r.shape(r.S8, 64)), (3, 4)), ("fp8", "__cublas$lt$matmul$f8", tensors[2], (3, 3))]
    for id, (name, target, form, operands) in enumerate(calls, 10):
        instructions.append(r.instruction(id, name + ".1", "custom-call", form, operands, target, '{"x":1}'))
    # without metadata, and with a word by which such instructions are still recorded
    bare = r.text(1, "kernel_cublas") + r.text(2, "fusion") + r.counted(3, tensors[2]) + r.number(35, 40) + r.number(36, 3)
    described_op = r.text(1, "dot.5") + r.text(2, "dot") + r.counted(3, tensors[2]) + r.number(35, 41) + r.counted(
        7, r.text(1, "dot") + r.text(2, "jit(f)/layer/dot") + r.text(3, "/a/model.py") + r.number(4, 12))
    many = r.instruction(30, "all-gather-start.1", "all-gather-start", r.pair(tensors[0], tensors[1]), tuple(range(1, 7)))
    done = r.instruction(31, "all-gather-done.1", "all-gather-done", tensors[1], (30,))
    step = r.module("jit_train_step", [*instructions, r.counted(2, bare), r.counted(2, described_op), many, done], 31, schedule=(1, 2, 3, 10))
    events = [described(1 if "conv" in name else 2, 1000 * i, i, name + ".1", i) for i, (name, _, _, _) in enumerate(calls, 1)]
    events += [described(2, 80000, 80, "dot.5", 4), described(2, 81000, 81, None, 5), described(2, 82000, 82, "kernel_cublas", 5)]
    events += [r.event(3, 90000, 100, 90, "all-gather.1"), r.event(3, 91000, 100, 91, "all-gather.7"), r.event(3, 92000, 100, 92, "all-gather-done.1")]
    return r.plane(0, "/host:metadata", protos=[("jit_train_step(100)", step)]) + b"".join(
        r.plane(i, f"/device:GPU:{i}", [(7, "Stream #7(Compute)", events)], ["cudnn_convolve_sgemm", "k", "ncclDevKernel_AllGather"])
        for i in range(2))


def retargeted(data, target):
    """A small profile whose calls of convolutions are calls of something else, on two GPUs."""
    def change(instruction):
        fields = list(generate_xplane.fields(instruction))
        if not any(number == 28 and b"conv" in value for number, value, _ in fields):
            return instruction
        last = [o for number, value, _ in fields if number == 36 for o in packed(value)][-1]
        return (b"".join(raw for number, _, raw in fields if number != 28) + generate_xplane.counted(28, target.encode()) +
                2 * (generate_xplane.encode(36 << 3) + generate_xplane.encode(last)))

    gpu = next(value for number, value, _ in generate_xplane.fields(data) if number == 1 and b"/device:GPU:0" in value[:200])
    return (edit(data, (1, 4, 2, 5, 6, 1, 3, 2), change) +
            generate_xplane.counted(1, gpu.replace(b"/device:GPU:0", b"/device:GPU:1") + jax_reports.number(1, 77)))


def jax():
    write("a.xplane.pb", jax_reports.training_profile())
    write("b.xplane.pb", jax_reports.collective_profile(0))
    write("c.xplane.pb", products_profile())
    names = ["a", "b", "c"]
    for path in sorted(glob.glob(os.path.join(harness.FIXTURES, "jax", "*.xplane.pb.gz"))):
        names.append(os.path.basename(path).split(".")[0])
        with gzip.open(path) as f:
            write(names[-1] + ".xplane.pb", small_profile(f.read()))
    with open("convolution.xplane.pb", "rb") as f:
        convolution = f.read()
    for number, target in enumerate(("te_fused_attn_forward_ffi", "te_fused_attn_backward_ffi", "__cudnn$convBackwardInput",
                                     "__cublas$lt$matmul$f8")):
        names.append(f"call{number}")
        write(names[-1] + ".xplane.pb", retargeted(convolution, target))
    for name in names:
        yield ["jax", name + ".xplane.pb", *OUT]
        yield ["jax", name + ".xplane.pb", *OUT, "--kernel_metadata_keyword_filters", "jit"]
        yield ["jax-analysis", name + ".xplane.pb", *OUT]
        yield ["report", name + ".xplane.pb", *PAGE, *OUT]


def names():
    """Kernels whose labels must be shortened, and told apart by their ops or numbers."""
    kernels = ("void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::foo, c10::Half>(int)",
               "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::foo, c10::Half>(long)", "k", "k", "")
    events = []
    for i, kernel in enumerate(2 * kernels):
        events += [traces.op("aten::mul" if i % 3 else "mine", 1000 * i + 100, 50), *traces.launch(kernel, 1000 * i + 110, 1000 * i + 200, 9 + i % 4, i + 1)]
    write("t.json", events)
    yield ["report", "t.json", *PAGE, *OUT]
    yield ["report", "t.json", "--enable_kernel_summary", *OUT]


def own_files():
    """Files that `gputally run` made from the profiler's own, of which a list tells."""
    generate_run.write_csv(generate_run.make_run(3)[0], "f/9")
    generate_run.write_csv(generate_run.make_run(3)[0], "f/merged")
    size = os.path.getsize("f/merged_kernel_trace.csv")
    write("f/.gputally_files", f"{size} merged_kernel_trace.csv\n1 9_kernel_trace.csv\nx\n7\n")
    yield ["rocprof", "f", *OUT]
    yield ["report", "f", *OUT]


def messages():
    """Pages of traces that the terminal warns about, in a folder, whose name pages do not have."""
    trace = make_page_corpus.steps()
    for event in trace["traceEvents"]:
        event["args"].pop("Input Dims", None)
        if event["ts"] % 7 < 2:
            event.pop("dur", None)
    write("deep/m.json", trace)
    write("deep/cut.json", json.dumps(make_page_corpus.steps())[:-300])
    yield ["report", "deep/m.json", *PAGE]
    yield ["report", "deep/m.json", "--output_md", "out.md", "--output_json", "out.json"]
    yield ["report", "deep/cut.json", *PAGE]


def compare():
    """Reports whose ops differ, with few sheets each, as folders and as workbooks."""
    for side, make in (("a", traces.gemms), ("b", traces.mixture), ("c", traces.experts)):
        write(side + ".json", make() + traces.gemms()[:5])
        subprocess.run([PROGRAM, "pytorch", side + ".json", "--quiet", "--output_csvs_dir", side, "--output_xlsx_path", side + ".xlsx",
                        "--enable_kernel_summary"], check=True)
    groups = (("ops_unique_args", "ops_summary"), ("GEMM", "SDPA_fwd", "MoE_fused"), ("gpu_timeline", "kernel_summary", "ops_summary_by_category"),
              ("unified_perf_summary",), ("ops_all", "coll_analysis"))
    for group in groups:
        for side in "abc":
            os.makedirs("x/" + side, exist_ok=True)
            for name in group:
                if os.path.exists(f"{side}/{name}.csv"):
                    shutil.copy(f"{side}/{name}.csv", "x/" + side)
            keep = {name: rows for name, rows in generate_sweep.read_workbook(side + ".xlsx").items() if name in group}
            generate_sweep.write_workbook(f"x/{side}.xlsx", **(keep or {"empty": [["a"], [1]]}))
        yield ["compare", "x/a", "x/b", *OUT]
        yield ["compare", "x/a.xlsx", "x/b.xlsx", "x/c", "--names", "p", "q", "r", "-o", "out.xlsx"]
        yield ["compare", "x/b", "x/a", "--fail_if", "gpu_timeline.busy_time>5%", *OUT]
        shutil.rmtree("x")
    for side in "uv":
        write(f"{side}/gpu_timeline.csv", f"type,time ms\nbusy_time,1{ord(side)}\nidle.time,5\n")
    for condition in ("gpu_timeline.'busy_time'.\"time ms\" >= 1", "gpu_timeline.*<=0", "gpu_timeline.'idle.time'.type>1", "gpu_timeline.none>1",
                      "gpu_timeline.'busy", "gpu_timeline.busy_time.<5", "gpu_timeline.busy_time=5", "gpu_timeline.busy_time<5x", "a'b'.c>1", "x_ms>1"):
        yield ["compare", "u", "v", "--fail_if", condition, *OUT]
    yield ["compare", "a.json", "b.json", "--fail_if", "step_ms>5%", *OUT]
    write("steps.json", make_page_corpus.steps())
    for change in (("--batch", "2x"), ("--fix", "all"), ("--fix", "1,host_sync", "--batch", "3"), ("--gpu", "H200")):
        yield ["what-if", "steps.json", *change, *OUT]
    yield ["compare", "b.json", "c.json", "--sheets", "waterfall", "--output_json", "out.json", "--output_md", "out.md"]
    yield ["compare", "a.json", "b.json", "--fail_if", "step_ms>5%", *PAGE]
    yield ["compare", "c.json", "b.json", "--names", "p", "q", "--output_html", "p.html"]
    write("s.json", make_page_corpus.steps())
    slower = make_page_corpus.steps()
    for event in slower["traceEvents"]:
        if event["cat"] == "kernel":
            event.update(dur=2 * event["dur"], name=event["name"] + "_new" * (event["ts"] % 7 < 3))
    write("t.json", slower)
    yield ["compare", "s.json", "t.json", *PAGE]
    for rank in range(2):
        write(f"w{rank}.json", stepping_rank(rank, range(2)))
    yield ["compare", "w0.json", "w1.json", "--sheets", "waterfall", "--fail_if", "idle_launch_ms > 0", "slower_ms >= 1%", "waterfall.*gemm*>0",
           "waterfall.none.delta_ms <= 5", "waterfall.x*<1", *OUT]
    yield ["compare", "w0.json", "w1.json", "--fail_if", "waterfall.'*'.a_ms>0", *OUT]
    yield ["compare", "w0.json", "a.json", *OUT]
    generate_run.write_json(generate_run.make_run(4), "./9_results.json")
    yield ["compare", "s.json", "9_results.json", *OUT]
    yield ["compare", "9_results.json", "9_results.json", "--names", "p", "q", "--sheets", "waterfall", *OUT]


def models():
    write("models.json", [{"name": "m", "dockerfile": "docker/d", "scripts": "s/run.sh", "n_gpus": "1", "tags": ["t", "u"], "args": "-x",
                           "env_vars": {"DOCKER_IMAGE_NAME": "i:1"}, "slurm": {"partition": "p"}}, {"name": "n", "tags": "t, v"}])
    write("scripts/scope/models.json", [{"name": "k", "dockerfile": "../d", "scripts": "run.py", "tags": ["t"]}])
    write("docker/d.ubuntu.amd.Dockerfile", "# CONTEXT {'gpu_vendor': 'AMD', 'guest_os': 'UBUNTU'}\nARG BASE_DOCKER=x\nARG MAD_SYSTEM_GPU_ARCHITECTURE\nFROM $BASE_DOCKER\n")
    write("batch.json", [{"model_name": "m", "build_new": True}, {"model_name": "n", "registry_image": "r/x"}])
    for tags in ("all", "t", "scope/t", "m:k=v:f,v"):
        yield ["discover", "--tags", tags]
    yield ["discover"]
    yield ["build", "--tags", "m", "--use-image", "auto"]
    yield ["build", "--tags", "t", "--use-image", "i:2", "-c", '{"slurm": {"nodes": 2}, "env_vars": {"A": 1}}', "-s", "s.json"]
    yield ["build", "--tags", "m", "-a", "gfx90a,gfx942"]
    yield ["build", "--batch-manifest", "batch.json", "--use-image", "i"]
    yield ["build", "--tags", "m", "--build-on-compute", "--registry", "r:5000"]


def programs():
    """The reply is that of the program which the command starts; the target prints it."""
    write("t.json", traces.gemms())
    write("e.py", "")
    for path in sorted(glob.glob(os.path.join(record_seeds.HERE, "corpus", "extension", "*"))):
        with open(path, "rb") as f:
            write("reply", f.read())
        yield ["pytorch", "t.json", "--extension_file", "e.py", "--python_path", "extension-python", *OUT]
    write("u.json", traces.mixture())
    yield ["pytorch", "u.json", "--extension_file", "e.py", "--python_path", "extension-python", "--enable_pseudo_ops",
           "--gpu_arch_platform", "MI300X", *OUT]
    write("u.json", traces.experts() + traces.functions() + traces.attention())
    yield ["pytorch", "u.json", "--extension_file", "e.py", "--python_path", "extension-python", "--enable_pseudo_ops",
           "--gpu_arch_platform", "MI300X", *OUT]
    write("a.json", traces.attention())
    flash = traces.attention()
    flash[0]["name"] = "flash_attn::_flash_attn_forward"
    write("flash.json", flash)
    write("arch.json", {"name": "X", "mem_bw_gbps": 5300, "num_cus": 304, "gemm_units_per_cu": 4, "freq_mhz": 2100, "l1_bw_gbps": 9000,
                        "l1_bw_gbps_per_cu": 64, "max_achievable_tflops": {"matrix_bf16": 700}})
    for reply in ("Time=12.5\n", "Time=x Time=1.\n", ""):
        write("reply", reply)
        for trace in ("t.json", "a.json", "flash.json"):
            yield ["pytorch", trace, "--enable_origami", "--gpu_arch_platform", "MI300X", *OUT]
            yield ["pytorch", trace, "--enable_origami", "--gpu_arch_json_path", "arch.json", *OUT]
    write("b/rank_0.json", traces.gemms() + [traces.op("aten::convolution", 900, 50, [[1, 3, 8, 8], [4, 3, 3, 3], [4]], ["float"] * 3,
                                                       ["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]),
                                             *traces.launch("conv_kernel", 910, 1000, 90, 9)])
    for reply in ("1234.5\n", "hipblaslt-Gflops,us\nN,N,1,0,1,4,2,8,1,8,1,0,8,8,1,1,0.5,0.25\n",
                  "MIOpen Forward Conv. Algorithm: 1\nGPU Kernel Time Forward Conv. Elapsed: 0.05 ms (average)\n", "us: 12.5\n"):
        write("reply", reply)
        yield ["batch", "--base_dir", "b", "--node_replay", *OUT]


def run_plans():
    write("c.json", {"tools": [{"name": "rocprofv3_compute"}], "gpu_vendor": "AMD", "docker_gpus": "0,2-3", "env_vars": {"A": "1"},
                     "slurm": {"nodes": 2, "gpus_per_node": 4, "partition": "p"}, "distributed": {"launcher": "torchrun", "nnodes": 2},
                     "docker_env_vars": {"B": "2"}, "docker_mounts": {"data": "data"}, "k8s": {"namespace": "n", "gpu_count": 2}})
    write("t.json", [{"name": "mine", "cmd": "rocprofv3 --hip-trace -- "}])
    for more in ([], ["--target", "slurm"], ["--target", "k8s"], ["--docker=image"], ["--tools_config", "t.json"]):
        yield ["run", "--dry_run", "-f", "c.json", *more, "--", "train", "--x", "it's"]
    for name in ("rocprofv3_lightweight", "none"):
        yield ["run", "--dry_run", "-f", name, "--", "train"]
    yield ["run", "--dry_run", "-c", "{'tools': [{'name': 'miopen_trace'}, {'name': 'gpu_info_power_profiler'}]}", "--", "train"]
    yield ["sweep", "run", "--dry_run", "--channels", "28,42", "--threads", "256,512", "--axis", "batch=1,2", "--axis_env", "batch=BATCH",
           "--axis_dir", "batch=b%s", "--env", "A=x{threads}", "--env", "NCCL_MAX_NCHANNELS=3", "--unset", "HSA_ENABLE_SDMA", "-o", "o",
           "--", "train", "{batch}", "{{"]
    yield ["sweep", "run", "--dry_run", "--rocprof", "--stats", "--config", "c.yaml", "--nproc", "4", "-o", "o"]
    yield ["sweep", "run", "--dry_run", "--rocprof", "--rocprof_input", "c.json", "--timeout", "3", "-o", "o"]
    for wrong in (["--axis", "nproc=1"], ["--axis", "x"], ["--axis", "x=1,1"], ["--axis_env", "y=Z"], ["--axis_dir", "threads=a/%s"],
                  ["--env", "1=2"], ["--unset", "a=b"], ["--threads", "a"], ["--", "{other}"]):
        yield ["sweep", "run", "--dry_run", *wrong]


def links():
    yield ["links", "out"]
    yield ["links", "old", "--program", "bin/gputally"]
    write("old/generate_perf_report.py", "mine")
    yield ["links", "old"]
    yield ["links", "old", "--force"]
    yield ["links", "old", "--remove"]


# ---- doctor ----

def doctor():
    """A file of each kind, most of them small, and folders."""
    json_out = ["--output_json", "d.json"]
    generate_run.write_all(generate_run.make_run(3), "run")
    write("t.json", test_doctor.trace(distributedInfo={"rank": 1, "world_size": 4, "backend": "nccl"}, with_stack=1))
    write("cut.json", json.dumps(test_doctor.trace())[:900])
    write("ranks/rank0_trace.json", test_doctor.trace(steps=1))
    write("ranks/rank1_trace.json", "")
    write("n.csv", test_doctor.NCU)
    write("jax.json", {"traceEvents": [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}}]})
    write("snapshot", b"\x80\x04}\x94(segments")
    write("hlo", "HloModule jit_f")
    write("report.nsys-rep", b"NVTX\0")
    write("other.json", {"schema": "gputally-findings/1"})
    write("s/256thread/nccl_28channels/torch_profiler/rank0/t.json", test_doctor.trace(steps=1))
    for name in ("t.json", "cut.json", "ranks", "n.csv", "jax.json", "snapshot", "hlo", "report.nsys-rep", "other.json", "s",
                 "run/csv", *glob.glob("run/*/*/*results*")):
        yield ["doctor", name, *json_out]
    yield ["doctor", "t.json", "n.csv", "missing", "--strict", "--quiet"]


SCENARIOS = (rocprof, doctor, genesis, devices, replay, extremes, pytorch, inference, phase_methods, report_of_ranks, collective, partial, indexes, partials, query, sweep,
             single_runs, sweep_of_rocprof, jax, names, own_files, messages, compare, models, programs, run_plans, links)


def run(scenario, program, store):
    global PROGRAM
    PROGRAM, home = program, os.getcwd()
    with tempfile.TemporaryDirectory(prefix="gputally-scenario-") as folder:
        os.chdir(folder)
        try:
            for line in scenario():
                folder_of_models = glob.glob("*.json") + glob.glob("*/*.Dockerfile") + glob.glob("scripts/*/*")
                also = ["both"] if line[:2] == ["sweep", "compare"] else folder_of_models if line[0] in ("build", "discover") else glob.glob("reply")
                record_seeds.record(store, line, also=also)
                for words in "\n".join(line).split("\n&&\n"):
                    done = subprocess.run([program, *words.split("\n"), "--quiet"], capture_output=True, text=True)
                    if done.returncode:
                        print(f"{words.replace(chr(10), chr(32))}: {done.stderr.strip()}")
                remove("out", "out.db", "out.pftrace", "out.json", "out.json.gz")
        finally:
            os.chdir(home)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--fuzz_dir", required=True)
    parser.add_argument("--corpus", default=os.path.join(record_seeds.HERE, "corpus"))
    parser.add_argument("only", nargs="*", help="names of scenarios; default: all")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gputally-calls-") as store:
        for scenario in SCENARIOS:
            if not options.only or scenario.__name__ in options.only:
                run(scenario, os.path.abspath(options.bin), store)
        seeds = record_seeds.read_calls(store)
    with tempfile.TemporaryDirectory(prefix="gputally-scenario-") as folder:
        os.chdir(folder)
        small_database("small.db")
        with open("small.db", "rb") as f:
            raw = b"\n@@@ file 9_results.db\n" + f.read()
        os.chdir(record_seeds.ROOT)
    seeds.setdefault("fuzz_command_rocprof", set()).add(b"rocprof\n9_results.db\n--output_csvs_dir\nout" + raw)
    record_seeds.add_seeds(options.fuzz_dir, options.corpus, seeds)
    # Seeds with partials are for changes of the bytes of these, although the code is reached without them.
    for target, found in seeds.items():
        for seed in (seed for seed in found if b"\n@@@ part " in seed):
            with open(os.path.join(options.corpus, target[len("fuzz_"):], hashlib.sha1(seed).hexdigest()), "wb") as f:
                f.write(seed)


if __name__ == "__main__":
    sys.exit(main())
