#!/usr/bin/env python3
"""`gputally sweep run` with stand-ins for torchrun and rocprofv3: folders, arguments, environment, logs, summary, sweep.json, timeouts,
signals, and remaining processes."""
import json
import os
import re
import signal
import subprocess
import sys
import time

from tests.common.harness import WALL_SECONDS, Case, Outcome, files_under, run_cases

# Prints its arguments and variables, and fails for 42 channels.
TORCHRUN = """#!/bin/sh
printf '<%s>' "$@"; echo
echo "threads $RCCL_THREADS_PER_BLOCK channels $NCCL_MAX_NCHANNELS sdma $HSA_ENABLE_SDMA tracing $PYTORCH_ROCM_PROFILER_ENABLE_TRACING"
echo "sweep $GPUTALLY_SWEEP_DIR output $GPUTALLY_OUTPUT_DIR" >&2
[ "$NCCL_MAX_NCHANNELS" != 42 ] || exit 3
"""
ROCPROF = """#!/bin/sh
echo "rocprofv3: $*"
"""


class Sweep:
    """A folder with the stand-ins on PATH."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        tools = os.path.join(folder, ".tools")
        os.makedirs(tools)
        for name, text in (("torchrun", TORCHRUN), ("rocprofv3", ROCPROF)):
            with open(os.path.join(tools, name), "w") as file:
                file.write(text)
            os.chmod(os.path.join(tools, name), 0o755)
        self.environment = {**os.environ, "PATH": tools + ":" + os.environ["PATH"], "KEPT": "kept", "TZ": "UTC"}

    def start(self, *options):
        return subprocess.Popen([self.binary, "sweep", "run", *options], cwd=self.folder, env=self.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *options):
        process = self.start(*options)
        stdout, stderr = process.communicate(timeout=WALL_SECONDS)
        return Outcome(process.returncode, stdout, stderr, False)

    def files(self):
        return [name for name in files_under(self.folder) if not name.startswith(".tools")]

    def text(self, *parts):
        with open(os.path.join(self.folder, *parts), encoding="utf-8") as file:
            return file.read()

    def only(self, pattern):
        found = [name for name in self.files() if re.fullmatch(pattern, name)]
        return found[0] if len(found) == 1 else f"{len(found)} files like {pattern}"

    def record(self, root="out"):
        return json.loads(self.text(root, "sweep.json"))


def expect(what, got, wanted):
    return [] if got == wanted else [f"{what}: {got!r}, not {wanted!r}"]


def within(what, text, *pieces):
    return [f"{what} has no {piece!r}: {text!r}" for piece in pieces if piece not in text]


def without_durations(text):
    """A log or summary with an N for the seconds that a command took: on a loaded machine any command may take some."""
    text = re.sub(r"((?:SUCCESS|FAILED|TIMEOUT) +)(\d+ *)", lambda m: m[1] + "N".ljust(len(m[2])), text)
    return re.sub(r"duration: \d+s", "duration: Ns", text)


def alive(pid):
    """Whether a process exists and is not a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition):
    end = time.monotonic() + WALL_SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def check_reference(sweep):
    done = sweep.run("--channels", "28,42", "--threads", "256", "--nproc", "2", "--config", "c.yaml", "--output-dir", "out",
                     "--delay", "0")
    log = without_durations(sweep.text(sweep.only(r"out/nccl_thread_sweep_\d{8}_\d{6}\.log")))
    summary = without_durations(sweep.text(sweep.only(r"out/nccl_thread_sweep_summary_\d{8}_\d{6}\.txt"))).splitlines()
    problems = expect("exit code", done.code, 0) + expect("said", done.stderr, "")
    words = "<--nproc_per_node><2><train.py><--config><c.yaml><--override><profiling.tensorboard=false><--override>"
    here = os.path.realpath(sweep.folder)
    for channels in (28, 42):
        out = f"out/256thread/nccl_{channels}channels"
        problems += expect("output", sweep.text(out, "run_output.log"),
                           f"{words}<training.output_dir={out}>\nthreads 256 channels {channels} sdma 0 tracing 1\n"
                           f"sweep {here}/out output {here}/{out}\n")
    problems += within("summary", summary, "256        28              SUCCESS    N              ",
                       "256        42              FAILED     N              ",
                       "THREADS    CHANNELS        STATUS     DURATION(s)    ", "-" * 52, "Output directories:",
                       "  THREADS=256:", "    - out/256thread/nccl_28channels/", "    - out/256thread/nccl_42channels/")
    problems += expect("title", summary[0], "NCCL Channel & Thread Sweep Summary")
    problems += [] if re.fullmatch(r"Generated: \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d UTC \d{4}", summary[1]) else [summary[1]]
    stamped = [line[22:] for line in log.splitlines() if re.match(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] ", line)]
    problems += within("log", stamped, "Running with RCCL_THREADS_PER_BLOCK=256, NCCL_MAX_NCHANNELS=28",
                       "Output directory: out/256thread/nccl_28channels",
                       "[OK] Completed run with THREADS=256, CHANNELS=28 (duration: Ns)",
                       "[ERROR] Failed run with THREADS=256, CHANNELS=42 (exit code: 3, duration: Ns)", "All runs completed!")
    problems += [] if "\x1b" not in log + done.stdout else ["colours"]
    problems += within("printed", done.stdout, "All runs completed!", words, "SUCCESS", "threads 256 channels 42")
    points = sweep.record()["points"]
    problems += expect("statuses", [(p["status"], p["exit_code"], p["directory"], p["values"]) for p in points],
                       [("SUCCESS", 0, "out/256thread/nccl_28channels", {"threads": "256", "channels": "28"}),
                        ("FAILED", 3, "out/256thread/nccl_42channels", {"threads": "256", "channels": "42"})])
    problems += expect("words", points[1]["argv"][:3], ["torchrun", "--nproc_per_node", "2"])
    problems += expect("variable", points[1]["env"]["NCCL_MAX_NCHANNELS"], "42")
    return problems + [f"time {p['start']}" for p in points if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0000", p["start"])]


def check_order(sweep):
    """Threads are the outer loop, channels the inner one, in the given order; a blank line in the summary after each thread value."""
    sweep.run("-c", "70,28", "-t512,256", "-oout", "-n", "--delay", "0")
    points = [tuple(p["values"].values()) for p in sweep.record()["points"]]
    problems = expect("points", points, [("512", "70"), ("512", "28"), ("256", "70"), ("256", "28")])
    problems += [name for name in sweep.files() if "summary" in name]
    sweep.run("-c", "70,28", "-t", "512,256", "-o", "again", "--delay", "0", "--quiet")
    rows = sweep.text(sweep.only(r"again/.*summary.*")).splitlines()[5:13]
    return problems + expect("rows", [" ".join(row.split()[:2]) for row in rows],
                             ["512 70", "512 28", "", "256 70", "256 28", "", "", "Output directories:"])


def check_rocprof(sweep):
    open(os.path.join(sweep.folder, "in.yaml"), "w").close()
    common = ["-c", "28", "-t", "256", "-p", "2", "-f", "c.yaml", "-o", "out", "--rocprof"]
    done = sweep.run(*common, "--rocprof-input", "in.yaml", "--stats")
    tail = ("-- torchrun --nproc_per_node 2 train.py --config c.yaml --override profiling.tensorboard=false --override "
            "training.output_dir=out/256thread/nccl_28channels\n")
    traces = "-d out/256thread/nccl_28channels/rocprof_traces"
    log = ("out", "256thread", "nccl_28channels", "run_output.log")
    problems = expect("with a job file", sweep.text(*log), f"rocprofv3: -i in.yaml {traces} {tail}")
    problems += within("warning", done.stderr, "--stats has no effect with --rocprof_input")
    problems += [] if os.path.isdir(os.path.join(sweep.folder, "out/256thread/nccl_28channels/rocprof_traces")) else ["no folder"]
    sweep.run(*common, "-m")
    problems += expect("with -m", sweep.text(*log), f"rocprofv3: --kernel-trace --stats {traces} --output-format json csv {tail}")
    sweep.run(*common)
    problems += expect("alone", sweep.text(*log), f"rocprofv3: --kernel-trace {traces} --output-format json csv {tail}")
    done = sweep.run("-c", "28", "-t", "256", "-o", "plain", "--rocprof-input", "in.yaml", "--stats")
    problems += within("warning", done.stderr, "--rocprof_input has no effect without --rocprof", "--stats has no effect without --rocprof")
    return problems + ([] if "rocprofv3" not in sweep.text("plain", *log[1:]) else ["ran rocprofv3"])


def check_command(sweep):
    """Any command: placeholders, variables, further axes; no shell interprets the arguments."""
    script = ("import os, sys, json; json.dump([sys.argv[1:], dict(os.environ)], open(sys.argv[1] + '/seen.json', 'w'))")
    done = sweep.run("-c", "28", "-t", "256,512", "-o", "o ut", "--delay", "0", "--axis", "batch=1,b 2", "--axis", "tp=4", "--axis-env",
                     "batch=BATCH", "--axis-dir", "tp=%s-way", "--axis-env", "channels=NCHANNELS", "--env",
                     "WHERE={profiler_dir}:{batch}", "--env", "KEPT=other", "--unset", "HSA_ENABLE_SDMA", "--unset", "HOME", "--nproc",
                     "3", "--config", "{x}", "--", sys.executable, "-c", script, "{output_dir}",
                     "{threads}/{channels}/{nproc}/{config}/{tp}", "{{}} ${HOME}", "*", "--help", "-o")
    # ${HOME} contains an unknown placeholder {HOME}
    problems = expect("exit code", done.code, 2) + within("message", done.stderr, "unknown placeholder '{HOME}' in '{{}} ${HOME}'")
    problems += expect("files", sweep.files(), [])
    done = sweep.run("-c", "28", "-t", "256,512", "-o", "o ut", "--delay", "0", "--axis", "batch=1,b 2", "--axis", "tp=4", "--axis-env",
                     "batch=BATCH", "--axis-dir", "tp=%s-way", "--axis-env", "channels=NCHANNELS", "--env",
                     "WHERE={profiler_dir}:{batch}", "--env", "KEPT=other", "--unset", "HSA_ENABLE_SDMA", "--unset", "HOME", "--nproc",
                     "3", "--config", "{x}", "--", sys.executable, "-c", script, "{output_dir}",
                     "{threads}/{channels}/{nproc}/{config}/{tp}", "{{}} ${{HOME}", "*", "--help", "-o")
    problems += expect("exit code", done.code, 0)
    here = os.path.realpath(sweep.folder)
    for batch in ("1", "b 2"):
        for threads in ("256", "512"):
            out = f"o ut/batch_{batch}/4-way/{threads}thread/nccl_28channels"
            words, variables = json.loads(sweep.text(out, "seen.json"))
            problems += expect("words", words, [out, f"{threads}/28/3/{{x}}/4", "{}} ${HOME}", "*", "--help", "-o"])
            got = {name: variables.get(name) for name in ("BATCH", "NCHANNELS", "NCCL_MAX_NCHANNELS", "RCCL_THREADS_PER_BLOCK", "WHERE",
                                                          "KEPT", "HSA_ENABLE_SDMA", "HOME", "GPUTALLY_OUTPUT_DIR",
                                                          "GPUTALLY_SWEEP_DIR")}
            problems += expect("variables", got, {
                "BATCH": batch, "NCHANNELS": "28", "NCCL_MAX_NCHANNELS": None, "RCCL_THREADS_PER_BLOCK": threads,
                "WHERE": f"{out}/torch_profiler:{batch}", "KEPT": "other", "HSA_ENABLE_SDMA": None, "HOME": None,
                "GPUTALLY_OUTPUT_DIR": f"{here}/{out}", "GPUTALLY_SWEEP_DIR": f"{here}/o ut"})
    summary = sweep.text(sweep.only(r"o ut/.*summary.*"))
    return problems + within("summary", summary, "BATCH           TP              THREADS    CHANNELS        STATUS     DURATION(s)",
                             "b 2             4               512        28              SUCCESS", "  BATCH=b 2, TP=4, THREADS=512:")


def check_skip(sweep):
    os.makedirs(os.path.join(sweep.folder, "out/256thread/nccl_28channels"))
    done = sweep.run("-c", "28,30", "-t", "256", "-o", "out", "-s", "--delay", str(10 * WALL_SECONDS))  # fails if it waits
    problems = expect("exit code", done.code, 0) + within("printed", done.stdout, "Skipping THREADS=256, CHANNELS=28 (directory exists)")
    problems += within("summary", without_durations(sweep.text(sweep.only(r"out/.*summary.*"))),
                       "256        28              SKIPPED    N/A", "256        30              SUCCESS    N")
    problems += expect("record", [(p["status"], p["exit_code"], p["start"] is None) for p in sweep.record()["points"]],
                       [("SKIPPED", None, True), ("SUCCESS", 0, False)])
    return problems + expect("files", [name for name in sweep.files() if "nccl_28channels" in name], [])


# Fails for 30 channels and hangs for 31 unless a file says that all is well; writes a trace.
UNRELIABLE = """mkdir -p {profiler_dir}/rank0
echo $$ >{output_dir}/pid
if [ ! -e well ]; then
    [ {channels} != 30 ] || exit 3
    [ {channels} != 31 ] || sleep 600
fi
echo '{{"traceEvents": []}' >{profiler_dir}/rank0/trace.json
"""


def check_resume(sweep):
    """Only runs that ended well and whose output is whole are skipped; the history of the others is kept."""
    base = ["-t", "256", "-o", "out", "--delay", "0"]
    command = ["--", "sh", "-c", UNRELIABLE]
    sweep.run("-c", "28,29,30,31", *base, "--timeout", "2", *command)
    problems = expect("statuses", [p["status"] for p in sweep.record()["points"]], ["SUCCESS", "SUCCESS", "FAILED", "TIMEOUT"])
    os.remove(os.path.join(sweep.folder, "out/256thread/nccl_29channels/torch_profiler/rank0/trace.json"))
    open(os.path.join(sweep.folder, "well"), "w").close()
    before = sweep.record()["points"][0]
    done = sweep.run("-c", "28,29,30,31", *base[:3], "./out", *base[4:], "-s", *command)
    points = sweep.record()["points"]
    problems += expect("skipped", re.findall(r"Skipping .*CHANNELS=(\d+)", done.stdout), ["28"])
    problems += expect("begun", re.findall(r"Run \d of \d", done.stdout), ["Run 1 of 3", "Run 2 of 3", "Run 3 of 3"])
    problems += expect("statuses after", [p["status"] for p in points], 4 * ["SUCCESS"])
    problems += expect("attempts", [[a["status"] for a in p["attempts"]] for p in points],
                       [["SUCCESS"], ["SUCCESS", "SUCCESS"], ["FAILED", "SUCCESS"], ["TIMEOUT", "SUCCESS"]])
    problems += expect("exit codes of attempts", [a["exit_code"] for a in points[2]["attempts"]], [3, 0])
    problems += expect("the run that was skipped", {**points[0], "directory": ""}, {**before, "directory": ""})
    problems += expect("folder", points[0]["directory"], "./out/256thread/nccl_28channels")
    sessions = sweep.record()["sessions"]
    problems += expect("sessions", [s["start"] <= a["start"] for s, a in zip(sessions, points[2]["attempts"])], [True, True])
    problems += expect("machines", [s["machine"]["kernel"] for s in sessions], 2 * [os.uname().release])
    sweep.run("-c", "28,40", "-t", "512", "-o", "out", "--delay", "0", *command)
    return problems + expect("runs of both sweeps", [p["directory"] for p in sweep.record()["points"]], [
        f"out/{t}thread/nccl_{c}channels" for t, c in ((512, 28), (512, 40), (256, 28), (256, 29), (256, 30), (256, 31))])


def check_resume_after_kill(sweep):
    """A run during which the sweep was killed is not taken for one that ended well, and is run again."""
    options = ["-c", "31", "-t", "256", "-o", "out"]
    open(os.path.join(sweep.folder, "well"), "w").close()
    sweep.run(*options, "--", "sh", "-c", UNRELIABLE)
    os.remove(os.path.join(sweep.folder, "well"))
    pid_file = os.path.join(sweep.folder, "out/256thread/nccl_31channels/pid")
    os.remove(pid_file)
    process = sweep.start(*options, "--", "sh", "-c", UNRELIABLE)
    begun = wait_for(lambda: os.path.exists(pid_file) and open(pid_file).read().strip())
    process.kill()
    process.communicate(timeout=WALL_SECONDS)
    problems = [] if begun else ["did not begin"]
    problems += expect("after the kill", [p["status"] for p in sweep.record()["points"]], ["PENDING"])
    open(os.path.join(sweep.folder, "well"), "w").close()
    done = sweep.run(*options, "-s", "--", "sh", "-c", UNRELIABLE)
    return problems + expect("skipped", done.stdout.count("Skipping"), 0) + expect(
        "at the end", [p["status"] for p in sweep.record()["points"]], ["SUCCESS"])


def check_other_axes(sweep):
    """An axis alone, without threads and channels: folders, variables, summary and sweep.json."""
    done = sweep.run("-c", "none", "-t", "none", "--axis", "mode=fast,slow", "--axis-env", "mode=MODE", "-o", "out", "--delay", "0", "--",
                     "sh", "-c", "echo $MODE {mode} ${{NCCL_MAX_NCHANNELS-unset} ${{RCCL_THREADS_PER_BLOCK-unset}")
    problems = expect("exit code", done.code, 0) + expect("said", done.stderr, "")
    for mode in ("fast", "slow"):
        problems += expect("output", sweep.text(f"out/mode_{mode}/run_output.log"), f"{mode} {mode} unset unset\n")
    summary = without_durations(sweep.text(sweep.only(r"out/.*summary.*")))
    problems += within("summary", summary, "MODE            STATUS     DURATION(s)", "slow            SUCCESS    N",
                       "Output directories:\n    - out/mode_fast/\n")
    problems += within("log", done.stdout, "Testing mode: fast slow", "Running with MODE=fast", "[OK] Completed run with mode=slow")
    record = sweep.record()
    problems += expect("axes", record["axes"], [{"name": "mode", "values": ["fast", "slow"], "variable": "MODE", "folder": "mode_%s"}])
    return problems + expect("values", [p["values"] for p in record["points"]], [{"mode": "fast"}, {"mode": "slow"}])


def check_repeats(sweep):
    """Each setting several times in an order that the seed decides."""
    def titles(root, *options):
        done = sweep.run("-c", "28,30,31", "-t", "256", "--repeat", "3", "-o", root, "--delay", "0", *options)
        return re.findall(r"Completed run with (.*) \(duration", done.stdout)

    first, same, other = titles("a", "--seed", "7"), titles("b", "--seed", "7"), titles("c", "--seed", "8")
    grid = [f"THREADS=256, CHANNELS={c}, repeat {k}" for k in (1, 2, 3) for c in (28, 30, 31)]
    problems = expect("runs", sorted(first), sorted(grid)) + expect("the same seed", same, first)
    problems += [] if grid != first != other else ["the order is not random"]
    record = sweep.record("a")
    problems += expect("record", (record["seed"], record["repeats"]), (7, 3))
    problems += expect("folders", [(p["repeat"], p["directory"]) for p in record["points"]], [
        (k, f"a/{'' if k == 1 else f'repeat_{k}/'}256thread/nccl_{c}channels") for k in (1, 2, 3) for c in (28, 30, 31)])
    return problems + [name for name in (p["directory"] for p in record["points"])
                       if not os.path.exists(os.path.join(sweep.folder, name, "run_output.log"))]


# Says which GPUs it has, and waits until as many runs as there are slots have begun.
AT_ONCE = """echo "$HIP_VISIBLE_DEVICES $CUDA_VISIBLE_DEVICES ${{ROCR_VISIBLE_DEVICES-unset}"
echo x >begun_{channels}
while [ $(ls begun_* | wc -l) -lt 2 ]; do sleep 0.05; done
[ {channels} != 30 ] || exit 3
"""


def check_slots(sweep):
    """Two runs at once, each with its half of the GPUs; the folders and the record are those of a sweep without slots."""
    for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        sweep.environment.pop(name, None)
    done = sweep.run("-c", "28,29,30,31,32", "-t", "256", "-o", "out", "--delay", "0", "--slots", "2", "--gpus", "0,1,2,3,4",
                     "--", "sh", "-c", AT_ONCE)
    problems = expect("exit code", done.code, 0) + expect("said", done.stderr, "")
    texts = [sweep.text(f"out/256thread/nccl_{c}channels/run_output.log") for c in range(28, 33)]
    problems += expect("GPUs", set(texts), {"0,1 0,1 unset\n", "2,3 2,3 unset\n"})
    problems += expect("statuses", [p["status"] for p in sweep.record()["points"]], ["SUCCESS", "SUCCESS", "FAILED", "SUCCESS", "SUCCESS"])
    problems += expect("exit code of the run", sweep.record()["points"][2]["exit_code"], 3)
    problems += expect("outputs", sweep.record()["points"][0]["output_files"], 1)
    problems += within("log", done.stdout, "Slot 1: GPUs 0,1", "Slot 2: GPUs 2,3", "Run 5 of 5", "[ERROR] Failed run with THREADS=256, CHANNELS=30")
    sweep.environment["ROCR_VISIBLE_DEVICES"] = "4,6"
    sweep.run("-c", "28,29", "-t", "256", "-o", "named", "--slots", "2", "--", "sh", "-c", "echo $ROCR_VISIBLE_DEVICES ${{HIP_VISIBLE_DEVICES-unset}")
    problems += expect("GPUs of the variable", {sweep.text(f"named/256thread/nccl_{c}channels/run_output.log") for c in (28, 29)},
                       {"4 unset\n", "6 unset\n"})
    done = sweep.run("-c", "28,29", "-t", "256", "-o", "few", "--slots", "3")
    problems += expect("too few", done.code, 2) + within("too few", done.stderr, "3 slots but 2 GPUs")
    done = sweep.run("-c", "28,29,30,31,32", "-t", "256", "-o", "out", "--delay", "0", "--slots", "2", "--gpus", "none", "-s", "--", "true")
    return problems + expect("continued", (done.stdout.count("Skipping"), {p["status"] for p in sweep.record()["points"]}), (4, {"SUCCESS"}))


def check_signal_of_slots(sweep):
    """All commands end, also with a signal to this program alone, and if it is killed."""
    problems = []
    for number, status in ((signal.SIGTERM, "INTERRUPTED"), (signal.SIGINT, "INTERRUPTED"), (signal.SIGKILL, "PENDING")):
        for channels in (28, 29):
            if os.path.exists(os.path.join(sweep.folder, f"pid_{channels}")):
                os.remove(os.path.join(sweep.folder, f"pid_{channels}"))
        out = f"out{number}"
        process = sweep.start("-c", "28,29,30", "-t", "256", "-o", out, "--slots", "2", "--gpus", "none", "--", "sh", "-c", STARTS_BACKGROUND_PROCESS)
        logs = [os.path.join(sweep.folder, out, f"256thread/nccl_{c}channels/run_output.log") for c in (28, 29)]
        begun = wait_for(lambda: all(os.path.exists(log) and "begun" in open(log).read() for log in logs))
        process.send_signal(number)
        process.communicate(timeout=WALL_SECONDS)
        problems += [] if begun else ["did not begin"]
        problems += expect("exit code", process.returncode, -9 if number == signal.SIGKILL else 130)
        for channels in (28, 29):
            pid = int(sweep.text(f"pid_{channels}"))
            problems += [] if wait_for(lambda: not alive(pid)) else [f"left {pid} running"]
        if number != signal.SIGKILL:
            problems += expect("statuses", [p["status"] for p in sweep.record(out)["points"]], [status, status, "PENDING"])
    return problems


def check_terminate(sweep):
    """A command that ignores Ctrl-C gets SIGTERM before it is killed."""
    command = "trap '' INT; trap 'echo terminated >said; exit 1' TERM; echo begun >begun; while :; do sleep 0.1; done"
    process = sweep.start("-c", "28", "-t", "256", "-o", "out", "--", "sh", "-c", command)
    begun = wait_for(lambda: os.path.exists(os.path.join(sweep.folder, "begun")))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=WALL_SECONDS)
    problems = [] if begun else ["did not begin"]
    return problems + expect("exit code", process.returncode, 130) + expect(
        "said", sweep.text("said") if os.path.exists(os.path.join(sweep.folder, "said")) else None, "terminated\n")


def check_progress(sweep):
    done = sweep.run("-c", "28,30,31", "-t", "256", "-o", "out", "--delay", "0", "--", "sh", "-c", "sleep 1")
    lines = [line.partition("] ")[2] for line in done.stdout.splitlines() if "] Run " in line]
    problems = expect("lines", len(lines), 3) + expect("first", lines[0], "Run 1 of 3")
    for line, number, left in zip(lines[1:], (2, 3), (2, 1)):
        found = re.fullmatch(rf"Run {number} of 3, about (\d+) s left", line)
        problems += [] if found and int(found[1]) >= left else [f"line: {line!r}"]
    return problems


def check_delay(sweep):
    began = time.monotonic()
    done = sweep.run("-c", "28,30,31", "-t", "256", "-o", "out", "--delay", "1")
    seconds = time.monotonic() - began
    return ([] if seconds >= 2 else [f"took {seconds} seconds"]) + expect(
        "waits", done.stdout.count("Waiting 1 seconds before next run..."), 2)


STARTS_BACKGROUND_PROCESS = "sleep 600 & echo $! >pid_{channels}; echo begun; wait"


def check_timeout(sweep):
    command = ["--", "sh", "-c", STARTS_BACKGROUND_PROCESS]
    for seconds in ("1", "10", "100", "1000"):  # until the commands reach their first line
        out = "out" + seconds
        done = sweep.run("-c", "28,30", "-t", "256", "-o", out, "--delay", "0", "--timeout", seconds, *command)
        if all(os.path.exists(os.path.join(sweep.folder, f"pid_{channels}")) for channels in (28, 30)):
            break
    problems = expect("exit code", done.code, 1)
    problems += within("summary", without_durations(sweep.text(sweep.only(out + r"/.*summary.*"))),
                       "256        28              TIMEOUT    N", "256        30              TIMEOUT    N")
    problems += expect("statuses", [p["status"] for p in sweep.record(out)["points"]], ["TIMEOUT", "TIMEOUT"])
    for channels in (28, 30):
        pid = int(sweep.text(f"pid_{channels}"))
        problems += [] if wait_for(lambda: not alive(pid)) else [f"left {pid} running"]
    return problems


def check_signal(sweep, number):
    """The command's process group ends; other processes stay, also one with train.py in its command line."""
    bystander = subprocess.Popen(["sh", "-c", "sleep 600; : train.py torchrun"], start_new_session=True)
    try:
        process = sweep.start("-c", "28,30", "-t", "256", "-o", "out", "--", "sh", "-c", STARTS_BACKGROUND_PROCESS)
        log = os.path.join(sweep.folder, "out/256thread/nccl_28channels/run_output.log")
        if not wait_for(lambda: os.path.exists(log) and "begun" in open(log).read()):
            process.kill()
            return ["the command did not start"]
        pid = int(sweep.text("pid_28"))
        process.send_signal(number)
        stdout, _ = process.communicate(timeout=WALL_SECONDS)
        problems = expect("exit code", process.returncode, 130) + within("printed", stdout, "=== Caught interrupt signal ===")
        problems += [] if wait_for(lambda: not alive(pid)) else [f"left {pid} running"]
        problems += [] if alive(bystander.pid) else ["killed another program"]
        problems += expect("statuses", [p["status"] for p in sweep.record()["points"]], ["INTERRUPTED", "PENDING"])
        return problems + [name for name in sweep.files() if "nccl_30" in name or "summary" in name]
    finally:
        os.killpg(bystander.pid, signal.SIGKILL)
        bystander.wait()


def check_signal_between(sweep):
    process = sweep.start("-c", "28,30", "-t", "256", "-o", "out", "--delay", "600")
    for line in process.stdout:
        if "Waiting 600 seconds" in line:
            break
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=WALL_SECONDS)
    return expect("exit code", process.returncode, 130) + expect(
        "statuses", [p["status"] for p in sweep.record()["points"]], ["SUCCESS", "PENDING"])


