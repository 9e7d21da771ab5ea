#!/usr/bin/env python3
"""Parts of the command line that cli_cases.txt cannot describe: the content of files, a terminal, the completion, the man page.

    python3 -m tests.cli.test_program --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import glob
import os
import pty
import re
import select
import shutil
import sqlite3
import sys
import time
import zipfile

from tests.cli.folder import OLD_NAME, Folder
from tests.common import harness
from tests.common.harness import FIXTURES, ROOT

SHEETS = ["gpu_timeline", "kernel_summary", "kernel_summary_by_category"]
ALL_SHEETS = SHEETS + ["kernel_details", "short_kernels_summary", "short_kernel_histogram"]


def test_csv_content(binary):
    """The sheets of the small trace, computed by hand: durations 3, 5, 0.007, 1, 20 and 0.005 µs."""
    with Folder(binary) as folder:
        r = folder.sh("gputally rocprof tiny_results.json --output_csvs_dir out --kernel_details --topk_kernels 5 "
                      "--short_kernel_study --short_kernel_threshold_us 4 --short_kernel_histogram_bins 4")
        assert r.returncode == 0, r.stderr
        timeline = {row[0]: [float(x) for x in row[1:]] for row in folder.rows("out/gpu_timeline.csv")[1:]}
        near = lambda a, b: all(abs(x - y) <= 1e-9 * max(1, abs(y)) for x, y in zip(a, b))
        for kind, expected in {"total_time": (0.1, 100), "kernel": (0.028012, 28.012), "memory": (0.004, 4),
                               "busy_time": (0.031007, 31.007), "idle": (0.068993, 68.993)}.items():
            assert near(timeline[kind], expected), (kind, timeline[kind])
        details = folder.rows("out/kernel_details.csv")[1:]
        assert [row[3] for row in details] == ["5", "2", "1", "4", "3"]
        assert details[3][0] == "Cijk_A.kd" and float(details[3][1]) == 1 and details[3][4:10] == ["8", "8", "2", "64", "1", "1"]
        summary = folder.rows("out/kernel_summary.csv")
        assert [row[0] for row in summary[1:]] == ["ncclDevKernel", 'fmt,2 "q"', "Cijk_A.kd", "unknown_kernel_9"]
        assert [row[1] for row in summary[1:]] == ["1", "2", "2", "1"]
        cumulative = summary[0].index("Cumulative Percentage (%)")
        assert near([float(row[cumulative]) for row in summary[1:]],
                    [20000 / 290.12, 25005 / 290.12, 29005 / 290.12, 100])
        short = folder.rows("out/short_kernels_summary.csv")[1:]
        assert [(row[0], row[1], float(row[2])) for row in short] == [
            ("Cijk_A.kd", "2", 4.0), ("unknown_kernel_9", "1", 0.007), ('fmt,2 "q"', "1", 0.005)]


def test_help_lists_the_exit_statuses_of_the_readme(binary):
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        table = re.search(r"## Exit status\n(.*?)\n## ", file.read(), re.S).group(1)
    with Folder(binary) as folder:
        said = " ".join(folder.sh("gputally --help").stdout.split("Exit status: ")[1].split())
        for number in re.findall(r"^\| (\d+) ", table, re.M):
            assert re.search(rf"(^|, ){number} ", said) or number == "70", (number, said)
        assert "--strict_trust" in table and "--strict_trust" in said, said


def test_every_document_at_once(binary):
    with Folder(binary) as folder:
        r = folder.sh("gputally report tiny_results.json --no_extra_sheets --no_findings --output_csvs_dir out --output_xlsx_path r.xlsx --output_db r.db")
        assert r.returncode == 0, r.stderr
        assert folder.names() == sorted([f"out/{s}.csv" for s in SHEETS] + ["r.db", "r.html", "r.xlsx"]), folder.names()
        book = zipfile.ZipFile(folder.file("r.xlsx"))
        assert book.testzip() is None
        names = re.findall(r'<sheet name="([^"]*)"', book.read("xl/workbook.xml").decode())
        assert names == SHEETS, names
        db = sqlite3.connect(folder.file("r.db"))
        tables = [row[0] for row in db.execute("select name from sqlite_master where type = 'table'")]
        assert sorted(tables) == sorted(SHEETS), tables
        assert db.execute("select count(*) from kernel_summary").fetchone() == (4,)
        db.close()


def test_compressed_and_piped_input(binary):
    """gzip, zstd and standard input give the same sheets as the plain file."""
    with Folder(binary) as folder:
        assert folder.sh("gputally report tiny_results.json --output_csvs_dir plain").returncode == 0
        r = folder.sh("gzip -k tiny_results.json && gputally report tiny_results.json.gz --output_csvs_dir a && "
                      "cat tiny_results.json | gputally report - --output_csvs_dir b && "
                      "gputally report - --output_csvs_dir c < tiny_results.json.gz")
        assert r.returncode == 0, r.stderr
        kinds = ["a", "b", "c"]
        if shutil.which("zstd"):
            r = folder.sh("zstd -q tiny_results.json -o z && gputally report z --output_csvs_dir d")
            assert r.returncode == 0, r.stderr
            kinds.append("d")
        for kind in kinds:
            for sheet in SHEETS:
                assert folder.rows(f"{kind}/{sheet}.csv") == folder.rows(f"plain/{sheet}.csv"), (kind, sheet)


def test_a_failure_keeps_existing_files(binary):
    with Folder(binary) as folder:
        for name in ("tiny_perf_report.xlsx", "r.db"):
            with open(folder.file(name), "w") as f:
                f.write("precious")
        r = folder.sh("head -c 100 tiny_results.json > cut.json; gputally rocprof cut.json --strict --output_db r.db "
                      "--output_xlsx_path tiny_perf_report.xlsx")
        assert r.returncode == 1 and len(r.stderr.splitlines()) == 1, r.stderr
        for name in ("tiny_perf_report.xlsx", "r.db"):
            assert open(folder.file(name)).read() == "precious"
        assert folder.names() == ["cut.json", "r.db", "tiny_perf_report.xlsx"], folder.names()


def run_on_terminal(folder, line, feed=lambda shown: True):
    """(exit code, everything that a terminal shows). feed(shown) is called after each piece of output, and about once per
    second, until it returns true."""
    try:
        pid, master = pty.fork()
    except OSError as problem:
        raise harness.Skipped(f"no terminal is available: {problem}")
    if pid == 0:
        os.chdir(folder.path)
        os.environ.update(PATH=folder.path + ":" + os.environ["PATH"], TERM="xterm", LC_ALL="C.UTF-8")
        os.execvp("bash", ["bash", "-c", line])
    shown, fed, end = b"", False, time.monotonic() + harness.WALL_SECONDS
    while time.monotonic() < end:
        fed = fed or feed(shown)
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def test_progress_line_on_a_terminal(binary):
    """A slow pipe: the line appears after a second, says how much was read, and is gone at the end."""
    with Folder(binary) as folder:
        os.mkfifo(folder.file("pipe"))
        with open(folder.file("tiny_results.json"), "rb") as file:
            trace = file.read()
        pipe = os.open(folder.file("pipe"), os.O_RDWR)  # read and write: opening does not wait for the program
        os.set_inheritable(pipe, False)
        os.write(pipe, trace[:2000])

        def feed(shown):  # the rest of the trace once the line is there
            if b"standard input" not in shown:
                return False
            os.write(pipe, trace[2000:])
            os.close(pipe)
            return True

        status, shown = run_on_terminal(folder, "gputally report - --no_findings --output_csvs_dir out < pipe", feed)
        assert status == 0, shown
        assert re.search(r"standard input.*: .*B", shown), repr(shown)
        last = shown.rfind("\x1b[K")
        assert last >= 0 and "standard input" not in shown[last:], repr(shown)
        slow = "(head -c 2000 tiny_results.json; sleep 1.6; tail -c +2001 tiny_results.json)"
        for option in ("--no_progress", "--quiet"):
            status, shown = run_on_terminal(folder, f"{slow} | gputally report - --no_findings --output_csvs_dir out {option}")
            assert status == 0 and "standard input" not in shown, repr(shown)
        r = folder.sh(f"{slow} | gputally report - --output_csvs_dir out")
        assert r.returncode == 0 and r.stderr == "", r.stderr


def test_full_standard_output(binary):
    with Folder(binary) as folder:
        r = folder.sh("gputally report tiny_results.json --output_db r.db > /dev/full")
        assert r.returncode == 1 and r.stderr == "gputally: cannot write to standard output: No space left on device\n", r
        assert folder.names() == ["r.db"]


def test_output_of_the_old_names(binary):
    """Called by the names of TraceLens's PyTorch and JAX programs, it prints the same lines and nothing else."""
    jax = f"{FIXTURES}/jax/products.xplane.pb.gz"
    tree = ["Building tree with add_python_func={0}", "Building CPU op tree with add_python_func={0}"]
    cases = (("pytorch", f"--profile_json_path {FIXTURES}/pytorch/training.json.gz", "False", ("out", "r.xlsx")),
             ("pytorch", f"--profile_json_path {FIXTURES}/pytorch/training.json.gz --include_call_stack", "True", ("out",)),
             ("jax", f"--profile_path {jax}", "False", ("out",)),  # no workbook in addition to CSV files
             ("jax", f"--profile_path {jax}", "False", ("r.xlsx",)))
    for kind, options, python, written in cases:
        with Folder(binary) as folder:
            os.symlink("gputally", folder.file(f"TraceLens_generate_perf_report_{kind}"))
            named = "--output_xlsx_path r.xlsx" if written == ("r.xlsx",) else "--output_csvs_dir out --output_xlsx_path r.xlsx"
            if kind == "pytorch" and written == ("out",):
                named = "--output_csvs_dir out"
            r = folder.sh(f"TraceLens_generate_perf_report_{kind} {options} {named}")
            lines = r.stdout.splitlines()
            said = re.sub(r"gputally: warning: sheet .* is named .*\n", "", r.stderr)
            assert r.returncode == 0 and said == "" and lines[:2] == [line.format(python) for line in tree], r
            csvs = [re.fullmatch(r"DataFrame '(.*)' written to out/\1\.csv", line) for line in lines[2:]]
            sheets = sorted(os.listdir(folder.file("out"))) if "out" in written else []
            assert sorted(m[1] + ".csv" for m in csvs if m) == sheets, (lines, sheets)
            workbook = ["DataFrames successfully written to r.xlsx"] if "r.xlsx" in written else []
            assert [line for m, line in zip(csvs, lines[2:]) if not m] == workbook, lines
            assert os.path.exists(folder.file("r.xlsx")) == bool(workbook), folder.names()
            r = folder.sh(f"TraceLens_generate_perf_report_{kind} {options} {named} --quiet")
            assert r.returncode == 0 and r.stdout == "", r
            r = folder.sh(f"TraceLens_generate_perf_report_{kind} {options.split()[0]} none.xplane.pb")
            assert (r.returncode, r.stdout, r.stderr) == (1, "", "gputally: Input file not found: none.xplane.pb\n"), r


