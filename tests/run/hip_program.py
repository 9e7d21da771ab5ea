#!/usr/bin/env python3
"""A program that uses GPUs, and the tool library that rocprofv3 puts into it, for machines without either: each process ends by
writing the files that rocprofv3 would have written, in its layout, as the ROCPROF_ variables of the launcher say.

    hip_program.py [--processes N] [--dispatches N] [--samples N] [--exit STATUS]

With several processes the first one starts the others and records nothing, like torchrun; rank R has --dispatches + R dispatches.
What the files contain is known without running it: truth(), counter_value() and sample() are for the tests.
"""
import argparse
import os
import random
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from tests.rocprof import generate_run

SAMPLE_COLUMNS = "Sample_Timestamp Exec_Mask Dispatch_Id Instruction Instruction_Comment Correlation_Id".split()
STOCHASTIC_COLUMNS = SAMPLE_COLUMNS + "Wave_Issued_Instruction Instruction_Type Stall_Reason Wave_Count".split()
TYPE = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_"
REASON = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"
# instruction, comment, issued, type, reason; one without a known code object has no instruction
SAMPLES = (("s_waitcnt vmcnt(0)", "/src/app.cpp:44", 0, "NO_INST", "WAITCNT"),
           ("s_waitcnt vmcnt(0)", "/src/app.cpp:44", 0, "NO_INST", "WAITCNT"),
           ("s_waitcnt vmcnt(0)", "/src/app.cpp:44", 0, "NO_INST", "BARRIER_WAIT"),
           ("v_mad_u64_u32 v[0:1], s[2:3], v0, s2, v[2:3]", "/src/app.cpp:80", 1, "VALU", "OTHER_WAIT"),
           ("s_endpgm", "", 1, "OTHER", "OTHER_WAIT"),
           ("", "Unrecognized code object id, physical virtual address of PC:4711", 0, "NO_INST", "NO_INSTRUCTION_AVAILABLE"))


def counter_value(counter, rank, dispatch):
    """Of a counter's name, the rank and the dispatch id; other ones for any of them changed."""
    return float(sum(map(ord, counter)) * 1000 + rank * 100 + dispatch)


def sample(number):
    return SAMPLES[number % len(SAMPLES)]


def truth(processes, dispatches):
    """Dispatches of all ranks."""
    return sum(dispatches + rank for rank in range(processes))


def make_process(rank, pid, dispatches, counters):
    """The same kernels in each pass: they depend on the rank only."""
    process = generate_run.make_process(random.Random(rank), pid, dispatches, 8_211_000_000_000 + 1_000_003 * rank, False, True)
    generate_run.COUNTERS = tuple(counters)
    process.dispatches = [d._replace(counters=tuple([counter_value(name, rank, d.number)] for name in counters))
                          for d in process.dispatches]
    return process


def sample_rows(process, count, stochastic):
    for number in range(count):
        instruction, comment, issued, kind, reason = sample(number)
        d = process.dispatches[number % len(process.dispatches)]
        row = [d.start + number, 65535, d.number, instruction, comment, d.correlation]
        yield row + [issued, TYPE + kind, REASON + reason, 4] if stochastic else row


def add_json_samples(document, process, count, stochastic):
    """Instructions and comments by number in `strings`, samples in the buffer records."""
    known = sorted({s[:2] for s in SAMPLES if s[0]})
    document["strings"]["pc_sample_instructions"] = [k[0] for k in known]
    document["strings"]["pc_sample_comments"] = [k[1] for k in known]
    records = []
    for number, row in enumerate(sample_rows(process, count, stochastic)):
        record = {"hw_id": {"chiplet": 0, "wave_id": 0}, "pc": {"code_object_id": 1, "code_object_offset": 4 * number},
                  "exec_mask": 18446744073709551615, "timestamp": row[0], "dispatch_id": row[2],
                  "corr_id": {"internal": row[5], "external": 0}, "wrkgrp_id": {"x": 9, "y": 0, "z": 0}, "wave_in_grp": 0}
        if stochastic:
            record = {"flags": {"has_mem_cnt": 0}, **record, "wave_issued": row[6], "inst_type": row[7], "wave_cnt": row[9],
                      "snapshot": {"stall_reason": row[8], "dual_issue_valu": 0}}
        records.append({"record": record, "inst_index": known.index(tuple(row[3:5])) if row[3] else -1})
    document["buffer_records"]["pc_sample_stochastic" if stochastic else "pc_sample_host_trap"] = records


def write_results(options, rank):
    """All files of this process."""
    env = os.environ
    counters = env.get("ROCPROF_COUNTERS", "pmc:").split()[1:] if env.get("ROCPROF_COUNTER_COLLECTION") else []
    known = env.get("HIP_PROGRAM_COUNTERS")  # those of the GPU, if not all
    counters = [c for c in counters if known is None or c in known.split()]
    process = make_process(rank, os.getpid(), options.dispatches + rank, counters)
    prefix = env.get("ROCPROF_OUTPUT_FILE_NAME") or "%hostname%/%pid%"
    prefix = os.path.join(env["ROCPROF_OUTPUT_PATH"], prefix)
    for key, value in (("%hostname%", socket.gethostname()), ("%pid%", str(os.getpid())), ("%rank%", env.get("SLURM_PROCID", "0"))):
        prefix = prefix.replace(key, value)
    samples = options.samples if env.get("ROCPROFILER_PC_SAMPLING_BETA_ENABLED") else 0
    method = env.get("ROCPROF_PC_SAMPLING_METHOD", "host_trap")
    for form in env["ROCPROF_OUTPUT_FORMAT"].lower().split(","):
        if form == "csv":
            generate_run.write_csv(process, prefix)
            if samples:
                generate_run.write_rows(f"{prefix}_pc_sampling_{method}.csv",
                                        STOCHASTIC_COLUMNS if method == "stochastic" else SAMPLE_COLUMNS,
                                        sample_rows(process, samples, method == "stochastic"))
        elif form == "json":
            document = generate_run.process_json(process)
            if samples:
                add_json_samples(document, process, samples, method == "stochastic")
            generate_run.write_document([document], prefix + "_results.json")
        elif form == "rocpd":
            generate_run.write_rocpd([process], prefix + "_results.db")
        elif form == "pftrace":
            generate_run.write_pftrace(process, prefix + "_results.pftrace")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--dispatches", type=int, default=20)
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--exit", type=int, default=0)
    options = parser.parse_args()
    if options.processes > 1:
        ranks = [subprocess.Popen([sys.executable, __file__, "--dispatches", str(options.dispatches), "--samples",
                                   str(options.samples)], env={**os.environ, "RANK": str(rank)})
                 for rank in range(options.processes)]
        failed = [rank.wait() for rank in ranks]
        return max(failed) or options.exit
    if "ROCPROF_OUTPUT_PATH" in os.environ:
        write_results(options, int(os.environ.get("RANK", "0")))
    return options.exit


if __name__ == "__main__":
    sys.exit(main())
