#!/usr/bin/env python3
"""Reference model of the basic sheets of the PyTorch report: computed slowly and simply, independently of the C code.

    python3 -m tests.pytorch.reference_sheets TRACE.json[.gz] [--detect_recompute] [--include_unlinked_kernels]     prints the sheets as CSV

Events are Python dictionaries, times are ints or floats as json reads them, the call tree is a dictionary of parents.
The timeline is a sweep over all starts and ends with exact fractions, which has nothing in common with merging intervals.
sheets() returns gpu_timeline, ops_summary_by_category, ops_summary, kernel_summary and short_kernel_histogram.
"""
import argparse
import csv
import gzip
import itertools
import json
import re
import sys
from fractions import Fraction

KINDS = {
    "cpu_op": "cpu_op", "Operator": "cpu_op", "cuda_runtime": "runtime", "Runtime": "runtime", "cuda_driver": "runtime",
    "python_function": "python", "kernel": "kernel", "Kernel": "kernel", "gpu_memcpy": "memcpy", "Memcpy": "memcpy",
    "gpu_memset": "memset", "Memset": "memset", "ac2g": "arrow", "async_cpu_to_gpu": "arrow", "async": "arrow",
}
GPU = ("kernel", "memcpy", "memset")
COPY_NAMED_KERNEL = re.compile(r"(MEMORY_COPY_(HOST_TO_DEVICE|DEVICE_TO_HOST|DEVICE_TO_DEVICE)|"
                               r"__amd_rocclr_copyBuffer(Rect)?(Aligned)?)(\.kd)?")
COMMUNICATION = re.compile("rccl|nccl|cross_device_reduce", re.IGNORECASE)

NORMS = ["batch_norm", "layer_norm", "group_norm", "instance_norm"]
PYTORCH_OPS = {  # the categories of ops of PyTorch itself, without "aten::"
    "GEMM": "mm addmm _scaled_mm bmm baddbmm",
    "SDPA_fwd": "_scaled_dot_product_cudnn_attention _scaled_dot_product_efficient_attention "
                "_scaled_dot_product_flash_attention _efficient_attention_forward",
    "SDPA_bwd": "_scaled_dot_product_cudnn_attention_backward _scaled_dot_product_efficient_attention_backward "
                "_scaled_dot_product_flash_attention_backward _efficient_attention_backward",
    "CONV_fwd": "convolution miopen_convolution cudnn_convolution",
    "CONV_bwd": "convolution_backward",
    "elementwise": "copy copy_ clamp_min clamp_min_ clamp_max clamp_max_ sigmoid rsqrt silu neg pow replication_pad1d "
                   "replication_pad2d replication_pad3d upsample_nearest1d upsample_nearest2d upsample_nearest3d div div_ "
                   "mul mul_ add add_ sigmoid_backward threshold_backward",
    "NORM_fwd": " ".join(f"{p}{n}" for p in ("", "native_", "miopen_", "cudnn_") for n in NORMS) + " _fused_rms_norm",
    "NORM_bwd": " ".join(f"{p}{n}_backward" for p in ("", "native_", "miopen_", "cudnn_") for n in NORMS + ["rms_norm"])
                + " _fused_rms_norm_backward",
    "reduce": "sum mean max min norm linalg_norm std var logsumexp cumsum cumprod amin amax",
}
CATEGORY_OF = {f"aten::{name}": category for category, names in PYTORCH_OPS.items() for name in names.split()}


def category_of(name, first_kernel):
    """The category of an op whose earliest kernel has this name (None: it launched no kernel itself)."""
    if name in CATEGORY_OF:
        return CATEGORY_OF[name]
    for prefix in ("triton", "record_param_comms"):
        if name.startswith(prefix):
            return prefix
    if first_kernel and first_kernel.startswith("void at::native"):
        for part in ("elementwise", "reduce", "multi_tensor_apply"):
            if part in first_kernel:
                return part
    return "other"


# ---- callers and launchers ----


