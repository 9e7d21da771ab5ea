#!/usr/bin/env python3
"""Servers in Nsight Systems exports, rocprofv3 runs and JAX profiles, whose steps are NVTX or ROCTX ranges or annotations of the host: the
same events as in a PyTorch trace give the same serving sheets.

    python3 -m tests.serving.test_nsys --bin build/gputally [--only TEXT]
"""
import csv
import functools
import json
import os
import sys
import tempfile

from tests.common import harness
from tests.findings import test_jax
from tests.findings.rocprof_runs import Run
from tests.nsys import generate_export as nsys
from tests.serving import generate
from tests.serving.test_compare import DECODE, named
from tests.serving.test_sheets import SHEETS

PID = 100
COPIES = {"Memcpy DtoH (Device -> Pinned)": {"copyKind": 2, "srcKind": 2, "dstKind": 1}}


def export(trace, path, prefix="", domain=""):
    """The events of a trace as an export; its ranges are those of a domain."""
    strings, tables = {}, {nsys.KERNEL: [], nsys.MEMCPY: [], nsys.RUNTIME: [], "NVTX_EVENTS": []}

    def number(text):
        return strings.setdefault(text, len(strings) + 1)

    for event in trace.events:
        start = round(event["ts"] * 1000)
        row = {"start": start, "end": start + round(event["dur"] * 1000), "correlationId": event["args"].get("correlation", 0)}
        on_gpu = {"deviceId": 0, "contextId": 1, "streamId": event["args"].get("stream"), "globalPid": nsys.global_pid(PID)}
        on_host = {"globalTid": nsys.global_tid(PID, event["tid"])}
        if event["cat"] == "kernel":
            x, y, z = event["args"].get("grid", (0, 0, 0))
            tables[nsys.KERNEL].append({**row, **on_gpu, "shortName": number(event["name"]), "demangledName": number(event["name"]),
                                        "gridX": x, "gridY": y, "gridZ": z, "blockX": 128 if x else 0, "blockY": 1, "blockZ": 1,
                                        "gridId": len(tables[nsys.KERNEL])})
        elif event["cat"] == "gpu_memcpy":
            tables[nsys.MEMCPY].append({**row, **on_gpu, **COPIES[event["name"]], "bytes": 64})
        elif event["cat"] == "cuda_runtime":
            tables[nsys.RUNTIME].append({**row, **on_host, "eventClass": 0, "nameId": number(event["name"] + "_v7000"), "returnValue": 0})
        elif event["cat"] == "user_annotation":
            tables["NVTX_EVENTS"].append({**row, **on_host, "eventType": 59, "text": prefix + event["name"],
                                          "domainId": int(bool(domain))})
    if domain:
        tables["NVTX_EVENTS"].append({"start": 0, "eventType": 75, "text": domain, "domainId": 1, "globalTid": nsys.global_tid(PID, 101)})
    tables["TARGET_INFO_GPU"] = [{"id": 0, "name": "NVIDIA H200", "smCount": 132, "computeMajor": 9, "computeMinor": 0}]
    tables["TARGET_INFO_CUDA_DEVICE"] = [{"gpuId": 0, "cudaId": 0, "pid": PID}]
    tables["META_DATA_EXPORT"] = nsys.meta(2026)
    tables["StringIds"] = [{"id": place, "value": text} for text, place in strings.items()]
    nsys.write(tables, path)


def rocprof(trace, path):
    """The events of a trace as a JSON file of rocprofv3, which counts from its own beginning."""
    run = Run(begin=8_000_000_000_000)
    names = []
    for event in trace.events:
        start, length, launch = round(event["ts"] * 1000), round(event["dur"] * 1000), event["args"].get("correlation", 0)
        if event["cat"] == "kernel":
            run.kernel(event["name"], start, length, correlation=launch)
            blocks = event["args"].get("grid", (1, 1, 1))[0]
            run.dispatches[-1]["dispatch_info"]["grid_size"] = {"x": 64 * blocks, "y": 1, "z": 1}
        elif event["cat"] == "gpu_memcpy":
            run.copy("DEVICE_TO_HOST", start, length, 64, correlation=launch)
        elif event["cat"] == "cuda_runtime":
            run.call(event["name"].replace("cuda", "hip"), start, length, launch)
        else:
            names.append({"key": 1_000_000 + len(names), "value": event["name"]})
            run.markers.append(run.record("MARKER_CORE_RANGE_API", 0, start, start + length, names[-1]["key"]))
    document = run.document()
    part = document["rocprofiler-sdk-tool"][0]
    part["buffer_records"]["marker_api"], part["strings"]["marker_api"] = run.markers, names
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return run.begin / 1000


