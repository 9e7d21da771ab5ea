"""The PyTorch inputs of test_damage.py: generated traces damaged in the ways of rocprof_inputs.py, fields of other types,
duplicate ids, impossible times, trees of a million levels, and traces on which TraceLens ends in a traceback; each with its
expected result.
"""
import copy
import gzip
import itertools
import json
import os
import random
import shutil
import tempfile

from tests.damage import rocprof_inputs
from tests.common import harness
from tests.pytorch import generate_trace as pytorch_generator
from tests.pytorch import reference_sheets as pytorch_reference
from tests.pytorch import test_reports as pytorch_reports
from tests.damage.rocprof_inputs import Case, exactly, thread_choice
from tests.pytorch.test_cases import cpu, host, launch

# All options of the report.
OPTIONS = ("--include_unlinked_kernels", "--enable_kernel_summary", "--short_kernel_study", "--include_overlap_info",
           "--detect_recompute", "--include_call_stack", "--include_first_occurrence_time", "--micro_idle_thresh_us", "5",
           "--group_by_num_kernels", "--enable_pseudo_ops", "--gpu_arch_platform", "MI300X", "--inference_phase_analysis", "--phase_detection_method", "union")
SETTINGS = {"include_unlinked_kernels": True, "enable_kernel_summary": True, "short_kernel_study": True,
            "detect_recompute": True, "micro_idle_thresh_us": 5}


class Trace:
    """A generated trace: its bytes, and the offset at which each kernel's event ends."""

    def __init__(self, **options):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            pytorch_generator.write_trace(path, pytorch_generator.Options(**options))
            with open(path, "rb") as file:
                self.data = file.read()
        text, decode = self.data.decode(), json.JSONDecoder().raw_decode  # ASCII: positions are byte offsets
        at = self.first = text.index("[", text.index("traceEvents")) + 1
        self.ends = []
        while text[at] != "]":
            event, at = decode(text, text.index("{", at))
            if event.get("cat") == "kernel":
                self.ends.append(at)
            at = text.index(",", at) if text[at] != "]" else at
        self.last = at

    def whole_before(self, length):
        return sum(end <= length for end in self.ends)


# ---- checks of the sheets ----


def sheet_problems(out, rows):
    tables, problems = {}, []
    for name in harness.files_under(out):
        if not name.endswith(".csv"):
            return [f"files are {harness.files_under(out)}"]
        tables[name[:-4]] = headings, body = harness.read_csv(os.path.join(out, name))
        uneven = [row for row in body if len(row) != len(headings)]
        if uneven:
            problems.append(f"{name}: a row of {len(uneven[0])} cells under {len(headings)} headings")
    missing = {"gpu_timeline", "short_kernel_histogram", "short_kernels_summary"} - set(tables)
    if missing:
        return problems + [f"not written: {missing}"]
    if len(tables["gpu_timeline"][1]) not in (9, 18):
        problems.append(f"gpu_timeline has {len(tables['gpu_timeline'][1])} rows")
    kernels = kernel_count(tables)
    if rows is not None and kernels not in rows:
        problems.append(f"{kernels} kernels, expected {rows.start} to {rows.stop - 1}")
    return problems


def kernel_count(tables):
    headings, body = tables.get("kernel_summary", ([], []))
    return sum(int(row[headings.index("Kernel duration (µs)_count")]) for row in body)


def odd_times(events):
    """Times that the reference model cannot handle: negative, not finite, or beyond the exact integers of a double."""
    times = [event.get(key, 0) for event in events if isinstance(event, dict) for key in ("ts", "dur")]
    numbers = [time for time in times if isinstance(time, (int, float))]
    durations = [e["dur"] for e in events if isinstance(e, dict) and isinstance(e.get("dur"), (int, float))]
    return any(not abs(n) < 2**53 for n in numbers) or any(d < 0 for d in durations)


