#!/usr/bin/env python3
"""`gputally run --profiler` with stand-ins for NVIDIA's nsys and ncu (stand_ins/), which accept documented options only. Expected
values are those of the stand-ins, computed by hand.

    python3 -m tests.run.test_nvidia --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import json
import os
import socket
import sys

import openpyxl

from tests.run.gpus import nvml
from tests.run.test_machine import NVIDIA, made_sysfs, write
from tests.run.test_profiling_runs import Place, equal, holds, run_tests

TESTS = []
HOST = socket.gethostname()


def test(function):
    TESTS.append(function)
    return function


def calls(p, program):
    return [call["argv"] for call in p.calls() if call.get("program") == program]


def captures(p, program):
    """The calls that ran the command."""
    words = "profile" if program == "nsys" else "--export"
    return [argv for argv in calls(p, program) if words in argv and "--help" not in argv]


def folder_of(p, name):
    return p.file(name, os.readlink(p.file(name, "latest")))


def sheet(path, name):
    rows = list(openpyxl.load_workbook(path, read_only=True)[name].iter_rows(values_only=True))
    return [dict(zip(rows[0], row)) for row in rows[1:]]


@test
def a_run_under_nsys(binary):
    with Place(binary, "nsys") as p:
        done = p.run("--profiler", "nsys", "--name", "x", "--", "sh", "-c", "echo $$ > pid")
        equal(done.returncode, 0)
        folder, pid = folder_of(p, "nsys_output"), p.read("pid").strip()
        equal(captures(p, "nsys"), [["profile", "--trace=cuda,nvtx,osrt,cublas,cudnn", "--cuda-graph-trace=node", "--sample=none",
                                     "--cpuctxsw=none", f"--output={folder}/%h_%p", "--force-overwrite=true", "sh", "-c",
                                     "echo $$ > pid"]])
        stem = f"{folder}/{HOST}_{pid}"
        equal(calls(p, "nsys")[-1], ["export", "--type=sqlite", f"--output={stem}.sqlite", "--force-overwrite=true", stem + ".nsys-rep"])
        record = p.record()
        kinds = {os.path.basename(f["path"]): f["kind"] for f in record["files"]}
        equal((kinds[f"{HOST}_{pid}.nsys-rep"], kinds[f"{HOST}_{pid}.sqlite"]), ("nsys report", "nsys export"))
        equal((record["profiler"]["kind"], record["machine"]["profiler"]), ("nsys", {"name": "nsys", "version": "2025.1.3.140"}))
        rows = sheet(p.file("x_perf_report.xlsx"), "kernel_summary")
        equal([list(r.values())[:3] for r in rows], [["void gemm<float>(float*)", 2, 20], ["void copy(int*)", 1, 5]])  # name, count, mean in µs
        assert os.path.exists(p.file("x_perf_report.html"))


@test
def options_that_this_nsys_does_not_have(binary):
    with Place(binary, "nsys") as p:
        done = p.run("--profiler", "nsys", "--report", "none", "--", "true", STANDIN_NSYS_DROP="--cuda-graph-trace --cpuctxsw cudnn osrt")
        equal(done.returncode, 0)
        equal(captures(p, "nsys")[0][1:3], ["--trace=cuda,nvtx,cublas", "--sample=none"])
        for text in ("this nsys has no --cuda-graph-trace; option dropped", "this nsys has no --cpuctxsw", "cannot trace cudnn", "cannot trace osrt"):
            holds(done.stderr, text)


@test
def options_of_the_user_replace_those_of_the_tool(binary):
    with Place(binary, "nsys", "ncu") as p:
        done = p.run("--profiler", "nsys", "--report", "none", "--profiler_args", "-t cuda --sample process-tree --duration=5", "--", "true")
        equal(done.returncode, 0)
        argv = captures(p, "nsys")[0]
        equal(argv[1:-3], ["--cuda-graph-trace=node", "--cpuctxsw=none", "-t", "cuda", "--sample", "process-tree", "--duration=5"])
        done = p.run("--profiler", "ncu", "--report", "none", "--profiler_args", "--metrics sm__cycles_elapsed.max -k 'regex:a|b' -c 2", "--", "true")
        equal(done.returncode, 0)
        equal(captures(p, "ncu")[0][:8], ["--target-processes", "all", "--metrics", "sm__cycles_elapsed.max", "-k", "regex:a|b", "-c", "2"])


@test
def an_option_that_no_nsys_has(binary):
    """It reaches nsys, whose message is shown."""
    with Place(binary, "nsys") as p:
        done = p.run("--profiler", "nsys", "--profiler_args=--nonsense=1", "--", "touch", "started")
        equal((done.returncode, os.path.exists(p.file("started"))), (3, False))
        holds(done.stderr, "unrecognised option '--nonsense=1'")


@test
def the_report_stays_in_its_folder(binary):
    with Place(binary, "nsys", "ncu") as p:
        done = p.run("--profiler", "nsys", "--report", "none", "--profiler_args", "-o /elsewhere/mine -f false", "--", "true")
        equal(done.returncode, 0)
        folder = folder_of(p, "nsys_output")
        equal(sorted(os.listdir(folder)), ["mine.nsys-rep", "mine.sqlite"])
        holds(done.stderr, f"--output of nsys: written to {folder}/mine")
        equal(p.run("--profiler", "ncu", "--report", "none", "--profiler_args", "-f --export=a.ncu-rep", "--", "true").returncode, 0)
        equal(sorted(os.listdir(folder_of(p, "ncu_output"))), ["a.csv", "a.ncu-rep"])


@test
def one_capture_per_process(binary):
    """mpirun starts nsys in each process; every capture has files and a report of its own."""
    with Place(binary, "nsys") as p:
        write(os.path.join(p.bin, "mpirun"), '#!/bin/bash\nwhile [ "${1:0:1}" = - ]; do [ "$1" = -np ] || [ "$1" = -n ] && shift; shift; done\n"$@" & "$@" & wait\n')
        os.chmod(os.path.join(p.bin, "mpirun"), 0o755)
        text = json.dumps({"distributed": {"launcher": "mpirun", "nproc_per_node": 2}})
        for args in ([], ["--profiler_args", "-o same"]):
            done = p.run("-c", text, "--profiler", "nsys", "--name", "x", *args, "--", "true")
            equal((args, done.returncode), (args, 0))
            names = os.listdir(folder_of(p, "nsys_output"))
            equal((len(names), len([n for n in names if n.endswith(".sqlite")])), (4, 2))
            equal(len([n for n in p.tree() if n.startswith("x_") and n.endswith("_perf_report.xlsx")]), 2 if not args else 4)


@test
def a_second_run_keeps_the_files_of_the_first(binary):
    with Place(binary, "ncu") as p:
        for _ in range(3):
            equal(p.run("--profiler", "ncu", "--", "true").returncode, 0)
        folders = [n for n in os.listdir(p.file("ncu_output")) if n != "latest"]
        equal([len(os.listdir(p.file("ncu_output", n))) for n in folders], [2, 2, 2])
        record = p.record()
        equal(len([f for f in record["files"] if f["path"].endswith(".ncu-rep")]), 1)
        equal(len(sheet(p.file("true_perf_report.xlsx"), "ncu_launches")), 3)


@test
def folders_with_blanks_and_percent_signs(binary):
    with Place(binary, "nsys", "ncu") as p:
        for name in ("my out", "50%p %h"):
            for profiler in ("nsys", "ncu"):
                done = p.run("--profiler", profiler, "--report", "none", "-o", name, "--", "true")
                equal((name, done.returncode), (name, 0))
                ending = {"nsys": ".sqlite", "ncu": ".csv"}[profiler]
                folder = p.file(name, profiler + "_output", "latest")
                equal(len([n for n in os.listdir(folder) if n.endswith(ending)]), 1)


@test
def a_run_under_ncu(binary):
    with Place(binary, "ncu") as p:
        done = p.run("--profiler", "ncu", "--name", "x", "--", "echo", "performance: 5 widgets")
        equal(done.returncode, 0)
        equal(captures(p, "ncu")[0][:10], ["--target-processes", "all", "--section", "LaunchStats", "--section", "Occupancy", "--section",
                                           "SpeedOfLight", "--section", "MemoryWorkloadAnalysis"])
        exported = next(call for call in p.calls() if "--import" in call["argv"])
        equal((exported["argv"][2:], exported["locale"]), (["--csv", "--page", "raw", "--print-units", "base"], "C"))
        rows = sheet(p.file("x_perf_report.xlsx"), "ncu_kernels")
        # gemm: 2 us at 80 % and 6 us at 40 %; 1 and 3 GB/s; occupancy of one launch only
        equal(rows, [{"kernel": "gemm", "grid": "(64, 1, 1)", "block": "(128, 1, 1)", "launches": 2, "total_us": 8, "mean_us": 4,
                      "min_us": 2, "max_us": 6, "percent": 100 * 8 / 9, "sm_pct": 50, "memory_pct": 25, "dram_pct": None,
                      "achieved_occupancy_pct": 25, "theoretical_occupancy_pct": None, "waves_per_sm": None, "dram_bytes": 20000,
                      "dram_gb_per_s": 2.5, "registers_per_thread": 96, "shared_memory_bytes": 33792},
                     {"kernel": "copy", "grid": "(8, 1, 1)", "block": "(256, 1, 1)", "launches": 1, "total_us": 1, "mean_us": 1,
                      "min_us": 1, "max_us": 1, "percent": 100 / 9, "sm_pct": 5, "memory_pct": 90, "dram_pct": None,
                      "achieved_occupancy_pct": 75.5, "theoretical_occupancy_pct": None, "waves_per_sm": None, "dram_bytes": 2000,
                      "dram_gb_per_s": 2, "registers_per_thread": 16, "shared_memory_bytes": 0}])
        equal(len(sheet(p.file("x_perf_report.xlsx"), "ncu_details")), 18)  # 9 metrics of 2 kernels
        record = p.record()
        equal((record["performance"], record["machine"]["profiler"]), (5, {"name": "ncu", "version": "2025.3.1.0"}))


@test
def ncu_without_a_filter_is_slow(binary):
    with Place(binary, "ncu") as p:
        note = "ncu runs every kernel several times; choose some with --profiler_args"
        holds(p.run("--profiler", "ncu", "--", "true").stderr, note)
        for words in ("-c 3", "--kernel-name=gemm", "-k gemm"):
            assert note not in p.run("--profiler", "ncu", "--profiler_args=" + words, "--", "true").stderr, words


@test
def counters_need_permission(binary):
    with Place(binary, "ncu") as p:
        done = p.run("--profiler", "ncu", "--", "true", STANDIN_NCU_FAIL="permission")
        equal(done.returncode, 3)
        reason = "the driver lets only administrators read GPU performance counters (ERR_NVGPUCTRPERM)"
        holds(done.stderr, "gputally: " + reason)
        holds(done.stderr, "NVreg_RestrictProfilingToAdminUsers=0")
        holds(done.stderr, "ncu wrote no report")
        holds(p.record()["reason"], reason)
        # the same words in the output of a run without a profiler mean nothing
        equal(p.run("--", "echo", "ERR_NVGPUCTRPERM").returncode, 0)


@test
def missing_profilers(binary):
    with Place(binary) as p:
        for profiler, words in (("nsys", "nsys not found in PATH, $CUDA_HOME/bin, /usr/local/cuda/bin, /opt/nvidia/nsight-systems/*/bin"),
                                ("ncu", "ncu not found in PATH, $CUDA_HOME/bin, /usr/local/cuda/bin, /opt/nvidia/nsight-compute/*")):
            done = p.run("--profiler", profiler, "--", "touch", "started")
            if done.returncode == 0:
                continue  # it is installed on this machine, outside PATH
            equal((done.returncode, os.path.exists(p.file("started"))), (3, False))
            equal(len(done.stderr.splitlines()), 1)
            holds(done.stderr, words)


@test
def profilers_outside_path(binary):
    with Place(binary) as p:
        cuda = os.path.join(p.path, "cuda")
        os.makedirs(os.path.join(cuda, "bin"))
        os.symlink(os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_ins", "ncu"), os.path.join(cuda, "bin", "ncu"))
        equal(p.run("--profiler", "ncu", "--", "true", CUDA_HOME=cuda).returncode, 0)
        equal(p.record()["profiler"]["path"], os.path.join(cuda, "bin", "ncu"))


@test
def exports_that_fail(binary):
    with Place(binary, "nsys") as p:
        done = p.run("--profiler", "nsys", "--", "true", STANDIN_NSYS_FAIL="export")
        equal(done.returncode, 0)
        holds(done.stderr, ".nsys-rep: not exported, exit status 1: ERROR: this report was made by a newer nsys")
        done = p.run("--profiler", "nsys", "--", "true", STANDIN_NSYS_FAIL="report")
        equal(done.returncode, 3)
        holds(done.stderr, ".qdstrm: nsys wrote its raw data, but no report")


@test
def a_command_that_fails(binary):
    with Place(binary, "nsys") as p:
        done = p.run("--profiler", "nsys", "--report", "none", "--", "sh", "-c", "exit 7")
        equal((done.returncode, p.record()["exit_code"]), (3, 7))
        equal(len([n for n in os.listdir(folder_of(p, "nsys_output")) if n.endswith(".sqlite")]), 1)


@test
def the_option_chooses_the_profiler(binary):
    with Place(binary, "nsys", "rocprofv3") as p:
        def tools(*words):
            plan = p.plan(*words)
            return plan["profiler"]["kind"], [t["name"] for t in plan["context"]["tools"]]

        equal(tools("-f", "rocprofv3_compute_bound"), ("rocprofv3", ["rocprofv3_compute", "gpu_info_power_profiler"]))
        equal(tools("-f", "rocprofv3_compute_bound", "--profiler", "auto")[0], "rocprofv3")
        equal(tools("-f", "rocprofv3_compute_bound", "--profiler", "nsys"), ("nsys", ["gpu_info_power_profiler", "nsys"]))
        equal(tools("-f", "rocprofv3_compute_bound", "--profiler", "none"), ("none", ["gpu_info_power_profiler"]))
        equal(tools("--profiler", "rocprofv3", "--tools", "ncu"), ("rocprofv3", ["rocprofv3"]))
        equal(tools("--tools", "nsys"), ("nsys", ["nsys"]))
        own = p.plan("-c", '{"tools": [{"name": "nsys", "cmd": "nsys profile -t mpi --"}]}')
        equal(own["profiler"]["options"][:3], ["profile", "-t", "mpi"])
        holds(p.plan("--profiler", "rocprofv3", "--profiler_args", "--stats -d mine")["argv_shell"],
              f"rocprofv3 --runtime-trace --stats -d {p.file('mine')}")


@test
def options_for_rocprofv3_are_passed_on(binary):
    """Also those that its help does not list, unlike options of presets."""
    with Place(binary, "rocprofv3") as p:
        done = p.run("--tools", "rocprofv3_lightweight", "--profiler_args=--nonsense", "--", "true")
        equal(done.returncode, 3)
        holds(done.stderr, "unrecognized arguments: --nonsense")


@test
def usage_errors(binary):
    with Place(binary, "nsys", "ncu") as p:
        for words, status, text in ((["--profiler", "nvprof"], 2, "argument --profiler: invalid choice: 'nvprof'"),
                                    (["--profiler_args=-x"], 4, "--profiler_args: this run has no profiler"),
                                    (["--tools", "rocm_trace_lite", "--profiler_args=-x"], 4, "--profiler_args: unsupported for tool rocm_trace_lite"),
                                    (["--profiler", "nsys", "--profiler_args", "a | b"], 4, "--profiler_args: quote words"),
                                    (["--tools", "nsys,ncu"], 4, "ncu and nsys cannot run together"),
                                    (["--tools", "rocprofv3,nsys"], 4, "nsys and rocprofv3 cannot run together")):
            done = p.run(*words, "--", "true")
            equal((words, done.returncode), (words, status))
            holds(done.stderr, text)


@test
def profilers_of_rocm_on_a_machine_with_nvidia_gpus(binary):
    with Place(binary) as p:
        hint = "this machine has NVIDIA GPUs; use --profiler nsys (timeline) or --profiler ncu (counters)"
        sysfs = made_sysfs(p, (128, "0000:19:00.0", NVIDIA))
        done = p.run("-f", "rocprofv3_lightweight", "--", "true", GPUTALLY_SYSFS=sysfs, ROCM_PATH=p.path)
        equal(done.returncode, 3)
        holds(done.stderr, hint)
        empty = os.path.join(p.path, "empty")
        os.mkdir(empty)
        done = p.run("-f", "rocprofv3_lightweight", "--", "true", GPUTALLY_SYSFS=empty, ROCM_PATH=p.path, LD_LIBRARY_PATH=nvml())
        holds(done.stderr, hint)
        done = p.run("-f", "rocprofv3_lightweight", "--", "true", GPUTALLY_SYSFS=empty, ROCM_PATH=p.path, LD_LIBRARY_PATH=nvml(),
                     STANDIN_NVML_FAIL="init")
        holds(done.stderr, "Please ensure ROCm profiler tools are installed")


@test
def bounded_captures(binary):
    with Place(binary, "nsys", "ncu") as p:
        equal(p.run("--profiler", "nsys", "--capture_time", "2:5", "--report", "none", "--", "true").returncode, 0)
        argv = captures(p, "nsys")[0]
        equal([w for w in argv if w.split("=")[0] in ("--delay", "--duration", "--kill")], ["--delay=2", "--duration=5", "--kill=none"])
        done = p.run("--profiler", "nsys", "--capture_time", "2:5", "--", "touch", "started", STANDIN_NSYS_DROP="--delay")
        equal((done.returncode, os.path.exists(p.file("started"))), (3, False))
        holds(done.stderr, "cannot record a part of a run: it has no option --delay")
        done = p.run("--profiler", "ncu", "--capture_region", "--report", "none", "--", "true")
        equal(done.returncode, 0)
        holds(" ".join(captures(p, "ncu")[0]), "--profile-from-start off")
        assert "several times" not in done.stderr, done.stderr


@test
def repeats_with_and_without_the_profiler(binary):
    with Place(binary, "nsys") as p:
        done = p.run("--profiler", "nsys", "--warmup", "1", "--repeat", "2", "--report", "none", "--", "sh", "-c", "echo x >> " + p.file("starts"))
        equal(done.returncode, 0)
        equal((len(p.read("starts").split()), len(captures(p, "nsys"))), (5, 2))  # warm-up and baselines run without nsys
        equal(p.record()["repeats"]["has_baseline"], True)


@test
def a_container_has_its_own_profiler(binary):
    with Place(binary) as p:
        plan = p.plan("--docker=image", "--profiler", "nsys", GPUTALLY_SYSFS=made_sysfs(p, (128, "0000:19:00.0", NVIDIA)))
        holds(plan["argv_shell"], "nsys profile --trace=")
        equal(plan["profiler"]["path"], "nsys")


@test
def jobs_pass_the_options_on(binary):
    with Place(binary) as p:
        done = p.run("--profiler", "nsys", "--profiler_args", "-d 5", "-c", '{"slurm": {"nodes": 1}}', "--generate-only", "--", "true")
        equal(done.returncode, 0)
        script = open(os.path.join(p.work, done.stdout.strip())).read()
        holds(script, "'--profiler_args=-d 5'")


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
