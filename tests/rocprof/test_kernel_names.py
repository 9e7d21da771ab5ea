#!/usr/bin/env python3
"""Kernels that share a short name: --full_kernel_names gives each its own row, and a warning counts them otherwise.

    python3 -m tests.rocprof.test_kernel_names --bin build/gputally

84 kernels are instances of 27 templates, in every format of rocprofv3. Expected rows are computed from the generated run.
"""
import json
import os
import random
import shutil
import sys

from tests.common import harness
from tests.rocprof import checks
from tests.rocprof import generate_run as maker

FORMATS = ("csv", "json", "rocpd", "pftrace")
TEMPLATES = 27
FULL = 84


def make_kernels():
    """Instances of templates, whose arguments must not decide the category; some templates have one instance."""
    kernels = []
    for i in range(FULL):
        template = i if i < TEMPLATES else i % 19
        base = ("gemm", "softmax", "layer_norm")[template % 3] + f"_{template}"
        formatted = f"void demo::{base}<copy_sum_conv<{i}>, float>(demo::Op<{i}>, int[{i}])"
        kernels.append(maker.Kernel(base, formatted, formatted + " [clone .kd]", 8, 0, 16, 0))
    kernels.append(maker.Kernel("Cijk_A.kd", "Cijk_A", "Cijk_A.kd", 8, 0, 16, 0))
    return tuple(kernels)


def category(kernel):
    return {"gem": "GEMM", "sof": "Other", "lay": "Normalization", "Cij": "GEMM"}[kernel.truncated[:3]]


def expected_rows(run, name):
    """{name: (Count, total ns, category)}"""
    rows = {}
    for d in (d for process in run for d in process.dispatches):
        kernel = maker.KERNELS[d.kernel]
        count, total, _ = rows.get(name(kernel), (0, 0, ""))
        rows[name(kernel)] = count + 1, total + d.end - d.start, category(kernel)
    return rows


def check_rows(tally, name, sheet, expected):
    at = [sheet[0].index(c) for c in ("name", "Count", "Total Kernel Time (ms)", "Category")]
    got = {row[at[0]]: (int(row[at[1]]), float(row[at[2]]), row[at[3]]) for row in sheet[1]}
    wanted = {key: (count, ns / 1e6, kind) for key, (count, ns, kind) in expected.items()}
    problems = [f"{len(sheet[1])} rows, expected {len(wanted)}"] if len(sheet[1]) != len(wanted) else []
    problems += [f"{key}: {got.get(key)}, expected {value}" for key, value in wanted.items() if got.get(key) != value]
    tally.add(name, problems[:3])


def check_format(tally, binary, folder, kind, run):
    def report(*options):
        out = os.path.join(folder, "out")
        shutil.rmtree(out, ignore_errors=True)
        done = harness.run([binary, "rocprof", os.path.join(folder, kind), "--output_csvs_dir", out, "--kernel_details", *options])
        tally.add(f"{kind} {options}: runs", done.problems() + ([done.stderr] if done.code else []))
        return {s[:-4]: harness.read_csv(os.path.join(out, s)) for s in os.listdir(out)}, done.stderr

    short, stderr = report()
    check_rows(tally, f"{kind}: short names", short["kernel_summary"], expected_rows(run, lambda k: k.truncated))
    ran = {maker.KERNELS[d.kernel] for process in run for d in process.dispatches}
    text = (f"{len({k.formatted for k in ran})} kernels have only {len({k.truncated for k in ran})} different short names")
    tally.add(f"{kind}: warning", [] if stderr.count(text) == 1 else [f"no {text!r} in {stderr!r}"])
    full, stderr = report("--full_kernel_names")
    check_rows(tally, f"{kind}: full names", full["kernel_summary"], expected_rows(run, lambda k: k.formatted))
    tally.add(f"{kind}: no warning with full names", [stderr] if "short names" in stderr else [])
    same = short["kernel_summary_by_category"] == full["kernel_summary_by_category"]
    tally.add(f"{kind}: categories are the same", [] if same else [str(full["kernel_summary_by_category"])])
    for options, wanted in (((), full), (("--kernel_names", "short"), short)):
        done = harness.run([binary, "report", os.path.join(folder, kind), "--output_csvs_dir", os.path.join(folder, "best"), *options])
        best = harness.read_csv(os.path.join(folder, "best", "kernel_summary.csv"))
        rows = [[row[:2] for row in table[1]] for table in (wanted["kernel_summary"], best)]
        tally.add(f"{kind}: report {' '.join(options)}", done.problems() + ([] if rows[0] == rows[1] else [f"{rows[0][:3]}, {rows[1][:3]}"]))
    names = {row[0] for row in full["kernel_details"][1]}
    tally.add(f"{kind}: kernel_details", [] if names == {k.formatted for k in ran} else [str(sorted(names)[:3])])


