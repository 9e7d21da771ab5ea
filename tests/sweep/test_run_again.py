#!/usr/bin/env python3
"""`gputally sweep run` into a folder that has a sweep already, and slots in trouble."""
import csv
import json
import os
import signal
import subprocess
import sys

from tests.common.harness import WALL_SECONDS, Case, run, run_cases
from tests.sweep.generate_sweep import read_workbook, trace
from tests.sweep.test_run import Sweep, alive, expect, wait_for, within

# Writes a trace whose name differs from run to run, as torch.profiler's does; NUMBER is also the duration of its kernels.
WRITER = """import json, os, sys
number, folder = int(os.environ["NUMBER"]), sys.argv[1] + "/rank0"
os.makedirs(folder, exist_ok=True)
with open("template.json") as file:
    trace = json.load(file)
for event in trace["traceEvents"]:
    if event.get("cat") == "kernel":
        event["dur"] = float(number)
with open(f"{folder}/host_{number}.pt.trace.json", "w") as file:
    json.dump(trace, file)
print("run", number)
sys.exit(int(os.environ.get("CODE", 0)))
"""
POINT = "out/256thread/nccl_28channels"


def write_with(sweep, number, *words, code=0, said=""):
    """One run, or several repeats, whose trace has this number."""
    for name, text in (("writer.py", WRITER), ("template.json", json.dumps(trace(256, 28, 0)))):
        with open(os.path.join(sweep.folder, name), "w") as file:
            file.write(text)
    done = sweep.run("-c", "28", "-t", "256", "-o", "out", "--env", f"NUMBER={number}", "--env", f"CODE={code}", *words, "--",
                     "python3", "writer.py", "{profiler_dir}")
    return expect(f"exit code of run {number}", (done.code, done.stderr if not said else ""), (1 if code else 0, "")) + within("said", done.stderr, said)


def kernel_us(sweep):
    """The mean duration of a kernel in the report."""
    done = run([sweep.binary, "sweep", "report", "--quiet", "out"], cwd=sweep.folder)
    book = read_workbook(os.path.join(sweep.folder, "out/tracelens_analysis/256thread/individual_reports/perf_28ch_rank0.xlsx"))
    heading, *rows = book["kernel_summary"]
    return done.problems(), {row[heading.index("Kernel duration (µs)_mean")] for row in rows}


def check_second_run(sweep):
    """The traces of an earlier run are not taken for those of the last one, whatever their names; they are kept."""
    problems = write_with(sweep, 1) + write_with(sweep, 2)
    found, durations = kernel_us(sweep)
    problems += found + expect("durations", durations, {2.0})
    problems += expect("trace", os.listdir(os.path.join(sweep.folder, POINT, "torch_profiler/rank0")), ["host_2.pt.trace.json"])
    problems += expect("log", sweep.text(POINT, "run_output.log"), "run 2\n")
    problems += expect("earlier log", sweep.text(POINT, "earlier/1/run_output.log"), "run 1\n")
    problems += expect("earlier trace", os.listdir(os.path.join(sweep.folder, POINT, "earlier/1/torch_profiler/rank0")), ["host_1.pt.trace.json"])
    return problems + expect("attempts", len(sweep.record()["points"][0]["attempts"]), 2)


def check_resume_after_failure(sweep):
    """A failed run has left a trace: it is set aside, and may be deleted without the run counting as incomplete."""
    problems = write_with(sweep, 1, code=3) + write_with(sweep, 2, "-s")
    found, durations = kernel_us(sweep)
    problems += found + expect("durations", durations, {2.0})
    subprocess.run(["rm", "-r", os.path.join(sweep.folder, POINT, "earlier")], check=True)
    problems += write_with(sweep, 3, "-s", said="1 run of another command (env 'NUMBER=2' 'CODE=0' python3 writer.py '{profiler_dir}') is not run again")
    point, = sweep.record()["points"]
    return problems + expect("attempts", [a["status"] for a in point["attempts"]], ["FAILED", "SUCCESS"])


