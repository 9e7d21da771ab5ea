#!/usr/bin/env python3
"""Every shell block of the five documents, as printed, in a folder into which `gputally links` has written the old names: each ends
with status 0 and writes the files that the document names (seed_table.py). Without the documents, the commands are those of the table
in docs/differences.md, which is compared with the documents where they are.

Placeholders are filled from the table. Docker and pip are stand-ins that do nothing, torchrun is one that leaves traces, and
rocprofv3 is the real launcher where there is one (tests/run/launchers.py). The blocks of madengine's document run in projects with
models (tests/run/seed_commands.py): with stand-ins for docker and SLURM, on a real SLURM, and in containers of podman.

    python3 -m tests.links.test_seed_documents --bin build/gputally [TEXT]            only tests with TEXT in their names
    python3 -m tests.links.test_seed_documents --bin build/gputally --write_docs      writes the table of docs/differences.md
"""
import argparse
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from typing import NamedTuple

from tests.common import harness
from tests.links import seed_table
from tests.links.command_lines import FENCE, PROGRAMS, command_lines
from tests.phases import test_methods as phases
from tests.run import seed_commands
from tests.run.launchers import PROGRAM as HIP_PROGRAM
from tests.run.launchers import Run, which
from tests.run.test_profiling_runs import equal
from tests.sweep import generate_sweep

DOCS = os.path.join(harness.ROOT, "docs", "differences.md")
BEGIN, END = "<!-- command lines: written by tests/links/test_seed_documents.py --write_docs -->\n", "<!-- end of command lines -->\n"
NOTHING = "#!/bin/sh\nexit 0\n"
# Leaves the traces of all ranks in the folder that it gets, and the files of rocprofv3 if that runs it.
TORCHRUN = """#!/bin/sh
for word; do case $word in training.output_dir=*) folder=${word#*=} ;; esac; done
echo "torchrun $*"
mkdir -p "$folder" && cp -r "$TRACES" "$folder/torch_profiler" || exit 1
[ -z "$ROCPROF_OUTPUT_PATH" ] || exec python3 "$HIP_PROGRAM"
"""
EXTENSION = """from TraceLens.PerfModel import GEMM


class Model(GEMM):
    @staticmethod
    def get_param_details(event):
        m, k = event["args"]["Input Dims"][0]
        return {"B": 1, "M": m, "N": 1, "K": k, "bias": False}

    def flops(self):
        return 7

    def bytes(self):
        return 11


def tree_postprocess_extension(tree):
    assert len(tree.events) > 0


perf_model_extension = {"my::op": Model}
dict_cat2names_extension = {"my_category": ["aten::mm", "aten::add"]}
"""


# ---- documents ----

def text_of(document):
    paths = glob.glob(os.path.join(seed_commands.SEEDS, document.number + "_*.txt"))
    if not paths:
        raise harness.Skipped(f"no document {document.number} in {seed_commands.SEEDS}")
    with open(paths[0], encoding="utf-8") as file:
        return file.read()


def lines_of(document):
    """Pairs of a command line and its row."""
    found = command_lines(text_of(document))
    equal([command.line for command in found], [row.line for row in document.rows])
    return list(zip(found, document.rows))


class Block(NamedTuple):
    line: int      # of its first command
    text: str      # as printed
    rows: tuple    # of its commands


def printed_blocks(document):
    """The shell blocks of the document: those that say so, and others that begin with a program."""
    lines, found, begin = text_of(document).splitlines(), [], None
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if begin is None and fence:
            begin, language = number, fence.group(1)
        elif line.startswith("```"):
            inside = lines[begin:number - 1]
            if language in ("bash", "sh", "shell") or not language and any(PROGRAMS.match(text) for text in inside):
                rows = tuple(row for row in document.rows if begin < row.line < number)
                assert rows or all(text.startswith("#") for text in inside), f"{document.name}, line {begin}: a shell block without a row in seed_table.py"
                found.append(Block(begin + 1, "\n".join(inside) + "\n", rows))
            begin = None
    return found