def disagreements(case, outcome, out):
    """If Python's json rejects the text, gputally must fail or warn; if it reads a trace, the sheets must agree."""
    try:
        document = json.loads(case.data.decode("utf-8", "replace"), strict=False)
    except ValueError as error:
        quiet = outcome.code == 0 and not harness.warns_of_cut(outcome.stderr)
        return [f"accepted, though Python says: {error}"] if quiet else []
    try:
        if odd_times(document if isinstance(document, list) else document["traceEvents"]):
            return []
        expected = pytorch_reference.sheets(document, **SETTINGS)
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError, ValueError):
        return []  # valid JSON, but not a valid trace
    if outcome.code == 1:
        return [f"refused: {outcome.stderr.strip()[:200]}"]
    return pytorch_reports.csv_problems(expected, out)


# ---- fields of other types ----

FIELDS = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args")
KINDS = {  # which event of its kind, and its meaningful arguments
    "cpu_op": (1, ("External id", "Sequence number", "Input Dims", "Input type", "Input Strides", "Concrete Inputs")),
    "cuda_runtime": (1, ("External id", "correlation")),
    "kernel": (3, ("External id", "correlation", "stream", "Collective name", "In msg nelems", "Group size", "dtype",
                   "Process Group Ranks", "In split size")),
    "ac2g": (2, ()), "python_function": (2, ()), "gpu_memcpy": (0, ()), "user_annotation": (0, ()),
}
VALUES = ["text", "", None, True, -5, 0, 1.5, -1e300, 1e308, 2**63 - 1, -2**63, 2**64, 10**400, float("nan"),
          float("-inf"), [], {}, [[]], {"x": None}, "9" * 50, [1, "2", [3.5, None]], "\ud800", "caf\u00e9 \U0001f680"]