def check_several_at_once(sweep):
    """The same with slots and rocprofv3's folder, which is made before a slot is free."""
    words = ["-c", "28,29,30,31", "-t", "256", "-o", "out", "--delay", "0", "--rocprof", "--slots", "2", "--gpus", "none", "--", "true"]
    problems = expect("first", sweep.run(*words).code, 0) + expect("second", sweep.run(*words).code, 0)
    for channels in 28, 29, 30, 31:
        folder = os.path.join(sweep.folder, f"out/256thread/nccl_{channels}channels")
        problems += expect("folder", sorted(os.listdir(folder)), ["earlier", "rocprof_traces", "run_output.log"])
        problems += expect("earlier", sorted(os.listdir(os.path.join(folder, "earlier"))), ["1"])
    return problems


def check_two_sweeps_at_once(sweep):
    """The second one in a folder is refused while the first one runs, also after kill -9 of an earlier one."""
    for number in (signal.SIGKILL, signal.SIGTERM):
        process = sweep.start("-c", "28", "-t", "256", "-o", "out", "--", "sh", "-c", "echo > began; sleep 600")
        problems = [] if wait_for(lambda: os.path.exists(os.path.join(sweep.folder, "began"))) else ["the run did not begin"]
        os.remove(os.path.join(sweep.folder, "began"))
        done = sweep.run("-c", "28", "-t", "256", "-o", "out", "--", "true")
        problems += expect("exit code", done.code, 1) + within("said", done.stderr, "out: another `gputally sweep run` is at work in this folder")
        process.send_signal(number)
        process.communicate(timeout=WALL_SECONDS)
        if problems:
            return problems
    done = sweep.run("-c", "28", "-t", "256", "-o", "out", "-s", "--", "true")
    return expect("afterwards", (done.code, [a["status"] for a in sweep.record()["points"][0]["attempts"]]), (0, ["INTERRUPTED", "SUCCESS"]))


def statuses(sweep):
    return [point["status"] for point in sweep.record()["points"]]


# The second setting waits after half of its output, unless there is a file `well`.
HALF = """mkdir -p {profiler_dir}/rank0; echo > {profiler_dir}/rank0/half.json
[ {channels} != 29 ] || [ -e well ] || { echo > began; sleep 600; }""".replace("{ ", "{{ ")


def check_killed_in_first_run(sweep, channels, slots):
    """kill -9 during the first run of a new folder, with slots during two of them: during the run and after it, no step takes its half
    output, and -s runs it again."""
    words = ["-c", channels, "-t", "256", "-o", "out", "--delay", "0", *slots]
    command = ["--", "sh", "-c", HALF]
    process = sweep.start(*words, *command)
    problems = [] if wait_for(lambda: os.path.exists(os.path.join(sweep.folder, "began"))) else ["the run did not begin"]
    problems += expect("during the run", statuses(sweep)[channels.split(",").index("29")], "PENDING")
    measured = run([sweep.binary, "sweep", "decide", "out"], cwd=sweep.folder)
    problems += expect("decide", measured.code, 1) + within("decide", measured.stderr, "1 PENDING" if channels == "29" else "PENDING")
    process.kill()
    process.communicate(timeout=WALL_SECONDS)
    open(os.path.join(sweep.folder, "well"), "w").close()
    done = sweep.run(*words, "-s", *command)
    problems += expect("continued", (done.code, statuses(sweep)), (0, ["SUCCESS"] * len(channels.split(","))))
    return problems + expect("skipped", "nccl_29" in done.stdout and "Skipping THREADS=256, CHANNELS=29" not in done.stdout, True)


