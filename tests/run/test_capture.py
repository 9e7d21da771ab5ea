#!/usr/bin/env python3
"""Bounded captures: the options that the profiler gets, processes that are attached to, and the check of the disk. The profiler is a
stand-in whose options are those of rocprofv3 1.0, with those of later versions where a test says so.

    python3 -m tests.run.test_capture --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import os
import re
import shutil
import subprocess
import sys
import time

from tests.run.test_energy import small_disk
from tests.run.test_profiling_runs import Place, equal, holds, run_tests

TESTS = []
TRACE = ["--tools", "rocprofv3_lightweight"]


def test(function):
    TESTS.append(function)
    return function


def has_words(argv, *words):
    text, part = "\0".join(argv), "\0".join(words)
    assert part in text, (argv, words)


@test
def windows_become_options(binary):
    for words, expected, capture in (
            (["--capture_time", "60:10"], ["--collection-period", "60:10:1", "--collection-period-unit", "sec", "--"], {"start_s": 60, "seconds": 10}),
            (["--capture-time=0.5:2.25"], ["--collection-period", "0.5:2.25:1", "--collection-period-unit", "sec"], {"start_s": 0.5, "seconds": 2.25}),
            (["--capture_region"], ["--selected-regions", "--"], {"by_region": True})):
        with Place(binary, "rocprofv3") as p:
            done = p.run(*TRACE, *words, "--report", "none", "--", "true")
            equal((words, done.returncode), (words, 0))
            has_words(p.calls()[0]["argv"], *expected)
            equal({key: p.record()["capture"][key] for key in capture}, capture)
    with Place(binary, "rocprofv3") as p:
        equal(p.run(*TRACE, "--report", "none", "--", "true").returncode, 0)
        equal(p.record()["capture"], None)


@test
def windows_of_nvidia_profilers(binary):
    with Place(binary, "nsys", "ncu") as p:
        for profiler, words, expected in (("nsys", ["--capture_time", "5:2.5"], "--delay=5 --duration=3 --kill=none"),
                                          ("nsys", ["--capture_region"], "--capture-range=cudaProfilerApi --capture-range-end=stop"),
                                          ("ncu", ["--capture_region"], "--profile-from-start off")):
            holds(p.plan("--profiler", profiler, *words)["argv_shell"], f" {expected} true")
        for profiler, words, text in (("nsys", ["--capture_steps", "1-2"], "nsys cannot count steps"),
                                      ("ncu", ["--capture_time", "1:2"], "ncu cannot be bounded by time or steps"),
                                      ("nsys", ["--attach", "1", "--capture_time", "0:1"], "nsys cannot attach to a process")):
            command = [] if "--attach" in words else ["--", "true"]
            done = p.run("--profiler", profiler, *words, *command)
            equal((words, done.returncode), (words, 4))
            holds(done.stderr, text)


@test
def steps_bound_counters_only(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("--tools", "rocprofv3_agent_counter", "--capture_steps", "10-20", "--report", "none", "--", "true")
        equal(done.returncode, 0)
        has_words(p.calls()[0]["argv"], "--kernel-iteration-range", "[10-20]", "--")
        holds(done.stderr, "the trace has all")
        done = p.run("--tools", "rocprofv3_agent_counter", "--capture_steps", "7", "--report", "none", "--dry-run", "--", "true")
        holds(done.stdout, "[7-7]")
        done = p.run(*TRACE, "--capture_steps", "10-20", "--", "true")
        equal(done.returncode, 4)
        holds(done.stderr, "use --capture_time, or --capture_region")


@test
def invalid_windows(binary):
    with Place(binary, "rocprofv3", "rocprof") as p:
        for words in (["--capture_steps", "20-10"], ["--capture_steps", "0-5"], ["--capture_steps", "x"], ["--capture_steps", "1-"],
                      ["--capture_steps", "1--2"], ["--capture_steps", "1-99999999999999999999"], ["--capture_time", "10"],
                      ["--capture_time=-1:5"], ["--capture_time", "1:0"], ["--capture_time", "nan:1"], ["--capture_time", "1:inf"],
                      ["--capture_time", "1:2x"], ["--capture_region", "--capture_time", "1:2"], ["--min_free", "much"],
                      ["--attach", "x", "--capture_time", "0:1"]):
            done = p.run(*TRACE, *words, "--", "true")
            equal((words, done.returncode, p.calls()), (words, 4, []))
        done = p.run("--capture_time", "1:2", "--", "true")  # nothing records
        equal(done.returncode, 4)
        holds(done.stderr, "a bounded capture needs a profiler")
        done = p.run("--tools", "rocm_trace_lite", "--capture_time", "1:2", "--", "true")
        equal(done.returncode, 4)
        holds(done.stderr, "rtl cannot record a part of a run")


@test
def a_profiler_that_cannot_is_an_error(binary):
    """The option must not be left out like others of a preset: everything would be recorded."""
    with Place(binary, "rocprofv3") as p:
        done = p.run(*TRACE, "--capture_region", "--", "true", STANDIN_DROP="--selected-regions")
        equal((done.returncode, p.calls()), (3, []))
        holds(done.stderr, "it has no option --selected-regions")
        # an option that only begins with the same name does not count
        done = p.run(*TRACE, "--capture_time", "1:2", "--", "true", STANDIN_DROP="--collection-period")
        equal((done.returncode, p.calls()), (3, []))
        holds(done.stderr, "it has no option --collection-period")


@test
def repeats_are_bounded_without_their_baselines(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run(*TRACE, "--capture_time", "0:1", "--repeat", "1", "--report", "none", "--", "true")
        equal(done.returncode, 0)
        has_words(p.calls()[0]["argv"], "--collection-period", "0:1:1")
        equal([run["kind"] for run in p.record()["repeats"]["runs"]], ["profiled", "baseline"])


@test
def a_running_process(binary):
    with Place(binary, "rocprofv3") as p:
        env = {**os.environ, "ROCP_TOOL_ATTACH": "1"}
        target = subprocess.Popen(["sleep", "600"], env=env)
        try:
            words = [*TRACE, "--attach", str(target.pid), "--capture_time", "0.2:0.5"]
            begin = time.monotonic()
            done = p.run(*words, STANDIN_ATTACH="1")
            equal(done.returncode, 0)
            assert time.monotonic() - begin >= 0.7
            argv = p.calls()[0]["argv"]
            has_words(argv, "--pid", str(target.pid), "--attach-duration-msec", "500", "--attach-sync-output")
            assert "--" not in argv, argv
            assert "ROCP_TOOL_ATTACH" not in done.stderr, done.stderr
            equal(target.poll(), None)  # it goes on
            name = f"attach_{target.pid}"
            assert os.path.exists(p.file(name + "_perf_report.xlsx")), p.tree()
            equal(p.record()["capture"]["attach"], target.pid)
            os.unlink(p.log)
            done = p.run(*words)  # version 1.0
            equal((done.returncode, p.calls()), (3, []))
            assert re.search(r"cannot attach to a process: it has no option --pid; newer versions have", done.stderr), done.stderr
            for more, text in ((["--", "true"], "no command"), (["--repeat", "2"], "repeats")):
                done = p.run(*words, *more, STANDIN_ATTACH="1")
                equal((more, done.returncode), (more, 4))
                holds(done.stderr, text)
            done = p.run(*TRACE, "--attach", str(target.pid), STANDIN_ATTACH="1")
            equal(done.returncode, 4)
            holds(done.stderr, "--capture_time START:SECONDS must say how long")
            with open(p.file("two.txt"), "w") as f:
                f.write("pmc: SQ_WAVES\npmc: SQ_INSTS_VALU\n")
            context = '{"tools": [{"name": "rocprof", "cmd": "rocprofv3 --kernel-trace -i two.txt --"}]}'
            done = p.run("-c", context, *words[2:], STANDIN_ATTACH="1")
            equal(done.returncode, 4)
            holds(done.stderr, "counters that need 2 passes cannot be collected from a running process")
        finally:
            target.kill()
            target.wait()
        done = p.run(*words, STANDIN_ATTACH="1")
        equal(done.returncode, 3)
        holds(done.stderr, f"there is no process {target.pid}")
        plain = subprocess.Popen(["sleep", "600"], env={k: v for k, v in os.environ.items() if k != "ROCP_TOOL_ATTACH"})
        try:
            done = p.run(*TRACE, "--attach", str(plain.pid), "--capture_time", "0:0.1", STANDIN_ATTACH="1")
            holds(done.stderr, "was started without ROCP_TOOL_ATTACH=1")
        finally:
            plain.kill()
            plain.wait()


@test
def the_disk_is_checked_before_the_start(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run(*TRACE, "--min_free", "1000T", "--", "true")
        equal((done.returncode, p.calls()), (3, []))
        holds(done.stderr, "--min_free asks for 1e+03 TiB")
        equal(p.run("--min_free", "1K", "--", "true").returncode, 0)
    with small_disk(20 * 1024) as disk:
        if not disk:
            print("the_disk_is_checked_before_the_start: no file system can be mounted here; the estimate is not tested")
            return
        with Place(binary, "rocprofv3") as p:
            # JSON: 20,000 records of 600 bytes, 12 MB or 11.4 MiB per second
            for words, warned in (([], True), (["--capture_time", "0:10"], True), (["--capture_time", "0:1"], False), (["--capture_region"], False)):
                done = p.run("--output_dir", disk, *TRACE, *words, "--report", "none", "--", "true")
                equal((words, done.returncode, "the trace may not fit" in done.stderr), (words, 0, warned))
                if warned:
                    holds(done.stderr, "about 687 MiB per minute are expected")
                shutil.rmtree(os.path.join(disk, "rocprof_output"))


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
