#!/usr/bin/env python3
"""`gputally run` with stand-ins for profilers, Docker and SLURM (stand_ins/): their arguments, the environment of the command, and
the files afterwards. Expected values are the check cases of the specification or computed by hand.

    python3 -m tests.run.test_profiling_runs --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import argparse
import atexit
import csv
import datetime
import functools
import glob
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

import openpyxl
import yaml

from tests.common import harness
from tests.page.pack import read_page
from tests.run.gpus import STAND_INS, rocm_smi

TINY = os.path.join(harness.FIXTURES, "rocprof", "tiny_results.json")
TESTS = []


def test(function):
    TESTS.append(function)
    return function


@functools.cache
def fixtures(binary):
    """A folder with the same small run as JSON, database and Perfetto trace."""
    folder = tempfile.mkdtemp(prefix="gputally-fixtures-")
    atexit.register(shutil.rmtree, folder, True)
    shutil.copy(TINY, os.path.join(folder, "results.json"))
    for ending in ("db", "pftrace"):
        subprocess.run([binary, "convert", TINY, os.path.join(folder, "results." + ending), "--quiet"], check=True,
                       capture_output=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    return folder


class Place:
    """A fresh folder, with the named stand-ins on PATH before the tools of the harness."""

    def __init__(self, binary, *programs):
        self.binary = binary
        self.path = tempfile.mkdtemp(prefix="gputally-run-")
        self.bin = os.path.join(self.path, "bin")
        self.work = os.path.join(self.path, "work")
        self.fixtures = fixtures(binary)
        self.log = os.path.join(self.path, "log")
        for folder in (self.bin, self.work):
            os.mkdir(folder)
        for program in programs:
            os.symlink(os.path.join(STAND_INS, program), os.path.join(self.bin, program))

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("GPUTALLY")}
        env.update(PATH=self.bin + ":" + os.environ["PATH"], STANDIN_LOG=self.log, STANDIN_FIXTURES=self.fixtures, TZ="UTC",
                   LC_ALL="C.UTF-8", ASAN_OPTIONS="detect_leaks=0", **more)
        return env

    def run(self, *words, **env):
        return subprocess.run([self.binary, "run", *words], cwd=self.work, env=self.environment(**env),
                              capture_output=True, text=True, timeout=harness.WALL_SECONDS)

    def calls(self):
        return [json.loads(line) for line in open(self.log)] if os.path.exists(self.log) else []

    def file(self, *parts):
        return os.path.join(self.work, *parts)

    def read(self, *parts):
        with open(self.file(*parts), newline="", encoding="utf-8") as f:
            return f.read()

    def rows(self, *parts):
        with open(self.file(*parts), newline="", encoding="utf-8") as f:
            return list(csv.reader(f))

    def record(self):
        return json.loads(self.read("gputally_run.json"))

    def plan(self, *words, **env):
        done = self.run(*words, "--dry-run", "--", "true", **env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def tree(self):
        return sorted(os.path.relpath(os.path.join(d, f), self.work) for d, _, fs in os.walk(self.work) for f in fs)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def equal(a, b):
    assert a == b, f"\n     got {a!r}\nexpected {b!r}"


def holds(text, part):
    assert part in text, f"\n     {part!r} is not in\n{text}"


# --- contexts, stacks and plans ---

def context_error(binary, text, *lines):
    with Place(binary) as p:
        done = p.run("-c", text, "--dry-run", "--", "true")
        equal(done.returncode, 4)
        equal(done.stdout, "")
        for line in lines:
            holds(done.stderr, line)


@test
def invalid_contexts(binary):
    context_error(binary, "[1]", "additional_context must be a JSON object at the top level, not a list or scalar.")
    context_error(binary, "{bad", "Invalid additional_context format: ")
    context_error(binary, '{"gpu_vendor":"intel"}', "Invalid gpu_vendor: intel\n", "Supported values: AMD, NVIDIA\n")
    context_error(binary, '{"guest_os":"beos"}', "Invalid guest_os: beos\n", "Supported values: UBUNTU, CENTOS\n")
    context_error(binary, '{"docker_gpus":[0]}', "Invalid additional context: key docker_gpus must be a string.")
    context_error(binary, '{"log_error_patterns":[]}', "key log_error_patterns must be a non-empty array of strings.")
    context_error(binary, '{"docker_build_arg":{"A":[1]}}', "key docker_build_arg['A'] must be a string, number, or boolean")
    context_error(binary, '{"tools":"x"}', "key tools must be an array.")
    context_error(binary, '{"tools":[{"nam":"x"}]}', "tools: each entry must be an object with a name")
    context_error(binary, '{"tools":[{"name":"x"}]}', "unknown tool 'x'")
    context_error(binary, '{"env_vars":{"A=B":"x"}}', "'A=B' is not a valid variable name")
    context_error(binary, '{"a":"\\u0000"}', "NUL")
    context_error(binary, "[" * 100 + "]" * 100, "more than 64 deep")


@test
def invalid_context_files(binary):
    with Place(binary) as p:
        for text, expected in (("[1]", "additional-context file must contain a JSON object at the top level."),
                               ("{", "Failed to load additional context file: "),
                               ("{'a': 1}", "Failed to load additional context file: ")):
            with open(p.file("c.json"), "w") as f:
                f.write(text)
            done = p.run("-f", "c.json", "--", "true")
            equal(done.returncode, 4)
            holds(done.stderr, expected)
        done = p.run("-f", "none.json", "--", "true")
        equal(done.returncode, 4)
        holds(done.stderr, "Failed to load additional context file: none.json: No such file")


@test
def inline_context_overrides_the_file(binary):
    with Place(binary) as p:
        with open(p.file("c.json"), "w") as f:
            f.write('{"env_vars":{"A":"1","B":"2"},"tools":[{"name":"therock_check"}]}')
        context = p.plan("-f", "c.json", "-c", '{"env_vars":{"A":"9"}}')["context"]
        equal(context["env_vars"], {"A": "9"})
        equal(context["tools"], [{"name": "therock_check"}])
        equal((context["gpu_vendor"], context["guest_os"]), ("AMD", "UBUNTU"))


@test
def contexts_may_be_python_literals(binary):
    with Place(binary) as p:
        context = p.plan("-c", "{'tools': [{'name': 'rocprof',}], 'debug': None, 'x': (1, 2.5, True), 'y': 'a\\'b\\x41',}")["context"]
        equal(context["tools"], [{"name": "rocprof"}])
        equal((context["debug"], context["x"], context["y"]), (None, [1, 2.5, True], "a'bA"))
        context = p.plan("-c", '{"docker_build_arg":{"A":1,"B":true}}')["context"]
        equal(context["docker_build_arg"], {"A": "1", "B": "True"})
        equal(p.plan("-c", '{"gpu_vendor":"nvidia","_note":[1]}')["context"]["gpu_vendor"], "NVIDIA")


@test
def tools_stack(binary):
    with Place(binary) as p:
        for name in ("pre.sh", "post.sh"):
            os.makedirs(p.file("u"), exist_ok=True)
            with open(p.file("u", name), "w") as f:
                f.write(f"echo user {name} $1\n")
        text = json.dumps({"tools": [{"name": "test_tools_A"}, {"name": "test_tools_B"}], "encapsulate_script": "env",
                           "pre_scripts": [{"path": " u/pre.sh "}], "post_scripts": [{"path": "u/post.sh", "args": " x "}]})
        plan = p.plan("-c", text, "--no_sys_env_details")
        equal(plan["argv_shell"], "echo cmd_B &&  echo cmd_A &&  env true")
        equal([a["args"] or a["path"] for a in plan["pre"]], ["pre_script B", "pre_script A", "u/pre.sh"])
        equal([a["path"] + " " + a["args"] for a in plan["post"]],
              ["u/post.sh x", "scripts/common/test_echo.sh post_script A", "scripts/common/test_echo.sh post_script B"])
        done = p.run("-c", text, "--", "echo", "it's", "$HOME")
        equal(done.returncode, 0)
        equal(done.stdout.splitlines(), ["pre_script B", "pre_script A", "user pre.sh", "cmd_B", "cmd_A", "it's $HOME",
                                         "user post.sh x", "post_script A", "post_script B"])


@test
def precedence_of_variables(binary):
    with Place(binary) as p:
        text = json.dumps({"env_vars": {"RCCL_DEBUG": "A", "B": 8, "C": "ctx", "D": True, "E": None},
                           "docker_env_vars": {"C": "docker"},
                           "tools": [{"name": "therock_check", "env_vars": {"RCCL_DEBUG": "tool", "F": "1"}}]})
        equal(p.plan("-c", text)["env"], {"RCCL_DEBUG": "tool", "B": "8", "C": "docker", "D": "True", "F": "1"})
        done = p.run("-c", text, "--", "sh", "-c", "echo $RCCL_DEBUG $B $C $D [$E] $F", B="process", E="process")
        equal(done.stdout, "tool 8 docker True [process] 1\n")


@test
def plan_of_a_lightweight_run(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("-f", "rocprofv3_lightweight.json", "--dry-run", "--", "python3", "t.py", "--n", "2")
        equal(done.returncode, 0)
        plan = json.loads(done.stdout)
        folder = p.file("rocprof_output")
        options = plan["profiler"]["options"]
        equal(plan["profiler"]["kind"], "rocprofv3")
        equal(options[:-1], ["--hip-trace", "--kernel-trace", "--output-format", "json", "-d"])
        assert re.fullmatch(re.escape(os.path.realpath(folder)) + r"/\d{4}-\d\d-\d\d_\d\d\.\d\d\.\d\d", options[-1]), options
        equal((plan["profiler"]["passes"], plan["samplers"], plan["profiler"]["formats"]), (1, [], ["json"]))
        assert plan["argv_shell"].endswith(" -- python3 t.py --n 2"), plan["argv_shell"]
        equal((p.calls(), p.tree()), ([], []))
        for key in "context target name workdir env pre argv_shell post samplers profiler docker slurm outputs notes".split():
            assert key in plan, key


@test
def counter_lists_and_passes(binary):
    with Place(binary, "rocprofv3") as p:
        for tool, passes in (("compute", 12), ("memory", 14), ("full", 15), ("agent_counter", 5)):
            profiler = p.plan("--tools", "rocprofv3_" + tool)["profiler"]
            equal(profiler["passes"], passes)
        notes = " ".join(p.plan("--tools", "rocprofv3_memory")["notes"])
        holds(notes, "L2CacheMiss, L2CacheHitRate, TCP_TCC_ATOMIC_REQ_sum")
        holds(notes, "14 times")


@test
def shipped_configs_by_name_and_as_files(binary):
    expected = {
        "rocprofv3_compute_bound": ["rocprofv3_compute", "gpu_info_power_profiler"],
        "rocprofv3_memory_bound": ["rocprofv3_memory", "gpu_info_vram_profiler"],
        "rocprofv3_lightweight": ["rocprofv3_lightweight"],
        "rocprofv3_comprehensive": ["rocprofv3_full", "gpu_info_power_profiler", "gpu_info_vram_profiler", "miopen_trace",
                                    "rocblas_trace"],
        "rocprofv3_multi_gpu": ["rocprofv3_communication", "gpu_info_power_profiler", "gpu_info_vram_profiler"],
        "rocprofv3_multi_node": ["rocprofv3_communication", "gpu_info_power_profiler", "gpu_info_vram_profiler"],
        "rocprofv3_multinode": ["rocprofv3_communication", "gpu_info_power_profiler", "gpu_info_vram_profiler"],
        "rocm_trace_lite": ["rocm_trace_lite"], "rocm_trace_lite_default": ["rocm_trace_lite_default"]}
    with Place(binary) as p:
        equal(p.run("--write_configs", "configs").returncode, 0)
        equal(p.tree(), sorted(f"configs/{name}.json" for name in expected))
        for name, tools in expected.items():
            config = json.loads(p.read("configs", name + ".json"))
            equal([tool["name"] for tool in config["tools"]], tools)
            equal((config["gpu_vendor"], config["guest_os"]), ("AMD", "UBUNTU"))
            for tool in config["tools"]:
                assert all(isinstance(v, str) for v in tool.get("env_vars", {}).values()), name
        node = json.loads(p.read("configs", "rocprofv3_multi_node.json"))
        equal(node["slurm"], {"partition": "amd-rccl", "nodes": 2, "gpus_per_node": 4, "time": "04:00:00",
                              "output_dir": "./slurm_results", "exclusive": True})
        equal(node["distributed"], {"launcher": "torchrun", "nnodes": 2, "nproc_per_node": 4})
        equal(node["env_vars"], {"OMP_NUM_THREADS": "8", "NCCL_IB_DISABLE": "0", "NCCL_SOCKET_IFNAME": "eth0"})
        equal(node["tools"][0]["env_vars"], {"RCCL_DEBUG": "INFO", "NCCL_DEBUG": "INFO"})
        gpu = json.loads(p.read("configs", "rocprofv3_multi_gpu.json"))
        equal(gpu["slurm"]["exclusive"], False)
        equal((gpu["slurm"]["time"], gpu["slurm"]["nodes"]), ("02:00:00", 1))
        full = json.loads(p.read("configs", "rocprofv3_comprehensive.json"))
        equal(full["tools"][0]["env_vars"], {"RCCL_DEBUG": "INFO", "HSA_ENABLE_SDMA": "0"})
        equal(full["tools"][1]["env_vars"]["POWER_DUAL_GCD"], "false")


@test
def incompatible_tools(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("--tools", "rocprofv3_lightweight,rocm_trace_lite", "--", "true")
        equal(done.returncode, 4)
        equal(len(done.stderr.splitlines()), 1)
        holds(done.stderr, "rocprofv3_lightweight")
        holds(done.stderr, "rocm_trace_lite")


@test
def tools_from_a_file(binary):
    with Place(binary) as p:
        with open(p.file("tools.json"), "w") as f:
            json.dump({"tools": {"mine": {"cmd": "env MINE=1", "env_vars": {"X": "y"}}}}, f)
        done = p.run("--tools-config", "tools.json", "--tools", "mine", "--", "sh", "-c", "echo $MINE $X")
        equal((done.stdout, done.returncode), ("1 y\n", 0))


@test
def usage(binary):
    with Place(binary) as p:
        for words, status, text in ((["--timeout", "-2", "--", "true"], 4, "Timeout must be -1 (default), 0 (no timeout)"),
                                    ([], 4, "a command is required"),
                                    (["--nonsense", "--", "true"], 2, "unrecognized arguments: --nonsense"),
                                    (["--name", "a/b", "--", "true"], 4, "not a valid file name"),
                                    (["--manifest-file", "m.json"], 4, "Either --manifest-file or --tags required"),
                                    (["-f", "rocm_trace_lite", "--", "true"], 3, "rtl not found in PATH"),
                                    (["--tools", "rpd", "--", "true"], 3, "runTracer.sh not found")):
            done = p.run(*words)
            equal((done.returncode, words), (status, words))
            holds(done.stderr, text)
        equal(p.tree(), [])
        done = p.run("sh", "-c", "echo --timeout $1", "x", "--timeout")  # options after the command belong to the command
        equal(done.stdout, "--timeout --timeout\n")


# --- execution ---

@test
def a_plain_command(binary):
    with Place(binary) as p:
        done = p.run("--name", "job", "--", "sh", "-c", "echo out; echo err >&2; exit 5")
        equal(done.returncode, 3)
        equal(done.stdout, "out\n")
        holds(done.stderr, "err\n")
        holds(done.stderr, "exit status 5")
        record = p.record()
        equal((record["status"], record["exit_code"], record["passes"]), ("FAILURE", 5, 1))
        equal(sorted(p.read("job.run.live.log").split()), ["err", "out"])
        equal(p.tree(), ["gputally_run.json", "job.run.live.log", "job_env.csv"])


@test
def a_command_that_is_not_there(binary):
    with Place(binary) as p:
        done = p.run("--", "no-such-program")
        equal((done.returncode, p.record()["exit_code"]), (3, 127))


@test
def time_limit(binary):
    with Place(binary) as p:
        done = p.run("--timeout", "1", "--", "sleep", "1000")
        equal(done.returncode, 3)
        holds(done.stderr, "Program timed out. Requested timeout=1")
        equal((p.record()["status"], p.record()["timed_out"]), ("FAILURE", True))


@test
def signals_are_forwarded(binary):
    with Place(binary) as p:
        running = subprocess.Popen([binary, "run", "--", "sh", "-c", "trap 'echo caught; exit 7' TERM; echo up; "
                                    "while :; do sleep 0.05; done"], cwd=p.work, env=p.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        equal(running.stdout.readline(), "up\n")
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=harness.WALL_SECONDS)
        equal((out, running.returncode), ("caught\n", 3))
        equal((p.record()["exit_code"], p.record()["status"]), (7, "FAILURE"))


@test
def a_lightweight_run(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("-f", "examples/profiling-configs/rocprofv3_lightweight.json", "--", "sh", "-c", "echo app")
        equal((done.returncode, done.stdout.splitlines()[0]), (0, "app"))
        assert "Using NULL instead" not in done.stderr and "Using NULL instead" not in p.read("sh.run.live.log")
        holds(done.stderr, "Opened result file:")
        call, = p.calls()
        stamp = os.readlink(p.file("rocprof_output", "latest"))
        folder = os.path.realpath(p.file("rocprof_output", stamp))
        equal(call["argv"], ["--hip-trace", "--kernel-trace", "--output-format", "json", "-d", folder, "--", "sh", "-c", "echo app"])
        results = [name for name in p.tree() if re.fullmatch(rf"rocprof_output/{stamp}/\d+_results.json", name)]
        equal(len(results), 1)
        assert os.path.samefile(p.file(results[0]), p.file("rocprof_output", "trace.json"))
        kernels = p.rows("rocprof_output", stamp, "kernel_trace.csv")
        with open(TINY) as f:
            dispatches = json.load(f)["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"]
        equal(len(kernels) - 1, len(dispatches))
        equal(sorted(int(row[kernels[0].index("Start_Timestamp")]) for row in kernels[1:]),
              sorted(d["start_timestamp"] for d in dispatches))
        record = p.record()
        equal((record["status"], record["exit_code"]), ("SUCCESS", 0))
        assert any(f["path"].endswith("_results.json") and f["kind"] == "rocprofv3 json" and f["bytes"] for f in record["files"])


@test
def a_run_with_counters(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("--tools", "rocprofv3_agent_counter", "--", "true")
        equal(done.returncode, 0)
        calls = p.calls()
        equal([c["env"]["ROCPROF_COUNTERS"] for c in calls],
              ["pmc: " + n for n in ("SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM_WR", "SQ_WAIT_INST_ANY")])
        for n, call in enumerate(calls, 1):
            assert call["env"]["ROCPROF_OUTPUT_PATH"].endswith(f"/pmc_{n}"), call
            equal((call["env"]["ROCPROF_OUTPUT_FILE_NAME"], call["env"]["ROCPROF_OUTPUT_FORMAT"]), ("rocprofv3_output_%pid%", "csv"))
        counters = p.rows("rocprof_output", "rocprofv3_output_counter_collection.csv")
        name = counters[0].index("Counter_Name")
        equal([row[name] for row in counters[1:]],
              ["SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM_WR", "SQ_WAIT_INST_ANY"])
        equal(len(p.rows("rocprof_output", "rocprofv3_output_kernel_trace.csv")), 2)  # for one pass, not for five
        equal(json.loads(p.read("rocprof_output", "instruction_histogram.json")),
              {"VALU": 10, "SALU": 10, "VMEM": 20, "WAITCNT": 10})
        assert not os.path.exists(p.file("rocprof_output", "rocprof_output"))
        equal(p.record()["passes"], 5)


@test
def runs_of_the_presets(binary):
    expected = {"rocprofv3_compute": 12, "rocprofv3_memory": 14, "rocprofv3_full": 15, "rocprofv3_communication": 1,
                "rocprofv3_api_overhead": 1, "rocprofv3_pc_sampling": 1, "rocprof": 1, "rocprof_sys": 1, "rocprof_hip_only": 1,
                "rocprofv3": 1, "rocprofv3_agent": 1}
    for tool, passes in expected.items():
        with Place(binary, "rocprofv3") as p:
            done = p.run("--tools", tool, "--", "sh", "-c", "echo run >> runs")
            equal((tool, done.returncode, len(p.calls()), p.read("runs")), (tool, 0, passes, "run\n" * passes))
            if tool == "rocprofv3_compute":
                equal([c["env"]["ROCPROF_COUNTERS"] for c in p.calls()][::11], ["pmc: SQ_WAVES", "pmc: SQ_WAIT_INST_ANY"])
            if tool == "rocprofv3_pc_sampling":
                argv = p.calls()[0]["argv"]
                equal(argv[argv.index("--pc-sampling-method") + 1], "host_trap")
                holds(done.stderr, "host_trap")


@test
def a_trace_for_perfetto(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("--tools", "rocprofv3_perfetto", "--", "true")
        equal(done.returncode, 0)
        assert "--perfetto-trace-filename" not in p.calls()[0]["argv"]
        holds(done.stderr, "--perfetto-trace-filename")
        with open(p.file("rocprof_output", "model_trace.pftrace"), "rb") as a, open(os.path.join(p.fixtures, "results.pftrace"), "rb") as b:
            assert a.read() == b.read()


@test
def runs_follow_each_other(binary):
    with Place(binary, "rocprofv3") as p:
        for tool in ("rocprofv3_agent_counter", "rocprofv3_lightweight", "rocprofv3_perfetto"):
            equal(p.run("--tools", tool, "--report", "none", "--", "true").returncode, 0)
        runs = sorted(n for n in os.listdir(p.file("rocprof_output")) if n[0] == "2")
        equal((len(runs), os.readlink(p.file("rocprof_output", "latest"))), (3, runs[-1]))
        left = [n for n in os.listdir(p.file("rocprof_output")) if n not in runs]
        equal(sorted(left), [".gputally_files", "latest", "model_trace.pftrace"])  # results of earlier runs are no longer at the top


@test
def a_separator_that_is_missing(binary):
    with Place(binary, "rocprofv3") as p:
        text = json.dumps({"tools": [{"name": "rocprof", "cmd": "bash ../scripts/common/tools/rocprof_wrapper.sh --sys-trace"}]})
        done = p.run("-c", text, "--", "sh", "-c", ":", "x", "--", "--flag")
        equal(done.returncode, 0)
        argv = p.calls()[0]["argv"]
        equal(argv[:2], ["--sys-trace", "-d"])
        equal(argv[3:], ["--", "sh", "-c", ":", "x", "--", "--flag"])
        holds(done.stderr, "separator")


@test
def options_of_the_users_own(binary):
    with Place(binary, "rocprofv3") as p:
        text = json.dumps({"tools": [{"name": "rocprof", "cmd": "bash ../scripts/common/tools/rocprof_wrapper.sh --hip-trace "
                                      "--kernel-trace --memory-copy-trace --output-format pftrace -d ./my_traces --",
                                      "env_vars": {"RCCL_DEBUG": "TRACE", "HSA_ENABLE_SDMA": "0"}}]})
        done = p.run("-c", text, "--", "sh", "-c", "echo $RCCL_DEBUG $HSA_ENABLE_SDMA")
        equal((done.returncode, done.stdout.splitlines()[0]), (0, "TRACE 0"))
        argv = p.calls()[0]["argv"]
        equal(os.path.dirname(argv[argv.index("-d") + 1]), os.path.realpath(p.file("my_traces")))
        # the user's option reaches the profiler, which rejects it
        text = json.dumps({"tools": [{"name": "rocprof", "cmd": "rocprofv3 --made-up --"}]})
        done = p.run("-c", text, "--", "true")
        equal((done.returncode, p.record()["exit_code"]), (3, 2))
        holds(done.stderr, "unrecognized arguments: --made-up")


@test
def a_profiler_that_lacks_an_option(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("--tools", "rocprofv3_communication", "--", "true", STANDIN_DROP="--rccl-trace")
        equal(done.returncode, 0)
        holds(done.stderr, "this rocprofv3 has no --rccl-trace")
        assert "--rccl-trace" not in p.calls()[0]["argv"]


@test
def a_failing_command_under_a_profiler(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("-f", "rocprofv3_lightweight", "--", "sh", "-c", "exit 5")
        equal((done.returncode, p.record()["exit_code"]), (3, 5))
        assert os.path.islink(p.file("rocprof_output", "latest"))  # it was collected


@test
def several_processes(binary):
    with Place(binary, "rocprofv3") as p:
        text = json.dumps({"tools": [{"name": "rocprofv3_agent"}], "distributed": {"launcher": "none", "nproc_per_node": 4}})
        done = p.run("-c", text, "--", "true")
        equal((done.returncode, p.calls()[0]["env"]["ROCPROF_OUTPUT_FILE_NAME"]), (0, "rocprofv3_output_%pid%"))
        equal(len(p.rows("rocprof_output", "rocprofv3_output_kernel_trace.csv")), 2)


@test
def the_legacy_profiler(binary):
    with Place(binary, "rocprof") as p:
        done = p.run("--tools", "rocprof", "--", "sh", "-c", "echo app")
        equal((done.returncode, done.stdout.splitlines()[0]), (0, "app"))
        equal(p.calls()[0]["argv"], ["--hip-trace", "--roctx-trace", "sh", "-c", "echo app"])
        assert "phasing out" not in done.stderr and "rocprofv2 in favor" not in done.stderr
        holds(done.stderr, "a line that stays")
        stamp = os.readlink(p.file("rocprof_output", "latest"))
        assert os.path.exists(p.file("rocprof_output", stamp, "results.csv")) and not os.path.exists(p.file("results.csv"))
    with Place(binary, "rocprof") as p:
        done = p.run("--tools", "rocprofv3_communication", "--", "true")
        equal(done.returncode, 0)
        holds(done.stderr, "dropped: --rccl-trace, --scratch-memory-trace, --output-format")
    with Place(binary, "rocprof") as p:
        done = p.run("--tools", "rocprofv3", "--", "true")  # requests rocprofv3 by name
        equal(done.returncode, 3)


@test
def no_profiler(binary):
    if any(os.path.exists("/opt/rocm/bin/" + name) for name in ("rocprofv3", "rocprof")):
        raise harness.Skipped("gputally also looks in /opt/rocm/bin, where this machine has a profiler")
    with Place(binary) as p:
        done = p.run("--tools", "rocprof", "--", "touch", "started")
        equal(done.returncode, 3)
        holds(done.stderr, "Error: Neither rocprofv3 nor rocprof found in PATH\n")
        holds(done.stderr, "Please ensure ROCm profiler tools are installed\n")
        equal(p.tree(), [])


# --- samplers and library calls ---

def fake_gpus(p):
    path = os.path.join(p.path, "gpus")
    with open(path, "w") as f:
        f.write("0,0,95,1234567,191234567\n0,1,-,1234567,191234567\n0,2,97,1234567,191234567\n0.35,2,,1234567,191234567\n")
    return path


@test
def power_and_memory_are_sampled(binary):
    with Place(binary) as p:
        for seconds in (0.55, 5.5, 55):  # longer if a loaded machine took too few samples
            done = p.run("--tools", "gpu_info_power_profiler,gpu_info_vram_profiler", "--", "sleep", str(seconds),
                         **rocm_smi(fake_gpus(p)))
            equal(done.returncode, 0)
            power, vram = (p.read(f"gpu_info_{mode}_profiler_output.csv") for mode in ("power", "vram"))
            lines = power.split("\r\n")[1:-1]
            times = [datetime.datetime.fromisoformat(line.split(",")[0]).timestamp() for line in lines]
            if len(lines) >= 6 and min(b - a for a, b in zip(times, times[1:-1])) < 0.15:
                break
        else:
            raise AssertionError(f"not a sample every 0.1 s: {lines}")
        assert len(lines) <= 10 * (times[-1] - times[0]) + 3, lines  # at 0, 0.1, 0.2 ... and at the end
        assert power.startswith("time,Power(Watt) GPU0,Power(Watt) GPU2\r\n"), power
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6},95\.0,97\.0", lines[0]), lines[0]
        assert lines[-1].endswith(",95.0,N/A"), lines[-1]
        assert vram.startswith("time,vram(%) GPU0,vram(%) GPU1,vram(%) GPU2\r\n"), vram
        assert all(line.endswith(",0.65,0.65,0.65") for line in vram.split("\r\n")[1:-1]), vram
        assert not [name for name in p.tree() if name.endswith(".part")]


@test
def a_compute_bound_run(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("-f", "rocprofv3_compute_bound.json", "--", "true", **rocm_smi(fake_gpus(p)))
        equal((done.returncode, len(p.calls())), (0, 12))
        stamp = os.readlink(p.file("rocprof_output", "latest"))
        equal(sorted(n for n in os.listdir(p.file("rocprof_output", stamp)) if n.startswith("pmc_")),
              sorted(f"pmc_{n}" for n in range(1, 13)))
        equal(len([n for n in os.listdir(p.file("rocprof_output", stamp)) if n.endswith("_results.pftrace")]), 12)
        assert os.path.exists(p.file("gpu_info_power_profiler_output.csv"))
        equal((p.record()["status"], p.record()["passes"]), ("SUCCESS", 12))


@test
def sensors_of_the_driver(binary):
    with Place(binary) as p:
        for node, address, power, used in ((129, "0000:0c:00.0", ("power1_average", "90500000"), 10),
                                           (128, "0000:1b:00.0", ("power1_input", "100000000"), 25)):
            device = os.path.join(p.path, "sys", "devices", address)
            os.makedirs(os.path.join(device, "hwmon", "hwmon3"))
            for name, text in (("vendor", "0x1002"), ("device", "0x74a1"), ("mem_info_vram_used", str(used)),
                               ("mem_info_vram_total", "200"), (os.path.join("hwmon", "hwmon3", power[0]), power[1])):
                with open(os.path.join(device, name), "w") as f:
                    f.write(text + "\n")
            os.makedirs(os.path.join(p.path, "sys", "class", "drm", f"renderD{node}"))
            os.symlink(device, os.path.join(p.path, "sys", "class", "drm", f"renderD{node}", "device"))
        done = p.run("--tools", "gpu_info_power_profiler,gpu_info_vram_profiler", "--", "true",
                     GPUTALLY_SYSFS=os.path.join(p.path, "sys"))
        equal(done.returncode, 0)
        equal(p.rows("gpu_info_power_profiler_output.csv")[1][1:], ["90.5", "100.0"])
        equal(p.rows("gpu_info_vram_profiler_output.csv")[1][1:], ["5.0", "12.5"])
        text = '{"tools": [{"name": "gpu_info_vram_profiler", "env_vars": {"VRAM_DEVICE": "1"}}]}'
        equal(p.run("-c", text, "--", "true", GPUTALLY_SYSFS=os.path.join(p.path, "sys")).returncode, 0)
        equal(p.rows("gpu_info_vram_profiler_output.csv")[0], ["time", "vram(%) GPU1"])


@test
def invalid_samplers(binary):
    with Place(binary) as p:
        empty = os.path.join(p.path, "nothing")
        os.mkdir(empty)
        done = p.run("--tools", "gpu_info_power_profiler", "--", "echo", "on", GPUTALLY_SYSFS=empty)
        if "no GPU was found" in done.stderr:  # on a machine with NVIDIA's library, GPUs are found
            equal((done.returncode, done.stdout, "gpu_info_power_profiler_output.csv" in p.tree()), (0, "on\n", False))
        for env, text in (({"POWER_SAMPLING_RATE": "x"}, "Invalid POWER_SAMPLING_RATE: x"), ({"POWER_SAMPLING_RATE": "0"}, "Invalid POWER_SAMPLING_RATE: 0"), ({"POWER_MODE": "bad"}, "Invalid POWER_MODE: bad. Must be 'power' or 'vram'"),
                          ({"POWER_DEVICE": "a"}, "POWER_DEVICE")):
            context_error(binary, json.dumps({"tools": [{"name": "gpu_info_power_profiler", "env_vars": env}]}), text)
        text = '{"tools": [{"name": "gpu_info_power_profiler", "env_vars": {"POWER_DEVICE": "1"}}]}'
        done = p.run("-c", text, "--", "true", **rocm_smi(fake_gpus(p)))
        equal(done.returncode, 0)
        holds(done.stderr, "Device 1 is a secondary die")


@test
def devices_of_samplers(binary):
    for devices, warning in (("0,0", None), ("0,5", "no GPU 5; its power is not sampled"), ("5, 0,0", "no GPU 5")):
        with Place(binary) as p:
            text = json.dumps({"tools": [{"name": "gpu_info_power_profiler", "env_vars": {"POWER_DEVICE": devices}}]})
            done = p.run("-c", text, "--", "true", **rocm_smi(fake_gpus(p)))
            equal((devices, done.returncode), (devices, 0))
            equal(p.read("gpu_info_power_profiler_output.csv").splitlines()[0], "time,Power(Watt) GPU0")
            assert warning in done.stderr if warning else "warning" not in done.stderr, done.stderr


LIBRARY_LINES = r"""
echo './rocblas-bench -f gemm_ex --transposeA N -m 64'
echo './rocblas-bench -f gemm_ex --transposeA N -m 64'
echo 'pre ./rocblas-bench -f axpy' >&2
echo '- { rocblas_function: rocblas_sgemm, M: 1 }'
echo 'hipblaslt-bench -m 4, "q"'
echo 'MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 1 -c 1'
echo 'MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 1 -c 1'
echo 'Running kernel: Cijk_Ailk_Bljk'
echo 'performance: 12.5 samples_per_second'
exit 7
"""


@test
def library_calls_are_counted(binary):
    with Place(binary) as p:
        done = p.run("--tools", "rocblas_trace,hipblaslt_trace,miopen_trace,tensile_trace,rccl_trace", "--", "sh", "-c",
                     LIBRARY_LINES, JENKINS_BUILD_NUMBER="42", MAD_MODEL_NAME="m,1")
        equal((done.returncode, done.stdout.splitlines()),
              (3, ["performance: 12.5 samples_per_second", "wrote " + os.path.realpath(p.file("sh_run_summary.xlsx"))]))
        equal(p.record()["exit_code"], 7)
        lines = p.read("library_trace.csv").split("\r\n")
        equal((lines[0], lines[-1]), ("jobid,created_date,model,library,config,calls", ""))
        equal([re.sub(r"^42,\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\"m,1\",", "", line) for line in lines[1:-1]],
              ["rocblas,./rocblas-bench -f gemm_ex --transposeA N -m 64,2", "rocblas,./rocblas-bench -f axpy,1",
               'hipblaslt,"hipblaslt-bench -m 4, ""q""",1', 'rocblas_function,"- { rocblas_function: rocblas_sgemm, M: 1 }",1',
               "miopen,./bin/MIOpenDriver conv -n 1 -c 1,2", "tensile,Cijk_Ailk_Bljk,1"])