def check_record_not_written(sweep):
    """sweep.json cannot be written at the end of the second run, as on a full disk: the run does not count as finished, none follows it,
    and -s runs it and the rest. If it cannot be written before the first run, nothing is run."""
    words = ["-c", "28,29,30", "-t", "256", "-o", "out", "--delay", "1", "-s"]
    block = "[ {channels} != 29 ] || [ -e well ] || { mv out/sweep.json kept; mkdir -p out/sweep.json/x; }".replace("{ ", "{{ ")
    done = sweep.run(*words, "--", "sh", "-c", block)
    problems = expect("exit code", done.code, 1) + within("said", done.stderr, "out/sweep.json")
    problems += expect("third", os.path.exists(os.path.join(sweep.folder, "out/256thread/nccl_30channels")), False)
    done = sweep.run("-c", "31", "-t", "256", "-o", "out", "--", "true")
    problems += expect("not begun", (done.code, os.path.exists(os.path.join(sweep.folder, "out/256thread/nccl_31channels"))), (1, False))
    subprocess.run("rm -r out/sweep.json; mv kept out/sweep.json; echo > well", shell=True, cwd=sweep.folder, check=True)
    problems += expect("recorded", statuses(sweep), ["SUCCESS", "PENDING", "PENDING"])
    done = sweep.run(*words, "--", "sh", "-c", block)
    problems += expect("skipped", done.stdout.count("Skipping"), 1)
    return problems + expect("continued", (done.code, statuses(sweep)), (0, ["SUCCESS"] * 3))


def analysed(sweep, *step):
    """The warnings of a step, and the numbers of the runs whose traces `decide` has measured."""
    done = run([sweep.binary, "sweep", *step], cwd=sweep.folder)
    with open(os.path.join(sweep.folder, "out/tracelens_analysis/recommendation.csv"), newline="", encoding="utf-8") as file:
        row, = csv.DictReader(file)
    return done, row["measurements"]


def check_other_command(sweep):
    """Repeats of two commands are not mixed: the steps use those of the newest command that has runs, and name the others. What was run
    with another command and is not run now is named by `sweep run`."""
    repeats = ["--delay", "0", "--repeat"]
    problems = write_with(sweep, 1, *repeats, "4")
    done, measured = analysed(sweep, "decide", "out")
    problems += expect("one command", (done.code, "warning" in done.stderr, measured), (0, False, "4"))
    problems += write_with(sweep, 2, *repeats, "2", said="2 runs of another command (env 'NUMBER=1' 'CODE=0' python3 writer.py '{profiler_dir}') are "
                           "not run again: repeat_3/256thread/nccl_28channels, repeat_4/256thread/nccl_28channels")
    left_out = ("2 of 4 runs had another command (env 'NUMBER=1' 'CODE=0' python3 writer.py '{profiler_dir}') than the newest runs (env 'NUMBER=2' "
                "'CODE=0' python3 writer.py '{profiler_dir}') and are left out: 256thread_28ch_repeat_3, 256thread_28ch_repeat_4")
    done, measured = analysed(sweep, "decide", "out")
    problems += expect("measured", (done.code, measured), (0, "2")) + within("decide", done.stderr, left_out)
    done = run([sweep.binary, "sweep", "report", "--quiet", "out"], cwd=sweep.folder)
    problems += expect("report", done.code, 0) + within("report", done.stderr, left_out)
    written = [name for name in sweep.files() if name.endswith("rank0.xlsx") and "individual" in name]
    problems += expect("reports", sorted(written), ["out/tracelens_analysis/256thread/individual_reports/perf_28ch_rank0.xlsx",
                                                    "out/tracelens_analysis/repeat_2/256thread/individual_reports/perf_28ch_rank0.xlsx"])
    # A call that runs nothing changes nothing, and a run that failed is not the newest.
    problems += write_with(sweep, 3, *repeats, "4", "-s", said="4 runs of another command")
    problems += within("only skipped", analysed(sweep, "decide", "out")[0].stderr, left_out)
    problems += write_with(sweep, 4, code=3, said="3 runs of another command")
    done, measured = analysed(sweep, "decide", "out")
    problems += expect("after a failure", measured, "1") + within("after a failure", done.stderr, "1 FAILED", "2 of 3 runs had another command")
    # The first command again is the newest one; another path to the folder and other repeats are the same command.
    problems += write_with(sweep, 1, *repeats, "2", "-o", os.path.join(sweep.folder, "out"))
    done, measured = analysed(sweep, "decide", "out")
    return problems + expect("again", (done.code, "warning" in done.stderr, measured), (0, False, "4"))


