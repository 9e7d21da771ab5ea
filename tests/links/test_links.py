#!/usr/bin/env python3
"""`gputally links`: what it writes, what it leaves alone, and that its wrappers pass on arguments, exit status and signals.

    python3 -m tests.links.test_links --bin build/gputally [TEXT]      only tests with TEXT in their names
"""
import ast
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from tests.cli.test_program import run_on_terminal
from tests.common import harness
from tests.common.harness import FIXTURES, files_under, run

NAMES = ["TraceLens_generate_perf_report_pytorch", "TraceLens_generate_perf_report_rocprof", "TraceLens_generate_perf_report", "madengine",
         "generate_perf_report_pytorch.py", "generate_perf_report_jax.py", "generate_perf_report.py",
         "examples/custom_workflows/generate_perf_report.py", "TraceLens/Reporting/generate_perf_report_rocprof.py",
         "TraceLens/TraceUtils/split_inference_trace_annotation.py", "scripts/gemm_analysis/run_train_various_channels.sh",
         "scripts/gemm_analysis/analyze_gemm_reports.py", "scripts/gemm_analysis/rocprof_cu_only.yaml", "scripts/utils/merge_gpu_trace_ranks.py"]
# Stands in for the program: shows how it was started.
SHOW = "#!/bin/sh\nprintf '%s\\n' \"$@\"\n[ -z \"$SIGNAL\" ] || kill -\"$SIGNAL\" $$\nexit \"${STATUS:-0}\"\n"