def check_all_failed(sweep):
    """Nothing says that all runs are complete if none is; one good run is enough for the sentence and the status of the script."""
    problems = []
    for options, code in ((["-c", "28,42"], 1), (["-c", "28,42", "--slots", "2", "--gpus", "none"], 1), (["-c", "28"], 1), (["-c", "28,42", "-n"], 1)):
        done = sweep.run(*options, "-t", "256", "-o", "out", "--delay", "0", "--", "false")
        last = done.stdout.splitlines()[-1].split("] ", 1)[1]
        wanted = "[ERROR] All runs failed; run_output.log in their folders says why" if "28,42" in options else "[ERROR] The run failed; run_output.log in its folder says why"
        problems += expect(f"{options}", (done.code, last, "completed" in done.stdout), (code, wanted, False))
    done = sweep.run("-c", "28,42", "-t", "256", "-o", "out", "--delay", "0", "--", "sh", "-c", "test {channels} = 28")
    problems += expect("one good run", (done.code, done.stdout.splitlines()[-1].split("] ", 1)[1]), (0, "All runs completed!"))
    done = sweep.run("-c", "28,42", "-t", "256", "-o", "other", "--delay", "0", "--fail-on-error", "--", "sh", "-c", "test {channels} = 28")
    problems += expect("--fail-on-error", (done.code, done.stdout.splitlines()[-1].split("] ", 1)[1]), (1, "All runs completed!"))
    done = sweep.run("-c", "28,42", "-t", "256", "-o", "out", "--delay", "0", "-s", "--", "sh", "-c", "test {channels} = 28")
    return problems + expect("the failed one again", (done.code, done.stdout.count("The run failed")), (1, 1))