# Prints its secrets, then fails if it is told so.
SPENDER = "import os, sys; print(os.environ['HF_TOKEN'], os.environ['WANDB_API_KEY'], *sys.argv[1:]); sys.exit(os.path.exists('fail'))"


def leaks(sweep, *secrets):
    """The files with one of these, except the output of the command."""
    return [name for name in sweep.files() if not name.endswith("run_output.log") and any(s in sweep.text(name) for s in secrets)]


def check_secret(sweep):
    """No secret in what is printed and written: of --env, of the environment and of arguments. A sweep is continued with other ones."""
    sweep.environment["WANDB_API_KEY"] = "inherited-1"
    own = ["token two", "inherited-1", "sk 3", "pw 4"]

    def words(token, key, *options):
        return ["-c", "28,42", "-t", "256", "-o", "out", "--delay", "0", *options, "--env", f"HF_TOKEN={token}", "--env", f"HEADER=Bearer {token}", "--",
                sys.executable, "-c", SPENDER, "--api-key", key, "--db-password=pw 4", "inherited-1"]
    with open(os.path.join(sweep.folder, "fail"), "w"):
        first = sweep.run(*words("token two", "sk 3"))
    problems = expect("given to the command", sweep.text(POINT, "run_output.log"), "token two inherited-1 --api-key sk 3 --db-password=pw 4 inherited-1\n")
    problems += expect("leaks", (leaks(sweep, *own), [s for s in own if s in first.stderr]), ([], []))
    point = sweep.record()["points"][0]
    problems += expect("argv", point["argv"][3:], ["--api-key", "***", "--db-password=***", "***"])
    problems += expect("env", (point["env"]["HF_TOKEN"], point["env"]["HEADER"], point["env"]["NCCL_MAX_NCHANNELS"]), ("***", "Bearer ***", "28"))
    shown = sweep.run("--dry_run", *words("token two", "sk 3")).stdout
    problems += within("dry run", shown, "'HF_TOKEN=***'", "--api-key '***'") + expect("dry run leaks", [s for s in own if s in shown], [])
    os.remove(os.path.join(sweep.folder, "fail"))
    again = sweep.run(*words("token five", "sk 6", "-s"))
    problems += expect("said", again.stderr, "") + expect("other secrets", sweep.text(POINT, "run_output.log").split(" inherited")[0], "token five")
    problems += expect("leaks again", leaks(sweep, *own, "token five", "sk 6"), [])
    record = sweep.record()
    problems += expect("one command", ([p["status"] for p in record["points"]], len(record["commands"])), (["SUCCESS"] * 2, 1))
    done = sweep.run("-c", "28,42", "-t", "256", "-o", "out", "-s", "--env", "HF_TOKEN=token two", "--", "true", "{nproc}", "{{{channels}")
    return problems + within("warning", done.stderr, "runs of another command (env 'HF_TOKEN=***' 'HEADER=Bearer ***' ")