@test
def libraries_are_told_to_talk(binary):
    with Place(binary) as p:
        equal(p.plan("--tools", "rocblas_trace,miopen_trace,tensile_trace,hipblaslt_trace,rccl_trace")["env"],
              {"ROCBLAS_TRACE": "1", "MIOPEN_TRACE": "1", "TENSILE_TRACE": "1", "HIPBLASLT_TRACE": "1", "RCCL_TRACE": "1",
               "ROCBLAS_LAYER": "6", "HIPBLASLT_LOG_MASK": "32", "TENSILE_DB": "0x8000", "MIOPEN_ENABLE_LOGGING_CMD": "1",
               "NCCL_DEBUG": "INFO", "RCCL_KERNEL_COLL_TRACE_ENABLE": "1", "NCCL_DEBUG_SUBSYS": "INIT,COLL"})
        done = p.run("--tools", "miopen_trace", "--", "echo", "Running kernel: x")
        equal(done.stdout.splitlines()[0], "Running kernel: x")  # of a disabled mode
        equal(p.read("library_trace.csv"), "jobid,created_date,model,library,config,calls\r\n")


@test
def a_comprehensive_run(binary):
    with Place(binary, "rocprofv3") as p:
        plan = p.plan("-f", "rocprofv3_comprehensive")
        equal([os.path.basename(a["path"]) for a in plan["pre"][:4]],
              ["gpu_info_pre.sh", "gpu_info_vram_start.sh", "gpu_info_pre.sh", "gpu_info_power_start.sh"])
        equal([(os.path.basename(a["path"]) + " " + a["args"]).strip() for a in plan["post"]],
              ["trace.sh rocprof", "gpu_info_power_stop.sh", "gpu_info_post.sh gpu_info_power_profiler", "gpu_info_vram_stop.sh",
               "gpu_info_post.sh gpu_info_vram_profiler"])
        added = {"ROCBLAS_LAYER", "MIOPEN_ENABLE_LOGGING_CMD"}  # by the stage that replaces get_library_trace.py
        equal(len(set(plan["env"]) - added), 14)
        equal([plan["env"][k] for k in ("MIOPEN_TRACE", "ROCBLAS_TRACE", "HSA_ENABLE_SDMA")], ["1", "1", "0"])
        equal([s["mode"] for s in plan["samplers"]], ["power", "vram"])
        equal(plan["library_trace"]["modes"], ["rocblas_trace", "miopen_trace"])
        done = p.run("-f", "rocprofv3_comprehensive", "--", "echo", "app", **rocm_smi(fake_gpus(p)))
        equal((done.returncode, len(p.calls())), (0, 15))
        for name in ("library_trace.csv", "gpu_info_power_profiler_output.csv", "gpu_info_vram_profiler_output.csv"):
            assert name in p.tree(), name


