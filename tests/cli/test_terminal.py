#!/usr/bin/env python3
"""What every command prints on a terminal: the text that a pipe gets, in colour where the terminal has colours.

    python3 -m tests.cli.test_terminal --bin build/gputally [TEXT]      only scenarios with TEXT in their name

The command lines are those of the fuzz seeds (tests/fuzz/make_command_corpus.py), which cover the commands that read
files, and the ones below. Each runs in copies of the same folder: with a pipe, and on pseudo-terminals with and without
colours and of several widths. Of each command and step, FEW lines are tried, with `make test LONG=1` all of them.
"""
import argparse
import collections
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading

from tests.cli.test_hostile_files import ESCAPE, SPECIAL, named_trace
from tests.common import harness
from tests.doctor import test_doctor
from tests.fuzz import make_command_corpus
from tests.jax import test_reports as jax_reports
from tests.nsys import generate_export
from tests.sweep import generate_sweep
from tests.sweep.test_html import make_sweep

FEW = 1
SECONDS_MAX = 600  # no command takes longer than a second: it waits for something
CODE = re.compile("\x1b\\[[0-9;]*m")
STATUS = re.compile("\r\x1b\\[K[^\r\n]*")  # the progress line, which is erased before anything else is printed
CLOCK = re.compile(r"\d{4}-\d\d-\d\d[ T_]\d\d[:.-]?\d\d[:.-]?\d\d|\b\d{8}_\d{6}\b|\d+(\.\d+)? ?s(econds)?\b")
FIXTURES = harness.FIXTURES


def read_all(descriptor, data):
    while True:
        try:
            part = os.read(descriptor, 65536)
        except OSError:
            break
        if not part:
            break
        data.append(part)


def on_terminal(words, folder, width, **variables):
    """(exit code, standard output, standard error) of a command whose streams are two pseudo-terminals."""
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", **variables}
    pairs = [pty.openpty() for _ in range(2)]
    for leader, follower in pairs:
        fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        modes = termios.tcgetattr(follower)
        modes[1] &= ~termios.OPOST  # line ends stay as they are
        termios.tcsetattr(follower, termios.TCSANOW, modes)
    child = subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=pairs[0][1], stderr=pairs[1][1])
    parts = ([], [])
    readers = []
    for (leader, follower), data in zip(pairs, parts):
        os.close(follower)
        readers.append(threading.Thread(target=read_all, args=(leader, data)))
        readers[-1].start()
    try:
        code = child.wait(timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        child.kill()
        code = f"none after {SECONDS_MAX} s"
        child.wait()
    for reader, (leader, _) in zip(readers, pairs):
        reader.join()
        os.close(leader)
    return code, *(b"".join(data).decode(errors="surrogateescape") for data in parts)


def in_pipe(words, folder, width):
    done = subprocess.run(words, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "LANG": "C.UTF-8", "COLUMNS": str(width)})
    return done.returncode, *(stream.decode(errors="surrogateescape") for stream in (done.stdout, done.stderr))


def plain(text):
    return CODE.sub("", STATUS.sub("", text))


def problems_of_codes(text):
    """Each code that switches something on is switched off in the same line, and nothing else commands the terminal."""
    found = []
    for line in STATUS.sub("", text).split("\n"):
        codes = CODE.findall(line)
        if codes[1::2] != ["\x1b[0m"] * (len(codes) // 2) or len(codes) % 2 or "\x1b[0m" in codes[::2]:
            found.append(f"codes are not balanced in {line!r}")
    left = SPECIAL.search(plain(text).replace("\n", ""))
    return found + ([f"{left.group(0)!r} reaches the terminal: {left.string[max(0, left.start() - 40):left.end() + 40]!r}"] if left else [])


def difference(wanted, got):
    wanted, got = ([CLOCK.sub("#", line) for line in text.split("\n")] for text in (wanted, got))
    for a, b in zip(wanted, got):
        if a != b:
            return f"a pipe gets {a!r}, the terminal {b!r}"
    return f"a pipe gets {len(wanted)} lines, the terminal {len(got)}"


class Place:
    """The folder of a scenario; each run gets a fresh copy of it under the same path."""

    def __init__(self, folder):
        self.folder, self.kept = folder, folder + ".kept"

    def keep(self):
        shutil.rmtree(self.kept, ignore_errors=True)
        shutil.copytree(self.folder, self.kept, symlinks=True)

    def restore(self):
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)
        shutil.copytree(self.kept, self.folder, symlinks=True, dirs_exist_ok=True)


