"""Reference model of the sheets of --extra, from their definitions: one loop after the other over the events of the JSON.

They are what HolisticTraceAnalysis computes, with communication recognised by the names of NCCL and RCCL kernels; times
and types are those of the trace and of gpu_timeline, or with hta_times those of HTA. All functions take the prepared events
of one rank (prepare) and return rows as lists of cells."""
import gzip
import itertools
import json
import math
import re
import statistics

NAN = float("nan")
GPU_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset")
# These sheets use only events of these categories and of the GPU.
HOST_CATEGORIES = ("cpu_op", "cuda_runtime", "cuda_driver", "Operator", "Runtime")
LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync",
            "cudaMemsetAsync", "hipLaunchKernel", "hipExtModuleLaunchKernel", "hipMemcpyAsync", "hipMemsetAsync",
            "hipMemcpyWithStream")
RUNTIME_CATEGORIES = ("cuda_runtime", "cuda_driver", "Runtime")
COPIES = re.compile(r"(MEMORY_COPY_(HOST_TO_DEVICE|DEVICE_TO_HOST|DEVICE_TO_DEVICE)|__amd_rocclr_copyBuffer(Rect)?(Aligned)?)"
                    r"(\.kd)?")
NOT_COMPUTATION = re.compile(r"(^nccl)|(.*Memcpy)|(.*Memset)|(.*dma)|(^.*Sync)|(^Stream Wait Event)|(cuda.*LaunchKernel)"
                             r"|(^runFunction)|(^hip)|(^job_exe)|(^packet)|(^pe_exe)|(^cpum_exe_subgraph)|(^hccl)"
                             r"|(^collective_subgraph_execution)", re.S)
MEMORY = re.compile(r"(^(hip)?Memcpy)|(^(hip)?Memset)|(^dma)")
COMMUNICATION = re.compile(r"rccl|nccl|cross_device_reduce", re.I)


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        document = json.load(file)
    return document if isinstance(document, list) else document["traceEvents"]


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def timeline_type(name, category):
    """The types of gpu_timeline."""
    if category in ("gpu_memcpy", "Memcpy") or COPIES.fullmatch(name):
        return "MEMORY"
    return "COMMUNICATION" if COMMUNICATION.search(name) else "COMPUTATION"


def hta_type(name):
    if COMMUNICATION.search(name):
        return "COMMUNICATION"
    if MEMORY.match(name):
        return "MEMORY"
    return "OTHER" if NOT_COMPUTATION.match(name) else "COMPUTATION"


def prepare(events, hta_times=False, last_step=False):
    """Events as dicts of name, cat, start, end, dur, stream, correlation, gpu (whether it is a GPU event), type, source (the
    event in the trace)."""
    found = []
    for event in events:
        category, args = event.get("cat"), event.get("args") or {}
        number = lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)
        if not (number(event.get("ts")) and number(event.get("dur")) and category) or category == "Trace":
            continue
        if category not in GPU_CATEGORIES + HOST_CATEGORIES + ("cuda_sync",) and "user_annotation" not in category:
            continue
        found.append({"source": event, "name": event.get("name", ""), "cat": category, "start": event["ts"], "dur": event["dur"],
                      "end": event["ts"] + event["dur"], "stream": args["stream"] if is_int(args.get("stream")) else -1,
                      "correlation": args.get("correlation", -1)})
        new = found[-1]
        new["gpu"] = category in GPU_CATEGORIES + ("cuda_sync",) and new["stream"] != -1 if hta_times else \
            category in GPU_CATEGORIES
        new["type"] = hta_type(new["name"]) if hta_times else timeline_type(new["name"], category)
    if hta_times and any(isinstance(e["start"], float) for e in found):
        for e in found:
            e["start"], e["end"] = math.ceil(e["start"]), math.floor(e["end"])
            e["dur"] = e["end"] - e["start"]
    return found if last_step else without_last_step(found)


def devices_of(events):
    """id of a GPU event -> (rank, device, pid): where it ran. The device is the one that it names, else the first that an
    event of its process names, else the process. The rank counts only if all GPU events have one."""
    gpu = [e for e in events if e.get("cat") in GPU_CATEGORIES and "ts" in e and "dur" in e]
    args = lambda e: e.get("args") or {}
    with_ranks, named, found = all("rank" in args(e) for e in gpu), {}, {}
    for e in gpu:
        if "device" in args(e):
            named.setdefault((args(e).get("rank") if with_ranks else None, e.get("pid")), args(e)["device"])
    for e in gpu:
        rank, pid = args(e).get("rank") if with_ranks else None, e.get("pid")
        number = args(e).get("device", named.get((rank, pid), pid))
        digits = re.search(r"\d+$", str(number))
        found[id(e)] = rank, int(digits[0]) if digits else None, pid
    return found