def check_folder_of_a_run(sweep):
    """The folder of a run instead of the sweep's: the message names the sweep. Likewise a folder above it, and a sweep that has not begun."""
    words = ["-c", "none", "-t", "none", "--axis", "mode=a b", "-o", "q/s 1", "--delay", "0", "--"]
    problems = expect("exit code", sweep.run(*words, "true").code, 0)
    for folder, said in (("q/s 1/mode_a b", f"q/s 1/mode_a b has no runs of its own; it is part of the sweep {os.path.realpath(sweep.folder)}/q/s 1"),
                         ("q", "no runs of a sweep in q: no sweep.json, no *thread directories, and no folders NAME_value with torch_profiler")):
        for step in "decide", "report":
            done = run([sweep.binary, "sweep", step, folder], cwd=sweep.folder)
            problems += expect(folder, (done.code, done.stdout), (1, "")) + within(folder, done.stderr, said)
    subprocess.run(["rm", "-r", os.path.join(sweep.folder, "q/s 1/mode_a b")], check=True)
    record = os.path.join(sweep.folder, "q/s 1/sweep.json")
    with open(record, encoding="utf-8") as file:
        text = file.read()
    for status, said in ("SUCCESS", "warning: 1 of 1 runs in sweep.json ended well, but their folders are gone: mode_a b\ngputally: no run of the sweep q/s 1 is left\n"), \
                        ("PENDING", "no run of the sweep q/s 1 has begun\n"):
        with open(record, "w", encoding="utf-8") as file:
            file.write(text.replace("SUCCESS", status))
        done = run([sweep.binary, "sweep", "decide", "q/s 1"], cwd=sweep.folder)
        problems += expect(status, (done.code, done.stderr), (1, "gputally: " + said))
    return problems


def check_left_behind(sweep, slots):
    """What a run leaves running is ended before the next one, also in a session of its own; the log says so, and the duration is that
    of the whole."""
    command = """setsid sleep 600 & echo $! > pid_{channels}; [ {channels} = 29 ] || exit 0
for pid in $(cat pid_28); do [ ! -e /proc/$pid ] || grep -q 'State:.Z' /proc/$pid/status || echo disturbed; done"""
    words = ["-c", "28,29", "-t", "256", "-o", "out", "--delay", "0", *slots]
    done = sweep.run(*words, "--", "sh", "-c", command)
    problems = expect("exit code", (done.code, statuses(sweep)), (0, ["SUCCESS"] * 2))
    said = "The run with THREADS=256, CHANNELS={} left 1 process behind, which would disturb the next run and was ended"
    problems += within("log", done.stdout, said.format(28), said.format(29))
    problems += [] if "duration: 0s" not in done.stdout else ["a duration is 0 s"]
    pids = [int(sweep.text(f"pid_{c}")) for c in (28, 29)]
    problems += expect("processes", [pid for pid in pids if alive(pid)], [])
    return problems if slots else problems + expect("second run", sweep.text("out/256thread/nccl_29channels/run_output.log"), "")


def check_gpu_lists(sweep):
    problems = []
    for given, message in (("0,0", "GPU 0 is named twice in '0,0'"), ("0,,1", "'0,,1' is not a comma-separated list of GPUs"),
                           ("0, 1", "'0, 1' is not"), (",0,1", "',0,1' is not"), ("0,1,", "'0,1,' is not"), ("0,1,0", "GPU 0 is named twice"),
                           ("7", "2 slots but 1 GPUs"), ("", "2 slots but 0 GPUs")):
        done = sweep.run("-c", "28,29", "-t", "256", "-o", "bad", "--slots", "2", "--gpus", given, "--", "true")
        problems += expect(given, done.code, 2) + within(given, done.stderr, message)
        problems += expect("files", sweep.files(), [])
    done = sweep.run("-c", "28", "-t", "256", "-o", "bad", "--target", "local", "--gpus", "0", "--", "true")
    problems += expect("without slots", done.code, 2) + within("without slots", done.stderr, "argument --gpus: needs --slots of at least 2")
    done = sweep.run("-c", "28,29", "-t", "256", "-o", "out", "--delay", "0", "--slots", "2", "--gpus", "1,10,GPU-1,0,11", "--", "sh", "-c", "echo $HIP_VISIBLE_DEVICES")
    problems += within("log", done.stdout, "Not used, so that all slots have as many GPUs: 11")
    given = sorted(sweep.text(f"out/256thread/nccl_{c}channels/run_output.log") for c in (28, 29))
    return problems + expect("GPUs", given, ["1,10\n", "GPU-1,0\n"])