def check_line(binary, words, place, is_first):
    """Problems of one command line, and whether it printed in colour. The first of a command is also tried on a narrow
    terminal and on those without colours."""
    found, coloured = [], False
    variants = ((100, {}), (44, {}), (100, {"NO_COLOR": "1"}), (100, {"TERM": "dumb"}))
    if not is_first and not harness.LONG:
        variants = variants[:1]
    place.keep()
    wanted = {}
    for width in {width for width, _ in variants}:
        wanted[width] = in_pipe([binary, *words], place.folder, width)
        place.restore()
    for width, variables in variants:
        code, out, err = on_terminal([binary, *words], place.folder, width, **variables)
        where = f"{' '.join(words)} ({width} columns{''.join(f', {k}={v}' for k, v in variables.items())})"
        problems = problems_of_codes(out) + problems_of_codes(err)
        if code != wanted[width][0]:
            problems.append(f"exit code {code}, with a pipe {wanted[width][0]}: {err[-300:]}")
        if "\\x1b" in out + err:
            problems.append("an escape code is printed as text")
        if CLOCK.sub("#", plain(out)) != CLOCK.sub("#", wanted[width][1]):
            problems.append(difference(wanted[width][1], plain(out)))
        if variables and CODE.search(out + err):
            problems.append("has colours")
        coloured = coloured or bool(CODE.search(out))
        found += [f"{where}: {problem}" for problem in problems]
        if (width, variables) != variants[-1]:
            place.restore()  # the last run stays, for the lines that read what it wrote
    return found, coloured


# ---- command lines that the scenarios of the fuzz targets do not have ----

def others():
    for name in ("training", "training_stack", "known_shapes"):
        shutil.copy(os.path.join(FIXTURES, "pytorch", f"{name}.json.gz"), f"{name}.json.gz")
    shutil.copy(os.path.join(FIXTURES, "jax", "training.xplane.pb.gz"), "t.xplane.pb.gz")
    shutil.copy(os.path.join(FIXTURES, "rocprof", "tiny_results.json"), "tiny_results.json")
    yield ["report", "training_stack.json.gz", "--output_csvs_dir", "out"]
    yield ["report", "training.json.gz", "training_stack.json.gz", "--output_csvs_dir", "out"]
    yield ["report", "known_shapes.json.gz", "--no_findings", "--output_csvs_dir", "out"]
    yield ["diff", "training.json.gz", "training_stack.json.gz", "--output_dir", "out"]
    yield ["convert", "tiny_results.json", "out.pftrace"]
    yield ["fuse", "training.json.gz", "training_stack.json.gz", "-o", "out.json"]
    yield ["index", "training.json.gz"]
    yield ["model", "aten::mm", "--shapes", "(64,64),(64,64)", "--gpu_arch_platform", "H200"]
    yield ["query", "SELECT type, percent FROM gpu_timeline", "training.json.gz"]
    yield ["query", "training.json.gz"]
    yield ["completion", "bash"]
    yield ["jax-analysis", "t.xplane.pb.gz", "--output_path", "out"]
    yield ["jax", "t.xplane.pb.gz", "--output_csvs_dir", "out"]
    yield ["run", "--dry_run", "--", "true"]
    yield ["help"]
    yield ["help", "report"]
    yield ["help", "sweep"]
    yield ["--version"]
    yield ["report"]
    yield ["nonsense"]
    yield ["report", "missing.json"]
    yield ["report", "tiny_results.json", "--thread", "0"]


def exports():
    """Nsight Systems and Nsight Compute, and the stages of a JAX model."""
    generate_export.write(generate_export.small_run(), "small.sqlite")
    for name, mark, factor in (("rocm", "te_layernorm_forward", 2), ("cuda", "te_norm_forward_ffi", 1)):
        make_command_corpus.write(f"{name}.json.gz", jax_reports.llama_trace(mark, factor))
    make_command_corpus.write("n.csv", test_doctor.NCU)
    yield ["nsys", "small.sqlite", "--output_csvs_dir", "out"]
    yield ["report", "small.sqlite", "--output_csvs_dir", "out"]
    yield ["ncu", "n.csv", "--output_csvs_dir", "out"]
    for node in range(2):
        make_command_corpus.write(f"c/n{node}/plugins/host{node}.xplane.pb", jax_reports.collective_profile(node))
        make_command_corpus.write(f"c/n{node}/xla_dumps/module_1.jit_train_step.sm_gpu_after_optimizations.txt", jax_reports.DUMP)
    yield ["jax-collective", "--traces_dir", "c", "--output_csvs_dir", "out"]
    yield ["jax-llama-compare", "--rocm", "rocm.json.gz", "--cuda", "cuda.json.gz", "-o", "out.csv"]