def check_dry_run(sweep):
    script = "printf '%s|' \"$@\" \"$B\" ${HSA_ENABLE_SDMA-none}; echo"
    options = ["-c", "28", "-t", "256", "-o", "o'ut", "--env", "B=a 'b' $c", "--unset", "HSA_ENABLE_SDMA", "--", "sh", "-c",
               script.replace("{", "{{"), "sh", "x y", "{output_dir}", ""]
    done = sweep.run("--dry-run", *options)
    problems = expect("exit code", done.code, 0) + expect("files", sweep.files(), [])
    lines = done.stdout.splitlines()
    problems += expect("title", lines[0], "# THREADS=256, CHANNELS=28")
    by_shell = subprocess.run(["sh", "-c", lines[1]], cwd=sweep.folder, env=sweep.environment, capture_output=True, text=True).stdout
    sweep.run(*options)
    by_sweep = sweep.text("o'ut", "256thread", "nccl_28channels", "run_output.log")
    return problems + expect("effect of the printed line", by_shell, by_sweep) + expect(
        "effect of the sweep", by_sweep, "x y|o'ut/256thread/nccl_28channels||a 'b' $c|none|\n")


def check_job_files(sweep):
    done = sweep.run("--write-job-files", "jobs")
    problems = expect("exit code", done.code, 0)
    counters = {"rocprof_cu_only.yaml": "SQ_BUSY_CU_CYCLES SQ_WAVES SQ_WAVE_CYCLES SQ_INSTS_MFMA",
                "rocprof_input.yaml": "SQ_WAVES SQ_INSTS_VALU SQ_INSTS_MFMA SQ_ACTIVE_INST_ANY SQ_BUSY_CYCLES SQ_BUSY_CU_CYCLES SQ_WAVE_CYCLES "
                                      "SQ_WAVES_RESTORED SQ_INSTS_LDS SQ_INSTS_SMEM SQ_INSTS_VMEM SQ_WAIT_INST_LDS SQ_INSTS_VSKIPPED "
                                      "SQ_THREAD_CYCLES_VALU"}
    formats = {"rocprof_cu_only.yaml": "[json, csv]", "rocprof_input.yaml": "[json, csv, pftrace]"}
    for name, wanted in counters.items():
        lines = [line.partition(" #")[0].rstrip() for line in sweep.text("jobs", name).splitlines()]
        problems += expect("counters", [line[8:] for line in lines if line.startswith("      - ")], wanted.split())
        problems += within(name, lines, '  - kernel_include_regex: "(gemm|Cijk_.*)"', "    kernel_trace: true",
                           "    output_format: " + formats[name], "    pmc:")
    return problems + within("rocprof_input.yaml", sweep.text("jobs", "rocprof_input.yaml"), "    stats: true", "    sys_trace: false",
                             "    advanced_thread_trace: false")


