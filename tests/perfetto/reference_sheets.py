"""Reference model of the pftrace reports, computed from a list of Chrome events, independent of gputally.

Each function returns (header, rows), or ([], []) for a sheet without rows and columns. Floats are compared as floats,
everything else as text."""
import re
from collections import defaultdict
from fractions import Fraction
from math import isqrt, sqrt

LAUNCHES = {"hipModuleLaunchKernel", "hipLaunchKernelGGL", "hipLaunchKernel", "hipExtLaunchKernelGGL",
            "hipModuleLaunchCooperativeKernel", "hipExtModuleLaunchKernel", "hipMemset", "hipMemcpyHtoDAsync",
            "hipMemcpyDtoHAsync", "hipMemsetD32Async"}
REDZONE = r"(?:^|\W)redzone_checker_kernel(?:\W|$)"


def integer(value):
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def args_of(e):
    return e.get("args") or {}


def first_of(args, names):
    for name in names:
        if name in args and integer(args[name]) is not None:
            return integer(args[name])
    return None


def agents_of(events):
    found = []
    for e in events:
        agent = args_of(e).get("agent")
        if agent and agent not in found:
            found.append(agent)
    return found


# ---- API calls

def call_time(e):
    a = args_of(e)
    b, en, d = a.get("begin_ns"), a.get("end_ns"), a.get("delta_ns")
    if b is not None and en is not None and d is None:
        d = en - b
    if None in (b, en, d):
        if e.get("ts") is None or e.get("dur") is None:
            return None
        b, d = int(e["ts"]) * 1000, int(e["dur"]) * 1000
        en = b + d
    return int(b), int(en), int(d)


def is_kernel(e):
    name, cat, t = (e.get("name") or "").lower(), (e.get("cat") or "").lower(), call_time(e)
    if name.endswith(".kd") or ".kd " in name:
        return True
    return any(w in cat for w in ("kernel", "gpu_activity", "memory_copy")) and t is not None and t[2] > 0 \
        and "register" not in name


def kernel_name(e):
    for key in ("kernel_name", "KernelName", "symbol", "symbol_name", "funcName"):
        if args_of(e).get(key):
            return args_of(e)[key]
    return e.get("name") or ""


def exact_root(value):
    """The nearest float to the square root of a fraction."""
    if not value:
        return 0.0
    scale = 1 << 200
    return float(Fraction(isqrt(int(value * scale * scale)), scale))


