#!/usr/bin/env python3
"""Diffs of PyTorch traces: every file that `gputally diff` writes must be equal to that of reference.py.

    python3 -m tests.diff.test_traces --bin build/gputally [--trees N] [--only TEXT]

The traces are pairs of fixtures, generated training traces, and random trees with a few changes: calls that are dropped,
renamed, wrapped, repeated or in another order. With the conformance folder, the traces of two models on two GPUs must give
the known numbers of rows and calls.
"""
import argparse
import glob
import gzip
import json
import os
import random
import re
import sys
import tempfile
from typing import NamedTuple

from tests.diff import reference
from tests.common import harness
from tests.pytorch import generate_trace as pytorch_generator

sys.setrecursionlimit(20_000)
KNOWN = {  # model: rows of diff_stats, calls in the merged tree without and with python functions
    "Qwen_Qwen1.5-0.5B-Chat__1016005": (2252, 6617, 7959),
    "gaunernst_bert-small-uncased__1016001": (122, 397, 654),
}


class Case(NamedTuple):
    name: str
    first: str
    second: str
    options: dict = {}  # of reference.files
    known: tuple = ()  # rows of diff_stats, calls in the merged tree


# ---- random trees: ("op", name, children, arguments), ("py", name, children), ("run", name, kernel, category, µs) ----

OPS = ("aten::mm", "aten::add_", "aten::convolution", "aten::miopen_convolution", "aten::cudnn_convolution", "my::wrap")
FUNCTIONS = ("nn.Module: Linear_0", "nn.Module: Linear_1", "nn.Module: Block_3", "a/b/model.py(12): forward",
             "c/d/model.py(15): forward", "c/d/model.py(15): other", "<built-in method of 0x7f12>", "<built-in method of 0x7f99>")
KERNELS = ("gemm", "Cijk_Ailk(3)", "elementwise<int, 4>", "näme \"quoted\"")
LAUNCHES = ("hipLaunchKernel", "cudaLaunchKernel", "hipModuleLaunchKernel", "cuLaunchKernel", "hipGraphLaunch")


def make_tree(rng, depth, breadth):
    kind = rng.random()
    if depth == 0 or kind < 0.3:
        return ("run", rng.choice(LAUNCHES), rng.choice(KERNELS), rng.choice(["kernel"] * 5 + ["gpu_memcpy", "gpu_memset", ""]),
                rng.choice([1, 2, 3, 5, 8]))
    children = [make_tree(rng, depth - 1, breadth) for _ in range(rng.randint(0, breadth))]
    if kind < 0.55:
        return ("py", rng.choice(FUNCTIONS), children)
    return ("op", rng.choice(OPS), children, rng.choice([[[2, 3]], [[4], []], None]))


def change(rng, tree):
    """The trees that replace it in the other trace."""
    if tree[0] == "run":
        _, name, kernel, category, dur = tree
        return [("run", rng.choice(LAUNCHES) if rng.random() < 0.15 else name, rng.choice(KERNELS) if rng.random() < 0.15 else kernel,
                 category, rng.choice([1, 2, 3, 5, 8]) if rng.random() < 0.2 else dur)]
    children = [new for child in tree[2] if rng.random() > 0.08 for new in change(rng, child)]
    if rng.random() < 0.1:
        rng.shuffle(children)
    if children and rng.random() < 0.08:
        children.append(rng.choice(children))
    what = rng.random()
    if what < 0.07:
        return children
    name = rng.choice(OPS if tree[0] == "op" else FUNCTIONS) if what < 0.17 else tree[1]
    new = (tree[0], name, children, *tree[3:])
    return [("op", rng.choice(OPS), [new], None) if what > 0.93 else ("py", rng.choice(FUNCTIONS), [new]) if what > 0.86 else new]


def write_events(path, roots, threads, whole):
    events, now, number = [], 1000, 100

    def add(tree, thread):
        nonlocal now, number
        place, start = len(events), now
        events.append(None)
        now += 1
        event = {"ph": "X", "name": tree[1], "pid": 1, "tid": thread, "ts": start, "args": {}}
        if tree[0] == "run":
            number += 1
            now += 1
            event |= {"cat": "cuda_driver" if tree[1] == "cuLaunchKernel" else "cuda_runtime", "args": {"correlation": number}}
            graph = tree[1] == "hipGraphLaunch"
            for copy in range((2 if graph else 1) if tree[3] else 0):
                events.append({"ph": "X", "cat": tree[3], "name": tree[2], "pid": 0, "tid": 7, "ts": start + 50 + 3 * copy,
                               "dur": tree[4] if whole else tree[4] + 0.125, "args": {"correlation": number, "stream": 7}})
            if tree[3] and not graph:
                events.extend({"ph": ph, "cat": "ac2g", "name": "ac2g", "id": number, "pid": pid, "tid": tid, "ts": start}
                              for ph, pid, tid in (("s", 1, thread), ("f", 0, 7)))
        else:
            for child in tree[2]:
                add(child, thread)
            now += 1
            event["cat"] = "cpu_op" if tree[0] == "op" else "python_function"
            if tree[0] == "op" and tree[3] is not None:
                event["args"] = {"Input Dims": tree[3], "Input type": ["float"] * len(tree[3]), "Concrete Inputs": [""]}
        events[place] = event | {"dur": now - start}
        now += 1

    for place, root in enumerate(roots):
        add(root, 10 + place % threads)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file, ensure_ascii=False)


