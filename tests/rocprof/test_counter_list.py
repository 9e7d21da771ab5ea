#!/usr/bin/env python3
"""Counters of which every kernel has its own: the sheet has one row per kernel and counter, and memory is in proportion to the file.

    python3 -m tests.rocprof.test_counter_list --bin build/gputally
"""
import os
import sys

from tests.common import harness, scaling

MEMORY_MAX = 200 << 20  # 9,000 kernels and counters took 1.66 GB
HEAD = ('"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name",'
        '"Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name",'
        '"Counter_Value","Start_Timestamp","End_Timestamp"\n')


def write(folder, kernels, counters):
    path = os.path.join(folder, "1_counter_collection.csv")
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEAD)
        file.writelines(f'{i},{i},"Agent 1",1,9,9,64,{i},"k{i:05d}",64,0,0,8,0,8,"C{i % counters:05d}",{i}.5,{1000 * i},{1000 * i + 100}\n'
                        for i in range(1, kernels + 1))
    return path


def counters(binary, folder, kernels, different):
    out = os.path.join(folder, "out")
    used = scaling.measure([binary, "report", write(folder, kernels, different), "--output_csvs_dir", out, "--quiet"], 60)
    header, rows = harness.read_csv(os.path.join(out, "counters_by_kernel.csv"))
    return used, header, rows


def listed(binary, folder):
    used, header, rows = counters(binary, folder, 9000, 9000)
    problems = [] if used.code == 0 and "one row per kernel and counter" in used.stderr else [f"exit code {used.code}: {used.stderr[:300]}"]
    if header != ["name", "Count", "counter", "value"] or rows != [[f"k{i:05d}", "1", f"C{i % 9000:05d}", f"{i}.5"] for i in range(1, 9001)]:
        problems.append(f"{header} {rows[:3]}")
    if used.bytes > MEMORY_MAX and not harness.IS_SANITIZED:
        problems.append(f"{used.bytes >> 20} MiB")
    return problems


def in_columns(binary, folder):
    """Few counters of many kernels."""
    _, header, rows = counters(binary, folder, 9000, 7)
    return [] if len(header) == 2 + 7 and len(rows) == 9000 and rows[0][2 + 1] == "1.5" else [f"{header} {rows[:2]}"]


CASES = [harness.Case("each kernel has a counter of its own", listed), harness.Case("few counters", in_columns)]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, CASES))
