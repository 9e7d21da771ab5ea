#!/usr/bin/env python3
"""A folder that everybody may write to, such as /tmp: what others have put there is neither followed nor believed. Needs root, which
puts it there in another user's name and runs gputally as a third one. What the kernel does against links in such folders
(fs.protected_symlinks) is not relied on: gputally must refuse links of the user's own, too.

    python3 -m tests.cli.test_shared_folders --bin build/gputally [TEXT]
"""
import glob
import os
import shutil
import stat
import subprocess
import sys
import tempfile

from tests.common import harness
from tests.common.harness import FIXTURES
from tests.sweep import generate_sweep

USER, OTHER = 61001, 61002
TRACE = "trace.json.gz"
INDEX = TRACE + ".gtindex"


class Shared:
    """A sticky folder in which everybody may write, with a trace of the user in it; a file and a folder that are the user's alone."""

    def __init__(self, binary, owner=0):
        if os.geteuid() != 0:
            raise harness.Skipped("only root can become other users")
        self.top = tempfile.mkdtemp(prefix="gputally-shared-")
        os.chmod(self.top, 0o755)
        self.binary = shutil.copy(binary, self.path("gputally"))
        self.at, self.victim, self.private = self.path("shared"), self.path("home/victim"), self.path("home/private")
        for path, of, mode in ((self.path("home"), USER, 0o755), (self.at, owner, 0o1777), (self.private, USER, 0o755)):
            os.mkdir(path)
            self.give(path, of, mode)
        shutil.copy(os.path.join(FIXTURES, "pytorch", "training.json.gz"), self.in_it(TRACE))
        self.give(self.in_it(TRACE), USER)
        self.put(self.victim, USER, "precious")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top)

    def path(self, *parts):
        return os.path.join(self.top, *parts)

    def in_it(self, *parts):
        return os.path.join(self.at, *parts)

    def give(self, path, owner, mode=0o644):
        os.chown(path, owner, owner)
        os.chmod(path, mode)

    def put(self, path, owner, text, mode=0o644):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        self.give(path, owner, mode)

    def link(self, name, target, owner=OTHER):
        os.symlink(target, self.in_it(name))
        os.lchown(self.in_it(name), owner, owner)

    def start(self, *words, user=USER):
        env = {**os.environ, "HOME": self.path("home"), "PATH": harness.SYSTEM_PATH}
        return subprocess.Popen([self.binary, *words], cwd=self.at, user=user, group=user, extra_groups=[], umask=0o022, env=env,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *words, user=USER):
        child = self.start(*words, user=user)
        out, err = child.communicate(timeout=harness.WALL_SECONDS)
        assert not harness.SANITIZER.search(err), err
        return subprocess.CompletedProcess(words, child.returncode, out, err)

    def check_victim(self, what):
        with open(self.victim, encoding="ascii") as file:
            assert file.read() == "precious", what
        assert stat.S_IMODE(os.stat(self.victim).st_mode) == 0o644 and os.listdir(self.private) == [], (what, os.listdir(self.private))


def test_links_in_place_of_reports(binary):
    """A default name that is a link, of whoever it is: refused before anything is written. A link that the user names is followed."""
    for owner, name in ((OTHER, "trace_perf_report.xlsx"), (OTHER, "trace_perf_report.html"), (USER, "trace_perf_report.xlsx"),
                        (0, "trace_perf_report.html")):
        with Shared(binary) as s:
            s.link(name, s.victim, owner)
            done = s.run("report", TRACE)
            assert done.returncode == 1 and f"{name}: it is a link; remove it, or name the output\n" in done.stderr, (owner, done)
            s.check_victim((owner, name))
            assert sorted(os.listdir(s.at)) == sorted([TRACE, name]), os.listdir(s.at)
    for words in (("-o", "mine.xlsx"), ("--output_xlsx_path=mine.xlsx",), ("-omine.xlsx",)):
        with Shared(binary) as s:
            s.link("mine.xlsx", s.victim, USER)
            done = s.run("report", TRACE, "-q", *words)
            assert done.returncode == 0 and os.path.islink(s.in_it("mine.xlsx")) and os.path.getsize(s.victim) > 1000, done


