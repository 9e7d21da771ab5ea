#!/usr/bin/env python3
"""Findings of rocprofv3 runs: expected values are computed here from the records, or by hand.

    python3 -m tests.findings.test_rocprof --bin build/gputally [--only TEXT]
"""
import gzip
import json
import os
import re
import sys

from tests.common import harness
from tests.findings.rocprof_runs import GPU, OTHER_GPU, US, Run
from tests.rocprof import generate_run

REAL = os.path.join(harness.CONFORMANCE_TRACES, "rocprof__908_results.json.gz")


def report(binary, folder, trace, *options):
    path = os.path.join(folder, "out.json")
    outcome = harness.run([binary, "report", trace, "--output_json", path, "--quiet", *options])
    assert outcome.code == 0 and not outcome.problems(), outcome
    with open(path) as file:
        return json.load(file)


def report_run(binary, folder, run, *options):
    return report(binary, folder, run.write(os.path.join(folder, "run_results.json")), *options)


def rows(document, sheet):
    found = document["sheets"][sheet]
    return [dict(zip(found["columns"], row)) for row in found["rows"]]


def causes_ns(document):
    return {row["part"]: row["ns"] for row in rows(document, "balance") if row["kind"] == "idle"}


def findings(document):
    return {finding["id"]: finding for finding in document["findings"]}


def checks(document):
    return {check["id"]: check["level"] for check in document["trust"]["checks"]}


def near(value, expected, tolerance=1e-6):
    assert abs(value - expected) <= tolerance * max(1, abs(expected)), (value, expected)


def measure(spans):
    """(length, busy time) of the time between the first start and the last end."""
    spans = sorted((start, max(start, end)) for start, end in spans)
    busy, until = 0, spans[0][0]
    for start, end in spans:
        busy += max(0, end - max(start, until))
        until = max(until, end)
    return until - spans[0][0], busy


def check_books(document, spans):
    """The parts of the window add up, and busy and idle time are those of the records."""
    window, busy = measure(spans)
    balance = rows(document, "balance")
    assert document["window_ns"] == window, (document["window_ns"], window)
    assert sum(row["ns"] for row in balance) == window, balance
    assert sum(row["ns"] for row in balance if row["kind"] not in ("idle", "remainder")) == busy, (balance, busy)
    assert [row["ns"] for row in balance if row["kind"] == "remainder"] == [0], balance
    assert document["idle_sum_error_us"] == 0
    near(sum(cause["ms"] for cause in document["idle_causes"]), (window - busy) / 1e6)


# ---- formats ----


def spans_of(processes, gpu):
    kernels = [(d.start, d.end) for p in processes for d in p.dispatches if d.agent == gpu]
    return kernels + [(c.start, c.end) for p in processes for c in p.copies if gpu in (c.source, c.destination)]


def check_formats(binary, folder):
    processes = generate_run.make_run(300, 2, flat=True)
    generate_run.write_all(processes, folder)
    spans = {gpu: spans_of(processes, gpu) for gpu in generate_run.GPUS}
    busiest = max(spans, key=lambda gpu: measure(spans[gpu])[1])
    found = {}
    for name in ("csv", "rocpd", "pftrace"):
        document = found[name] = report(binary, folder, os.path.join(folder, name, generate_run.HOST))
        check_books(document, spans[busiest])
        assert document["device_count"] == 2 and document["trust"]["verdict"] == "do not trust", document["trust"]
        assert checks(document)["T4"] == "fail" and checks(document)["T2"] == "ok", checks(document)
    assert causes_ns(found["csv"]) == causes_ns(found["rocpd"]) == causes_ns(found["pftrace"])
    # gfx942 with 304 units is an MI300X or an MI325X: rocprofv3 does not record the memory, so the name stays as it is
    assert found["csv"]["device"] == found["rocpd"]["device"] == "Demo GPU", found["csv"]["device"]
    return []


def check_json(binary, folder):
    processes = generate_run.make_run(300, 1)
    path = os.path.join(folder, "run_results.json")
    generate_run.write_json(processes, path)
    spans = [spans_of(processes, gpu) for gpu in generate_run.GPUS]
    check_books(report(binary, folder, path), max(spans, key=lambda s: measure(s)[1]))
    return []


