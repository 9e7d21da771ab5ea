#!/usr/bin/env python3
"""Writes seeds of the targets that run commands (fuzz_command_*): small runs, sweeps and ranks from the tests' generators.

    python3 -m tests.fuzz.make_command_corpus --bin build/gputally --fuzz_dir build-fuzz

Each scenario lays out files and runs command lines on them one after another, because the later ones read what the earlier
ones wrote. A target keeps the seeds that reach new code; record_seeds.py adds those of the end-to-end tests.
"""
import argparse
import glob
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from tests.common import harness
from tests.fuzz import make_pytorch_corpus as traces
from tests.fuzz import record_seeds
from tests.jax import test_reports as jax_reports
from tests.phases import test_methods as phases
from tests.pytorch import test_cases as pytorch_cases
from tests.rocprof import generate_run
from tests.sweep import generate_sweep

OUT = ["--output_csvs_dir", "out"]


def write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode() if isinstance(data, str) else
                json.dumps(data, separators=(",", ":")).encode())


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
        yield ["report", source, *OUT]
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


def pytorch():
    for make in (traces.attention, traces.gemms, traces.python, traces.experts, traces.functions, traces.mixture):
        write("t.json", make())
        yield ["pytorch", "t.json", *make_all_options()]
        yield ["pytorch", "t.json", "--topk_ops", "2", "--topk_roofline_ops", "1", "--output_db", "out.db"]
        yield ["report", "t.json"]
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


def phase_methods():
    for seed in range(3):
        trace = phases.synthetic(seed)
        trace["traceEvents" if isinstance(trace, dict) else slice(None)] = (trace["traceEvents"] if isinstance(trace, dict) else trace)[:110]
        write("t.json", trace)
        for method in ("hybrid", "kernel_names", "operation_frequency", "framework_apis", "attention_patterns", "gemm_params", "union"):
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


def collective():
    for rank in range(3):
        write(f"r/rank{rank}_trace.json", rank_trace(rank, range(3)))
        write(f"g/rank_{rank}/t.json", rank_trace(rank, range(3), ("allreduce", "all_to_allv") if rank else ("allreduce", "all_to_all")))
        write(f"b/rank_{rank}.json", rank_trace(rank, range(3)))
    yield ["collective", "--trace_dir", "r", "--world_size", "3", "--all2allv_heatmap", "--gpus_per_node", "2", "--agg_metrics", "mean",
           "std", "var", "sum", "count", "first", "last", "nunique", "size", "median", *OUT]
    yield ["collective", "--trace_dir", "r", "--world_size", "3", "--extra", "--output_db", "out.db"]
    yield ["collective", "--trace_pattern", "r/rank*_trace.json", "--world_size", "3", *OUT]
    yield ["collective", "--trace_glob", "g/*/t.json", "--world_size", "3", "--leave_out_mismatches", *OUT]
    yield ["collective", "--trace_glob", "g/*/t.json", "--world_size", "3", *OUT]
    yield ["batch", "--base_dir", "b", "--filters", "rank_", "--all_kernels", *OUT]
    yield ["fuse", "r/rank0_trace.json", "r/rank1_trace.json", "-o", "out.json", "--align_times"]
    yield ["sweep", "merge", "g"]


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


def sweep_of_rocprof():
    for channels in (28, 42):
        generate_run.write_csv(generate_run.make_run(4, seed=channels)[0], f"s/256thread/nccl_{channels}channels/rocprof_traces/rank0/9")
    yield ["sweep", "report", "s", "--rocprof"]
    yield ["sweep", "timeline", "--sweep_dir", "s"]
    yield ["sweep", "counters", "--sweep_dir", "s"]


def jax():
    write("a.xplane.pb", jax_reports.training_profile())
    write("b.xplane.pb", jax_reports.collective_profile(0))
    for name in ("a", "b"):
        yield ["jax", name + ".xplane.pb", *OUT]
        yield ["jax-analysis", name + ".xplane.pb", *OUT]
    for name in ("products", "streams", "matmul"):
        shutil.copy(os.path.join(harness.FIXTURES, "jax", name + ".xplane.pb.gz"), name + ".xplane.pb.gz")
        yield ["jax", name + ".xplane.pb.gz", *OUT, "--kernel_metadata_keyword_filters", "jit"]
        yield ["jax-analysis", name + ".xplane.pb.gz", *OUT]


SCENARIOS = (rocprof, genesis, pytorch, phase_methods, collective, sweep, sweep_of_rocprof, jax)


def run(scenario, program, store):
    home = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="gputally-scenario-") as folder:
        os.chdir(folder)
        try:
            for line in scenario():
                record_seeds.record(store, line, also=["both"] if line[:2] == ["sweep", "compare"] else [])
                done = subprocess.run([program, *line, "--quiet"], capture_output=True, text=True)
                if done.returncode:
                    print(f"{' '.join(line)}: {done.stderr.strip()}")
                for left in ("out", "out.db", "out.pftrace", "out.json", "out.json.gz"):
                    shutil.rmtree(left) if os.path.isdir(left) else os.path.exists(left) and os.remove(left)
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


if __name__ == "__main__":
    sys.exit(main())
