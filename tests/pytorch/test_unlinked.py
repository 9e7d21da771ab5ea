#!/usr/bin/env python3
"""Launches and GPU events without one: which events are linked, and how much GPU time the sheets of ops do not count.

    python3 -m tests.pytorch.test_unlinked --bin build/gputally [--only TEXT]

Links, times and numbers are computed here from the raw file: for `gputally pytorch` by the rules of TraceLens
(reference_sheets.py), for `gputally report` per GPU event from the calls with its correlation. Traces are the fixtures,
synthetic ones, and the conformance folder's if it exists.
"""
import glob
import json
import os
import re
import sys

from tests.common import harness
from tests.pytorch import generate_trace
from tests.pytorch import reference_sheets as reference

NUMBERS = r"([\d.]+) of ([\d.]+) ms \(([\d.]+)%\)"
LINE = re.compile(rf"GPU time in no op sheet: {NUMBERS}: (.*); (.*)")
UNLINKED = re.compile(rf"GPU time not linked to a launch: {NUMBERS}, (.*); (.*)")
USE = "use --include_unlinked_kernels to include what is not linked in gpu_timeline"
OMIT = "omit --linked_kernels_only to include what is not linked in gpu_timeline"
INCLUDED = "gpu_timeline includes it"


# ---- links ----


class Corrected(reference.Trace):
    """The links of `gputally report`: first those of TraceLens, then the launch of each GPU event by its ids."""

    def link(self):
        self.pairs = []
        super().link()
        shared = {}
        for call, gpu in self.pairs:
            shared.setdefault(gpu, []).append(call)
        links = {gpu: [c for c in calls if self.fit(c, gpu)] or calls for gpu, calls in shared.items()}
        by_id = {}
        for call in self.of_kind("runtime"):
            for key in ("correlation", "External id"):
                by_id.setdefault((key, self.id(call, key)), []).append(call)
        for gpu in self.of_kind(*reference.GPU):
            if gpu not in links:
                correlation = self.id(gpu, "correlation")
                external = by_id.get(("External id", self.id(gpu, "External id")), [])
                found = self.best(by_id.get(("correlation", correlation), []), gpu) if correlation else self.best(external, gpu)
                if correlation and not found:
                    found = self.best([c for c in external if not self.id(c, "correlation")], gpu)
                links[gpu] = found
        launched = {}
        for gpu in sorted(links):
            for call in links[gpu]:
                launched.setdefault(call, []).append(gpu)
        for call in sorted(launched):
            super().launch(call, launched[call])

    def launch(self, call, work):
        self.pairs += [(call, gpu) for gpu in work]

    def id(self, i, key):
        """An id that is 0 is none."""
        return (self.events[i].get("args") or {}).get(key) or None

    def fit(self, call, gpu):
        name = self.events[call]["name"]
        for part, kind in (("launch", "kernel"), ("memcpy", "memcpy"), ("memset", "memset")):
            if part in name.lower() and ("Graph" not in name or "GraphLaunch" in name):
                return 2 if self.kind[gpu] == kind else 1
        return 0

    def best(self, calls, gpu):
        """The first call that fits best, as a list."""
        calls = [call for call in calls if self.id(gpu, "correlation") or self.id(gpu, "External id")]
        calls = sorted((call for call in calls if self.fit(call, gpu)), key=lambda call: (-self.fit(call, gpu), call))
        return calls[:1]


# ---- the line ----


def of(trace, rows):
    """(ms, kernels, copies and memsets)"""
    kernels = sum(trace.kind[i] == "kernel" for i in rows)
    return sum(trace.events[i]["dur"] for i in rows) / 1e3, kernels, len(rows) - kernels


def figures(trace):
    """The events that no op sheet counts, in three parts, and the ms of all GPU events."""
    gpu = trace.of_kind(*reference.GPU)
    linked = [i for i in gpu if i in trace.parent]
    communication = [i for i in linked if reference.COMMUNICATION.search(trace.events[i]["name"])]
    outside = [] if trace.of_kind("cpu_op") else [i for i in linked if i not in communication]
    return {"unlinked": of(trace, [i for i in gpu if i not in trace.parent]), "communication": of(trace, communication),
            "outside": of(trace, outside), "all": of(trace, gpu)[0]}


def counts(kernels, others, what=""):
    return " and ".join([f"{kernels} {what}kernel{'s' * (kernels != 1)}"] * (kernels > 0) + [
        f"{others} {'copy or memset' if others == 1 else 'copies or memsets'}"] * (others > 0))


