#!/usr/bin/env python3
"""Completion: what the program offers at each place of a command line, and that bash, zsh and fish insert it.

    python3 -m tests.cli.test_completion --bin build/gputally [TEXT]      only tests with TEXT in their name

The shells are real ones on a terminal of their own; a test of a shell that is not installed is skipped.
"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

from tests.cli.folder import OLD_NAME, Folder
from tests.common import harness
from tests.common.harness import ROOT

FILES = {"bash": "gputally", "zsh": "_gputally", "fish": "gputally.fish"}


def shell_path(name):
    found = shutil.which(name, path=harness.SYSTEM_PATH)
    if not found:
        raise harness.Skipped(f"{name} is not installed")
    return found


def offered(binary, words, at=None):
    """(files, words) that the program offers for the last word."""
    at = len(words) - 1 if at is None else at
    r = subprocess.run([binary, "__complete", str(at), *words], capture_output=True, text=True)
    assert r.returncode == 0 and not r.stderr, r
    lines = r.stdout.splitlines()
    assert all("\t" in line for line in lines[1:]), lines
    return lines[0] if lines else None, [line.split("\t")[0] for line in lines[1:]]


def equal(a, b):
    assert a == b, f"{a!r} is not {b!r}"


# ---- the program ----

def test_scripts_are_those_of_the_program(binary):
    """The files that are installed are what `gputally completion` prints: they do not fall behind."""
    for shell, name in FILES.items():
        printed = subprocess.run([binary, "completion", shell], capture_output=True, text=True)
        equal(printed.returncode, 0)
        with open(os.path.join(ROOT, "completions", name), encoding="utf-8") as f:
            assert f.read() == printed.stdout, f"completions/{name}: run gputally completion {shell} > completions/{name}"
    assert subprocess.run([binary, "completion", "tcsh"], capture_output=True).returncode == 2
    with Folder(binary) as folder:
        assert folder.sh("gputally completion zsh -o out/_gputally").returncode == 0
        with open(folder.file("out/_gputally"), encoding="utf-8") as f:
            assert f.read().startswith("#compdef gputally TraceLens_")


def test_commands_and_steps(binary):
    equal(offered(binary, ["gputally", "ro"]), ("none", ["rocprof"]))
    commands = offered(binary, ["gputally", ""])[1]
    assert {"report", "doctor", "sweep", "completion", "help"} <= set(commands) and "--help" not in commands
    equal(offered(binary, ["gputally", "--v"]), ("none", ["--version"]))
    equal(offered(binary, ["gputally", "--version", "--"]), ("none", ["--verbose"]))
    equal(offered(binary, ["gputally", "help", "re"]), ("none", ["report", "replay-ir"]))
    help_text = subprocess.run([binary, "sweep", "--help"], capture_output=True, text=True).stdout
    steps = re.findall(r"^  ([a-z-]+)  ", help_text.split("usual order:")[1].split("\n\n")[0], re.M)
    equal(offered(binary, ["gputally", "sweep", ""])[1], steps)
    equal(offered(binary, ["gputally", "help", "sweep", ""])[1], steps)
    equal(offered(binary, ["gputally", "unknown", ""]), ("none", []))
    equal(offered(binary, ["/some/where/madengine", ""])[1], ["run", "build", "discover"])
    assert "--tags" in offered(binary, ["madengine", "run", "--ta"])[1]


def test_options(binary):
    equal(offered(binary, ["gputally", "rocprof", "--topk"])[1], ["--topk_kernels"])
    equal(offered(binary, ["gputally", "report", "--output-j"])[1], ["--output-json"])  # as the user spells it
    equal(offered(binary, [OLD_NAME, "--short_kernel_s"])[1], ["--short_kernel_study"])
    assert "--help" in offered(binary, ["gputally", "report", "--"])[1]
    equal(offered(binary, ["gputally", "run", "--", "python3", "--"])[1], [])  # those of the command that is run
    equal(offered(binary, ["gputally", "report", "--", "--"])[1], [])


def test_values(binary):
    gpus = offered(binary, ["gputally", "report", "--gpu_arch_platform", ""])
    listed = subprocess.run([binary, "model", "aten::mm", "--shapes", "8x8,8x8", "--gpu", "all"], capture_output=True, text=True)
    assert gpus[0] == "none" and len(gpus[1]) > 20, gpus
    assert all(name in listed.stdout for name in gpus[1]), listed.stdout
    equal(offered(binary, ["gputally", "report", "--gpu_arch_platform", "mi300"])[1],
          [name for name in gpus[1] if name.startswith("MI300")])
    for words, expected in {
        "report --gpu_peaks=": ["--gpu_peaks=peak", "--gpu_peaks=achievable", "--gpu_peaks=tracelens"],
        "report --gpu-peaks=a": ["--gpu-peaks=achievable"],
        "pytorch --plot_format ": ["png", "pdf", "svg"],
        "pytorch --phase_detection_method h": ["hybrid"],
        "compare --sheets waterfall k": ["kernel_summary"],
        "convert --to p": ["pftrace"],
        "nsys --kernel_names ": ["short", "demangled", "mangled"],
        "report --index o": ["off"],
        "sweep yaml --match e": ["exact"],
        "sweep report --rank_order ": ["path", "pid"],
        "sweep run --target s": ["slurm"],
        "split --iterations a": ["all"],
        "fuse --leave_out Trace py": ["python_function"],
        "run -f rocprofv3_l": ["rocprofv3_lightweight"],
        "completion z": ["zsh"],
        "model aten::addm": ["aten::addmm"],
        "collective --agg_metrics mean me": ["mean", "median"],
    }.items():
        got = offered(binary, ["gputally", *words.split(" ")])[1]
        if words.startswith("model"):
            assert expected[0] in got and all(name.startswith("aten::addm") for name in got), got
        else:
            equal((words, got), (words, expected))


def test_offered_values_are_valid(binary):
    """Every value of a closed list is accepted, and another one is refused with that list."""
    closed = [("convert --to", "a b"), ("nsys --kernel_names", "x.sqlite"), ("compare --sheets", "-q"),
              ("pytorch --gpu_peaks", "x.json"), ("pytorch --plot_format", "x.json"), ("report --comm_kernels", "x.json"),
              ("sweep report --report_layout", "x"), ("pftrace-hip-activity --hip_summary_group", "x.json")]
    for option, rest in closed:
        values = offered(binary, ["gputally", *option.split(), ""])[1]
        assert len(values) > 1, option
        r = subprocess.run([binary, *option.split(), "no-such-value", *rest.split()], capture_output=True, text=True)
        assert r.returncode == 2 and f"(choose from {', '.join(values)})" in r.stderr, r
        for value in values:
            r = subprocess.run([binary, *option.split(), value, *rest.split()], capture_output=True, text=True)
            assert "invalid choice" not in r.stderr, r


def test_help_names_the_values(binary):
    """Whoever reads help instead of pressing TAB sees the same values."""
    for option in ("convert --to", "nsys --kernel_names", "sweep report --rank_order", "sweep all --rank_order",
                   "sweep all --report_layout", "pytorch --phase_detection_method", "run --target", "run --profiler"):
        *command, name = option.split()
        text = subprocess.run([binary, *command, "--help"], capture_output=True, text=True).stdout
        line = re.search(rf"^  {name} .*?(?=^  --|^\S|^$)", text, re.M | re.S).group(0)
        for value in offered(binary, ["gputally", *option.split(), ""])[1]:
            assert value in line, (option, value, line)


def test_files(binary):
    for words, expected in {
        "nsys ": "files sqlite gtindex",
        "jax ": "files pb pb.gz pb.zst gtindex",
        "doctor ": "files",
        "report --output_csvs_dir ": "folders",
        "report --output_xlsx_path ": "files xlsx",
        "report -o ": "files xlsx",
        "report --extension_file ": "files py",
        "report --threads ": "none",
        "report --threads 3 ": None,
        "sweep report ": "folders",
        "run -- ": "files",
        "run --target ": "none",
        "sweep run --target ": "none",
        "report --index ": "files",
        "nsys x.sqlite ": "none",
        "report --quiet x.json ": None,
    }.items():
        got = offered(binary, ["gputally", *words.split(" ")])[0]
        if expected is None:
            assert got.startswith("files json "), (words, got)
        else:
            equal((words, got), (words, expected))


def test_odd_lines(binary):
    """Nothing that is typed makes it fail."""
    for words in (["gputally"], ["gputally", "\x1b[31m"], ["gputally", "report", "--=" * 200], ["gputally", "sweep", "x", "y", ""],
                  ["gputally", "report", "-"], ["gputally", "report", "--" + "x" * 5000 + "="], ["", ""], ["gputally", "help", "x", "y"],
                  ["gputally", "-V", ""]):
        offered(binary, words)
        offered(binary, words, at=len(words))
        offered(binary, words, at=len(words) + 7)
    r = subprocess.run([binary, "__complete", "x"], capture_output=True)
    assert r.returncode == 0, r


def test_quick(binary):
    """A TAB costs less than 20 ms of the processor; measured over 20 calls."""
    before = os.times()
    for _ in range(20):
        offered(binary, ["gputally", "report", "--gpu_arch_platform", ""])
    after = os.times()
    spent = (after.children_user + after.children_system - before.children_user - before.children_system) / 20
    with open(binary, "rb") as f:
        limit = 1 if b"__asan_init" in f.read() else 0.02  # a build with sanitizers starts slowly
    assert spent < limit, spent


# ---- the shells ----

class Terminal:
    """A shell on a terminal of its own, in a folder with the program and some files."""

    def __init__(self, folder, command):
        self.text = ""
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(folder.path)
            os.environ.update({"PATH": f"{folder.path}:{harness.SYSTEM_PATH}", "TERM": "dumb", "HOME": folder.path, "LC_ALL": "C.UTF-8",
                               "ZDOTDIR": folder.path, "PS1": "$ ", "ASAN_OPTIONS": "detect_leaks=0"})
            os.execv(command[0], command)
        self.pid = pid

    def send(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, pattern, seconds=600):
        """Reads until the pattern occurs; returns its match and forgets what came before."""
        end = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.text)
            if found:
                self.text = self.text[found.end():]
                return found
            assert time.monotonic() < end, f"no {pattern!r} in {self.text!r}"
            if select.select([self.fd], [], [], 1)[0]:
                self.text += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", os.read(self.fd, 65536).decode(errors="replace"))

    def complete(self, typed):
        """Types a line and TAB, and returns the words that the shell then has."""
        self.send(typed + "\t")
        self.send("\x01printf '<%s>' \x05 ; echo END\r")  # Ctrl-A and Ctrl-E: to the beginning and the end of the line
        words = self.wait_for(r"\n(<.*>) *END").group(1)
        # Zsh drops the slash after a folder when a blank follows.
        return [word.rstrip("/") for word in re.findall(r"<([^>]*)>", words)]

    def close(self):
        self.send("\x03\x15exit\r")
        os.close(self.fd)
        os.waitpid(self.pid, 0)


CASES = {
    "gputally rocp": ["gputally", "rocprof"],
    "gputally sweep deci": ["gputally", "sweep", "decide"],
    "gputally report --gpu_arch_platform MI325": ["gputally", "report", "--gpu_arch_platform", "MI325X"],
    "gputally report --gpu_peaks=ach": ["gputally", "report", "--gpu_peaks=achievable"],
    "gputally report --output_js": ["gputally", "report", "--output_json"],
    "gputally report onl": ["gputally", "report", "only.json"],
    "gputally report sp": ["gputally", "report", "sp ace.json"],
    "gputally report --output_csvs_dir fol": ["gputally", "report", "--output_csvs_dir", "folder"],
    "gputally doctor unus": ["gputally", "doctor", "unusual.name"],
    "gputally report unus": ["gputally", "report", "unusual.name"],  # no file with a usual ending: all files
    "gputally model aten::convolution_b": ["gputally", "model", "aten::convolution_backward"],
    f"{OLD_NAME} --short_kernel_st": [OLD_NAME, "--short_kernel_study"],
}


def madengine_lines():
    """{shell: the line of docs/links.md that completes madengine}."""
    with open(os.path.join(ROOT, "docs/links.md"), encoding="utf-8") as file:
        text = " ".join(file.read().split())
    return dict(re.findall(r"(bash|zsh|fish) `([^`]*madengine[^`]*)`", text))


def prepare(folder):
    os.mkdir(folder.file("folder"))
    for name in ("only.json", "only.txt", "sp ace.json", "unusual.name"):
        open(folder.file(name), "w").close()


def install_line(shell):
    """What docs/install.md has the user add to the shell's file."""
    with open(os.path.join(ROOT, "docs/install.md"), encoding="utf-8") as f:
        return re.search(rf"^\| {shell} \| .* \| `(.*)` \|$", f.read(), re.M).group(1).replace("\\|", "|")


