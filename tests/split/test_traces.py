#!/usr/bin/env python3
"""`gputally split`: the trace of a step contains exactly the events of that step.

    python3 -m tests.split.test_traces --bin build/gputally [--only TEXT]

Traces of a synthetic server are split in all ways. The expected names and contents come from a reference model that compares
every event with every step.
"""
import collections
import gzip
import json
import math
import os
import random
import re
import sqlite3
import sys
from typing import NamedTuple

from tests.common import harness
from tests.common.harness import Case
from tests.nsys import generate_export as nsys
from tests.serving.generate import Trace, server, vllm
from tests.serving.test_nsys import export

DETAILED = [r"execute_\d+_context_(?P<c>\d+)\(sq(?P<ct>\d+)sk\d+sqsq\d+sqsk\d+\)_generation_(?P<g>\d+)\(sq(?P<gt>\d+)sk\d+sqsq\d+sqsk\d+\)",
            r"step\[(?P<mode>EXTEND|DECODE|MIXED)\b(?P<sglang>[^\]]*sqsq=\d[^\]]*)\]", r"(?P<phase>prefill|decode)\[(?P<atom>.*sqsq=\d.*)\]"]
SHORT = [r"execute_context_(?P<c>\d+)\((?P<ct>\d+)\)_generation_(?P<g>\d+)\((?P<gt>\d+)\)",
         r"step\[(?P<mode>EXTEND|DECODE|MIXED) bs=(?P<bs>\d+)(?: toks=(?P<toks>\d+))?\]", r"(?P<phase>prefill|decode)\[(?P<atom>.*)\]",
         r"execute_diffusion_(?P<images>\d+)_\d+x\d+"]


class Step(NamedTuple):
    batch_size: int
    context: int
    context_tokens: int
    generation: int
    generation_tokens: int

    @property
    def requests(self):
        return self.context + self.generation

    def details(self):
        return {"batch_size": self.batch_size, "num_requests": self.requests, "context_requests": self.context,
                "context_sum": self.context_tokens, "generation_requests": self.generation, "generation_sum": self.generation_tokens}


# ---- names ----


def step_of(name, patterns):
    """The step that a name describes; None for other names."""
    found = next((m.groupdict() for m in (re.match(p, name) for p in patterns) if m), None)
    if found is None:
        return None
    value = lambda text, key: int((re.findall(rf"\b{key}=(\d+)", text) or [0])[-1])
    if "images" in found:
        return Step(int(found["images"]), 0, 0, 0, 0)
    if "atom" in found:
        counts = (value(found["atom"], "bs"), value(found["atom"], "tok"))
        return Step(counts[1], *counts, 0, 0) if found["phase"] == "prefill" else Step(counts[1], 0, 0, *counts)
    if "sglang" in found:
        text, mode = found["sglang"], found["mode"]
        bs, c_sq, g_sq = (value(text, key) for key in ("bs", "c_sq", "g_sq"))
        size = c_sq + g_sq or value(text, "toks") or bs
        return {"EXTEND": Step(size, bs, c_sq, 0, 0), "DECODE": Step(size, 0, 0, bs, g_sq),
                "MIXED": Step(size, value(text, "c"), c_sq, value(text, "g"), g_sq)}[mode]
    if "mode" in found:
        bs, tokens = int(found["bs"]), int(found["toks"] or 0)
        return Step(bs, 0, 0, bs, bs) if found["mode"] == "DECODE" else Step(tokens or bs, bs, tokens, 0, 0)
    c, ct, g, gt = (int(found[key]) for key in ("c", "ct", "g", "gt"))
    return Step(ct + gt, c, ct, g, gt)