def number_problems(found, ms, all_ms):
    expected = ms, all_ms, ms / all_ms * 100 if all_ms else 0.0
    return [f"{value} is not {number}" for value, number, slack in zip(found, expected, (0.00051, 0.00051, 0.051))
            if abs(float(value) - number) > slack]


def line_problems(text, expected, ending):
    """The text has the one line with these figures; none if there are no such events."""
    parts = [(expected["unlinked"], "", " not linked to a launch"), (expected["communication"], "communication ", ""),
             (expected["outside"], "", " launched outside any op")]
    parts = [part for part in parts if part[0][1] + part[0][2]]
    found = LINE.findall(text)
    if not parts or len(found) != 1:
        return [f"says {found} in {text[:300]!r}, expected {expected}"] if parts or found else []
    problems = number_problems(found[0][:3], sum(part[0][0] for part in parts), expected["all"])
    said = re.findall(r"([\d.]+) ms in ([^,]*)", found[0][3])
    wanted = [counts(kernels, others, what) + after for (_, kernels, others), what, after in parts]
    if [what for _, what in said] != wanted or any(abs(float(ms) - part[0][0]) > 0.00051 for (ms, _), part in zip(said, parts)):
        problems.append(f"{said} is not {parts}")
    return problems + ([f"ends with {found[0][4]!r}"] if found[0][4] != ending else [])


def unlinked_problems(text, expected, ending):
    """The line of the commands that compare and combine traces, which is about unlinked events only."""
    ms, kernels, others = expected["unlinked"]
    found = UNLINKED.findall(text)
    if len(found) != 1:
        return [f"says {found} in {text[:300]!r}"]
    problems = number_problems(found[0][:3], ms, expected["all"])
    return problems + [f"{found[0][3:]} is not {expected}"] * (found[0][3:] != (counts(kernels, others), ending))


# ---- reports ----


def sheet_problems(trace, out, text, expected):
    """ops_summary has all other GPU events: those that the line does not count, without the time in which kernels of one op overlap."""
    path = os.path.join(out, "ops_summary.csv")
    rows = harness.read_csv(path)[1] if os.path.exists(path) else []
    made = reference.op_sheets(trace, None)["ops_summary"][1] if trace.of_kind("cpu_op") else []
    wanted = {row[0]: (row[1], row[2], row[5]) for row in made}
    found = {row[0]: (float(row[1]), float(row[2]), int(row[5])) for row in rows}
    problems = [f"ops_summary: {name!r} is {found.get(name)}, not {wanted.get(name)}" for name in {**wanted, **found}
                if name not in found or name not in wanted or any(
                    abs(a - b) > 1e-6 * max(1, abs(b)) for a, b in zip(found[name], wanted[name]))]
    line = LINE.search(text)
    left_out_us = float(line[1]) * 1e3 if line else 0.0
    overlap = sum(of(trace, own)[0] * 1e3 - trace.busy(own) for own in reference.launchers(trace).values()) if made else 0.0
    total_us = sum(row[0] for row in found.values())
    if abs(expected["all"] * 1e3 - overlap - total_us - left_out_us) > 0.6 + 1e-6 * total_us:
        problems.append(f"ops_summary adds up to {total_us} of {expected['all'] * 1e3} us, but {left_out_us} us are left out")
    return problems


def check_report(binary, folder, path, command, includes, corrected):
    trace = (Corrected if corrected else reference.Trace)(reference.read(path))
    expected = figures(trace)
    out = os.path.join(folder, "out" + "".join(command))
    outcome = harness.run([binary, *command, path, "--output_csvs_dir", out])
    if outcome.code:
        return outcome.problems() + [outcome.stderr[:200]]
    warns = not includes and sum(expected["unlinked"][1:]) > 0
    ending = INCLUDED if not warns else OMIT if corrected else USE
    said, other = (outcome.stderr, outcome.stdout) if warns else (outcome.stdout, outcome.stderr)
    problems = line_problems(said, expected, ending) + ["said twice"] * bool(LINE.search(other))
    linked = sum(len(work) for call, work in trace.launched.items() if trace.kind[call] == "runtime" and not any(
        trace.kind[above] == "runtime" for above in trace.ancestors(call)))
    if corrected and not re.search(rf"\b{linked} launch(es)? linked\n", outcome.stdout):
        problems.append(f"{outcome.stdout[:100]!r}: {linked} launches expected")
    timeline = reference.gpu_timeline(trace, {"include_unlinked_kernels": includes}, None)[1]
    rows = harness.read_csv(os.path.join(out, "gpu_timeline.csv"))[1]
    if [row[0] for row in rows] != [row[0] for row in timeline] or any(
            abs(float(row[1]) - wanted[1]) > 1e-6 for row, wanted in zip(rows, timeline)):
        problems.append(f"gpu_timeline is {rows}")
    return problems + sheet_problems(trace, out, said, expected)


