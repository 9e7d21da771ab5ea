"""What a schedule must have, straight from a trace's JSON: a plain and slow version of src/findings/{ops,host,steps}.c.

Used by test_schedules.py. All times are integers, in nanoseconds after the first event.
"""
import bisect
import copy
import gzip
import json
import math
import re

HOST = {"cpu_op", "python_function", "cuda_runtime", "cuda_driver", "user_annotation"}
GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
DATA, OPTIMIZER, RECOMPUTE, BACKWARD, HEAVY = 1, 2, 4, 8, 16
KINDS = ["launch", "copy", "sync", "free", "alloc", "module"]

SYNC = re.compile(r"(cuda|hip|cu)(Stream|Device|Event|Ctx|Thread)Synchronize")
FREE = re.compile(r"cudaFree|hipFree|hipHostFree|cuMemFree|cuMemUnmap|cuMemRelease")
ALLOC = re.compile(r"cudaMalloc|hipMalloc|hipExtMalloc|cuMemAlloc|cuMemCreate|cuMemMap|cuMemSetAccess|cuMemAddressReserve"
                   r"|cudaHostAlloc|hipHostMalloc|cudaHostRegister|hipHostRegister")
MODULE = re.compile(r"ModuleLoad|LibraryLoad|ModuleGetFunction|cuLinkComplete")
COMMUNICATION = re.compile(r"nccl|rccl|cross_device_reduce|allreduce|all_reduce|allgather|reduce_scatter|reducescatter"
                           r"|deep_ep|mscclpp|one_shot|two_shot_all", re.I)
LOADING = re.compile(r"torch/utils/data/|enumerate\(DataLoader\)|DataLoader.*__next__")
CHECKPOINT = re.compile(r"torch/utils/checkpoint\.py\(\d+\): (recompute_fn|unpack|_run_fn_with_dynamo_disabled|backward)"
                        r"|CheckpointFunctionBackward")
FORWARD = set("linear conv1d conv2d conv3d layer_norm batch_norm group_norm rms_norm gelu relu relu_ silu embedding dropout"
              " scaled_dot_product_attention max_pool2d adaptive_avg_pool2d softmax".split())
NO_WORK = set("view slice narrow as_strided select transpose t permute expand reshape unsqueeze squeeze detach detach_ alias"
              " empty empty_strided empty_like resize_ split chunk unbind contiguous to item _unsafe_view flatten view_as"
              " set_ lift_fresh result_type is_nonzero".split())

SERVER_STEP = re.compile(r"execute_(\d+_)?context_\d+\(|step\[[A-Z_]+ |(prefill|decode)\[(bs|tok)=")  # of vLLM, SGLang, ATOM


def is_aten(name, names):
    return name.startswith("aten::") and name[6:] in names


def is_view(event):
    return event.category == "cpu_op" and (is_aten(event.name, NO_WORK) or event.name == "detach")


def left_in(events):
    """Without what ends before it starts, and without GPU events that are in the trace twice: the first stays."""
    known = set()
    for event in events:
        dur = event.get("dur", 0)
        args = event.get("args") or {}
        key = (event["name"], event.get("pid"), event.get("tid"), event["ts"], dur, args.get("correlation"))
        if dur >= 0 and not (event["cat"] in GPU and dur and key in known):
            known.add(key)
            yield event


class Event:
    def __init__(self, event, order, base):
        self.category, self.name, self.order = event["cat"], event["name"], order
        self.args = event.get("args") or {}
        self.start = round((event["ts"] - base) * 1000)
        self.end = self.start + max(0, round(event.get("dur", 0) * 1000))
        self.thread = (json.dumps(event.get("pid")), json.dumps(event.get("tid")))
        self.parent, self.flags, self.call, self.launches, self.depth, self.inside = None, 0, None, 0, 0, 0
        self.ops, self.point, self.step = [], None, None


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        trace = json.loads(file.read(), strict=False)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    events = [e for e in events if e.get("ph") == "X" and "ts" in e and e.get("cat") in HOST | GPU]
    base = min((e["ts"] for e in events), default=0)
    return [Event(e, i, base) for i, e in enumerate(left_in(events))]


def kind_of_call(event):
    if SYNC.match(event.name):
        return "sync"
    if FREE.match(event.name):
        return "free"
    if ALLOC.match(event.name):
        return "alloc"
    if event.ops:
        return "copy" if event.ops[0].category == "gpu_memcpy" else "launch"
    if "Memcpy" in event.name and event.end - event.start > 50000:
        return "copy"
    return "module" if MODULE.search(event.name) else None