# --- reports ---

@test
def reports_are_written(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("--name", "job", "--tools", "rocprofv3_perfetto,gpu_info_power_profiler,miopen_trace", "--", "sh", "-c",
                     "sleep 0.25; for i in 1 2 3; do echo 'MIOpen(HIP): Command [x] ./bin/MIOpenDriver gemm'; done; "
                     "echo 'MIOpen(HIP): Command [x] ./bin/MIOpenDriver conv'", **rocm_smi(fake_gpus(p)))
        equal(done.returncode, 0)
        books = [name for name in p.tree() if name.endswith(".xlsx")]
        equal(books, ["job_hip_activity.xlsx", "job_hip_api.xlsx", "job_memory_copy.xlsx", "job_perf_report.xlsx", "job_run_summary.xlsx"])
        holds(done.stdout, "wrote ")
        sheets = openpyxl.load_workbook(p.file("job_run_summary.xlsx"))
        equal(sheets.sheetnames, ["power_summary", "library_calls"])
        power = [[cell.value for cell in row] for row in sheets["power_summary"]]
        equal(power[0], ["gpu", "samples", "min", "mean", "max", "p95", "energy_J"])
        samples = p.rows("gpu_info_power_profiler_output.csv")[1:]
        equal(power[1][:6], ["GPU0", len(samples), 95, 95, 95, 95])
        begin, end = (datetime.datetime.fromisoformat(samples[i][0]) for i in (0, -1))
        assert abs(power[1][6] - 95 * (end - begin).total_seconds()) < 0.01, power
        equal([[cell.value for cell in row] for row in sheets["library_calls"]],
              [["library", "config", "calls"], ["miopen", "./bin/MIOpenDriver gemm", 3], ["miopen", "./bin/MIOpenDriver conv", 1]])
        assert any(f["path"].endswith("job_perf_report.xlsx") and f["kind"] == "report" for f in p.record()["files"])
        assert any(f["path"].endswith("job_perf_report.html") and f["kind"] == "page" for f in p.record()["files"])


@test
def a_page_is_beside_the_report(binary):
    """It has the kernels of the profiler's trace; reports of Perfetto traces have no page."""
    with open(TINY) as file:
        dispatches = json.load(file)["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"]
    with Place(binary, "rocprofv3") as p:
        equal(p.run("--name", "job", "--tools", "rocprofv3_perfetto", "--", "true").returncode, 0)
        equal([name for name in p.tree() if name.endswith(".html")], ["job_perf_report.html"])
        page = read_page(p.file("job_perf_report.html"))
        equal((page.front["kind"], page.front["framework"]), ("trace", "rocprofv3"))
        kernels = [row for row in page.tables[0]["page_kernels"].records() if row["category"] != "copy"]
        equal(sum(row["count"] for row in kernels), len(dispatches))
        equal(sum(row["ns"] for row in kernels), sum(one["end_timestamp"] - one["start_timestamp"] for one in dispatches))


@test
def requested_reports(binary):
    with Place(binary, "rocprofv3") as p:
        equal(p.run("-f", "rocprofv3_lightweight", "--report", "none", "--", "true").returncode, 0)
        equal([name for name in p.tree() if name.endswith((".xlsx", ".html"))], [])
        equal(p.run("-f", "rocprofv3_lightweight", "--report", "summary,rocprof", "--quiet", "--", "true").stdout, "")
        equal([name for name in p.tree() if name.endswith(".xlsx")], ["true_perf_report.xlsx"])
        done = p.run("--report", "rocprof,x", "--", "true")
        equal(done.returncode, 4)
        holds(done.stderr, "invalid choice 'x' (choose from auto, none")


@test
def the_report_of_a_run_counts_each_process_once(binary):
    with Place(binary, "rocprofv3") as p:
        equal(p.run("-f", "rocprofv3_lightweight", "--report", "none", "--", "true").returncode, 0)
        done = subprocess.run([binary, "rocprof", p.file("rocprof_output", "latest"), "--output_csvs_dir", p.file("out"), "--no_progress"],
                              capture_output=True, text=True, env=p.environment())
        with open(TINY) as f:
            dispatches = json.load(f)["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"]
        holds(done.stdout, f"{len(dispatches)} kernel dispatches")


@test
def traces_of_the_command_are_reported(binary):
    trace = {"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 9, "args": {"External id": 1}},
        {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 1,
         "args": {"External id": 1, "correlation": 5}},
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 0, "ts": 5, "dur": 4,
         "args": {"External id": 1, "correlation": 5, "stream": 0, "device": 0}},
        {"ph": "s", "id": 5, "pid": 1, "tid": 1, "ts": 2, "cat": "ac2g", "name": "ac2g"},
        {"ph": "f", "id": 5, "pid": 0, "tid": 0, "ts": 5, "cat": "ac2g", "name": "ac2g", "bp": "e"}]}
    with Place(binary) as p:
        with open(p.file("template"), "w") as f:
            json.dump(trace, f)
        done = p.run("--", "sh", "-c", "mkdir log; cp template log/rank0.pt.trace.json; echo broken > log/b.xplane.pb")
        equal(done.returncode, 0)  # a report that fails does not change it
        holds(done.stderr, "b.xplane.pb: no report written")
        assert os.path.exists(p.file("log", "rank0_perf_report.xlsx")), done.stderr
        kernels = read_page(p.file("log", "rank0_perf_report.html")).tables[0]["page_kernels"]
        equal((kernels.column("name"), kernels.column("ns")), (["k"], [4000]))
        assert not os.path.exists(p.file("log", "b_perf_report.html"))


