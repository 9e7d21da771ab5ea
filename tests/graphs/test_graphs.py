#!/usr/bin/env python3
"""Ops of the kernels that graphs replay, on synthetic servers whose ops are known.

    python3 -m tests.graphs.test_graphs --bin build/gputally [--only TEXT]
"""
import collections
import difflib
import json
import os
import re
import shutil
import sys

from tests.common import harness
from tests.graphs.generate_server import Model, capture, forward, serve
from tests.page.pack import read_page

MODEL = Model()
BATCHES = (8, 16)
REAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "graphs")


def sheet(folder, name):
    path = os.path.join(folder, name + ".csv")
    if not os.path.exists(path):
        return None
    heads, rows = harness.read_csv(path)
    return [dict(zip(heads, row)) for row in rows]


def report(binary, folder, *options, trace="graph.json"):
    """(outcome, folder of the sheets)"""
    out = os.path.join(folder, "out" + str(len(os.listdir(folder))))
    outcome = harness.run([binary, "report", os.path.join(folder, trace), "--no_html", "--output_csvs_dir", out, *options])
    return outcome, out


def truth(model, batch):
    """By position in a graph: kernel, op, module."""
    return [(kernel, item.op, item.module) for item in forward(model, batch) for kernel, _ in item.kernels]


def units(rows):
    found = collections.OrderedDict()
    for row in rows:
        found.setdefault(row["unit"], []).append(row)
    return list(found.values())


def judge(rows, model=MODEL):
    """(share of the time whose op is right, share that is claimed, share of the claims that is right, sources)"""
    right = claimed = right_claims = total = 0.0
    sources = collections.Counter()
    for unit in units(rows):
        for row, (kernel, op, _) in zip(unit, truth(model, int(float(unit[0]["padded"])))):
            assert row["kernel"] == kernel, (row, kernel)
            us = float(row["us_sum"])
            total += us
            sources[row["source"]] += us
            right += us * (row["op"] == op)
            if row["confidence"] != "low":
                claimed += us
                right_claims += us * (row["op"] == op)
    return right / total, claimed / total, right_claims / max(claimed, 1e-9), sources


def ops_problems(out, trace):
    """ops_summary has the time of all replayed kernels, each for its op."""
    expected = collections.Counter()
    for op, ns in trace.ops:
        expected[op] += ns / 1000
    rows = {row["name"]: row for row in sheet(out, "ops_summary")}
    problems = []
    for op, us in expected.items():
        of_all = float(rows[op]["total_direct_kernel_time_sum"]) if op in rows else 0.0
        if of_all < us - 0.01:
            problems.append(f"{op}: {of_all} us, replayed {us:.3f}")
        elif op in rows:
            share = sum(float(number) for number in re.findall(r"([\d.]+) %", rows[op]["graph_source"]))
            if abs(share - 100 * us / of_all) > 0.2:
                problems.append(f"{op}: {rows[op]['graph_source']!r}, expected {100 * us / of_all:.1f} %")
    if any("GraphLaunch" in name for name in rows):
        problems.append("ops_summary has the launch of the graph")
    return problems


def expect_all(binary, folder, source, *options, trace="graph.json", recorded=None):
    """Everything is right and from this source."""
    outcome, out = report(binary, folder, *options, trace=trace)
    rows = sheet(out, "graph_kernels")
    if outcome.code or not rows:
        return [f"exit {outcome.code}: {outcome.stderr[:300]}"]
    right, claimed, _, sources = judge(rows)
    problems = [] if right == claimed == 1 else [f"{right:.4f} right, {claimed:.4f} claimed"]
    if set(sources) != {source}:
        problems.append(f"sources {dict(sources)}")
    line = re.search(r"Of ([\d.]+) ms in graphs ([\d.]+) % have an op: (.*)", outcome.stdout)
    if not line or line[2] != "100.0" or line[3] != f"{source} 100.0":
        problems.append(f"the line is {line and line[0]}")
    return problems + (ops_problems(out, recorded) if recorded else [])