def measures(values):
    if not values:
        return [0.0, 0.0, 0, 0, 0.0]
    v, n = sorted(values), len(values)
    mean = Fraction(sum(v), n)
    variance = sum((x - mean) ** 2 for x in v) / n
    median = Fraction(v[(n - 1) // 2] + v[n // 2], 2)
    return [float(mean), float(median), v[0], v[-1], exact_root(variance)]


def api_kernel_summary(events, exclude=REDZONE, multi=False, nonlaunch=False):
    header = ["PID", "TID", "DevId", "Count", "QCount"]
    header += [x + s + "_ns" for x in "TAQK" for s in ("Avg", "Med", "Min", "Max", "StdDev")] + ["API Name", "Kernel Name"]
    agents, kernels, calls = agents_of(events), defaultdict(list), {}
    for e in events:
        corr = first_of(args_of(e), ("corr_id", "correlation_id", "correlationId", "CorrId"))
        if corr is None:
            continue
        if is_kernel(e):
            if not (exclude and re.search(exclude, kernel_name(e))):
                kernels[corr].append(e)
        elif (e.get("cat") == "hip_api" and args_of(e).get("corr_id") is not None) or \
                (e.get("cat") or "").lower() in ("cuda_api", "cupti"):
            calls[corr] = e
    groups = defaultdict(lambda: [0, 0, [], [], [], []])
    for corr, call in calls.items():
        name = call.get("name") or ""
        launch = call.get("cat") == "hip_api" and (name in LAUNCHES or re.search("Launch.*Kernel", name, re.I))
        t = call_time(call)
        if not (launch or nonlaunch) or t is None:
            continue
        pid, tid = int(call.get("pid", 0)), int(call.get("tid", 0))
        found = kernels.get(corr, [])
        if not found and nonlaunch:
            g = groups[pid, tid, 0, name, ""]
            g[0] += 1
            g[3].append(t[2]); g[4].append(0); g[5].append(0)
        if not multi:
            found = sorted(found, key=lambda k: (call_time(k) or (0,))[0])[:1]
        for k in found:
            kt = call_time(k)
            if kt is None:
                continue
            device = first_of(args_of(k), ("device_id", "deviceId", "dev_id", "DevId", "gpu_id", "gpuId"))
            if device is None:
                agent = args_of(k).get("agent")
                device = agents.index(agent) if agent else 0
            q = max(0, kt[0] - t[1])
            g = groups[pid, tid, device, name, kernel_name(k)]
            g[0] += 1
            g[1] += 1
            for values, value in zip(g[2:], (t[2] + q + kt[2], t[2], q, kt[2])):
                values.append(value)
    rows = []
    for key in sorted(groups):
        g = groups[key]
        rows.append(list(key[:3]) + g[:2] + [m for values in g[2:] for m in measures(values)] + list(key[3:]))
    return header, rows


# ---- activity

CLASSES = [("rccl", r"rccl|nccl|cross_device_reduce"), ("gemm", r"cublasLt|Cijk|gemm|nvjet"),
           ("ckbwd", r"FmhaBwd|kernel_func|flash_bprop"), ("ckfwd", r"FmhaFwd|flash_fprop"),
           ("memcpy/memset", r"copy|memcpy|memset"), ("te", r"transformer_engine"), ("aiterfwd", r"aiter::fmha_fwd"),
           ("aiterbwd", r"aiter::fmha_bwd"), ("fillBuffer", r"fillbuffer")]
ORDER = ["xla", "aiterfwd", "aiterbwd", "gemm", "ckbwd", "ckfwd", "te", "memcpy/memset", "fillBuffer", "rccl"]


def class_of(name):
    for title, pattern in CLASSES:
        if re.search(pattern, name, re.I):
            return title
    return "xla"


def activity_time(e):
    a = args_of(e)
    if "begin_ns" in a and "delta_ns" in a:
        return int(a["begin_ns"]), int(a["delta_ns"])
    ts, dur = int(e.get("ts", 0)), int(e.get("dur", 0))
    return (ts * 1000, dur * 1000) if ts < 10_000_000_000 else (ts, dur)


def overlap(compute, comm):
    """Lists of (begin, end)."""
    total, i = 0, 0
    for cs, ce in comm:
        while i < len(compute) and compute[i][1] <= cs:
            i += 1
        k = i
        while k < len(compute) and compute[k][0] < ce:
            s, e = compute[k]
            total += max(0, min(e, ce) - max(s, cs))
            if e > ce:
                break
            k += 1
    return total


class Activity:
    def __init__(self, events, merge=False, min_tid=-10**9, max_tid=10**9, min_ns=5000):
        self.merge, self.agents = merge, agents_of(events)
        self.compute, self.comm = [[] for _ in self.agents], [[] for _ in self.agents]
        self.xla, self.calls = {}, []
        for e in events:
            (ts, dur), name, a = activity_time(e), e.get("name", ""), args_of(e)
            if dur <= 0:
                continue
            if a.get("agent") and min_tid <= int(e.get("tid", -1)) <= max_tid:
                gpu, kind = self.agents.index(a["agent"]), class_of(name)
                (self.comm if kind == "rccl" else self.compute)[gpu].append((ts, dur, name, a))
                if kind == "xla":
                    known = self.xla.setdefault(self.merged(name), [0, 0])
                    known[0] += dur
                    known[1] += 1
            if e.get("cat") == "hip_api" and min_tid <= int(e.get("tid", a.get("tid", -1))) <= max_tid and dur >= min_ns:
                self.calls.append((ts, dur, name, a))
        for lists in (self.compute, self.comm):
            for i, items in enumerate(lists):
                lists[i] = [x for x in sorted(items, key=lambda x: x[:3]) if x[1] >= min_ns]
        self.calls.sort(key=lambda x: x[:3])

    def merged(self, name):
        return re.sub(r"\d+", "", name) if self.merge else name

    def category_summary(self):
        if not self.agents:
            return [], []
        rows = []
        for gpu in range(len(self.agents)):
            ns, count = defaultdict(int), defaultdict(int)
            for _, dur, name, _ in self.compute[gpu] + self.comm[gpu]:
                ns[class_of(name)] += dur
                count[class_of(name)] += 1
            compute = sum(v for k, v in ns.items() if k != "rccl")
            ns["overlapped_comm"] = overlap([(t, t + d) for t, d, _, _ in self.compute[gpu]],
                                            [(t, t + d) for t, d, _, _ in self.comm[gpu]])
            ns["non_overlapped_comm"] = ns["rccl"] - ns["overlapped_comm"]
            ns["compute_total"], ns["total_incl_comm"] = compute, compute + ns["rccl"]
            total = ns["total_incl_comm"]
            for k in ORDER + ["overlapped_comm", "non_overlapped_comm", "compute_total", "total_incl_comm"]:
                rows.append([str(gpu), k, ns[k] / 1e6, float(count[k]), ns[k] / compute if compute else 0.0,
                             ns[k] / total if total else 0.0])
        for k in sorted({r[1] for r in rows}):
            of = [r for r in rows if r[1] == k and r[0] != "Avg"]
            rows.append(["Avg", k] + [sum(r[c] for r in of) / len(of) for c in range(2, 6)])
        return ["GPU ID", "Category", "Total runtime (ms)", "Total count", "Fraction of compute runtime",
                "Fraction of total runtime"], rows

    def xla_top(self, top=30):
        total = sum(ns for ns, _ in self.xla.values())
        rows = sorted(([k, ns / 1e6, n, ns / total] for k, (ns, n) in self.xla.items()), key=lambda r: -r[1])[:top]
        return (["Kernel", "Total time (ms)", "Count", "Fraction of XLA"], rows) if rows else ([], [])

    def kernel_summary(self, rccl=False, baseline="total", by_name=False):
        keys = ["grid_size", "workgroup_size", "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count", "LDS_Block_Size",
                "Scratch_Size"]
        groups, base = {}, 0
        for gpu in range(len(self.agents)):
            base += sum(d for _, d, _, _ in self.compute[gpu])
            base += sum(d for _, d, _, _ in self.comm[gpu]) if baseline == "total" else 0
            for _, dur, name, a in self.compute[gpu] + (self.comm[gpu] if rccl else []):
                key = (self.merged(name),) + (() if by_name else tuple(integer(a.get(k)) or 0 for k in keys))
                groups.setdefault(key, []).append(dur)
        rows = []
        for key, durs in sorted(groups.items(), key=lambda g: -sum(g[1])):
            shown, exact = durations(durs, base)
            if by_name:
                rows.append(shown + [key[0]] + exact)
            else:
                name, grid, block, vgpr, accum, sgpr, lds, scratch = key
                rows.append(shown + ["%7d %4d %4d" % (grid, 1, 1), "%7d %4d %4d" % (block, 1, 1), vgpr, accum, sgpr, lds,
                                     scratch, name] + exact + [grid, 1, 1, block, 1, 1])
        middle = ["Name"] if by_name else ["GridXYZ", "BlockXYZ", "VGPR", "AccumVGPR", "SGPR", "LDS", "Scratch", "Name"]
        end = [] if by_name else ["GridX", "GridY", "GridZ", "BlockX", "BlockY", "BlockZ"]
        return (SHOWN + middle + EXACT + end, rows) if rows else ([], [])

    def hip_summary(self, group="name"):
        extra = [("Stream", "stream_ID")] * ("+stream" in group) + [("Op", "operation")] * ("+op" in group)
        groups = {}
        for _, dur, name, a in self.calls:
            groups.setdefault((name,) + tuple(integer(a.get(k)) or 0 for _, k in extra), []).append(dur)
        base, rows = sum(d for _, d, _, _ in self.calls), []
        for key, durs in sorted(groups.items(), key=lambda g: -sum(g[1])):
            shown, exact = durations(durs, base)
            rows.append(shown + list(key[1:]) + [key[0]] + exact)
        return (SHOWN + [title for title, _ in extra] + ["Name"] + EXACT, rows) if rows else ([], [])


SHOWN = ["Time", "Total Time", "Instances", "Avg", "Med", "Min", "Max", "StdDev"]
EXACT = ["Time %", "Total Time (ns)", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)"]


def human(ns):
    return "%.3f ms" % (ns / 1e6) if ns >= 1e6 else "%.3f \u03bcs" % (ns / 1e3) if ns >= 1e3 else "%d ns" % int(ns)


def durations(durs, base):
    n, v = len(durs), sorted(durs)
    mean, median = sum(v) / n, (v[(n - 1) // 2] + v[n // 2]) / 2
    std = sqrt(sum((x - mean) ** 2 for x in v) / n)
    percent = sum(v) / base * 100.0 if base else 0.0
    return (["%.1f%%" % percent, human(sum(v)), n, human(mean), human(median), human(v[0]), human(v[-1]), human(std)],
            [percent, sum(v), mean, median, v[0], v[-1], std])


# ---- copies

def memory_copies(events, only_numbers=True):
    counts = defaultdict(int)
    for e in events:
        size = integer(args_of(e).get("copy_bytes"))
        if (e.get("cat") or "").strip().lower() != "memory_copy" or size is None:
            continue

        def agent(key):
            value = args_of(e).get(key)
            number = integer(value)
            if number is None and not only_numbers and re.search(r"\d+$", str(value)):
                number = int(re.search(r"\d+$", str(value)).group())
            return "?" if number is None else str(number)
        name, way = (e.get("name") or "").upper(), "other"
        if "MEMORY_COPY_HOST_TO_DEVICE" in name:
            way = "h2d (GPU %s)" % agent("dst_agent")
        elif "MEMORY_COPY_DEVICE_TO_HOST" in name:
            way = "d2h (GPU %s)" % agent("src_agent")
        elif "MEMORY_COPY_DEVICE_TO_DEVICE" in name:
            way = "d2d (GPU %s -> GPU %s)" % (agent("src_agent"), agent("dst_agent"))
        counts[size, way] += 1
    return ["copy_bytes", "direction", "count"], [[size, way, n] for (size, way), n in sorted(counts.items())]