class Trace:
    """Events by their position in the file; everything about them is in dictionaries by that position."""

    def __init__(self, document, python_functions=False):
        events = document if isinstance(document, list) else document["traceEvents"]
        self.events = dict(enumerate(events))
        self.kind = {i: self.kind_of(e.get("cat"), e["ph"]) for i, e in self.events.items()}
        self.parent, self.launched = {}, {}
        self.build_tree(("cpu_op", "runtime", "python") if python_functions else ("cpu_op", "runtime"))
        self.link()

    @staticmethod
    def kind_of(category, phase):
        """A phase is one letter; records with another phase are not events."""
        return "metadata" if phase == "M" else KINDS.get(category, "other") if len(phase) == 1 else "other"

    def of_kind(self, *kinds):
        return [i for i in self.events if self.kind[i] in kinds]

    def end(self, i):
        return self.events[i]["ts"] + self.events[i]["dur"]

    def build_tree(self, kinds):
        stacks = {}
        for i in sorted(self.of_kind(*kinds), key=lambda i: self.events[i]["ts"]):
            event = self.events[i]
            stack = stacks.setdefault((event["pid"], event["tid"]), [])
            while stack and event["ts"] >= self.end(stack[-1]):
                stack.pop()
            if stack and self.end(i) > self.end(stack[-1]):
                if self.end(stack[-1]) - event["ts"] >= 1.0 or len(stack) < 2:
                    continue
                stack.pop()
            if stack:
                self.parent[i] = stack[-1]
            stack.append(i)

    def link(self):
        arg = lambda i, key: (self.events[i].get("args") or {}).get(key)
        runtime = self.of_kind("runtime")
        first = next((i for i in runtime if "launch" in self.events[i]["name"].lower()), None)
        key = "correlation" if first is not None and arg(first, "correlation") is not None else "External id"
        starts, ends, by_track, by_id = {}, {}, {}, {}
        for i in self.of_kind("arrow"):
            if self.events[i]["ph"] in "sf":
                (starts if self.events[i]["ph"] == "s" else ends)[self.events[i]["id"]] = self.events[i]
        for i in self.of_kind(*GPU):
            by_track[self.events[i]["pid"], self.events[i]["tid"], arg(i, key)] = i
            by_id.setdefault(arg(i, key), []).append(i)
        for i in runtime:
            link = arg(i, key)
            if link is None:
                continue
            work = []
            if self.events[i]["name"] in ("cudaGraphLaunch", "hipGraphLaunch"):
                work = by_id.get(link, [])
            elif link in starts and link in ends:
                track = (ends[link]["pid"], ends[link]["tid"], link)
                work = [by_track[track]] if track in by_track else []
            self.launch(i, work)

    def launch(self, call, work):
        for gpu in work:
            self.parent[gpu] = call
        above = call
        while work and above is not None:
            self.launched.setdefault(above, []).extend(work)
            above = self.parent.get(above)

    def ancestors(self, i):
        while i in self.parent:
            i = self.parent[i]
            yield i

    def recomputed(self):
        """Everything below a checkpoint's recompute function."""
        name = {i: self.events[i].get("name", "") for i in self.of_kind("python")}
        roots = {i for i in name if "torch/utils/checkpoint.py" in name[i] and "recompute_fn" in name[i]}
        return {i for i in self.events if i in roots or any(a in roots for a in self.ancestors(i))}

    def busy(self, work):
        """Merged length; an int if all inputs are ints, as Python adds them."""
        merged = []
        for start, end in sorted(((self.events[i]["ts"], self.end(i)) for i in work), key=lambda pair: pair[0]):
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        return sum(end - start for start, end in merged)


# ---- the timeline ----


def bucket(trace, i):
    name = trace.events[i]["name"]
    if trace.kind[i] == "memcpy" or (trace.kind[i] == "kernel" and COPY_NAMED_KERNEL.fullmatch(name)):
        return "memcpy"
    return "communication" if COMMUNICATION.search(name) else "computation"


def timeline_rows(trace, chosen, micro_idle_us):
    changes = []
    for i in chosen:
        start, end = Fraction(trace.events[i]["ts"]), Fraction(trace.end(i))
        changes += [(start, 1, bucket(trace, i)), (end, -1, bucket(trace, i))]
    times = dict.fromkeys(["computation", "exposed_comm", "exposed_memcpy", "busy", "micro", "macro", "comm", "memcpy"],
                          Fraction(0))
    running = {"computation": 0, "communication": 0, "memcpy": 0}
    at = begin = min(time for time, _, _ in changes)
    for time, here in itertools.groupby(sorted(changes, key=lambda change: change[0]), key=lambda change: change[0]):
        length, at = time - at, time
        computes, communicates, copies = (running[b] > 0 for b in ("computation", "communication", "memcpy"))
        times["computation"] += length * computes
        times["comm"] += length * communicates
        times["memcpy"] += length * copies
        times["exposed_comm"] += length * (communicates and not computes)
        times["exposed_memcpy"] += length * (copies and not communicates and not computes)
        times["busy"] += length * (computes or communicates or copies)
        if not any(running.values()):
            times["micro" if micro_idle_us is not None and length < micro_idle_us else "macro"] += length
        for _, step, which in here:
            running[which] += step
    total = at - begin
    rows = [("computation_time", "computation"), ("exposed_comm_time", "exposed_comm"),
            ("exposed_memcpy_time", "exposed_memcpy"), ("busy_time", "busy")]
    rows += [("idle_time", "macro")] if micro_idle_us is None else [("micro_idle_time", "micro"), ("macro_idle_time", "macro")]
    rows += [("total_time", "total"), ("total_comm_time", "comm"), ("total_memcpy_time", "memcpy")]
    times["total"] = total
    return [[kind, float(times[time] / 1000), float(times[time] / total * 100) if total else None] for kind, time in rows]


