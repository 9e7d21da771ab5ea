"""Reference model of the sheets of the batch report, from their definitions and the JSON of each rank.

sheets() takes (rank, document) pairs in the order of ranks and returns sheet -> (headings, rows). Flops and bytes are computed
for matrix products and for sums and products of tensors; for other ops, only measured values are compared.
"""
import statistics
from fractions import Fraction

from tests.pytorch import reference_sheets as pytorch_reference

GROUPS = {
    "gemm": "aten::mm aten::_scaled_mm aten::addmm aten::bmm aten::baddbmm",
    "conv": "aten::convolution",
    "attn": "aten::_scaled_dot_product_cudnn_attention aten::_scaled_dot_product_efficient_attention "
            "aten::_scaled_dot_product_flash_attention flash_attn::_flash_attn_forward",
    "un_elemwise": "aten::copy aten::copy_ aten::clamp_min aten::clamp_min_ aten::clamp_max aten::clamp_max_ aten::sigmoid",
    "bin_elemwise": "aten::div aten::div_ aten::mul aten::mul_ aten::add aten::add_ aten::sigmoid_backward "
                    "aten::threshold_backward",
}
GROUPS = {group: set(names.split()) for group, names in GROUPS.items()}
BREAKDOWN = {
    "Attention": {"aten::_cudnn_attention_forward", "aten::_efficient_attention_forward", "flash_attn::_flash_attn_forward",
                  "flash_attn::_flash_attn_varlen_forward", "FlashAttnFunc", "vllm::unified_attention_with_output"},
    "GEMM": GROUPS["gemm"],
    "Conv": {"aten::miopen_convolution", "aten::cudnn_convolution"},
    "Norm": {"aten::native_group_norm", "aten::native_layer_norm", "_C::rms_norm", "_C::fused_add_rms_norm"},
    "UpSample": {"aten::upsample_nearest3d", "aten::upsample_nearest2d", "aten::upsample_bicubic2d",
                 "aten::_upsample_nearest_exact2d"},
    "Pad": {"aten::replication_pad3d"},
    "Elemwise": GROUPS["un_elemwise"] | GROUPS["bin_elemwise"],
    "Concat": {"aten::cat"},
    "MoE": {"vllm::moe_forward"},
    "Triton": None,
}
CATEGORIES = {"Kernel": "kernel", "Memcpy": "gpu_memcpy", "Memset": "gpu_memset", "Runtime": "cuda_runtime"}
MEASURES = ("count", "min_dur", "max_dur", "mean_dur")
TIMELINE = ["computation_time", "exposed_comm_time", "exposed_memcpy_time", "busy_time", "idle_time", "total_time",
            "total_comm_time", "total_memcpy_time"]


def argument(event, key):
    return (event.get("args") or {}).get(key)


def category(event):
    return CATEGORIES.get(event["cat"], event["cat"])


def exact(values):
    return sum(map(Fraction, values))


def op_above(trace, i):
    return next((a for a in trace.ancestors(i) if trace.kind[a] == "cpu_op"), None)


# ---- time by launcher ----


def launcher_sheet(ranks):
    times = {}
    for _, trace in ranks:
        for i, kernels in pytorch_reference.launchers(trace).items():
            times.setdefault(trace.events[i]["name"], []).append(trace.busy(kernels))
    rows = [[name, len(times[name]), float(exact(times[name])) / 1000] for name in sorted(times)]
    rows = pytorch_reference.with_shares(rows, 2)
    for row in rows:
        row += [row[2] / len(ranks), row[1] / len(ranks)]
    return ["name", "count", "kernel_time_ms", "pct", "cum_pct", "time_ms_avg", "count_avg"], rows


def breakdown_sheet(launchers, timelines):
    rows, others = [], {row[0]: row[5] for row in launchers}
    for group, names in BREAKDOWN.items():
        members = [n for n in others if (n.startswith("triton_") if names is None else n in names)]
        rows.append([group, sum(others.pop(n) for n in members) / 1000])
    average = {row[0]: row[-2] for row in timelines}
    rows += [["Comms", average["total_comm_time"] / 1000], ["Memcpy", average["total_memcpy_time"] / 1000],
             ["Other", sum(others.values()) / 1000]]
    return ["Group", "Time (s)"], rows + [["Total", sum(row[1] for row in rows)]]