def all_commands(folder, man=None):
    """The names of all commands; steps, such as "sweep yaml", instead of the commands that have some."""
    commands = re.findall(r"^  ([a-z_-]+)  ", folder.sh("gputally --help").stdout, re.M)
    assert "report" in commands and "rocprof" in commands, commands
    for command in list(commands):
        steps = folder.sh(f"gputally {command} --help").stdout.partition("\nSteps, ")[2].split("\n\n")[0]
        if not steps:
            continue
        commands.remove(command)
        commands += [f"{command} {step}" for step in re.findall(r"^  ([a-z-]+)  ", steps, re.M)]
        assert man is None or f'\n.SS "gputally {command}" STEP' in man, command
    assert "sweep yaml" in commands, commands
    return commands


def test_short_options_of_every_command(binary):
    """-V, -q and -o exist everywhere; -V needs no other argument and reads nothing. Usage lines have no trailing blank."""
    with Folder(binary) as folder:
        version = folder.sh("gputally --version").stdout
        for line in ("gputally -V", "gputally sweep -V", f"{OLD_NAME} -V"):
            assert folder.sh(line).stdout == version, line
        for command in all_commands(folder):
            for line in (f"gputally {command} -V", f"gputally {command} -qV", f"gputally {command} --version nothing.json"):
                r = folder.sh(line)
                assert (r.returncode, r.stdout, r.stderr) == (0, version, ""), (line, r)
            shown = folder.sh(f"gputally {command} --help").stdout
            assert not re.search(r"^Usage:.* $", shown, re.M), (command, shown.splitlines()[0])
            for letter, names in (("V", "version"), ("q", "quiet"), ("o", r"\w+ [A-Z]+")):
                assert len(re.findall(rf"^  --{names}, -{letter}\b", shown, re.M)) == 1, (command, letter)
        assert folder.names() == [], folder.names()


