#!/usr/bin/env python3
"""Tests of the GitHub action: runs the steps of action.yml as the runner does, on real files.

    python3 -m tests.packages.test_action --bin build/gputally

The stand-in for the runner evaluates the expressions that action.yml uses, runs each step with the shell that the runner
starts, collects outputs and summary, and finds the commands (::error::) in what was printed.
"""
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

import yaml

from tests.packages import common
from tests.packages.common import EXAMPLE, ROOT

ACTION = os.path.join(ROOT, "action.yml")
# What runs if a name gets into a shell as code: it writes a file.
HOSTILE = ["$(touch pwned)", "`touch pwned`", "a;touch pwned;", "a' 'b", 'a"b', "a b", "${{ inputs.files }}", "-o", "--output_db=pwned",
           "a&touch pwned", "%0A::error::x", "<script>", "é\udcff", "*", "a]b["]


class Job:
    """What one use of the action did."""
    status = 0

    def __init__(self):
        self.outputs, self.log, self.summary = {}, "", ""

    def commands(self):
        """The runner's commands in the log, as (name, text)."""
        found, stopped = [], None
        for line in self.log.splitlines():
            if stopped is not None:
                if line == f"::{stopped}::":
                    stopped = None
                continue
            match = re.match(r"::([a-z-]+)(?: [^:]*)?::(.*)", line)
            if match and match.group(1) == "stop-commands":
                stopped = match.group(2)
            elif match:
                found.append(match.groups())
        assert stopped is None, "commands stay off"
        return found

    def errors(self):
        return [text for name, text in self.commands() if name == "error"]


def evaluate(text, contexts):
    """A value of action.yml with its expressions replaced."""
    def value(match):
        found = contexts
        for part in match.group(1).split("."):
            found = found.get(part, "") if isinstance(found, dict) else ""
        return found
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, text)


def read_outputs(path):
    outputs = {}
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line in file.read().split("\n"):
            if line:
                name, found, value = line.partition("=")
                assert found, f"not an output: {line}"
                outputs[name] = value
    return outputs


def use(folder, runner=None, path=None, **inputs):
    """Uses the action in a folder; runner: more variables of the runner, path: a folder in front of PATH."""
    with open(ACTION, encoding="utf-8") as file:
        action = yaml.safe_load(file)
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    assert not set(given) - set(action["inputs"]), given
    missing = [name for name, row in action["inputs"].items() if row.get("required") and name not in given]
    assert not missing, missing
    contexts = {"inputs": {name: given.get(name, row.get("default", "")) for name, row in action["inputs"].items()},
                "github": {"action_path": ROOT, "action_repository": "someone/gputally"}, "steps": {}}
    side = common.temporary_folder()
    job, summary = Job(), os.path.join(side, "summary")
    for number, step in enumerate(action["runs"]["steps"]):
        output, script = os.path.join(side, f"output{number}"), os.path.join(side, f"step{number}.sh")
        for name in (output, summary):
            open(name, "a", encoding="utf-8").close()
        with open(script, "w", encoding="utf-8") as file:
            file.write(evaluate(step["run"], contexts))
        environment = {"PATH": (path + ":" if path else "") + os.environ["PATH"], "HOME": side, "GITHUB_OUTPUT": output,
                       "GITHUB_STEP_SUMMARY": summary, "GITHUB_SERVER_URL": "https://forge.example", "RUNNER_TEMP": side,
                       "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "LC_ALL": "C.UTF-8", **(runner or {})}
        environment.update({name: evaluate(value, contexts) for name, value in step["env"].items()})
        assert step["shell"] == "bash"
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], cwd=folder, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        job.log += done.stdout.decode(errors="replace")
        contexts["steps"][step["id"]] = {"outputs": read_outputs(output)}
        if done.returncode:
            job.status = done.returncode
            break
    job.outputs = {name: evaluate(row["value"], contexts) for name, row in action["outputs"].items()}
    with open(summary, encoding="utf-8") as file:
        job.summary = file.read()
    return job


def workspace():
    """A folder with a trace and one in which everything takes twice as long."""
    folder = common.temporary_folder()
    shutil.copyfile(EXAMPLE, os.path.join(folder, "before.json.gz"))
    with gzip.open(EXAMPLE) as file:
        trace = json.load(file)
    for event in trace["traceEvents"]:
        for name in ("ts", "dur"):
            if name in event:
                event[name] *= 2
    with gzip.open(os.path.join(folder, "after.json.gz"), "wt", compresslevel=1) as file:
        json.dump(trace, file)
    return folder


def use_binary(folder, **inputs):
    return use(folder, binary=common.Setting.bin, **inputs)