def check_cases(terminal):
    for typed, expected in CASES.items():
        equal((typed, terminal.complete(typed)), (typed, expected))


def test_bash(binary):
    with Folder(binary) as folder:
        prepare(folder)
        terminal = Terminal(folder, [shell_path("bash"), "--norc", "--noprofile", "-i"])
        terminal.send(f"bind 'set enable-bracketed-paste off'; {install_line('bash')}; echo REA''DY\r")
        terminal.wait_for("READY\n")
        check_cases(terminal)
        os.symlink(binary, folder.file("madengine"))
        terminal.send(f"{madengine_lines()['bash']}; echo ADD''ED\r")
        terminal.wait_for("ADDED\n")
        equal(terminal.complete("madengine disc"), ["madengine", "discover"])
        terminal.send("gputally pytorch --plot_format \t\t")  # several: a list
        terminal.wait_for("pdf +png +svg")
        terminal.close()


def test_bash_completion_package(binary):
    """The package loads the file by the name of the command, also for old names, which are links to it."""
    loader = "/usr/share/bash-completion/bash_completion"
    if not os.path.exists(loader):
        raise harness.Skipped("bash-completion is not installed")
    with Folder(binary) as folder:
        prepare(folder)
        place = folder.file(".local/share/bash-completion/completions")
        os.makedirs(place)
        shutil.copy(os.path.join(ROOT, "completions", "gputally"), place)
        os.symlink("gputally", os.path.join(place, OLD_NAME))
        terminal = Terminal(folder, [shell_path("bash"), "--norc", "--noprofile", "-i"])
        terminal.send(f"bind 'set enable-bracketed-paste off'; source {loader}; echo REA''DY\r")
        terminal.wait_for("READY\n")
        check_cases(terminal)
        terminal.close()


