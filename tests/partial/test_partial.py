#!/usr/bin/env python3
"""Partials: `gputally merge` writes the bytes that `gputally report` and `gputally collective` write for all ranks.

    python3 -m tests.partial.test_partial --bin build/gputally

Expected files come from a single process that reads the traces.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

from tests.common.harness import FIXTURES, Case, files_under, run, run_cases
from tests.partial.generate_ranks import write_ranks, write_trace

WORKBOOK, PAGE = "nccl_analysis_report.xlsx", "nccl_analysis_report.html"


class Place:
    """Two folders with the same traces in a folder of the same name: one for each way."""

    def __init__(self, binary, folder):
        self.binary, self.one, self.many = binary, os.path.join(folder, "one process"), os.path.join(folder, "partials")

    def make(self, ranks, **options):
        write_ranks(os.path.join(self.one, "my run"), ranks, **options)

    def copy(self):
        shutil.copytree(self.one, self.many)

    def call(self, folder, *arguments, code=0, says=(), env=None):
        outcome = run([self.binary, *arguments], cwd=folder, env=env)
        problems = outcome.problems()
        if outcome.code != code:
            problems.append(f"{arguments}: exit code {outcome.code}: {outcome.stderr}{outcome.stdout[:300]}")
        for text in says:
            if text not in outcome.stderr + outcome.stdout:
                problems.append(f"{arguments}: {text!r} is not in {outcome.stderr}{outcome.stdout[:300]}")
        return problems

    def text(self, *arguments, code=0):
        """What a command with partials prints; one that ends differently raises."""
        outcome = run([self.binary, *arguments], cwd=self.many)
        assert outcome.code == code, (arguments, outcome)
        return outcome.stdout + outcome.stderr

    def compare(self, pairs):
        problems = []
        for one, many in pairs:
            first, second = os.path.join(self.one, one), os.path.join(self.many, many)
            if os.path.isdir(first):
                names = files_under(first)
                if names != files_under(second):
                    problems.append(f"{names} differ from {files_under(second)}")
                problems += self.compare((os.path.join(one, name), os.path.join(many, name)) for name in names)
                continue
            with open(first, "rb") as a, open(second, "rb") as b:
                if a.read() != b.read():
                    problems.append(f"{one} differs from {many}")
        return problems


def prepare(binary, folder):
    return (Place(binary, folder),)


# ---- the same bytes ----

def whole_report(place, ranks, damage=None, codes=(0, 0)):
    """All documents of `report`. damage(folder) changes the traces before anything reads them; `codes` are the exit codes of
    `report` and `partial` then. The page of all ranks has a link to the page of a damaged trace only in `report`."""
    place.make(ranks)
    if damage:
        damage(os.path.join(place.one, "my run"))
    place.copy()
    outputs = ["--output_csvs_dir", "csvs", "--output_json", "json", "--output_md", "md"]
    problems = place.call(place.one, "report", "my run", "-q", code=codes[0])
    problems += place.call(place.one, "report", "my run", "-q", *outputs, code=codes[0])
    problems += place.call(place.many, "partial", "my run", "-q", code=codes[1])
    for page in glob.glob(os.path.join(place.one, "my run", "*_perf_report.html")):  # links to pages that exist
        shutil.copy(page, os.path.join(place.many, "my run"))
    problems += place.call(place.many, "merge", "my run", "-q")
    problems += place.call(place.many, "merge", "my run", "-q", "--output_csvs_dir", "csvs", "--output_json", "all.json",
                           "--output_md", "all.md")
    pages = [] if any(codes) else [(f"my run/{PAGE}", f"my run/{PAGE}")]
    return problems + place.compare([(f"my run/{WORKBOOK}", f"my run/{WORKBOOK}"), *pages, ("csvs/collective", "csvs"),
                                     ("json/collective.findings.json", "all.json"), ("md/collective.findings.md", "all.md")])


def without_findings(place, ranks, partial=(), merge=()):
    """`collective`: the options of `partial` and of `merge` are its own. Its default kernels are those of TraceLens."""
    place.make(ranks)
    place.copy()
    problems = place.call(place.one, "collective", "--trace_dir", "my run", "-q", "--output_csvs_dir", "csvs",
                          "--output_html", "page.html", "--output_db", "all.db", *partial, *merge)
    own = [] if "--comm_kernels" in partial else ["--comm_kernels", "tracelens"]
    problems += place.call(place.many, "partial", "my run", "-q", *own, *partial)
    problems += place.call(place.many, "merge", "my run", "-q", "--no_findings", "--output_csvs_dir", "csvs",
                           "--output_db", "all.db", "--output_html", "page.html", *merge)
    pages = [] if own else [("page.html", "page.html")]  # a page shows the options that were given
    return problems + place.compare([("csvs", "csvs"), ("all.db", "all.db"), *pages])


def remove_rank(rank):
    return lambda folder: os.remove(os.path.join(folder, f"rank{rank}_trace.json"))


def truncate_rank(rank):
    def damage(folder):
        path = os.path.join(folder, f"rank{rank}_trace.json")
        os.truncate(path, os.path.getsize(path) // 2)
    return damage


def empty_rank(rank):
    return lambda folder: os.truncate(os.path.join(folder, f"rank{rank}_trace.json"), 0)


def missing_without_findings(place):
    place.make(4)
    remove_rank(2)(os.path.join(place.one, "my run"))
    place.copy()
    problems = place.call(place.one, "collective", "--trace_dir", "my run", "-q", "--allow_missing_ranks",
                          "--output_csvs_dir", "csvs", "--comm_kernels", "all")
    problems += place.call(place.many, "partial", "my run", "-q")
    problems += place.call(place.many, "merge", "my run", "--no_findings", "--output_csvs_dir", "csvs", code=1,
                           says=["no partial of rank 2; make the missing ones with `gputally partial`"])
    if os.path.exists(os.path.join(place.many, "csvs")):
        problems.append("there is a report, although a rank is missing")
    problems += place.call(place.many, "merge", "my run", "--no_findings", "--allow_missing_ranks", "--output_csvs_dir",
                           "csvs", says=["warning: no partial of rank 2"])
    return problems + place.compare([("csvs", "csvs")])


def last_rank_missing(place):
    """The traces say how many ranks ran."""
    place.make(4)
    remove_rank(3)(os.path.join(place.one, "my run"))
    place.copy()
    says = ["my run: 4 ranks ran, traces of 3: rank 3 is missing"]
    problems = place.call(place.one, "report", "my run", "-q", says=says)
    problems += place.call(place.many, "partial", "my run", "-q")
    return problems + place.call(place.many, "merge", "my run", "-q", says=says) + \
        place.compare([(f"my run/{WORKBOOK}", f"my run/{WORKBOOK}")])


def threads(place):
    place.make(5)
    place.copy()
    problems = []
    for count in (1, 2, 8):
        problems += place.call(place.many, "partial", "my run", "-q", "--threads", str(count), "--output", f"parts{count}")
        problems += place.call(place.many, "merge", f"parts{count}", "-q", "--threads", str(count), "--output_csvs_dir",
                               f"csvs{count}")
    for count in (2, 8):
        for name in files_under(os.path.join(place.many, "csvs1")):
            with open(os.path.join(place.many, "csvs1", name), "rb") as a, \
                    open(os.path.join(place.many, f"csvs{count}", name), "rb") as b:
                if a.read() != b.read():
                    problems.append(f"{name} differs with {count} threads")
    return problems


# ---- names, ranks and places ----

def folders_of_ranks(place):
    """run/rank0/trace.json: the partials of one folder need different names."""
    place.make(3, name="node/rank{}/trace.json")
    place.copy()
    problems = place.call(place.one, "report", "my run", "-q", "--output_csvs_dir", "csvs")
    problems += place.call(place.many, "partial", "my run", "-q", "--output", "my parts/new")
    names = files_under(os.path.join(place.many, "my parts/new"))
    if names != [f"rank{rank}-trace.json.gtpart" for rank in range(3)]:
        problems.append(f"partials {names}")
    problems += place.call(place.many, "merge", "my parts/new", "-q", "--output_csvs_dir", "csvs")
    problems += place.call(place.many, "partial", "my run", "-q")  # beside the traces, found below the folder
    problems += place.call(place.many, "merge", "my run", "-q", "--output_csvs_dir", "again")
    return problems + place.compare([("csvs/collective", "csvs"), ("csvs/collective", "again")])


def rank_in_trace(place):
    """Names without a rank: the trace says it, or --rank."""
    place.make(2, name="host_{}.pt.trace.json")
    place.copy()
    problems = place.call(place.one, "report", "my run", "-q", "--output_csvs_dir", "csvs")
    first, second = (os.path.join("my run", f"host_{rank}.pt.trace.json") for rank in (0, 1))
    problems += place.call(place.many, "partial", first, says=["rank 0: wrote my run/host_0.pt.trace.json.gtpart"])
    problems += place.call(place.many, "partial", second, "--rank", "1", "--output", "second.gtpart",
                           says=["rank 1: wrote second.gtpart"])
    problems += place.call(place.many, "merge", first + ".gtpart", "second.gtpart", "-q", "--output_csvs_dir", "csvs")
    return problems + place.compare([("csvs/collective", "csvs")])


def without_rank(place):
    place.make(1)
    path = os.path.join(place.one, "t.json")
    with open(os.path.join(place.one, "my run", "rank0_trace.json")) as file:
        trace = json.load(file)
    del trace["distributedInfo"]
    with open(path, "w") as file:
        json.dump(trace, file)
    return place.call(place.one, "partial", "t.json", code=1,
                      says=["t.json: neither its name nor the trace has a rank; use --rank N"]) + \
        place.call(place.one, "partial", "t.json", "--rank", "7", says=["rank 7: wrote t.json.gtpart"]) + \
        place.call(place.one, "partial", "t.json", "my run", "--rank", "7", code=1, says=["--rank needs exactly one trace"]) + \
        place.call(place.one, "partial", "t.json", "--rank_regex", "", code=1, says=["--rank_regex: '': no group for the rank number"])


def one_by_one(place):
    """Each rank by its own command, in any order, compressed, in two places; then all by name."""
    place.make(4, name="rank{}_trace.json.gz")
    place.copy()
    problems = place.call(place.one, "report", "my run", "-q", "--output_csvs_dir", "csvs")
    for rank in (3, 0, 2, 1):
        output = ["--output", "here"] if rank % 2 else []
        problems += place.call(place.many, "partial", f"my run/rank{rank}_trace.json.gz", "-q", *output)
    problems += place.call(place.many, "merge", "here", "my run/rank2_trace.json.gz.gtpart", "my run/rank0_trace.json.gz.gtpart",
                           "-q", "--output_csvs_dir", "csvs")
    return problems + place.compare([("csvs/collective", "csvs")])


def default_place(place):
    place.make(2)
    place.copy()
    problems = place.call(place.many, "partial", "my run", "--output", "my parts", "-q")
    problems += place.call(place.many, "merge", "my parts", says=[f"wrote my parts/{WORKBOOK}", f"wrote my parts/{PAGE}"])
    problems += place.call(place.many, "merge", "my parts", "--no_html", "--world_size", "1", "-q",
                           says=["ignoring 1 partial of ranks 1 and above"])
    return problems


# ---- a partial that is there already ----

def reused(place):
    place.make(2)
    place.copy()
    first = os.path.join(place.many, "my run", "rank0_trace.json")
    part = first + ".gtpart"
    place.text("partial", "my run")
    made = os.stat(part).st_ino
    problems = []

    def expect(what, *options):
        text = place.text("partial", "my run", *options)
        if what not in text:
            problems.append(f"{options}: {text}")

    expect("rank 0: up to date: my run/rank0_trace.json.gtpart")
    if os.stat(part).st_ino != made:
        problems.append("the partial was written again")
    os.utime(first, ns=(0, 0))
    expect("rank 0: up to date")  # the same contents
    expect("rank 0: wrote", "--comm_kernels", "tracelens")
    expect("rank 0: up to date", "--comm_kernels", "tracelens")
    expect("rank 0: wrote", "--extra")
    write_trace(first, 0, 2, steps=5)
    expect("rank 0: wrote", "--extra")
    expect("rank 1: up to date", "--extra")
    os.truncate(part, 100)
    expect("rank 0: wrote", "--extra")
    return problems + place.call(place.many, "merge", "my run", "-q")


def stale(place):
    place.make(3)
    place.copy()
    path = os.path.join(place.many, "my run", "rank1_trace.json")
    place.text("partial", "my run")
    write_trace(path, 1, 3, steps=5)
    says = ["my run/rank1_trace.json.gtpart: stale partial: its trace has changed since; make it again with `gputally partial`"]
    problems = place.call(place.many, "merge", "my run", code=1, says=[*says, "2 ranks"])
    problems += place.call(place.many, "merge", "my run", "--no_findings", "-o", "none.xlsx", code=1, says=says)
    if os.path.exists(os.path.join(place.many, "none.xlsx")):
        problems.append("a report without the stale partial")
    os.remove(path)  # a trace that is gone cannot be compared
    return problems + place.call(place.many, "merge", "my run", says=["3 ranks"])


def stale_with_old_times(place):
    """Other contents with the size and the time of before: `merge` notices it as `partial` does."""
    place.make(3)
    place.copy()
    path = os.path.join(place.many, "my run", "rank1_trace.json")
    os.utime(path, (10**9, 10**9))
    place.text("partial", "my run")
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace('"dur": 1400', '"dur": 1401'))
    os.utime(path, (10**9, 10**9))
    problems = place.call(place.many, "merge", "my run", code=1, says=["my run/rank1_trace.json.gtpart: stale partial", "2 ranks"])
    return problems + place.call(place.many, "partial", "my run", says=["rank 0: up to date", "rank 1: wrote"])


def local_ranks(place):
    """Names with local ranks: what the traces say counts, however they are named, and the report is that of the folder."""
    for rank in range(4):
        os.makedirs(os.path.join(place.one, "my run", f"node{rank // 2}"), exist_ok=True)
        write_trace(os.path.join(place.one, "my run", f"node{rank // 2}", f"rank{rank % 2}.json"), rank, 4)
    place.copy()
    problems = place.call(place.one, "report", "my run", "-q", "--output_csvs_dir", "csvs")
    differ = "node1/rank0.json: rank 0 by its file name, but rank 2 in the trace"
    problems += place.call(place.many, "partial", "my run/node0", "-o", "p")
    problems += place.call(place.many, "partial", "my run/node1/rank0.json", "-o", "p",
                           says=[f"{differ}; using the ranks in the traces", "rank 2: wrote p/rank2-rank0.json.gtpart"])
    problems += place.call(place.many, "partial", "my run/node1/rank1.json", "-o", "p", says=["rank 3: wrote"])
    problems += place.call(place.many, "merge", "p", "-q", "--output_csvs_dir", "csvs")
    problems += place.compare([("csvs/collective", "csvs")])
    problems += place.call(place.many, "partial", "my run/node1/rank0.json", "my run/node1/rank1.json", "-o", "both",
                           says=[f"{differ}, and others differ too; using the ranks in the traces"])
    regex = ["--rank_regex", "rank([0-9]+)"]  # the user says where the rank is
    problems += place.call(place.many, "partial", "my run/node1/rank0.json", "-o", "q", *regex,
                           says=[f"{differ}; using the file names", "rank 0: wrote q/rank0.json.gtpart"])
    problems += place.call(place.many, "merge", "p/rank0.json.gtpart", "q/rank0.json.gtpart", code=1, says=[
        "are both partials of rank 0; name one of them, or if one is of another rank N, make it again with `gputally partial --rank N`"])
    for name in ("rank8.json", "rank9.json"):  # copies of one trace: only the names tell them apart
        write_trace(os.path.join(place.many, name), 0, 4)
    return problems + place.call(place.many, "partial", "rank8.json", "rank9.json", says=[
        "rank8.json: rank 8 by its file name, but rank 0 in the trace, and others differ too; using the file names", "rank 9: wrote"])


def other_files_stay(place):
    place.make(2)
    notes = os.path.join(place.one, "notes.gtpart")
    with open(notes, "w") as file:
        file.write("my notes\n")
    problems = place.call(place.one, "partial", "my run/rank0_trace.json", "--output", "notes.gtpart", code=1,
                          says=["notes.gtpart: not a partial, so it is not replaced by one"])
    problems += place.call(place.one, "merge", "notes.gtpart", code=1, says=["notes.gtpart: not a partial of gputally"])
    problems += place.call(place.one, "partial", "my run/rank0_trace.json", "--output", "one.gtpart")
    problems += place.call(place.one, "partial", "my run/rank1_trace.json", "--output", "one.gtpart", code=1,
                           says=["one.gtpart: partial of another trace, "])
    problems += place.call(place.one, "merge", "one.gtpart", "--output_json", "one.gtpart", code=1, says=["one.gtpart"])
    with open(notes) as file:
        return problems if file.read() == "my notes\n" else [*problems, "the notes were replaced"]


# ---- partials that do not belong together, or are damaged ----

def not_together(place):
    place.make(2)
    write_ranks(os.path.join(place.one, "other"), 2, world_size=16)
    place.copy()
    run_parts = [f"my run/rank{rank}_trace.json.gtpart" for rank in (0, 1)]
    place.text("partial", "my run")
    place.text("partial", "other")
    problems = place.call(place.many, "merge", "my run", "other", code=1,
                          says=["my run/rank0_trace.json.gtpart and other/rank0_trace.json.gtpart are both partials of rank 0"])
    problems += place.call(place.many, "merge", run_parts[0], "other/rank1_trace.json.gtpart", "-q", "-o", "mixed.xlsx",
                           says=["other/rank1_trace.json.gtpart: 16 ranks ran, but 2 by my run/rank0_trace.json.gtpart; "
                                 "the partials may be of different runs"])
    place.text("partial", "my run/rank1_trace.json", "--extra")
    problems += place.call(place.many, "merge", "my run", code=1, says=[
        f"{run_parts[0]} and {run_parts[1]} were made with different options (no options; --extra); make them again"])
    return problems + place.call(place.many, "merge", "my run", "no such file", code=1, says=["no such file: no such partial"])


def other_version(place):
    place.make(2)
    place.copy()
    place.text("partial", "my run")
    path = os.path.join(place.many, "my run", "rank0_trace.json.gtpart")
    with open(path, "r+b") as file:
        file.seek(16)  # after magic, byte order and format
        file.write(b"\1\2\3\4\5\6\7\10")
    return place.call(place.many, "merge", "my run", "-q", code=1, says=[
        "my run/rank0_trace.json.gtpart: partial of another version of gputally; make it again with `gputally partial`: skipped"])


def damaged(place):
    """Truncated and changed in many places: noticed, or the same report."""
    place.make(2)
    place.copy()
    place.text("partial", "my run")
    place.text("merge", "my run", "-q", "--output_csvs_dir", "good")
    path = os.path.join(place.many, "my run", "rank1_trace.json.gtpart")
    with open(path, "rb") as file:
        sound = file.read()
    good = {name: open(os.path.join(place.many, "good", name), "rb").read() for name in
            files_under(os.path.join(place.many, "good"))}
    problems, noticed, cuts, flips = [], 0, 12, 60
    tries = [sound[:len(sound) * i // cuts] for i in range(cuts)]
    for i in range(flips):
        at = 8 + (len(sound) - 9) * i // (flips - 1)
        tries.append(sound[:at] + bytes([sound[at] ^ (1 << i % 8)]) + sound[at + 1:])
    for number, content in enumerate(tries):
        with open(path, "wb") as file:
            file.write(content)
        outcome = run([place.binary, "merge", "my run", "-q", "--output_csvs_dir", "out"], cwd=place.many)
        problems += outcome.problems()
        named = "my run/rank1_trace.json.gtpart" in outcome.stderr and outcome.code == 1
        same = outcome.code == 0 and all(open(os.path.join(place.many, "out", name), "rb").read() == text
                                         for name, text in good.items())
        noticed += named
        if not named and not same:
            problems.append(f"change {number}: {outcome.stderr}")
        if number < cuts and not named:
            problems.append(f"truncated to {len(content)} bytes: {outcome.stderr}")
    return problems if noticed > cuts + flips // 3 else [*problems, f"only {noticed} of {len(tries)} changes were noticed"]


def none_usable(place):
    place.make(1)
    place.copy()
    place.text("partial", "my run")
    os.truncate(os.path.join(place.many, "my run", "rank0_trace.json.gtpart"), 9000)
    problems = place.call(place.many, "merge", "my run", "--output_json", "out.json", code=1, says=["no partial can be used"])
    with open(os.path.join(place.many, "out.json")) as file:
        found = json.load(file)
    if found != {"schema": "gputally-findings/1", "trace": "my run", "error": {"message": "no partial can be used", "exit": 1}}:
        problems.append(f"the JSON of the error: {found}")
    part = os.path.join("my run", "rank0_trace.json.gtpart")
    problems += place.call(place.many, "merge", "my run", "--output_json", part, code=1)
    if os.path.getsize(os.path.join(place.many, part)) != 9000:
        problems.append("the error is written over a partial")
    return problems


# ---- other traces ----

def other_formats(place):
    problems = []
    os.makedirs(place.one)
    for name, what in (("jax/matmul.xplane.pb.gz", "JAX profile (XPlane)"), ("rocprof/tiny_results.json", "rocprofv3 JSON trace")):
        shutil.copy(os.path.join(FIXTURES, name), place.one)
        file = os.path.basename(name)
        problems += place.call(place.one, "partial", file, "--rank", "0", code=1,
                               says=[f"{file}: {what}; partials are made of PyTorch traces"])
        problems += place.call(place.one, "partial", file, code=1, says=["partials are made of PyTorch traces"])
    with open(os.path.join(place.one, "empty_rank1.json"), "w"):
        problems += place.call(place.one, "partial", "empty_rank1.json", "--rank", "2", code=1, says=[
            "warning: empty_rank1.json: rank 1 by its file name, but --rank says 2, which counts", "empty_rank1.json: empty file\n"])
    left = [name for name in files_under(place.one) if name.endswith(".gtpart") or ".tmp" in name]
    return problems + [f"left behind: {left}"] if left else problems


def truncated_trace(place):
    place.make(2)
    truncate_rank(0)(os.path.join(place.one, "my run"))
    problems = place.call(place.one, "partial", "my run/rank0_trace.json", "my run/rank1_trace.json", code=1,
                          says=["rank0_trace.json", "rank 1: wrote"])
    if glob.glob(os.path.join(glob.escape(place.one), "my run", "rank0*gtpart")):
        problems.append("a partial of a truncated trace")
    return problems


def full_disk(place):
    place.make(1)
    outcome = run([place.binary, "partial", "my run", "-q"], cwd=place.one, file_size_limit=8192)
    problems = outcome.problems()
    if outcome.code != 1 or not re.search(r"cannot write the partial", outcome.stderr):
        problems.append(f"exit code {outcome.code}: {outcome.stderr}")
    left = [name for name in files_under(place.one) if "gtpart" in name]
    return [*problems, f"left behind: {left}"] if left else problems


def killed(place):
    """Jobs that are killed at any time leave sound partials or nothing; the next one makes the rest."""
    place.make(7, steps=40)
    place.copy()
    problems = place.call(place.one, "report", "my run", "-q", "--output_csvs_dir", "csvs")
    for number in range(12):
        job = subprocess.Popen([place.binary, "partial", "my run", "-q", "--threads", "2"], cwd=place.many)
        time.sleep(0.004 * number)
        job.kill()
        job.wait()
    left = [name for name in files_under(os.path.join(place.many, "my run")) if not name.endswith((".json", ".gtpart"))]
    if left and not all(".tmp-" in name for name in left):  # a file system without unnamed files has temporary ones
        problems.append(f"left behind: {left}")
    outcome = run([place.binary, "merge", "my run", "-q", "--output_csvs_dir", "early"], cwd=place.many)
    problems += outcome.problems()
    if "damaged" in outcome.stderr:
        problems.append(f"a damaged partial: {outcome.stderr}")
    problems += place.call(place.many, "partial", "my run", "-q")
    problems += place.call(place.many, "merge", "my run", "-q", "--output_csvs_dir", "csvs")
    return problems + place.compare([("csvs/collective", "csvs")])


def at_the_same_time(place):
    """Several jobs make the same partials."""
    place.make(6)
    place.copy()
    problems = place.call(place.one, "report", "my run", "-q", "--output_csvs_dir", "csvs")
    jobs = [subprocess.Popen([place.binary, "partial", "my run", "-q"], cwd=place.many) for _ in range(4)]
    problems += [f"exit code {job.returncode}" for job in jobs if job.wait()]
    problems += place.call(place.many, "merge", "my run", "-q", "--output_csvs_dir", "csvs")
    return problems + place.compare([("csvs/collective", "csvs")])


def cases():
    for ranks in (2, 3, 7):
        yield Case(f"report of {ranks} ranks", whole_report, ranks)
    yield Case("report without rank 2", whole_report, 4, remove_rank(2))
    yield Case("report with a truncated rank", whole_report, 4, truncate_rank(2), (0, 1))
    yield Case("report with an empty trace", whole_report, 4, empty_rank(1), (1, 1))
    for ranks in (1, 4):
        yield Case(f"collective of {ranks} ranks", without_findings, ranks)
    yield Case("collective with options", without_findings, 4, ["--comm_kernels", "all", "--comm_kernel_regex", "gemm.*",
                                                               "--extra", "--extra_last_step"],
               ["--gpus_per_node", "2", "--agg_metrics", "max", "std", "--all2allv_heatmap"])
    yield Case("missing rank without findings", missing_without_findings)
    for check in (last_rank_missing, threads, folders_of_ranks, rank_in_trace, without_rank, one_by_one, default_place, reused,
                  stale, stale_with_old_times, local_ranks, other_files_stay, not_together, other_version, damaged, none_usable, other_formats,
                  truncated_trace, full_disk, killed, at_the_same_time):
        yield Case(check.__name__.replace("_", " "), check)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], list(cases()), prepare))