# --- containers ---

def fake_render_nodes(p, count):
    """A /sys with AMD GPUs whose render nodes begin at 128."""
    for i in range(count):
        device = os.path.join(p.path, "sys", "devices", f"0000:{i:02x}:00.0")
        os.makedirs(device)
        for name, text in (("vendor", "0x1002"), ("device", "0x74a1")):
            with open(os.path.join(device, name), "w") as f:
                f.write(text)
        os.makedirs(os.path.join(p.path, "sys", "class", "drm", f"renderD{128 + i}"))
        os.symlink(device, os.path.join(p.path, "sys", "class", "drm", f"renderD{128 + i}", "device"))
    return os.path.join(p.path, "sys")


def gpus_of(plan):
    return [word.rsplit("renderD")[1] for word in plan["docker"]["argv"] if word.startswith("--device=/dev/dri/")]


@test
def gpus_of_a_container(binary):
    with Place(binary) as p:
        sysfs = fake_render_nodes(p, 8)

        def plan(**context):
            return p.plan("--docker=image", "-c", json.dumps(context), GPUTALLY_SYSFS=sysfs)

        equal(gpus_of(plan()), [str(n) for n in range(128, 136)])
        equal(gpus_of(plan(n_gpus=-1, docker_gpus="all")), [str(n) for n in range(128, 136)])
        equal(gpus_of(plan(gpus_per_node="3", docker_gpus="7,2-4,0")), ["128", "130", "131"])
        assert "--device=/dev/kfd" in plan()["docker"]["argv"]
        done = p.run("--docker=image", "-c", '{"n_gpus": 9}', "--dry-run", "--", "true", GPUTALLY_SYSFS=sysfs)
        equal((done.returncode, done.stderr),
              (4, "gputally: Too many gpus requested(9). System has 8 gpus. Context has 8 gpus.\n"))
        for bad in ("x", "3-1", "9", "0-", "1,,2"):
            equal(p.run("--docker=i", "-c", json.dumps({"docker_gpus": bad}), "--dry-run", "--", "true", GPUTALLY_SYSFS=sysfs).returncode, 4)