# ---- sources ----


def check_captures(binary, folder):
    recorded = serve(os.path.join(folder, "graph.json"), MODEL, BATCHES, True)
    os.mkdir(os.path.join(folder, "captures"))
    for batch in BATCHES:
        capture(os.path.join(folder, "captures", f"c{batch}.json"), MODEL, batch)
    problems = expect_all(binary, folder, "capture", "--capture_folder", os.path.join(folder, "captures"), recorded=recorded)
    rows = sheet(os.path.join(folder, sorted(name for name in os.listdir(folder) if name.startswith("out"))[0]), "graph_kernels")
    for unit in units(rows):
        if [row["module"] for row in unit] != [module for _, _, module in truth(MODEL, int(unit[0]["padded"]))]:
            problems.append("modules differ")
    return problems


def check_shapes(binary, folder):
    """Ops have the shapes of a capture of their batch, and so a performance model."""
    serve(os.path.join(folder, "graph.json"), MODEL, (8,), True)
    os.mkdir(os.path.join(folder, "capture_traces"))  # found without an option
    capture(os.path.join(folder, "capture_traces", "c8.json"), MODEL, 8)
    outcome, out = report(binary, folder)
    unified = [row for row in sheet(out, "unified_perf_summary") if row["name"] == "aten::mm" and row["graph_source"]]
    dims = {row["Input Dims"] for row in unified}
    problems = outcome.problems()
    if dims != {"((8, 512), (512, 512))"}:
        problems.append(f"shapes {dims}")
    if any(row["has_perf_model"] != "True" or not row["GFLOPS"] for row in unified) or not unified:
        problems.append("no model")
    if any(row["graph_source"] != "capture 100.0 %" for row in unified):
        problems.append(f"sources {[row['graph_source'] for row in unified]}")
    return problems


def check_named_captures(binary, folder):
    """Captures with kernel names, as on ROCm, of another batch only."""
    serve(os.path.join(folder, "graph.json"), MODEL, (16,), True)
    os.mkdir(os.path.join(folder, "captures"))
    capture(os.path.join(folder, "captures", "c32.json"), MODEL, 32, names=True)
    return expect_all(binary, folder, "capture other size", "--capture_folder", os.path.join(folder, "captures"))


def check_eager(binary, folder):
    recorded = serve(os.path.join(folder, "graph.json"), MODEL, BATCHES, True)
    serve(os.path.join(folder, "eager.json"), MODEL, BATCHES, False, seed=5)
    return expect_all(binary, folder, "eager", "--eager_trace", os.path.join(folder, "eager.json"), recorded=recorded)


def check_other_sizes(binary, folder):
    """Eager decode steps of other batches; two files."""
    serve(os.path.join(folder, "graph.json"), MODEL, (16,), True)
    serve(os.path.join(folder, "eager1.json"), MODEL, (24,), False, seed=5)
    serve(os.path.join(folder, "eager2.json"), MODEL, (48,), False, seed=6)
    return expect_all(binary, folder, "eager", "--eager_trace", os.path.join(folder, "eager1.json"),
                      "--eager_trace", os.path.join(folder, "eager2.json"))


def check_own_prefill(binary, folder):
    """Nothing but the prompts of the trace itself: all but the comparison, which no prompt has."""
    serve(os.path.join(folder, "graph.json"), MODEL, BATCHES, True)
    outcome, out = report(binary, folder)
    rows = sheet(out, "graph_kernels")
    right, _, right_claims, _ = judge(rows)
    problems = outcome.problems() + ([] if right >= .97 else [f"{right:.4f} right"])
    if right_claims != 1:
        problems.append(f"{right_claims:.4f} of the claims right")
    unknown = {row["op"] for row in rows if row["confidence"] == "low"}
    if unknown != {"graph::elementwise"}:
        problems.append(f"unknown: {unknown}")
    return problems