def dump(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode()


def nth_of_kind(events, kind, place):
    return [event for event in events if event.get("cat") == kind and (kind != "ac2g" or event["ph"] == "f")][place]


def other_types(trace):
    document = json.loads(trace.data)
    for kind, (place, arguments) in KINDS.items():
        for field in (*FIELDS, *(("args", argument) for argument in arguments)):
            where = f"{kind}.{'.'.join(field) if isinstance(field, tuple) else field}"
            for number, value in enumerate([*VALUES, ...]):
                fresh = copy.copy(document)
                fresh["traceEvents"] = events = list(document["traceEvents"])
                event = nth_of_kind(events, kind, place)
                changed = copy.deepcopy(event)
                events[events.index(event)] = changed
                holder, key = (changed.setdefault("args", {}), field[1]) if isinstance(field, tuple) else (changed, field)
                if value is ...:
                    if key not in holder:
                        continue
                    del holder[key]
                else:
                    holder[key] = value
                name = "missing" if value is ... else f"= {str(value)[:20]!r} ({number})"
                yield Case(f"{where} {name}", dump(fresh), "end", arguments=thread_choice(number))


def other_shapes(trace):
    """The trace written in other ways; and values that are not events among valid ones."""
    document, count = json.loads(trace.data), len(trace.ends)
    events = document["traceEvents"]
    yield Case("indented", json.dumps(document, indent=4).encode(), "pass", exactly(count))
    yield Case("sorted keys", json.dumps(document, sort_keys=True).encode(), "pass", exactly(count))
    yield Case("array of events", dump(events), "pass", exactly(count))
    yield Case("with a byte order mark", b"\xef\xbb\xbf" + trace.data, "pass", exactly(count))
    yield Case("other keys at the end", dump({**document, "deviceProperties": [{"id": 0, "x": [[]]}], "n": None}), "pass", exactly(count))
    twice = trace.data[:-1] + b',"traceEvents":' + dump(events) + b"}"
    yield Case("traceEvents twice: all of them, once each", twice, "read", exactly(count))
    for value in (None, 7, "text", [], {}, [[]], True, 1.5):
        for at in (0, len(events) // 2, len(events)):
            yield Case(f"{value!r} among the events at {at}", dump({"traceEvents": [*events[:at], value, *events[at:]]}), "end")
        yield Case(f"traceEvents is {value!r}", dump({"traceEvents": value}), "fail")
    for number in range(12):
        shuffled = random.Random(number).sample(events, len(events))
        yield Case(f"events shuffled, {number}", dump({"traceEvents": shuffled}), "agree", exactly(count), thread_choice(number))
    for kind, key in itertools.product(("s", "f", "X"), ("ph", "cat", "name", "pid", "ts")):
        without = [dict(e) for e in events]
        first = next(e for e in without if e["ph"] == kind)
        del first[key]
        yield Case(f"the first {kind} event has no {key}", dump({"traceEvents": without}), "agree")
    backwards = dump({"traceEvents": events[::-1]})
    yield Case("events in reverse order", backwards, "agree", exactly(count))
    yield Case("every event twice", dump({"traceEvents": [e for event in events for e in (event, event)]}), "read", exactly(count))


# ---- small traces, one feature each ----


def sheets_are(*expected):
    """Checks that exactly the expected sheets are written."""
    plain = {"ops_summary_by_category", "ops_summary", "ops_unique_args", "kernel_summary", "coll_analysis", "unified_perf_summary"}

    def check(out):
        found = {name[:-4] for name in harness.files_under(out)} & plain
        return [] if found == set(expected) else [f"sheets are {sorted(found)}, not {sorted(expected)}"]
    return check


def rows_of(sheet, count):
    def check(out):
        found = len(harness.read_csv(os.path.join(out, sheet + ".csv"))[1])
        return [] if found == count else [f"{sheet} has {found} rows, not {count}"]
    return check


def document(*lists):
    return dump({"traceEvents": [event for events in lists for event in events]})


ALL = ("ops_summary_by_category", "ops_summary", "ops_unique_args", "kernel_summary", "unified_perf_summary")


def gpu(name, ts, dur, **more):
    return [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur,
             "args": {"stream": 7, "correlation": 1}, **more}]


def traces_that_made_no_report():
    """Traces on which TraceLens ends in a traceback, with reasonable sheets."""
    nccl = launch("ncclDevKernel_AllReduce", 1010, 5, 1200, 100, 7)
    nccl[1]["args"].update({"Collective name": "allreduce", "In msg nelems": 4, "Out msg nelems": 4, "Group size": 2,
                            "dtype": "Float", "In split size": "[]", "Out split size": "[]", "Process Group Name": "0",
                            "Process Group Ranks": "[0, 1]"})
    yield Case("only communication kernels", document(cpu("c10d::allreduce_", 1000, 100), nccl), "pass", exactly(1),
               check=sheets_are("kernel_summary", "coll_analysis"))
    yield Case("kernels without cpu ops", document(launch("k", 1010, 5, 1200, 5, 7), launch("k", 1020, 5, 1300, 5, 8)), "pass",
               exactly(2), check=sheets_are("kernel_summary"))
    yield Case("a cpu op, but no kernel below it", document(cpu("a", 0, 5), launch("k", 10, 5, 1200, 5, 7)), "pass", exactly(1),
               check=sheets_are(*ALL))
    yield Case("zero-length kernels", document(cpu("a", 0, 50), launch("k", 10, 5, 100, 0, 7), launch("m", 20, 5, 200, 0, 8)), "pass",
               exactly(2), check=sheets_are(*ALL))
    yield Case("one kernel that took no time", document(cpu("a", 0, 50), launch("k", 10, 5, 100, 0, 7)), "pass", exactly(1),
               check=sheets_are(*ALL))
    graph = [host("cuda_runtime", "cudaGraphLaunch", 10, 5, {"correlation": 1})]
    yield Case("kernels of a CUDA graph", document(cpu("a", 0, 5), graph, gpu("g", 100, 5), gpu("h", 110, 3)), "pass", exactly(2),
               check=sheets_are(*ALL))
    yield Case("only a CUDA graph", document(graph, gpu("g", 100, 5), gpu("h", 110, 3)), "pass", exactly(2),
               check=sheets_are("kernel_summary"))
    yield Case("only memory copies", document(cpu("a", 0, 50), launch("Memcpy", 10, 5, 100, 9, 7, 0, {"cat": "gpu_memcpy"})), "pass",
               exactly(0), check=sheets_are("ops_summary_by_category", "ops_summary", "ops_unique_args", "unified_perf_summary"))
    yield Case("a launch without args", document(cpu("a", 0, 50), launch("k", 10, 5, 100, 9, 7), [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100, "ts": 30, "dur": 2}]), "pass", exactly(1),
        check=sheets_are(*ALL))
    yield Case("an event without ph", document(cpu("a", 0, 50), launch("k", 10, 5, 100, 9, 7), [{"name": "x", "ts": 1}]), "read",
               exactly(1), check=sheets_are(*ALL))
    yield Case("metadata of an unknown name", document(cpu("a", 0, 50), launch("k", 10, 5, 100, 9, 7), [
        {"ph": "M", "name": "synthetic", "pid": 100, "tid": 0, "args": {"name": 7}}]), "pass", exactly(1), check=sheets_are(*ALL))