def test_no_expression_in_a_script():
    with open(ACTION, encoding="utf-8") as file:
        action = yaml.safe_load(file)
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"] and "uses" not in step, step
        for value in step["env"].values():
            assert not re.sub(r"\$\{\{ [\w.-]+ \}\}", "", value), value


def test_every_input_and_output_is_used_and_documented():
    with open(ACTION, encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(ROOT, "docs/ci.md"), encoding="utf-8") as file:
        page = file.read()
    action = yaml.safe_load(text)
    for name in action["inputs"]:
        assert text.count(f"${{{{ inputs.{name} }}}}") == 1, name
    for name in [*action["inputs"], *action["outputs"]]:
        assert f"`{name}`" in page, f"docs/ci.md does not describe {name}"


def test_report():
    folder = workspace()
    job = use_binary(folder, files="before.json.gz")
    assert job.status == 0 and not job.errors(), job.log
    assert job.outputs["gate-failed"] == "false"
    output = os.path.join(folder, "gputally-report")
    assert job.outputs["report"] == os.path.join(output, "sheets") and job.outputs["page"] == os.path.join(output, "page.html")
    assert common.read_folder(job.outputs["report"]) == common.sheets_of(common.Setting.bin, common.temporary_folder())
    with open(job.outputs["page"], encoding="utf-8") as file:
        assert file.read(20).lower().startswith("<!doctype html")
    with open(job.outputs["summary"], encoding="utf-8") as file:
        assert job.summary.strip() == file.read().strip() and "(high)" in job.summary
    with open(job.outputs["json"], encoding="utf-8") as file:
        json.load(file)
    assert sorted(os.listdir(folder)) == ["after.json.gz", "before.json.gz", "gputally-report"]


def test_report_of_several_files_by_pattern():
    folder = workspace()
    job = use_binary(folder, files="\n  *.json.gz  \n\n", output_dir="out put")
    assert job.status == 0, job.log
    assert sorted(os.listdir(job.outputs["report"])) == ["after", "before"]
    assert sorted(os.listdir(job.outputs["page"])) == ["after.html", "before.html"]
    assert job.summary.count("(high)") == 2


def test_report_of_a_folder_with_one_trace():
    folder = common.temporary_folder()
    os.mkdir(os.path.join(folder, "run"))
    shutil.copyfile(os.path.join(ROOT, "examples/gputally_demo_results.json.gz"), os.path.join(folder, "run/1_results.json.gz"))
    job = use_binary(folder, files="run")
    assert job.status == 0, job.log
    assert job.outputs["page"].endswith(".html") and os.path.isfile(job.outputs["page"])
    assert os.path.isfile(job.outputs["summary"]) and job.summary, job.outputs


def test_second_run_replaces_the_first():
    folder = workspace()
    assert use_binary(folder, files="*.json.gz").status == 0
    job = use_binary(folder, files="before.json.gz")
    assert job.status == 0, job.log
    assert sorted(os.listdir(os.path.join(folder, "gputally-report"))) == [
        ".gputally-action", "page.html", "report.json", "sheets", "summary.md"]
    failed = use_binary(folder, files="before.json.gz", arguments="--no-such-option")
    assert failed.status == 2 and failed.outputs["page"] == "" and failed.summary == "", "an old page is passed on"


def test_files_of_others_are_kept():
    folder = workspace()
    os.makedirs(os.path.join(folder, "sheets"))
    job = use_binary(folder, files="before.json.gz", output_dir=".")
    assert job.status == 2 and job.errors() == ["output-dir: . is not empty"], job.log
    assert os.path.exists(os.path.join(folder, "sheets"))


def test_gate_passes():
    job = use_binary(workspace(), command="compare", files="before.json.gz\nbefore.json.gz\n", arguments="--names\nold\nnew",
                     fail_if="step_ms > 5%")
    assert job.status == 0 and job.outputs["gate-failed"] == "false", job.log
    assert "No condition is met" in job.summary and os.path.isfile(job.outputs["page"])


def test_gate_fails():
    job = use_binary(workspace(), command="compare", files="before.json.gz\nafter.json.gz", fail_if="step_ms < -5%\nstep_ms > 99%")
    assert job.status == 3 and job.outputs["gate-failed"] == "true", job.log
    assert job.errors() == ["the gate failed: a condition of fail-if is met"], job.errors()
    # Twice the time, from the example's 15.94 ms per step.
    assert "31.880 ms instead of 15.940 ms" in job.summary and "Met conditions" in job.summary, job.summary
    assert os.path.isfile(job.outputs["page"]) and os.path.isdir(job.outputs["report"])


def test_better_is_not_a_failure():
    job = use_binary(workspace(), command="compare", files="after.json.gz\nbefore.json.gz", fail_if="step_ms > 0")
    assert job.status == 0 and job.outputs["gate-failed"] == "false", job.log