def check_distinct(tally, binary, folder):
    """Kernels with different short names: no warning."""
    run = maker.make_run(dispatches=30, seed=3)
    maker.write_all(run, folder, ("csv",))
    done = harness.run([binary, "rocprof", os.path.join(folder, "csv"), "--output_csvs_dir", os.path.join(folder, "out")])
    tally.add("distinct names: no warning", [done.stderr] if "short names" in done.stderr else [])


def process_with(kernel_id, full_name):
    """A process that dispatches one kernel with the short name k."""
    size = {"x": 1, "y": 1, "z": 1}
    return {"metadata": {"pid": 1, "init_time": 0, "fini_time": 1000},
            "kernel_symbols": [{"kernel_id": kernel_id, "code_object_id": 1, "kernel_name": "k.kd", "truncated_kernel_name": "k",
                                "formatted_kernel_name": full_name}],
            "buffer_records": {"kernel_dispatch": [
                {"thread_id": 1, "correlation_id": {"internal": 1, "external": 0}, "start_timestamp": 100, "end_timestamp": 200,
                 "dispatch_info": {"agent_id": {"handle": 1}, "queue_id": {"handle": 1}, "kernel_id": kernel_id, "dispatch_id": 1,
                                   "workgroup_size": size, "grid_size": size}}]}}


def check_repeated(tally, binary, folder):
    """Of a repeated key the last value counts, so that the kernel of the first one is not in the report."""
    os.makedirs(folder)
    path = os.path.join(folder, "1_results.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"rocprofiler-sdk-tool": %s, "rocprofiler-sdk-tool": %s}'
                   % tuple(json.dumps([process_with(kernel, name)]) for kernel, name in ((1, "k<int>(a)"), (2, "k<float>(b)"))))
    out = os.path.join(folder, "out")
    done = harness.run([binary, "rocprof", path, "--output_csvs_dir", out])
    tally.add("repeated: no warning", [done.stderr] if done.code or "short name" in done.stderr else [])
    rows = harness.read_csv(os.path.join(out, "kernel_summary.csv"))[1]
    tally.add("repeated: one kernel", [] if [row[:2] for row in rows] == [["k", "1"]] else [str(rows)])


def check_stats(tally, binary, folder):
    """Statistics without a trace."""
    os.makedirs(folder)
    with open(os.path.join(folder, "7_kernel_stats.csv"), "w", encoding="utf-8") as file:
        file.write('"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n'
                   '"void f<int>(int*)",2,3000,1500.000000,60.00,1000,2000,707.106781\n'
                   '"void f<float>(float*)",1,2000,2000.000000,40.00,2000,2000,0.00000000e+00\n')
    out = os.path.join(folder, "out")
    done = harness.run([binary, "rocprof", folder, "--output_csvs_dir", out])
    tally.add("statistics: warning", [] if "2 kernels have the same short name and share a row" in done.stderr else [done.stderr])
    harness.run([binary, "rocprof", folder, "--output_csvs_dir", out, "--full_kernel_names"])
    rows = harness.read_csv(os.path.join(out, "kernel_summary.csv"))[1]
    names = [row[0] for row in rows]
    tally.add("statistics: full names", [] if names == ["void f<int>(int*)", "void f<float>(float*)"] else [str(names)])


def check_formats(test):
    maker.KERNELS = make_kernels()
    rng, run = random.Random(4), maker.make_run(dispatches=400, processes=2, seed=9, counted=False)
    for process in run:  # one kernel never runs
        process.dispatches = [d._replace(kernel=rng.randrange(1, len(maker.KERNELS))) for d in process.dispatches]
    for kind in FORMATS:
        maker.write_all(run, test.folder, (kind,))
        check_format(test.tally, test.binary, test.folder, kind, run)


PARTS = (lambda test: check_distinct(test.tally, test.binary, os.path.join(test.folder, "distinct")),
         lambda test: check_stats(test.tally, test.binary, os.path.join(test.folder, "stats")),
         lambda test: check_repeated(test.tally, test.binary, os.path.join(test.folder, "repeated")),
         check_formats)

if __name__ == "__main__":
    sys.exit(checks.run_parts(__doc__, PARTS))