def test_zsh(binary):
    with Folder(binary) as folder:
        prepare(folder)
        with open(folder.file(".zshrc"), "w") as f:
            f.write(f"PS1='$ '; unsetopt zle_bracketed_paste; unset zle_bracketed_paste; bindkey -e; fpath=({ROOT}/completions $fpath)\n"
                    "autoload -Uz compinit; compinit -u -D; zstyle ':completion:*' insert-tab false; echo REA''DY\n")
        terminal = Terminal(folder, [shell_path("zsh"), "-i"])
        terminal.wait_for("READY\n")
        check_cases(terminal)
        os.symlink(binary, folder.file("madengine"))
        terminal.send(f"{madengine_lines()['zsh']}; echo ADD''ED\r")
        terminal.wait_for("ADDED\n")
        equal(terminal.complete("madengine disc"), ["madengine", "discover"])
        terminal.close()
        terminal = Terminal(folder, [shell_path("zsh"), "-f", "-i"])  # without the file in a folder of functions
        terminal.send("PS1='$ '; unset zle_bracketed_paste; bindkey -e; autoload -Uz compinit; compinit -u -D; "
                      f"{install_line('zsh')}; echo REA''DY\r")
        terminal.wait_for("READY\n")
        equal(terminal.complete("gputally pytorch --plot_format pd"), ["gputally", "pytorch", "--plot_format", "pdf"])
        terminal.close()