def test_links_in_named_folders(binary):
    """The user has named the folder, not the files in it."""
    with Shared(binary) as s:
        os.mkdir(s.in_it("sheets"))
        s.give(s.in_it("sheets"), OTHER, 0o777)
        s.link("sheets/gpu_timeline.csv", s.victim)
        done = s.run("report", TRACE, "--output_csvs_dir", "sheets")
        assert done.returncode == 1 and "sheets/gpu_timeline.csv: it is a link" in done.stderr, done
        s.check_victim("sheets")
        assert os.listdir(s.in_it("sheets")) == ["gpu_timeline.csv"]


def test_files_of_others_in_place_of_reports(binary):
    """Nothing of somebody else is replaced under a default name, not even by root, who could. A file that the user names is."""
    for user, owner, code in ((USER, OTHER, 1), (0, OTHER, 1), (USER, USER, 0)):
        with Shared(binary) as s:
            s.put(s.in_it("trace_perf_report.xlsx"), owner, "theirs", 0o666)
            done = s.run("report", TRACE, user=user)
            assert done.returncode == code, (user, owner, done)
            if not code:
                continue
            assert "trace_perf_report.xlsx: it belongs to another user" in done.stderr, done
            with open(s.in_it("trace_perf_report.xlsx"), encoding="ascii") as file:
                assert file.read() == "theirs"
            assert s.run("report", TRACE, "-o", "trace_perf_report.xlsx", "-q", user=0).returncode == 0


def test_linked_folders(binary):
    """A report next to a trace that was found behind somebody else's link is not written through this link."""
    with Shared(binary) as s:
        os.mkdir(s.in_it("runs"))
        s.give(s.in_it("runs"), USER, 0o1777)
        s.link("runs/sheets", s.private)
        done = s.run("report", TRACE, "--output_csvs_dir", "runs/sheets")
        assert done.returncode == 0 and os.listdir(s.private), done  # named by the user
    with Shared(binary) as s:
        s.link("256thread", s.private)
        done = s.run("sweep", "run", "-c", "28", "-t", "256", "-o", ".", "--delay", "0", "--", "true")
        s.check_victim(done)


def test_run_record(binary):
    """What `gputally run` writes beside the trace: its record, a description of the machine, and the log."""
    for name, said in (("gputally_run.json", "it is a link"), ("true_env.csv", "it is a link"), ("true.run.live.log", "")):
        with Shared(binary) as s:
            s.link(name, s.victim)
            done = s.run("run", "-o", ".", "--", "true")
            s.check_victim((name, done))
            assert done.returncode and said in done.stderr, done


def test_index_of_another_user(binary):
    """An index beside the trace is read if it is of the user, root, the owner of the folder or that of the trace; a link never."""
    for owner, folder, trace, used in ((OTHER, 0, USER, False), (USER, 0, USER, True), (0, 0, USER, True), (OTHER, OTHER, USER, True),
                                       (OTHER, 0, OTHER, True)):
        with Shared(binary, folder) as s:
            assert s.run("index", TRACE, "-q", user=0).returncode == 0
            with open(s.in_it(INDEX), "r+b") as file:  # by "another build": it says so if it is read
                file.seek(16)
                file.write(bytes([ord(file.read(1)) ^ 1]))
            s.give(s.in_it(TRACE), trace)
            s.give(s.in_it(INDEX), owner)
            done = s.run("report", TRACE, "--print")
            said = ("another build" in done.stderr, "of another user" in done.stderr)
            assert done.returncode == 0 and said == (used, not used), (owner, done)
            if used:
                continue
            assert "another build" in s.run("report", TRACE, "--print", "--index", INDEX).stderr  # named by the user
            done = s.run("index", TRACE)
            assert done.returncode == 0 and f"wrote {s.path('home')}/.cache/gputally/" in done.stdout, done
            assert not s.run("report", TRACE, "--print", "--index", "auto").returncode
    for owner in (USER, OTHER):
        with Shared(binary) as s:
            assert s.run("index", TRACE, "-q").returncode == 0
            os.rename(s.in_it(INDEX), s.path("home/index"))
            s.link(INDEX, s.path("home/index"), owner)
            done = s.run("report", TRACE, "--print")
            assert done.returncode == 0 and "a link" in done.stderr, done


