#!/usr/bin/env python3
"""The MPI helper alone: frames between processes, hardly any CPU time while nothing happens, and its end when the program ends.

    python3 -m tests.procs.test_helper --bin build/gputally
    python3 -m tests.procs.test_helper --bin gputally-helper        the one of the portable program

Each process of the launcher is this script, which starts a helper and talks to it as the program does (src/procs/wire.h).
"""
import os
import socket
import struct
import subprocess
import sys
import time

if __name__ != "__main__" or len(sys.argv) < 2 or sys.argv[1] != "process":
    from tests.common import harness
    from tests.procs import group

SEND, FINISH, ABORT, READY, FAILED, MESSAGE, DIED = range(1, 8)
LIBRARIES = {"openmpi": ["libmpi.so.40"], "mpich": ["libmpi.so.12", "libmpich.so.12"]}
QUIET_S = 2


# --- a process ---

class Helper:
    def __init__(self, path, libraries):
        ours, theirs = socket.socketpair()
        os.dup2(theirs.fileno(), 100)
        os.set_inheritable(100, True)
        self.child = subprocess.Popen(["gputally-helper", "__helper", "mpi", *libraries], executable=path, close_fds=False)
        os.close(100)
        theirs.close()
        self.socket = ours

    def send(self, kind, rank=0, data=b""):
        self.socket.sendall(struct.pack("=III", kind, rank, len(data)) + data)

    def take(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise EOFError("the helper has ended")
            data += more
        return data

    def receive(self):
        kind, rank, length = struct.unpack("=III", self.take(12))
        return kind, rank, self.take(length)

    def cpu_s(self):
        with open(f"/proc/{self.child.pid}/stat") as file:
            words = file.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def process(path, what, *libraries):
    helper = Helper(path, libraries)
    kind, rank, data = helper.receive()
    if kind != READY:
        sys.exit(f"no MPI: {data}")
    size = struct.unpack("=I", data[:4])[0]
    if what == "die" and rank == 1:
        os._exit(9)  # without a word
    if what == "die":
        kind, other, _ = helper.receive()
        print(f"heard {kind == DIED} {other}", flush=True)
        helper.send(ABORT, 0, struct.pack("=i", 1))
        helper.child.wait()
        return
    if rank == 0:
        for _ in range(size - 1):  # one long message of each, and an answer
            kind, other, data = helper.receive()
            assert kind == MESSAGE and data == bytes([other]) * 6000, (kind, other, len(data))
            helper.send(SEND, other, b"welcome %d" % other)
    else:
        helper.send(SEND, 0, bytes([rank]) * 6000)
        assert helper.receive() == (MESSAGE, 0, b"welcome %d" % rank)
    before = helper.cpu_s()
    time.sleep(QUIET_S)
    print(f"quiet {helper.cpu_s() - before:.3f}", flush=True)
    helper.send(FINISH)
    assert helper.child.wait(timeout=60) == 0
    print(f"done {rank} of {size}", flush=True)


# --- tests ---

def start(binary, family, processes, what):
    return group.run([*group.launcher(family), str(processes), sys.executable, os.path.abspath(__file__), "process", binary, what,
                      *LIBRARIES[family]], "/tmp")


def check_frames(binary, family):
    done = start(binary, family, 4, "talk")
    assert done.returncode == 0, done
    assert sorted(line for line in done.stdout.splitlines() if "done" in line) == [f"done {rank} of 4" for rank in range(4)], done
    for line in done.stdout.splitlines():
        if line.startswith("quiet"):  # a helper that asks MPI all the time takes QUIET_S, or a share of the cores
            assert float(line.split()[1]) < 0.1 * QUIET_S, line


def test_open_mpi(binary):
    check_frames(binary, "openmpi")


def test_mpich(binary):
    check_frames(binary, "mpich")


def test_the_end_of_a_program(binary):
    """The others hear of it, or the launcher ends them before."""
    done = start(binary, "openmpi", 2, "die")
    assert done.returncode != 0, done
    assert "heard True 1" in done.stdout or "heard" not in done.stdout, done


if __name__ == "__main__":
    if sys.argv[1:2] == ["process"]:
        sys.exit(process(*sys.argv[2:]))
    sys.exit(harness.run_test_functions(__doc__, globals()))