def times_that_cannot_be():
    valid = cpu("a", 0, 500) + launch("k", 10, 5, 1000, 9, 7)
    for dur in (-1, -1e9, -0.0, 0, 1e-9, 1e15, 1e300, 1.7e308):
        for what in ("kernel", "cpu_op", "cuda_runtime"):
            changed = [{**e, "dur": dur} if e.get("cat") == what else e for e in valid]
            rows = 1 if what == "kernel" and dur < 0 else 2
            yield Case(f"{what} of duration {dur}", document(changed, launch("m", 20, 5, 2000, 9, 8)), "read", exactly(rows))
    for ts in (-1, -1e15, 0, 1e15, 2**53 + 1, 2**63, 1.7e308):
        changed = [{**e, "ts": ts} if e.get("cat") == "kernel" else e for e in valid]
        yield Case(f"kernel at {ts}", document(changed, launch("m", 20, 5, 2000, 9, 8)), "read", exactly(2))
    for word in (b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b'"5"', b"null", b"true"):
        for key in (b'"ts":1000', b'"dur":9'):
            data = document(valid, launch("m", 20, 5, 2000, 19, 8)).replace(key, key.split(b":")[0] + b":" + word)
            yield Case(f"kernel with {key.decode()} = {word.decode()}", data, "end")
    together = [{**e, "ts": 5, "args": {**e.get("args", {}), "correlation": 100 + i}} for i in range(50) for e in valid]
    yield Case("everything at one time", document(together), "read", exactly(50))
    yield Case("everything at one time, no durations", document([{**e, "dur": 0} for e in together]), "read", exactly(50))


