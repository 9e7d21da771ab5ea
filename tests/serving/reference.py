"""The list of steps and the serving sheets of a trace, computed from the JSON file by their definitions, in plain Python.

Slow and simple on purpose: every question is answered by looking at all events. It knows annotated steps only; what is inferred
from waits is known to the test that generates the trace. sheets(path) gives {sheet: [row as dict]}; None is an empty cell.
"""
import collections
import json
import re

PHASES = ("prefill", "mixed", "decode", "verify", "draft", "diffusion", "step", "idle")
GENERATING = ("decode", "verify")
Said = collections.namedtuple("Said", "kind rank mode c ct g gt sk", defaults=(None,) * 8)


def said_by(name):
    """What the name of a step says; None: it is no step."""
    sums = r"(\d+)\(sq(\d+)sk(\d+)sqsq\d+sqsk\d+\)"
    if found := re.match(rf"execute_\d+_context_{sums}_generation_{sums}", name):
        c, ct, ck, g, gt, gk = map(int, found.groups())
        return Said("vllm_detailed", 0, None, c, ct, g, gt, ck + gk)
    if found := re.match(r"execute_context_(\d+)\((\d+)\)_generation_(\d+)\((\d+)\)", name):
        return Said("vllm_native", 1, None, *map(int, found.groups()))
    if found := re.match(r"step\[([A-Z_]+)( [^\]]*)?\]", name):
        values = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", found[2] or "")}
        if not {"bs", "c", "g"} & set(values):
            return None
        has_sums = "c_sk" in values or "g_sk" in values
        kind = ("sglang_detailed", 0) if has_sums else ("sglang_native", 1)
        sk = values.get("c_sk", 0) + values.get("g_sk", 0) if has_sums else None
        return Said(*kind, found[1], *sglang_numbers(found[1], values), sk)
    if found := re.match(r"\[Executor\] _forward_step \d+: (\d+) ctx reqs, (\d+) gen reqs", name):
        c, g = map(int, found.groups())
        return Said("trtllm", 1, None, c, None if c else 0, g, g)
    if re.match(r"execute_diffusion_\d+_\d+x\d+", name):
        return Said("diffusion", 1, None, 0, 0, 0, 0)
    return Said("profiler_step", 2) if re.match(r"ProfilerStep#\d", name) else None


def sglang_numbers(mode, values):
    requests = values.get("bs", 0)
    if mode in ("EXTEND", "PREFILL", "SPLIT_PREFILL", "DLLM_EXTEND"):
        return requests, values.get("c_sq", values.get("toks")), 0, 0
    if mode == "MIXED":
        generating = values.get("g", 0 if "c" in values else None)
        return values.get("c", requests), values.get("c_sq", values.get("toks")), generating, values.get("g_sq")
    if mode == "IDLE":
        return 0, 0, 0, 0
    return 0, 0, requests, values.get("g_sq", requests if mode == "DECODE" else values.get("toks"))


def phase_of(said, drafts):
    if said.kind == "diffusion":
        return "diffusion"
    if said.kind == "profiler_step":
        return "step"
    if said.mode and ("DRAFT" in said.mode or (said.mode == "DECODE" and drafts)):
        return "draft"
    if said.mode == "TARGET_VERIFY":
        return "verify"
    if said.mode == "MIXED" or (said.c and said.g):
        return "mixed"
    if said.c:
        return "prefill"
    if said.g:
        return "verify" if (said.gt or 0) > said.g else "decode"
    return "idle"


class Span:
    def __init__(self, event):
        self.start = round(event["ts"] * 1000)
        self.end = self.start + round(event.get("dur", 0) * 1000)
        self.name, self.category, self.thread = event["name"], event["cat"], (event["pid"], event["tid"])
        self.arguments = event.get("args", {})
        self.step = self.call = None

    def holds(self, other):
        return self.thread == other.thread and self.start <= other.start < self.end and other.end <= self.end


def length(spans):
    """How long at least one of these pairs is open: by counting open ones from border to border."""
    borders, total, depth, last = collections.Counter(), 0, 0, None
    for start, end in spans:
        borders[start] += 1
        borders[end] -= 1
    for time in sorted(borders):
        total += time - last if depth else 0
        depth, last = depth + borders[time], time
    return total


def quantile(values, share):
    values = sorted(values)
    if not values:
        return None
    place = (len(values) - 1) * share
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] * (1 - (place - low)) + values[high] * (place - low)