@test
def a_run_in_a_container(binary):
    with Place(binary, "rocprofv3", "docker") as p:
        text = json.dumps({"MAD_CONTAINER_IMAGE": "rocm/pytorch:latest", "tools": [{"name": "rocprofv3_lightweight"}],
                           "env_vars": {"OMP_NUM_THREADS": "8"}, "docker_env_vars": {"D": "it's $X"}, "docker_cpus": "0, 1-3",
                           "docker_mounts": {"/data": "/mnt/set"}})
        done = p.run("-c", text, "--name", "job", "--output-dir", "out", "--", "sh", "-c", "echo $OMP_NUM_THREADS $D $MAD_MODEL_NAME $NODE_RANK [$SECRET]; exit 5",
                     NODE_RANK="3", SECRET="s", GPUTALLY_SYSFS=fake_render_nodes(p, 1))
        equal((done.returncode, done.stdout), (3, "8 it's $X job 3 []\n"))
        looked, argv = [call["argv"] for call in p.calls() if call.get("program") == "docker"]
        assert "for p in rocprof rocprofv3" in looked[-1] and looked[3].startswith("gputally_look_"), looked
        work = os.path.realpath(p.work)
        equal(argv[:3], ["run", "--rm", "--name"])
        rest = argv[4:]
        equal(rest[:rest.index("--device=/dev/kfd")],
              ["--network", "host", "-u", "root", "--cap-add=SYS_PTRACE", "--cap-add", "SYS_ADMIN", "--device", "/dev/fuse",
               "--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined", "--ipc=host", "--group-add", "video"])
        equal([argv[i + 1] for i, word in enumerate(argv) if word == "-v"], [f"{work}:{work}", f"{work}/out:{work}/out", "/mnt/set:/data"])
        assert "--cpuset-cpus=0,1-3" in argv
        equal(argv[argv.index("rocm/pytorch:latest") + 1:][:2], ["bash", "-c"])
        holds(argv[-1], "rocprofv3 --hip-trace --kernel-trace --output-format json -d " + work + "/out/rocprof_output/")
        record = json.loads(p.read("out", "gputally_run.json"))
        equal((record["exit_code"], record["docker"]["argv"][0]), (5, "docker"))
        equal(p.run("-c", text, "--no_docker", "--", "sh", "-c", "exit 0").returncode, 0)
        equal(len([call for call in p.calls() if call.get("program") == "docker"]), 2)


