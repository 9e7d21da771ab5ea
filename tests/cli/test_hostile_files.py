#!/usr/bin/env python3
"""What lies in folders beside the traces, and what their names and contents may do: FIFOs, sockets, leftovers of killed
programs, escape characters, cells that look like formulas, line breaks of Unicode.

    python3 -m tests.cli.test_hostile_files --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import csv
import gzip
import io
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from tests.common import harness
from tests.common.harness import FIXTURES
from tests.sweep.test_html import make_sweep

TRACE = os.path.join(FIXTURES, "pytorch", "training.json.gz")
PROFILE = os.path.join(FIXTURES, "jax", "matmul.xplane.pb.gz")
ROCPROF = os.path.join(FIXTURES, "rocprof", "tiny_results.json")
ESCAPE = "\x1b[31mred\x1b[0m\x07\x9b2J\u202ecba\r"  # colour, bell, CSI, right-to-left, carriage return
SPECIAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class Place:
    """A temporary folder."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="gputally-hostile-")
        self.held = []
        return self

    def __exit__(self, *_):
        for held in self.held:
            held.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def at(self, *names):
        path = os.path.join(self.path, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def put(self, name, data):
        with open(self.at(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return self.at(name)

    def fifo(self, name):
        os.mkfifo(self.at(name))

    def socket(self, name):
        self.held.append(socket.socket(socket.AF_UNIX))
        self.held[-1].bind(self.at(name))

    def run(self, binary, *arguments, code=0):
        done = harness.run([binary, *arguments], cwd=self.path)
        assert not harness.SANITIZER.search(done.stderr), done.stderr
        assert done.code == code, f"{arguments}: exit code {done.code}: {done.stderr}"
        return done


# ---- FIFOs and sockets: opening a FIFO would wait forever ----


def expect_warnings(done, *names):
    for name, kind in names:
        assert f"{name}: skipped, because it is a {kind} and not a file" in done.stderr, (name, done.stderr)


def test_fifo_in_a_rocprof_folder(binary):
    with Place() as place:
        shutil.copy(ROCPROF, place.at("run", "1_results.json"))
        place.fifo("run/2_results.json")
        place.fifo("run/below/3_kernel_trace.csv")
        place.socket("run/4_results.db")
        os.symlink("/dev/zero", place.at("run", "5_results.json"))
        place.fifo("run/other")  # not a name of rocprofv3: nobody opens it
        for command in (("rocprof",), ("report",)):
            done = place.run(binary, *command, "run", "--output_csvs_dir", "out")
            expect_warnings(done, ("run/2_results.json", "FIFO"), ("run/below/3_kernel_trace.csv", "FIFO"),
                            ("run/4_results.db", "socket"), ("run/5_results.json", "device"))
            assert "run/other" not in done.stderr
        assert os.path.exists(place.at("out", "gpu_timeline.csv"))
        place.run(binary, "convert", "run", "out.json")


def test_fifo_in_a_jax_folder(binary):
    with Place() as place:
        shutil.copy(PROFILE, place.at("plugins/profile/1/a.xplane.pb.gz"))
        place.fifo("plugins/profile/1/b.xplane.pb")
        done = place.run(binary, "jax", ".", "--output_csvs_dir", "out")
        expect_warnings(done, ("b.xplane.pb", "FIFO"))
        place.fifo("plugins/profile/2/c.xplane.pb")  # the newest run has only this
        done = place.run(binary, "report", ".", "--output_csvs_dir", "out2")
        expect_warnings(done, ("c.xplane.pb", "FIFO"))


def test_fifo_among_batch_traces(binary):
    with Place() as place:
        shutil.copy(TRACE, place.at("t", "rank_0.gz"))
        place.fifo("t/rank_01.gz")
        place.socket("t/rank_02.gz")
        done = place.run(binary, "batch", "-b", "t", "-e", "gz", "-f", "rank", "--output_csvs_dir", "out")
        expect_warnings(done, ("t/rank_01.gz", "FIFO"), ("t/rank_02.gz", "socket"))


def test_fifo_among_ranks(binary):
    with Place() as place:
        for rank in range(2):
            shutil.copy(os.path.join(FIXTURES, "pytorch", "collectives.json.gz"), place.at("t", f"rank{rank}.json.gz"))
        place.fifo("t/rank2.json.gz")
        done = place.run(binary, "collective", "--trace_glob", "t/*.json.gz", "--rank_regex", r"rank(?P<rank>\d+)", "--world_size", "2",
                         "--output_csvs_dir", "out", code=1)  # the fixture has no collectives
        expect_warnings(done, ("t/rank2.json.gz", "FIFO"))


def test_fifo_in_a_report_folder(binary):
    with Place() as place:
        for name in ("a", "b"):
            place.run(binary, "pytorch", TRACE, "--output_csvs_dir", name, "--quiet")
        os.remove(place.at("b", "ops_summary.csv"))
        place.fifo("b/ops_summary.csv")
        done = harness.run([binary, "compare", "a", "b", "-o", "out.xlsx"], cwd=place.path)
        assert done.code in (0, 1) and not done.timed_out, done
        expect_warnings(done, ("b/ops_summary.csv", "FIFO"))


def test_fifo_in_a_sweep(binary):
    with Place() as place:
        make_sweep(place.path, 1)
        folders = [at for at, _, names in os.walk(place.path) if names]
        for at in folders:
            os.mkfifo(os.path.join(at, "trace_fifo.json"))
            os.mkfifo(os.path.join(at, "fifo.png"))
        for step in (("report",), ("html",), ("top",), ("timeline",)):
            done = harness.run([binary, "sweep", *step, place.path], cwd=place.path)
            assert done.code in (0, 1, 2) and not done.timed_out, (step, done)


def test_fifo_named_by_the_user(binary):
    """A FIFO that the user names is read."""
    with Place() as place:
        place.fifo("trace.json")
        child = subprocess.Popen([binary, "pytorch", "trace.json", "--output_csvs_dir", "out", "--quiet"], cwd=place.path)
        with open(place.at("trace.json"), "wb") as file, gzip.open(TRACE) as source:
            shutil.copyfileobj(source, file)
        assert child.wait() == 0


# ---- leftovers of killed programs ----


def dead_pid():
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


def test_leftovers_are_removed(binary):
    """Hidden files of a process that has ended, for the names that are written; nothing else."""
    with Place() as place:
        dead, alive = dead_pid(), os.getpid()
        zombie = subprocess.Popen(["true"])  # ends, and nobody waits for it, as in a container whose first process does not
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        gone = [f".gpu_timeline.csv.tmp-{dead}", f".gpu_timeline.csv.tmp-{dead}-3", f".ops_summary.csv.tmp-{dead}",
                f".gpu_timeline.csv.tmp-{zombie.pid}"]
        kept = [f".gpu_timeline.csv.tmp-{alive}", f".gpu_timeline.csv.tmp-{dead}x", f".gpu_timeline.csv.tmp-0{dead}",
                f".gpu_timeline.csv.tmp-{dead}-", f".my_notes.csv.tmp-{dead}", f"gpu_timeline.csv.tmp-{dead}",
                f".gpu_timeline.csv.tmp--{dead}", ".gpu_timeline.csv.tmp-", ".gpu_timeline.csv.tmp-99999999999999999999",
                f".gpu_timeline.csv.tmp-{dead}~", f".agpu_timeline.csv.tmp-{dead}", ".gpu_timeline.csv", "notes.txt"]
        kept.append(f".gpu_timeline.csv.tmp-{dead}-00000002-0123456789abcdef")  # of another machine: its processes are unknown
        old = f".gpu_timeline.csv.tmp-{alive}-00000004-0123456789abcdef"
        gone.append(old)
        for name in gone + kept:
            place.put("out/" + name, "x")
        os.utime(place.at("out", old), (time.time() - 90000,) * 2)  # a day has 86400 seconds
        os.mkdir(place.at("out", f".kernel_summary.csv.tmp-{dead}"))
        os.symlink("notes.txt", place.at("out", f".ops_summary_by_category.csv.tmp-{dead}"))
        place.run(binary, "pytorch", TRACE, "--output_csvs_dir", "out", "--quiet", "--enable_kernel_summary")
        left = set(os.listdir(place.at("out")))
        zombie.wait()
        assert not left & set(gone), left & set(gone)
        assert set(kept) <= left, set(kept) - left
        assert f".kernel_summary.csv.tmp-{dead}" in left and f".ops_summary_by_category.csv.tmp-{dead}" in left


def test_leftovers_of_a_killed_run(binary):
    """SIGKILL in the middle of writing; the next run leaves only its own files."""
    with Place() as place:
        place.put("hook.py", "import os, signal\n")
        for attempt in range(40):
            child = subprocess.Popen([binary, "pytorch", TRACE, "--output_csvs_dir", "out", "--quiet"], cwd=place.path)
            end = time.monotonic() + 60
            while child.poll() is None and time.monotonic() < end:
                if os.path.isdir(place.at("out")) and any(".tmp-" in name for name in os.listdir(place.at("out"))):
                    break
            child.send_signal(signal.SIGKILL)
            child.wait()
            if any(".tmp-" in name for name in os.listdir(place.at("out"))):
                break
            shutil.rmtree(place.at("out"))
        else:
            raise harness.Skipped("the program is too fast to be killed while it writes")
        place.run(binary, "pytorch", TRACE, "--output_csvs_dir", "out", "--quiet")
        left = [name for name in os.listdir(place.at("out")) if not name.endswith(".csv") or name.startswith(".")]
        assert not left, left


# ---- escape characters ----


def named_trace():
    """A trace whose kernels and ops have names with escape characters."""
    with gzip.open(TRACE) as file:
        document = json.load(file)
    for event in document["traceEvents"]:
        if event.get("cat") in ("kernel", "cpu_op"):
            event["name"] = event.get("name", "") + ESCAPE
    return json.dumps(document)


def test_escapes_in_names(binary):
    """No escape character of a file, folder or kernel reaches the terminal, whether the command succeeds or not."""
    with Place() as place:
        name = ESCAPE
        place.put(f"{name}.json", named_trace())
        place.put(f"{name}_damaged.json", named_trace()[:100000])
        place.put(f"{name}_rank_0.json", named_trace())
        place.put(f"{name}.bin", b"\0\1\2")
        os.mkdir(place.at(f"{name}_folder"))
        commands = [
            ("pytorch", f"{name}.json", "--output_csvs_dir", f"{name}_out", "--output_xlsx_path", f"{name}.xlsx", "--enable_kernel_summary"),
            ("report", f"{name}.json", "--output_csvs_dir", f"{name}_out2"), ("report", f"{name}_damaged.json", "--output_db", f"{name}.db"),
            ("report", f"{name}.bin"), ("report", f"{name}_folder"), ("report", f"missing{name}"), ("rocprof", f"{name}.json"),
            ("convert", f"{name}.json", f"{name}.pftrace"), ("convert", f"{name}.json", f"{name}.none"), ("split", f"{name}.json", "-o", f"{name}_s"),
            ("diff", f"{name}.json", f"{name}.json", "--output_dir", f"{name}_d"), ("jax", f"{name}.json"), (name,), ("report", "--" + name),
            ("batch", "-b", ".", "--output_csvs_dir", f"{name}_b"), ("compare", f"{name}_out", f"{name}_out2", "-o", f"{name}c.xlsx"),
            ("fuse", f"{name}.json", f"{name}.json", "-o", f"{name}f.json"), ("sweep", "top", f"{name}_folder"), ("sweep", name),
            ("collective", "--trace_glob", f"*{name}*", "--rank_regex", "(?P<rank>0)"), ("model", name), ("help", name),
            ("pytorch", f"{name}.json", "--gpu_arch_platform", name), ("run", "-f", name, "--", "true"), ("genesis", f"{name}_folder"),
        ]
        for command in commands:
            done = subprocess.run([binary, *command], cwd=place.path, capture_output=True)
            for stream in (done.stdout, done.stderr):
                found = SPECIAL.search(stream.decode(errors="surrogateescape").replace("\n", ""))
                assert not found, (command, found, stream)
            assert done.stdout + done.stderr or not done.returncode, command


def test_colours_on_a_terminal(binary):
    """On a terminal the program's own colours are there, and those of a kernel's name are not."""
    with Place() as place:
        place.put("trace.json", named_trace())
        leader, follower = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "LANG": "C.UTF-8"}
        child = subprocess.Popen([binary, "pytorch", "trace.json", "--output_csvs_dir", "out", "--enable_kernel_summary"], cwd=place.path,
                                 stdout=follower, stderr=follower, env=environment)
        os.close(follower)
        data = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            data += part
        os.close(leader)
        assert child.wait() == 0
        text = data.decode()
        assert "\x1b[1m" in text, "no headings in bold"
        allowed = re.sub("\x1b\\[(0|1|36)m|\r\n|\r\x1b\\[K", "", text)
        assert not SPECIAL.search(allowed.replace("\n", "")), SPECIAL.search(allowed)
        assert "\\x1b[31m" in text, "the name is not shown"


# ---- CSV files for spreadsheets ----


def formula_trace():
    names = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-1", "+2.5e3", "-", "=1", "-1-1", "plain", "a=1", "'=1", "-1e", "- 1"]
    events = []
    for i, name in enumerate(names):
        events += [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 100 * i, "dur": 50, "args": {"External id": i}},
                   {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 100 * i + 5, "dur": 2,
                    "args": {"correlation": i + 1}},
                   {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": i + 1, "pid": 1, "tid": 1, "ts": 100 * i + 5},
                   {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": i + 1, "pid": 0, "tid": 7, "ts": 100 * i + 20, "bp": "e"},
                   {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 100 * i + 20, "dur": 10 + i,
                    "args": {"correlation": i + 1, "stream": 7}}]
    return names, json.dumps({"traceEvents": events})


def test_csv_safe(binary):
    """Text that a spreadsheet would compute begins with ' in files of our own commands; numbers and other text do not change.
    Commands that replace other programs write the bytes of those, unless told otherwise. What compare reads is what was marked."""
    names, text = formula_trace()
    expected = {name: "'" + name if name[0] in "=+-@\t\r" and name not in ("-1", "+2.5e3", "-") or name == "'=1" else name for name in names}
    assert sum(k != v for k, v in expected.items()) == 11
    with Place() as place:
        place.put("trace.json", text)
        os.symlink(os.path.abspath(binary), place.at("TraceLens_compare_perf_reports_pytorch"))

        def holds(names_in, is_marked, column="name"):
            found = {row[column] for row in csv.DictReader(names_in)}
            wanted = {expected[name] if is_marked else name for name in names}
            assert found == wanted, found ^ wanted
        for folder, command, is_marked, *option in (("plain", "pytorch", False), ("safe", "pytorch", True, "--csv_safe"), ("report", "report", True),
                                                    ("report_plain", "report", False, "--no_csv_safe")):
            place.run(binary, command, "trace.json", "--output_csvs_dir", folder, "--quiet", *option)
            with open(place.at(folder, "ops_summary.csv"), newline="", encoding="utf-8") as file:
                holds(file, is_marked)
        query = "SELECT name FROM ops_summary"
        holds(io.StringIO(place.run(binary, "query", query, "trace.json", "--format", "csv", "--quiet").stdout, newline=""), True)
        holds(io.StringIO(place.run(binary, "query", query, "trace.json", "--format", "csv", "--quiet", "--no_csv_safe").stdout, newline=""), False)
        place.run(binary, "compare", "trace.json", "report", "--output_csvs_dir", "compared", "--quiet")
        with open(place.at("compared", "ops_summary.csv"), newline="", encoding="utf-8") as file:
            holds(file, True)  # each name of the files is that of the trace
        place.run(place.at("TraceLens_compare_perf_reports_pytorch"), "report", "report", "--names", "a", "b", "--output_csvs_dir", "old", "-o", "old.xlsx")
        with open(place.at("old", "ops_summary.csv"), newline="", encoding="utf-8") as file:
            holds(file, False)
        changed = [name for name in os.listdir(place.at("plain"))
                   if re.sub(r"(^|,|\")'+", r"\1", open(place.at("safe", name), encoding="utf-8", newline="").read(), flags=re.M)
                   != re.sub(r"(^|,|\")'+", r"\1", open(place.at("plain", name), encoding="utf-8", newline="").read(), flags=re.M)]
        assert not changed, changed  # nothing but the apostrophes differs
        numbers = [cell for row in csv.reader(open(place.at("safe", "gpu_timeline.csv"), encoding="utf-8", newline="")) for cell in row[1:]]
        assert not any(cell.startswith("'") for cell in numbers)


# ---- line breaks of Unicode ----


def test_unicode_line_breaks_in_json(binary):
    """U+0085, U+2028, U+2029 and C1 characters are escaped in JSON that is written, and read back as they were."""
    name = "a\x85b\u2028c\u2029d\x7fe\x9bf\u00e9"
    with Place() as place:
        with open(ROCPROF, encoding="utf-8") as file:
            place.put("1_results.json", file.read().replace("ncclDevKernel", json.dumps(name, ensure_ascii=False)[1:-1]))
        place.run(binary, "convert", "1_results.json", "out.json", "--quiet")
        data = open(place.at("out.json"), encoding="utf-8").read()
        assert not SPECIAL.search(data.replace("\n", "")), "not escaped"
        assert "\u00e9" in data or "\\u00e9" in data
        assert any(event.get("name") == name for event in json.loads(data)["traceEvents"]), data


def test_unicode_line_breaks_in_yaml(binary):
    """Values from a context in a Kubernetes file."""
    try:
        import yaml
    except ImportError:
        raise harness.Skipped("Python has no yaml module")
    value = "a\x85b\u2028c\u2029d\x7fe\x9bf: - '\""
    with Place() as place:
        context = {"k8s": {"namespace": "n", "image": "i", "labels": {}}, "docker_env_vars": {"X": value}, "env_vars": {"X": value}}
        place.put("context.json", json.dumps(context))
        done = harness.run([binary, "run", "-f", "context.json", "--docker=image", "--generate_only", "--output_dir", "out", "--", "echo", value], cwd=place.path)
        if done.code:
            raise AssertionError(done.stderr)
        path = os.path.join(place.path, done.stdout.strip().split("\n")[-1])
        text = open(path, encoding="utf-8").read()
        assert not SPECIAL.search(text.replace("\n", "")), SPECIAL.search(text)
        assert "\\u2028" in text and list(yaml.safe_load_all(text))


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
