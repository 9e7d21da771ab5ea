"""Commands of several processes for tests: traces of many ranks, MPI launchers, and comparing what commands write."""
import atexit
import functools
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import uuid

from tests.common import harness

WAIT_S = 300  # until something that must happen counts as missing


def write_rank(path, rank, ranks, collectives=20, others=0):
    """A PyTorch trace: a few collectives that each rank enters at another time, and other kernels to make it long."""
    events = []
    for number in range(collectives):
        late = (rank * 7 + number * 3) % 11
        events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0, "tid": 7,
                       "ts": number * 1000 + late, "dur": 200 - late,
                       "args": {"correlation": number + 1, "stream": 7, "Collective name": "allreduce", "dtype": "BFloat16",
                                "In msg nelems": 1024 * (number % 3 + 1), "Out msg nelems": 1024 * (number % 3 + 1), "Group size": ranks,
                                "Process Group Name": "0", "Process Group Ranks": str(list(range(ranks)))}})
    for number in range(others):
        events.append({"ph": "X", "cat": "kernel", "name": f"kernel_{number % 97}", "pid": 0, "tid": 8, "ts": number * 3, "dur": 2,
                       "args": {"correlation": 1000000 + number, "stream": 8, "grid": [8, 1, 1], "block": [128, 1, 1]}})
    with open(path, "w") as file:
        json.dump({"distributedInfo": {"rank": rank, "world_size": ranks}, "traceEvents": events}, file)


def write_ranks(folder, ranks, **more):
    os.makedirs(folder, exist_ok=True)
    for rank in range(ranks):
        write_rank(os.path.join(folder, f"rank{rank}_trace.json"), rank, ranks, **more)


# --- launchers ---

@functools.cache
def launcher(family):
    """The first words of a command line that starts processes; the number of them follows."""
    names = {"openmpi": ["mpirun.openmpi"], "mpich": ["mpirun.mpich", "mpiexec.hydra"]}[family]
    found = next((path for path in (shutil.which(name, path=harness.SYSTEM_PATH) for name in names) if path), None)
    if not found:
        raise harness.Skipped(f"{names[0]} is not installed (Debian: {'openmpi-bin' if family == 'openmpi' else 'mpich'})")
    if family == "mpich":
        return [found, "-n"]
    return [found, *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "--oversubscribe", "-n"]


