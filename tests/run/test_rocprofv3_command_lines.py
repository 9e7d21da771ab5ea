#!/usr/bin/env python3
"""The stand-in for rocprofv3 compared with the real launcher script on a table of command lines: exit status, the variables that
the program gets in each pass, and which error it is. Where the real one is not at hand (launchers.py), the table is compared with
what the real one answered when it was written down.

    python3 -m tests.run.test_rocprofv3_command_lines --bin build/gputally [TEXT]
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

from tests.common import harness
from tests.run.launchers import STAND_INS, real_launcher, which
from tests.run.test_profiling_runs import equal

SHOW = """import json, os, sys
print(json.dumps([sys.argv[1:], {k: v for k, v in os.environ.items() if k.startswith(("ROCPROF_", "ROCPROFILER_PC"))}]))"""
COMPARED = re.compile(r"ROCPROF_(OUTPUT_PATH|OUTPUT_FORMAT|OUTPUT_FILE_NAME|COUNTERS|COUNTER_COLLECTION|STATS|PC_SAMPLING_\w+|"
                      r"(HIP|HSA|MARKER|RCCL|ROCDECODE|ROCJPEG|KERNEL|MEMORY|SCRATCH)\w*_TRACE)$|ROCPROFILER_PC_SAMPLING_BETA_ENABLED$")

FILES = {"two.txt": "# a comment\npmc: SQ_WAVES SQ_INSTS_VALU # more\n\npmc: TCC_HIT_sum\n", "one.txt": "pmc: SQ_WAVES\n",
         "jobs.json": '{"jobs": [{"pmc": ["SQ_WAVES"]}, {"pmc": ["SQ_INSTS_VALU", "TCC_HIT_sum"]}]}', "x.ini": "pmc: A\n",
         "job.yaml": 'jobs:\n  - kernel_include_regex: "(gemm|Cijk_.*)"\n    kernel_trace: true\n    stats: true\n    output_format: [json, csv]\n'
                     "    pmc:\n      - SQ_WAVES\n      - SQ_INSTS_MFMA\n",
         "plain.yaml": "jobs:\n  - kernel_trace: true\n    output_format: [csv]\n"}

# options, passes that run (0: none), exit status, a part of the error message
TABLE = [
    ("--hip-trace --kernel-trace --output-format json -d {d}", 1, 0, ""),
    ("--hip-trace --kernel-trace -i two.txt --output-format pftrace -d {d}", 2, 0, ""),
    ("--hip-trace --hsa-trace --kernel-trace --memory-copy-trace --rccl-trace --scratch-memory-trace --output-format pftrace -d {d}", 1, 0, ""),
    ("--hip-trace --hsa-trace --kernel-trace --memory-copy-trace --memory-allocation-trace --rccl-trace --scratch-memory-trace "
     "--marker-trace --runtime-trace -i two.txt --output-format pftrace --stats -d {d}", 2, 0, ""),
    ("--runtime-trace --stats --kernel-trace --output-format csv -d {d} -o rocprofv3_output_%pid%", 1, 0, ""),
    ("--hip-trace --hsa-trace --marker-trace --runtime-trace --stats --output-format json -d {d}", 1, 0, ""),
    ("--hip-trace --kernel-trace --pc-sampling-beta-enabled --pc-sampling-unit time --pc-sampling-method host_trap "
     "--pc-sampling-interval 1000 --output-format pftrace csv -d {d}", 1, 0, ""),
    ("--runtime-trace", 1, 0, ""),
    ("--sys-trace -d {d}", 1, 0, ""),
    ("--sys-trace --hsa-trace=false -d {d}", 1, 0, ""),
    ("--sys-trace --hip-trace no -d {d}", 1, 0, ""),
    ("-s -d={d}", 1, 0, ""),
    ("-s -d{d} -fjson", 1, 0, ""),
    ("-r=true --hip-trace=off -d {d}", 1, 0, ""),
    ("-r --output-directory={d} --output-format=csv", 1, 0, ""),
    ("--kernel-trace --output-format csv json rocpd pftrace -d {d} -o mine", 1, 0, ""),
    ("--kernel-trace -f CSV -d {d}", 1, 0, ""),
    ("--pmc SQ_WAVES SQ_INSTS_VALU -d {d}", 1, 0, ""),
    ("-i one.txt -d {d}", 1, 0, ""),
    ("-i jobs.json -d {d}", 2, 0, ""),
    ("-i job.yaml -d {d}", 1, 0, ""),
    ("-i plain.yaml -d {d}", 1, 0, ""),
    ("-i none.txt -d {d}", 0, 1, "No such file or directory: 'none.txt'"),
    ("-i x.ini -d {d}", 0, 1, "does not have a recognized extension"),
    ("--kernel-trace --output-format xml -d {d}", 0, 2, "invalid choice: 'xml'"),
    ("--kernel-trace --perfetto-trace-filename x -d {d}", 0, 2, "unrecognized arguments: --perfetto-trace-filename"),
    ("--counter-collection -d {d}", 0, 2, "unrecognized arguments: --counter-collection"),
    ("--hip-trace=maybe -d {d}", 0, 1, "invalid truth value maybe"),
    ("-d", 0, 2, "expected one argument"),
]


def answer(program, options, folder):
    """Exit status, the arguments and variables per pass, and the errors."""
    env = {"PATH": os.environ["PATH"], "HOME": folder}
    done = subprocess.run([sys.executable, program, *options, "--", sys.executable, "-c", SHOW, "a b", "--", "-c"], cwd=folder,
                          env=env, capture_output=True, text=True)
    passes = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[[")]
    return done.returncode, [(argv, {k: v for k, v in seen.items() if COMPARED.match(k)}) for argv, seen in passes], done.stderr


def check_line(number):
    line, passes, status, error = TABLE[number]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        options = line.format(d=os.path.join(folder, "out")).split()
        ours = answer(os.path.join(STAND_INS, "rocprofv3"), options, folder)
        equal((line, len(ours[1]), ours[0], error in ours[2]), (line, passes, status, True))
        if real_launcher():
            real = answer(real_launcher(), options, folder)
            equal((line, len(real[1]), real[0], error in real[2]), (line, passes, status, True))
            equal((line, ours[1]), (line, real[1]))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("only", nargs="?", default="")
    options = arguments.parse_args()
    harness.require_binary(options.bin)
    print("with", which())
    return harness.run_functions([(line[0], lambda number=number: check_line(number)) for number, line in enumerate(TABLE)
                                  if options.only in line[0]])


if __name__ == "__main__":
    sys.exit(main())