def timeline_sheet(ranks):
    headings, columns = ["type"], []
    for rank, trace in ranks:
        rows = pytorch_reference.gpu_timeline(trace, {}, None)[1]
        columns += [[row[1] for row in rows], [row[2] for row in rows]]
        headings += [f"time_ms_{rank}", f"percent_{rank}"]
    times = list(zip(*columns[::2]))
    columns += [[statistics.fmean(row) for row in times], [statistics.pstdev(row) for row in times]]
    return headings + ["time_ms_avg", "time_ms_std"], [[kind, *cells] for kind, *cells in zip(TIMELINE, *columns)]


# ---- kernels and calls ----


def is_linked(event):
    return argument(event, "External id") is not None


def count_sheet(ranks):
    rows = []
    for rank, trace in ranks:
        events = [trace.events[i] for i in trace.of_kind(*pytorch_reference.GPU)]
        short = [e for e in events if e.get("dur", 0) < 10]
        rows.append([rank, len(events), sum(map(is_linked, events)), sum(not is_linked(e) for e in events),
                     sum(map(is_linked, short)), sum(not is_linked(e) for e in short)])
    return ["rank", "num_kernel_events", "num_kernel_events_linked", "num_kernel_events_unlinked",
            "num_short_kernel_events_linked", "num_short_kernel_events_unlinked"], rows


def measured(times):
    return [len(times), float(min(times)), float(max(times)), float(exact(times) / len(times))]


def unlinked_sheet(ranks):
    times = {}
    for _, trace in ranks:
        for i in trace.of_kind(*pytorch_reference.GPU):
            event = trace.events[i]
            if not is_linked(event):
                times.setdefault((event["name"], category(event)), []).append(event.get("dur", 0))
    rows = [[*key, *measured(times[key])] for key in sorted(times)]
    return ["name", "cat", *MEASURES], sorted(rows, key=lambda row: -row[2])


def short_op_sheet(ranks):
    counts = {}
    for _, trace in ranks:
        for i in trace.of_kind("kernel"):
            op = op_above(trace, i)
            if op is not None and trace.events[i]["dur"] < 10:
                name = trace.events[op]["name"]
                counts[name] = counts.get(name, 0) + 1
    rows = sorted(([name, count] for name, count in counts.items()), key=lambda row: -row[1])
    return ["", "count"], rows + ([["Total", sum(counts.values())]] if rows else [])


def call_sheet(ranks):
    times = {}
    for rank, trace in ranks:
        for i in trace.of_kind("runtime"):
            event = trace.events[i]
            times.setdefault((event["name"], category(event)), {}).setdefault(rank, []).append(event.get("dur", 0))
    numbers = sorted({rank for by_rank in times.values() for rank in by_rank})
    rows = []
    for key in sorted(times):
        cells = {rank: measured(times[key][rank]) for rank in times[key]}
        rows.append([*key, *(cells[rank][m] if rank in cells else None for m in range(4) for rank in numbers)])
    return ["name", "cat", *(f"{m}_{rank}" for m in MEASURES for rank in numbers)], rows


def as_tuples(value):
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


