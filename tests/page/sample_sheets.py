"""Sheets and front of a synthetic page (sample.py): those of a report that the page's sections read, with the columns of
real reports and values that follow from the events."""
from collections import defaultdict

from tests.page.pack import Column, Table

# flops and bytes of one call, by op and shapes (hand-computed from the shapes, in bf16)
GEMMS = {
    "((2304,),(8192,768),(768,2304))": (8192, 768, 2304), "((768,),(8192,768),(768,768))": (8192, 768, 768),
    "((3072,),(8192,768),(768,3072))": (8192, 768, 3072), "((768,),(8192,3072),(3072,768))": (8192, 3072, 768),
    "((8192,768),(768,3072))": (8192, 768, 3072), "((3072,8192),(8192,768))": (3072, 8192, 768),
}
ELEMENTS = {"aten::gelu": 8 * 1024 * 3072, "aten::add": 8 * 1024 * 768, "aten::native_layer_norm": 8 * 1024 * 768,
            "aten::native_layer_norm_backward": 8 * 1024 * 768, "aten::sum": 8192 * 3072}
ATTENTION = {"aten::_flash_attention_forward": 1.0, "aten::_scaled_dot_product_flash_attention_backward": 2.5}
OP_CATEGORY = {"GEMM": "GEMM", "attention": "SDPA_fwd", "convolution": "CONV_fwd", "normalisation": "NORM_fwd", "elementwise": "elementwise",
               "reduction": "reduce", "optimizer": "optimizer", "communication": "NCCL", "copy": "memcpy", "other": "other"}


def op_cost(call):
    """GFLOPS, bytes, precision; None without a performance model."""
    shapes = call.shapes.replace(" ", "")
    if shapes in GEMMS and call.op in ("aten::addmm", "aten::mm"):
        m, k, n = GEMMS[shapes]
        return 2 * m * k * n / 1e9, 2 * (m * k + k * n + m * n), "matrix_bf16"
    if call.op in ELEMENTS:
        return 4 * ELEMENTS[call.op] / 1e9, 6 * ELEMENTS[call.op], "vector_fp32"
    if call.op in ATTENTION:
        return ATTENTION[call.op] * 4 * 8 * 12 * 1024 * 1024 * 64 / 1e9, ATTENTION[call.op] * 8 * 8 * 12 * 1024 * 64, "matrix_bf16"
    return None


def sheet(name, columns, rows):
    """columns: name and type of each."""
    return Table(name, [Column(column, kind, [row[i] for row in rows], "string") for i, (column, kind) in enumerate(columns)])


def by_call(trace):
    """GPU time of calls: {call: {kernel: list of ns}}."""
    groups = defaultdict(lambda: defaultdict(list))
    for event in trace.gpu:
        groups[event.call][event.kernel].append(event.ns)
    return groups


UNIFIED = [("name", "string"), ("op category", "string"), ("process_name", "string"), ("thread_name", "string"), ("Input Dims", "string"),
           ("Input type", "string"), ("Concrete Inputs", "string"), ("ex_UID", "int"), ("operation_count", "int"), ("total_duration_us", "float"),
           ("GFLOPS", "float"), ("Data Moved (MB)", "float"), ("FLOPS/Byte", "float"), ("Compute Spec", "string"), ("Roofline Bound", "string"),
           ("TB/s_mean", "float"), ("TFLOPS/s_mean", "float"), ("Kernel Time (µs)_mean", "float"), ("Kernel Time (µs)_sum", "float"),
           ("Roofline Time (µs)_first", "float"), ("Pct Roofline_mean", "float"), ("kernel_details_summary", "string"),
           ("has_perf_model", "bool"), ("Percentage (%)", "float"), ("Cumulative Percentage (%)", "float")]