def environment(**more):
    # Open MPI has its temporary files in TMPDIR, where two launchers that start at once can get in each other's way;
    # the path of a socket is short.
    folder = tempfile.mkdtemp(prefix="gt-", dir="/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return {**os.environ, "PATH": harness.SYSTEM_PATH, "TMPDIR": folder, **more}


def run(words, cwd, **more):
    return subprocess.run(words, cwd=cwd, env=environment(**more), capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=WAIT_S)


# --- work folders ---

class Place:
    """A folder with the traces of several ranks in `traces`, and what one process reports on them in `expected`."""

    def __init__(self, binary, ranks=6, options=(), **more):
        self.binary, self.options = binary, list(options)
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="gputally-group-"))
        write_ranks(os.path.join(self.path, "my traces"), ranks, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def words(self, out, *more):
        return [self.binary, "collective", "--trace_dir", "my traces", "--output_csvs_dir", out + "/csv",
                "--output_xlsx_path", out + "/report.xlsx", *self.options, *more]

    def expect(self, *more):
        done = run(self.words("expected", *more), self.path)
        assert done.returncode == 0, done.stderr
        return done

    def trace(self, rank):
        return os.path.join(self.path, "my traces", f"rank{rank}_trace.json")

    def group(self, family, processes, out, *more, **env):
        return run([*launcher(family), str(processes), *self.words(out, *more)], self.path, **env)

    def differences(self, out, expected="expected"):
        """What differs between two folders, as a list; empty if they have the same files with the same bytes."""
        a, b = os.path.join(self.path, expected), os.path.join(self.path, out)
        names = sorted(set(harness.files_under(a)) | set(harness.files_under(b)))
        return [name for name in names if read(os.path.join(a, name)) != read(os.path.join(b, name))]

    def leftovers(self):
        """Hidden files and folders: work folders and unfinished files."""
        return [os.path.join(at, name) for at, folders, names in os.walk(self.path) for name in folders + names if name.startswith(".")]


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def same(place, done, out="out"):
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    found = place.differences(out)
    assert not found, f"differ: {found}; {done.stderr[-500:]}"
    assert not place.leftovers(), place.leftovers()


def sentences(text):
    return [line for line in text.splitlines() if line.startswith("gputally: ") and not line.startswith("gputally: MPI: ")]


# --- killing ---

def processes(mark):
    """{pid: "main" or "helper"} of the processes that have this mark in their environment."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark.encode() not in file.read():
                    continue
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        name = os.path.basename(words[0])
        if name in (b"gputally", b"gputally-helper"):
            found[int(pid)] = "helper" if name == b"gputally-helper" else "main"
    return found


def kill_one(place, family, count, kind, number, after_s, chance, out="out", *more):
    """Starts a process group and sends a signal to one of its processes, or to the launcher. Returns (who was killed, code, stderr)."""
    mark = "group-" + uuid.uuid4().hex
    with open(os.path.join(place.path, "stderr"), "w+b") as log:
        child = subprocess.Popen([*launcher(family), str(count), *place.words(out, *more)], cwd=place.path, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=log, env=environment(GPUTALLY_TEST_MARK=mark), start_new_session=True)
        begin, who = time.monotonic(), None
        while child.poll() is None:
            if time.monotonic() - begin >= after_s:
                victims = [child.pid] if kind == "launcher" else sorted(pid for pid, what in processes(mark).items() if what == kind)
                if victims:
                    victim = chance.choice(victims)
                    try:
                        os.kill(victim, number)
                        who = f"{kind} {signal.Signals(number).name} after {after_s:.2f} s"
                    except ProcessLookupError:
                        pass
                    break
            time.sleep(0.002)
        code = child.wait(timeout=WAIT_S)
        end = time.monotonic() + 60  # the others end by themselves, also if the launcher is gone
        while processes(mark) and time.monotonic() < end:
            time.sleep(0.02)
        left = processes(mark)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert not left, f"{who}: processes are left: {left}"
        log.seek(0)
        return who, code, log.read().decode(errors="replace")


KILLS = [("main", signal.SIGKILL), ("helper", signal.SIGKILL), ("main", signal.SIGTERM), ("launcher", signal.SIGINT), ("launcher", signal.SIGTERM)]


def kill_and_repeat(binary, rounds, seed, family="openmpi", ranks=8, others=4000):
    """Kills one process per round at a random time, and starts the same command again. Nothing may be wrong or half-written."""
    chance, counts = random.Random(seed), {"killed": 0, "finished": 0}
    with Place(binary, ranks=ranks, others=others) as place:
        place.expect()
        begin = time.monotonic()
        same(place, place.group(family, 3, "out"))
        usual_s = time.monotonic() - begin
        for round_number in range(rounds):
            shutil.rmtree(os.path.join(place.path, "out"), ignore_errors=True)
            kind, number = KILLS[round_number % len(KILLS)]
            who, code, text = kill_one(place, family, 3, kind, number, chance.uniform(0, usual_s), chance)
            what = f"round {round_number}, {who}: exit code {code}: {text[-1500:]}"
            is_written = os.path.exists(os.path.join(place.path, "out"))
            counts["killed" if code else "finished"] += 1
            assert not is_written or not place.differences("out"), f"{what}: {place.differences('out')}"
            assert is_written or code, what
            assert not [path for path in place.leftovers() if ".gputally-parts" not in path and ".nfs" not in path], (what, place.leftovers())
            if code and not is_written and who:
                assert len(sentences(text)) <= 1, what
                assert text.strip() or kind == "launcher", what  # of ours, or of the launcher if process 0 was killed
            shutil.rmtree(os.path.join(place.path, "out"), ignore_errors=True)
            again = chance.choice((1, 2, 4))
            done = place.group(family, again, "out") if again > 1 else run(place.words("out"), place.path)
            try:
                same(place, done)
            except AssertionError as problem:
                raise AssertionError(f"{what}\nthen, {again} processes: {problem}") from None
    return counts