def test_output_and_quiet_of_other_commands(binary):
    """-o of commands that write no report, and -q of one that only prints."""
    with Folder(binary) as folder:
        printed = folder.sh("gputally model aten::mm --shapes 4x8,8x2")
        assert printed.returncode == 0 and "flops                128\n" in printed.stdout, printed  # 2 * 4 * 8 * 2
        r = folder.sh("gputally model aten::mm --shapes 4x8,8x2 -q")
        assert (r.returncode, r.stdout, r.stderr) == (0, "", ""), r
        r = folder.sh("gputally model aten::mm --shapes 4x8,8x2 -o m.txt")
        assert (r.returncode, r.stdout) == (0, "wrote m.txt\n"), r
        assert open(folder.file("m.txt"), encoding="utf-8").read() == printed.stdout
        r = folder.sh("gputally convert tiny_results.json a.pftrace -q && gputally convert tiny_results.json -q -o b.pftrace && cmp a.pftrace b.pftrace")
        assert (r.returncode, r.stdout, r.stderr) == (0, "", ""), r
        r = folder.sh("gputally convert tiny_results.json c.pftrace -o d.pftrace")
        assert r.returncode == 2 and "two arguments are required: IN OUT" in r.stderr, r
        assert folder.names() == ["a.pftrace", "b.pftrace", "m.txt"], folder.names()


