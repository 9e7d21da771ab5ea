#!/usr/bin/env python3
"""The processes of a run: what is left of them after a time limit, an interrupt and the death of gputally.

    python3 -m tests.run.test_processes --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import json
import os
import signal
import subprocess
import sys
import time

from tests.common import harness
from tests.run.test_profiling_runs import Place, equal, holds, run_tests

TESTS = []

# Starts a worker in a session of its own and a daemon that forks twice, both of which ignore SIGTERM if told so; writes
# the numbers of all processes, then waits or ends.
FAMILY = """
import os, signal, sys, time
stubborn, ends = "stubborn" in sys.argv, "ends" in sys.argv
def note():
    with open("pids", "a") as f:
        f.write(f"{os.getpid()}\\n")
def stay():
    if stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    note()
    while True:
        time.sleep(60)
if os.fork() == 0:
    os.setsid()
    stay()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3):
            os.close(fd)
        stay()
    os._exit(0)
if ends:
    while not os.path.exists("pids") or len(open("pids").read().split()) < 2:
        time.sleep(0.02)
    sys.exit(0)
stay()
"""


def test(function):
    TESTS.append(function)
    return function


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def pids_of(p, count):
    """The numbers in the file `pids`, once there are enough."""
    until = time.monotonic() + harness.WALL_SECONDS
    while time.monotonic() < until:
        if os.path.exists(p.file("pids")) and p.read("pids").count("\n") >= count:
            return [int(line) for line in p.read("pids").split()]
        time.sleep(0.02)
    raise AssertionError("the command has not started its processes")


def all_end(pids):
    until = time.monotonic() + harness.WALL_SECONDS
    while any(map(lives, pids)):
        assert time.monotonic() < until, f"still running: {[p for p in pids if lives(p)]}"
        time.sleep(0.02)


def family(p, *words):
    with open(p.file("family.py"), "w") as f:
        f.write(FAMILY)
    return [sys.executable, "family.py", *words]


def start(p, *words, **env):
    return subprocess.Popen([p.binary, "run", *words], cwd=p.work, env=p.environment(**env), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


@test
def a_time_limit_ends_sessions_and_daemons(binary):
    with Place(binary) as p:
        done = p.run("--timeout", "3", "--", *family(p))
        equal(done.returncode, 3)
        equal(p.record()["timed_out"], True)
        pids = pids_of(p, 3)
        equal([pid for pid in pids if lives(pid)], [])
        holds(done.stderr, "time limit reached: waiting up to 60 s for the command to end")


@test
def what_ignores_sigterm_is_killed_after_the_grace_period(binary):
    with Place(binary) as p:
        begin = time.monotonic()
        done = p.run("--timeout", "3", "--grace", "1", "--", *family(p, "stubborn"))
        equal(done.returncode, 3)
        equal(p.record()["exit_code"], 128 + signal.SIGKILL)
        equal([pid for pid in pids_of(p, 3) if lives(pid)], [])
        assert time.monotonic() - begin < 30
        holds(done.stderr, "waiting up to 1 s")


@test
def a_trace_is_flushed_within_the_grace_period(binary):
    script = "trap 'sleep 2; echo flushed > trace; exit 0' TERM; echo $$ > pids; while :; do sleep 0.05; done"
    for grace, expected in (([], True), (["--grace", "0"], False)):
        with Place(binary) as p:
            done = p.run("--timeout", "2", *grace, "--", "bash", "-c", script)
            equal((grace, done.returncode, os.path.exists(p.file("trace"))), (grace, 3, expected))
    with Place(binary) as p:
        equal(p.run("--grace", "-1", "--", "true").returncode, 4)


@test
def the_wait_for_a_profiler_is_explained(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("--tools", "rocprofv3_lightweight", "--timeout", "2", "--report", "none", "--", "sleep", "60")
        equal(done.returncode, 3)
        holds(done.stderr, "waiting up to 60 s for the command to end and the profiler to write its trace (Ctrl-C kills at once)")


@test
def killing_gputally_leaves_nothing(binary):
    with Place(binary) as p:
        run = start(p, "--", *family(p, "stubborn"))
        pids = pids_of(p, 3)
        equal(all(map(lives, pids)), True)
        run.kill()
        run.wait()
        all_end(pids)
        run.communicate()  # nobody keeps the pipes open


@test
def killing_its_process_group_leaves_nothing(binary):
    with Place(binary) as p:
        run = subprocess.Popen([p.binary, "run", "--", *family(p, "stubborn")], cwd=p.work, env=p.environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        pids = pids_of(p, 3)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        all_end(pids)


@test
def killing_gputally_removes_the_container(binary):
    with Place(binary, "docker") as p:
        run = start(p, "--docker=img", "--name", "c", "--", *family(p, "stubborn"))
        pids = pids_of(p, 3)
        run.kill()
        run.wait()
        all_end(pids)
        until = time.monotonic() + harness.WALL_SECONDS
        while len(p.calls()) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        first, last = p.calls()
        equal(last["argv"], ["rm", "-f", first["argv"][first["argv"].index("--name") + 1]])


@test
def an_interrupt_ends_the_tree_and_a_second_one_kills_it(binary):
    with Place(binary) as p:
        run = start(p, "--", *family(p))
        pids = pids_of(p, 3)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=harness.WALL_SECONDS)
        equal(run.returncode, 3)
        equal([pid for pid in pids if lives(pid)], [])
        holds(errors, "interrupted")
    with Place(binary) as p:
        run = start(p, "--grace", "1000", "--", *family(p, "stubborn"))
        pids = pids_of(p, 3)
        run.send_signal(signal.SIGINT)
        time.sleep(0.5)
        equal(all(map(lives, pids)), True)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=harness.WALL_SECONDS)
        equal(run.returncode, 3)
        equal([pid for pid in pids if lives(pid)], [])
        equal(p.record()["exit_code"], 128 + signal.SIGKILL)


@test
def an_interrupt_of_a_script_ends_the_run(binary):
    """Also of a script that ends well in spite of it: the command must not start then."""
    for kind, body in (("pre_scripts", "sleep 100"), ("pre_scripts", "trap 'exit 0' INT; sleep 100"), ("post_scripts", "sleep 100"),
                       ("post_scripts", "trap 'exit 0' INT; sleep 100")):
        with Place(binary) as p:
            with open(p.file("s.sh"), "w") as f:
                f.write("echo $$ > pids; " + body)
            run = start(p, "-c", json.dumps({kind: [{"path": "s.sh"}]}), "--", "sh", "-c", "echo ran > ran")
            pids_of(p, 1)
            time.sleep(0.2)  # until the trap is set
            run.send_signal(signal.SIGINT)
            _, errors = run.communicate(timeout=harness.WALL_SECONDS)
            reason = "interrupted by signal 2 (Interrupt) during s.sh"
            equal((kind, body, run.returncode, os.path.exists(p.file("ran"))), (kind, body, 3, kind == "post_scripts"))
            holds(errors, reason)
            if kind == "post_scripts":
                record = p.record()
                equal((record["status"], record["exit_code"], record["reason"]), ("FAILURE", 0, reason))


@test
def a_run_survives_its_terminal_with_nohup(binary):
    with Place(binary) as p:
        command = ["bash", "-c", 'echo $$ > pids; until [ -e go ]; do sleep 0.05; done; exit 0']
        ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        run = subprocess.Popen([binary, "run", "--", *command], cwd=p.work, env=p.environment(), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, preexec_fn=ignore)
        pids_of(p, 1)
        run.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        open(p.file("go"), "w").close()
        equal((run.wait(timeout=harness.WALL_SECONDS), p.record()["status"]), (0, "SUCCESS"))


@test
def after_a_normal_end_they_go_on(binary):
    with Place(binary) as p:
        done = p.run("--", *family(p, "ends"))
        pids = pids_of(p, 2)
        equal((done.returncode, list(map(lives, pids))), (0, [True, True]))
        holds(done.stderr, "2 processes that the command started are still running")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)


@test
def output_that_cannot_be_written_is_a_failure(binary):
    with Place(binary) as p, open("/dev/full", "w") as full:
        done = subprocess.run([binary, "run", "--report", "none", "--", "echo", "x"], cwd=p.work, stdout=full, stderr=subprocess.PIPE, text=True)
        equal((done.returncode, p.record()["status"]), (3, "FAILURE"))
        holds(done.stderr, "cannot write the command's output to standard output: No space left on device")
        done = subprocess.run(["bash", "-c", '"$0" run --report none -- seq 200000 | head -n 1; exit "${PIPESTATUS[0]}"', binary], cwd=p.work,
                              capture_output=True, text=True)
        equal((done.returncode, done.stdout), (0, "1\n"))  # a reader that has enough


@test
def the_end_of_a_job_is_named_as_the_reason(binary):
    for left, more in ((-60, " before the time limit of the job"), (600, "")):
        with Place(binary) as p:
            run = start(p, "--", "sh", "-c", "echo > ready; exec sleep 60", GPUTALLY_TIME_OVER=str(int(time.time()) + left))
            until = time.monotonic() + 60
            while not os.path.exists(p.file("ready")) and time.monotonic() < until:
                time.sleep(0.02)
            run.send_signal(signal.SIGTERM)
            equal((run.wait(timeout=harness.WALL_SECONDS), p.record()["reason"]), (3, "interrupted by signal 15 (Terminated)" + more))


@test
def helpers_that_end_a_moment_later_are_no_reason_to_warn(binary):
    with Place(binary) as p:
        done = p.run("--", "sh", "-c", "sleep 0.4 >/dev/null 2>&1 &")
        equal((done.returncode, "running" in done.stderr), (0, False))
        done = p.run("--", "sh", "-c", "sleep 30 >/dev/null 2>&1 & echo $! > pid")
        holds(done.stderr, "1 process that the command started is still running")
        os.kill(int(p.read("pid")), signal.SIGKILL)


@test
def a_command_may_read_its_input(binary):
    with Place(binary) as p:
        done = subprocess.run([binary, "run", "--", "cat"], cwd=p.work, env=p.environment(), input="a word\n",
                              capture_output=True, text=True)
        equal((done.returncode, done.stdout), (0, "a word\n"))
        for closed in (0, 1, 2):  # descriptors of the supervisor must not take the places of closed standard ones
            done = subprocess.run(["bash", "-c", f'exec {closed}>&-; "$0" run -- sh -c "exit 7"; echo $? > status', binary], cwd=p.work,
                                  env=p.environment(), capture_output=True, text=True)
            equal((closed, p.read("status")), (closed, "3\n"))
            equal((closed, p.record()["exit_code"]), (closed, 7))


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