def check_usage(sweep, options, code, message):
    done = sweep.run(*options)
    return expect("exit code", done.code, code) + expect("files", sweep.files(), []) + within("message", done.stderr, message)


def check_root_is_a_file(sweep):
    open(os.path.join(sweep.folder, "out"), "w").close()
    done = sweep.run("-o", "out")
    return expect("exit code", done.code, 1) + within("message", done.stderr, "gputally: cannot create folder out")


def check_default_root(sweep):
    done = sweep.run("-c", "28", "-t", "256", "--quiet")
    name = sweep.only(r"experiments/sweep_\d{8}_\d{6}/sweep\.json")
    return expect("exit code", done.code, 0) + expect("printed", done.stdout + done.stderr, "") + (
        [] if name.endswith("sweep.json") else [name])


USAGE = [
    (["-c", "28,x"], 2, "argument --channels: 'x' is not an integer"),
    (["-c", "28,"], 2, "argument --channels: '' is not an integer"),
    (["-t", "256,256"], 2, "argument --threads: '256' is given twice"),
    (["--axis", "a"], 2, "argument --axis: 'a' is not NAME=value,value"),
    (["--axis", "config=1"], 2, "argument --axis: config is a reserved name"),
    (["--axis", "a=1,2", "--axis", "a=3"], 2, "argument --axis: a is given twice"),
    (["--axis", "threads=1", "--axis", "threads=2"], 2, "argument --axis: threads is given twice"),
    (["-t", "256", "--axis", "threads=512"], 2, "argument --axis: threads is given twice, also as --threads"),
    (["--slots", "2", "--gpus", "0,0", "--", "true"], 2, "argument --gpus: GPU 0 is named twice in '0,0'"),
    (["--slots", "3", "--gpus", "0,1", "--dry-run", "--", "true"], 2, "argument --gpus: 3 slots but 2 GPUs"),
    (["--axis", "a=x/y"], 2, "argument --axis: a: 'x/y' cannot be part of a folder name"),
    (["--axis", "a=.."], 2, "argument --axis: a: '..' cannot be part of a folder name"),
    (["--axis-env", "b=C"], 2, "argument --axis_env: no axis b"),
    (["--axis-dir", "threads=x"], 2, "argument --axis_dir: 'x' must contain %s exactly once"),
    (["--axis-dir", "threads=../%s"], 2, "argument --axis_dir: '../%s' must contain %s exactly once"),
    (["--env", "=x"], 2, "'=x' is not NAME=value"),
    (["--unset", "A=b"], 2, "'A=b' is not a valid variable name"),
    (["--", "echo", "{"], 2, "unknown placeholder '{' in '{'; write {{ for a literal brace"),
    (["--", "echo", "{nothing}"], 2, "unknown placeholder '{nothing}' in '{nothing}'"),
    (["--nproc", "0"], 2, "argument --nproc: must be at least 1"),
    (["--delay", "-1"], 2, "argument --delay: must be at least 0"),
    (["--frobnicate"], 2, "unrecognized arguments: --frobnicate"),
    (["--axis", "a=" + ",".join(map(str, range(1001)))], 2, "argument --axis: a: more than 1000 values"),
    (["--axis", "a=" + ",".join(map(str, range(1000))), "--axis", "b=1,2"], 2, "more than 10000 points in the grid"),
    (["--", "no_such_command_anywhere"], 1, "gputally: command not found: no_such_command_anywhere"),
    (["--rocprof", "--rocprof-input", "none.yaml"], 1, "gputally: job file not found: none.yaml"),
]
CASES = [
    Case("like the original script", check_reference),
    Case("order of points", check_order),
    Case("rocprofv3", check_rocprof),
    Case("any command", check_command),
    Case("skip existing", check_skip),
    Case("continue a sweep", check_resume),
    Case("continue a sweep that was killed", check_resume_after_kill),
    Case("an axis without threads and channels", check_other_axes),
    Case("repeats", check_repeats),
    Case("several runs at once", check_slots),
    Case("several runs at once end with a signal", check_signal_of_slots),
    Case("SIGTERM after Ctrl-C", check_terminate),
    Case("what is left", check_progress),
    Case("delay", check_delay),
    Case("timeout", check_timeout),
    Case("SIGINT", check_signal, signal.SIGINT),
    Case("SIGTERM", check_signal, signal.SIGTERM),
    Case("SIGTERM between two runs", check_signal_between),
    Case("all runs failed", check_all_failed),
    Case("dry run", check_dry_run),
    Case("job files", check_job_files),
    Case("root is a file", check_root_is_a_file),
    Case("default root", check_default_root),
] + [Case("usage: " + " ".join(options)[:60], check_usage, options, code, message) for options, code, message in USAGE]


if __name__ == "__main__":
    sys.exit(run_cases(__doc__, CASES, lambda binary, folder: (Sweep(binary, folder),)))
