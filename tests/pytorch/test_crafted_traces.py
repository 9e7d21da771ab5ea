#!/usr/bin/env python3
"""Traces made to take long: --include_overlap_info and --detect_recompute take time in proportion to the trace.

    python3 -m tests.pytorch.test_crafted_traces --bin build/gputally [--only TEXT]
"""
import ast
import json
import os
import sys

from tests.common import harness, scaling

RECOMPUTE = "torch/utils/checkpoint.py(1): recompute_fn"
FRAMES_MAX = 1000  # of a call stack
SQUARE = {"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"], "Input Strides": [[64, 1], [64, 1]],
          "Concrete Inputs": ["", ""]}  # two matrices


class Trace:
    def __init__(self):
        self.events, self.launches = [], 0

    def add(self, category, name, start, duration, pid=1, tid=1, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "ts": start, "dur": duration, "pid": pid, "tid": tid,
                            "args": arguments})

    def launch(self, start, kernel_start, kernel_duration, stream, kernel="k", op=None):
        self.launches += 1
        if op:
            self.add("cpu_op", op, start - 0.2, 0.9)
        self.add("cuda_runtime", "cudaLaunchKernel", start, 0.5, correlation=self.launches)
        self.add("kernel", kernel, kernel_start, kernel_duration, 0, stream, correlation=self.launches, stream=stream)
        for phase, pid, tid in (("s", 1, 1), ("f", 0, stream)):
            self.events.append({"ph": phase, "cat": "ac2g", "id": self.launches, "name": "ac2g", "ts": start, "pid": pid,
                                "tid": tid, "bp": "e"})

    def write(self, path):
        with open(path, "w") as file:
            json.dump({"traceEvents": self.events}, file)


def nested_regions(trace, n, op_of=lambda i: "aten::relu"):
    """Recompute functions inside each other, each with an op."""
    for i in range(n):
        trace.add("python_function", RECOMPUTE, 4 * i, 8 * n - 4 * i + 100)
        trace.launch(4 * i + 1, 1e6 + 3 * i, 2, 7, op=op_of(i))


def nested_regions_of_different_ops(trace, n):
    nested_regions(trace, n, lambda i: f"aten::op{i}")


def nested_regions_in_one_op(trace, n):
    trace.add("cpu_op", "my::op", 0, 100 * n)
    for i in range(n):
        trace.add("python_function", RECOMPUTE, 4 * i + 1, 8 * n - 4 * i + 100)
        trace.launch(4 * i + 2, 1e6 + 3 * i, 2, 7)


def regions_side_by_side(trace, n):
    for i in range(n):
        trace.add("python_function", RECOMPUTE, 4 * i, 3)
        trace.launch(4 * i + 1, 1e6 + 3 * i, 2, 7, op="aten::relu")


def all_at_once(trace, n):
    """Every kernel on its own stream, all running at the same time."""
    for i in range(n):
        trace.launch(4 * i + 1, 1e6 + 0.01 * i, 1e5, i + 1, kernel=f"k{i}", op="aten::relu")


def one_long_kernel(trace, n):
    trace.launch(1, 1e6, 10 * n, 1, op="aten::relu")
    for i in range(n):
        trace.launch(4 * i + 5, 1e6 + 5 * i, 4, 2, kernel=f"k{i}", op="aten::relu")


def pairs_after_a_crowd(trace, n):
    """Many kernels too short to overlap at once, then three at a time."""
    for i in range(n):
        trace.launch(4 * i + 1, 1e6, 0.5, i + 1, op="aten::relu")
    for i in range(n):
        for stream in (1, 2, 3):
            trace.launch(4 * (n + 3 * i + stream) + 1, 2e6 + 10 * i, 5, stream, op="aten::relu")


def nested_ops(trace, n, op_of=lambda i: "aten::mm"):
    """Ops inside each other, each with a kernel and a model; the kernels overlap the next ones in places."""
    for i in range(n):
        trace.add("cpu_op", op_of(i), 20 * i, 20 * (3 * n - i), **SQUARE)
        trace.launch(20 * i + 5, *kernel_of_nested_op(i), 7)


def nested_ops_of_different_names(trace, n):
    nested_ops(trace, n, lambda i: f"my::op_{i}")


def kernel_of_nested_op(i):
    """(start, duration); every third one runs into the next, every seventh before the one before."""
    return 10000 + 20 * i - (30 if i % 7 == 0 else 0), 30 if i % 3 == 0 else 8.5