def jax(trace, path):
    """The events of a trace as a JAX profile, which has no grids, and of launches only when they begin."""
    def spans(*categories):
        return [(e["name"], round(e["ts"] * 1000), round(e["dur"] * 1000), e["args"].get("correlation")) for e in trace.events
                if e["cat"] in categories]

    gpu, host = spans("kernel", "gpu_memcpy"), spans("cuda_runtime", "user_annotation")
    with open(path, "wb") as file:
        for name, line, events in (("/device:GPU:0", "Stream #14(Compute)", gpu), ("/host:CPU", "python3", host)):
            file.write(test_jax.plane(name, sorted({event[0] for event in events}), line, events))
    return 0


def report(binary, path, out):
    outcome = harness.run([binary, "report", path, "--output_csvs_dir", out, "--output_json", out + ".json"])
    assert outcome.code == 0 and not outcome.problems(), outcome.stderr
    found = {}
    for name in os.listdir(out):
        with open(os.path.join(out, name), newline="", encoding="utf-8") as file:
            found[name.removesuffix(".csv")] = list(csv.DictReader(file))
    return found, outcome.stdout


def both(binary, folder, trace):
    """The sheets of the same events in both formats, and what the terminal shows of the export."""
    trace.write(os.path.join(folder, "t.json"))
    export(trace, os.path.join(folder, "t.sqlite"))
    wanted, _ = report(binary, os.path.join(folder, "t.json"), os.path.join(folder, "json"))
    return wanted, *report(binary, os.path.join(folder, "t.sqlite"), os.path.join(folder, "sqlite"))


def is_same(cell, wanted):
    if cell == wanted:
        return True
    try:
        return abs(float(cell) - float(wanted)) <= 1e-6 * abs(float(wanted))
    except ValueError:
        return False


def check_sheets(binary, _, seed, annotate):
    with tempfile.TemporaryDirectory() as folder:
        wanted, found, shown = both(binary, folder, generate.server(seed, annotate))
    problems = []
    for sheet in SHEETS:
        rows = found.get(sheet, [])
        if len(rows) != len(wanted[sheet]):
            problems.append(f"{sheet}: {len(rows)} rows instead of {len(wanted[sheet])}")
        problems += [f"{sheet}[{number}].{column}: {row[column]!r} instead of {want[column]!r}"
                     for number, (row, want) in enumerate(zip(rows, wanted[sheet])) for column in want
                     if column not in ("attributed_pct", "how") and not is_same(row[column], want[column])]
    facts, others = ({row["name"]: row["value"] for row in sheets["overview"]} for sheets in (found, wanted))
    problems += [f"{name}: {facts.get(name)} instead of {others[name]}" for name in others
                 if name.startswith("step") and not is_same(facts.get(name, ""), others[name])]
    if "decode: " not in shown or "prefill: " not in shown:
        problems.append(f"no phases on the terminal: {shown[:300]}")
    return problems


def check_times(binary, _, write, ending, unknown=()):
    """Steps, batch sizes and times, which may count from another beginning. Names of copies and classes of kernels differ."""
    trace = generate.server(4, generate.sglang)
    with tempfile.TemporaryDirectory() as folder:
        trace.write(os.path.join(folder, "t.json"))
        begin_us = write(trace, os.path.join(folder, "t" + ending))
        wanted, _ = report(binary, os.path.join(folder, "t.json"), os.path.join(folder, "json"))
        found, _ = report(binary, os.path.join(folder, "t" + ending), os.path.join(folder, "other"))
    steps, problems = found.get("serving_steps", []), []
    if len(steps) != len(wanted["serving_steps"]):
        return [f"{len(steps)} steps"]
    for number, (row, want) in enumerate(zip(steps, wanted["serving_steps"])):
        for column in want:
            begins = begin_us if column in ("host_start_us", "gpu_start_us") and want[column] else 0
            value = str(float(want[column]) + begins) if begins else want[column]
            if column not in unknown and not is_same(row[column], value):
                problems.append(f"step {number} {column}: {row[column]!r} instead of {value!r}")
    return problems