def ids_that_stand_twice():
    many = [launch(f"k{i}", 10 + i, 1, 1000 + 10 * i, 9, 7) for i in range(300)]
    yield Case("one id for all launches", document(cpu("a", 0, 900), *many), "read", exactly(300))
    for count in (50, 20_000):
        graphs = [host("cuda_runtime", "cudaGraphLaunch", i, 1, {"correlation": 1}) for i in range(count)]
        kernels = [gpu(f"g{i % 7}", 10_000 + 10 * i, 9)[0] for i in range(count)]
        yield Case(f"{count} graph launches of one id and {count} kernels", document(cpu("a", 90_000, 5), graphs, kernels), "read",
                   exactly(count))
    arrows = [{"ph": p, "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 0, "tid": 0, "ts": 1} for p in "sf"] * 3000
    yield Case("6,000 flow events of one id", document(cpu("a", 0, 50), launch("k", 10, 5, 100, 9, 7), arrows), "read", exactly(1))
    for big in (2**31, 2**32 - 1, 2**32, 2**53, 2**63 - 1, -7):
        yield Case(f"an id of {big}", document(cpu("a", 0, 50), launch("k", 10, 5, 100, 9, big)), "pass", exactly(1),
                   check=rows_of("ops_summary", 1))


def deep_trees():
    """A million nested Python frames, with a kernel at the bottom."""
    frames = 1_000_000
    text = ['{"traceEvents":[']
    frame = '{"ph":"X","cat":"python_function","name":"%s","pid":1,"tid":1,"ts":%d,"dur":%d,"args":{}},'
    names = {0: "torch/utils/checkpoint.py(900): recompute_fn", 1: "nn.Module: Block_1"}
    text += [frame % (names.get(i, "model.py(3): forward"), i, 4 * frames - 2 * i) for i in range(frames)]
    bottom = cpu("aten::relu", frames + 1, 9) + launch("k", frames + 2, 3, 9_000_000, 5, 7)
    bottom = [{**e, "pid": 1, "tid": 1} if e["pid"] == 100 else e for e in bottom]
    text.append(dump(bottom).decode()[1:-1] + "]}")
    yield Case(f"{frames} nested frames", "".join(text).encode(), "pass", exactly(1),
               check=lambda out: rows_of("ops_summary", 1)(out) or rows_of("unified_perf_summary", 1)(out))
    ops = 3000
    nested = [e for i in range(ops) for e in cpu("op", i, 4 * ops - 2 * i)]
    launches = [e for i in range(ops) for e in launch("k", 0.2 + i, 0.1, 90_000 + 10 * i, 5, i)]
    yield Case(f"{ops} nested ops, each with a launch", document(nested, launches), "read", exactly(ops))
    wide = [e for i in range(20_000) for e in launch(f"k{i}", 10 + i / 100, 0.001, 90_000 + 10 * i, 5, i, i % 50)]
    yield Case("20,000 different kernels of one op", document(cpu("a", 0, 900), wide), "read", exactly(20_000))
    piled = [e for i in range(500) for e in launch("k", 10 + i / 100, 0.001, 90_000 + i, 5000, i, i)]
    yield Case("500 streams at the same time", document(cpu("a", 0, 900), piled), "read", exactly(500))



def all_cases(rng):
    everything = dict(python_functions=True, graphs=True, collectives=True)
    small = Trace(events=500, layers=1, threads=1, seed=5, **everything)
    dense = Trace(events=400, layers=1, threads=1, seed=6, layout="dense", shuffle_keys=True, odd_events=True, times="mixed")
    large = Trace(events=16_000, seed=7, **everything)  # 4 MB: several blocks, both threads
    yield from rocprof_inputs.cuts(small, "plain", 100, rng)
    yield from rocprof_inputs.cuts(large, "large", 30, rng)
    yield from rocprof_inputs.compressed_cuts(small, "gzip", gzip.compress(small.data), rocprof_inputs.gunzip_cut, ".json.gz", 40, rng)
    yield from rocprof_inputs.compressed_cuts(large, "large gzip", gzip.compress(large.data), rocprof_inputs.gunzip_cut, ".json.gz",
                                              15, rng)
    yield from rocprof_inputs.flips(small, "plain", small.data, 250, rng)
    yield from rocprof_inputs.flips(dense, "dense", dense.data, 150, rng)
    yield from rocprof_inputs.flips(large, "large", large.data, 40, rng)
    yield from rocprof_inputs.flips(small, "gzip", gzip.compress(small.data), 60, rng, ".json.gz", 10)
    if shutil.which("zstd"):
        zstd = rocprof_inputs.zstd
        yield from rocprof_inputs.compressed_cuts(small, "zstd", zstd(small.data), rocprof_inputs.unzstd_cut, ".json.zst", 20, rng)
        yield from rocprof_inputs.flips(small, "zstd", zstd(small.data), 30, rng, ".json.zst", 20)
    yield from rocprof_inputs.garbage(small, 30, rng)
    yield from rocprof_inputs.garbage(dense, 20, rng)
    yield from rocprof_inputs.scribbles(small, "plain", 300, rng)
    yield from rocprof_inputs.scribbles(dense, "dense", 200, rng)
    yield from other_types(small)
    yield from other_shapes(small)
    yield from traces_that_made_no_report()
    yield from times_that_cannot_be()
    yield from ids_that_stand_twice()
    yield from deep_trees()
    yield from rocprof_inputs.foreign_cases({
        **rocprof_inputs.no_traces(small.data, rng), "no traceEvents": b'{"schemaVersion":1,"events":[]}', "JSON empty array": b"[]",
        "traceEvents empty": b'{"traceEvents":[]}', "two documents": small.data + small.data, "text at the end": small.data + b" and more",
        "deep in an event": b'{"traceEvents":[{"args":' + b"[" * 2000 + b"]" * 2000 + b"}]}"})
    yield from rocprof_inputs.sound_files(small)
    yield from rocprof_inputs.bad_outputs(small)
