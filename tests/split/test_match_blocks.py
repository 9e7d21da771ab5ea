#!/usr/bin/env python3
"""`gputally match-blocks`: the two blocks that differ least are found and cut out.

    python3 -m tests.split.test_match_blocks --bin build/gputally [--only TEXT]

Blocks of synthetic servers are written down as lists of steps; the expected pairs come from comparing all windows with each other in
plain Python.
"""
import csv
import gzip
import itertools
import json
import os
import random
import sys

from tests.common import harness
from tests.common.harness import Case

PHASES = ("decode_only", "prefilldecode", "prefill_only")
MEANS = {"avg_context_requests": "c", "avg_generation_requests": "g", "avg_c_sq": "c_sq", "avg_c_sk": "c_sk", "avg_g_sq": "g_sq", "avg_g_sk": "g_sk"}


def some_steps(chance):
    """Sequences of steps of one phase: {c, g, c_sq, c_sk, g_sq, g_sk}."""
    steps = []
    for _ in range(chance.randint(2, 9)):
        prefills, decodes = chance.choice([(0, 1), (0, 1), (1, 1), (1, 0), (0, 0)])
        for _ in range(chance.choice([1, 2, 3, 5, 8])):
            c, g = prefills * chance.randint(1, 2), decodes * chance.randint(1, 3)
            steps.append({"c": c, "g": g, "c_sq": 10 * c, "c_sk": c * chance.randint(10, 12), "g_sq": g, "g_sk": g * chance.randint(20, 23)})
    return steps


def name_of(step, form):
    c_sq, c_sk, g_sq, g_sk = (step[key] for key in ("c_sq", "c_sk", "g_sq", "g_sk"))
    if form == "vllm":
        return (f"execute_{c_sq + g_sq}_context_{step['c']}(sq{c_sq}sk{c_sk}sqsq1sqsk2)_generation_{step['g']}(sq{g_sq}sk{g_sk}sqsq3sqsk4)")
    if form == "short vllm":
        return f"execute_context_{step['c']}({c_sq})_generation_{step['g']}({g_sq})"
    if form == "atom":
        return f"prefill[bs={step['c']} tok={c_sq} ctx=[7, 8] sqsq=1 sqsk=2 sk={c_sk}]" if step["c"] else f"decode[bs={step['g']} tok={g_sq} sqsq=1 sqsk=2 sk={g_sk}]"
    mode = "MIXED" if step["c"] and step["g"] else "EXTEND" if step["c"] else "DECODE"
    bs = f"bs={step['c'] + step['g']} c={step['c']} g={step['g']}" if mode == "MIXED" else f"bs={step['c'] + step['g']}"
    sums = f" c_sq={c_sq} c_sqsq=1 c_sqsk=2 c_sk={c_sk}" if step["c"] else ""
    return f"step[{mode} {bs}{sums}{f' g_sq={g_sq} g_sqsq=1 g_sqsk=2 g_sk={g_sk}' if step['g'] or not sums else ''}]"


def write_trace(path, steps, form):
    events = []
    for i, step in enumerate(steps):
        events.append({"ph": "X", "cat": "user_annotation", "name": name_of(step, form), "pid": 1, "tid": 1, "ts": 100 * i, "dur": 90})
        events.append({"ph": "X", "cat": "cpu_op", "name": f"op {i}", "pid": 1, "tid": 1, "ts": 100 * i + 5, "dur": 9})
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)


# ---- expected pairs ----


def phase_of(step):
    return PHASES[(1 if step["g"] else 2) if step["c"] else 0] if step["c"] or step["g"] else None