def check_trace(binary, folder, path):
    """`pytorch` links as TraceLens, omits unlinked events and warns; `report` links more and includes the rest; both have
    options for the other."""
    problems = []
    for command, includes in ((["pytorch"], False), (["pytorch", "--include_unlinked_kernels"], True),
                              (["report", "--no_graph_ops"], True),
                              (["report", "--no_graph_ops", "--linked_kernels_only"], False)):
        problems += [f"{command}: {problem}" for problem in check_report(binary, folder, path, command, includes,
                                                                         command[0] == "report")]
    return problems


def without_flows(path, target, every=3):
    """Removes the flow events of every third launch, so that its kernel is unlinked."""
    document = reference.read(path)
    document["traceEvents"] = [event for event in document["traceEvents"]
                               if event.get("cat") != "ac2g" or not isinstance(event.get("id"), int) or event["id"] % every]
    with open(target, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return target


def check_made(binary, folder, **options):
    path = os.path.join(folder, "made.json")
    generate_trace.write_trace(path, generate_trace.Options(**{"events": 2500, **options}))
    return check_trace(binary, folder, without_flows(path, path))


def check_quiet(binary, folder):
    """--quiet keeps the warning."""
    path = without_flows(os.path.join(harness.FIXTURES, "pytorch", "training.json.gz"), os.path.join(folder, "t.json"))
    outcome = harness.run([binary, "pytorch", path, "--quiet", "--output_csvs_dir", os.path.join(folder, "out")])
    return (["prints " + outcome.stdout] if outcome.stdout else []) + line_problems(
        outcome.stderr, figures(reference.Trace(reference.read(path))), USE)


def check_old_name(binary, folder):
    """A warning on standard error; nothing new on standard output."""
    path = without_flows(os.path.join(harness.FIXTURES, "pytorch", "training.json.gz"), os.path.join(folder, "t.json"))
    link = os.path.join(folder, "TraceLens_generate_perf_report_pytorch")
    os.symlink(binary, link)
    outcome = harness.run([link, "--profile_json_path", path, "--output_csvs_dir", os.path.join(folder, "out")])
    said = outcome.stdout if LINE.search(outcome.stdout) else outcome.stderr
    return outcome.problems() + line_problems(said, figures(reference.Trace(reference.read(path))), USE) + (
        ["is on standard output"] if said is outcome.stdout else [])


def check_diff(binary, folder):
    paths = [without_flows(os.path.join(harness.FIXTURES, "pytorch", "training.json.gz"), os.path.join(folder, f"{n}.json"), n)
             for n in (2, 5)]
    outcome = harness.run([binary, "diff", *paths, "--output_dir", os.path.join(folder, "out")])
    problems = outcome.problems()
    for number, path in enumerate(paths, 1):
        said = "\n".join(line for line in outcome.stderr.split("\n") if f"warning: trace{number}: " in line)
        problems += unlinked_problems(said, figures(reference.Trace(reference.read(path))), "it is not compared")
    return problems


def check_batch(binary, folder):
    """One line for all ranks."""
    base = os.path.join(folder, "run")
    os.mkdir(base)
    paths = [without_flows(os.path.join(harness.FIXTURES, "pytorch", "training.json.gz"),
                           os.path.join(base, f"rank_{n}_trace.json"), n + 2) for n in range(3)]
    outcome = harness.run([binary, "batch", "-b", base, "-f", "rank_", "--output_csvs_dir", os.path.join(folder, "out")])
    parts = [figures(reference.Trace(reference.read(path))) for path in paths]
    expected = {"unlinked": tuple(map(sum, zip(*(part["unlinked"] for part in parts)))), "all": sum(part["all"] for part in parts)}
    said = "\n".join(line for line in outcome.stderr.split("\n") if "not linked" in line)
    return outcome.problems() + unlinked_problems(
        said, expected, "gpu_timelines and kernel_launchers do not count it, `gputally report` of a rank does")


# ---- launches that the rules of TraceLens miss ----


class Maker:
    """Events of one trace."""

    def __init__(self):
        self.events, self.time = [], 0

    def op(self, op, call, work, ids, gpu_ids=None, arrows="sf", pid=1000, device=0, **args):
        """An op (None: no op) with one call (None: no call) that launches GPU events: (category, name, stream) each.
        `ids` and `gpu_ids` are the arguments of the call and of the GPU events; `arrows` are the ends of their flow events."""
        self.time += 1000
        at, gpu_ids = self.time, ids if gpu_ids is None else gpu_ids
        add = lambda **event: self.events.append({"ph": "X", "pid": pid, "tid": pid, **event})
        if op:
            add(cat="cpu_op", name=op, ts=at, dur=100, args={**args})
        if call:
            add(cat="cuda_driver" if call.startswith("cu") and not call.startswith("cuda") else "cuda_runtime", name=call,
                ts=at + 10, dur=5, args={**ids, **args})
        flow = next(iter(ids.values()), 0)
        for number, (category, name, stream) in enumerate(work):
            where = {"pid": device, "tid": stream, "ts": at + 200 + 20 * number}
            add(cat=category, name=name, dur=10 + number, args={**gpu_ids, "device": device, "stream": stream, **args}, **where)
            if "s" in arrows and not number:
                add(ph="s", id=flow, cat="ac2g", name="ac2g", ts=at + 10)
            if "f" in arrows:
                add(ph="f", id=flow, cat="ac2g", name="ac2g", **where)
        return self

    def write(self, folder):
        path = os.path.join(folder, "made.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": self.events}, file)
        return path


