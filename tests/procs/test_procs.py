#!/usr/bin/env python3
"""`gputally collective` as one command of several processes, started by the launchers of Open MPI and MPICH: the same bytes as one
process writes, clear messages, and no process that writes what another one writes.

    python3 -m tests.procs.test_procs --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import glob
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid

from tests.common import harness
from tests.procs import group
from tests.procs.group import Place, run, same, sentences


def check_sizes(binary, family):
    with Place(binary, ranks=5, options=["--output_db", "x.db"]) as place:
        alone = place.expect()
        database = group.read(os.path.join(place.path, "x.db"))
        for processes in 2, 4, 8:  # also more than ranks
            os.remove(os.path.join(place.path, "x.db"))
            done = place.group(family, processes, "out")
            same(place, done)
            assert group.read(os.path.join(place.path, "x.db")) == database
            assert done.stderr == alone.stderr, (done.stderr, alone.stderr)
            shutil.rmtree(os.path.join(place.path, "out"))


def test_open_mpi(binary):
    check_sizes(binary, "openmpi")


def test_mpich(binary):
    check_sizes(binary, "mpich")


def test_extra_sheets_and_messages(binary):
    with Place(binary, ranks=5, options=["--extra", "--output_html", "out.html"]) as place:
        alone = place.expect()
        page = group.read(os.path.join(place.path, "out.html"))
        done = place.group("openmpi", 3, "out")
        same(place, done)
        assert group.read(os.path.join(place.path, "out.html")) == page
        assert sentences(done.stderr) == sentences(alone.stderr), (done.stderr, alone.stderr)


def test_one_trace(binary):
    with Place(binary, ranks=1) as place:
        place.expect()
        same(place, place.group("openmpi", 3, "out"))


def test_damaged_missing_and_unreadable_ranks(binary):
    with Place(binary, ranks=5) as place:
        with open(place.trace(1), "r+") as file:
            file.truncate(os.path.getsize(place.trace(1)) // 2)
        os.remove(place.trace(2))
        os.remove(place.trace(3))
        os.mkdir(place.trace(3))
        for options in [], ["--allow_missing_ranks"]:
            alone = run(place.words("expected", *options), place.path)
            done = place.group("openmpi", 3, "out", *options)
            assert done.returncode == alone.returncode, (done.stderr, alone.stderr)
            assert sentences(done.stderr) == sentences(alone.stderr), (done.stderr, alone.stderr)
            assert os.path.exists(os.path.join(place.path, "out")) == (alone.returncode == 0)
        assert alone.returncode == 0 and not place.differences("out")
        assert not place.leftovers(), place.leftovers()


def test_errors_are_said_once(binary):
    with Place(binary, ranks=2) as place:
        for words, part, code in ((["--world_size", "0"], "must be between", 2), (["--nonsense"], "unrecognized", 2),
                                  (["--trace_dir", "nowhere"], "not found", 1)):
            done = run([*group.launcher("openmpi"), "3", place.binary, "collective", "--trace_dir", "my traces", *words], place.path)
            assert done.returncode == code, (done.returncode, done.stderr)
            assert done.stderr.count(part) == 1, done.stderr


def test_partials_are_kept_and_used(binary):
    """Results that are still those of their traces are not made again, by one process or several."""
    with Place(binary, ranks=4) as place:
        place.expect()
        time.sleep(2.2)  # times of files prove that a trace is the same only after this
        folder = os.path.join(place.path, "my partials")
        for processes in 2, 1, 3:
            shutil.rmtree(os.path.join(place.path, "out"), ignore_errors=True)
            words = place.words("out", "--partials", "my partials")
            done = run(words if processes == 1 else [*group.launcher("openmpi"), str(processes), *words], place.path)
            same(place, done)
            now = {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in os.listdir(folder)}
            assert len(now) == 4, now
            if processes == 2:
                first = now
            assert now == first, (processes, now, first)
        # A trace that changes is read again, and a damaged partial is made again.
        group.write_rank(place.trace(3), 3, 4, collectives=20, others=5)
        damaged = glob.glob(os.path.join(glob.escape(folder), "rank1_*"))[0]
        with open(damaged, "r+b") as file:
            file.seek(os.path.getsize(damaged) // 2)
            file.write(b"damaged, certainly")
        place.expect()
        shutil.rmtree(os.path.join(place.path, "out"))
        same(place, place.group("openmpi", 2, "out", "--partials", "my partials"))
        now = {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in os.listdir(folder)}
        assert sorted(name[:5] for name in now if now[name] != first[name]) == ["rank1", "rank3"], (now, first)


def test_two_groups_at_once(binary):
    with Place(binary, ranks=6, others=2000) as place:
        place.expect()
        for _ in range(3):
            words = [[*group.launcher("openmpi"), "2", *place.words(out)] for out in ("out", "out 2")]
            children = [subprocess.Popen(each, cwd=place.path, env=group.environment(), stdout=subprocess.DEVNULL,
                                         stderr=subprocess.PIPE, text=True) for each in words]
            texts = [child.communicate(timeout=group.WAIT_S)[1] for child in children]
            assert [child.returncode for child in children] == [0, 0], texts
            assert not place.differences("out") and not place.differences("out 2"), texts
            assert not place.leftovers(), place.leftovers()


def test_a_script_under_a_launcher_is_alone(binary):
    """The first process of a training script calls gputally: it must not wait for the others."""
    program = "import os, subprocess, sys\nif os.environ['OMPI_COMM_WORLD_RANK'] == '0':\n    sys.exit(subprocess.call(sys.argv[1:]))\n"
    with Place(binary, ranks=3) as place:
        place.expect()
        begin = time.monotonic()
        same(place, run([*group.launcher("openmpi"), "3", sys.executable, "-c", program, *place.words("out")], place.path))
        assert time.monotonic() - begin < 50


def test_shells_are_looked_through(binary):
    with Place(binary, ranks=3) as place:
        place.expect()
        done = run([*group.launcher("openmpi"), "2", "sh", "-c", '"$@"; code=$?; exit $code', "sh", *place.words("out")], place.path)
        same(place, done)
        assert done.stdout.count("report.xlsx") == 1, done.stdout


def test_mpi_switched_off(binary):
    with Place(binary, ranks=2) as place:
        done = run([*group.launcher("openmpi"), "2", *place.words("out")], place.path, GPUTALLY_MPI="off")
        assert done.stdout.count("report.xlsx") == 2, done.stdout  # each process works alone


def test_no_library(binary):
    with Place(binary, ranks=2) as place:
        done = place.group("openmpi", 2, "out", GPUTALLY_MPI="/nowhere/libmpi.so")
        assert done.returncode == 1, done
        assert len(sentences(done.stderr)) == 1 and "no MPI library could be loaded" in done.stderr, done.stderr
        assert not os.path.exists(os.path.join(place.path, "out")) and not place.leftovers()


def test_a_library_of_another_launcher(binary):
    """MPI then says that there is one process; two of them must not write the same report."""
    group.launcher("mpich")
    with Place(binary, ranks=2) as place:
        done = place.group("openmpi", 2, "out", GPUTALLY_MPI="libmpich.so.12")
        assert done.returncode == 1 and "GPUTALLY_MPI" in done.stderr, done.stderr
        assert len(sentences(done.stderr)) == 1, done.stderr
        assert not os.path.exists(os.path.join(place.path, "out")) and not place.leftovers()


def test_other_command_lines(binary):
    with Place(binary, ranks=2) as place:
        words = group.launcher("openmpi")
        done = run([*words, "1", *place.words("out"), ":", "-n", "1", *place.words("out", "--gpus_per_node", "2")], place.path)
        assert done.returncode == 1 and "another command line" in done.stderr, done.stderr
        assert not os.path.exists(os.path.join(place.path, "out"))


def test_a_trace_for_each_process(binary):
    """Nothing is shared out, and still the reports of the others must not be missing without a word."""
    with Place(binary, ranks=2) as place:
        script = f'exec {place.binary} report "my traces/rank${{OMPI_COMM_WORLD_RANK}}_trace.json" --output_csvs_dir out/$OMPI_COMM_WORLD_RANK'
        words = [*group.launcher("openmpi"), "2", "sh", "-c", script]
        done = run(words, place.path)
        assert done.returncode == 1 and "another command line" in done.stderr, done.stderr
        assert "GPUTALLY_MPI=off has each" in done.stderr, done.stderr
        assert not os.path.exists(os.path.join(place.path, "out"))
        done = run(words, place.path, GPUTALLY_MPI="off")
        assert done.returncode == 0 and sorted(os.listdir(os.path.join(place.path, "out"))) == ["0", "1"], done
        done = run([*group.launcher("openmpi"), "2", place.binary, "report", "my traces/rank0_trace.json", "--output_csvs_dir", "one"], place.path)
        assert done.returncode == 0 and os.path.exists(os.path.join(place.path, "one", "gpu_timeline.csv")), done


def test_other_traces(binary):
    """Two folders of the same name stand in for machines that do not share a file system."""
    with Place(binary, ranks=2) as place:
        shutil.copytree(place.path + "/my traces", place.path + "/b/my traces")
        group.write_rank(place.path + "/b/my traces/rank1_trace.json", 1, 2, others=3)
        script = 'if [ $OMPI_COMM_WORLD_RANK = 1 ]; then mv "my traces/rank1_trace.json" away; cp "b/my traces/rank1_trace.json" "my traces"; fi; "$@"'
        done = run([*group.launcher("openmpi"), "2", "sh", "-c", script, "sh", *place.words("out")], place.path)
        assert done.returncode in (0, 1), done  # both may have seen the new file
        if done.returncode:
            assert len(sentences(done.stderr)) == 1, done.stderr
            assert "does not see the same traces" in done.stderr or "not found" in done.stderr, done.stderr


def reads_a_trace(pid):
    try:
        return any("_trace.json" in os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def test_a_process_that_stops(binary):
    """Its trace is given to another process, and the report is written while it still stands still."""
    with Place(binary, ranks=12, others=20000) as place:
        place.expect()
        mark, stopped = "group-" + uuid.uuid4().hex, None
        child = subprocess.Popen([*group.launcher("openmpi"), "3", *place.words("out")], cwd=place.path, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=group.environment(GPUTALLY_TEST_MARK=mark))
        while not stopped and child.poll() is None:
            for pid, kind in group.processes(mark).items():
                if kind == "main" and "OMPI_COMM_WORLD_RANK=1" in str(group.read(f"/proc/{pid}/environ")) and reads_a_trace(pid):
                    stopped = pid
                    os.kill(pid, signal.SIGSTOP)
                    break
            time.sleep(0.001)
        end = time.monotonic() + group.WAIT_S
        while stopped and not os.path.exists(place.path + "/out/report.xlsx") and time.monotonic() < end:
            time.sleep(0.05)
        written = os.path.exists(place.path + "/out/report.xlsx")
        if stopped:
            os.kill(stopped, signal.SIGCONT)
        text = child.communicate(timeout=group.WAIT_S)[1]
        assert written and child.returncode == 0, text
        assert not place.differences("out"), text


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