def gpu_timeline(trace, options, recomputed):
    chosen = [i for i in trace.of_kind(*GPU) if i in trace.parent or options.get("include_unlinked_kernels")]
    micro = options.get("micro_idle_thresh_us")
    if recomputed is None:
        return ["type", "time ms", "percent"], timeline_rows(trace, chosen, micro)
    rows = []
    for side in (False, True):
        part = [i for i in chosen if (i in recomputed) == side]
        rows += [[*row, side] for row in timeline_rows(trace, part, micro)] if part else []
    return ["type", "time ms", "percent", "is_recompute"], rows


# ---- ops and kernels ----


def launchers(trace):
    """Launcher -> its own kernels by start, in the order of the launchers' starts."""
    found = {}
    for i in trace.of_kind(*GPU):
        if i not in trace.parent or COMMUNICATION.search(trace.events[i]["name"]):
            continue
        launcher = call = trace.parent[i]
        for above in trace.ancestors(call):
            if trace.kind[above] == "cpu_op" and trace.events[above]["name"] != "execute":
                launcher = above
            if launcher != call or trace.kind[above] not in ("cpu_op", "python"):
                break
        found.setdefault(launcher, []).append(i)
    start = lambda i: trace.events[i]["ts"]
    return {i: sorted(found[i], key=start) for i in sorted(found, key=start)}


def add_up(values):
    """Whole numbers only if all are."""
    return sum(values) if all(isinstance(value, int) for value in values) else float(sum(map(Fraction, values)))


def column(values):
    """As in pandas: one float makes the whole column floats."""
    return values if all(isinstance(value, int) for value in values) else [float(value) for value in values]


def with_shares(rows, ms):
    """Longest first, ties in their order; then percentage and cumulative percentage of the column `ms`."""
    rows = sorted(rows, key=lambda row: -row[ms])
    total, running = sum(Fraction(row[ms]) for row in rows), Fraction(0)
    for row in rows:
        share = Fraction(row[ms]) / total * 100 if total > 0 else 0
        running += share
        row += [float(share), float(running)] if total > 0 else [0, 0]
    return rows


def op_sheets(trace, recomputed):
    own = launchers(trace)
    name = {i: trace.events[i]["name"] for i in own}
    category = {i: category_of(name[i], trace.events[own[i][0]]["name"]) for i in own}
    direct = dict(zip(own, column([trace.busy(own[i]) for i in own])))
    subtree = dict(zip(own, column([trace.busy(trace.launched.get(i, [])) for i in own])))
    side = lambda i: () if recomputed is None else (i in recomputed,)
    by_category, by_name = {}, {}
    for i in own:
        by_category.setdefault((category[i], *side(i)), []).append(i)
        by_name.setdefault((name[i], *side(i)), []).append(i)
    flag = [] if recomputed is None else ["is_recompute"]
    categories = [[*key, len(ops), float(add_up([direct[i] for i in ops])) / 1000] for key, ops in by_category.items()]
    names = []
    for key, ops in by_name.items():
        sums = [add_up([times[i] for i in ops]) for times in (direct, subtree)]
        names.append([*key, *sums, *(float(s) / 1000 for s in sums), len(ops), str(sorted({category[i] for i in ops}))])
    shares = ["Percentage (%)", "Cumulative Percentage (%)"]
    return {
        "ops_summary_by_category": (["op category", *flag, "Count", "total_direct_kernel_time_ms", *shares],
                                    with_shares(categories, 2 + len(flag))),
        "ops_summary": (["name", *flag, "total_direct_kernel_time_sum", "total_subtree_kernel_time_sum",
                         "total_direct_kernel_time_ms", "total_subtree_kernel_time_ms", "Count", "Categories", *shares],
                        with_shares(names, 3 + len(flag))),
    }


def missing_last(key):
    return [(value is None, value) for value in key]