def test_three_files_have_no_page():
    job = use_binary(workspace(), command="compare", files="before.json.gz\nafter.json.gz\nbefore.json.gz",
                     arguments="--names\na\nb\nc")
    assert job.status == 0 and job.outputs["page"] == "" and job.outputs["report"], job.log


def test_strict_trust():
    folder = workspace()
    with gzip.open(EXAMPLE) as file:
        trace = json.load(file)
    # Kernels without their launches: the trace shows no connection between host and GPU.
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("cat") not in ("cuda_runtime", "cuda_driver")]
    with open(os.path.join(folder, "partial.json"), "w", encoding="utf-8") as file:
        json.dump(trace, file)
    plain = use_binary(folder, files="partial.json", output_dir="plain")
    assert plain.status == 0 and plain.outputs["gate-failed"] == "false", plain.log
    job = use_binary(folder, files="partial.json", strict_trust="true")
    assert job.status == 4 and job.outputs["gate-failed"] == "true", job.log
    assert job.errors() == ["the gate failed: a trace cannot be trusted"] and job.summary


def test_errors_are_not_gates():
    folder = workspace()
    with open(os.path.join(folder, "empty.json"), "w", encoding="utf-8"):
        pass
    job = use_binary(folder, command="compare", files="before.json.gz\nempty.json", fail_if="step_ms > 5%")
    assert job.status == 1 and job.outputs["gate-failed"] == "false" and len(job.errors()) == 1, job.log
    assert job.outputs["page"] == "" and job.summary == ""


def test_inputs_are_checked():
    folder = workspace()
    for inputs, message in (
            ({"files": "before.json.gz", "command": "run"}, "command: neither report nor compare: run"),
            ({"files": "\n \n"}, "files: no file is named"),
            ({"files": "no-such-*"}, "files: no-such-* does not exist"),
            ({"files": "before.json.gz", "command": "compare"}, "files: compare needs two files or more"),
            ({"files": "before.json.gz", "strict_trust": "yes"}, "strict-trust: neither true nor false: yes"),
            ({"files": "before.json.gz", "summary": ""}, "summary: neither true nor false: "),
            ({"files": "before.json.gz", "fail_if": "step_ms > 1"}, "fail-if: only compare has conditions"),
            ({"files": "*.gz", "command": "compare", "strict_trust": "true"}, "strict-trust: only report has it"),
            ({"files": "before.json.gz", "output_dir": "a\ngate-failed=true"}, "output-dir has a line break"),
            ({"files": "before.json.gz", "output_dir": ""}, "output-dir is empty")):
        job = use_binary(folder, **inputs)
        assert job.errors() == [message], (inputs, job.log)
        assert job.status in (1, 2) and job.outputs["gate-failed"] != "true" and job.summary == "", inputs
    job = use(folder, files="before.json.gz", binary="no-such\nprogram")
    assert job.errors() == ["binary: no-such%0Aprogram is not a program"], job.log
    job = use_binary(folder, files="before.json.gz", summary="false", output_dir="quiet")
    assert job.status == 0 and job.summary == "" and job.outputs["summary"], job.log


def test_hostile_names():
    """File names, conditions, folders and arguments that would run commands if they were pasted into a script."""
    folder = workspace()
    for name in HOSTILE:
        file_name = name + ".json.gz"
        shutil.copyfile(os.path.join(folder, "before.json.gz"), os.path.join(folder, file_name))
        before = set(os.listdir(folder))
        job = use_binary(folder, files=file_name, output_dir="out")
        assert job.status == 0 and os.path.isfile(job.outputs["page"]), (name, job.log)
        assert set(os.listdir(folder)) == before | {"out"}, (name, os.listdir(folder))
        shutil.rmtree(os.path.join(folder, "out"))
        os.remove(os.path.join(folder, file_name))
    for name in HOSTILE:
        for inputs in ({"files": "before.json.gz\nafter.json.gz", "command": "compare", "fail_if": name},
                       {"files": "before.json.gz", "command": name}, {"files": "before.json.gz", "strict_trust": name}):
            job = use_binary(folder, output_dir="out", **inputs)
            assert job.status != 0 and job.outputs["gate-failed"] != "true", (inputs, job.log)
        job = use_binary(folder, files="before.json.gz", output_dir="./" + name)
        assert job.status == 0 and os.path.isfile(job.outputs["page"]), (name, job.log)
        assert not os.path.exists(os.path.join(folder, "pwned")), name


def test_names_in_a_trace_are_no_commands():
    folder = workspace()
    with gzip.open(EXAMPLE) as file:
        trace = json.load(file)
    for event in trace["traceEvents"]:
        if event.get("cat") == "kernel":
            event["name"] = "\n::error::from the trace\n::add-mask::e\n"
    with open(os.path.join(folder, "names.json"), "w", encoding="utf-8") as file:
        json.dump(trace, file)
    job = use_binary(folder, files="names.json")
    assert job.status == 0 and job.commands() == [], job.commands()