def unified_sheet(trace, groups):
    merged = defaultdict(list)
    for row, kernels in groups.items():
        call = trace.calls[row]
        merged[call.op, call.shapes].append((call, kernels))
    total = sum(ns for kernels in groups.values() for list_ in kernels.values() for ns in list_)
    rows = []
    for (op, shapes), members in merged.items():
        kernels = [(kernel, ns) for _, found in members for kernel, list_ in found.items() for ns in list_]
        largest = max({kernel for kernel, _ in kernels}, key=lambda k: sum(ns for kernel, ns in kernels if kernel == k))
        calls = sum(1 for kernel, _ in kernels if kernel == largest)
        us = sum(ns for _, ns in kernels) / 1000
        cost = op_cost(members[0][0])
        cells = [None] * 7
        if cost:
            gflops, moved, spec = cost
            roof = max(gflops / (989.5 if "matrix" in spec else 66.9) * 1e3, moved / 4.8e6)
            mean = us / calls
            cells = [gflops, moved / 2**20, gflops * 1e9 / moved, spec, "COMPUTE_BOUND" if roof > moved / 4.8e6 else "MEMORY_BOUND",
                     moved / mean / 1e6, gflops / mean * 1e3]
        details = str([{"name": trace.kernels[kernel].name if isinstance(trace.kernels[kernel].name, str) else "?", "stream": 7}
                       for kernel in sorted({k for k, _ in kernels})])
        rows.append([op, OP_CATEGORY[trace.kernels[largest].category], "python", "thread 12345 (main)", shapes,
                     "('c10::BFloat16', 'c10::BFloat16')", "('', '', '1', '1')", len(rows), calls, us * 1.7, *cells, us / calls, us,
                     cost and roof, cost and 100 * roof / (us / calls), details, cost is not None, us * 1e5 / total, 0.0])
    rows.sort(key=lambda row: -row[18])
    running = 0.0
    for row in rows:
        running += row[-2]
        row[-1] = running
    return sheet("unified_perf_summary", UNIFIED, rows)


def kernel_sheet(trace, groups):
    merged = defaultdict(list)
    for row, kernels in groups.items():
        for kernel, list_ in kernels.items():
            merged[trace.calls[row].op, kernel] += list_
    total = sum(map(sum, merged.values()))
    rows = [(OP_CATEGORY[trace.kernels[kernel].category], op, trace.kernels[kernel].name, 7, sum(ns) / 1000, len(ns), sum(ns) / len(ns) / 1000,
             min(ns) / 1000, max(ns) / 1000, 100 * sum(ns) / total) for (op, kernel), ns in merged.items()]
    rows.sort(key=lambda row: -row[4])
    return sheet("kernel_summary", [("Parent op category", "string"), ("Parent cpu_op", "string"), ("Kernel name", "string"),
                                    ("Kernel stream", "int"), ("Kernel duration (µs)_sum", "float"), ("Kernel duration (µs)_count", "int"),
                                    ("Kernel duration (µs)_mean", "float"), ("Kernel duration (µs)_min", "float"),
                                    ("Kernel duration (µs)_max", "float"), ("Percent of kernels time (%)", "float")], rows)


def rocprof_kernel_sheet(trace):
    merged = defaultdict(list)
    for event in trace.gpu:
        merged[event.kernel].append(event.ns)
    total = sum(map(sum, merged.values()))
    rows = [(trace.kernels[kernel].name, len(ns), sum(ns) / len(ns) / 1000, min(ns) / 1000, max(ns) / 1000, 100 * sum(ns) / total,
             sum(ns) / 1e6, trace.kernels[kernel].category) for kernel, ns in merged.items()]
    rows.sort(key=lambda row: -row[6])
    return sheet("kernel_summary", [("name", "string"), ("Count", "int"), ("Mean Kernel Time (µs)", "float"), ("Min Kernel Time (µs)", "float"),
                                    ("Max Kernel Time (µs)", "float"), ("Percentage (%)", "float"), ("Total Kernel Time (ms)", "float"),
                                    ("Category", "string")], rows)


def ops_sheet(trace, groups):
    merged = defaultdict(lambda: [0, 0, set()])
    for row, kernels in groups.items():
        entry = merged[trace.calls[row].op]
        for kernel, list_ in kernels.items():
            entry[0] += sum(list_)
            entry[1] += len(list_)
            entry[2].add(OP_CATEGORY[trace.kernels[kernel].category])
    total = sum(entry[0] for entry in merged.values())
    rows = [(op, ns / 1000, ns / 1e6, count, sorted(categories), 100 * ns / total) for op, (ns, count, categories) in merged.items()]
    rows.sort(key=lambda row: -row[1])
    return sheet("ops_summary", [("name", "string"), ("total_direct_kernel_time_sum", "float"), ("total_direct_kernel_time_ms", "float"),
                                 ("Count", "int"), ("Categories", "list"), ("Percentage (%)", "float")], rows)


def part_sums(info):
    sums = defaultdict(int)
    begin, end, _ = info["window"]
    for start, stop, kind, part, _ in info["parts"]:
        inside = min(stop, end) - max(start, begin)
        if inside > 0:
            sums[part, kind] += inside
    return sums


def balance_sheet(info):
    begin, end, _ = info["window"]
    rows = [(part, kind, ns, ns / 1e6, 100 * ns / (end - begin)) for (part, kind), ns in sorted(part_sums(info).items(), key=lambda item: -item[1])]
    return sheet("balance", [("part", "string"), ("kind", "string"), ("ns", "int"), ("ms", "float"), ("pct", "float")], rows)