@test
def databases_of_presets(binary):
    """Profiles that write Perfetto traces write the database that madengine's document shows, if this rocprofv3 can."""
    for tool, drop, formats in (("rocprofv3_compute", "", ["pftrace", "rocpd"]), ("rocprofv3_communication", "rocpd", ["pftrace"]), ("rocprofv3_lightweight", "", ["json"]),
                                ("rocprofv3_pc_sampling", "", ["pftrace", "csv"]), ("rocprofv3_agent", "", ["csv"])):
        for container in (False, True):
            with Place(binary, "rocprofv3", "docker") as p:
                words = ["--docker=image"] if container else []
                done = p.run(*words, "-c", json.dumps({"tools": [{"name": tool}], "docker_env_vars": {"STANDIN_DROP": drop}}), "--report", "none", "--", "true", STANDIN_DROP=drop,
                             GPUTALLY_SYSFS=fake_render_nodes(p, 1))
                equal((tool, container, done.returncode, p.record()["profiler"]["formats"]), (tool, container, 0, formats))
                databases = glob.glob(p.file("rocprof_output", "2*", "**", "*_results.db"), recursive=True)
                equal((tool, bool(databases)), (tool, "rocpd" in formats))
                for path in databases:
                    with sqlite3.connect(path) as connection:
                        assert connection.execute("SELECT COUNT(*) FROM kernels").fetchone()[0] > 0