def own_flags(event):
    name = event.name
    if event.category == "cpu_op":
        again = "CheckpointFunctionBackward" in name or (is_aten(name, FORWARD) and event.flags & BACKWARD)
        return (BACKWARD if name.startswith("autograd::engine::evaluate_function") else 0) | (RECOMPUTE if again else 0)
    return ((DATA if LOADING.search(name) else 0) | (OPTIMIZER if name.startswith("Optimizer.step#") else 0)
            | (RECOMPUTE if CHECKPOINT.search(name) else 0))


def build_thread(events, points):
    events.sort(key=lambda e: (e.start, -e.end, e.order))
    stack = []
    for event in events:
        # Rounded times: an event that seems to begin up to 2 ns before the end of its predecessor comes after it.
        while stack and (stack[-1].end <= event.start or stack[-1].end <= event.start + 2 and event.end > stack[-1].end):
            last = stack.pop()
            too_much = max(0, last.end - event.start)
            last.end -= too_much
            if last.parent:
                last.parent.inside -= too_much
        if stack:
            event.parent, event.flags, event.depth = stack[-1], stack[-1].flags, len(stack)
            if event.category != "user_annotation":
                event.end = min(event.end, event.parent.end)
            event.parent.inside += event.end - event.start
        if event.category in ("cuda_runtime", "cuda_driver"):
            event.call = kind_of_call(event)
            if event.call:
                points.append(event)
                for op in event.ops:
                    op.point = event
        else:
            own = own_flags(event)
            if own & BACKWARD:  # a nested backward pass repeats nothing
                event.flags &= ~RECOMPUTE
            event.flags |= own
        stack.append(event)
    for event in reversed(events):
        event.launches += event.call in ("launch", "copy")
        if event.parent:
            event.parent.launches += event.launches
    for event in events:
        if event.parent and is_view(event):
            event.parent.inside += 20000  # of calling it
    for event in events:
        if (event.category == "cpu_op" and not event.launches and event.end - event.start - event.inside >= 200000
                and not is_view(event)):
            top = event
            while top.parent and top.parent.category == "cpu_op" and not top.parent.launches:
                top = top.parent
            top.flags |= HEAVY
    for event in events:
        if event.parent:
            event.flags |= event.parent.flags & HEAVY


def stream_of(op):
    return json.dumps(op.args.get("stream", op.thread[1]))


def communicates(op):
    return op.category == "kernel" and COMMUNICATION.search(op.name)


def window(ops, steps, points):
    starts = [s.start for s in steps]
    for point in points:
        k = bisect.bisect_right(starts, point.start) - 1
        point.step = k if k >= 0 and point.start < steps[k].end else None
    placed = [op for op in ops if op.point and op.point.step is not None]
    busy = {stream_of(op): 0 for op in placed[:1] + ops}
    for op in placed:
        if not communicates(op):
            busy[stream_of(op)] += op.end - op.start
    main = [op for op in placed if stream_of(op) == max(busy, key=busy.get)]
    if {op.point.step for op in main} != {op.point.step for op in placed}:
        main = placed
    first = {}
    for op in main:
        first.setdefault(op.point.step, op)
    found = sorted(first)
    used = []
    for k in found:
        if not used or first[k].start > first[used[-1]].start:
            used.append(k)
    if len(used) >= 2:
        return len(used), used[-1] - used[0], first[used[-1]].start - first[used[0]].start
    mine = [op for op in ops if op.point and (not used or op.point.step == used[0])] or ops
    if not mine:
        return 0, 1, 0
    start, end = mine[0].start, max(op.end for op in mine)
    if used:  # one step: as long as on the host, but not before what earlier steps have left has ended
        step = steps[used[0]]
        begin = max([step.start + max(0, end - step.end)] + [op.end for op in ops[:ops.index(mine[0])]])
        start, end = min(start, begin), max(end, step.end)
    return len(used), 1, end - start