def listed_blocks(document):
    """The same from the table of docs/differences.md, where a command is one line: neighbours are a block."""
    with open(DOCS, encoding="utf-8") as file:
        table = file.read().split(f"\n**{document.name}**: ")[1].split("\n\n")[1]
    listed = {int(line): text.replace("\\|", "|") for line, text in re.findall(r"^\| (\d+) \| `(.*?)` \| ", table, re.M)}
    equal([row.line for row in document.rows], list(listed))
    found = []
    for row in document.rows:
        if row.now.startswith(("a tool", "not gputally's: how", "reads the view")):
            continue
        if found and row.line - found[-1].rows[-1].line <= 3:
            found[-1] = Block(found[-1].line, found[-1].text + listed[row.line] + "\n", (*found[-1].rows, row))
        else:
            found.append(Block(row.line, listed[row.line] + "\n", (row,)))
    return found


def blocks_of(document):
    try:
        return printed_blocks(document)
    except harness.Skipped:
        return listed_blocks(document)


# ---- folders ----

class Folder(Run):
    """A folder with the old names in it, as if it were the checked-out repository. Programs of others are on PATH."""

    def __init__(self, binary):
        super().__init__(binary, "rocprof")
        self.work = os.path.join(self.path, "it's work")
        self.put("../bin/python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        for name in ("docker", "pip"):
            self.put(f"../bin/{name}", NOTHING)
        self.put("../bin/torchrun", TORCHRUN)
        done = subprocess.run([binary, "links", self.work], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        traces = os.path.join(self.path, "traces")
        generate_sweep.lay_out(traces, (256,), (28,))
        self.variables = {**self.environment(), "PATH": self.work + ":" + self.environment()["PATH"], "PYTHONPATH": self.work, "HIP_PROGRAM": HIP_PROGRAM,
                          "TRACES": os.path.join(traces, "256thread", "nccl_28channels", "torch_profiler")}

    def put(self, name, data, mode=0o755):
        path = self.file(name)
        os.makedirs(os.path.dirname(os.path.normpath(path)), exist_ok=True)
        with open(os.path.normpath(path), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        os.chmod(os.path.normpath(path), mode)

    def run(self, text, block, work=None):
        """Runs a block in a folder and checks the files that it has written."""
        work = work or self.work
        done = subprocess.run(["bash", "-e", "-c", text], cwd=work, env=self.variables, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=harness.WALL_SECONDS)
        problems = [] if done.returncode == 0 else [f"exit status {done.returncode}: {done.stderr[-2000:]}"]
        for row in block.rows:
            for pattern in row.files:
                found = [path for path in glob.glob(os.path.join(glob.escape(work), pattern), recursive=True) if os.path.getsize(path)]
                if not found:
                    problems.append(f"no {pattern}")
                for path in found:
                    if path.endswith(".xlsx"):
                        sheets = re.findall(r'<sheet name="([^"]*)"', zipfile.ZipFile(path).read("xl/workbook.xml").decode())
                        problems += [f"{pattern}: no sheet {name} in {sheets}" for name in row.sheets if name not in sheets]
        return [f"line {block.line}: {problem}" for problem in problems]

    def prepare(self, block):
        """Makes the folders that the block needs; what it must write is not there before. Returns the folder in which it runs."""
        work = self.work
        for row in block.rows:
            for target, source in row.copies:
                shutil.copytree(os.path.join(self.work, source), os.path.join(self.work, target), dirs_exist_ok=True)
        if any(row.alone for row in block.rows):
            work = os.path.join(self.path, f"copy of line {block.line}")
            shutil.copytree(self.work, work, symlinks=True)
        for pattern in (pattern for row in block.rows if not row.alone for pattern in row.files):
            for path in glob.glob(os.path.join(glob.escape(work), pattern), recursive=True):
                os.remove(path)
        return work


def prepare_rocprof(folder):
    with open(os.path.join(harness.FIXTURES, "rocprof", "tiny_results.json"), "rb") as file:
        trace = file.read()
    for name in ("path/to/908_results.json", "run_20251209_070939/smci350-zts-gtu-c6-25/908_results.json", "908_results.json", "trace.json"):
        folder.put(name, trace)


def prepare_pytorch(folder):
    for name, source in (("path/to/profile.json", "pytorch/training.json.gz"), ("traces/profile.json", "pytorch/training.json.gz"), ("path/to/profile.xplane.pb", "jax/training.xplane.pb.gz")):
        with gzip.open(os.path.join(harness.FIXTURES, source)) as file:
            folder.put(name, file.read())
    for name in ("vllm_trace.json", "sglang_trace.json", "trace.json"):
        folder.put(name, json.dumps(phases.synthetic(2)))
    folder.put("my_extension.py", EXTENSION)


def prepare_batch(folder):
    """The document calls the folder "results" in its commands and "profiles" in its lists of files."""
    for config in seed_table.CONFIGS:
        for rank in seed_table.RANKS:
            folder.put(f"profiles/{config}/traces_rank_{rank}_step_8.json", json.dumps(generate_sweep.trace(256, 28, rank)))
    os.symlink("profiles", folder.file("results"))


def prepare_gemms(folder):
    generate_sweep.lay_out(folder.file(seed_table.SWEEP), seed_table.THREADS, seed_table.CHANNELS, seed_table.RANKS)
    folder.put("docker/docker-compose.rocm70_9-1.yaml", "services: {}\n")
    folder.put("config/single_node/gemm_overlap_comm.yaml", "{}\n")


PREPARE = {"000": prepare_rocprof, "001": prepare_pytorch, "002": prepare_batch, "003": prepare_gemms}


# ---- running ----

def filled(document, text):
    for placeholder, value in document.fill:
        text = text.replace(placeholder, value)
    return text


def run_document(binary, document):
    problems, waiting = [], []
    with Folder(binary) as folder:
        PREPARE[document.number](folder)
        for block in blocks_of(document):
            text, work = filled(document, block.text), folder.prepare(block)
            if work == folder.work:
                problems += folder.run(text, block)
                continue
            # It mostly waits: at the same time as the others, in its copy of the folder.
            waiting.append(threading.Thread(target=lambda text=text, block=block, work=work: problems.extend(folder.run(text, block, work))))
            waiting[-1].start()
        for thread in waiting:
            thread.join()
        assert not problems, "\n".join(problems)
        CHECKS.get(document.number, lambda _: None)(folder)


def check_extension(folder):
    """The category that the extension defines is in the last report."""
    done = subprocess.run([sys.executable, folder.file("generate_perf_report_pytorch.py"), "--profile_json_path", "traces/profile.json", "--extension_file", "my_extension.py",
                           "--output_csvs_dir", "extended"], cwd=folder.work, env=folder.variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    categories = [row[0] for row in folder.rows("extended/ops_summary_by_category.csv")[1:]]
    assert "my_category" in categories, categories
    assert len(folder.rows("output_csvs/ops_unique_args.csv")) <= 51  # --topk_ops 50


def check_profiled_runs(folder):
    """rocprofv3 got the job file of the command line, and --stats only without one; the job file of the kernels names them exactly."""
    jobs = {51: "rocprof_cu_only", 132: "rocprof_top5_kernels", 197: "rocprof_top5_kernels", 206: "rocprof_cu_only"}
    for block in blocks_of(seed_table.GEMMS):
        rows = [row for row in block.rows if row.alone]
        work = os.path.join(glob.escape(folder.path), f"copy of line {block.line}", "experiments")
        sweeps = sorted(path for path in glob.glob(os.path.join(work, "*", "sweep.json")))
        equal((block.line, len(sweeps)), (block.line, len(rows)))  # those that were there before have none
        for row, path in zip(rows, sweeps):
            with open(path) as file:
                record = json.load(file)
            line = row.line
            equal((line, len(record["points"]), {run["status"] for run in record["points"]}), (line, 6 if line in (51, 132) else 8, {"SUCCESS"}))
            for run in record["points"]:
                options = run["argv"][:run["argv"].index("--")] if "--" in run["argv"] else []
                equal((line, bool(options), line not in jobs or f"scripts/gemm_analysis/{jobs[line]}.yaml" in options, "--stats" in options), (line, line not in (24, 172), True, line == 178))
    with open(folder.file("scripts/gemm_analysis/rocprof_top5_kernels.yaml")) as file:
        regex = re.search(r"kernel_include_regex: '(.*)'", file.read()).group(1)
    equal([bool(re.search(regex, name)) for name in (generate_sweep.K1, generate_sweep.K1 + "_long", "x" + generate_sweep.K2)], [True, False, False])


CHECKS = {"001": check_extension, "003": check_profiled_runs}


def inline_commands(binary):
    """The commands of madengine's document that are not in blocks: printed in backticks."""
    with Folder(binary) as folder:
        for command, row in lines_of(seed_table.MADENGINE):
            if command.kind == "inline":
                equal(folder.run(filled(seed_table.MADENGINE, command.text), Block(row.line, command.text, (row,))), [])


def madengine_tests(binary):
    """One test per shell block and way to run it."""
    try:
        text = text_of(seed_table.MADENGINE)
    except harness.Skipped:
        text = None
    blocks = blocks_of(seed_table.MADENGINE)
    tests = seed_commands.tests(binary, [block.text for block in blocks], text)
    return tests + ([("madengine, inline", lambda: inline_commands(binary))] if text else [])


# ---- the table of the documentation ----

def short_list(files):
    """Files of settings and ranks once."""
    names = dict.fromkeys(re.sub(r"experiments/sweep_[0-9*_]+/", "", re.sub(r"(?<=perf_)\d+|(?<=rank)\d+|\d+(?=thread|ch)", "*", name)) for name in files)
    return ", ".join(f"`{name}`" for name in names)


def tested(document, command, row):
    files = row.files
    if document is seed_table.MADENGINE and command.kind == "shell" and not files:
        block, = (block for block in printed_blocks(document) if row in block.rows)
        files = seed_commands.row_of(block.text)[2]
    text = f"exit 0; {short_list(files)}" if files else "exit 0"
    return text + (", with the sheets that are named" if row.sheets else "")


def printed(text):
    """As code in a cell of a table."""
    return "`" + re.sub(r"\s*\\?\n\s*", " ", text).rstrip(" \\").replace("|", "\\|") + "`"


def make_table():
    parts = [BEGIN, "\n"]
    for document in seed_table.DOCUMENTS:
        parts.append(f"**{document.name}**: {document.title}\n\n| line | command | now | tested |\n|---|---|---|---|\n")
        for command, row in lines_of(document):
            parts.append(f"| {row.line} | {printed(command.text)} | {row.now} | {tested(document, command, row)} |\n")
        parts.append("\n")
    return "".join(parts) + END


def check_extraction():
    """A plain search for lines that begin with a program finds nothing else."""
    for document in seed_table.DOCUMENTS:
        numbers = [number for number, line in enumerate(text_of(document).splitlines(), 1)
                   if re.match(r"\s*(\$ )?(python3?|bash|sh|pip3?|docker|madengine|rocm-smi|which|cd|TraceLens_\w+)( |$)", line)]
        missed = set(numbers) - {row.line for row in document.rows}
        assert not missed, f"{document.name}: {sorted(missed)}"


def check_table():
    with open(DOCS, encoding="utf-8") as file:
        text = file.read()
    assert make_table() in text, "the table of docs/differences.md is not that of the documents: run with --write_docs"


def write_table():
    with open(DOCS, encoding="utf-8") as file:
        text = file.read()
    with open(DOCS, "w", encoding="utf-8") as file:
        file.write(text[:text.index(BEGIN)] + make_table() + text[text.index(END) + len(END):])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--write_docs", action="store_true")
    parser.add_argument("only", nargs="?", default="")
    options = parser.parse_args()
    if options.write_docs:
        return write_table()
    binary = harness.require_binary(options.bin)
    print("with", which())
    tests = [(document.name, lambda document=document: run_document(binary, document)) for document in seed_table.DOCUMENTS[:-1]]
    tests += madengine_tests(binary) + [("extraction", check_extraction), ("table", check_table)]
    tests = [(name, test) for name, test in tests if options.only in name]
    # The sweeps mostly wait, and so do jobs of SLURM.
    return harness.run_functions(tests, lambda name: "sweeps" if name == seed_table.GEMMS.name else name.endswith("on a real SLURM"))


if __name__ == "__main__":
    sys.exit(main())
