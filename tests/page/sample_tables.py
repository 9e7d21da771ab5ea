"""The tables of schema/page.h for a synthetic trace (sample_trace.py), computed from its events in the plainest way."""
import math
from collections import defaultdict

from tests.page.pack import Column, Table
from tests.page.sample_trace import COMMUNICATION, COMPUTE, COPIES

BINS, SUM_BINS = 2048, 256


def table(name, /, **columns):
    """table("page_x", start=("int", [...])): lists of (type, cells)."""
    return Table(name, [Column(key, kind, list(cells)) for key, (kind, cells) in columns.items()])


def ints(rows, index):
    return "int", [row[index] for row in rows]


def strings(rows, index):
    return "string", [row[index] for row in rows]


class Lanes:
    def __init__(self, trace, has_host):
        self.streams = sorted({(event.device, event.stream) for event in trace.gpu})
        self.threads = sorted(trace.threads) if has_host else []
        self.row_of_stream = {key: row for row, key in enumerate(self.streams)}
        self.row_of_thread = {key: row + len(self.streams) for row, key in enumerate(self.threads)}


def lanes_table(trace, lanes, kept, shorter):
    rows = []
    for device, stream in lanes.streams:
        events = sum(1 for event in trace.gpu if (event.device, event.stream) == (device, stream))
        rows.append(("stream", f"GPU {device}", f"stream {stream}", device, device == 0, events, kept.get(len(rows), events), None))
    for pid, tid, role in lanes.threads:
        events = len(trace.threads[pid, tid, role])
        rows.append(("thread", f"python ({pid})", f"thread {tid} ({role})", None, None, events, kept.get(len(rows), events),
                     shorter if kept.get(len(rows), events) < events else None))
    return table("page_lanes", kind=strings(rows, 0), group=strings(rows, 1), label=strings(rows, 2), device=ints(rows, 3),
                 judged=("bool", [row[4] for row in rows]), events=ints(rows, 5), kept=ints(rows, 6), shorter=ints(rows, 7))


def gpu_table(events, lanes):
    lane = lanes.row_of_stream
    return table("page_gpu", lane=("int", [lane[e.device, e.stream] for e in events]), start=("int", [e.start for e in events]),
                 ns=("int", [e.ns for e in events]), kernel=("int", [e.kernel for e in events]),
                 call=("int", [e.call for e in events]), launch=("int", [e.launch for e in events]),
                 launch_lane=("int", [lanes.row_of_thread.get(e.thread) for e in events]), begins=("bool", [e.begins for e in events]))


def kernels_table(trace):
    durations = defaultdict(list)
    for event in trace.gpu:
        durations[event.kernel].append(event.ns)
    lists = [durations[row] for row in range(len(trace.kernels))]
    result = table("page_kernels", name=("string", [k.name for k in trace.kernels]), short=("string", [k.short for k in trace.kernels]),
                   category=("string", [k.category for k in trace.kernels]), count=("int", map(len, lists)), ns=("int", map(sum, lists)),
                   min_ns=("int", [min(ns, default=None) for ns in lists]), max_ns=("int", [max(ns, default=None) for ns in lists]))
    result.columns.append(Column("histogram", "list", [histogram(ns) for ns in lists]))
    return result


def histogram(durations):
    """Bucket b holds 2^(b/4) to 2^((b+1)/4) ns; the list begins with the bucket of the shortest one."""
    if not durations:
        return None
    buckets = [math.floor(4 * math.log2(max(1, ns))) for ns in durations]
    first = min(buckets)
    counts = [0] * (max(buckets) - first + 1)
    for bucket in buckets:
        counts[bucket - first] += 1
    return counts


def sums_table(name, groups, kernels, with_bin=False):
    """groups: {(bin, call, kernel): [count, calls, ns]}."""
    keys = sorted(groups, key=lambda key: tuple(-1 if part is None else part for part in key))
    columns = {"bin": ("int", [key[0] for key in keys])} if with_bin else {}
    categories = {} if with_bin else {"category": ("string", [kernels[key[2]].category for key in keys])}
    return table(name, **columns, call=("int", [key[1] for key in keys]), kernel=("int", [key[2] for key in keys]),
                 count=("int", [groups[key][0] for key in keys]), calls=("int", [groups[key][1] for key in keys]),
                 ns=("int", [groups[key][2] for key in keys]), **categories)