def copies_sheet(work):
    copies = next(table for table in work if table.name == "page_copies").records()
    total = sum(c["ns"] for c in copies if c["direction"] != "memset")
    rows = [(c["direction"], c["kind"], "aten::copy_", "aten::to", 0, c["count"], c["count"], c["bytes"] and c["bytes"] * c["count"],
             c["ns"] / 1e6, 100 * c["ns"] / total, c["bytes"] and c["bytes"] * c["count"] / c["ns"]) for c in copies if c["direction"] != "memset"]
    return sheet("memory_copies", [("direction", "string"), ("kind", "string"), ("Parent cpu_op", "string"), ("Outermost cpu_op", "string"),
                                   ("device", "int"), ("count", "int"), ("bytes known", "int"), ("bytes", "int"),
                                   ("time ms", "float"), ("percent", "float"), ("Bandwidth (GB/s)", "float")], rows)


def idle_sheet(info, steps):
    sums = defaultdict(lambda: [0, 0])
    for _, ns, cause, _ in info["idle"]:
        sums[cause][0] += ns
        sums[cause][1] += 1
    begin, end, _ = info["window"]
    rows = [(cause, ns / 1e6 / steps, 100 * ns / (end - begin), pieces) for cause, (ns, pieces) in sorted(sums.items(), key=lambda i: -i[1][0])]
    return sheet("idle_causes", [("cause", "string"), ("ms", "float"), ("pct_of_step", "float"), ("pieces", "int")], rows)


def trust_checks():
    return [{"id": "T0", "level": "ok", "value": 0.0, "threshold": {"warn": None, "fail": 0.0}, "text": "The trace has GPU events."},
            {"id": "T1", "level": "ok", "value": 0.0, "threshold": {"warn": 5.0, "fail": 30.0},
             "text": "0 of 157 GPU operations in the window have no recorded launch."},
            {"id": "T6", "level": "warn", "value": 11.6, "threshold": {"warn": 10.0, "fail": 50.0},
             "text": "Recording made a step about 11.6% longer: 2.1 ms per step."}]


def findings(info, steps):
    """One of each severity, with gains from the idle time of the sample."""
    idle = defaultdict(int)
    for _, ns, cause, _ in info["idle"]:
        idle[cause] += ns
    exposed = part_sums(info).get(("communication", "communication"), 0)
    step_ns = (info["window"][1] - info["window"][0]) / steps
    rules = [("data_stall", "high", "The GPU waits for the data loader", "train.py(44): __getitem__ -> sleep()", idle["data"],
              ["DataLoader.__next__ waits {:.2f} ms per step", "no worker process was seen"], "Use num_workers > 0 and pin_memory=True."),
             ("launch_bound", "high", "The host does not launch kernels fast enough", None, idle["launch"],
              ["157 launches per step, median kernel 28 us, {:.2f} ms idle per step"], "Use CUDA graphs or torch.compile(mode=\"reduce-overhead\")."),
             ("exposed_communication", "medium", "Collectives are not hidden by computation", None, exposed,
              ["{:.2f} ms of AllReduce per step run alone"], "Use larger buckets, or start them earlier."),
             ("pageable_copy", "low", "Copies from pageable memory block the host", "train.py(14): step", idle["copy"] // 2,
              ["5 copies of 25.2 MB from pageable memory, {:.2f} ms per step"], "Pin the memory and copy with non_blocking=True."),
             ("sync_item", "low", "item() waits for the GPU", "train.py(17): step -> item()", idle["sync"], ["one cudaStreamSynchronize per step, {:.2f} ms"],
              "Read the loss less often.")]
    found = []
    for rank, (id_, severity, title, where, ns, evidence, advice) in enumerate(rules, 1):
        gain = ns / 1e6 / steps
        found.append({"rank": rank, "id": id_, "severity": severity, "confidence": "high", "hint": rank == 5, "kind": "host",
                      "title": f"{title}: {gain:.2f} ms per step", "where": where, "gain_ms": gain, "gain_pct": 1e8 * gain / step_ns,
                      "score": gain, "evidence": [line.format(gain) for line in evidence], "advice": advice})
    return found


