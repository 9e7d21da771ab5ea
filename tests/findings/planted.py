"""Simulated data-parallel training runs with planted faults, and whether the report finds them.

A fault is KIND:WHERE:AMOUNT, and several may be planted:

    op:RANK:MS         one matrix product of the backward pass of that rank takes MS longer in every step
    data:RANK:MS       the data loader of that rank takes MS longer in every step
    host:RANK:PERCENT  the host of that rank launches PERCENT slower
    node:NODE:PERCENT  all kernels of that node's GPUs take PERCENT longer
    link:NODE:PERCENT  collectives take PERCENT longer: the slow link of a node slows down the ring of all

What is right:

    place   the planted faults are the first findings, in the order in which their repairs gain most
    rank    the finding names the rank or the ranks of the node, and nobody else is named
    cause   its title says what the rank does longer
    size    the planted amount, within 10 %: milliseconds, or percent
    gain    the step time of this run minus that of the same run without the fault, within 10 %; the random numbers of the
            simulator do not depend on faults, so the two differ in nothing else

Below the limits of chance (SIZE_CHANCE, GAIN_CHANCE_MS) nothing can be known: kernels take up to 1 % more or less."""
import json
import os
import re
import shutil

from tests.common.harness import run
from tests.findings.generate_parallel import data_parallel, generate

DEVICE = {"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150121545728, "computeMajor": 9, "computeMinor": 0, "numSms": 132}
BUS_GBPS = 300.0  # what the usual network of this GPU reaches
RANK_IDS = {"straggler", "slow_node", "slow_link", "slow_host"}
GAIN_CHANCE_MS = 0.03
SIZE_CHANCE = {"op": 0.02, "data": 0.02, "node": 0.3, "host": 3, "link": 1}
SIZES = {
    "op": r"aten::mm takes ([\d.]+) ms longer",
    "data": r"its data loader takes ([\d.]+) ms longer",
    "node": r"all its kernels take ([\d.]+) % longer",
    "host": r"launch(?:es)? work (?:up to )?([\d.]+) % slower",
    "link": r"collectives take ([\d.]+) % longer",
}


def parts_of(fault, size):
    """The fault as generate() takes it."""
    kind, where, amount = fault.split(":")
    where, amount = int(where), float(amount)
    if kind == "node":
        first = where * size["per_node"]
        return [("gpu", rank, amount) for rank in range(first, min(size["ranks"], first + size["per_node"]))]
    if kind == "link":
        return [("link", tuple(range(size["ranks"])), amount)]
    return [(kind, where, amount * 1000 if kind in ("op", "data") else amount)]


def simulate(folder, size, faults=()):
    """Writes the traces; returns what is true about the run."""
    shutil.rmtree(folder, ignore_errors=True)
    settings = {name: value for name, value in size.items() if name != "layers"}
    return generate(folder, data_parallel(size["layers"]), **settings, bus_gbps=BUS_GBPS, deviceProperties=[DEVICE],
                    faults=[part for fault in faults for part in parts_of(fault, size)])


def report(binary, traces, out, *options):
    shutil.rmtree(out, ignore_errors=True)
    outcome = run([binary, "report", traces, "--output_json", out + os.sep, "--no_html", "-q", *options])
    assert outcome.code == 0, outcome.stderr
    with open(os.path.join(out, "collective.findings.json")) as file:
        return json.load(file)["findings"]


def ranks_of(fault, size):
    """The ranks that a finding about the fault names."""
    kind, where, _ = fault.split(":")
    per_node, last = size["per_node"], size["ranks"] - 1
    if kind == "link":
        return "all"
    if kind != "node" or per_node == 1:
        return where
    return f"{int(where) * per_node}-{min(last, (int(where) + 1) * per_node - 1)}"


def expected(folder, size, faults, before):
    """(fault, gain) of each, that which gains most first; each gain counts on the repairs before it."""
    wanted, left = [], list(faults)
    while left:
        after = {fault: simulate(folder, size, [other for other in left if other != fault]).window_ms() for fault in left}
        best = max(left, key=lambda fault: before - after[fault])
        wanted.append((best, before - after[best]))
        before = after[best]
        left.remove(best)
    return wanted


def is_near(value, truth, chance):
    return abs(value - truth) <= max(0.1 * abs(truth), chance)


def compare(found, fault, gain, size):
    kind, _, amount = fault.split(":")
    text = f"{fault}: {found['title']!r}"
    if found["ranks"] != ranks_of(fault, size):
        return [f"{text} is about ranks {found['ranks']} instead of {ranks_of(fault, size)}"]
    named = re.search(SIZES[kind], found["title"])
    problems = [] if named else [f"{text} does not say why"]
    if named and not is_near(float(named[1]), float(amount), SIZE_CHANCE[kind]):
        problems.append(f"{text}: {named[1]} instead of {amount}")
    if not is_near(found["gain_ms"], gain, GAIN_CHANCE_MS):
        problems.append(f"{text}: gain {found['gain_ms']:.3f} instead of {gain:.3f} ms")
    if any(" 0 % of " in item for item in found["evidence"]):
        problems.append(f"{text}: {found['evidence']}")
    if found["hint"]:
        problems.append(f"{text} is only a hint")
    return problems


def check(binary, folder, size, faults):
    traces = os.path.join(folder, "run")
    before = simulate(traces, size, faults).window_ms()
    findings = report(binary, traces, os.path.join(folder, "out"))
    about_ranks = sum(found["id"] in RANK_IDS for found in findings)
    if about_ranks != len(faults):
        titles = [found["title"] for found in findings if found["id"] in RANK_IDS]
        return [f"{about_ranks} findings about {len(faults)} faults {faults}: {titles}"]
    wanted = expected(os.path.join(folder, "repaired"), size, faults, before)
    return [problem for found, (fault, gain) in zip(findings, wanted) for problem in compare(found, fault, gain, size)]


def size(ranks=8, per_node=4, layers=4, steps=3, seed=1, clock_us=0):
    return {"ranks": ranks, "per_node": per_node, "layers": layers, "steps": steps, "seed": seed, "clock_us": clock_us}