def kernel_summary(trace, total_ms, chosen=None):
    """For all kernels, or the chosen ones: the set of columns and their types depend on all kernels."""
    own = launchers(trace)
    groups, kernels = {}, trace.of_kind("kernel")
    op_of = {i: next((a for a in trace.ancestors(i) if trace.kind[a] == "cpu_op"), None) for i in kernels}
    have_ops = any(op is not None for op in op_of.values())
    for i in kernels:
        if chosen is not None and i not in chosen:
            continue
        op, call = op_of[i], trace.parent.get(i)
        if op is not None:
            first = trace.events[own[op][0]]["name"] if op in own else None
            category, parent = category_of(trace.events[op]["name"], first), trace.events[op]["name"]
        elif call is not None:
            parent = trace.events[call]["name"]
            category = "graph" if re.search("cudagraph|graphlaunch", parent, re.IGNORECASE) else "runtime"
        else:
            category = parent = None
        event = trace.events[i]
        key = (category, *([parent] if have_ops else []), event["name"], (event.get("args") or {}).get("stream"))
        groups.setdefault(key, []).append(event["dur"])
    durations = dict(zip(kernels, column([trace.events[i]["dur"] for i in kernels])))
    as_column = float if any(isinstance(d, float) for d in durations.values()) else int
    streams = column_of_streams([key[-1] for key in groups])
    total = sum(Fraction(d) for i, d in durations.items() if chosen is None or i in chosen)
    rows = []
    for key in sorted(groups, key=missing_last):
        times = groups[key]
        exact = sum(map(Fraction, times))
        rows.append([*key[:-1], streams[key[-1]], as_column(exact), len(times), float(exact / len(times)),
                     as_column(min(times)), as_column(max(times)), float(exact / total * 100) if total > 0 else None,
                     float(exact) / (total_ms * 1e3) * 100 if total_ms > 0 else None])
    rows.sort(key=lambda row: -row[len(key)])
    headings = ["Parent op category", *(["Parent cpu_op"] if have_ops else []), "Kernel name", "Kernel stream"]
    return headings + [f"Kernel duration (µs)_{s}" for s in ("sum", "count", "mean", "min", "max")] + [
        "Percent of kernels time (%)", "Percent of total time (%)"], rows


def column_of_streams(values):
    """A missing value makes the column floats."""
    whole = all(value is not None for value in values)
    return {value: value if whole or value is None else float(value) for value in values}


def short_kernel_histogram(trace, options):
    bins = options.get("short_kernel_histogram_bins", 100)
    times = [float(trace.events[i]["dur"]) for i in trace.of_kind("kernel")]
    times = [time for time in times if time < options.get("short_kernel_threshold_us", 10)]
    if not times:
        return ["bin_start", "bin_end", "count"], []
    low, high = min(times), max(times)
    if low == high:
        low, high = low - 0.5, high + 0.5
    step = (high - low) / bins
    edges = [i * step + low for i in range(bins)] + [high]
    counts = [sum(edges[i] <= t < edges[i + 1] or (i == bins - 1 and t == high) for t in times) for i in range(bins)]
    return ["bin_start", "bin_end", "count"], [[edges[i], edges[i + 1], counts[i]] for i in range(bins)]


def sheets(document, **options):
    """The sheets by name: (headings, rows), without the sheets that a report omits."""
    recompute = options.get("detect_recompute")
    trace = Trace(document, python_functions=recompute)
    recomputed = trace.recomputed() if recompute else None
    made = {"gpu_timeline": gpu_timeline(trace, options, recomputed)}
    total_ms = next(row[1] for row in made["gpu_timeline"][1] if row[0] == "total_time")
    if trace.of_kind("cpu_op"):
        made.update({name: sheet for name, sheet in op_sheets(trace, recomputed).items() if sheet[1]})
    if options.get("enable_kernel_summary") and trace.of_kind("kernel"):
        made["kernel_summary"] = kernel_summary(trace, total_ms)
    if options.get("short_kernel_study"):
        made["short_kernel_histogram"] = short_kernel_histogram(trace, options)
    return made


def read(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rb") as file:
        return json.loads(file.read().decode("utf-8", "replace"), strict=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    for flag in ("detect_recompute", "include_unlinked_kernels"):
        parser.add_argument(f"--{flag}", action="store_true")
    options = vars(parser.parse_args())
    writer = csv.writer(sys.stdout, lineterminator="\n")
    made = sheets(read(options.pop("trace")), enable_kernel_summary=True, short_kernel_study=True, **options)
    for name, (headings, rows) in made.items():
        print(f"# {name}")
        writer.writerow(headings)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
