#!/usr/bin/env python3
"""Commands over many traces under `mpirun -n 3`: the same files, printed lines and exit code as one process, with damaged and missing
traces, outputs that cannot be written, a second run into the same folder, and a run that was killed.

    python3 -m tests.procs.test_commands --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

from tests.common import harness
from tests.procs import group
from tests.sweep import generate_sweep

RANKS = 4


def write_trace(path, rank, repeat=1):
    """A trace with ops, kernels and collectives; `repeat` makes it longer, but for the collectives."""
    events = generate_sweep.trace(256, 28 + rank, rank)["traceEvents"]
    more = [{**event, "ts": event["ts"] + 20000.0 * (1 + i)} for i in range(repeat - 1) for event in events
            if event.get("cat") == "kernel" and "nccl" not in event["name"]]
    with open(path, "w") as file:
        json.dump({"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": RANKS}, "traceEvents": events + more}, file)


class Twins:
    """Two folders with the same traces: one process works in the first, a process group in the second."""

    def __init__(self, binary, layout):
        self.binary = binary
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="gputally-group-"))
        self.one, self.many = os.path.join(self.path, "one", "my run"), os.path.join(self.path, "two", "my run")
        os.makedirs(self.one)
        layout(self.one)
        shutil.copytree(self.one, self.many)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def alone(self, *words):
        return group.run([self.binary, *words], self.one)

    def group(self, *words, processes=3):
        return group.run([*group.launcher("openmpi"), str(processes), self.binary, *words], self.many)

    def check(self, *words, code=0):
        """Runs the command in both folders and compares everything."""
        alone, several = self.alone(*words), self.group(*words)
        self.compare(alone, several, words, code)

    def compare(self, alone, several, words, code=0):
        assert alone.returncode == code, (words, alone.returncode, alone.stderr[-1000:])
        assert several.returncode == code, (words, several.returncode, several.stderr[-1000:])
        assert self.text(alone.stdout) == self.text(several.stdout), (words, alone.stdout, several.stdout)
        assert group.sentences(self.text(alone.stderr)) == group.sentences(self.text(several.stderr)), (words, alone.stderr, several.stderr)
        assert not self.differences(), (words, self.differences())

    def text(self, text):
        """Without what differs: the folder, and how long something took."""
        text = text.replace(self.one, "HERE").replace(self.many, "HERE").replace("\r\n", "\n")
        return re.sub(r"Elapsed time(.*): [\d.]+ seconds", r"Elapsed time\1", text)

    def files(self, folder):
        """Caches have names by path, and work folders stay after a failure."""
        return {name for name in harness.files_under(folder) if ".gputally" not in name}

    def differences(self):
        names = sorted(self.files(self.one) | self.files(self.many))
        return [name for name in names if group.read(os.path.join(self.one, name)) != group.read(os.path.join(self.many, name))]

    def work_folders(self):
        return [at for at, _, _ in os.walk(self.many) if os.path.basename(at).startswith(".gputally-parts-")]


def ranks(folder):
    os.makedirs(os.path.join(folder, "ranks"))
    for rank in range(RANKS):
        write_trace(os.path.join(folder, "ranks", f"rank{rank}_trace.json"), rank)


def cut(folder, name, source):
    with open(os.path.join(folder, source)) as file:
        text = file.read()
    with open(os.path.join(folder, name), "w") as file:
        file.write(text[:len(text) // 2])


def damaged(folder):
    ranks(folder)
    cut(folder, "ranks/rank2_trace.json", "ranks/rank2_trace.json")


def test_report_of_ranks(binary):
    with Twins(binary, ranks) as twins:
        twins.check("report", "ranks")
        twins.check("report", "ranks")  # again, into the same files
        twins.check("report", "ranks", "--output_csvs_dir", "csv", "--output_json", "json", "--output_md", "md", "--output_html", "html")
        assert not twins.work_folders()


def test_report_of_damaged_ranks(binary):
    with Twins(binary, damaged) as twins:
        twins.check("report", "ranks", "--strict", "--output_csvs_dir", "csv", "--output_json", "json", code=1)
        assert twins.work_folders()
        os.remove(os.path.join(twins.many, "ranks", "rank2_trace.json"))
        done = group.run([binary, "report", ".", "-q", "--output_csvs_dir", "csv"], os.path.join(twins.many, "ranks"))
        assert done.returncode == 0 and not twins.work_folders(), (done.stderr, "what another spelling of the folder has left")


def test_report_of_files(binary):
    with Twins(binary, ranks) as twins:
        files = ["ranks/rank0_trace.json", "nothing.json", "ranks/rank1_trace.json", "ranks/rank3_trace.json"]
        twins.check("report", *files, "--all_findings", code=1)


def test_unwritable_output(binary):
    def layout(folder):
        ranks(folder)
        with open(os.path.join(folder, "file"), "w") as file:
            file.write("not a folder")
    with Twins(binary, layout) as twins:
        twins.check("report", "ranks", "--output_csvs_dir", "file/csv", code=1)
        os.remove(os.path.join(twins.one, "file"))
        os.remove(os.path.join(twins.many, "file"))
        twins.check("report", "ranks", "--output_csvs_dir", "file/csv")  # the failure is not remembered
        twins.check("fuse", "--trace_dir", "ranks", "--output", "ranks/rank0_trace.json/x.json", code=1)


def test_batch(binary):
    def layout(folder):
        for name in "a", "b", "c":
            os.makedirs(os.path.join(folder, "runs", name))
            for rank in range(1 if name == "b" else 3):
                write_trace(os.path.join(folder, "runs", name, f"rank_{rank}.json"), rank)
        cut(folder, "runs/c/rank_1.json", "runs/a/rank_1.json")
    with Twins(binary, layout) as twins:
        everything = ["--output_csvs_dir", "csv", "--output_db", "x.db", "--output_html", "x.html", "--all_kernels"]
        twins.check("batch", "-b", "runs/a", "-f", "rank_", *everything)
        twins.check("batch", "-b", "runs", "-f", "rank_")
        twins.check("batch", "-b", "runs", "-f", "rank_")  # the first workbook exists
        assert not twins.work_folders()


def test_compare(binary):
    with Twins(binary, ranks) as twins:
        files = [f"ranks/rank{rank}_trace.json" for rank in range(3)]
        twins.check("compare", *files[:2], "--output", "x.xlsx", "--output_html", "x.html", "--output_json", "x.json", "--output_md", "x.md")
        twins.check("compare", *files, "--output_csvs_dir", "csv", "--fail_if", "step_ms > -1000000%", code=3)
        twins.check("compare", files[0], "csv", "--sheets", "gpu_timeline", "--output", "y.xlsx", code=1)


def test_query(binary):
    """Also of traces that cannot be read, of one trace, and of an answer that is only printed."""
    with Twins(binary, ranks) as twins:
        twins.check("query", "SELECT * FROM gpu_timeline", "ranks")
        twins.check("query", "SELECT rank, name, \"Count\" FROM ops_summary ORDER BY 3 DESC, 1, 2", "ranks", "--output", "x.csv", "--output_db", "x.db")
        twins.check("query", "SELECT * FROM findings", "ranks", "--output", "x.json", "--output_db", "x.db")  # x.db exists
        twins.check("query", "ranks")
        twins.check("query", "SELECT count(*) FROM temporal_breakdown", "ranks/rank1_trace.json", "--format", "json")
        assert not twins.work_folders()
        twins.check("query", "SELECT nothing FROM gpu_timeline", "ranks", "--output", "y.csv", code=1)
        twins.check("query", "SELECT * FROM gpu_timeline", "ranks/rank3_trace.json", "nothing.json", "ranks/rank0_trace.json", code=1)
        twins.check("query", "SELECT * FRO gpu_timeline", "ranks", code=1)
        twins.check("query", "SELECT 1", code=2)
    with Twins(binary, damaged) as twins:
        twins.check("query", "SELECT trace, rank, error FROM traces", "ranks", "--strict", code=1)
        twins.check("query", "SELECT * FROM gpu_timeline", "ranks")


def test_query_after_kill(binary):
    """What a killed run has read is not read again."""
    def layout(folder):
        os.makedirs(os.path.join(folder, "ranks"))
        for rank in range(RANKS):
            write_trace(os.path.join(folder, "ranks", f"rank{rank}_trace.json"), rank, repeat=50 if rank else 3000)
    words = ["query", 'SELECT sum(9223372036854775807) FROM kernel_summary', "ranks", "--output", "x.csv"]  # fails, and so keeps the partials
    with Twins(binary, layout) as twins:
        def parts():
            return {name: os.stat(os.path.join(twins.many, name)).st_mtime_ns for name in harness.files_under(twins.many)
                    if re.search(r"rank\d.*\.gtpart$", name)}
        wait_until_settled(twins.many)
        kill_when_some_are_done(twins, words)
        before = parts()
        assert before, "killed too early"
        twins.compare(twins.alone(*words), twins.group(*words), words, code=1)
        assert len(parts()) == RANKS and before.items() <= parts().items(), (before, parts())


def test_sweep(binary):
    def layout(folder):
        generate_sweep.lay_out(os.path.join(folder, "sweep"), ranks=range(2))
    with Twins(binary, layout) as twins:
        twins.check("sweep", "report", "sweep")
        twins.check("sweep", "report", "sweep")  # nothing to do
        twins.check("sweep", "all", "sweep", "--force")
        assert not twins.work_folders()


def test_fuse(binary):
    def layout(folder):
        damaged(folder)
        with open(os.path.join(folder, "empty.json"), "w") as file:
            file.write('{"traceEvents": []}')
    with Twins(binary, layout) as twins:
        files = [f"ranks/rank{rank}_trace.json" for rank in range(RANKS)]
        twins.check("fuse", files[0], files[1], files[3], "--output", "x.json.gz")
        twins.check("fuse", "empty.json", *files, "--output", "y.json", "--allow_missing_ranks", "--align_times")
        assert not twins.work_folders()
        twins.check("fuse", *files, "--output", "z.json.gz", code=1)
        assert twins.work_folders()
        done = group.run([binary, "fuse", files[0], files[1], "--output", "x.json.gz"], twins.many)
        assert done.returncode == 0 and not twins.work_folders(), "a single process uses no partials, but removes those of a process group"


def wait_until_settled(folder):
    """A partial is used again if its trace was there for two seconds before: then a change would have given it another time."""
    newest = max(os.stat(os.path.join(folder, name)).st_ctime for name in harness.files_under(folder))
    while time.time() < newest + 2.1:
        time.sleep(0.05)


def times(folder):
    return {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in harness.files_under(folder) if re.match("csv/rank|html/rank", name)}


def written_again(before, folder):
    """The ranks of which a file was written since."""
    now = times(folder)
    return {int(re.search(r"rank(\d)", name).group(1)) for name in now if now[name] != before.get(name)}


def test_one_process_packs_too(binary):
    """With --partials, one process packs everything; the next run unpacks it, and works only on what has changed."""
    words = ["report", "ranks", "--output_csvs_dir", "csv", "--output_html", "html"]
    with Twins(binary, ranks) as twins:
        kept = os.path.join(twins.path, "kept")
        wait_until_settled(twins.many)
        alone = twins.alone(*words)
        twins.compare(alone, group.run([binary, *words, "--partials", kept], twins.many), words)
        before = times(twins.many)
        twins.compare(alone, group.run([binary, *words, "--partials", kept], twins.many), words)
        assert written_again(before, twins.many) == set()
        os.remove(os.path.join(twins.many, "html", "rank1.html"))
        with open(os.path.join(twins.many, "csv", "rank3", "GEMM.csv"), "a") as file:
            file.write("changed")
        twins.compare(alone, group.run([binary, *words, "--partials", kept], twins.many), words)
        assert written_again(before, twins.many) == {1, 3}


def kill_when_some_are_done(twins, words):
    """Starts a process group. When there is a partial, kills mpirun and then the processes with SIGKILL, before these notice and end."""
    mark = "group-" + uuid.uuid4().hex
    child = subprocess.Popen([*group.launcher("openmpi"), "2", twins.binary, *words], cwd=twins.many, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=group.environment(GPUTALLY_TEST_MARK=mark),
                             start_new_session=True)
    while child.poll() is None and not any(re.search(r"rank\d.*\.gtpart$", name) for name in harness.files_under(twins.many)):
        time.sleep(0.002)
    child.kill()
    for pid, kind in group.processes(mark).items():
        if kind == "main":
            os.kill(pid, signal.SIGKILL)
    child.wait(timeout=group.WAIT_S)
    end = time.monotonic() + 60
    while group.processes(mark) and time.monotonic() < end:
        time.sleep(0.02)
    assert not group.processes(mark)


def test_resume_after_kill(binary):
    def layout(folder):
        os.makedirs(os.path.join(folder, "ranks"))
        for rank in range(RANKS):
            write_trace(os.path.join(folder, "ranks", f"rank{rank}_trace.json"), rank, repeat=50 if rank else 3000)
    words = ["report", "ranks", "--output_csvs_dir", "csv", "--output_html", "html"]
    with Twins(binary, layout) as twins:
        wait_until_settled(twins.many)
        kill_when_some_are_done(twins, words)
        done = {int(found.group(1)) for found in (re.search(r"rank(\d).*\.gtpart$", name) for name in harness.files_under(twins.many)) if found}
        assert done, "killed too early"
        before = times(twins.many)
        twins.compare(twins.alone(*words), twins.group(*words), words)
        assert not written_again(before, twins.many) & done, (done, written_again(before, twins.many))
        assert not twins.work_folders()


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