KERNEL, COPY, SET = ("kernel", "k", 7), ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7), ("gpu_memset", "Memset (Device)", 7)


def kernels(*streams):
    return [("kernel", f"k{number}", stream) for number, stream in enumerate(streams)]


def check_linked(binary, folder, maker, expected, unlinked=0):
    """The direct times of the ops, written by hand, and the reference model."""
    path = maker.write(folder)
    problems = check_report(binary, folder, path, ["report"], True, True) if unlinked is not None else []
    out = os.path.join(folder, "hand")
    outcome = harness.run([binary, "report", path, "--output_csvs_dir", out])
    sheet = os.path.join(out, "ops_summary.csv")
    found = {row[0]: float(row[1]) for row in harness.read_csv(sheet)[1]} if os.path.exists(sheet) else {}
    if outcome.code or found != expected:
        problems.append(f"ops_summary has {found}, not {expected}; {outcome.stderr[:200]}")
    return problems


def missed_launches():
    """(what it is, trace, direct time per op)"""
    ids = lambda correlation: {"correlation": correlation}
    for call in ("cudaMemcpyAsync", "hipMemcpyWithStream", "cuMemcpyHtoDAsync_v2"):
        yield f"copies only, {call}", Maker().op("aten::copy_", call, [COPY], ids(7)), {"aten::copy_": 10}
    yield "memset with half an arrow", Maker().op("aten::mm", "hipLaunchKernel", [KERNEL], ids(1)).op(
        "aten::zero_", "hipMemsetAsync", [SET], {"correlation": 2, "External id": 2}, arrows="f"), {"aten::mm": 10, "aten::zero_": 10}
    yield "no arrows", Maker().op("aten::mm", "cudaLaunchKernel", [KERNEL], ids(1), arrows="").op(
        "aten::add", "cuLaunchKernelEx", [KERNEL], ids(2), arrows=""), {"aten::mm": 10, "aten::add": 10}
    for name, streams in (("one stream", (7, 7, 7)), ("several streams", (7, 8, 9))):
        yield f"three kernels, {name}", Maker().op("aten::x", "hipLaunchKernel", kernels(*streams), ids(5)), {"aten::x": 33}
    for call in ("cuGraphLaunch", "cudaGraphLaunch", "cudaGraphLaunch_ptsz", "hipGraphLaunch", "hipGraphLaunch_spt"):
        yield call, Maker().op("aten::x", call, kernels(7, 7, 7), ids(5)), {"aten::x": 33}
    yield "first launch without correlation", Maker().op(None, "cudaLaunchKernel", [], {"External id": 5}).op(
        "aten::mm", "cudaLaunchKernel", [KERNEL], ids(101)).op("aten::add", "cudaLaunchKernel", [KERNEL], ids(102)), {
            "aten::mm": 10, "aten::add": 10}
    yield "External id where the correlation is 0", Maker().op("aten::mm", "cudaLaunchKernel", [KERNEL], ids(1)).op(
        "aten::add", "cudaLaunchKernel", [KERNEL], {"correlation": 0, "External id": 9}, arrows="").op(
            "aten::sub", "cudaLaunchKernel", [KERNEL], {"correlation": 3, "External id": 4}, {"External id": 4}, arrows="").op(
                "aten::mul", "cudaLaunchKernel", [KERNEL], {"External id": 6}, {"correlation": 8, "External id": 6}, arrows=""), {
                    "aten::mm": 10, "aten::add": 10, "aten::sub": 10, "aten::mul": 10}
    yield "ids of 0 are none", Maker().op("aten::mm", "cudaLaunchKernel", [KERNEL], ids(1)).op(
        "aten::add", "cudaLaunchKernel", [KERNEL], {"correlation": 0, "External id": 0}, arrows=""), {"aten::mm": 10}
    yield "a call that launches nothing", Maker().op("aten::mm", "cudaLaunchKernel", [KERNEL], ids(1)).op(
        "aten::empty", "hipArray3DCreate", [], ids(2)).op("aten::zero_", "hipMemsetAsync", [SET], ids(2), arrows="").op(
            "aten::empty", "cudaMalloc", [KERNEL], ids(3), arrows="").op(
                "graph", "cudaGraphAddMemcpyNode", [COPY], ids(4), arrows=""), {"aten::mm": 10, "aten::zero_": 10}
    yield "GPU events first", reverse(Maker().op("aten::mm", "cudaLaunchKernel", kernels(7, 8), ids(1), arrows="")), {"aten::mm": 21}
    yield "calls without ops", Maker().op(None, "cudaLaunchKernel", [KERNEL], ids(1), arrows=""), {}
    yield "communication, launches outside ops, unlinked", Maker().op("aten::mm", "cudaLaunchKernel", [KERNEL], ids(1)).op(
        None, "cudaLaunchKernel", [KERNEL], ids(2)).op("nccl:all_reduce", "cudaLaunchKernelExC", [
            ("kernel", "ncclDevKernel_AllReduce", 9)], ids(3), arrows="").op(None, None, [KERNEL, COPY], ids(4)), {
                "aten::mm": 10, "cudaLaunchKernel": 10}