def some_name(chance, form):
    c, g = chance.choice([0, 0, 0, 0, 1, 2]), chance.choice([0, 30, 58, 60, 62, 64, 64, 64])
    ct = c * chance.randint(1, 900)
    if form == "vllm":
        return f"execute_{ct + g}_context_{c}(sq{ct}sk{ct}sqsq{ct}sqsk{ct})_generation_{g}(sq{g}sk{9 * g}sqsq{g}sqsk{g})"
    if form == "short vllm":
        return f"execute_context_{c}({ct})_generation_{g}({g})"
    if form == "sglang":
        return chance.choice([f"step[EXTEND bs={c} toks={ct} c_sq={ct} c_sqsq=5 c_sqsk=6 c_sk={ct}]", f"step[DECODE bs={g} g_sq={2 * g} g_sqsq=4]",
                              f"step[MIXED bs={c + g} c={c} g={g} c_sq={ct} c_sqsq=25 g_sq={g} g_sqsq=1 g_sqsk=12]"])
    if form == "short sglang":
        return chance.choice([f"step[EXTEND bs={c} toks={ct}]", f"step[DECODE bs={g}]", f"step[MIXED bs={c + g}]"])
    if form == "atom":
        return chance.choice([f"prefill[bs={c} tok={ct} ctx=[7, 8] sqsq=1 sqsk=2 sk=3]", f"decode[bs={g} tok={g} p=2 sqsq=13 sqsk=1 sk=2 tbo=1]"])
    if form == "short atom":
        return chance.choice([f"prefill[bs={c} tok={ct} ctx=[7803, 6918]]", f"decode[bs={g}/128 tok={g} d={g}]", "prefill[bs=6 tok=174 ctx=[4, 4]...+3]"])
    return f"execute_diffusion_{c + 1}_1024x1024"


FORMS = ("vllm", "short vllm", "sglang", "short sglang", "atom", "short atom", "diffusion")


def some_trace(seed):
    chance = random.Random(seed)
    forms = [chance.choice(FORMS)] if seed % 3 else [FORMS[0], FORMS[1]]
    whole = chance.random() < 0.5
    time = (lambda value: value) if whole else (lambda value: round(value + chance.random(), 3))
    events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}, {"ph": "M", "name": "odd, \u00fc", "pid": 0}]
    at, gpu_at, id_ = 1000, 5000, 0
    for _ in range(chance.choice([1, 7, 12, 40, 90])):
        dur, thread = chance.randint(30, 90), chance.choice([1, 1, 1, 2])
        events.append({"ph": "X", "cat": "user_annotation", "name": some_name(chance, chance.choice(forms)), "pid": 1, "tid": thread, "ts": at, "dur": dur})
        for _ in range(chance.randint(0, 4)):
            start, id_, gpu_at = time(at + chance.randint(-3, dur)), id_ + 1, gpu_at + 30
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "launch", "pid": 1, "tid": thread, "ts": start, "dur": time(chance.randint(1, 9)),
                           "args": {"correlation": id_}})
            if chance.random() < 0.9:
                events.append({"ph": "s", "cat": "ac2g", "name": "ac2g", "id": id_, "pid": 1, "tid": thread, "ts": start})
                events.append({"ph": "f", "cat": "ac2g", "name": "ac2g", "id": id_, "pid": 0, "tid": 7, "ts": gpu_at, "bp": "e"})
            if chance.random() < 0.9:
                events.append({"ph": "X", "cat": chance.choice(["kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"]), "name": "k\u00fc \"q\"",
                               "pid": 0, "tid": 7, "ts": time(gpu_at), "dur": time(chance.randint(1, 20)), "args": {"correlation": id_, "stream": 7}})
        at += dur + chance.randint(0, 20)
    if chance.random() < 0.3:
        chance.shuffle(events)
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "a \"GPU\""}], "traceEvents": events, "traceName": "x"}


# ---- expected output ----


def steps_in(events):
    for patterns in (DETAILED, SHORT):
        found = [(e, step_of(e["name"], patterns)) for e in events if e.get("cat") == "user_annotation"]
        found = sorted([pair for pair in found if pair[1]], key=lambda pair: pair[0]["ts"])
        if found:
            return [e for e, _ in found], [step_of(e["name"], DETAILED) or s for e, s in found]
    return [], []