MODES = {"execute_context_1(9)_generation_0(0)": "prefill", "execute_context_1(9)_generation_3(3)": "mixed",
         "execute_context_0(0)_generation_3(9)": "verify", generate.vllm_detailed("decode", 3, 3, 99): "decode",
         "execute_new_1_cached_3": "mixed", "step[EXTEND bs=2 toks=40]": "prefill", "step[MIXED bs=3 c=1 g=2 c_sq=9 g_sq=2]": "mixed", "step[TARGET_VERIFY bs=8 toks=32]": "verify",
         "step[DRAFT_EXTEND bs=8]": "draft", "step[DRAFT_EXTEND_V2 bs=8]": "draft", "step[DECODE bs=8]": "draft", "step[IDLE bs=0]": "idle",
         "prefill[bs=2 tok=40 ctx=[20, 20]]": "prefill", "decode[bs=3/4 tok=3 d=3]": "decode",
         "[Executor] _forward_step 1: 2 ctx reqs, 0 gen reqs": "prefill", "[Executor] _forward_step 2: 1 ctx reqs, 7 gen reqs": "mixed",
         "[Executor] _forward_step 3: 0 ctx reqs, 7 gen reqs": "decode", "execute_diffusion_1_1024x1024": "diffusion"}


def check_modes(binary, _, write, ending):
    """A step of each mode of each server. SGLang's model that drafts decodes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t" + ending)
        write(named([(name, 50, 10) for name in MODES]), path)
        sheets, _ = report(binary, path, os.path.join(folder, "out"))
    got = [row["phase"] for row in sheets.get("serving_steps", [])]
    return [] if got == list(MODES.values()) else [f"{got} instead of {list(MODES.values())}"]


def check_findings(binary, _):
    """A slow scheduler is found, with its phase."""
    with tempfile.TemporaryDirectory() as folder:
        _, found, _ = both(binary, folder, named([("step[DECODE bs=4]", 100, 400)] * 40))
    first = found["findings"][0]
    gain = float(first["phase_gain_ms"])
    return [] if (first["id"], first["phase"]) == ("decode_gap", "decode") and abs(gain - .4) < .05 else [str(first)]


def check_jax_findings(binary, folder):
    """JAX profiles do not tell which kernels are in graphs, so nothing is said of that; a slow scheduler is found as in other traces."""
    for trace, wanted in ((generate.server(1, generate.sglang), "decode_idle_in_step"), (named([("step[DECODE bs=4]", 100, 400)] * 40), "decode_gap")):
        jax(trace, os.path.join(folder, "t.xplane.pb"))
        found, _ = report(binary, os.path.join(folder, "t.xplane.pb"), os.path.join(folder, wanted))
        row = next((row for row in found["findings"] if row["id"] == wanted), None)
        if not row or any(word in str(found["findings"]) for word in ("one by one", "enforce-eager", "in graphs")):
            return [f"{wanted}: {found['findings']}"]
    return []


def check_compare(binary, _):
    with tempfile.TemporaryDirectory() as folder:
        a, b, out = (os.path.join(folder, name) for name in ("a.sqlite", "b.sqlite", "out.json"))
        export(named([DECODE] * 40), a)
        export(named([("step[DECODE bs=4]", 150, 0)] * 20), b)
        for sheets in ("waterfall", "all"):
            outcome = harness.run([binary, "compare", a, b, "--sheets", sheets, "--output_json", out, "--fail_if", "step_ms > 5%"])
            with open(out, encoding="utf-8") as file:
                row = json.load(file)["phase_changes"][0]
            if outcome.code != 3 or abs(row["pct"] - 50) > 1:
                return [f"{sheets}: exit {outcome.code}, {row}"]
    return []


def check_other_ranges(binary, _):
    """Ranges with other names are no steps."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.sqlite")
        export(named([DECODE] * 20), path, prefix="my ")
        found, shown = report(binary, path, os.path.join(folder, "out"))
    return [] if "serving_steps" not in found and "in the window" in shown else [shown[:300]]


CASES = [harness.Case(f"{annotate.__name__} {seed}", check_sheets, seed, annotate)
         for seed, annotate in ((1, generate.vllm), (2, generate.vllm_detailed), (3, generate.sglang))]
CASES += [harness.Case("rocprofv3", check_times, rocprof, "_results.json"),
          harness.Case("JAX", check_times, jax, ".xplane.pb", ("padded", "graph_launches", "graph_ops")),
          harness.Case("modes, PyTorch", check_modes, generate.Trace.write, ".json"),
          harness.Case("modes, nsys", check_modes, export, ".sqlite"),
          harness.Case("modes, nsys with a domain", check_modes, functools.partial(export, domain="TensorRT-LLM"), ".sqlite"),
          harness.Case("modes, rocprofv3", check_modes, rocprof, "_results.json"),
          harness.Case("modes, JAX", check_modes, jax, ".xplane.pb"),
          harness.Case("findings", check_findings), harness.Case("findings of JAX", check_jax_findings), harness.Case("compare", check_compare), harness.Case("other ranges", check_other_ranges)]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], CASES))