def trees(folder, count):
    for seed in range(count):
        rng = random.Random(seed)
        first = [("op", "aten::mm", [("run", "hipLaunchKernel", "gemm", "kernel", 3)], [[1]])]  # at least one op
        first += [make_tree(rng, rng.randint(1, 6), rng.randint(1, 5)) for _ in range(rng.randint(1, 5))]
        second = first if rng.random() < 0.05 else first[:1] + [new for tree in first[1:] for new in change(rng, tree)]
        paths = [os.path.join(folder, f"tree_{seed}_{side}.json") for side in "ab"]
        threads, whole = rng.randint(1, 2), rng.random() < 0.3
        for path, roots in zip(paths, (first, second)):
            write_events(path, roots, threads, whole)
        options = {name: True for name in ("python_functions", "prune_non_gpu", "explain") if rng.random() < 0.5}
        yield Case(f"tree {seed}", *paths, options)


# ---- other traces ----


def fixtures():
    paths = sorted(glob.glob(os.path.join(harness.FIXTURES, "pytorch", "*.json.gz")))
    paths = [path for path in paths if not path.endswith(("graph.json.gz", "gpu_only.json.gz"))]  # they have no ops
    for first, second in zip(paths, paths[1:] + paths[:1]):
        name = f"{os.path.basename(first)[:-8]} and {os.path.basename(second)[:-8]}"
        yield Case(name, first, second)
        yield Case(f"{name}, python functions", first, second, {"python_functions": True, "explain": True})
    yield Case("a trace and itself", paths[0], paths[0])


def generated(folder):
    paths = []
    for seed, streams in ((1, 2), (2, 3)):
        paths.append(os.path.join(folder, f"made_{seed}.json"))
        pytorch_generator.write_trace(paths[-1], pytorch_generator.Options(
            events=3000, streams=streams, layers=2 + seed, seed=seed, python_functions=True, graphs=True))
    yield Case("synthetic", *paths)
    yield Case("synthetic, python functions", *paths, {"python_functions": True})


def models():
    for model, (rows, calls, calls_with_python) in KNOWN.items():
        first, second = (os.path.join(harness.CONFORMANCE_TRACES, f"{gpu}__{model}.json.gz") for gpu in ("mi300", "h100"))
        if not os.path.exists(first) or not os.path.exists(second):
            print(f"skipped {model}: GPUTALLY_CONFORMANCE names no folder with its traces")
            continue
        yield Case(model, first, second, {}, (rows, calls))
        yield Case(f"{model}, python functions", first, second, {"python_functions": True}, (rows, calls_with_python))


# ---- checks ----


def read_events(path):
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        document = json.load(file)
    return document["traceEvents"] if isinstance(document, dict) else document


def check(binary, case, folder):
    out = os.path.join(folder, "diff")
    command = [binary, "diff", case.first, case.second, "-o", out]
    command += ["--add_python_func"] if case.options.get("python_functions") else []
    command += ["--prune_non_gpu"] if case.options.get("prune_non_gpu") else []
    if case.options.get("explain"):
        command = ["env", "TRACELENS_DEBUG=1", *command]
    outcome = harness.run(command)
    problems = outcome.problems() + ([f"exit code {outcome.code}: {outcome.stderr[:300]}"] if outcome.code else [])
    if problems:
        return problems
    expected = reference.files(read_events(case.first), read_events(case.second), **case.options)
    found = {}
    for name in os.listdir(out):
        with open(os.path.join(out, name), encoding="utf-8", newline="") as file:
            found[name] = file.read()
    problems = [f"{name} is {'missing' if name in expected else 'unexpected'}" for name in sorted(set(expected) ^ set(found))]
    for name in sorted(set(expected) & set(found)):
        if found[name] == expected[name]:
            continue
        pairs = zip(found[name].split("\n"), expected[name].split("\n"))
        line, (have, want) = next(((n, p) for n, p in enumerate(pairs, 1) if p[0] != p[1]), (0, ("its end", "more")))
        problems.append(f"{name} line {line} is {have[:200]!r}, not {want[:200]!r}")
    if case.known and not problems:
        _, rows = harness.read_csv(os.path.join(out, "diff_stats.csv"))
        if len(rows) != case.known[0]:
            problems.append(f"{len(rows)} rows, not {case.known[0]}")
        calls = re.search(r"(\d+) calls in both traces, (\d+) only in trace1, (\d+) only in trace2", outcome.stdout)
        if sum(map(int, calls.groups())) != case.known[1]:
            problems.append(f"{calls.group(0)}, and not {case.known[1]} in all")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--trees", type=int, default=150, help="random trees")
    parser.add_argument("--only", default="", help="only cases with this text in their names")
    options = parser.parse_args()
    binary = harness.require_binary(options.bin)
    tally = harness.Tally()
    with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
        cases = [case for made in (fixtures(), generated(folder), trees(folder, options.trees), models())
                 for case in made if options.only in case.name]
        harness.run_all(cases, lambda case, where: check(binary, case, where), tally)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