def check_nested_times(binary, folder):
    """The kernel time below each of 300 nested ops, computed here by marking half microseconds."""
    outcome, sheets = report(binary, folder, nested_ops_of_different_names, 300)
    headings, rows = sheets["ops_unique_args"]
    name, time = headings.index("name"), headings.index("total_subtree_kernel_time_sum")
    found = {row[name]: float(row[time]) for row in rows}
    marked, expected = set(), {}
    for i in reversed(range(300)):
        start, duration = kernel_of_nested_op(i)
        marked.update(range(int(2 * start), int(2 * (start + duration))))
        expected[f"my::op_{i}"] = len(marked) / 2
    return outcome.problems() + ([] if found == expected else ["kernel times below nested ops differ"])


def check_growth(binary, folder, make, option, n, expected_code):
    def command_for(size):
        path = os.path.join(folder, f"trace{size}.json")
        trace = Trace()
        make(trace, size)
        trace.write(path)
        return [binary, "pytorch", path, option, "--quiet", "--output_csvs_dir", os.path.join(folder, "out")]

    return scaling.growth_problems(command_for, n, expected_code, limit=30)


def report(binary, folder, make, n, *options):
    """(outcome, {sheet: (headings, rows)})"""
    trace = Trace()
    make(trace, n)
    trace.write(os.path.join(folder, "trace.json"))
    out = os.path.join(folder, "out")
    outcome = harness.run([binary, "pytorch", os.path.join(folder, "trace.json"), *options, "--output_csvs_dir", out])
    names = os.listdir(out) if os.path.isdir(out) else []
    return outcome, {name[:-4]: harness.read_csv(os.path.join(out, name)) for name in names}


def check_refusal(binary, folder):
    """All pairs of 500 kernels are listed; those of 1500 are too many, and nothing is written."""
    few, sheets = report(binary, os.path.join(folder), all_at_once, 500, "--include_overlap_info")
    headings, rows = sheets["unified_perf_summary_kl_overlap"]
    problems = few.problems()
    names = headings.index("overlapping_kernel_names")
    if sorted(len(ast.literal_eval(row[names])) for row in rows) != [499] * 500:
        problems.append("not every kernel has 499 partners")
    many, _ = report(binary, folder, all_at_once, 1500, "--include_overlap_info")
    if many.code != 1 or "pairs of 1500 kernels overlap: too many to list; omit --include_overlap_info" not in many.stderr:
        problems.append(f"1500 kernels: exit code {many.code}: {many.stderr[-200:]}")
    return problems


def check_deep_stacks(binary, folder):
    """The innermost frames of deep stacks are shown; equal ops share a row with the stack of the first."""
    outcome, sheets = report(binary, folder, nested_regions_of_different_ops, 1500, "--include_call_stack", "--detect_recompute")
    headings, rows = sheets["unified_perf_summary"]
    name, stack = headings.index("name"), headings.index("call_stack_full")
    problems = outcome.problems()
    for row in rows:
        number = int(row[name][len("aten::op"):])
        frames = ast.literal_eval(row[stack])
        expected = ([RECOMPUTE] * (number + 1) + [row[name]])[-FRAMES_MAX:] + ["k"]
        if frames != expected:
            problems.append(f"{row[name]}: {len(frames)} frames instead of {len(expected)}")
    return problems + ([] if len(rows) == 1500 else [f"{len(rows)} rows"])


def case(name, make, option, n, code=0):
    # Below FRAMES_MAX, call stacks of nested functions still become deeper: the time of 4n is not four times that of n.
    return harness.Case(name, check_growth, make, option, max(n // 2, FRAMES_MAX) if harness.IS_SANITIZED else n, code)


CASES = [
    case("nested recompute functions", nested_regions, "--detect_recompute", 4000),
    case("nested recompute functions, different ops", nested_regions_of_different_ops, "--detect_recompute", 1250),
    case("nested recompute functions in one op", nested_regions_in_one_op, "--detect_recompute", 1250),
    case("recompute functions side by side", regions_side_by_side, "--detect_recompute", 4000),
    case("kernels that all overlap", all_at_once, "--include_overlap_info", 3000, 1),
    case("one kernel that overlaps all", one_long_kernel, "--include_overlap_info", 3000),
    case("overlaps after a crowd", pairs_after_a_crowd, "--include_overlap_info", 2000),
    case("nested ops with kernels", nested_ops, "--enable_kernel_summary", 6000),
    harness.Case("times below nested ops", check_nested_times),
    harness.Case("too many overlaps are refused", check_refusal),
    harness.Case("call stacks are limited", check_deep_stacks),
]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], CASES))