def belonging(events, roots):
    """Events of some steps, and GPU events: number, total duration, mean duration."""
    chosen, gpu, span, busy = set(), 0, 0.0, 0.0
    for root in roots:
        own = [i for i, e in enumerate(events) if "dur" in e and (e["pid"], e["tid"]) == (root["pid"], root["tid"]) and
               root["ts"] <= e["ts"] and e["ts"] + e["dur"] <= root["ts"] + root["dur"]]
        ids = {events[i]["args"]["correlation"] for i in own if "correlation" in events[i].get("args", {})}
        arrows = [i for i, e in enumerate(events) if e["ph"] in "sf" and e.get("id") in ids]
        work = [i for i, e in enumerate(events) if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation") and
                e["args"]["correlation"] in ids]
        chosen |= set(own) | set(arrows) | set(work)
        gpu += len(work)
        busy += sum(events[i]["dur"] for i in work)
        if work:
            span += max(events[i]["ts"] + events[i]["dur"] for i in work) - min(events[i]["ts"] for i in work)
    chosen |= {i for i, e in enumerate(events) if "ts" not in e}
    return [events[i] for i in sorted(chosen)], gpu, span, busy


def regions_of(steps, wanted):
    most = max(s.requests for s in steps)
    near = [abs(s.requests - most) <= max(1, (0.1 if len(steps) >= wanted else 0.2) * most) for s in steps]
    regions, count, begin = [], 0, None
    for i, is_near in enumerate(near):
        if begin is None:
            count += is_near
            if count == 6:
                begin = i - 5
        else:
            count -= not is_near
            if count == 0:
                regions.append((begin, i))
                begin = None
    if begin is not None:
        regions.append((begin, len(steps) - 1))
    if regions:
        return regions
    cut = min(len(steps), max(8, wanted - len(steps)))
    return [(cut // 2, min(len(steps), max(cut // 2 + 1, len(steps) - cut // 2)))]


def rows_of(steps, begin, end, fits):
    rows, row = [], None
    for i in range(begin, end + 1):
        if i < end and fits(steps[i]):
            row = (row[0] if row else i, i + 1)
        elif row:
            rows.append(row)
            row = None
    return rows


def is_decode(step):
    return step.generation > 0 and step.context == 0


def windows_of(steps, regions, wanted):
    begin, end = max(regions, key=lambda r: r[1] - r[0])
    share = lambda part: sum(s.context > 0 for s in part) / len(part) if part else 0.0
    target = share([s for b, e in regions for s in steps[b:e]])
    stride = max(1, wanted // max(1, min(wanted // 2, 10)))
    starts = range(begin, end - wanted + 1, stride) if end - begin >= wanted else [begin]
    spans = [(s, min(end, s + wanted)) for s in starts]
    with_prefill = [span for span in spans if any(s.context > 0 for s in steps[slice(*span)])] or spans
    mixed = min(with_prefill, key=lambda span: (abs(share(steps[slice(*span)]) - target), -sum(s.requests for s in steps[slice(*span)])))
    found = [("mixed_steady_state", mixed)]
    for label, fits in (("decode_only_steady_state", is_decode), ("prefilldecode_steady_state", lambda s: s.context > 0)):
        rows = rows_of(steps, begin, end, fits)
        if rows:
            row = max(rows, key=lambda r: r[1] - r[0])
            found.append((label, (row[0], min(row[1], row[0] + wanted))))
    return found


def mix_of(steps):
    return {"num_prefill": sum(s.context > 0 and not s.generation for s in steps), "num_prefilldecode": sum(s.context > 0 and s.generation > 0 for s in steps),
            "num_decode": sum(is_decode(s) for s in steps), "avg_bs": int(sum(s.batch_size for s in steps) / len(steps)),
            "avg_conc": int(sum(s.requests for s in steps) / len(steps))}


def name_by_mix(label, steps, base):
    mix = mix_of(steps)
    return (f"{label}_prefill_{mix['num_prefill']}_prefilldecode_{mix['num_prefilldecode']}_decode_{mix['num_decode']}"
            f"_bs{mix['avg_bs']}_conc{mix['avg_conc']}_{base}.json.gz")


class Request(NamedTuple):
    single: bool = False
    steady: bool = False
    divide: bool = False
    range: tuple = None
    steps: int = 32

    def options(self):
        return ([*["--store-single-iteration"] * self.single, *["--find-steady-state"] * self.steady, *["--divide-phases"] * self.divide,
                 "--num-steps", str(self.steps)] + (["-i", "{}:{}".format(*self.range)] if self.range else []))


def expected_parts(roots, steps, request, base):
    """(index, file, numbers of steps) of each file."""
    begin, end = (request.range[0], min(request.range[1], len(steps))) if request.range else (0, len(steps))
    if request.single:
        for i in range(begin, end):
            tail = re.sub(r"[/( ]", "_", re.sub(r"[):]", "", roots[i]["name"]))
            yield i, f"{base}_annotation_iteration_{i}_{tail}.json.gz", [i]
    working = steps[begin:end]
    regions = [(0, end - begin)] if request.range else regions_of(working, request.steps)
    if request.divide:
        phased = [(begin + i, "prefilldecodemix" if working[i].context else "decode_only") for b, e in regions for i in range(b, e)
                  if working[i].context or working[i].generation]
        chunks, numbers = [], collections.Counter()
        for i, phase in phased:
            if not chunks or chunks[-1][0] != phase:
                chunks.append((phase, []))
            chunks[-1][1].append(i)
        for phase, rows in chunks:
            chunk = [steps[i] for i in rows]
            mix = mix_of(chunk)
            label = f"{phase}_chunk{numbers[phase]}_steps{len(rows)}_bs{mix['avg_bs']}_conc{mix['avg_conc']}"
            numbers[phase] += 1
            yield 0, f"{phase}/" + name_by_mix(label, chunk, base), rows
    elif request.steady:
        for label, (b, e) in windows_of(working, regions, request.steps):
            yield 0, name_by_mix(label, working[b:e], base), list(range(begin + b, begin + e))
    elif request.range and not request.single:
        yield 0, name_by_mix(f"iterations_{begin}_{end}", working, base), list(range(begin, end))


# ---- checking ----


def check_details(folder, parts, steps, facts):
    with open(os.path.join(folder, "out", "execution_details.json"), encoding="utf-8") as file:
        details = json.load(file)
    problems = [] if len(details) == len(parts) else [f"{len(details)} entries, not {len(parts)}"]
    for entry, (idx, name, rows), (events, gpu, span, busy) in zip(details, parts, facts):
        expected = {"idx": idx, "output_path": "out/" + name, "event_count": len(events), "num_gpu_events": gpu,
                    "steps": [steps[i].details() for i in rows], "phase": mix_of([steps[i] for i in rows])}
        problems += [f"{name}: {key} is {entry.get(key)!r}, not {value!r}" for key, value in expected.items() if entry.get(key) != value]
        for key, value in (("gpu_duration", span), ("gpu_busy_duration", busy)):
            if not math.isclose(entry[key], value, rel_tol=1e-9, abs_tol=1e-6):
                problems.append(f"{name}: {key} is {entry[key]}, not {value}")
    headings, rows = harness.read_csv(os.path.join(folder, "out", "execution_details.csv"))
    for row, entry in zip(rows, details):
        cells = dict(zip(headings, row))
        flat = {**entry, **{"phase_" + k: v for k, v in entry["phase"].items()}, "num_steps": len(entry["steps"])}
        for key, text in cells.items():
            right = abs(float(text) - flat[key]) <= 0.00501 if key.startswith("gpu_") else text == str(flat[key])
            problems += [] if right else [f"execution_details.csv: {key} is {text}, not {flat[key]}"]
    return problems + ([] if len(rows) == len(details) else ["rows of execution_details.csv"])


def check_split(seed, request):
    def check(binary, folder):
        document = some_trace(seed)
        packed = seed % 2
        name = "my.pt.trace.json" + (".gz" if packed else "")
        with (gzip.open if packed else open)(os.path.join(folder, name), "wt", encoding="utf-8") as file:
            json.dump(document, file, indent=seed % 4 or None)
        done = harness.run([binary, "split", name, "-o", "out", *request.options()], cwd=folder)
        roots, steps = steps_in(document["traceEvents"])
        if request.range and request.range[0] >= len(steps):
            return [] if done.code == 1 and "none at or after" in done.stderr else [f"exit code {done.code}: {done.stderr}"]
        parts = list(expected_parts(roots, steps, request, "my"))
        facts = [belonging(document["traceEvents"], [roots[i] for i in rows]) for _, _, rows in parts]
        problems = done.problems() + ([done.stderr] if done.code else [])
        if problems:
            return problems
        files = harness.files_under(os.path.join(folder, "out")) if os.path.isdir(os.path.join(folder, "out")) else []
        wanted = sorted([part[1] for part in parts] + (["execution_details.csv", "execution_details.json"] if parts else []))
        if sorted(files) != wanted:
            return [f"files {sorted(set(files) ^ set(wanted))[:4]}"]
        for (_, file_name, _), (events, *_) in zip(parts, facts):
            with gzip.open(os.path.join(folder, "out", file_name), "rt", encoding="utf-8") as file:
                found = json.load(file)
            if found != {**document, "traceEvents": events} or list(found) != list(document):
                problems.append(f"{file_name} has {len(found['traceEvents'])} events, not the expected {len(events)}")
        return problems + (check_details(folder, parts, steps, facts) if parts else [])
    return check


def check_mixture(binary, folder):
    """--CONC, --OSL and --R: 32 requests of 25 to 100 tokens begin in 64 / 125 = 0.512 of the steps; two steps are
    needed for that, and there are 64."""
    names = ["execute_context_0(0)_generation_64(64)", "execute_context_1(9)_generation_63(63)"]
    events = [{"ph": "X", "cat": "user_annotation", "name": names[i in (9, 20, 21)], "pid": 1, "tid": 1, "ts": 100 * i, "dur": 50} for i in range(30)]
    with open(os.path.join(folder, "t.json"), "w", encoding="utf-8") as file:
        json.dump(events, file)
    done = harness.run([binary, "split", "t.json", "-o", "out", "--find-steady-state", "--num-steps", "1", "--CONC", "32", "--OSL", "100",
                        "--R", "0.25"], cwd=folder)
    if done.code:
        return [done.stderr]
    found = [f for f in os.listdir(os.path.join(folder, "out")) if f.startswith("mixed")]
    expected = "mixed_steady_state_prefill_0_prefilldecode_1_decode_1_bs68_conc64_t.json.gz"
    return ([] if found == [expected] else [f"{found}, not {expected}"]) + ([] if "2 steps are needed" in done.stderr and "the maximum is 64" in done.stderr else [done.stderr])


OTHER_FORMS = {
    "modes": ["step[EXTEND bs=1 toks=9]"] + ["step[DRAFT_EXTEND bs=2 toks=2]", "step[TARGET_VERIFY bs=2 toks=8]"] * 5,
    "executor": ["[Executor] _forward_step 0: 1 ctx reqs, 0 gen reqs"] + ["[Executor] _forward_step 1: 0 ctx reqs, 2 gen reqs"] * 10,
}


def check_other_forms(binary, folder):
    """Steps that TraceLens does not know: the other modes of SGLang, and TensorRT-LLM."""
    problems = []
    for form, names in OTHER_FORMS.items():
        events = [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 100 * i, "dur": 50} for i, name in enumerate(names)]
        with open(os.path.join(folder, form + ".json"), "w", encoding="utf-8") as file:
            json.dump(events, file)
        done = harness.run([binary, "split", form + ".json", "-o", form, "--store-single-iteration"], cwd=folder)
        files = os.listdir(os.path.join(folder, form)) if not done.code else [done.stderr]
        steps = [name for name in files if name.endswith(".json.gz")]
        if len(steps) != len(names):
            problems.append(f"{form}: {files}")
    return problems


def check_report(binary, folder):
    """An extracted trace can be reported like any other, and has the GPU time of execution_details.csv."""
    with open(os.path.join(folder, "t.json"), "w", encoding="utf-8") as file:
        json.dump(some_trace(4), file)
    run = lambda *command: harness.run([binary, *command, "--quiet"], cwd=folder)
    for done in (run("split", "t.json", "-o", "out", "--iterations", "0:5"), ):
        if done.code:
            return [done.stderr]
    with open(os.path.join(folder, "out", "execution_details.json"), encoding="utf-8") as file:
        entry, = json.load(file)
    done = run("pytorch", entry["output_path"], "--output_csvs_dir", "sheets", "--include_unlinked_kernels")
    return [done.stderr] if done.code else []


WRONG = [((), 2, "required: -o/--output-dir"), (("-o", "out", "--iterations", "3:1"), 2, "expected all, a number"),
         (("-o", "out", "--iterations", "x"), 2, "expected all, a number"), (("-o", "out", "--num-steps", "0"), 2, "at least 1"),
         (("-o", "out", "--OSL", "many"), 2, "invalid float value"), (("-o", "out", "--iterations", "7:9"), 1, "trace has 2 steps")]


def check_wrong(binary, folder):
    events = [{"ph": "X", "cat": "user_annotation", "name": "step[DECODE bs=4]", "pid": 1, "tid": 1, "ts": i, "dur": 1} for i in (5, 9)]
    problems = []
    for name, text in (("two.json", json.dumps(events)), ("none.json", json.dumps([{**e, "name": "step"} for e in events])),
                       ("cut.json", json.dumps({"a": 1, "traceEvents": events})[:-20]), ("bad.json", "{\"traceEvents\": 5}")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    for options, code, words in WRONG:
        done = harness.run([binary, "split", "two.json", *options], cwd=folder)
        problems += [] if done.code == code and words in done.stderr else [f"{options}: {done.code} {done.stderr}"]
    for name, code, words in (("none.json", 1, "no inference steps found"), ("bad.json", 1, "bad.json"), ("gone.json", 1, "gone.json"), ("-", 2, "twice")):
        done = harness.run([binary, "split", name, "-o", "out", "--store-single-iteration"], cwd=folder)
        problems += [] if done.code == code and words in done.stderr else [f"{name}: {done.code} {done.stderr}"]
    if os.path.exists(os.path.join(folder, "out")):
        problems.append("a failure left a folder")
    done = harness.run([binary, "split", "cut.json", "-o", "out", "--store-single-iteration"], cwd=folder)
    found = [f for f in os.listdir(os.path.join(folder, "out")) if f.endswith(".gz")] if done.code == 0 else []
    problems += [] if len(found) == 1 and harness.warns_of_cut(done.stderr) else [f"a truncated trace: {done.code} {done.stderr} {found}"]
    return problems


def check_full_disk(binary, folder):
    with open(os.path.join(folder, "t.json"), "w", encoding="utf-8") as file:
        json.dump(some_trace(10), file)
    done = harness.run([binary, "split", "t.json", "-o", "out", "--store-single-iteration"], cwd=folder, file_size_limit=300)
    left = harness.files_under(folder)
    return [] if done.code == 1 and left == ["t.json"] else [f"exit code {done.code}, left {left}: {done.stderr}"]


def check_inferred(binary, folder):
    """Nothing names the steps: the waits of the host do. Each kernel is in one file, and graphs are decode."""
    trace, wanted = Trace(latency_ns=2000), []
    for step in range(9):
        is_prefill = step % 3 == 0
        trace.host(30)
        if is_prefill:
            for kernel in ("rms_norm_kernel", "nvjet_tst_64x8", "flash_fwd_splitkv_kernel", "silu_and_mul"):
                trace.launch(kernel, 40 + step)
        else:
            trace.graph([("rms_norm_kernel", 5, [8, 1, 1]), ("nvjet_tst_8x8", 30 + step, None), ("flash_fwd_splitkv_kernel", 25, None)])
        trace.read_back()
        wanted.append((5 if is_prefill else 4, "" if is_prefill else "generation_1"))
    trace.write(os.path.join(folder, "t.json"))
    outcome = harness.run([binary, "split", "t.json", "-o", "out", "--store_single_iteration"], cwd=folder)
    names = sorted((n for n in os.listdir(os.path.join(folder, "out")) if n.endswith(".gz")), key=lambda n: int(re.findall(r"\d+", n)[0]))
    problems = [] if "9 steps are inferred" in outcome.stderr and len(names) == 9 else [outcome.stderr[:300] + str(names)]
    for name, (kernels, part) in zip(names, wanted):
        with gzip.open(os.path.join(folder, "out", name), "rt", encoding="utf-8") as file:
            count = sum(event.get("cat") in ("kernel", "gpu_memcpy") for event in json.load(file)["traceEvents"])
        problems += [] if count == kernels and part in name else [f"{name}: {count} kernels"]
    return problems


def tables_of(path):
    """Of an export: the rows of each table, without row ids."""
    db = sqlite3.connect(path)
    names = [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: db.execute('SELECT * FROM "' + name.replace('"', '""') + '"').fetchall() for name in names}
    db.close()
    return found


def check_export(binary, folder):
    """An export of Nsight Systems: each step has the rows that the same events have in a PyTorch trace, and what describes the export. A
    second process uses the same correlation ids; samples have no thread."""
    trace = server(1, vllm)
    trace.write(os.path.join(folder, "t.json"))
    export(trace, os.path.join(folder, "t.sqlite"), domain="TensorRT-LLM")
    db = sqlite3.connect(os.path.join(folder, "t.sqlite"))
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({nsys.KERNEL})")]
    db.execute(f"INSERT INTO {nsys.KERNEL} SELECT {', '.join('777' if c == 'globalPid' else c for c in columns)} FROM {nsys.KERNEL}")
    db.execute('CREATE TABLE "odd ""name" (value INTEGER, "a ""b" weird(3))')
    db.execute('INSERT INTO "odd ""name" VALUES (1, \'x\')')
    db.execute("CREATE TABLE GPU_METRICS (timestamp INTEGER, value INTEGER)")
    db.execute("INSERT INTO GPU_METRICS VALUES (5, 6)")
    db.commit()
    db.close()
    problems, whole = [], tables_of(os.path.join(folder, "t.sqlite"))
    for name in ("t.json", "t.sqlite"):
        done = harness.run([binary, "split", name, "-o", "out", "--store-single-iteration", "--find-steady-state"], cwd=folder)
        if done.code:
            return [done.stderr]
    files = [name for name in os.listdir(os.path.join(folder, "out")) if name.endswith(".sqlite")]
    for name in files:
        found = tables_of(os.path.join(folder, "out", name))
        with gzip.open(os.path.join(folder, "out", name.replace(".sqlite", ".json.gz")), "rt", encoding="utf-8") as file:
            counts = collections.Counter(event["cat"] for event in json.load(file)["traceEvents"])
        got = {table: len(found[table]) for table in (nsys.KERNEL, nsys.MEMCPY, nsys.RUNTIME, "NVTX_EVENTS", "GPU_METRICS")}
        wanted = {nsys.KERNEL: counts["kernel"], nsys.MEMCPY: counts["gpu_memcpy"], nsys.RUNTIME: counts["cuda_runtime"],
                  "NVTX_EVENTS": counts["user_annotation"] + 1, "GPU_METRICS": 0}
        problems += [] if got == wanted else [f"{name}: {got} instead of {wanted}"]
        problems += [f"{name}: {table}" for table in whole if (found[table] != whole[table] if table not in got else set(found[table]) - set(whole[table]))]
    steps = harness.run([binary, "report", os.path.join("out", next(f for f in files if f.startswith("decode_only"))), "--output_csvs_dir", "csv"], cwd=folder)
    if len(files) != 33 or "decode: 12 steps" not in steps.stdout:
        problems.append(f"{len(files)} files: {steps.stdout[:300]}")
    return problems[:5]


def check_other_export(binary, folder):
    """No ranges are steps; no export at all."""
    export(server(1, vllm), os.path.join(folder, "t.sqlite"), prefix="my ")
    problems = []
    sqlite3.connect(os.path.join(folder, "other.sqlite")).execute("CREATE TABLE a (b)")
    for name, words in (("t.sqlite", "no inference steps found (no vLLM, SGLang or ATOM NVTX ranges)"), ("other.sqlite", "other.sqlite")):
        done = harness.run([binary, "split", name, "-o", "out", "--store-single-iteration"], cwd=folder)
        problems += [] if done.code == 1 and words in done.stderr and "use gputally" not in done.stderr else [f"{done.code} {done.stderr}"]
    return problems + (["a folder"] if os.path.exists(os.path.join(folder, "out")) else [])


def cases():
    requests = [Request(single=True), Request(steady=True), Request(steady=True, steps=4), Request(divide=True, steps=8), Request(range=(2, 9)),
              Request(single=True, steady=True, range=(0, 100), steps=5), Request(single=True, divide=True, range=(1, 30)), Request(steady=True, divide=True, steps=1), Request()]
    for seed in range(36):
        yield Case(f"trace {seed}", check_split(seed, requests[seed % len(requests)]))
    yield Case("an expected share of prefill", check_mixture)
    yield Case("forms of others", check_other_forms)
    yield Case("a report of steps", check_report)
    yield Case("inferred steps", check_inferred)
    yield Case("an export of Nsight Systems", check_export)
    yield Case("an export without steps", check_other_export)
    yield Case("wrong input", check_wrong)
    yield Case("a full disk", check_full_disk)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], cases()))
