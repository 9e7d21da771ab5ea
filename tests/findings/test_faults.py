#!/usr/bin/env python3
"""Real programs with planted faults: is the fault named first, and is its gain what the repair gained?

    python3 -m tests.findings.test_faults --bin build/gputally [--only TEXT]

The step times of faults.json were measured without the profiler, before and after the repair (see traces/README.md).
A gain must lie between half and twice the measured one. Traces are those of traces/ and, if they exist, of the folders
faults and faults2 next to the conformance folder.
"""
import json
import os
import sys

from tests.common import harness

HERE = os.path.join(harness.ROOT, "tests", "findings", "traces")
SHARED, SHARED_2 = (os.path.normpath(os.path.join(harness.CONFORMANCE_TRACES, "..", "..", name)) for name in ("faults", "faults2"))
IDS = {"math_attention": ("unfused_attention",), "cpu_roundtrip": ("cpu_roundtrip", "cpu_op"), "queue_wait": ("wait", "data_stall"), "one_block": ("small_grid",),
       **{fault: ("uneven_steps",) for fault in ("checkpoint_save", "save_first", "eval_every", "gc_every")},
       **{fault: ("unfused_pointwise",) for fault in ("unfused_norm", "unfused_act", "unfused_rope", "unfused_loss")},
       "ema": ("unfused_pointwise",)}
HEALTHY = ("healthy", "background_writer")  # nothing waits for the writer
MEASURABLE = 0.03  # share of the step time below which a repair has no clear effect
ALIKE = 0.8  # two faults whose gains differ by less than this ratio may come in either order


def findings(binary, trace, folder):
    path = os.path.join(folder, "out.json")
    outcome = harness.run([binary, "report", trace, "--output_json", path, "--quiet"])
    assert outcome.code == 0 and not outcome.problems(), outcome
    with open(path) as file:
        return json.load(file)["findings"]


def judge(name, entry, found):
    """Problems of the findings of one trace, as strings."""
    high = [f["id"] for f in found if f["severity"] == "high"]
    if entry["fault"] in HEALTHY:
        return [f"{name}: false alarm {high}"] if high else []
    after = entry.get("repaired_one_ms") or {entry["fault"]: entry["repaired_ms"]}
    gains = {fault: entry["step_ms"] - ms for fault, ms in after.items()}
    largest = max(gains.values())
    problems = []
    for fault, measured in gains.items():
        if measured <= MEASURABLE * entry["step_ms"]:
            continue
        ids = IDS.get(fault, (fault,))
        mine = next((f for f in found if f["id"] in ids), None)
        if mine is None:
            problems.append(f"{name}: {fault} not found among {[f['id'] for f in found]}")
        elif not 0.5 <= mine["gain_ms"] / measured <= 2:
            problems.append(f"{name}: {fault} gains {mine['gain_ms']} ms, measured {measured:.3f} ms")
    first = [fault for fault, measured in gains.items() if measured >= ALIKE * largest]
    accepted = [i for fault in first for i in IDS.get(fault, (fault,))]
    if largest > MEASURABLE * entry["step_ms"] and (not found or found[0]["id"] not in accepted):
        problems.append(f"{name}: {found[0]['id'] if found else 'nothing'} stands first, not {first}")
    return problems


def check_trace(binary, folder, traces, name, entry):
    return judge(name, entry, findings(binary, os.path.join(traces, name + ".json.gz"), folder))


def check_judge(binary, folder):
    """The judge itself refuses a wrong order, a wrong gain, a missing fault and a false alarm."""
    entry = {"fault": "host_sync", "step_ms": 10.0, "repaired_ms": 6.0}
    good = {"id": "host_sync", "severity": "high", "gain_ms": 4.0}
    other = {"id": "launch_bound", "severity": "high", "gain_ms": 5.0}
    assert judge("x", entry, [good, other]) == []
    assert len(judge("x", entry, [other, good])) == 1
    assert len(judge("x", entry, [dict(good, gain_ms=9.0)])) == 1
    assert len(judge("x", entry, [other])) == 2
    assert judge("x", {"fault": "healthy", "step_ms": 1.0, "repaired_ms": 1.0}, [other]) != []
    pair = {"fault": "host_sync", "step_ms": 10.0, "repaired_ms": 6.0, "repaired_one_ms": {"host_sync": 6.0, "fp32_gemm": 7.5}}
    assert judge("x", pair, [good, {"id": "fp32_gemm", "severity": "high", "gain_ms": 2.0}]) == []
    assert len(judge("x", pair, [good])) == 1
    return []


def check_calibration(binary, folder):
    """Nine of ten measured gains lie in the shown range, three of four within a third of the gain, and all within a factor of two."""
    from tests.findings import calibration  # which needs this module
    found = calibration.measured_cases(binary, [path for path in (HERE, SHARED, SHARED_2) if os.path.exists(os.path.join(path, "faults.json"))])
    values = [value for _, value, _ in found]
    near, inside = sum(0.75 <= value <= 4 / 3 for value in values), sum(calibration.holds(finding, value) for finding, value, _ in found)
    is_right = len(values) >= 30 and near >= 0.7 * len(values) and inside >= 0.9 * len(values) and all(0.5 <= value <= 2 for value in values)
    return [] if is_right else [f"{inside} in the range, {sorted(values)}"]


def cases():
    found = [harness.Case("judge", check_judge), harness.Case("calibration", check_calibration)]
    for folder in (HERE, SHARED, SHARED_2):
        path = os.path.join(folder, "faults.json")
        if os.path.exists(path):
            with open(path) as file:
                found += [harness.Case(name, check_trace, folder, name, entry) for name, entry in json.load(file).items()]
    return found


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, cases()))
