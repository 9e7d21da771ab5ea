#!/usr/bin/env python3
"""The analysis of a sweep that changes: only what changed is analysed again, and the files are those of a fresh analysis.

Two folders have the same sweep; one of them is analysed again after each change, the other one anew. Plots are left out: they take
most of the time."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from tests.sweep import generate_decisions as generate
from tests.common.harness import Case, run, run_cases

ANALYSIS = "s/tracelens_analysis"
CACHE = f"{ANALYSIS}/.gputally"


def trace_path(t, c, rank):
    return f"s/{t}thread/nccl_{c}channels/torch_profiler/rank{rank}/trace.json"


def report_path(t, c, rank):
    return f"{ANALYSIS}/{t}thread/individual_reports/perf_{c}ch_rank{rank}.xlsx"


def files_of(folder):
    """Contents by path, without what is kept for the next time."""
    found = {}
    for base, names, files in os.walk(folder):
        names[:] = [name for name in names if name != ".gputally"]
        for name in files:
            path = os.path.join(base, name)
            if name == ".gputally":
                continue
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def folders_of(folder):
    """Paths of all folders, also of those without files."""
    return sorted(os.path.relpath(base, folder) for base, _, _ in os.walk(folder) if ".gputally" not in base)


class Sweep:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.problems = binary, folder, []
        self.again, self.fresh = os.path.join(folder, "again"), os.path.join(folder, "fresh")
        os.makedirs(self.again)

    def path(self, *parts):
        return os.path.join(self.again, *parts)

    def same(self, what, got, wanted):
        if got != wanted:
            self.problems.append(f"{what}: {got!r}, not {wanted!r}")

    def lay_out(self, **more):
        generate.lay_out(self.path("s"), lambda s: 6000.0 + s[0] + s[1], **{"repeats": 1, "steps": 2, **more})

    def run(self, *words, step="report", code=0, cwd=None):
        done = run([self.binary, "sweep", step, "s", *words], cwd=cwd or self.again)
        self.same("exit code", (done.code, "runtime error" in done.stderr), (code, False))
        return done

    def analyse(self, *words, cwd=None):
        """All that `sweep all` does, without what follows from `top`. Returns standard output and messages."""
        done = [self.run(*words, step="report", cwd=cwd), self.run(step="decide", cwd=cwd)]
        for line in (["timeline", "--sweep-dir", "s"], ["comms", "--sweep-dir", "s"], ["top", "--base-path", ANALYSIS]):
            done.append(run([self.binary, "sweep", *line], cwd=cwd or self.again))
            self.same(f"exit code of {line[0]}", done[-1].code, 0)
        return "".join(d.stdout for d in done), "".join(d.stderr for d in done)

    def compare(self, what, *words):
        """Analyses both; files and messages must be the same."""
        shutil.rmtree(self.fresh, ignore_errors=True)
        shutil.copytree(self.again, self.fresh, ignore=lambda folder, names: ["tracelens_analysis"])
        again, fresh = self.analyse(*words), self.analyse(*words, cwd=self.fresh)
        self.same(f"{what}: standard output", again[0] == fresh[0].replace(self.fresh, self.again), True)
        self.same(f"{what}: messages", again[1], fresh[1])
        a, b = files_of(self.path(ANALYSIS)), files_of(os.path.join(self.fresh, ANALYSIS))
        self.same(f"{what}: files", sorted(a), sorted(b))
        self.same(f"{what}: contents", [name for name in a if a[name] != b.get(name)], [])
        self.same(f"{what}: folders", folders_of(self.path(ANALYSIS)), folders_of(os.path.join(self.fresh, ANALYSIS)))

    def keep_events(self, is_kept):
        """Leaves events out of all traces."""
        for path in glob.glob(self.path("s/*thread/**/*.json"), recursive=True):
            with open(path, encoding="utf-8") as file:
                trace = json.load(file)
            trace["traceEvents"] = [e for e in trace["traceEvents"] if is_kept(e)]
            with open(path, "w", encoding="utf-8") as file:
                json.dump(trace, file)

    def states(self):
        """What was written when: by path of a workbook."""
        found = {}
        for path in glob.glob(self.path(ANALYSIS, "**/*.xlsx"), recursive=True):
            status = os.stat(path)
            found[os.path.relpath(path, self.again)] = (status.st_ino, status.st_mtime_ns)
        return found

    def written(self, before):
        now = self.states()
        return sorted(path for path in now if now[path] != before.get(path) and "_reports/" in path)

    def change(self, t, c, rank, step_us=7000):
        """Another trace of the same size, with the times that the old one had."""
        path = self.path(trace_path(t, c, rank))
        with open(path, encoding="utf-8") as file:
            text = file.read()
        status = os.stat(path)
        changed = text.replace('"dur": 150.0', '"dur": 140.0')
        self.same("size", (len(changed), changed != text), (len(text), True))
        with open(path, "w", encoding="utf-8") as file:
            file.write(changed)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def reports_of(t, c, ranks=(0, 1)):
    return sorted([f"{ANALYSIS}/{t}thread/collective_reports/collective_{c}ch.xlsx"] + [report_path(t, c, r) for r in ranks])


def check_changes(s):
    s.lay_out()
    s.compare("first")
    before = s.states()
    s.compare("no change")
    s.same("no change: written", s.written(before), [])
    s.change(512, 42, 1)
    s.compare("changed trace")
    s.same("changed trace: written", s.written(before), reports_of(512, 42))
    before = s.states()
    shutil.copytree(s.path("s/256thread/nccl_28channels"), s.path("s/256thread/nccl_56channels"))
    s.compare("setting added")
    s.same("setting added: written", s.written(before), reports_of(256, 56))
    before = s.states()
    shutil.rmtree(s.path("s/256thread/nccl_28channels"))
    s.compare("setting removed")
    s.same("setting removed: written", s.written(before), [])
    os.remove(s.path(trace_path(512, 42, 1)))
    s.compare("rank removed")
    s.same("rank removed: written", s.written(before), reports_of(512, 42, (0,)))
    before = s.states()
    s.compare("options", "--report_layout", "2025.12")
    s.same("options: written", len(s.written(before)), len([p for p in s.states() if "_reports/" in p]))
    before = s.states()
    s.compare("force", "--report_layout", "2025.12", "--force")
    s.same("force: written", len(s.written(before)), len([p for p in s.states() if "_reports/" in p]))


def check_outputs(s):
    """Reports that were removed or changed are written again; files of others are left alone."""
    s.lay_out()
    s.run()
    before = s.states()
    os.remove(s.path(report_path(256, 28, 0)))
    with open(s.path(report_path(512, 28, 1)), "r+b") as file:
        file.seek(100)
        file.write(b"\0\0\0\0")
    s.compare("outputs")
    s.same("outputs: written", s.written(before), sorted(reports_of(256, 28) + reports_of(512, 28)))
    # a report on a run that is gone, edited by the user, stays
    shutil.rmtree(s.path("s/256thread/nccl_28channels"))
    with open(s.path(report_path(256, 28, 0)), "ab") as file:
        file.write(b"mine")
    s.run(step="report")
    s.same("edited report", (os.path.exists(s.path(report_path(256, 28, 0))), os.path.exists(s.path(report_path(256, 28, 1)))), (True, False))


def check_damage(s):
    """What is kept is not trusted."""
    s.lay_out(channels=(28,))
    s.run()
    names = sorted(os.listdir(s.path(CACHE)))
    s.same("kept", (sum(n.endswith(".gtindex") for n in names), sum(n.startswith("report-") for n in names)), (4, 2))

    def damage(change):
        for name in names:
            path = s.path(CACHE, name)
            if os.path.exists(path):
                with open(path, "rb") as file:
                    data = file.read()
                with open(path, "wb") as file:
                    file.write(change(bytearray(data)))

    def flip(at):
        def change(data):
            if data:
                data[int(at * (len(data) - 1))] ^= 0x41
            return data
        return change
    for change in (lambda data: data[:len(data) // 2], lambda data: b"", lambda data: b"\xff" * len(data), flip(0.02), flip(0.3), flip(0.5),
                   flip(0.7), flip(0.9), flip(1)):
        damage(change)
        shutil.rmtree(s.fresh, ignore_errors=True)
        done = s.run("--quiet")
        s.same("messages", done.stderr, "")
        s.compare("damaged")
    shutil.rmtree(s.path(CACHE))
    with open(s.path(CACHE), "w", encoding="utf-8") as file:
        file.write("not a folder")
    s.compare("no folder")


def check_kills(s):
    """A run that was killed leaves nothing that is used."""
    s.lay_out()
    for delay in 0.0, 0.02, 0.05, 0.1, 0.2:
        shutil.rmtree(s.path(ANALYSIS), ignore_errors=True)
        with subprocess.Popen([s.binary, "sweep", "report", "s"], cwd=s.again, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
        s.run()
        for path in glob.glob(s.path(ANALYSIS, "**/.*.tmp-*"), recursive=True):
            os.remove(path)
        s.compare(f"killed after {delay} s")


def check_two_processes(s):
    """Two processes with different options at once: afterwards, each gives what a fresh analysis gives."""
    s.lay_out()
    lines = [[s.binary, "sweep", "report", "s", "--quiet", *more] for more in ([], ["--report_layout", "2025.12"], ["--force"])]
    for _ in range(3):
        running = [subprocess.Popen(line, cwd=s.again, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for line in lines]
        for process in running:
            s.same("stderr", (process.communicate()[1], process.returncode), (b"", 0))
    s.compare("plain")
    s.compare("old layout", "--report_layout", "2025.12")


def check_messages(s):
    """Warnings about traces are given every time; a truncated trace is reported on every time."""
    s.lay_out(ranks=1, channels=(28,))
    for rank in (0,):
        path = s.path(trace_path(512, 28, rank))
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
        trace["traceEvents"] = [e for e in trace["traceEvents"] if "nccl" not in e["name"] and e["name"] != "record_param_comms"]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file)
    first = s.run(step="report")
    s.same("warning", "no collectives in the traces of 512thread_28ch; no collective report" in first.stderr, True)
    again = s.run(step="report")
    s.same("again", (again.stderr, again.stdout), (first.stderr, first.stdout))
    path = s.path(trace_path(256, 28, 0))
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) * 2 // 3)
    first = s.run(step="report", code=1)
    again = s.run(step="report", code=1)
    s.same("truncated", (again.stderr, again.stdout), (first.stderr, first.stdout))
    decided = s.run(step="decide")
    s.same("decide", s.run(step="decide").stderr, decided.stderr)


def check_read_once(s):
    """`decide` after `report` keeps nothing more: it has found all that it needs."""
    s.lay_out()
    s.run(step="report")
    indexes = {path: os.stat(path).st_size for path in glob.glob(s.path(CACHE, "*.gtindex"))}
    s.same("indexes", len(indexes), 8)
    s.run(step="decide")
    s.same("unchanged", {path: os.stat(path).st_size for path in glob.glob(s.path(CACHE, "*.gtindex"))}, indexes)
    decided = files_of(s.path(ANALYSIS))
    shutil.rmtree(s.path(CACHE))
    s.run(step="decide")
    s.same("same bytes", files_of(s.path(ANALYSIS)), decided)


def check_all_steps(s):
    """`sweep all` again, and after a change: the files of a fresh one. Plots of the same rows are not drawn again."""
    def analyse(*words):
        return s.run("--dpi", "20", *words, step="all").stdout

    def plots():
        return {path: (os.stat(path).st_ino, os.stat(path).st_mtime_ns) for path in glob.glob(s.path(ANALYSIS, "plots/*.png"))}
    s.lay_out(channels=(28,))
    first, drawn, files = analyse(), plots(), files_of(s.path(ANALYSIS))
    s.same("plots", len(drawn), 5)
    s.same("again", (analyse() == first, plots() == drawn, files_of(s.path(ANALYSIS)) == files), (True, True, True))
    s.same("forced", (analyse("--force") == first, [p for p in plots() if plots()[p] == drawn[p]], files_of(s.path(ANALYSIS)) == files),
           (True, [], True))
    path = s.path(trace_path(256, 28, 0))
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    for event in trace["traceEvents"]:
        if event["name"] == generate.K1:
            event["dur"] += 0.5
            event["ts"] -= 0.25
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file)
    changed, files = analyse(), files_of(s.path(ANALYSIS))
    s.same("changed", changed == first, False)
    shutil.rmtree(s.path(ANALYSIS))
    s.same("fresh", (analyse() == changed, files_of(s.path(ANALYSIS)) == files), (True, True))
    shutil.copytree(s.again, s.fresh, ignore=lambda folder, names: ["tracelens_analysis"])
    s.run("--dpi", "20", step="all", cwd=s.fresh)
    moved = files_of(os.path.join(s.fresh, ANALYSIS))
    s.same("elsewhere", [name for name in files if files[name] != moved.get(name)], [])


def check_steps_without_work(s):
    """Files of steps that have nothing to do any more are removed, unless somebody has changed them."""
    def analyse(code=0):
        s.run("--dpi", "20", step="all", code=code)
        return files_of(s.path(ANALYSIS)), folders_of(s.path(ANALYSIS))

    def compare(what, code=0):
        again = analyse(code)
        shutil.rmtree(s.path(ANALYSIS))
        fresh = analyse(code)
        s.same(f"{what}: files", sorted(again[0]), sorted(fresh[0]))
        s.same(f"{what}: contents", [name for name in again[0] if again[0][name] != fresh[0].get(name)], [])
        s.same(f"{what}: folders", again[1], fresh[1])
        return fresh[0]
    collectives, rows, plots = "nccl_master_all_configs.csv", "top5_gemm_kernels_time_variance.csv", "plots/variance_violin_combined.png"
    s.lay_out(channels=(28,))
    s.same("first", {collectives, rows, plots} - set(analyse()[0]), set())
    s.keep_events(lambda e: "nccl" not in e["name"] and e["name"] != "record_param_comms")
    names = compare("no collectives")
    s.same("no collectives: kept", (collectives in names, rows in names, plots in names), (False, True, True))
    s.keep_events(lambda e: e["name"] not in (generate.K1, generate.K2, "aten::mm"))
    with open(s.path(ANALYSIS, "plots/mine.txt"), "w", encoding="utf-8") as file:
        file.write("mine")
    with open(s.path(ANALYSIS, "rocprof_top5_kernels.yaml"), "a", encoding="utf-8") as file:
        file.write("# edited")
    names = analyse(1)[0]
    s.same("edited", ("plots/mine.txt" in names, "rocprof_top5_kernels.yaml" in names, plots in names, rows in names),
           (True, True, False, False))
    os.remove(s.path(ANALYSIS, "rocprof_top5_kernels.yaml"))
    shutil.rmtree(s.path(ANALYSIS, "plots"))
    compare("no GEMMs", 1)


def check_another_folder(s):
    """Reports on runs that no longer exist are removed also by a call from another current folder, with their folders; others
    stay."""
    s.lay_out()
    s.run(step="report")
    shutil.rmtree(s.path("s/256thread/nccl_28channels"))
    shutil.rmtree(s.path("s/512thread"))
    done = run([s.binary, "sweep", "report", s.path("s")], cwd="/")
    s.same("exit code", done.code, 0)
    files, folders = sorted(files_of(s.path(ANALYSIS))), folders_of(s.path(ANALYSIS))
    shutil.rmtree(s.path(ANALYSIS))
    s.same("exit code", run([s.binary, "sweep", "report", s.path("s")], cwd="/").code, 0)
    s.same("files", (files, folders), (sorted(files_of(s.path(ANALYSIS))), folders_of(s.path(ANALYSIS))))


def run_check(binary, folder, check):
    s = Sweep(binary, folder)
    check(s)
    return s.problems


CHECKS = (check_changes, check_outputs, check_damage, check_kills, check_two_processes, check_messages, check_read_once,
          check_all_steps, check_steps_without_work, check_another_folder)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], [Case(check.__name__[6:].replace("_", " "), run_check, check) for check in CHECKS]))