def report_sheets(trace, work, info, has_host):
    steps = info["window"][2]
    found = findings(info, steps) if has_host else []
    sheets = [sheet("findings", [("rank", "int"), ("id", "string"), ("severity", "string"), ("title", "string"), ("where", "string"),
                                 ("gain_ms", "float"), ("evidence", "string"), ("advice", "string")],
                    [(f["rank"], f["id"], f["severity"], f["title"], f["where"], f["gain_ms"], "\n".join(f["evidence"]), f["advice"]) for f in found]),
              sheet("trust", [("id", "string"), ("level", "string"), ("value", "float"), ("text", "string")],
                    [(c["id"], c["level"], c["value"], c["text"]) for c in trust_checks()]),
              idle_sheet(info, steps), balance_sheet(info)]
    if has_host:
        groups = by_call(trace)
        return sheets + [ops_sheet(trace, groups), unified_sheet(trace, groups), kernel_sheet(trace, groups), copies_sheet(work)]
    return sheets + [rocprof_kernel_sheet(trace)]


def answers(trace, info, has_host):
    steps = info["window"][2]
    window = info["window"][1] - info["window"][0]
    sums = part_sums(info)
    idle = sum(ns for (_, kind), ns in sums.items() if kind == "idle")
    causes = [{"cause": part, "ms": ns / 1e6 / steps, "pct_of_step": 100 * ns / window,
               "pieces": sum(1 for row in info["idle"] if row[2] == part), "top_sites": []}
              for (part, kind), ns in sorted(sums.items(), key=lambda item: -item[1]) if kind == "idle"]
    return {"schema": "gputally-findings/1", "trace": "train.json.gz", "device": "NVIDIA H200" if has_host else "AMD Instinct MI300X",
            "device_count": 2, "gpu_ops": sum(1 for e in trace.gpu if e.device == 0), "steps": steps + 1 if has_host else 0, "window_steps": steps,
            "per": "step" if has_host else "trace", "window_ns": window, "step_ms": window / 1e6 / steps, "recorded_ms": window / 1e6 / steps, "busy_ms": (window - idle) / 1e6 / steps,
            "idle_ms": idle / 1e6 / steps, "model_step_ms": window * 0.95 / 1e6 / steps, "all_fixed_ms": (window - idle) * 1.02 / 1e6 / steps,
            "replay_error_pct": 0.4, "launch_latency_us": 5.2, "idle_sum_error_us": 0.0, "overhead_us": {"python": 0.6, "op": 1.1},
            "idle_causes": causes, "findings": findings(info, steps) if has_host else [],
            "trust": {"verdict": "usable with care", "checks": trust_checks()}}


def facts(trace, info, has_host):
    steps = info["window"][2]
    window = info["window"][1] - info["window"][0]
    sums = part_sums(info)
    per_step = defaultdict(lambda: [0] * (steps + 1))
    lengths = info["steps"].column("ns") if info["steps"] else []
    for step, part, kind, ns in info["step_rows"] or []:
        per_step[kind][step] += ns
    total = defaultdict(int)
    for (_, kind), ns in sums.items():
        total[kind] += ns
    largest = max((key for key in sums if key[1] == "idle"), key=sums.get)[0]
    share = 100 * total["idle"] / window
    what = {"data": "it waits for the data loader", "launch": "the host launches too slowly"}.get(largest, "the trace does not say why")
    sentence = f"The GPU is idle *{share:.0f} %* of a *{window / 1e6 / steps:.1f} ms* {'step' if has_host else 'trace'}: {what}."

    def spark(kind):
        return [100 * ns / length for ns, length in zip(per_step[kind], lengths)]
    tiles = [("step", "step time" if has_host else "time", window / 1e6 / steps, "ms", "median of 4 steps", [ns / 1e6 for ns in lengths]),
             ("busy", "GPU busy", 100 - share, "%", "of the step", [100 - idle for idle in spark("idle")]),
             ("communication", "exposed communication", 100 * total["communication"] / window, "%", "not hidden by computation", spark("communication")),
             ("copies", "copies", 100 * total["copy"] / window, "%", "not hidden by computation", spark("copy")),
             ("roofline", "of roofline", 61.3 if has_host else None, "%", "GEMM and attention" if has_host else "no shapes in this trace", [])]
    return {"sentence": sentence, "gpu": ("NVIDIA H200" if has_host else "AMD Instinct MI300X") + " × 2", "steps": steps + 1 if has_host else 0,
            "per": "step" if has_host else "trace", "notes": [],
            "tiles": [dict(zip(("id", "label", "value", "unit", "detail", "spark"), tile)) for tile in tiles],
            "bar": [{"part": part, "kind": kind, "ns": ns} for (part, kind), ns in sorted(sums.items(), key=lambda item: (item[0][1] == "idle", -item[1]))]}