# ---- without calls ----


def check_no_host(binary, folder):
    """100 kernels of 4 us with gaps of 6 us, one of 200 us before the last kernel."""
    run = Run()
    for i in range(100):
        run.kernel("add", 10 * US * i, 4 * US)
    run.kernel("add", 990 * US + 204 * US, 4 * US)
    document = report_run(binary, folder, run)
    assert causes_ns(document) == {"device_gap": 99 * 6 * US, "unknown": 200 * US}, causes_ns(document)
    assert document["device"] == "AMD Instinct MI300X" and document["per"] == "trace" and document["device_count"] == 1
    levels = checks(document)
    assert levels == {"T0": "ok", "T1": "warn", "T4": "ok", "T6": "ok", "T10": "note", "T12": "warn", "T13": "ok", "T23": "ok"}, levels
    assert list(findings(document)) == ["short_kernels"], document["findings"]
    found = findings(document)["short_kernels"]
    near(found["gain_ms"], 99 * 4 / 1e3)  # 2 of 6 us remain
    assert found["confidence"] == "medium" and found["kind"] == "gpu"
    near(document["all_fixed_ms"], (1198 - 396) / 1e3)
    assert document["replay_error_pct"] == 0
    return []


def check_few_gaps(binary, folder):
    """Gaps that are short compared with the kernels, or kernels that are long, are no finding."""
    for length, gap in ((9 * US, 4 * US), (12 * US, 12 * US)):
        run = Run()
        for i in range(200):
            run.kernel("add", (length + gap) * i, length)
        document = report_run(binary, folder, run)
        assert "short_kernels" not in findings(document), (length, gap, document["findings"])
    return []


def check_communication(binary, folder):
    """A collective of 500 us, of which a kernel on another stream hides 200 us."""
    run = Run()
    run.kernel("gemm", 0, 1000 * US)
    run.kernel("ncclDevKernel_AllReduce", 800 * US, 500 * US, stream=2)
    run.kernel("gemm", 1300 * US, 700 * US)
    document = report_run(binary, folder, run)
    found = findings(document)["exposed_comm"]
    near(found["gain_ms"], 0.3)
    parts = {(row["kind"], row["part"]): row["ns"] for row in rows(document, "balance")}
    assert parts[("exposed_communication", "communication")] == 300 * US, parts
    assert parts[("computation", "GEMM")] == 1700 * US, parts
    return []


def check_copies(binary, folder):
    """8 MB in 1 ms is 8 GB/s, slower than any link; 64 MB in 1.6 ms is 40 GB/s. Copies of unknown size are left out."""
    run = Run()
    run.copy("HOST_TO_DEVICE", 0, 1000 * US, 8_000_000)
    run.kernel("gemm", 1002 * US, 2000 * US)
    run.copy("DEVICE_TO_HOST", 3004 * US, 1600 * US, 64_000_000)
    run.kernel("gemm", 4606 * US, 2000 * US)
    document = report_run(binary, folder, run)
    slow, exposed = findings(document)["pageable_copy"], findings(document)["exposed_copy"]
    near(slow["gain_ms"], 1.0)
    near(exposed["gain_ms"], 1.6)
    assert "8.0 MB" in slow["title"] and "8.0 GB/s" in slow["title"], slow["title"]
    for copy in run.copies:
        copy["bytes"] = 0
    assert not {"pageable_copy", "exposed_copy"} & set(findings(report_run(binary, folder, run)))
    return []