def test_options_are_described_everywhere(binary):
    """The man page and the completion know every option of every command, and no others."""
    man = open(os.path.join(os.path.dirname(binary), "gputally.1"), encoding="utf-8").read().replace("\\-", "-")
    with Folder(binary) as folder:
        commands = all_commands(folder, man)
        described = set()
        for command in commands:
            options = set(re.findall(r"^  (--[A-Za-z_0-9]+)", folder.sh(f"gputally {command} --help").stdout, re.M))
            described |= options
            at = len(command.split()) + 1
            r = folder.sh(f"gputally __complete {at} gputally {command} --")
            offered = {line.split("\t")[0] for line in r.stdout.splitlines()[1:]}
            assert offered == options | {"--help"}, (command, offered ^ options)
        in_man = set(re.findall(r"^\.BI? (--[A-Za-z_0-9]+)", man, re.M)) - {"--option"}
        assert in_man == described, in_man ^ described
        for command in commands:
            assert f'\n.SS "gputally {command}" ' in man, command
        r = folder.sh(f"man --warnings -E UTF-8 -l -Tutf8 -Z {os.path.dirname(binary)}/gputally.1 > /dev/null")
        assert r.stderr == "" or "not found" in r.stderr, r.stderr
        source = "".join(open(path, encoding="utf-8").read() for path in glob.glob(f"{ROOT}/src/cli/**/*.c", recursive=True))
        offered = open(os.path.join(ROOT, "completions/gputally"), encoding="utf-8").read().split("complete -F _gputally")[1]
        old_names = set(re.findall(r'"(TraceLens_\w+)"', source))
        assert old_names == set(re.findall(r"TraceLens_\w+", offered)) and OLD_NAME in old_names, old_names


def test_sheets_of_an_earlier_report(binary):
    """CSV files that the report into the same folder does not replace are named; other files are not, and all of them stay."""
    inputs = [(f"{FIXTURES}/pytorch/{name}.json.gz", "--extra --short_kernel_study --enable_kernel_summary --detect_recompute")
              for name in ("collectives", "copies", "inference", "streams", "training", "known_shapes")]
    inputs += [(f"{FIXTURES}/jax/{name}.xplane.pb.gz", "") for name in ("products", "attention")]
    for trace, options in inputs:
        with Folder(binary) as folder:
            r = folder.sh(f"gputally report -q {trace} {options} --output_csvs_dir out")
            assert r.returncode == 0 and "earlier" not in r.stderr, r
            before = set(os.listdir(folder.file("out")))
            for name in ("notes.csv", "gpu_timeline.txt", "my_kernel_summary.csv"):
                open(folder.file(f"out/{name}"), "w").close()
            r = folder.sh("gputally report -q tiny_results.json --output_csvs_dir other; gputally report -q tiny_results.json --output_csvs_dir out")
            left = sorted(before - set(os.listdir(folder.file("other"))))
            assert left and r.stderr == ("gputally: warning: out: has sheets of an earlier report, which are not part of this one: "
                                         + ", ".join(left) + "\n"), (trace, r.stderr, left)
            assert before <= set(os.listdir(folder.file("out")))
            r = folder.sh(f"{OLD_NAME} --profile_json_path tiny_results.json --output_csvs_dir out")
            assert r.returncode == 0 and r.stderr == "", r
    with Folder(binary) as folder:
        r = folder.sh(f"gputally report -q tiny_results.json --short_kernel_study --kernel_details --output_csvs_dir out; "
                      f"ls out > names; gputally report -q {FIXTURES}/pytorch/gpu_only.json.gz --output_csvs_dir out; gputally report -q "
                      f"{FIXTURES}/pytorch/gpu_only.json.gz --output_csvs_dir other")
        left = set(open(folder.file("names")).read().split()) - set(os.listdir(folder.file("other")))
        line = next(line for line in r.stderr.splitlines() if "earlier report" in line)
        assert left and line.endswith(": " + ", ".join(sorted(left))), (line, left)


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
