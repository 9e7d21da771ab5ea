"""What a trace says that the page must hold, read here from the raw files: GPU events and host events.

    events = pytorch(path)      # GpuEvent(device, stream, name, start, ns, correlation); None: not such a trace
    events = rocprof(path)
    events = jax(path)

Times are integer nanoseconds, from the trace's first event on.
"""
import functools
import gzip
import json
import math
from typing import NamedTuple

from tests.jax import generate_xplane as protobuf

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
LONG = 3900  # names are compared up to here; the page cuts very long ones
HOST = ("cpu_op", "cuda_runtime", "cuda_driver", "python_function", "user_annotation")


class GpuEvent(NamedTuple):
    device: object
    stream: object
    name: str
    start: int
    ns: int
    correlation: object = None


def read(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rb") as file:
        return file.read()


def number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def whole_ns(us):
    return int(us * 1000 + 0.5) if us * 1000 + 0.5 > 0 else 0


@functools.lru_cache(maxsize=2)  # parsing takes longer than most checks
def pytorch_events(path):
    """The complete events with times, as dicts; None if the file is no PyTorch trace with GPU events."""
    try:
        trace = json.loads(read(path), strict=False)
    except ValueError:
        return None
    events = trace.get("traceEvents") if isinstance(trace, dict) else trace
    if not isinstance(events, list):
        return None
    events = [event for event in events
              if isinstance(event, dict) and event.get("ph") == "X" and event.get("cat") in GPU + HOST and
              math.isfinite(number(event.get("ts"))) and math.isfinite(number(event.get("dur")))]
    return events if any(event["cat"] in GPU for event in events) else None


def pytorch(path):
    events = pytorch_events(path)
    if events is None:
        return None
    base = min(number(event["ts"]) for event in events)
    found = []
    for event in events:
        if event["cat"] not in GPU:
            continue
        args = event.get("args") or {}
        device, stream = args.get("device", event.get("pid")), args.get("stream", event.get("tid"))
        found.append(GpuEvent(device, stream, event["name"][:LONG], whole_ns(number(event["ts"]) - base),
                              whole_ns(number(event["dur"])), args.get("correlation", args.get("External id"))))
    return found


def rocprof(path):
    """Of a rocprofv3 JSON file. Names are those that its first column has."""
    found = []
    for process in json.loads(read(path))["rocprofiler-sdk-tool"]:
        agents = {agent["id"]["handle"]: agent["logical_node_id"] for agent in process["agents"]}
        kinds = process.get("strings", {}).get("buffer_records")
        for record in process["buffer_records"].get("kernel_dispatch", []):
            times = record["start_timestamp"], record["end_timestamp"]
            handle = record["dispatch_info"]["agent_id"]["handle"]
            found.append(GpuEvent(agents.get(handle, handle), None, "kernel", times[0], max(0, times[1] - times[0])))
        for record in process["buffer_records"].get("memory_copy", []):
            direction = kinds[record["kind"]]["operations"][record["operation"]] if "kind" in record else ""
            if direction.endswith("HOST_TO_HOST"):
                continue
            times = record["start_timestamp"], record["end_timestamp"]
            found.append(GpuEvent(None, None, "copy", times[0], max(0, times[1] - times[0])))
    return found


def jax(path):
    """Of an XSpace: the events of all lines of GPUs whose names begin with "Stream"."""
    found = []
    for field, plane, _ in protobuf.fields(read(path)):
        if field != 1:
            continue
        name = bytes(protobuf.first(plane, 2, b"")).decode(errors="replace")
        if not name.startswith("/device:GPU:"):
            continue
        names = {}
        for inner, entry, _ in protobuf.fields(plane):
            if inner == 4:
                metadata = protobuf.first(entry, 2, b"")
                names[protobuf.first(entry, 1, 0)] = bytes(protobuf.first(metadata, 2, b"")).decode(errors="replace")[:LONG]
        for inner, line, _ in protobuf.fields(plane):
            label = bytes(protobuf.first(line, 2, b"")).decode(errors="replace") if inner == 3 else ""
            if not label.startswith("Stream"):
                continue
            begin = protobuf.first(line, 3, 0) * 1000
            for kind, event, _ in protobuf.fields(line):
                if kind != 4:
                    continue
                start, length = begin + protobuf.first(event, 2, 0), protobuf.first(event, 3, 0)
                first, last = (start + 500) // 1000, (start + length + 500) // 1000
                found.append(GpuEvent(name[len("/device:GPU:"):], label, names.get(protobuf.first(event, 1, 0)), first, last - first))
    return found