def check_names_only(binary, folder):
    """Nothing eager at all: GEMMs and attention stay unknown, and no claim is wrong."""
    serve(os.path.join(folder, "graph.json"), MODEL, BATCHES, True, prompts=())
    outcome, out = report(binary, folder)
    rows = sheet(out, "graph_kernels")
    _, claimed, right_claims, sources = judge(rows)
    problems = outcome.problems() + ([] if right_claims == 1 else [f"{right_claims} of the claims right"])
    if not 0.2 < claimed < 0.9 or not {"name", "class"} <= set(sources):
        problems.append(f"{claimed} claimed, {dict(sources)}")
    if not {"graph::gemm", "graph::attention"} <= {row["op"] for row in rows}:
        problems.append("GEMMs and attention should be unknown")
    return problems


# ---- refusals ----


def check_wrong_model(binary, folder):
    """An eager trace of another model changes nothing and is named in a warning."""
    serve(os.path.join(folder, "graph.json"), MODEL, BATCHES, True)
    serve(os.path.join(folder, "other.json"), Model(layers=7), BATCHES, False)
    _, plain = report(binary, folder)
    outcome, out = report(binary, folder, "--eager_trace", os.path.join(folder, "other.json"))
    problems = outcome.problems()
    if not re.search(r"other\.json: not used for graphs: another model; \d+ % of norms", outcome.stderr):
        problems.append(f"says {outcome.stderr[:300]!r}")
    for name in ("graph_kernels", "ops_summary", "ops_unique_args"):
        if sheet(out, name) != sheet(plain, name):
            problems.append(f"{name} differs")
    return problems


def check_no_eager_steps(binary, folder):
    serve(os.path.join(folder, "graph.json"), MODEL, (8,), True)
    serve(os.path.join(folder, "graphs.json"), MODEL, (16,), True, prompts=())
    outcome, _ = report(binary, folder, "--eager_trace", os.path.join(folder, "graphs.json"))
    return outcome.problems() + ([] if "graphs.json: not used for graphs: no step launches" in outcome.stderr else [outcome.stderr[:300]])


def check_without_graphs(binary, folder):
    serve(os.path.join(folder, "eager.json"), MODEL, (8,), False)
    outcome, out = report(binary, folder, "--eager_trace", os.path.join(folder, "eager.json"), trace="eager.json")
    problems = outcome.problems() + ([] if "--eager_trace has no effect" in outcome.stderr else [outcome.stderr[:300]])
    return problems + ["graph_kernels"] * bool(sheet(out, "graph_kernels"))


def check_missing_file(binary, folder):
    serve(os.path.join(folder, "graph.json"), MODEL, (8,), True)
    outcome, _ = report(binary, folder, "--eager_trace", os.path.join(folder, "none.json"))
    return [] if outcome.code == 1 and "none.json" in outcome.stderr else [f"exit {outcome.code}: {outcome.stderr[:200]}"]


def check_no_graph_ops(binary, folder):
    """With --no_graph_ops the launch of the graph has the time, and there are no sheets and columns of graphs."""
    recorded = serve(os.path.join(folder, "graph.json"), MODEL, (8,), True)
    outcome, out = report(binary, folder, "--no_graph_ops")
    problems = outcome.problems() + [name for name in ("graph_kernels", "layers") if sheet(out, name)]
    rows = {row["name"]: row for row in sheet(out, "ops_summary")}
    launch = rows.get("cudaGraphLaunch", {}).get("total_direct_kernel_time_sum", "0")
    expected = sum(ns for _, ns in recorded.ops) / 1000
    if abs(float(launch) - expected) > 0.01:
        problems.append(f"the launch has {launch} us, expected {expected}")
    if any("graph_source" in row for row in rows.values()) or "ms in graphs" in outcome.stdout:
        problems.append("graphs are mentioned")
    return problems