class Steps:
    def __init__(self, path, classes):
        with open(path, encoding="utf-8") as file:
            events = [Span(event) for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
        self.classes = classes
        self.ops = sorted((e for e in events if e.category in ("kernel", "gpu_memcpy", "gpu_memset")), key=lambda e: e.start)
        calls = {e.arguments.get("correlation"): e for e in events if e.category in ("cuda_runtime", "cuda_driver")}
        for op in self.ops:
            op.call = calls.get(op.arguments.get("correlation"))
            op.in_graph = bool(op.call) and "graphlaunch" in op.call.name.lower()
        self.find([e for e in events if e.category == "user_annotation"])
        self.measure()

    def find(self, annotations):
        candidates = [e for e in annotations if said_by(e.name)]
        if any(said_by(e.name).rank < 2 for e in candidates):
            candidates = [e for e in candidates if said_by(e.name).rank < 2]
        drafts = any(said_by(e.name).mode == "TARGET_VERIFY" for e in candidates)
        candidates.sort(key=lambda e: (e.start, -e.end))
        self.steps = []
        for e in candidates:
            outer = next((step for step in self.steps if step.holds(e)), None)
            if not outer:
                e.said, e.kind, self.steps = said_by(e.name), said_by(e.name).kind, self.steps + [e]
                e.phase = phase_of(e.said, drafts)
            elif said_by(e.name).rank < outer.said.rank:
                outer.said, outer.phase = said_by(e.name), phase_of(said_by(e.name), drafts)
        for op in self.ops:
            if not op.call:
                continue
            own = [step for step in self.steps if step.holds(op.call)]
            near = [step for step in self.steps if step.start <= op.call.start < step.end]
            op.step = max(own or near, key=lambda step: step.start, default=None)
        for step in self.steps:
            step.ops = [op for op in self.ops if op.step is step]

    def measure(self):
        latest = None
        self.on_gpu = sorted((step for step in self.steps if step.ops), key=lambda step: step.ops[0].start)
        for step in self.steps:
            step.gap = step.outside = step.overlap = step.interval = step.before = None
            self.find_padded(step)
        for step in self.on_gpu:
            step.first, step.last = step.ops[0].start, max(op.end for op in step.ops)
            step.busy = length((op.start, op.end) for op in step.ops)
            if latest is not None:
                step.before, step.overlap = latest, max(0, latest - step.first)
                between = [(max(op.start, latest), min(op.end, step.first)) for op in self.ops if op.step is not step]
                step.outside = length((a, b) for a, b in between if a < b)
                step.gap = max(0, step.first - latest) - step.outside
                step.interval = max(latest, step.last) - latest
            latest = step.last if latest is None else max(latest, step.last)
            step.took = step.last - step.first if step.interval is None else step.interval

    def find_padded(self, step):
        rows = collections.Counter(op.arguments["grid"][0] for op in step.ops if op.in_graph and
                                   self.classes(op.name) == "norm" and op.arguments.get("grid"))
        tokens = step.said.gt if step.said.gt is not None else step.said.g
        step.padded = None
        if rows:
            most = rows.most_common(1)[0][0]
            if tokens is None or tokens <= most <= max(64, 4 * tokens):
                step.padded = most


def us(nanoseconds):
    return None if nanoseconds is None else nanoseconds / 1000


def steps_sheet(found):
    rows = []
    for number, step in enumerate(found.steps):
        has = bool(step.ops)
        rows.append({"step": number, "phase": step.phase, "kind": step.kind, "mode": step.said.mode, "source": "annotation",
                     "context_requests": step.said.c, "context_tokens": step.said.ct, "generation_requests": step.said.g,
                     "generation_tokens": step.said.gt, "sk_sum": step.said.sk, "padded": step.padded,
                     "host_start_us": us(step.start), "host_us": us(step.end - step.start),
                     "gpu_start_us": us(step.first) if has else None, "gpu_span_us": us(step.last - step.first) if has else None,
                     "gpu_busy_us": us(step.busy) if has else None, "gap_before_us": us(step.gap), "outside_us": us(step.outside),
                     "overlap_us": us(step.overlap), "interval_us": us(step.interval),
                     "graph_launches": len({id(op.call) for op in step.ops if op.in_graph}), "gpu_ops": len(step.ops),
                     "graph_ops": sum(op.in_graph for op in step.ops),
                     "comm_us": us(length((op.start, op.end) for op in step.ops if found.classes(op.name) == "comm"))})
    return rows


def share(part, whole, times=100):
    return times * part / whole if whole else None


def summary_sheet(found):
    rows, window = [], sum(step.took for step in found.on_gpu)
    for phase in PHASES + ("all",):
        some = [step for step in found.on_gpu if phase in (step.phase, "all")]
        if not some:
            continue
        took, intervals = sum(step.took for step in some), [step.interval for step in some if step.interval is not None]
        spans, gaps = [step.last - step.first for step in some], [step.gap for step in some if step.gap is not None]
        real = [step for step in some if step.phase != "draft"]
        output = sum((step.said.g if step.phase == "verify" else step.said.gt) or 0 for step in real)
        context, both = sum(step.said.ct or 0 for step in some), [step for step in some if step.padded and step.said.gt]
        padding = share(sum(step.said.gt for step in both), sum(step.padded for step in both)) if both else None
        rows.append({"phase": phase, "steps": len(some), "time_ms": took / 1e6, "time_pct": share(took, window),
                     "interval_p50_us": us(quantile(intervals, .5)), "interval_p90_us": us(quantile(intervals, .9)),
                     "interval_p99_us": us(quantile(intervals, .99)), "span_p50_us": us(quantile(spans, .5)),
                     "busy_p50_us": us(quantile([step.busy for step in some], .5)), "gap_p50_us": us(quantile(gaps, .5)),
                     "gap_pct": share(sum(gaps), took), "idle_in_step_pct": share(sum(spans) - sum(s.busy for s in some), sum(spans)),
                     "context_tokens": context, "generation_tokens": sum(step.said.gt or 0 for step in real), "output_tokens": output,
                     "output_is": "at least" if any(step.phase == "verify" for step in some) else "exact",
                     "context_tokens_per_s": share(context, window, 1e9), "output_tokens_per_s": share(output, window, 1e9),
                     "tokens_per_s_per_request": share(len(some), took, 1e9) if phase in GENERATING else None,
                     "padding_pct": None if padding is None else 100 - padding})
    return rows


def between_sheet(found):
    rows = []
    for before, step in zip(found.on_gpu, found.on_gpu[1:]):
        if step.first <= step.before:
            continue
        marks = [step.before]
        for mark in (before.end, step.start, step.ops[0].call.start, step.first):
            marks.append(min(step.first, max(marks[-1], mark)))
        parts = [us(b - a) for a, b in zip(marks, marks[1:])]
        rows.append({"step": found.steps.index(step), "phase": step.phase, "before": before.phase, "gap_us": us(step.gap),
                     "outside_us": us(step.outside), **dict(zip(("finish_us", "between_us", "prepare_us", "launch_us"), parts))})
    return rows


def plane(points):
    """Least squares by Cramer's rule on the normal equations. -> (a, b, c, r2, rmse); None: a term that is left out."""
    used = [k for k in (0, 1) if len({point[k] for point in points}) >= 3]
    if len(points) < 8 or not used:
        return None
    rows = [[1.0] + [point[k] for k in used] for point in points]
    target, size = [point[2] for point in points], len(used) + 1
    left = [[sum(row[i] * row[k] for row in rows) for k in range(size)] for i in range(size)]
    right = [sum(row[i] * y for row, y in zip(rows, target)) for i in range(size)]
    whole = determinant(left)
    found = [determinant([row[:k] + [right[i]] + row[k + 1:] for i, row in enumerate(left)]) / whole for k in range(size)]
    mean, errors = sum(target) / len(target), [y - sum(f * x for f, x in zip(found, row)) for row, y in zip(rows, target)]
    spread, rest = sum((y - mean) ** 2 for y in target), sum(error ** 2 for error in errors)
    slopes = dict(zip(used, found[1:]))
    return found[0], slopes.get(0), slopes.get(1), 1 - rest / spread, (rest / len(target)) ** .5


def determinant(matrix):
    if len(matrix) == 1:
        return matrix[0][0]
    return sum((-1) ** k * matrix[0][k] * determinant([row[:k] + row[k + 1:] for row in matrix[1:]]) for k in range(len(matrix)))


def cost_sheet(found):
    costly = [step for step in found.steps if step.ops and step.phase in ("decode", "verify", "draft")]
    cells = collections.defaultdict(list)
    for step in costly:
        bucket = None if step.said.sk is None else 0 if not step.said.sk else 2 ** (len(bin(step.said.sk)) - 3)
        cells[PHASES.index(step.phase), step.padded or -1, -1 if step.said.g is None else step.said.g,
              -1 if bucket is None else bucket].append(step)
    rows = []
    for key in sorted(cells):
        some, middle = cells[key], quantile([step.last - step.first for step in cells[key]], .5) / 1000
        known = [None if value < 0 else value for value in key[1:]]
        rows.append({"row": "cell", "phase": PHASES[key[0]], "padded": known[0], "requests": known[1], "sk_bucket": known[2],
                     "steps": len(some), "gpu_span_p50_us": middle,
                     "us_per_token": middle / some[0].said.gt if some[0].said.gt else None,
                     "busy_pct": share(sum(s.busy for s in some), sum(s.last - s.first for s in some))})
    for phase in ("decode", "verify", "draft"):
        some = [step for step in costly if step.phase == phase and step.said.g is not None]
        padded = [step for step in some if step.padded is not None]
        if not some:
            continue
        by_padded = 10 * len(padded) >= 9 * len(some)
        chosen = padded if by_padded else some
        for name in ("gpu_busy_us", "gpu_span_us"):
            fit = plane([(s.padded if by_padded else s.said.g, s.said.sk or 0,
                          (s.busy if name == "gpu_busy_us" else s.last - s.first) / 1000) for s in chosen])
            if fit:
                rows.append({"row": "fit", "phase": phase, "steps": len(chosen), "y": name, "x": "padded" if by_padded else "requests",
                             **dict(zip(("a_us", "us_per_x", "us_per_sk", "r2", "rmse_us"), fit))})
    return rows


def classes_sheet(found):
    groups, steps = collections.defaultdict(lambda: collections.defaultdict(list)), collections.Counter()
    for step in found.on_gpu:
        steps[PHASES.index(step.phase), step.padded or step.said.g or 0] += 1
    for op in found.ops:
        key = (PHASES.index(op.step.phase), op.step.padded or op.step.said.g or 0) if op.step else (len(PHASES), 0)
        groups[key][found.classes(op.name)].append(op.end - op.start)
    rows = []
    for key in sorted(groups):
        count, total = steps.get(key, 1), sum(sum(times) for times in groups[key].values())
        for name, times in sorted(groups[key].items(), key=lambda item: (-sum(item[1]), item[0])):
            rows.append({"phase": (PHASES + ("outside",))[key[0]], "batch": key[1] or None, "steps": count, "class": name,
                         "us_per_step": sum(times) / count / 1000, "ops_per_step": len(times) / count, "pct": share(sum(times), total)})
    return rows


def gaps_of(ops):
    """(gap, the op after it, the part before the launch returned) between the ops of a launch."""
    end = ops[0].end
    for op in ops[1:]:
        if op.start > end:
            yield op.start - end, op, max(0, min(op.start, op.call.end) - end)
        end = max(end, op.end)


def replays_sheet(found):
    launches = collections.OrderedDict()
    for op in found.ops:
        if op.in_graph:
            launches.setdefault(id(op.call), []).append(op)
    graphs = collections.OrderedDict()
    for ops in launches.values():
        graphs.setdefault(tuple((op.name, str(op.arguments.get("grid"))) for op in ops), []).append(ops)
    rows = []
    for number, (kernels, runs) in enumerate(graphs.items()):
        spans = [max(op.end for op in ops) - ops[0].start for ops in runs]
        busy = [length((op.start, op.end) for op in ops) for ops in runs]
        gaps = [gap for ops in runs for gap in gaps_of(ops)]
        largest = max(gaps, key=lambda gap: gap[0], default=(0, None, 0))
        steps = [ops[0].step for ops in runs if ops[0].step]
        batches = sorted({step.said.g for step in steps if step.said.g is not None})
        rows.append({"graph": number, "launches": len(runs), "kernels": len(kernels), "streams": len({op.thread for op in runs[0]}),
                     "padded": next((step.padded for step in steps if step.padded), None), "batches": " ".join(map(str, batches)) or None,
                     "launch_host_p50_us": us(quantile([ops[0].call.end - ops[0].call.start for ops in runs], .5)),
                     "submit_to_first_kernel_p50_us": us(quantile([ops[0].start - ops[0].call.start for ops in runs], .5)),
                     "span_p50_us": us(quantile(spans, .5)), "busy_p50_us": us(quantile(busy, .5)),
                     "gap_p50_us": us(quantile([a - b for a, b in zip(spans, busy)], .5)), "span_sum_us": us(sum(spans)),
                     "busy_sum_us": us(sum(busy)), "gap_sum_us": us(sum(spans) - sum(busy)), "gaps_over_5us": sum(g[0] > 5000 for g in gaps),
                     "largest_gap_us": us(largest[0]), "largest_gap_before": largest[1].name if largest[1] else None,
                     "gap_while_launching_us": us(sum(gap[2] for gap in gaps))})
    return rows


def sheets(path, classes):
    """classes(name) is the class of a kernel, as the test that generates the trace knows it."""
    found = Steps(path, classes)
    return {"serving_steps": steps_sheet(found), "serving_summary": summary_sheet(found), "host_between_steps": between_sheet(found),
            "decode_cost": cost_sheet(found), "kernel_classes": classes_sheet(found), "graph_replays": replays_sheet(found)}