def test_work_folder_of_another_user(binary):
    """Several processes: nothing under a name that somebody else could have guessed, and no folder of somebody else or behind a link."""
    mpirun = shutil.which("mpirun", path=harness.SYSTEM_PATH)
    if not mpirun:
        raise harness.Skipped("no mpirun")
    with Shared(binary) as s:
        for rank in range(3):
            shutil.copy(s.in_it(TRACE), s.in_it(f"rank{rank}.json.gz"))
            s.give(s.in_it(f"rank{rank}.json.gz"), USER)
        s.link(".gputally-parts", s.private)
        s.link(".gputally-parts-0123456789abcdef", s.private)
        os.mkdir(s.in_it(".gputally-parts-0000000000000000"))
        s.give(s.in_it(".gputally-parts-0000000000000000"), OTHER, 0o777)
        before = sorted(os.listdir(s.at))
        traces = [f"rank{rank}.json.gz" for rank in range(3)]
        words = [mpirun, "--oversubscribe", "-n", "2", s.binary, "report", *traces, "--output_csvs_dir", "out"]
        done = subprocess.run(words, cwd=s.at, user=USER, group=USER, extra_groups=[], umask=0o022, capture_output=True, text=True,
                              env={**os.environ, "HOME": s.path("home"), "PATH": harness.SYSTEM_PATH}, timeout=600)
        assert done.returncode == 0, done
        s.check_victim(done)
        assert sorted(os.listdir(s.at)) == sorted([*before, "out"]), os.listdir(s.at)
        assert not os.listdir(s.in_it(".gputally-parts-0000000000000000"))


def test_partials_of_others(binary):
    """In a folder, what another user has put there is left out, and `merge` says so; `--partials` does it again."""
    with Shared(binary) as s:
        for name in ("a.json.gz", "b.json.gz"):
            shutil.copy(s.in_it(TRACE), s.in_it(name))
            s.give(s.in_it(name), USER)
        os.mkdir(s.in_it("kept"))
        s.give(s.in_it("kept"), 0, 0o1777)
        words = ("report", "a.json.gz", "b.json.gz", "-q", "--partials", "kept", "--output_csvs_dir", "out")
        assert s.run(*words).returncode == 0
        parts = glob.glob(s.in_it("kept", "*.gtpart"))
        assert len(parts) == 2, parts
        s.give(parts[0], OTHER)
        done = s.run("merge", "kept")
        assert "partial of another user" in done.stderr, done


def test_cache_of_a_sweep(binary):
    """ANALYSIS/.gputally that is a link, or somebody else's: nothing is read or kept there."""
    for kind in ("link", "folder"):
        with Shared(binary) as s:
            os.mkdir(s.in_it("analysis"))
            s.give(s.in_it("analysis"), USER, 0o1777)
            generate_sweep.lay_out(s.in_it("s"), (256, 512), (28,), (0, 1))
            if kind == "link":
                s.link("analysis/.gputally", s.private)
            else:
                os.mkdir(s.in_it("analysis/.gputally"))
                s.give(s.in_it("analysis/.gputally"), OTHER, 0o777)
            done = s.run("sweep", "report", "s", "-o", "analysis", "--quiet")
            s.check_victim((kind, done))
            assert kind == "link" or os.listdir(s.in_it("analysis/.gputally")) == [], os.listdir(s.in_it("analysis/.gputally"))


def test_links_all_or_none(binary):
    """One name of `gputally links` cannot be replaced, because it is somebody else's: then none is, and what was set aside is back."""
    with Shared(binary) as s:
        s.link("madengine", "/gone/gputally-0.0")
        s.put(s.in_it("generate_perf_report.py"), USER, "mine")
        before = harness.files_under(s.at)
        done = s.run("links", ".", "--force")
        assert done.returncode == 1 and "madengine: Operation not permitted" in done.stderr, done
        assert harness.files_under(s.at) == before and not os.path.exists(s.in_it(".gputally-originals")), harness.files_under(s.at)
        with open(s.in_it("generate_perf_report.py"), encoding="ascii") as file:
            assert file.read() == "mine"
        os.remove(s.in_it("madengine"))
        assert s.run("links", ".", "--force").returncode == 0 and os.readlink(s.in_it("madengine")) == s.binary


def test_temporary_names(binary):
    """.NAME.tmp-PID-MACHINE-RANDOM: nobody can put a link there before. (What removes them is tested in cli/test_hostile_files.)"""
    with Shared(binary) as s:
        found = set()
        for _ in range(2):
            child = s.start("convert", TRACE, "out.pftrace", "-q")
            while child.poll() is None:
                found |= {name for name in os.listdir(s.at) if ".tmp-" in name}
            child.communicate()
        for name in found:
            prefix, process, machine, number = name.rsplit("-", 3)
            assert prefix == ".out.pftrace.tmp" and process.isdigit() and (len(machine), len(number)) == (8, 16), found


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