# ---- real graphs of training ----


def judge_training(binary, folder, name):
    """Forward, backward and optimiser, with a capture without kernel names. Each kernel's op is known from the same steps without a graph,
    in the order of their launches; the few kernels that another stream runs in another order count as wrong."""
    captures = os.path.join(folder, name)
    os.mkdir(captures)
    shutil.copy(os.path.join(REAL, name + ".capture.json.gz"), captures)
    outcome, out = report(binary, folder, "--capture_folder", captures, trace=os.path.join(REAL, name + ".graph.json.gz"))
    with open(os.path.join(REAL, name + ".ops.json"), encoding="utf-8") as file:
        truth_of = json.load(file)
    rows = [row for row in sheet(out, "graph_kernels") if row["unit"] == "0"]
    launched = [truth_of["kernels"][kernel] for kernel, _ in truth_of["launches"]]
    right = wrong = total = 0.0
    ops = {}
    for block in difflib.SequenceMatcher(None, [row["kernel"] for row in rows], launched, autojunk=False).get_matching_blocks():
        ops.update({block.a + i: truth_of["ops"][truth_of["launches"][block.b + i][1]] for i in range(block.size)})
    for number, row in enumerate(rows):
        us = float(row["us_sum"])
        total += us
        right += us * (row["op"] == ops.get(number))
        wrong += us * (number in ops and row["op"] != ops[number] and row["confidence"] != "low")
    problems = [] if right >= .98 * total and wrong == 0 else [f"{name}: {100 * right / total:.2f} % right, {100 * wrong / total:.2f} % wrong"]
    return problems + ([] if outcome.code == 0 else [outcome.stderr[:300]])


def check_training(binary, folder):
    return judge_training(binary, folder, "gpt_train") + judge_training(binary, folder, "cnn_train")


# ---- layers, and the whole ----


def check_layers(binary, folder):
    serve(os.path.join(folder, "graph.json"), Model(layers=6), (16,), True)
    outcome, out = report(binary, folder)
    rows = sheet(out, "layers")
    if outcome.code or not rows:
        return [outcome.stderr[:300] or "no sheet"]
    of_layers = [row for row in rows if row["layer"]]
    roles = [row["role"] for row in rows if row["position"] and row["class"] == "gemm"]
    problems = [] if len(of_layers) == 6 and {row["layers"] for row in rows} == {"6"} else [f"{len(of_layers)} layers"]
    if {row["period"] for row in rows} != {"13"} or sorted(roles) != ["mlp", "mlp", "o_proj", "qkv_proj"]:
        problems.append(f"period {rows[0]['period']}, roles {roles}")
    return problems


def check_page(binary, folder):
    """The flame graph has phase, batch, module and op of replayed kernels, unless --no_graph_ops is given."""
    serve(os.path.join(folder, "graph.json"), MODEL, (8,), True)
    serve(os.path.join(folder, "eager.json"), MODEL, (8,), False, seed=5)
    eager = ["--eager_trace", os.path.join(folder, "eager.json")]
    path = ("decode", "batch 8", "Linear_3", "aten::mm")
    problems = []
    for options, expected in ((eager, True), (["--no_graph_ops"], False)):
        page = os.path.join(folder, "p.html")
        outcome = harness.run([binary, "report", os.path.join(folder, "graph.json"), "--output_html", page, *options,
                               "--output_json", os.path.join(folder, "p.json")])
        nodes = {column.name: column.cells for column in read_page(page).tables[0]["page_nodes"].columns}
        paths = []
        for name, parent in zip(nodes["name"], nodes["parent"]):
            paths.append((paths[parent] if parent is not None else ()) + (name,))
        problems += outcome.problems() + ([] if (path in paths) == expected else [f"{options}: {paths[:5]}"])
    return problems


CASES = [harness.Case(name.replace("_", " ")[6:], check) for name, check in list(globals().items()) if name.startswith("check_")]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, CASES))