def clock_difference(ops, points):
    """By how much the GPU's clock is ahead of the host's, if that is certain, as the comment of clocks.c has it."""
    starts, returns, busy = [], [], -math.inf
    for op in ops:
        if op.start - busy > 3000 and op.point and len(op.point.ops) == 1:
            starts.append(op.start - op.point.start)
        busy = max(busy, op.end)
    for last, point in zip(points, points[1:]):
        if point.call == "copy" and point.ops and point.end - point.start >= 50000 and re.search("DtoH.*Pageable", point.ops[0].name):
            last = point
        elif not (point.call == "sync" and last.thread == point.thread and last.ops and
                  ("DeviceSynchronize" in point.name or last.call == "copy" and "StreamSynchronize" in point.name)):
            continue
        returns.append(point.end - last.ops[-1].end)
    starts, returns = sorted(starts), sorted(returns)
    least, back = starts[len(starts) // 10] if starts else 0, returns[len(returns) // 10] if returns else 0
    if starts and (least < 0 or least > 45000 and len(starts) >= 50 and starts[len(starts) // 2] - least < 10000):
        found = least - 7000
    elif back < 0:
        found = least - 7000 if starts and least < 5000 - back else 5000 - back
    else:
        found = 0
    return found if 15000 <= abs(found) <= 400000 else 0


def join_equal_steps(found):
    """Steps by start. Of equal ones that follow each other and overlap, one is left."""
    names = list(dict.fromkeys(step.name for step in found))
    steps = []
    for step in sorted(found, key=lambda step: (step.start, step.end, names.index(step.name))):
        if steps and steps[-1].name == step.name and (step.start < steps[-1].end or step.start == steps[-1].start):
            steps[-1].end = max(steps[-1].end, step.end)
        else:
            steps.append(copy.copy(step))
    return steps


def counts_of_flags(events):
    return [sum(1 for e in events if e.flags & bit) for bit in (DATA, OPTIMIZER, RECOMPUTE, BACKWARD, HEAVY)]


def has_op_above(event):
    while event and event.category != "cpu_op":
        event = event.parent
    return event is not None


def facts(path):
    """The same as `test_schedule PATH` prints. For traces of one process and rank."""
    events = read(path)
    gpu = [e for e in events if e.category in GPU]
    host = [e for e in events if e.category in HOST]
    busy = {}
    for op in gpu:
        op.device = json.dumps(op.args.get("device", op.thread[0]))
        busy[op.device] = busy.get(op.device, 0) + op.end - op.start
    device = max(busy, key=busy.get, default=None)
    ops = sorted((op for op in gpu if op.device == device), key=lambda op: (op.start, op.end, op.order))
    by_id = {}
    for op in ops:
        by_id.setdefault(op.args.get("correlation", op.args.get("External id")), []).append(op)
    by_id.pop(None, None)
    threads, points = {}, []
    for event in host:
        event.ops = by_id.get(event.args.get("correlation"), [])
        threads.setdefault(event.thread, []).append(event)
    for thread in threads.values():
        build_thread(thread, points)
    launching = {p.thread for p in points if p.ops}
    if launching and len(busy) > 1:  # threads that launch on other devices only wait there, too
        calls = [e for e in host if e.category in ("cuda_runtime", "cuda_driver")]
        elsewhere = {e.thread for e in calls if "Launch" in e.name} - launching
        points = [p for p in points if p.thread not in elsewhere]
    points.sort(key=lambda p: p.start)
    marked = [e for e in host if e.category == "user_annotation"]
    server = [e for e in marked if SERVER_STEP.match(e.name)]
    server = [e for e in server if not any(o.thread == e.thread and (o.start, -o.end) < (e.start, -e.end) and e.end <= o.end
                                           for o in server)]  # the outermost
    steps = join_equal_steps(server or [e for e in marked if e.name.startswith("ProfilerStep")])
    skew = 0 if server else clock_difference(ops, points)
    for event in host if skew > 0 else ops:
        event.start, event.end = event.start + abs(skew), event.end + abs(skew)
    for step in steps:
        step.start, step.end = step.start + max(skew, 0), step.end + max(skew, 0)
    used, window_steps, window_ns = window(ops, steps, points)
    cpu_ops = [e for e in host if e.category == "cpu_op"]
    return {
        "ops": len(ops), "ops_ns": sum(op.end - op.start for op in ops), "devices": len(busy),
        "bytes": sum(max(0, int(op.args.get("bytes", 0) or 0)) for op in ops),
        "streams": len({stream_of(op) for op in ops}),
        "launched": sum(1 for op in ops if op.point),
        "with_op": sum(1 for op in ops if op.point and has_op_above(op.point)),
        "communicating": sum(1 for op in ops if communicates(op)),
        "events": len(host), "threads": len(threads), "roots": sum(1 for e in host if not e.parent),
        "depths": sum(e.depth for e in host), "launches": sum(e.launches for e in host),
        "events_ns": sum(e.end - e.start for e in host), "event_flags": counts_of_flags(host),
        "points": [sum(1 for p in points if p.call == kind) for kind in KINDS],
        "points_ns": sum(p.end - p.start for p in points), "point_flags": counts_of_flags(points),
        "steps": len(steps), "used_steps": used, "window_steps": window_steps, "window_ns": window_ns,
        "cpu_ops": len(cpu_ops), "shapes": sum(1 for e in cpu_ops if "Input Dims" in e.args),
    }