def test_a_long_summary_fits():
    folder = workspace()
    for number in range(400):
        os.symlink("before.json.gz", os.path.join(folder, f"copy{number:03}.json.gz"))
    # A stand-in, because what counts is the size of what the program writes.
    stand_in = os.path.join(folder, "program")
    with open(stand_in, "w", encoding="utf-8") as file:
        file.write('#!/bin/bash\nwhile [[ $1 != --output_md ]]; do shift; done\nmkdir -p "$2"\n'
                   'for n in {100..400}; do head -c 5000 /dev/zero | tr "\\0" x >"$2/$n.md"; done\n')
    os.chmod(stand_in, 0o755)
    job = use(folder, binary="program", files="copy*")
    assert job.status == 0 and 900_000 < len(job.summary) < 1 << 20, (job.log, len(job.summary))
    assert job.summary.endswith("too long for this page.\n")


class Release:
    """A release in a folder, and a curl that downloads from it instead of from the network."""

    def __init__(self, version, arch="x86_64"):
        self.folder, self.tools = common.temporary_folder(), common.temporary_folder()
        self.name = f"gputally-{version}-linux-{arch}"
        with open(common.Setting.bin, "rb") as file:
            program = file.read()
        with tarfile.open(os.path.join(self.folder, self.name + ".tar.gz"), "w:gz", compresslevel=1) as archive:
            member = tarfile.TarInfo(f"{self.name}/bin/gputally")
            member.mode, member.size = 0o755, len(program)
            archive.addfile(member, io.BytesIO(program))
        with open(os.path.join(self.folder, self.name + ".tar.gz"), "rb") as file:
            self.sum = hashlib.sha256(file.read()).hexdigest()
        self.write_sums(f"{'0' * 64}  other.tar.gz\n{self.sum}  {self.name}.tar.gz\n")
        with open(os.path.join(self.tools, "curl"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/bash\nwhile [[ $1 != --output ]]; do shift; done\necho "$4" >>"{self.folder}/urls"\n'
                       f'cp "{self.folder}/${{4##*/}}" "$2"\n')
        os.chmod(file.name, 0o755)

    def write_sums(self, text):
        with open(os.path.join(self.folder, "SHA256SUMS"), "w", encoding="utf-8") as file:
            file.write(text)

    def urls(self):
        with open(os.path.join(self.folder, "urls"), encoding="utf-8") as file:
            return file.read().split()

    def use(self, runner=None, **inputs):
        return use(workspace(), files="before.json.gz", path=self.tools, runner=runner, **inputs)


def test_download_of_the_own_version():
    release = Release(common.version())
    job = release.use()
    assert job.status == 0 and os.path.isfile(job.outputs["page"]), job.log
    at = f"https://forge.example/someone/gputally/releases/download/v{common.version()}"
    assert release.urls() == [f"{at}/{release.name}.tar.gz", f"{at}/SHA256SUMS"], release.urls()


def test_download_of_a_named_version_and_sum():
    release = Release("9.8.7", "aarch64")
    job = release.use({"RUNNER_ARCH": "ARM64"}, version="v9.8.7", sha256=release.sum.upper(), download_url="https://mirror.example/a/")
    assert job.status == 0, job.log
    assert release.urls() == [f"https://mirror.example/a/{release.name}.tar.gz"], release.urls()


def test_wrong_downloads_are_not_run():
    release = Release("9.8.7")
    for inputs, message in (({"sha256": "1" * 64}, "expected " + "1" * 64), ({"sha256": "abc"}, "not 64 hexadecimal digits"),
                            ({"version": "9.8.8"}, "failed"), ({"version": "../../x"}, "not a version"),
                            ({"version": "1\n2"}, "not a version"), ({"download_url": "http://mirror.example"}, "not an https address"),
                            ({"download_url": "file:///etc"}, "not an https address")):
        job = release.use(**{"version": "9.8.7", **inputs})
        assert job.status != 0 and len(job.errors()) == 1 and message in job.errors()[0], (inputs, job.log)
    release.write_sums(f"{release.sum}  other.tar.gz\n")
    assert "does not name" in release.use(version="9.8.7").errors()[0]
    release.write_sums(f"{'2' * 64}  {release.name}.tar.gz\n")
    assert "expected " + "2" * 64 in release.use(version="9.8.7").errors()[0]
    assert "this runner is X86" in release.use({"RUNNER_ARCH": "X86"}, version="9.8.7").errors()[0]
    assert "this runner is macOS" in release.use({"RUNNER_OS": "macOS"}, version="9.8.7").errors()[0]


if __name__ == "__main__":
    sys.exit(common.main(__doc__, globals()))