def check_float(binary, folder):
    """Single precision by the name of the kernel; MI300X is 1307.4 / 163.4 times as fast in half precision."""
    run = Run()
    run.kernel("Cijk_Ailk_Bljk_S_B_MT128x128x32", 0, 1000 * US)
    run.kernel("Cijk_Ailk_Bljk_HHS_BH_MT128x128x32", 1002 * US, 1000 * US)
    found = findings(report_run(binary, folder, run))["fp32_gemm"]
    near(found["gain_ms"], 1 - 163.4 / 1307.4, 1e-3)
    assert found["confidence"] == "medium" and "_S_B_" in found["evidence"][0], found
    unknown = Run(product="Demo GPU", architecture="gfx000")
    unknown.kernel("Cijk_Ailk_Bljk_S_B_MT128x128x32", 0, 1000 * US)
    document = report_run(binary, folder, unknown)
    assert document["device"] == "Demo GPU" and not document["findings"], document["findings"]
    chosen = report_run(binary, folder, unknown, "--gpu_arch_platform", "MI300X")
    assert "fp32_gemm" in findings(chosen), chosen["findings"]
    return []


# ---- with calls ----


def launched(synchronises=True):
    """60 kernels of 3 us, each 8 us after the begin of its call of 5 us. Every 10 of them the host synchronises for 30 us."""
    run, now = Run(), 0
    for i in range(60):
        run.call("hipLaunchKernel", now, 5 * US, i + 1)
        run.kernel("mul", now + 8 * US, 3 * US, correlation=i + 1)
        now += 20 * US
        if i % 10 == 9:
            if synchronises:
                run.call("hipStreamSynchronize", now, 30 * US, 1000 + i)
            now += 40 * US
    return run


def check_calls(binary, folder):
    document = report_run(binary, folder, launched())
    # Between kernels 17 us of idle time, 57 us around the synchronisations; 30 us of these in the call.
    assert causes_ns(document) == {"launch": 59 * 17 * US + 5 * 10 * US, "sync": 5 * 30 * US}, causes_ns(document)
    levels = checks(document)
    assert levels == {"T0": "ok", "T1": "ok", "T2": "ok", "T4": "ok", "T5": "ok", "T6": "ok", "T10": "note", "T12": "ok",
                      "T13": "ok", "T14": "ok", "T23": "ok"}, levels
    found = findings(document)
    near(found["host_sync"]["gain_ms"], 0.15)
    assert found["host_sync"]["where"] == "hipStreamSynchronize", found["host_sync"]
    assert found["launch_bound"]["confidence"] == "medium" and "short_kernels" not in found, found
    gaps = [row for row in rows(document, "idle_gaps") if row["cause"] == "sync"]
    assert len(gaps) == 5 and all(row["host_call"] == "hipStreamSynchronize" for row in gaps), gaps
    return []


def text_of(document, check):
    return next(c["text"] for c in document["trust"]["checks"] if c["id"] == check)


def check_texts(binary, folder):
    """Nouns in the right form, calls instead of unknown places, and checks that say what is wrong."""
    run = Run()
    run.call("hipLaunchKernel", 0, 5 * US, 1)
    run.kernel("mul", 8 * US, 100 * US, correlation=1)
    run.call("hipStreamSynchronize", 10 * US, 400 * US, 2)
    run.call("hipLaunchKernel", 420 * US, 5 * US, 3)
    run.kernel("mul", 428 * US, 100 * US, correlation=3)
    document = report_run(binary, folder, run)
    found = findings(document)["host_sync"]
    assert found["title"] == "1 synchronising call per trace keeps the host from running ahead of the GPU", found
    assert found["where"] == "hipStreamSynchronize" and "1 x hipStreamSynchronize" in found["evidence"], found
    assert not [row for row in rows(document, "idle_calls") if row["site"] == "unknown"], document["sheets"]["idle_calls"]
    assert "reproduces" in text_of(document, "T13"), text_of(document, "T13")

    run = Run()  # kernels of one queue that run at the same time
    for i in range(40):
        run.call("hipLaunchKernel", 10 * US * i, 5 * US, i + 1)
        run.kernel("mul", 10 * US * i + 6 * US, 80 * US, correlation=i + 1)
    document = report_run(binary, folder, run)
    assert checks(document)["T13"] == "fail" and re.fullmatch(
        r"The model misses the recorded trace time by \d+\.\d%, so gains cannot be trusted\.", text_of(document, "T13")), document["trust"]

    run = Run()  # calls of which none launches a kernel of the trace
    run.call("hipLaunchKernel", 0, 5 * US, 77)
    for i in range(10):
        run.kernel("mul", 100 * US * i, 80 * US, correlation=i + 1)
    document = report_run(binary, folder, run)
    assert text_of(document, "T1") == ("10 of 10 GPU operations in the window have no recorded launch: "
                                       "the calls recorded are not those of these launches."), document["trust"]
    return []