def add_sums(events, end):
    groups = defaultdict(lambda: [0, 0, 0])
    for event in events:
        bin_ = min(SUM_BINS - 1, event.start * SUM_BINS // end) if end else None
        group = groups[bin_, event.call, event.kernel]
        group[0] += 1
        group[1] += event.begins
        group[2] += event.ns
    return groups


def bins_table(trace, lanes, end):
    busy = defaultdict(lambda: defaultdict(int))
    for event in trace.gpu:
        lane = lanes.row_of_stream[event.device, event.stream]
        begin, stop = event.start, event.start + event.ns
        while begin < stop:
            bin_ = min(BINS - 1, begin * BINS // end)
            border = min(stop, -(-(bin_ + 1) * end // BINS)) if bin_ < BINS - 1 else stop
            busy[lane, bin_][trace.kernels[event.kernel].category] += border - begin
            begin = border
    rows = [(lane, bin_, sum(parts.values()), max(sorted(parts), key=parts.get)) for (lane, bin_), parts in sorted(busy.items())]
    return table("page_bins", lane=ints(rows, 0), bin=ints(rows, 1), busy=ints(rows, 2), category=strings(rows, 3))


def host_table(trace, lanes, shorter):
    rows = [(lanes.row_of_thread[thread], *event) for thread in lanes.threads for event in trace.threads[thread]
            if shorter is None or event.ns > shorter]
    return table("page_host", lane=ints(rows, 0), start=ints(rows, 1), ns=ints(rows, 2), depth=ints(rows, 3), name=strings(rows, 4),
                 kind=strings(rows, 5)), rows


def stretches(trace):
    """GPU 0 as stretches (start, end, category or None): computation before communication before copies."""
    events = {stream: [e for e in trace.gpu if e.device == 0 and e.stream == stream] for stream in (COMPUTE, COMMUNICATION, COPIES)}
    borders = sorted({border for list_ in events.values() for e in list_ for border in (e.start, e.start + e.ns)})
    places = dict.fromkeys(events, 0)
    found = []
    for begin, end in zip(borders, borders[1:]):
        category = None
        for stream, list_ in events.items():
            while places[stream] < len(list_) and list_[places[stream]].start + list_[places[stream]].ns <= begin:
                places[stream] += 1
            if category is None and places[stream] < len(list_) and list_[places[stream]].start <= begin:
                category = trace.kernels[list_[places[stream]].kernel].category
        found.append((begin, end, category))
    return found


def with_causes(trace, parts, step_starts, has_host):
    """The stretches with causes of idle time: (start, end, kind, part, site)."""
    found = []
    gap = 0
    for begin, end, category in parts:
        if category is not None:
            kind = {"communication": "communication", "copy": "copy"}.get(category, "computation")
            found.append((begin, end, kind, category, None))
            continue
        while gap + 1 < len(trace.gaps) and trace.gaps[gap + 1][0] <= (begin + end) // 2:
            gap += 1
        cause, site = trace.gaps[gap][1:] if has_host else ("unknown", None)
        if has_host and end - begin < 2000:
            cause, site = "device_gap", None
        found.append((begin, end, "idle", cause, site))
    return found


def step_tables(trace, parts, has_steps):
    """Steps begin with the first GPU event after their annotation. The last one is not in the window."""
    first, last = parts[0][0], parts[-1][1]
    if not has_steps:
        return [], None, None, (first, last, 1)
    starts = []
    for _, host in trace.steps:
        starts.append(next(begin for begin, _, kind, _, _ in parts if begin >= host and kind != "idle"))
    ends = starts[1:] + [last]
    names = [name for name, _ in trace.steps]
    steps = table("page_steps", name=("string", names), start=("int", starts), ns=("int", [b - a for a, b in zip(starts, ends)]),
                  phase=("string", [None] * len(starts)), in_window=("bool", [True] * (len(starts) - 1) + [False]))
    sums = [defaultdict(int) for _ in starts]
    for begin, end, kind, part, _ in parts:
        for step, (a, b) in enumerate(zip(starts, ends)):
            inside = min(b, end) - max(a, begin)
            if inside > 0:
                sums[step][part, kind] += inside
    rows = [(step, part, kind, ns) for step, groups in enumerate(sums) for (part, kind), ns in sorted(groups.items(), key=lambda g: -g[1])]
    step_parts = table("page_step_parts", step=ints(rows, 0), part=strings(rows, 1), kind=strings(rows, 2), ns=ints(rows, 3))
    return [steps, step_parts], steps, rows, (starts[0], starts[-1], len(starts) - 1)


def idle_table(parts, window):
    rows = []
    for begin, end, kind, part, site in parts:
        begin, end = max(begin, window[0]), min(end, window[1])
        if kind == "idle" and begin < end:
            rows.append((begin, end - begin, part, site))
    return table("page_idle", start=ints(rows, 0), ns=ints(rows, 1), cause=strings(rows, 2), site=strings(rows, 3)), rows


def copies_table(trace, window):
    sizes = {"Memcpy HtoD (Pageable -> Device)": ("HtoD", "pageable", 25165824), "Memcpy DtoH (Device -> Pinned)": ("DtoH", "pinned", 4),
             "Memset (Device)": ("memset", "device", 9437184)}
    groups = defaultdict(lambda: [0, 0, 0, 0])
    for event in trace.gpu:
        kernel = trace.kernels[event.kernel]
        if kernel.category == "copy" and kernel.name in sizes:
            inside = min(event.start + event.ns, window[1]) - max(event.start, window[0])
            for i, value in enumerate((1, event.ns, int(inside > 0), max(inside, 0))):
                groups[sizes[kernel.name]][i] += value
    rows = sorted(((*key, *value) for key, value in groups.items()), key=lambda row: -row[4])
    rows.append(("DtoD", "device", None, 3, 5120, 3, 5120))
    return table("page_copies", direction=strings(rows, 0), kind=strings(rows, 1), bytes=ints(rows, 2), count=ints(rows, 3), ns=ints(rows, 4),
                 window_count=ints(rows, 5), window_ns=ints(rows, 6))


def memory_table(trace, end):
    rows = []
    for device in range(2):
        allocated = 2_000_000_000
        for sample in range(400):
            phase = sample / 400 * 5 % 1
            allocated = int(2e9 + 9e9 * min(phase * 2, (1 - phase) * 2) + trace.random.randint(0, 10**8))
            rows.append((device, end * sample // 400, allocated, 12_500_000_000 if sample > 40 else 6_000_000_000))
    return table("page_memory", device=ints(rows, 0), start=ints(rows, 1), allocated=ints(rows, 2), reserved=ints(rows, 3))


def evidence_table(trace, idle):
    rows = []
    for begin, ns, cause, _ in sorted(idle, key=lambda row: -row[1])[:60]:
        if cause == "data":
            rows.append((1, None, None, begin, ns))
        elif cause == "launch":
            rows.append((2, None, None, begin, ns))
        elif cause == "sync":
            rows.append((5, None, None, begin, ns))
    pairs = sorted({(event.call, event.kernel) for event in trace.gpu}, key=str)
    for call, kernel in pairs:
        category = trace.kernels[kernel].category
        if category == "communication":
            rows.append((3, call, kernel, None, None))
        elif "Pageable" in trace.kernels[kernel].name:
            rows.append((4, call, kernel, None, None))
    rows.sort(key=lambda row: row[0])
    return table("page_evidence", finding=ints(rows, 0), call=ints(rows, 1), kernel=ints(rows, 2), start=ints(rows, 3), ns=ints(rows, 4))


PEAKS = [("bf16", 989.5), ("fp16", 989.5), ("tf32", 494.7), ("fp32", 66.9), ("memory", 4.8)]


def work_tables(trace, binned=False, has_host=True):
    """All tables of a source, and what sheets and front are made from."""
    lanes = Lanes(trace, has_host)
    end = max([e.start + e.ns for e in trace.gpu] + [e.start + e.ns for thread in lanes.threads for e in trace.threads[thread]])
    parts = with_causes(trace, stretches(trace), None, has_host)
    steps, step_table, step_rows, window = step_tables(trace, parts, has_host)
    idle, idle_rows = idle_table(parts, window)
    kept_gpu, exact, shorter, kept = trace.gpu, (None, None), None, {}
    if binned:
        exact = (window[0], window[0] + (window[1] - window[0]) // 4)
        kept_gpu = [e for e in trace.gpu if e.start < exact[1] and exact[0] < e.start + e.ns]
        shorter = 20_000
    host, host_rows = host_table(trace, lanes, shorter)
    if binned:
        for event in kept_gpu:
            lane = lanes.row_of_stream[event.device, event.stream]
            kept[lane] = kept.get(lane, 0) + 1
        for lane in range(len(lanes.streams), len(lanes.streams) + len(lanes.threads)):
            kept[lane] = sum(1 for row in host_rows if row[0] == lane)
    tables = [lanes_table(trace, lanes, kept, shorter), gpu_table(kept_gpu, lanes), kernels_table(trace),
              sums_table("page_sums", add_sums(trace.gpu, None), trace.kernels), *steps, idle, copies_table(trace, window), evidence_table(trace, idle_rows)]
    if has_host:
        tables += [host, table("page_calls", node=ints(trace.calls, 0), op=strings(trace.calls, 1), shapes=strings(trace.calls, 2),
                               python=strings(trace.calls, 3), runtime=strings(trace.calls, 4)),
                   table("page_nodes", parent=ints(trace.nodes, 0), kind=strings(trace.nodes, 1), name=strings(trace.nodes, 2)),
                   memory_table(trace, end)]
    if binned:
        tables += [bins_table(trace, lanes, end), sums_table("page_bin_sums", add_sums(trace.gpu, end), trace.kernels, True)]
    tables.append(Table("page_peaks", [Column("precision", "string", [p for p, _ in PEAKS]), Column("rate", "float", [r for _, r in PEAKS])]))
    host_events = sum(len(trace.threads[thread]) for thread in lanes.threads)
    facts = {"end": end, "window_start": window[0], "window_end": window[1], "bins": BINS if binned else None,
             "sum_bins": SUM_BINS if binned else None, "exact_start": exact[0], "exact_end": exact[1], "gpu_events": len(trace.gpu),
             "gpu_kept": len(kept_gpu), "host_events": host_events, "host_kept": len(host_rows)}
    tables.append(table("page_facts", name=("string", list(facts)), value=("int", list(facts.values()))))
    return tables, {"parts": parts, "window": window, "steps": step_table, "step_rows": step_rows, "idle": idle_rows, "end": end}