@test
def profilers_of_images(binary):
    """The image decides, not this machine: rocprofv3 or the legacy rocprof, in its PATH or below $ROCM_PATH or /opt/rocm."""
    traces = os.path.join(STAND_INS, "rocprofv3"), os.path.join(STAND_INS, "rocprof")
    old, new = '{"tools": [{"name": "rocprof"}]', '{"tools": [{"name": "rocprofv3"}]'
    with Place(binary, "docker") as p:
        sysfs = fake_render_nodes(p, 1)

        def run_in(programs, context, where="ROCM_PATH", version=None):
            """In an image with these programs in a folder of their own."""
            rocm = os.path.join(p.path, f"rocm{len(os.listdir(p.path))}")
            os.makedirs(os.path.join(rocm, "bin"))
            for path in programs:
                os.symlink(path, os.path.join(rocm, "bin", os.path.basename(path)))
            if version:
                os.mkdir(os.path.join(rocm, ".info"))
                with open(os.path.join(rocm, ".info", "version"), "w") as file:
                    file.write(version)
            path = os.path.join(rocm, "bin") + ":" if where == "PATH" else ""
            variables = {"PATH": path + p.environment()["PATH"], "ROCM_PATH": rocm}
            context = f'{context}, "docker_env_vars": {json.dumps(variables)}}}'
            done = p.run("--docker=image", "-c", context, "--report", "none", "--output-dir", rocm, "--", "true", GPUTALLY_SYSFS=sysfs)
            record = os.path.join(rocm, "gputally_run.json")
            return rocm, done, json.loads(p.read(record))["profiler"] if os.path.exists(record) else None
        rocm, done, profiler = run_in(traces[1:], old, version="7.0.2-1\n")
        equal((done.returncode, profiler["kind"], profiler["path"]), (0, "rocprof", f"{rocm}/bin/rocprof"))
        holds(done.stderr, "ROCm 7.0.2 detected but rocprofv3 not found, using legacy rocprof")
        assert "--hip-trace" in profiler["options"] and "--runtime-trace" not in profiler["options"], profiler
        rocm, done, profiler = run_in(traces[1:], old, where="PATH")
        equal((done.returncode, profiler["kind"], profiler["path"]), (0, "rocprof", "rocprof"))
        rocm, done, profiler = run_in(traces, old)
        equal((done.returncode, profiler["kind"], profiler["path"]), (0, "rocprofv3", f"{rocm}/bin/rocprofv3"))
        rocm, done, profiler = run_in(traces, old, where="PATH")
        equal((done.returncode, profiler["kind"], profiler["path"]), (0, "rocprofv3", "rocprofv3"))
        for programs, context in (((), old), (traces[1:], new)):  # a plain rocprofv3 has no substitute
            rocm, done, profiler = run_in(programs, context)
            equal((done.returncode, profiler), (3, None))
            holds(done.stderr, "gputally: the image image has no profiler for this tool: rocprofv3, or else rocprof, in its PATH, $ROCM_PATH/bin or /opt/rocm/bin")
        # A script of the user installs the profiler in the container.
        with open(p.file("install.sh"), "w") as file:
            file.write(f"ln -s {traces[0]} $ROCM_PATH/bin/rocprofv3\n")
        rocm, done, profiler = run_in((), old + ', "pre_scripts": [{"path": "install.sh"}]', where="PATH")
        equal((done.returncode, profiler["formats"], profiler["path"]), (0, ["rocpd"], None))
        assert glob.glob(os.path.join(rocm, "rocprof_output", "2*", "**", "*_results.db"), recursive=True), done.stderr
        # Without a profiler in the context, and with --dry-run, no image is asked.
        before = len(p.calls())
        p.run("--docker=image", "--report", "none", "--", "true", GPUTALLY_SYSFS=sysfs)
        equal(len([call for call in p.calls()[before:] if call.get("program") == "docker"]), 1)
        equal(p.plan("--docker=image", "-c", old + "}")["profiler"]["path"], "rocprofv3")


@test
def invalid_containers(binary):
    with Place(binary) as p:
        for words, status, text in ((["--docker", "--", "true"], 4, "--docker: needs an image"), (["--docker=-v", "--", "true"], 4, "not a valid image name"),
                                    (["--docker=i", "--", "true"], 3, "neither docker nor podman found in PATH")):
            done = p.run(*words, GPUTALLY_SYSFS=p.path)
            equal((words, done.returncode), (words, status))
            holds(done.stderr, text)
    with Place(binary, "docker") as p:
        for seconds in ("1", "10", "100"):  # until the stand-in writes its log
            done = p.run("--docker=i", "--timeout", seconds, "--", "sleep", "1000", GPUTALLY_SYSFS=p.path)
            equal(done.returncode, 3)
            calls = [call["argv"] for call in p.calls()][-2:]
            if [words[0] for words in calls] == ["run", "rm"]:
                break
        run, remove = calls
        equal(remove, ["rm", "-f", run[3]])


# --- SLURM ---

SLURM = ("sbatch", "srun", "squeue", "sacct", "scontrol")


def directives_of(script):
    return re.findall(r"^#SBATCH --(.*)$", script, re.M)


@test
def a_script_for_slurm(binary):
    with Place(binary, *SLURM) as p:
        done = p.run("-f", "rocprofv3_multi_node.json", "--name", "dummy_prof", "--generate-only", "--", "torchrun", "train.py")
        equal((done.returncode, p.calls()), (0, []))
        path = p.file("slurm_results", "gputally_dummy_prof.sh")
        equal(done.stdout.strip(), os.path.realpath(path))
        assert os.access(path, os.X_OK)
        script = p.read("slurm_results", "gputally_dummy_prof.sh")
        log = os.path.realpath(p.file("slurm_results")) + "/gputally-dummy_prof_%j_%t"
        equal(directives_of(script), ["job-name=gputally-dummy_prof", f"output={log}.out", f"error={log}.err", "partition=amd-rccl",
                                      "nodes=2", "ntasks=2", "ntasks-per-node=1", "gpus-per-node=4", "time=04:00:00", "exclusive", "signal=TERM@60"])
        equal(len(re.findall(r"^srun ", script, re.M)), 1)
        for line in ("export NCCL_IB_DISABLE=0", "export NCCL_DEBUG=WARN", "export OMP_NUM_THREADS=8", "export NNODES=2", "export NPROC_PER_NODE=4"):
            holds(script, "\n" + line + "\n")
        equal(subprocess.run(["bash", "-n", path]).returncode, 0)
        p.run("-f", "rocprofv3_multi_gpu.json", "--name", "g", "--generate-only", "--", "true")
        found = directives_of(p.read("slurm_results", "gputally_g.sh"))
        assert "time=02:00:00" in found and "exclusive" not in found, found
        plan = json.loads(p.run("-f", "rocprofv3_multi_gpu.json", "--name", "g", "--dry-run", "--", "true").stdout)
        equal((plan["target"], plan["slurm"]["directives"]), ("slurm", ["--" + word for word in found]))


@test
def slurm_settings(binary):
    with Place(binary) as p:
        text = {"slurm": {"nodes": 1, "nodelist": "a1, a2", "exclude": "b", "constraint": "mi300", "qos": "q", "account": "acc",
                          "modules": ["rocm/7.0", "x y"], "network_interface": "ib3", "output_dir": "out dir"},
                "distributed": {"launcher": "deepspeed"}, "env_vars": {"A": "it's $HOME", "MIOPEN_USER_DB_PATH": "/scratch"}}
        equal(p.run("-c", json.dumps(text), "--name", "j", "--generate-only", "--", "true").returncode, 0)
        script = p.read("out dir", "gputally_j.sh")
        equal(directives_of(script)[4:], ["nodes=1", "ntasks=1", "ntasks-per-node=1", "gpus-per-node=8", "time=12:00:00",
                                          "nodelist=a1,a2", "exclude=b", "constraint=mi300", "exclusive", "qos=q", "account=acc", "signal=TERM@60"])
        for part in ("module load rocm/7.0\nmodule load 'x y'\n", "export A='it'\\''s $HOME'\n", "export NCCL_SOCKET_IFNAME=ib3\nexport GLOO_SOCKET_IFNAME=ib3\n",
                     "deepspeed --num_gpus=8", "export MIOPEN_USER_DB_PATH=/scratch/node_$SLURM_PROCID"):
            holds(script, part)
        equal(json.loads(p.read("out dir", "gputally_j_context.json"))["env_vars"]["MIOPEN_USER_DB_PATH"], None)
        for bad, words in (({"partition": "a\nb"}, "control character"), ({"nodes": 0}, "nodes must be")):
            done = p.run("-c", json.dumps({"slurm": bad}), "--generate-only", "--", "true")
            equal(done.returncode, 4)
            holds(done.stderr, words)
        done = p.run("-c", '{"slurm": {"nodes": 2}, "distributed": {"launcher": "sglang-disagg"}}', "--generate-only", "--", "true")
        equal(done.returncode, 4)