def sets_of_rows(events, prepared, position):
    """([(rank, device, pid, events)], whether there are several devices): the events of each set of rows. All host events
    belong to each set. pid is None where rank and device identify the device. Devices that have no number are in file order."""
    owner = devices_of(events)
    order = lambda key: (key[0] or 0, key[1] is None, key[1] or 0, key[2] if isinstance(key[2], int) else -1)
    devices = sorted(dict.fromkeys(owner.values()), key=order)
    if len(devices) < 2:
        return [(position, devices[0][1] if devices else None, None, prepared)], False
    unclear = len({key[:2] for key in devices}) < len(devices) or any(key[1] is None for key in devices)
    sets = []
    for key in devices:
        own = [e for e in prepared if not e["gpu"] or owner[id(e["source"])] == key]
        sets.append((position if key[0] is None else key[0], key[1], key[2] if unclear else None, own))
    return sets, True


def without_last_step(events):
    first = {}  # name of a step -> its start on the host, which precedes that on the GPU
    for e in events:
        if ("user_annotation" in e["cat"] or e["cat"] == "cpu_op") and re.match(r"ProfilerStep\s*#\s*\d+", e["name"]):
            first[e["name"]] = min(first.get(e["name"], e["start"]), e["start"])
    if len(first) < 2:
        return events
    limit = max(first.values())
    host = [e for e in events if not e["gpu"] and e["start"] < limit]
    launched = {e["correlation"] for e in host if e["correlation"] != -1 and e["cat"] in RUNTIME_CATEGORIES}
    return host + [e for e in events if e["gpu"] and e["correlation"] in launched]


def kernels_of(events):
    return [e for e in events if e["gpu"]]


def launch_of(events):
    """(correlation, category of a GPU event) -> its launch: the first of the calls that start such events; if there is none,
    the first of those that start anything on a GPU; if there is none either, the first call."""
    def starts(name):
        name = name.lower()
        if "graph" in name and "graphlaunch" not in name:
            return None
        return next((cat for part, cat in (("launch", "kernel"), ("memcpy", "gpu_memcpy"), ("memset", "gpu_memset"))
                     if part in name), None)

    found = {}
    for category in GPU_CATEGORIES + ("cuda_sync",):
        modern = {"Kernel": "kernel", "Memcpy": "gpu_memcpy", "Memset": "gpu_memset", "cuda_sync": "kernel"}.get(category, category)
        calls = [e for e in events if e["cat"] in RUNTIME_CATEGORIES and not e["gpu"] and e["correlation"] != -1]
        for wanted in (lambda s: s == modern, lambda s: s is not None, lambda s: True):
            for e in calls:
                if wanted(starts(e["name"])):
                    found.setdefault((e["correlation"], category), e)
    return found


def merged(intervals):
    out = []
    for start, end in sorted(intervals, key=lambda i: i[0]):
        if not out or start > out[-1][1]:
            out.append([start, end])
        else:
            out[-1][1] = max(out[-1][1], end)
    return out


def total(intervals):
    return sum(end - start for start, end in intervals)


def of_type(kernels, kind):
    return merged([(k["start"], k["end"]) for k in kernels if k["type"] == kind])


def percent(part, whole):
    return round2(100 * (part / whole)) if whole else NAN


def round2(value):
    return value if math.isnan(value) else float(round(value * 100)) / 100


def temporal_breakdown(events, rank=0):
    kernels = kernels_of(events)
    if not kernels:
        return []
    busy = merged([(k["start"], k["end"]) for k in kernels])
    span = busy[-1][1] - busy[0][0]
    idle, compute = span - total(busy), total(of_type(kernels, "COMPUTATION"))
    other = span - compute - idle
    return [[rank, idle, compute, other, span, percent(idle, span), percent(compute, span), percent(other, span)]]


def comm_comp_overlap(events, rank=0):
    kernels = kernels_of(events)
    if not kernels:
        return []
    communication, computation = of_type(kernels, "COMMUNICATION"), of_type(kernels, "COMPUTATION")
    both = sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in communication for b in computation
               if a[0] < b[1] and b[0] < a[1])
    return [[rank, percent(both, total(communication))]]


def idle_intervals(events, kernel_delay_us=30, hta_times=False):
    """(stream, category) -> intervals, NaN for the first kernel of a stream. HTA's begin at the end of the previous kernel
    and may be negative; ours begin when nothing runs any more."""
    launches, by_stream, out = launch_of(events), {}, {}
    for kernel in kernels_of(events):
        if kernel["cat"] in GPU_CATEGORIES and kernel["stream"] != -1:
            by_stream.setdefault(kernel["stream"], []).append(kernel)
    for stream, kernels in by_stream.items():
        kernels.sort(key=lambda k: k["start"])
        out[stream, "other"] = [NAN]
        latest = list(itertools.accumulate((k["end"] for k in kernels), max))
        for place, kernel in enumerate(kernels[1:], 1):
            idle_from = kernels[place - 1]["end"] if hta_times else latest[place - 1]
            launch, interval = launches.get((kernel["correlation"], kernel["cat"])), kernel["start"] - idle_from
            if interval <= 0 and not hta_times:
                continue
            category = "host_wait" if launch and launch["start"] > idle_from else \
                "kernel_wait" if interval < kernel_delay_us else "other"
            out.setdefault((stream, category), []).append(interval)
    return out