def check_untraced(binary, folder):
    """The same without calls in the pauses, and one of 900 us: nothing says what the host does."""
    run = launched(synchronises=False)
    for record in run.hip[30:] + run.dispatches[30:]:
        record["start_timestamp"] += 900 * US
        record["end_timestamp"] += 900 * US
    document = report_run(binary, folder, run)
    causes = causes_ns(document)
    assert set(causes) == {"launch", "untraced"} and sum(causes.values()) == 59 * 17 * US + 5 * 40 * US + 900 * US, causes
    assert 900 * US <= causes["untraced"] <= 960 * US, causes
    assert "with_stack" not in findings(document)["host_untraced"]["advice"]
    return []


def check_borders(binary, folder):
    """A copy of no length at the end of the trace ends a gap like any other op, and every op counts."""
    run = Run()
    for i in range(10):
        run.kernel("mul", 1000 * US * i, 500 * US)
        run.copy("HOST_TO_DEVICE", 1000 * US * i + 510 * US, 0, 64)
    document = report_run(binary, folder, run)
    assert causes_ns(document) == {"device_gap": 10 * 10 * US, "unknown": 9 * 490 * US}, causes_ns(document)
    assert text_of(document, "T1").startswith("20 of 20 "), text_of(document, "T1")
    run.kernel("mul", 10 ** 18, 20 * US)  # 31 years later
    document = report_run(binary, folder, run)
    assert text_of(document, "T1").startswith("21 of 21 "), text_of(document, "T1")
    assert checks(document)["T6"] == "fail" and "days apart" in text_of(document, "T6"), document["trust"]
    assert document["trust"]["verdict"] == "do not trust", document["trust"]
    path = run.write(os.path.join(folder, "run_results.json"))
    with open(path) as file:
        content = json.load(file)
    content["rocprofiler-sdk-tool"][0]["metadata"]["init_time"] = 10 ** 20
    with open(path, "w") as file:
        json.dump(content, file)
    outcome = harness.run([binary, "report", path])
    assert outcome.code == 1 and "out of the range of 64 bits" in outcome.stderr, outcome
    return []


def check_damage(binary, folder):
    run = launched()
    del run.dispatches[::3]
    assert checks(report_run(binary, folder, run))["T2"] == "fail"
    run = launched()
    for record in run.dispatches:
        record["start_timestamp"] -= 500 * US
        record["end_timestamp"] -= 500 * US
    document = report_run(binary, folder, run)
    assert checks(document)["T5"] == "fail" and document["trust"]["verdict"] == "do not trust", document["trust"]
    run = launched()
    for record in run.dispatches:
        record["end_timestamp"] += 40 * US
    assert checks(report_run(binary, folder, run))["T4"] == "fail"
    outcome = harness.run([binary, "report", os.path.join(folder, "run_results.json"), "--strict_trust", "--output_json",
                           os.path.join(folder, "strict.json"), "--quiet"])
    assert outcome.code == 4, outcome
    return []


def check_two_gpus(binary, folder):
    """Every other launch is for the other GPU: these are not lost, and their kernels do not count."""
    run = launched()
    for record in run.dispatches[::2]:
        record["dispatch_info"]["agent_id"]["handle"] = OTHER_GPU
    run.kernel("mul", 2_000 * US, 500 * US, correlation=0)
    document = report_run(binary, folder, run)
    assert checks(document)["T2"] == "ok" and document["device_count"] == 2, document["trust"]
    used = [r for r in run.dispatches if r["dispatch_info"]["agent_id"]["handle"] == GPU]
    assert document["gpu_ops"] == len(used)
    check_books(document, [(r["start_timestamp"], r["end_timestamp"]) for r in used])
    assert checks(document)["T1"] == "ok" and "T5" in checks(document), checks(document)  # 1 of 31 has no launch
    return []