class Place:
    """A folder with an awkward name; `links` is the folder for the old names."""

    def __init__(self, binary):
        self.binary = binary

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="gputally links' \"test\" ")
        self.links = os.path.join(self.path, "old names")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def call(self, *options, code=0):
        done = run([self.binary, "links", *options], cwd=self.path)
        assert done.code == code and not harness.SANITIZER.search(done.stderr), (done.code, done.stdout, done.stderr)
        return done

    def write(self, path, text, mode=0o644):
        path = os.path.join(self.path, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def state(self):
        """What is in the folder of the links, with times: a second call must not touch anything."""
        return {name: (os.lstat(os.path.join(self.links, name)).st_mtime_ns, os.lstat(os.path.join(self.links, name)).st_mode)
                for name in files_under(self.links)}


def test_names_and_second_call(binary):
    with Place(binary) as place:
        said = place.call("old names")
        for name in NAMES:
            assert os.path.exists(os.path.join(place.links, name)), name
        assert os.readlink(os.path.join(place.links, "madengine")) == binary
        quoted = "'" + place.links.replace("'", "'\\''") + "'"
        assert f'export PATH={quoted}:"$PATH" PYTHONPATH={quoted}"${{PYTHONPATH:+:$PYTHONPATH}}"\n' in said.stdout, said.stdout
        first = place.state()
        said = place.call("old names")
        assert place.state() == first and " 0 written, " in said.stdout, said.stdout
        assert place.call("--quiet", place.links).stdout == ""
        # What it prints is what to type.
        line = next(line for line in said.stdout.splitlines() if "export" in line)
        done = subprocess.run(["bash", "-c", f"{line}\nTraceLens_generate_perf_report_rocprof --version && python3 -m "
                               "TraceLens.Reporting.generate_perf_report_rocprof --version && python3 -c 'import TraceLens'"],
                              capture_output=True, text=True, cwd=place.path)
        assert done.returncode == 0 and len(set(done.stdout.splitlines())) == 1 and "gputally" in done.stdout, done


def test_changed_wrappers_are_written_again(binary):
    with Place(binary) as place:
        place.call("old names")
        first = {name: open(os.path.join(place.links, name)).read() for name in NAMES if not os.path.islink(os.path.join(place.links, name))}
        script, module = (os.path.join(place.links, name) for name in ("generate_perf_report.py", "TraceLens/Reporting/generate_perf_report_rocprof.py"))
        os.chmod(script, 0o600)
        with open(module, "a") as file:
            file.write("# more\n")
        os.remove(os.path.join(place.links, "madengine"))
        os.symlink("/gone/gputally-0.0", os.path.join(place.links, "madengine"))
        assert " 3 written, " in place.call("old names").stdout
        assert os.access(script, os.X_OK) and os.readlink(os.path.join(place.links, "madengine")) == binary
        assert {name: open(os.path.join(place.links, name)).read() for name in first} == first


def test_files_of_others(binary):
    """They are named, and nothing is written; --force sets them aside, but never a folder."""
    with Place(binary) as place:
        script = place.write("old names/scripts/gemm_analysis/process_comms.py", "print('mine')\n")
        done = place.call("old names", code=1)
        assert f"{script}: not written by gputally links; --force sets it aside, and --remove puts it back" in done.stderr, done.stderr
        elsewhere = place.write("elsewhere.py", "print('mine, too')\n")
        linked = os.path.join(place.links, "generate_perf_report_jax.py")
        os.symlink(elsewhere, linked)
        os.symlink("/usr/bin/env", os.path.join(place.links, "madengine"))
        done = place.call("old names", code=1)
        assert "3 old names are in the way, not written by gputally links: madengine, generate_perf_report_jax.py, " \
               "scripts/gemm_analysis/process_comms.py; --force sets them aside, and --remove puts them back" in done.stderr, done.stderr
        assert len(files_under(place.links)) == 3
        place.call("old names", "--remove")
        assert len(files_under(place.links)) == 3 and open(script).read() == "print('mine')\n"
        place.call("old names", "--force")
        assert open(elsewhere).read() == "print('mine, too')\n" and not os.path.islink(linked)
        assert "gputally links" in open(script).read()
    with Place(binary) as place:
        os.makedirs(os.path.join(place.links, "madengine"))
        assert "madengine: a folder is in the way" in place.call("old names", "--force", code=1).stderr
        assert os.listdir(place.links) == ["madengine"]
        # Folders and files together: the first five are named.
        for name in ("generate_perf_report.py", "generate_perf_report_jax.py", "compare_perf_reports.py", "TraceLens_generate_perf_report"):
            place.write(f"old names/{name}", "mine\n")
        os.makedirs(os.path.join(place.links, "generate_perf_report_rocprof.py"))
        done = place.call("old names", code=1)
        assert "6 old names are in the way" in done.stderr and "madengine (a folder), " in done.stderr, done.stderr
        assert "generate_perf_report_rocprof.py (a folder), " in done.stderr and " and 1 more; --force sets files aside, but no folders" in done.stderr
        assert "2 old names are in the way" in place.call("old names", "--force", code=1).stderr
        assert len(os.listdir(place.links)) == 6


AORTA = ["run_train_various_channels.sh", "run_tracelens_analysis.sh", "rocprof_cu_only.yaml", "analyze_gemm_reports.py", "process_comms.py"]


def everything(folder):
    """{path: (mode, time, contents or target)} of all files and links, hidden ones too."""
    found = {}
    for below, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(below, name)
            status = os.lstat(path)
            data = os.readlink(path) if os.path.islink(path) else open(path, "rb").read()
            found[os.path.relpath(path, folder)] = (status.st_mode, status.st_mtime_ns, data)
    return found


def test_originals_are_put_back(binary):
    """In a checkout: --force sets the scripts aside, --remove puts them back as they were; no original is ever lost."""
    with Place(binary) as place:
        for number, name in enumerate(AORTA):
            place.write(f"old names/scripts/gemm_analysis/{name}", f"# aorta's own {name}\n", (0o755, 0o644, 0o600, 0o664, 0o750)[number])
        place.write("old names/src/aorta.py", "import this\n")
        for target, name in (("../bin/no such program", "madengine"), ("src/aorta.py", "generate_perf_report.py")):
            os.symlink(target, os.path.join(place.links, name))
        before, kept = everything(place.links), os.path.join(place.links, ".gputally-originals")
        assert "7 old names are in the way" in place.call("old names", code=1).stderr and everything(place.links) == before
        said = place.call("old names", "--force").stdout
        assert "7 files were in the way and are kept in .gputally-originals; to put them back:\n  gputally links --remove '" in said, said
        script = os.path.join(place.links, "scripts/gemm_analysis", AORTA[0])
        assert subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout.startswith("gputally")
        assert everything(kept) == {name: state for name, state in before.items() if name != "src/aorta.py"}
        # Again, also after an update: nothing more is set aside.
        assert "in the way" not in place.call("old names").stdout
        assert "in the way" not in place.call("old names", "--program", "../bin/gputally").stdout
        # Somebody takes one back (git checkout) and changes another: the copy that is the same is dropped, the others are not lost.
        back, changed, gone = (os.path.join("scripts/gemm_analysis", name) for name in AORTA[1:4])
        shutil.copy2(os.path.join(kept, back), os.path.join(place.links, back))
        place.write(os.path.join("old names", changed), "# changed\n")
        os.remove(os.path.join(place.links, gone))
        done = place.call("old names", "--force", code=1).stderr
        assert f"{changed}: another original is already kept as {place.links}/.gputally-originals/{changed}; remove one of them" in done, done
        assert open(os.path.join(place.links, back)).read() == f"# aorta's own {AORTA[1]}\n"  # not set aside, as nothing was written
        said = place.call("old names", "--remove").stdout
        assert "put back 5 files that were in the way" in said and "2 files of these names are not ours and stay" in said, said
        assert everything(place.links) == {**before, changed: everything(place.links)[changed], f".gputally-originals/{changed}": before[changed]}
        os.remove(os.path.join(place.links, changed))
        place.call("old names", "--remove")
        assert everything(place.links) == before and not os.path.exists(kept)


def test_program_of_another_name(binary):
    """Links to it are known by the wrappers beside them, which start the same program; others are not."""
    with Place(binary) as place:
        program = place.write("my \\ tool\xe4", SHOW, 0o755)
        place.call("old names", "--program", program)
        link = os.path.join(place.links, "TraceLens_generate_perf_report")
        os.remove(link)
        os.symlink("/usr/bin/env", link)
        assert "TraceLens_generate_perf_report: not written by" in place.call("old names", code=1).stderr
        assert "1 files of these names are not ours and stay" in place.call("old names", "--remove").stdout
        assert os.listdir(place.links) == ["TraceLens_generate_perf_report"]
        os.remove(link)
        place.call("old names", "--program", program)
        place.call("old names")  # the program itself, instead of the other one
        assert os.readlink(link) == binary
        shutil.copy(binary, os.path.join(place.path, "mytool"))
        for options in ((), ("--remove",)):
            done = run([os.path.join(place.path, "mytool"), "links", "other", *options], cwd=place.path)
            assert done.code == 0 and "not ours" not in done.stdout, done
        assert not os.path.exists(os.path.join(place.path, "other"))


def test_remove(binary):
    """Takes away what it wrote, what Python compiled of it, and the folders that are empty then."""
    with Place(binary) as place:
        place.call("old names")
        kept = [place.write(f"old names/{name}", "mine\n") for name in ("scripts/gemm_analysis/rocprof_top5_kernels.yaml", "notes.txt", "TraceLens_mine")]
        script = os.path.join(place.links, "generate_perf_report.py")
        with open(script, "w") as file:
            file.write("print('mine now')\n")
        environment = {**os.environ, "PYTHONPATH": place.links, "PYTHONDONTWRITEBYTECODE": ""}
        subprocess.run([sys.executable, "-c", "import TraceLens.Reporting.generate_perf_report_rocprof"], check=True, env=environment)
        assert os.path.exists(os.path.join(place.links, "TraceLens/Reporting/__pycache__"))
        said = place.call("old names", "--remove")
        assert "1 files of these names are not ours and stay" in said.stdout, said.stdout
        assert sorted(os.path.join(place.links, name) for name in files_under(place.links)) == sorted(kept + [script])
        assert sorted(os.listdir(place.links)) == ["TraceLens_mine", "generate_perf_report.py", "notes.txt", "scripts"]
        assert "removed 0 old names" in place.call("old names", "--remove").stdout
        assert "no such folder" in place.call("nowhere", "--remove", code=1).stderr
        # The folder itself goes if it is empty, but not the current one, and not one that had no names.
        place.call("new")
        assert "and the folder, which is empty" in place.call("new", "--remove").stdout
        assert not os.path.exists(os.path.join(place.path, "new"))
        for name, before in (("current", place.binary), ("empty", "true")):
            os.mkdir(os.path.join(place.path, name))
            subprocess.run([before, "links", "--quiet", "."], cwd=os.path.join(place.path, name), check=True)
            run([place.binary, "links", "--remove", "." if name == "current" else "../empty"], cwd=os.path.join(place.path, "current"))
            assert os.listdir(os.path.join(place.path, name)) == []


def start(place, name, *words, **env):
    """Runs a wrapper as the documents do."""
    path = os.path.join(place.links, name)
    program = ["bash"] if name.endswith(".sh") else [sys.executable]
    return subprocess.run([*program, path, *words], capture_output=True, cwd=place.path, env={**os.environ, **env})


def test_arguments_status_and_signals(binary):
    """All bytes of arguments arrive; exit status and signals are those of the program."""
    words = ["a b", "", "'\"\\$(true)`", "new\nline", b"\xff\xfe".decode(errors="surrogateescape"), "--", "*"]
    with Place(binary) as place:
        program = place.write("it's a \"pro$gram\"\n/gputally", SHOW, 0o755)
        place.call("old names", "--program", program)
        expected = "".join(word + "\n" for word in words).encode(errors="surrogateescape")
        for name, before in (("generate_perf_report_jax.py", b""), ("TraceLens/Reporting/generate_perf_report_jax.py", b""),
                             ("scripts/gemm_analysis/process_comms.py", b"sweep\ncomms\n"), ("scripts/gemm_analysis/run_tracelens_analysis.sh", b"sweep\nreport\n")):
            done = start(place, name, *words, STATUS="3")
            assert (done.returncode, done.stdout, done.stderr) == (3, before + expected, b""), (name, done)
            for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGINT):
                assert start(place, name, SIGNAL=str(int(number))).returncode == -number, (name, number)


