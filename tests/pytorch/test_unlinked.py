#!/usr/bin/env python3
"""GPU events without a launch: every report says how much GPU time its sheets of ops do not count.

    python3 -m tests.pytorch.test_unlinked --bin build/gputally [--only TEXT]

The time, share and numbers in that line are computed here from the raw file, with the launches of reference_sheets.py. Traces
are the fixtures, synthetic ones, and the conformance folder's if it exists.
"""
import glob
import json
import os
import re
import sys

from tests.common import harness
from tests.pytorch import generate_trace
from tests.pytorch import reference_sheets as reference

LINE = re.compile(r"GPU time not attributed to an op: ([\d.]+) of ([\d.]+) ms \(([\d.]+)%\), "
                  r"(?:(\d+) kernels?)?(?: and )?(?:(\d+) (?:copy|copies) or memsets?)? without a launch in the trace; (.*)")
OMITTED = "--include_unlinked_kernels includes it in gpu_timeline"
INCLUDED = "it is included in gpu_timeline, but in no op sheet"


def figures(document):
    """(ms without a launch, ms of all GPU events, share in percent, kernels, copies and memsets)"""
    trace = reference.Trace(document)
    gpu = trace.of_kind(*reference.GPU)
    unlinked = [i for i in gpu if i not in trace.parent]
    us = lambda rows: sum(trace.events[i]["dur"] for i in rows)
    kernels = sum(trace.kind[i] == "kernel" for i in unlinked)
    return us(unlinked) / 1e3, us(gpu) / 1e3, us(unlinked) / us(gpu) * 100 if us(gpu) else 0.0, kernels, len(unlinked) - kernels


def line_problems(text, expected, ending):
    """The text has the one line with these figures; none if there are no such events."""
    found = LINE.findall(text)
    if not expected[3] + expected[4]:
        return [f"says {found}"] if found else []
    if len(found) != 1:
        return [f"{len(found)} such lines in {text[:300]!r}"]
    ms, all_ms, share, kernels, others, end = found[0]
    wrong = [ending] if end != ending else []
    wrong += [value for value, number in ((ms, expected[0]), (all_ms, expected[1])) if abs(float(value) - number) > 0.00051]
    wrong += [share] if abs(float(share) - expected[2]) > 0.051 else []
    wrong += [kernels, others] if (int(kernels or 0), int(others or 0)) != expected[3:] else []
    return [f"{found[0]} is not {expected}: {wrong}"] if wrong else []


def check_trace(binary, folder, path):
    """`pytorch` omits these events and warns; `report` includes them and says that; both have options for the other."""
    expected = figures(reference.read(path))
    problems = []
    for command, includes in ((["pytorch"], False), (["pytorch", "--include_unlinked_kernels"], True),
                              (["report"], True), (["report", "--linked_kernels_only"], False)):
        out = os.path.join(folder, "out" + str(len(problems)))
        outcome = harness.run([binary, *command, path, "--output_csvs_dir", out])
        if outcome.code:
            problems += outcome.problems() + [f"{command}: {outcome.stderr[:200]}"]
            continue
        text, ending = (outcome.stdout, INCLUDED) if includes else (outcome.stderr, OMITTED)
        problems += [f"{command}: {problem}" for problem in line_problems(text, expected, ending)]
        if LINE.search(outcome.stderr if includes else outcome.stdout):
            problems.append(f"{command}: said twice")
        settings = {"include_unlinked_kernels": includes}
        headings, rows = harness.read_csv(os.path.join(out, "gpu_timeline.csv"))
        timeline = reference.sheets(reference.read(path), **settings)["gpu_timeline"][1]
        if [row[0] for row in rows] != [row[0] for row in timeline] or any(
                abs(float(row[1]) - wanted[1]) > 1e-6 for row, wanted in zip(rows, timeline)):
            problems.append(f"{command}: gpu_timeline is {rows}")
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
    return (["prints " + outcome.stdout] if outcome.stdout else []) + line_problems(outcome.stderr, figures(reference.read(path)), OMITTED)


def check_old_name(binary, folder):
    """A warning on standard error; nothing new on standard output."""
    path = without_flows(os.path.join(harness.FIXTURES, "pytorch", "training.json.gz"), os.path.join(folder, "t.json"))
    link = os.path.join(folder, "TraceLens_generate_perf_report_pytorch")
    os.symlink(binary, link)
    outcome = harness.run([link, "--profile_json_path", path, "--output_csvs_dir", os.path.join(folder, "out")])
    said = outcome.stdout if LINE.search(outcome.stdout) else outcome.stderr
    return outcome.problems() + line_problems(said, figures(reference.read(path)), OMITTED) + (
        ["is on standard output"] if said is outcome.stdout else [])


def check_diff(binary, folder):
    paths = [without_flows(os.path.join(harness.FIXTURES, "pytorch", "training.json.gz"), os.path.join(folder, f"{n}.json"), n)
             for n in (2, 5)]
    outcome = harness.run([binary, "diff", *paths, "--output_dir", os.path.join(folder, "out")])
    problems = outcome.problems()
    for number, path in enumerate(paths, 1):
        said = "\n".join(line for line in outcome.stderr.split("\n") if f"warning: trace{number}: " in line)
        problems += line_problems(said, figures(reference.read(path)), "it is not compared")
    return problems


def check_batch(binary, folder):
    """One line for all ranks."""
    base = os.path.join(folder, "run")
    os.mkdir(base)
    paths = [without_flows(os.path.join(harness.FIXTURES, "pytorch", "training.json.gz"),
                           os.path.join(base, f"rank_{n}_trace.json"), n + 2) for n in range(3)]
    outcome = harness.run([binary, "batch", "-b", base, "-f", "rank_", "--output_csvs_dir", os.path.join(folder, "out")])
    parts = [figures(reference.read(path)) for path in paths]
    ms, all_ms, _, kernels, others = map(sum, zip(*parts))
    said = "\n".join(line for line in outcome.stderr.split("\n") if "not attributed" in line)
    return outcome.problems() + line_problems(said, (ms, all_ms, ms / all_ms * 100, kernels, others),
                                              "gpu_timelines and kernel_launchers do not count it, `gputally report` of a rank does")


def cases():
    for path in sorted(glob.glob(os.path.join(harness.FIXTURES, "pytorch", "*.json.gz"))):
        yield harness.Case(os.path.basename(path)[:-8], check_trace, path)
    for path in sorted(glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "*Qwen*.json.gz"))):
        yield harness.Case(os.path.basename(path)[:-8], check_trace, path)
    yield harness.Case("launches removed", lambda *a: check_made(*a))
    yield harness.Case("launches removed, unusual events", lambda *a: check_made(*a, odd_events=True, collectives=True))
    yield harness.Case("launches removed, graphs, integers", lambda *a: check_made(*a, graphs=True, times="integer"))
    yield harness.Case("--quiet", check_quiet)
    yield harness.Case("old name", check_old_name)
    yield harness.Case("diff", check_diff)
    yield harness.Case("batch", check_batch)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, cases()))