def idle_time_breakdown(events, rank=0, kernel_delay_us=30, hta_times=False):
    intervals = idle_intervals(events, kernel_delay_us, hta_times)
    sums = {key: math.fsum(v for v in values if not math.isnan(v)) for key, values in intervals.items()}
    whole = {stream: sum(v for (s, _), v in sums.items() if s == stream) for stream, _ in sums}
    return [[rank, stream, category, round2(value), round2(value / whole[stream]) if whole[stream] else NAN]
            for (stream, category), value in sorted(sums.items())]


def described(values):
    """count, mean, std, min, quartiles and max as in pandas."""
    values = sorted(v for v in values if not math.isnan(v))
    if not values:
        return [0] + [NAN] * 7

    def quantile(q):
        place = (len(values) - 1) * q
        low = math.floor(place)
        high = min(low + 1, len(values) - 1)
        return values[low] + (values[high] - values[low]) * (place - low)

    deviation = statistics.stdev(values) if len(values) > 1 else NAN
    return [len(values), statistics.fmean(values), deviation, values[0], quantile(.25), quantile(.5), quantile(.75),
            values[-1]]


def idle_interval_stats(events, rank=0, kernel_delay_us=30, hta_times=False):
    return [[rank, stream, category] + [value if index == 0 else round2(value) for index, value in enumerate(described(values))]
            for (stream, category), values in sorted(idle_intervals(events, kernel_delay_us, hta_times).items())]


def launched_pairs(events):
    """(launch, GPU event) of the calls that add to a stream's queue."""
    launches, out = launch_of(events), []
    for kernel in kernels_of(events):
        launch = launches.get((kernel["correlation"], kernel["cat"]))
        if launch and launch["name"] in LAUNCHES:
            out.append((launch, kernel))
    return out


def queue_series(events):
    """stream -> [(time, length)]."""
    changes = {}
    for launch, kernel in launched_pairs(events):
        if kernel["stream"] == -1:
            continue
        changes.setdefault(kernel["stream"], []).extend([(launch["start"], 1), (kernel["start"], -1)])
    series = {}
    for stream, steps in changes.items():
        length, out = 0, []
        for time, change in sorted(steps, key=lambda s: (s[0], -s[1])):
            length += change
            out.append((time, length))
        series[stream] = out
    return series


def queue_length_summary(events, rank=0, limit=1024, trace=None):
    """trace: all events, where `events` are those of one device."""
    trace = trace or events
    span = max(e["end"] for e in trace) - min(e["start"] for e in trace) if trace else 0
    rows = []
    for stream, series in sorted(queue_series(events).items()):
        full = sum(b[0] - a[0] for a, b in zip(series, series[1:]) if a[1] >= limit)
        rows.append([rank, stream] + described([length for _, length in series]) + [full, full / span if span else NAN])
    return rows


def launch_stats_summary(events, rank=0):
    by_name = {}
    for launch, kernel in launched_pairs(events):
        by_name.setdefault(launch["name"], []).append(
            (launch["dur"], kernel["dur"], max(0, kernel["start"] - launch["end"])))
    rows = []
    for name, launches in sorted(by_name.items()):
        cells = [rank, name, len(launches)]
        for values in zip(*launches):
            cells += [sum(values), statistics.fmean(values), statistics.median(values), max(values)]
        cells += [sum(gpu < cpu for cpu, gpu, _ in launches), sum(cpu > 50 for cpu, _, _ in launches),
                  sum(delay > 100 for _, _, delay in launches)]
        rows.append(cells)
    return rows


STATISTICS = ["count", "mean", "std", "min", "25%", "50%", "75%", "max"]
SHEETS = {  # name -> headings and the function that computes the rows
    "temporal_breakdown": (["rank", "idle_time(us)", "compute_time(us)", "non_compute_time(us)", "kernel_time(us)",
                            "idle_time_pctg", "compute_time_pctg", "non_compute_time_pctg"], temporal_breakdown),
    "comm_comp_overlap": (["rank", "comp_comm_overlap_pctg"], comm_comp_overlap),
    "idle_time_breakdown": (["rank", "stream", "idle_category", "idle_time", "idle_time_ratio"], idle_time_breakdown),
    "idle_interval_stats": (["rank", "stream", "idle_category"] + STATISTICS, idle_interval_stats),
    "queue_length_summary": (["rank", "stream"] + STATISTICS + ["duration_at_max_queue_length",
                             "relative_duration_at_max_queue_length"], queue_length_summary),
    "launch_stats_summary": (["rank", "launch", "count"] + [
        f"{metric}_{of}" for metric in ("cpu_duration", "gpu_duration", "launch_delay") for of in ("sum", "mean", "median", "max")]
        + ["short_gpu_kernels", "runtime_outliers", "launch_delay_outliers"], launch_stats_summary),
}