def test_moved_programs(binary):
    """A relative --program moves with the folder; without a program, the one of PATH is started, or a sentence says what is wrong."""
    with Place(binary) as place:
        place.write("tree/bin/gputally", SHOW, 0o755)
        place.links = os.path.join(place.path, "tree", "old")
        place.call("tree/old", "--program", "../bin/gputally")
        assert os.readlink(os.path.join(place.links, "madengine")) == "../bin/gputally"
        os.rename(os.path.join(place.path, "tree"), os.path.join(place.path, "moved"))
        place.links = os.path.join(place.path, "moved", "old")
        names = ("generate_perf_report.py", "scripts/gemm_analysis/process_comms.py", "scripts/gemm_analysis/run_tracelens_analysis.sh")
        for name in names:
            assert start(place, name, "x").stdout.endswith(b"x\n"), name
        assert subprocess.run([os.path.join(place.links, "madengine"), "y"], capture_output=True).stdout == b"y\n"
        done = subprocess.run(["sh", "run_tracelens_analysis.sh", "z"], capture_output=True, cwd=os.path.join(place.links, "scripts/gemm_analysis"))
        assert done.stdout == b"sweep\nreport\nz\n", done
        os.rename(os.path.join(place.path, "moved", "bin"), os.path.join(place.path, "bin"))
        for name in names:
            assert start(place, name, "x", PATH=os.path.join(place.path, "bin") + ":" + os.environ["PATH"]).stdout.endswith(b"x\n"), name
            done = start(place, name, "x")
            assert done.returncode == 127 and not done.stdout, done
            said = done.stderr.decode()
            assert said.startswith(f"{os.path.basename(name)}: cannot start ") and "../bin/gputally" in said, said
            assert said.endswith("and there is no gputally in PATH; run `gputally links` again\n") and said.count("\n") == 1, said