# ---- all of it ----


def check_absurd(binary, folder):
    """Times that no clock has, negative durations, nothing at all."""
    for begin, end in ((0, 2**63 - 1), (-2**63, 2**63 - 1), (2**63 - 1, -2**63), (5, 4)):
        run = launched()
        run.dispatches[7].update(start_timestamp=begin, end_timestamp=end)
        run.hip[9].update(start_timestamp=end, end_timestamp=begin)
        path = run.write(os.path.join(folder, "run_results.json"))
        outcome = harness.run([binary, "report", path, "--output_json", os.path.join(folder, "out.json"), "--quiet"])
        assert not outcome.problems(), outcome
        if outcome.code == 0:
            with open(os.path.join(folder, "out.json")) as file:
                document = json.load(file)
            assert sum(row["ns"] for row in rows(document, "balance")) == document["window_ns"]
    document = report_run(binary, folder, Run())
    assert document["trust"]["verdict"] == "do not trust" and not document["findings"]
    return []


def check_plain_commands(binary, folder):
    """The command with the reference's defaults has no findings, and --no_findings turns them off."""
    path = launched().write(os.path.join(folder, "run_results.json"))
    for command in (["rocprof", path], ["report", path, "--no_findings"]):
        csvs = os.path.join(folder, command[0])
        outcome = harness.run([binary, *command, "--output_csvs_dir", csvs, "--quiet"])
        assert outcome.code == 0 and not outcome.problems(), outcome
        assert "gpu_timeline.csv" in os.listdir(csvs) and "overview.csv" not in os.listdir(csvs), os.listdir(csvs)
    return []


def check_terminal(binary, folder):
    run = launched()
    run.kernel("mul", 0, US, agent=OTHER_GPU)
    path = run.write(os.path.join(folder, "run_results.json"))
    outcome = harness.run([binary, "report", path, "--output_json", os.path.join(folder, "out.json")])
    lines = outcome.stdout.splitlines()
    assert "AMD Instinct MI300X (the busiest of 2 devices)" in lines[0] and any(l == "Trust: good" for l in lines), lines
    assert any(l.startswith("Idle: ") for l in lines) and any("kernel dispatches" in l for l in lines), lines
    return []


def check_threads(binary, folder):
    generate_run.write_all(generate_run.make_run(900, 2), folder, ("csv",))
    documents = [report(binary, folder, os.path.join(folder, "csv", generate_run.HOST), "--threads", threads)
                 for threads in ("1", "3")]
    assert documents[0] == documents[1]
    return []


def check_real(binary, folder):
    if not os.path.exists(REAL):
        return []
    with gzip.open(REAL) as file:
        tool = json.load(file)["rocprofiler-sdk-tool"][0]
    names = {symbol["kernel_id"]: symbol["formatted_kernel_name"] for symbol in tool["kernel_symbols"]}
    spans = [(r["start_timestamp"], r["end_timestamp"]) for r in tool["buffer_records"]["kernel_dispatch"]]
    compute = [span for span, r in zip(spans, tool["buffer_records"]["kernel_dispatch"])
               if "nccl" not in names[r["dispatch_info"]["kernel_id"]]]
    document = report(binary, folder, REAL)
    check_books(document, spans)
    exposed = measure(spans)[1] - measure(compute)[1]
    near(findings(document)["exposed_comm"]["gain_ms"], exposed / 1e6)
    assert list(findings(document)) == ["exposed_comm"] and document["device"] == "AMD Instinct MI350X"
    short, until = 0, min(spans)[0]
    for start, end in sorted(spans):
        short += start - until if 0 < start - until <= 10 * US else 0
        until = max(until, end)
    assert causes_ns(document)["device_gap"] == short, (causes_ns(document), short)
    return []


CASES = [harness.Case(name[len("check_"):], function) for name, function in sorted(globals().items())
         if name.startswith("check_") and name != "check_books"]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, CASES))