def test_fish(binary):
    with Folder(binary) as folder:
        prepare(folder)
        os.makedirs(folder.file(".config/fish/completions"))
        for name in ("gputally", OLD_NAME):
            shutil.copy(os.path.join(ROOT, "completions", "gputally.fish"), folder.file(f".config/fish/completions/{name}.fish"))
        env = {**os.environ, "PATH": f"{folder.path}:{harness.SYSTEM_PATH}", "HOME": folder.path, "LC_ALL": "C.UTF-8"}
        for typed, expected in CASES.items():
            r = subprocess.run([shell_path("fish"), "-c", f"complete -C '{typed}'"], cwd=folder.path, env=env, capture_output=True,
                               text=True, timeout=harness.WALL_SECONDS)
            got = [line.split("\t")[0].rstrip("/") for line in r.stdout.splitlines()]
            assert r.returncode == 0 and got == [expected[-1]], (typed, got, r.stderr)
        r = subprocess.run([shell_path("fish"), "-c", "complete -C 'gputally pytorch --plot_format '"], cwd=folder.path, env=env,
                           capture_output=True, text=True, timeout=harness.WALL_SECONDS)
        equal(sorted(r.stdout.split()), ["pdf", "png", "svg"])
        os.symlink(binary, folder.file("madengine"))
        line = f"{install_line('fish')}; {madengine_lines()['fish']}; complete -C 'madengine disc'"
        r = subprocess.run([shell_path("fish"), "-c", line], cwd=folder.path, env=env, capture_output=True, text=True, timeout=harness.WALL_SECONDS)
        equal(r.stdout.split("\t")[0], "discover")


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