@test
def no_sbatch(binary):
    with Place(binary) as p:
        done = p.run("-f", "rocprofv3_multi_node.json", "--name", "j", "--", "true")
        equal(done.returncode, 3)
        holds(done.stderr, "sbatch not found in PATH")
        assert os.path.exists(p.file("slurm_results", "gputally_j.sh"))


@test
def a_job_on_two_nodes(binary):
    with Place(binary, "rocprofv3", *SLURM) as p:
        command = ["sh", "-c", "echo $NODE_RANK $MASTER_ADDR $MAD_COLLECT_METRICS $MAD_MULTI_NODE_RUNNER; "
                   "echo performance: $((10 + NODE_RANK)).5 samples_per_second", "it's"]
        done = p.run("-f", "rocprofv3_multi_node.json", "--name", "job", "--", *command, **rocm_smi(fake_gpus(p)),
                     GPUTALLY_SLURM_POLL_SECONDS="0.1")
        equal(done.returncode, 0)
        folder = p.file("slurm_results", "job", "4242")
        for rank in (0, 1):
            log = p.read(folder, f"node_{rank}", "job.run.live.log")
            holds(log, f"{rank} node0 {'false' if rank else 'true'} torchrun --nnodes=2 --nproc_per_node=4 --node_rank={rank} "
                       "--master_addr=node0 --master_port=29500\n")
            for name in ("gputally_run.json", "gpu_info_power_profiler_output.csv", "rocprof_output/model_trace.pftrace"):
                assert os.path.exists(os.path.join(folder, f"node_{rank}", name)), name
        summary = json.loads(p.read(folder, "results_summary.json"))
        equal([(n["status"], n["performance"], n["metric"]) for n in summary["nodes"]],
              [("SUCCESS", 10.5, "samples_per_second"), ("SUCCESS", 11.5, "samples_per_second")])
        equal(summary["metrics"], {"samples_per_second": 22.0})
        programs = [call.get("program") for call in p.calls()]
        equal((programs.count("sbatch"), programs.count("squeue")), (1, 2))


@test
def a_job_that_fails(binary):
    with Place(binary, *SLURM) as p:
        done = p.run("-c", '{"slurm": {"nodes": 2}}', "--name", "job", "--", "sh", "-c", "exit $NODE_RANK",
                     GPUTALLY_SLURM_POLL_SECONDS="0.1")
        equal(done.returncode, 3)
        holds(done.stderr, "job 4242 ended with state FAILED")
        summary = json.loads(p.read("slurm_results", "job", "4242", "results_summary.json"))
        equal([n["exit_code"] for n in summary["nodes"]], [0, 1])


@test
def objects_for_kubernetes(binary):
    with Place(binary) as p:
        context = {"k8s": {"gpu_count": 4, "namespace": "lab", "node_selector": {"a.b/c": "x: y"}, "storage_class": "nfs"},
                   "distributed": {"nnodes": 2, "launcher": "torchrun", "nproc_per_node": 4}, "tools": [{"name": "rocprofv3_compute"}],
                   "env_vars": {"A": "it's: \"$B\"\n#"}}
        done = p.run("-c", json.dumps(context), "--docker=img:1", "--name", "My_Job", "--generate-only", "--", "sh", "-c", "echo 'a\tb'\necho c")
        equal(done.returncode, 0)
        equal(done.stdout.strip(), os.path.realpath(p.file("gputally-my-job.yaml")))
        objects = {o["kind"]: o for o in yaml.safe_load_all(p.read("gputally-my-job.yaml"))}
        equal(sorted(objects), ["ConfigMap", "Job", "PersistentVolumeClaim", "Service"])
        equal({o["metadata"]["namespace"] for o in objects.values()}, {"lab"})
        stored = json.loads(objects["ConfigMap"]["data"]["context.json"])
        equal((stored["tools"], stored["env_vars"]), (context["tools"], context["env_vars"]))
        spec = objects["Job"]["spec"]
        equal((spec["completions"], spec["parallelism"], spec["completionMode"], spec["backoffLimit"]), (2, 2, "Indexed", 3))
        pod = spec["template"]["spec"]
        container = pod["containers"][0]
        equal((container["image"], container["imagePullPolicy"], pod["nodeSelector"]), ("img:1", "Always", {"a.b/c": "x: y"}))
        equal(container["resources"], {"requests": {"amd.com/gpu": "4", "memory": "64Gi", "cpu": "16"},
                                       "limits": {"amd.com/gpu": "4", "memory": "128Gi", "cpu": "32"}})
        equal(container["securityContext"], {"capabilities": {"add": ["SYS_PTRACE"]}, "seccompProfile": {"type": "Unconfined"}})
        equal({e["name"]: e.get("value") for e in container["env"]}["A"], context["env_vars"]["A"])
        script = container["args"][0]
        assert script.endswith("""-- sh -c 'echo '\\''a\tb'\\''\necho c'"""), script
        holds(script, "--nnodes=2 --nproc_per_node=4 --node_rank=${NODE_RANK}")
        equal(subprocess.run(["bash", "-nc", script]).returncode, 0)
        mounts = {v["name"] for v in container["volumeMounts"]}
        equal(mounts, {v["name"] for v in pod["volumes"]})
        equal(objects["PersistentVolumeClaim"]["spec"]["accessModes"], ["ReadWriteMany"])
        equal(objects["Service"]["spec"]["clusterIP"], "None")
        one = p.run("-c", '{"kubernetes": {"allow_privileged_profiling": false}, "gpu_vendor": "NVIDIA", "tools": [{"name": "therock_check"}]}',
                    "--docker=img", "--name", "one", "--generate-only", "--", "true")
        equal(one.returncode, 0)
        objects = {o["kind"]: o for o in yaml.safe_load_all(p.read("gputally-one.yaml"))}
        equal(sorted(objects), ["ConfigMap", "Job", "PersistentVolumeClaim"])
        container = objects["Job"]["spec"]["template"]["spec"]["containers"][0]
        equal(container["resources"]["requests"], {"nvidia.com/gpu": "1", "memory": "16Gi", "cpu": "8"})
        assert "securityContext" not in container
        for words, status, text in ((["-c", '{"k8s": {}}', "--", "true"], 4, "an image that contains gputally is required"),
                                    (["-c", '{"k8s": {}}', "--generate-only", "--", "true"], 4, "an image that contains gputally is required"),
                                    (["--target", "moon", "--", "true"], 2, "invalid choice: 'moon'"),
                                    (["--generate-only", "--", "true"], 2, "--generate_only: local run")):
            done = p.run(*words)
            equal((words, done.returncode), (words, status))
            holds(done.stderr, text)


@test
def performance_lines(binary):
    for line, expected in (("performance: 14164/s, samples_per_second", (14164.0, "samples_per_second")),
                           ("performance: 1.5e-3, /s loss", (0.0015, "loss")), ("performance: -3.5 ms,", (-3.5, "ms")),
                           ("performance:12 x", (None, None)), ("{'train_samples_per_second': 7.25}", (7.25, "samples_per_second"))):
        with Place(binary) as p:
            p.run("--", "echo", line)
            equal((line, p.record()["performance"], p.record()["metric"]), (line, *expected))


def run_tests(tests):
    """Runs tests of the command line that have the word there in their name."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("only", nargs="?", default="")
    options = arguments.parse_args()
    binary = harness.require_binary(options.bin)
    return harness.run_functions([(function.__name__, lambda function=function: function(binary)) for function in tests
                                  if options.only in function.__name__])


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