def test_a_line_on_terminals(binary):
    """Says once what it is, on a terminal only, and not with --quiet."""
    lines = {"TraceLens_generate_perf_report_rocprof missing.json": "TraceLens_generate_perf_report_rocprof: this is gputally rocprof",
             "python3 generate_perf_report_rocprof.py missing.json": "TraceLens_generate_perf_report_rocprof: this is gputally rocprof",
             "python3 scripts/gemm_analysis/process_comms.py --sweep-dir x": "process_comms.py: this is gputally sweep comms",
             "bash scripts/gemm_analysis/run_tracelens_analysis.sh x": "run_tracelens_analysis.sh: this is gputally sweep report",
             "madengine discover": "madengine discover: this is gputally discover"}
    with Place(binary) as place:
        place.call("old names")
        place.path, above = place.links, place.path
        for line, said in lines.items():
            _, shown = run_on_terminal(place, line)
            assert shown.count("this is gputally") == 1 and shown.startswith(said + "\r\n"), (line, shown)
            for quiet in ("--quiet", "--qui", "-q"):
                _, shown = run_on_terminal(place, f"{line} {quiet}")
                assert "this is gputally" not in shown, (line, quiet, shown)
            _, shown = run_on_terminal(place, line + " 2> errors")
            assert "this is gputally" not in shown + open(os.path.join(place.links, "errors")).read(), line
        # Every name, whatever it is asked for: help, the version, or something that it does not know.
        for i, name in enumerate(sorted(files_under(place.links))):
            if name.endswith(("__init__.py", ".yaml")) or name == "errors":
                continue
            program = "bash " if name.endswith(".sh") else "python3 " if name.endswith(".py") else "./"
            words = ("--help", "--version", "--no-such-option")[i % 3]
            _, shown = run_on_terminal(place, f"{program}{name} {words} >/dev/null")
            assert shown.count(": this is gputally") == 1 and ": this is gputally" in shown.splitlines()[0], (name, words, shown)
        _, shown = run_on_terminal(place, "python3 -m TraceLens.Reporting.generate_perf_report_rocprof --help >/dev/null")
        assert shown == "TraceLens_generate_perf_report_rocprof: this is gputally rocprof\r\n", shown
        place.path = above


