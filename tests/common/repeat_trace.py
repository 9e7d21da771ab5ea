"""Longer traces from short ones: a PyTorch trace several times, one copy after the other.

Each copy has its own ids, so that launches and gradients are found within it.
"""
import copy
import gzip
import json

IDS = ("correlation", "External id", "Sequence number", "Ev Idx")
GAP_US = 1000


def repeated(events, times):
    """The events `times` times. Metadata events are not repeated."""
    timed = [e for e in events if e.get("ph") != "M" and isinstance(e.get("ts"), (int, float))]
    other = [e for e in events if e.get("ph") == "M"]
    begin = min(e["ts"] for e in timed)
    length = max(e["ts"] + (e.get("dur") or 0) for e in timed) - begin + GAP_US
    step = 1 + max([e["id"] for e in timed if isinstance(e.get("id"), int)] +
                   [e["args"][key] for e in timed for key in IDS if isinstance(e.get("args", {}).get(key), int)] + [0])
    found = list(other)
    for number in range(times):
        for event in timed:
            moved = copy.copy(event)
            moved["ts"] = round(event["ts"] + number * length, 3)
            if isinstance(event.get("id"), int):
                moved["id"] = event["id"] + number * step
            args = event.get("args")
            if args:
                moved["args"] = {key: value + number * step if key in IDS and isinstance(value, int) and value > 0 else value
                                 for key, value in args.items()}
            found.append(moved)
    return found


def write_repeated(source, path, times):
    """Writes the trace `source` (gzip) `times` times to `path`, as plain JSON or as gzip after its name."""
    with gzip.open(source, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    trace["traceEvents"] = repeated(trace["traceEvents"], times)
    with (gzip.open(path, "wt", compresslevel=1) if path.endswith(".gz") else open(path, "w")) as file:
        json.dump(trace, file)
    return path