def reverse(maker):
    maker.events.reverse()
    return maker


def several_processes():
    """(what it is, trace, direct time per op): two processes use the same ids. The reference model does not know processes."""
    def two(arrows="sf", devices=(0, 1), ids=((1, 2, 3), (1, 2, 4)), ranks=(None, None)):
        maker = Maker()
        for pid, device, own, rank, size in zip((1000, 2000), devices, ids, ranks, (1, 2)):
            for number in own:
                maker.op(f"op{pid}", "cudaLaunchKernel", kernels(7, 7)[:size], {"correlation": number}, arrows=arrows, pid=pid,
                         device=device, **({} if rank is None else {"rank": rank}))
        return maker
    both = {"op1000": 30, "op2000": 63}
    yield "arrows", two(), both
    yield "ranks, no arrows", two("", ranks=(0, 1)), both
    yield "ranks, arrows, one device", two(devices=(0, 0), ranks=(0, 1)), both
    yield "the device has the id of the process", two("", devices=(1000, 2000)), both
    yield "no arrows: only ids of one process are linked", two(""), {"op1000": 10, "op2000": 21}


def cases():
    for path in sorted(glob.glob(os.path.join(harness.FIXTURES, "pytorch", "*.json.gz"))):
        yield harness.Case(os.path.basename(path)[:-8], check_trace, path)
    for path in harness.not_large(sorted(glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "*Qwen*.json.gz")))):
        yield harness.Case(os.path.basename(path)[:-8], check_trace, path)
    for path in sorted(glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "mi300__resnet_act*.json.gz")) + glob.glob(
            os.path.join(harness.CONFORMANCE_TRACES, "perf_model__normalization*.json.gz"))):
        yield harness.Case(os.path.basename(path)[:-8], check_trace, path)
    for what, maker, expected in missed_launches():
        yield harness.Case(what, check_linked, maker, expected)
    for what, maker, expected in several_processes():
        yield harness.Case(f"two processes, {what}", check_linked, maker, expected, None)
    yield harness.Case("launches removed", lambda *a: check_made(*a))
    yield harness.Case("launches removed, unusual events", lambda *a: check_made(*a, odd_events=True, collectives=True))
    yield harness.Case("launches removed, graphs, integers", lambda *a: check_made(*a, graphs=True, times="integer"))
    yield harness.Case("--quiet", check_quiet)
    yield harness.Case("old name", check_old_name)
    yield harness.Case("diff", check_diff)
    yield harness.Case("batch", check_batch)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, cases()))