def kernel_sheet(trace):
    rows = []
    for i in trace.of_kind("kernel"):
        event, op = trace.events[i], op_above(trace, i)
        row = [i, event["name"], event["ts"], event["dur"], argument(event, "stream")]
        if op is None:
            rows.append(row + [None] * 10)
            continue
        below = trace.launched[op]
        texts = [argument(trace.events[op], key) for key in ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")]
        busy = trace.busy(below)
        rows.append(row + [op, trace.events[op]["name"], *(None if t is None else str(as_tuples(t)) for t in texts),
                           argument(trace.events[op], "kernel_file"), float(busy), len(below),
                           100.0 if len(below) == 1 else event["dur"] / busy * 100])
    return ["UID", "Kernel name", "Kernel t start", "Kernel duration (µs)", "Kernel stream", "Parent cpu_op UID",
            "Parent cpu_op", "Input dims", "Input types", "Input strides", "Concrete Inputs", "kernel_file",
            "Parent cpu_op busy time (µs)", "Parent cpu_op kernel count", "Percent of Parent cpu_op busy time (%)"], rows


# ---- groups of ops ----


def work_of(event):
    """(flops, bytes) of an op on tensors of two bytes per element; None for ops without a model here."""
    dims, types = argument(event, "Input Dims"), argument(event, "Input type")
    name = event["name"]
    if name in ("aten::mm", "aten::addmm"):
        a, b = dims[-2:] if name == "aten::mm" else dims[1:3]
        (m, k), (_, n), bias = a, b, name == "aten::addmm"
        if set(types) - {"c10::BFloat16", "Scalar"} or (bias and len(dims[0]) != 1):
            return None
        return 2 * m * n * k + bias * m * n, 2 * (m * k + k * n + m * n + bias * n)
    if name in ("aten::add", "aten::mul") and dims[0] == dims[1] and set(types[:2]) == {"c10::BFloat16"}:
        elements = 1
        for size in dims[0]:
            elements *= size
        return elements, 2 * 3 * elements
    return None


def deviation(values):
    return statistics.stdev(values) if len(values) > 1 else None


def group_rows(ranks, group):
    """One dictionary for all ops of the group with the same name and arguments, in time order."""
    found = {}
    for _, trace in ranks:
        for i, event in trace.events.items():
            if event.get("name") not in GROUPS[group] or argument(event, "Input Dims") is None:
                continue
            keys = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
            key = (event["name"], *(str(argument(event, k)) for k in keys))
            found.setdefault(key, []).append((trace, i))
    rows = []
    for key, ops in found.items():
        start = lambda trace: lambda k: trace.events[k]["ts"]
        kernels = [sorted(t.launched.get(i, []), key=start(t)) for t, i in ops]
        moves = lambda t, k: any(p in t.events[k]["name"] for p in ("at::native::direct_copy_kernel_cuda", "transpose_"))
        times = [float(t.busy(k)) for (t, _), k in zip(ops, kernels)]
        rest = [float(t.busy([x for x in k if not moves(t, x)])) for (t, _), k in zip(ops, kernels)]
        row = {"name": key[0], "name_count": len(ops), "UID_first": ops[0][1], "Kernel Time (µs)_sum": float(exact(times)),
               "Kernel Time (µs)_mean": float(exact(times) / len(times)), "Kernel Time (µs)_std": deviation(times),
               "Non-Data-Mov Kernel Time (µs)_sum": float(exact(rest)), "Input Dims_first": key[1],
               "Input type_first": key[2], "Input Strides_first": key[3], "Concrete Inputs_first": key[4]}
        work = work_of(ops[0][0].events[ops[0][1]])
        if work:
            tera = lambda amount, durations: [amount / 1e12 / (d / 1e6) for d in durations if d > 0]
            for name, rates in (("TB/s", tera(work[1], times)), ("TFLOPS/s", tera(work[0], times)),
                                ("Non-Data-Mov TFLOPS/s", tera(work[0], rest))):
                row[name + "_mean"] = statistics.fmean(rates) if rates else None
                row[name + "_std"] = deviation(rates)
            row.update({"GFLOPS_first": work[0] / 1e9, "Data Moved (MB)_first": work[1] / 1048576,
                        "FLOPS/Byte_first": work[0] / work[1]})
        rows.append((row, ops, kernels))
    rows.sort(key=lambda r: (-r[0]["Kernel Time (µs)_sum"], r[0]["UID_first"]))
    total, running = exact(r[0]["Kernel Time (µs)_sum"] for r in rows), Fraction(0)
    for row, _, _ in rows:
        running += Fraction(row["Kernel Time (µs)_sum"])
        row["kernel_time_sum_cum_pct"] = float(running / total) if total else None
    return rows


def kernel_details(ops, kernels):
    """The content of the details cell: kernels in their order, by those of the first op that has kernels."""
    pattern = next(((t, k) for (t, _), k in zip(ops, kernels) if k), None)
    if not pattern:
        return []
    lists = [[t.events[x]["dur"] for x in k] for (t, _), k in zip(ops, kernels) if len(k) == len(pattern[1])]
    return [{"name": pattern[0].events[k]["name"], "stream": argument(pattern[0].events[k], "stream"), "count": len(lists),
             "total_duration_us": float(exact(d[place] for d in lists)),
             "mean_duration_us": statistics.fmean(d[place] for d in lists),
             "std_dev_duration_us": statistics.pstdev([float(d[place]) for d in lists])}
            for place, k in enumerate(pattern[1])]


def sheets(documents):
    """Sheet -> (headings, rows), except the groups of ops and the collectives."""
    ranks = [(rank, pytorch_reference.Trace(document)) for rank, document in documents]
    launchers, timelines = launcher_sheet(ranks), timeline_sheet(ranks)
    found = {"kernel_launchers": launchers, "gpu_timelines": timelines, "linked_and_short_kernels": count_sheet(ranks),
             "unlinked_short_kernels_summary": unlinked_sheet(ranks), "short_cpu_op_counts": short_op_sheet(ranks),
             "cuda_events_summary": call_sheet(ranks), "grouped_breakdown": breakdown_sheet(launchers[1], timelines[1])}
    found = {name: sheet for name, sheet in found.items() if sheet[1]}
    found.update({f"kernels_{rank}": kernel_sheet(trace) for rank, trace in ranks})
    return found, ranks
