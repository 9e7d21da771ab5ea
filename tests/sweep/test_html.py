#!/usr/bin/env python3
"""Reads the pages of `gputally sweep html` with Python's HTML parser: sections, labels, pictures byte for byte, links, missing plots."""
import base64
import os
import sys
import urllib.parse
from html.parser import HTMLParser

from tests.common.harness import Case, files_under, run, run_cases

PLOTS = ["variance_by_threads_boxplot.png", "variance_by_channels_boxplot.png", "variance_by_ranks_boxplot.png",
         "variance_violin_combined.png", "variance_thread_channel_interaction.png"]
ALTS = ["Threads", "Channels", "Ranks", "Violin", "Interaction"]
HEADINGS = ["Sweep Information", "Variance by Thread Count", "Variance by Channel Count", "Variance by Rank",
            "Variance Distribution (Violin Plots)", "Thread-Channel Interaction", "Data Files Information"]
VOID = {"meta", "hr", "img", "br", "link"}


class Page(HTMLParser):
    """The text of each kind of element, pictures and links; records elements that do not nest."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.pictures, self.links, self.problems, self.rules = [], {}, [], [], [], 0
        self.classes = []
        self.feed(text)
        if self.open:
            self.problems.append(f"not closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.classes.append(attributes.get("class"))
        self.rules += tag == "hr"
        if tag == "img":
            self.pictures.append((attributes["alt"], attributes["src"]))
        if tag == "a":
            self.links.append(attributes["href"])
        if tag not in VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        for tag in set(self.open):
            self.texts[tag][-1] += data


def picture(seed):
    """Bytes with the signature of a PNG; of every length modulo 3."""
    return b"\x89PNG\r\n\x1a\n" + bytes((seed * 31 + i * 7) % 256 for i in range(100 + seed))


def make_sweep(folder, seed, plots=PLOTS):
    os.makedirs(os.path.join(folder, "tracelens_analysis", "plots"))
    for i, name in enumerate(plots):
        with open(os.path.join(folder, "tracelens_analysis", "plots", name), "wb") as file:
            file.write(picture(seed + i))


def make_page(binary, folder, *options, output="page.html"):
    done = run([binary, "sweep", "html", *options, "--output", output], cwd=folder)
    problems = done.problems()
    if not os.path.exists(os.path.join(folder, output)):
        return done, None, problems + [f"no page: {done.stderr}"]
    with open(os.path.join(folder, output), encoding="utf-8") as file:
        page = Page(file.read())
    return done, page, problems + page.problems


def expect(what, got, wanted):
    return [] if got == wanted else [f"{what}: {got!r}, not {wanted!r}"]


def check_two(binary, folder):
    make_sweep(os.path.join(folder, "a"), 0)
    make_sweep(os.path.join(folder, "b"), 50)
    open(os.path.join(folder, "a", "tracelens_analysis", "top5_gemm_kernels_time_variance.csv"), "w").close()
    done, page, problems = make_page(binary, folder, "--sweep1", "a", "--sweep2", "b/", "--label1", "Base")
    title = "GEMM Kernel Variance - Sweep Comparison"
    problems += expect("title", page.texts["title"], [title]) + expect("h1", page.texts["h1"], [title])
    problems += expect("h2", page.texts["h2"], HEADINGS) + expect("rules", page.rules, 7)
    problems += expect("cells", page.texts["td"][:6], ["Sweep 1", "Base", "a", "Sweep 2", "b", "b/"])
    problems += expect("heads", page.texts["th"], ["Sweep", "Label", "Path"] + ["Base", "b"] * 5)
    problems += expect("h3", page.texts["h3"], ["Sweep 1: Base", "Sweep 2: b"])
    files = ["GEMM Variance CSV", "TraceLens Reports", "Plots"]
    problems += expect("list", page.texts["li"], ["Path: a"] + files + ["Path: b/"] + files)
    # the second sweep has no CSV file
    problems += expect("links", page.links, ["a/tracelens_analysis/top5_gemm_kernels_time_variance.csv", "a/tracelens_analysis",
                                             "a/tracelens_analysis/plots", "b/tracelens_analysis", "b/tracelens_analysis/plots"])
    problems += expect("alts", [alt for alt, _ in page.pictures], [f"{alt} Sweep {i}" for alt in ALTS for i in (1, 2)])
    wanted = [picture(seed + i) for i in range(5) for seed in (0, 50)]
    got = [base64.b64decode(source.removeprefix("data:image/png;base64,"), validate=True) for _, source in page.pictures]
    problems += expect("pictures", got, wanted) + expect("said", done.stderr, "")
    for name in ("info-box", "comparison-table", "data-section"):
        problems += [] if name in page.classes else [f"no class {name}"]
    size = os.path.getsize(os.path.join(folder, "page.html")) / 1024 / 1024
    return problems + expect("printed", done.stdout, f"wrote page.html ({size:.2f} MB)\n")


def check_names(binary, folder):
    """Labels and paths with a special meaning in HTML, URLs and option values, or that are not UTF-8."""
    first, second = "a&b <i>%41", 'c="d\''
    make_sweep(os.path.join(folder, first), 0)
    make_sweep(os.path.join(folder, second), 1)
    # written to a new folder
    done, page, problems = make_page(binary, folder, "--sweep", first + "=</td>&lt;\"'", second, output="x y/z/page.html")
    problems += expect("heads", page.texts["th"][3:5], ["</td>&lt;\"'", second])
    problems += expect("paths", [page.texts["td"][2], page.texts["td"][5]], [first, second])
    for link in page.links:
        target = os.path.join(folder, "x y/z", urllib.parse.unquote(link))
        if not os.path.exists(target) or "?" in link or "#" in link:
            problems.append(f"link {link} is broken")
    done = run([binary.encode(), b"sweep", b"html", b"--sweep1", first.encode(), b"--sweep2", second.encode(), b"--label1", b"\xff<"],
               cwd=folder)
    with open(os.path.join(folder, "sweep_comparison_report.html"), encoding="utf-8") as file:
        page = Page(file.read())
    return problems + done.problems() + expect("links", len(page.links), 4) + expect("label", page.texts["th"][3], "\ufffd<")


def check_missing(binary, folder):
    make_sweep(os.path.join(folder, "a"), 0, PLOTS[1:])
    os.makedirs(os.path.join(folder, "b", "tracelens_analysis", "plots", PLOTS[0]))  # a folder of that name
    with open(os.path.join(folder, "b", "tracelens_analysis", "plots", PLOTS[1]), "w") as file:
        file.write("no picture")
    done, page, problems = make_page(binary, folder, "--sweep1", "a", "--sweep2", "b")
    gone = [("a", PLOTS[0])] + [("b", name) for name in PLOTS]
    problems += expect("warnings", sorted(done.stderr.splitlines()),
                       sorted(f"gputally: warning: no plot {sweep}/tracelens_analysis/plots/{name}" for sweep, name in gone))
    problems += expect("boxes", page.classes.count("missing"), 6) + expect("pictures", len(page.pictures), 4)
    return problems + expect("box", page.texts["td"][6], f"plot not available: {PLOTS[0]}")


def check_three(binary, folder):
    for i, name in enumerate("abc"):
        make_sweep(os.path.join(folder, name), 10 * i)
    _, page, problems = make_page(binary, folder, "--sweep1", "a", "--sweep2", "b", "--sweep", "c=third")
    problems += expect("heads", page.texts["th"][3:], ["a", "b", "third"] * 5)
    return problems + expect("alts", [alt for alt, _ in page.pictures], [f"{alt} Sweep {i}" for alt in ALTS for i in (1, 2, 3)])


def check_failure(binary, folder, options, code, message):
    os.makedirs(os.path.join(folder, "a"))
    done = run([binary, "sweep", "html", *options], cwd=folder)
    return expect("exit code", done.code, code) + expect("files", files_under(folder), []) + (
        [] if message in done.stderr else [f"said {done.stderr!r}"])


CASES = [
    Case("two sweeps", check_two),
    Case("names with special characters", check_names),
    Case("missing plots", check_missing),
    Case("three sweeps", check_three),
    Case("no such sweep", check_failure, ["--sweep1", "a", "--sweep2", "b"], 1, "gputally: Sweep 2 directory not found: b\n"),
    Case("one sweep", check_failure, ["--sweep1", "a"], 2, "the following arguments are required: --sweep1, --sweep2"),
    Case("no folder to write to", check_failure, ["--sweep1", "a", "--sweep2", "a", "--output", "/dev/null/x.html"], 1, "/dev/null"),
]


if __name__ == "__main__":
    sys.exit(run_cases(__doc__, CASES))