def check_progress_of_slots(sweep):
    """The time left is that of all slots together: 6 runs of half a second in two slots are 2 s, 1 s and 1 s."""
    done = sweep.run("-c", "1,2,3,4,5,6", "-t", "256", "-o", "out", "--delay", "0", "--slots", "2", "--gpus", "none", "--", "sleep", "0.5")
    lines = [line.split("] ")[1] for line in done.stdout.splitlines() if "] Run " in line]
    problems = expect("first runs", lines[:2], ["Run 1 of 6", "Run 2 of 6"])
    for number, line in enumerate(lines[2:], 3):
        about = line.removeprefix(f"Run {number} of 6, about ").removesuffix(" s left")
        # Half a second per run; on a loaded machine starting takes longer. Never that of one slot.
        if not about.isdigit() or not 1 <= int(about) <= 60:
            problems.append(f"line {number}: {line!r}")
    return problems + expect("lines", len(lines), 6)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def begin_two(sweep):
    """Two runs at once that wait; the process of the sweep, and those of its slots."""
    process = sweep.start("-c", "28,29,30", "-t", "256", "-o", "out", "--delay", "0", "--slots", "2", "--gpus", "none", "--", "sh", "-c",
                          "echo $$ > began_{channels}; [ {channels} = 30 ] || sleep 600")
    began = [os.path.join(sweep.folder, f"began_{c}") for c in (28, 29)]
    wait_for(lambda: all(os.path.exists(path) and open(path).read().strip() for path in began))
    return process, children(process.pid), [int(open(path).read()) for path in began]


def check_stopped_slot(sweep):
    """A slot that does not react to Ctrl-C is killed, after a second Ctrl-C soon; nothing is left running."""
    process, slots, commands = begin_two(sweep)
    os.kill(slots[0], signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    wait_for(lambda: not all(map(alive, commands)))  # the other slot has ended its command
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=WALL_SECONDS)
    problems = expect("exit code", process.returncode, 130)
    problems += [] if wait_for(lambda: not any(map(alive, commands + slots))) else ["processes are left"]
    return problems + expect("statuses", [p["status"] for p in sweep.record()["points"]], ["INTERRUPTED", "INTERRUPTED", "PENDING"])


def check_killed_slot(sweep):
    """A slot is killed: its run has failed, and the others go on."""
    process, slots, commands = begin_two(sweep)
    os.kill(slots[0], signal.SIGKILL)
    wait_for(lambda: not all(map(alive, commands)))
    [os.kill(pid, signal.SIGTERM) for pid in commands if alive(pid)]
    process.communicate(timeout=WALL_SECONDS)
    points = sweep.record()["points"]
    problems = expect("statuses", (process.returncode, [p["status"] for p in points]), (0, ["FAILED", "FAILED", "SUCCESS"]))
    return problems + expect("exit codes", sorted(p["exit_code"] for p in points), [0, 137, 143])


CASES = [Case("second run", check_second_run), Case("resume after a failure", check_resume_after_failure), Case("several at once", check_several_at_once),
         Case("killed in the first run", check_killed_in_first_run, "29,30", []),
         Case("killed in slots", check_killed_in_first_run, "29,30,31", ["--slots", "2", "--gpus", "none"]),
         Case("record not written", check_record_not_written),
         Case("another command", check_other_command), Case("secret in the command", check_secret),
         Case("folder of a run", check_folder_of_a_run),
         Case("left behind", check_left_behind, []),
         Case("left behind in slots", check_left_behind, ["--slots", "2", "--gpus", "none"]),
         Case("two sweeps at once", check_two_sweeps_at_once), Case("lists of GPUs", check_gpu_lists), Case("progress of slots", check_progress_of_slots),
         Case("stopped slot", check_stopped_slot), Case("killed slot", check_killed_slot)]

if __name__ == "__main__":
    sys.exit(run_cases(__doc__, CASES, before=lambda binary, folder: (Sweep(binary, folder),)))