def test_wrappers_are_old_python(binary):
    """Every Python file is ASCII and has the syntax of Python 3.6."""
    with Place(binary) as place:
        place.call("old names")
        names = [name for name in files_under(place.links) if name.endswith(".py")]
        assert len(names) > 30
        for name in names:
            with open(os.path.join(place.links, name), encoding="ascii") as file:
                ast.parse(file.read(), feature_version=(3, 6))


def test_results_are_those_of_the_command(binary):
    """The module, the script and the entry point write the same bytes as `gputally rocprof` does by its old name."""
    trace = os.path.join(FIXTURES, "rocprof")
    trace = next(os.path.join(trace, name) for name in files_under(trace) if name.endswith("_results.json"))
    with Place(binary) as place:
        place.call("old names")
        environment = {**os.environ, "PATH": place.links + ":" + os.environ["PATH"], "PYTHONPATH": place.links}
        sheets = []
        for i, program in enumerate((["TraceLens_generate_perf_report_rocprof"], [sys.executable, "-m", "TraceLens.Reporting.generate_perf_report_rocprof"],
                                     [sys.executable, os.path.join(place.links, "generate_perf_report_rocprof.py")])):
            done = subprocess.run([*program, "--profile_json_path", trace, "--output_csvs_dir", f"out{i}"], capture_output=True, text=True, cwd=place.path, env=environment)
            assert done.returncode == 0, done
            folder = os.path.join(place.path, f"out{i}")
            sheets.append({name: open(os.path.join(folder, name), "rb").read() for name in files_under(folder)})
        assert "gpu_timeline.csv" in sheets[0] and sheets[0] == sheets[1] == sheets[2]


def test_failures(binary):
    with Place(binary) as place:
        assert "the following arguments are required: DIR" in place.call(code=2).stderr
        assert "--output_dir needs the name of a folder" in place.call("-o", "", code=2).stderr
        assert "error: DIR needs the name of a folder" in place.call("", code=2).stderr
        assert "must not be empty" in place.call("x", "--program", "", code=2).stderr
        text = place.write("text", "")
        for program, reason in ((place.path, "is a folder"), ("..", "is a folder"), (text, "is not a program"), ("../text", "is not a program")):
            assert reason in place.call("x", "--program", program, code=1).stderr, program
            assert not os.path.exists(os.path.join(place.path, "x"))
        place.call("-o", "by option")
        assert os.path.islink(os.path.join(place.path, "by option", "madengine"))
        place.write("file", "")
        assert "file" in place.call("file", code=1).stderr
        assert "cannot be in PATH" in place.call("a:b").stderr


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