def windows_of(steps, length):
    """(phase, begin, number of steps, steps of the whole sequence)"""
    at = 0
    for phase, sequence in itertools.groupby(steps, phase_of):
        count = len(list(sequence))
        if phase and count >= (2 if phase == "decode_only" else 1):
            size = min(length, count) if length > 0 else count
            yield from ((phase, at + k * size, size, count) for k in range(count // size))
        at += count


def distances(phase, a, b):
    keys = ("g_sq", "g_sk") if phase == "decode_only" else ("c", "g", "c_sq", "g_sq")
    return tuple(sum(abs(x[key] - y[key]) for x, y in zip(a, b)) / len(a) for key in keys)


def expected_pair(phase, steps, windows):
    """(distances, index of the window in A, index in B); None: no pair."""
    found = []
    for (i, a), (j, b) in itertools.product(enumerate(windows[0]), enumerate(windows[1])):
        if a[0] == b[0] == phase and a[2] == b[2]:
            parts = [of[w[1]:w[1] + w[2]] for of, w in zip(steps, (a, b))]
            found.append((distances(phase, *parts), -min(a[3], b[3]), -a[2], i, j))
    best = min(found, default=None)
    return best and (best[0], best[3], best[4])


def check_side(entry, trace, windows, index, steps):
    _, begin, count, whole = windows[index]
    part = steps[begin:begin + count]
    wanted = {"block_index": index, "trace": trace, "start": begin, "end": begin + count, "num_steps": count, "original_num_steps": whole, "truncated": count != whole,
              **{key: round(sum(step[of] for step in part) / count, 3) for key, of in MEANS.items()}}
    problems = [f"{trace}: {key} is {entry[key]}, not {value}" for key, value in wanted.items() if entry[key] != value]
    rows = [{"step": begin + k, "num_context": s["c"], "num_generation": s["g"], **{key: s[key] for key in ("c_sq", "c_sk", "g_sq", "g_sk")}} for k, s in enumerate(part)]
    return problems + ([] if [{k: v for k, v in s.items() if k != "name"} for s in entry["steps"]] == rows else [f"{trace}: steps"])


def check_trace(path, begin, count):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        ops = [e["name"] for e in json.load(file)["traceEvents"] if e["cat"] == "cpu_op"]
    return [] if ops == [f"op {i}" for i in range(begin, begin + count)] else [f"{path}: {ops}"]


def check_rows(path, matches):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    problems = [] if len(rows) == len(matches) else [f"{len(rows)} rows"]
    for row, match in zip(rows, matches):
        wanted = {"match_id": match["match_id"], "phase": match["phase"], "num_steps": match["num_steps"], "distance": "|".join(str(float(x)) for x in match["distance"])}
        for side in ("TraceA", "TraceB"):
            wanted |= {f"{side}_{key.replace('context_requests', 'c_req').replace('generation_requests', 'g_req')}": value
                       for key, value in match[side].items() if key not in ("steps", "num_steps")}
        problems += [f"match_report.csv: {key} is {row.get(key)}, not {value}" for key, value in wanted.items() if row.get(key) != str(value)]
        problems += [f"match_report.csv: {set(row) ^ set(wanted)}"] if set(row) != set(wanted) else []
    return problems


def check_pairs(seed, length, phases, extract):
    def check(binary, folder):
        chance = random.Random(seed)
        forms = [chance.choice(["vllm", "sglang", "atom"]) for _ in "ab"]
        steps = [some_steps(chance) for _ in "ab"]
        for k, name in enumerate(("a.json", "b.pt.trace.json")):
            if forms[k] == "atom":
                steps[k] = [s for s in steps[k] if not (s["c"] and s["g"])] or [{"c": 0, "g": 1, "c_sq": 0, "c_sk": 0, "g_sq": 1, "g_sk": 9}]
            write_trace(os.path.join(folder, name), steps[k], forms[k])
        options = ["--num-steps", str(length), "--phases", ",".join(phases), *([] if extract else ["--no-extract"])]
        done = harness.run([binary, "match-blocks", "a.json", "b.pt.trace.json", "-o", "out", *options], cwd=folder)
        if done.code:
            return [done.stderr]
        windows = [list(windows_of(s, length)) for s in steps]
        pairs = {phase: expected_pair(phase, steps, windows) for phase in phases}
        matches, notes = (json.load(open(os.path.join(folder, "out", name), encoding="utf-8")) for name in ("match_report.json", "match_notes.json"))
        problems = [] if [m["phase"] for m in matches] == [p for p in phases if pairs[p]] else ["phases of match_report.json"]
        problems += [] if [n["phase"] for n in notes] == [p for p in phases if not pairs[p]] else ["phases of match_notes.json"]
        for match in matches if not problems else []:
            wanted, *indexes = pairs[match["phase"]]
            problems += [] if match["distance"] == [round(x, 6) for x in wanted] else [f"distance {match['distance']}, not {wanted}"]
            for k, side in enumerate(("TraceA", "TraceB")):
                problems += check_side(match[side], "ab"[k], windows[k], indexes[k], steps[k])
                path = os.path.join(folder, match[side]["output_path"])
                if extract:
                    problems += check_trace(path, match[side]["start"], match["num_steps"])
                elif os.path.exists(path):
                    problems.append("a trace in spite of --no-extract")
        return problems + check_rows(os.path.join(folder, "out", "match_report.csv"), matches)
    return check


def check_nothing_to_pair(binary, folder):
    """Names without sequence lengths, and traces without steps."""
    chance, problems = random.Random(5), []
    write_trace(os.path.join(folder, "long.json"), some_steps(chance), "vllm")
    write_trace(os.path.join(folder, "short.json"), some_steps(chance), "short vllm")
    with open(os.path.join(folder, "none.json"), "w", encoding="utf-8") as file:
        json.dump({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}, file)
    run = lambda *words: harness.run([binary, "match-blocks", *words], cwd=folder)
    for words, code, text in ((("long.json", "none.json", "-o", "out"), 1, "none.json: no inference steps found"), (("long.json", "-o", "out"), 2, "trace_a, trace_b"),
                              (("long.json", "-", "-o", "out"), 2, "read twice"), (("long.json", "long.json"), 2, "-o/--output-dir"),
                              (("long.json", "long.json", "-o", "out", "--phases", "decode_only,verify"), 2, "verify: expected decode_only")):
        done = run(*words)
        problems += [] if done.code == code and text in done.stderr else [f"{words}: {done.code} {done.stderr}"]
    if os.path.exists(os.path.join(folder, "out")):
        problems.append("a failure left a folder")
    done = run("long.json", "short.json", "-o", "out")
    with open(os.path.join(folder, "out", "match_notes.json"), encoding="utf-8") as file:
        notes = json.load(file)
    right = done.code == 0 and "decode_only: no pair" in done.stdout and all("trace B do not tell sequence lengths" in note["reason"] for note in notes)
    return problems + ([] if right and len(notes) == 2 else [f"{done.code} {done.stdout} {notes}"])


def cases():
    for seed in range(24):
        length, phases = (16, 2, 0, 3)[seed % 4], (PHASES[:2], PHASES, PHASES[::-1])[seed % 3]
        yield Case(f"traces {seed}", check_pairs(seed, length, phases, seed % 5 != 4))
    yield Case("nothing to pair", check_nothing_to_pair)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], cases()))