def sweeps():
    generate_sweep.lay_out("s", ranks=range(2))
    make_sweep("a", 0)
    make_sweep("b", 50)
    yield ["sweep", "all", "s"]
    yield ["sweep", "html", "--sweep1", "a", "--sweep2", "b", "-o", "out.html"]


SCENARIOS = (others, exports, sweeps, *(scenario for scenario in make_command_corpus.SCENARIOS if scenario is not make_command_corpus.programs))


def key_of(words):
    return " ".join(words[:2]) if words[0] == "sweep" else words[0]


def run_scenarios(binary, scenarios, tally):
    """Runs each scenario in a folder of its own; returns how often each command was tried, and those with colours."""
    tried, coloured, home = collections.Counter(), set(), os.getcwd()
    make_command_corpus.PROGRAM = binary
    for scenario in scenarios:
        with tempfile.TemporaryDirectory(prefix="gputally-terminal-") as outer:
            place = Place(os.path.join(outer, "folder"))
            os.mkdir(place.folder)
            os.chdir(place.folder)
            try:
                for line in scenario():
                    for words in (part.split("\n") for part in "\n".join(line).split("\n&&\n")):
                        if tried[scenario, key_of(words)] >= FEW and scenario in make_command_corpus.SCENARIOS and not harness.LONG:
                            subprocess.run([binary, *words, "--quiet"], capture_output=True)  # others may read what it writes
                            continue
                        is_first = not any(key.split()[0] == words[0] for _, key in tried)
                        tried[scenario, key_of(words)] += 1
                        found, has_colours = check_line(binary, words, place, is_first)
                        tally.add(f"{scenario.__name__}: {' '.join(words)}", found)
                        coloured |= {key_of(words)} if has_colours else set()
                    make_command_corpus.remove("out", "out.db", "out.pftrace", "out.json", "out.json.gz")
            finally:
                os.chdir(home)
    return {key for _, key in tried}, coloured


def listed(binary, *words):
    """The commands or steps that help lists."""
    text = harness.run([binary, *words, "--help"]).stdout
    return re.findall(r"^  ([a-z][a-z-]*) {2,}\S", text, re.M)


# ---- names ----

def check_names(binary, folder):
    """Escape codes in names are printed as text, whether one trace is shown or several; the program's own are codes."""
    found = []
    for name in ("a", "b"):
        make_command_corpus.write(os.path.join(folder, f"{name}.json"), named_trace())
    for files in (["a.json"], ["a.json", "b.json"]):
        code, out, err = on_terminal([binary, "report", *files, "--output_csvs_dir", "out"], folder, 100)
        found += problems_of_codes(out) + problems_of_codes(err)
        if code or "\x1b[1mGPU timeline\x1b[0m\n" not in out:
            found.append(f"{files}: exit code {code}, no heading in bold")
        if ESCAPE[:5] in out or "\\x1b[31m" not in out:
            found.append(f"{files}: the code in a name is not printed as text")
        if "\\x1b[1m" in out or "\\x1b[0m" in out.replace("red\\x1b[0m", ""):
            found.append(f"{files}: the program's own codes are printed as text")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("only", nargs="?", default="")
    options = parser.parse_args()
    binary, tally = harness.require_binary(options.bin), harness.Tally()
    tried, coloured = run_scenarios(binary, [s for s in SCENARIOS if options.only in s.__name__], tally)
    if options.only in "names":
        with tempfile.TemporaryDirectory(prefix="gputally-terminal-") as folder:
            tally.add("names", check_names(binary, folder))
    if not options.only:
        commands = set(listed(binary)) - {"sweep"} | {f"sweep {step}" for step in listed(binary, "sweep")}
        tally.add("all commands", [f"{name}: not tried" for name in sorted(commands - tried)])
        in_colour = {"report", "pytorch", "rocprof", "nsys", "jax", "compare", "collective", "query", "ncu", "genesis", "diff"}
        tally.add("commands with colours", [f"{name}: no colours on a terminal" for name in sorted(in_colour - coloured)])
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
