#!/usr/bin/env python3
"""Writes a page of synthetic data, for tests and for work on src/page/web without a trace or a build.

    python3 tests/page/sample.py OUT.html [--events N] [--hostile] [--binned] [--compare] [--ranks N] [--kind rocprof]

The program of the page is joined here as src/page/web/README.md says, independently of cmake/Page.cmake.
"""
import argparse
import base64
import hashlib
import html
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from tests.page import sample_sheets  # noqa: E402
from tests.page.pack import Column, Table, pack_text, remembered  # noqa: E402
from tests.page.sample_tables import table, work_tables  # noqa: E402
from tests.page.sample_trace import make_trace  # noqa: E402

WEB = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "src", "page", "web")

# Names that must stay text. bytes: not UTF-8.
HOSTILE = ["<script>document.title = 'hacked'</script>", "</script><script>document.title = 'hacked'</script>", "</style><b>bold</b>",
           "x" * 20000 + "<img src=x onerror=alert(1)>" + "y" * 20000, "\u202eright to left\u202c \u2066isolated\u2069", "a *bold* name* with stars",
           "\U0001f680 rocket & \U0001f469\u200d\U0001f4bb, quotes \" ' `${1+1}` \\", b"not UTF-8: \xff\xfe\xc3(", "=HYPERLINK(\"http://localhost\")",
           "<!-- <script>", "]]> &lt;b&gt; \x00\x07\x1b[31m", "line\nbreak\ttab\r", "__proto__", "constructor", ""]


def read(*path):
    with open(os.path.join(WEB, *path), encoding="utf-8") as file:
        return file.read()


def modules(name="main.js", found=None):
    """A module after all that it imports, as cmake/Page.cmake joins them."""
    found = {} if found is None else found
    if name not in found:
        found[name] = None
        order = [one for path in re.findall(r"^import .* from '(.*)';$", read(name), re.M)
                 for one in modules(os.path.normpath(os.path.join(os.path.dirname(name), path)), found)]
        return order + [name]
    return []


def join_program():
    """The modules without imports and the word export."""
    parts = []
    for module in modules():
        text = re.sub(r"^import .*\n", "", read(module), flags=re.M)
        parts.append(re.sub(r"^export ", "", text, flags=re.M))
    return "'use strict';\n" + "".join(parts)


def join_style():
    """style.css, then the files of all sections by path."""
    paths = []
    for folder, _, names in os.walk(os.path.join(WEB, "sections")):
        paths += [os.path.join(folder, name) for name in names if name.endswith(".css")]
    return read("style.css") + "".join(open(path, encoding="utf-8").read() for path in sorted(paths))


def sha256(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def write_page(path, front, sources):
    """sources: lists of tables."""
    style, program = "\n" + join_style(), "\n" + join_program()
    csp = (f"default-src 'none'; script-src {sha256(program)}; style-src {sha256(style)}; img-src data: blob:; worker-src blob:; "
           "base-uri 'none'; form-action 'none'")
    text = json.dumps(front, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c").replace("\x00", "\\u0000")
    packs = [f'<script type="application/octet-stream">{pack_text(number, tables)}</script>'
             for number, tables in enumerate(sources)]
    values = {"CSP": csp, "TITLE": html.escape(front["title"]), "DOCUMENT": "", "STYLE": style, "FRONT": text, "PROGRAM": program, "PACKS": "\n".join(packs)}
    document = re.sub("@([A-Z]+)@", lambda match: values[match.group(1)], read("page.html"))
    with open(path, "wb") as file:
        file.write(document.encode("utf-8", "replace"))


# ---- hostile names ----

def make_hostile(trace, seed):
    """Gives every third name of the trace a hostile one; some are replaced, some extended."""
    source = random.Random(seed)
    names = [name for name in HOSTILE]

    def spoil(text, at):
        if at % 3 or text is None:
            return text
        name = names[at // 3 % len(names)]
        return name if isinstance(name, bytes) or source.random() < 0.7 else name + text
    trace.kernels = [kernel._replace(name=spoil(kernel.name, at), short=spoil(kernel.short, at + 1)) for at, kernel in enumerate(trace.kernels)]
    trace.kernels += [trace.kernels[0]._replace(name=name, short=name) for name in HOSTILE]
    trace.gpu = [event._replace(kernel=len(trace.kernels) - 1 - at % len(HOSTILE)) if at % 50 == 0 else event for at, event in enumerate(trace.gpu)]
    text_names = [name for name in HOSTILE if isinstance(name, str)]
    trace.calls = [call._replace(op=text_names[at // 2 % len(text_names)] if at % 2 else call.op, shapes=spoil(call.shapes, at) or "",
                                 python=text_names[at % len(text_names)] if at % 4 == 1 else call.python) for at, call in enumerate(trace.calls)]
    trace.calls = [call._replace(shapes=call.shapes.decode("latin-1")) if isinstance(call.shapes, bytes) else call for call in trace.calls]
    trace.nodes = [(parent, kind, spoil(name, at)) for at, (parent, kind, name) in enumerate(trace.nodes)]
    trace.gaps = [(at, cause, site and text_names[number % len(text_names)]) for number, (at, cause, site) in enumerate(trace.gaps)]
    trace.steps = [(text_names[number], host) for number, (_, host) in enumerate(trace.steps)]
    trace.threads = {(pid, tid, text_names[number % len(text_names)]): [event._replace(name=spoil(event.name, at)) for at, event in enumerate(events)]
                     for number, ((pid, tid, _), events) in enumerate(trace.threads.items())}


def spoil_front(front):
    front["title"] = "</title><script>document.title = 'hacked'</script>.json.gz"
    front["command"] = "gputally report '</script><script>document.title = \"hacked\"</script>' " + "z" * 5000
    for number, finding in enumerate(front["answers"]["findings"]):
        finding["title"] = HOSTILE[number] if isinstance(HOSTILE[number], str) else "?"
        finding["where"] = HOSTILE[(number + 4) % 7]
        finding["evidence"].append(HOSTILE[9])
    front["facts"]["notes"].append("</script><script>document.title = 'hacked'</script>")
    front["facts"]["gpu"] = "<img src=x onerror=\"document.title = 'hacked'\">"


# ---- the kinds of pages ----

@remembered
def make_source(events, is_hostile, is_binned, has_host, seed, speed):
    trace = make_trace(events, seed, speed)
    if not has_host:
        trace.gpu = [event._replace(call=None, launch=None) for event in trace.gpu]
    if is_hostile:
        make_hostile(trace, seed)
    work, info = work_tables(trace, is_binned, has_host)
    return trace, info, work + sample_sheets.report_sheets(trace, work, info, has_host)


def trace_source(options, seed=1, speed=1.0):
    return make_source(options.events, options.hostile, options.binned, options.kind != "rocprof", seed, speed)


def front_of(options, kind, title, sources, answers, facts):
    framework = "rocprofv3" if options.kind == "rocprof" else "PyTorch"
    front = {"schema": "gputally-page/1", "version": "0.1.0", "kind": kind, "title": title, "framework": framework,
             "command": f"gputally report {title} --output_html report.html", "sources": sources, "answers": answers, "facts": facts}
    if options.binned:
        facts["notes"].append("The timeline shows bins of time, except from 10 to 30 ms: the trace has more events than a page can hold.")
    return front


def make_single(options):
    trace, info, tables = trace_source(options)
    has_host = options.kind != "rocprof"
    title = "train.json.gz" if has_host else "demo_results.json"
    front = front_of(options, "trace", title, [title], sample_sheets.answers(trace, info, has_host), sample_sheets.facts(trace, info, has_host))
    if options.hostile:
        spoil_front(front)
    return front, [tables]


def waterfall(sides):
    """Contributions by category and cause, largest first; they add up to the difference of the step times."""
    sums = [{key: ns / info["window"][2] / 1e6 for key, ns in sample_sheets.part_sums(info).items()} for _, info, _ in sides]
    a, b = (sum(side.values()) for side in sums)
    rows = [("after", 0, "step time of before", "step", "before", a, a, 0.0, a)]
    keys = sorted(set(sums[0]) | set(sums[1]), key=lambda key: -abs(sums[1].get(key, 0) - sums[0].get(key, 0)))
    running = a
    for key in keys:
        before, after = (side.get(key, 0.0) for side in sums)
        running += after - before
        kind = key[1] if key[1] != "computation" else "slower" if after > before else "faster"
        rows.append(("after", len(rows), f"{kind}: {key[0]}", kind, key[0], before, after, after - before, running))
    rows.append(("after", len(rows), "step time of after", "step", "after", b, b, 0.0, b))
    names = ["report", "order", "contribution", "kind", "what", "a_ms", "b_ms", "delta_ms", "cumulative_ms"]
    kinds = ["string", "int", "string", "string", "string", "float", "float", "float", "float"]
    return Table("waterfall", [Column(name, kind, [row[i] for row in rows]) for i, (name, kind) in enumerate(zip(names, kinds))])


def make_compare(options):
    sides = [trace_source(options), trace_source(options, 2, 1.35)]
    steps = waterfall(sides)
    contributions = steps.records()
    a, b = contributions[0]["a_ms"], contributions[-1]["b_ms"]
    reports = [{"name": name, "file": f"{name}.json.gz", "is_trace": True, "verdict": "usable with care", "distrust": None}
               for name in ("before", "after")]
    failed = {"condition": "step_ms > 3%", "baseline": a, "variant": b, "diff": b - a, "pct": 100 * (b - a) / a}
    answers = {"schema": "gputally-comparison/1", "baseline": reports[0], "reports": reports[1:],
               "waterfalls": [{"report": "after", "a_ms": a, "b_ms": b, "contributions": contributions}], "fail_if": [failed]}
    facts = sample_sheets.facts(*sides[1][:2], options.kind != "rocprof")
    facts["sentence"] = f"A step takes *{b - a:+.1f} ms*: most of it in *{contributions[1]['what']}*."
    facts["gates"] = [{"condition": "step_ms > 3%", "met": 1}]
    front = front_of(options, "compare", "before → after", ["before", "after", "comparison"], answers, facts)
    return front, [sides[0][2], sides[1][2], [steps]]


def make_ranks(options):
    source = random.Random(3)
    trace, info, tables = trace_source(options)
    straggler = min(5, options.ranks - 1)
    waits, bytes_ = [], [7087872 * 2, 1 << 20, 1 << 26]
    for number in range(120):
        start = 3_000_000 + number * 400_000
        late = [source.randint(0, 20_000) + (150_000 + source.randint(0, 90_000) if rank == straggler else 0) for rank in range(options.ranks)]
        size = bytes_[number % 3]
        ns = int(size / 180)
        for rank, offset in enumerate(late):
            wait = max(late) - offset
            waits.append((rank, number, "AllReduce" if number % 3 else "AllGather", size, start + offset, ns + wait, wait))
    names = ["rank", "collective", "name", "bytes", "start", "ns", "wait"]
    rank_waits = Table("page_rank_waits", [Column(name, "string" if name == "name" else "int", [row[i] for row in waits]) for i, name in enumerate(names)])
    totals = [sum(row[6] for row in waits if row[0] == rank) // 5 for rank in range(options.ranks)]
    step = 24_000_000
    rank_steps = table("page_rank_steps", rank=("int", range(options.ranks)), step_ns=("int", [step + source.randint(0, 50_000) for _ in totals]),
                       busy_ns=("int", [step * 3 // 4 - wait for wait in totals]), idle_ns=("int", [step // 4] * len(totals)),
                       exposed_ns=("int", [0] * len(totals)), exposed_wait_ns=("int", totals),
                       late_ns=("int", [max(totals) if rank == straggler else 0 for rank in range(options.ranks)]),
                       wait_ns=("int", [5 * wait for wait in totals]), last=("int", [120 * (rank == straggler) for rank in range(options.ranks)]),
                       blame_ns=("int", [5 * sum(totals) * (rank == straggler) for rank in range(options.ranks)]), page=("string", [f"rank{rank}.html" if rank % 3 else None for rank in range(options.ranks)]))
    tables = [one for one in tables if one.name not in ("page_memory",)] + [rank_waits, rank_steps]
    facts_table = next(one for one in tables if one.name == "page_facts")
    facts_table.column("name").append("collectives")
    facts_table.column("value").append(480)
    facts = sample_sheets.facts(trace, info, True)
    facts["sentence"] = f"*Rank {straggler}* arrives late at collectives: the others wait *{max(totals) / 1e6:.1f} ms* per step."
    front = front_of(options, "ranks", "run-8/", ["run-8"], sample_sheets.answers(trace, info, True), facts)
    return front, [tables]


def make(*argv):
    """Writes a page with the options of the command line: make("x.html", "--binned")."""
    options = parse(argv)
    if options.compare:
        front, sources = make_compare(options)
    elif options.ranks:
        front, sources = make_ranks(options)
    else:
        front, sources = make_single(options)
    write_page(options.out, front, sources)


def parse(argv):
    parser = argparse.ArgumentParser(description="write a page of synthetic data")
    parser.add_argument("out", metavar="OUT.html")
    parser.add_argument("--events", type=int, default=2000, help="about this many GPU events, up to 500000")
    parser.add_argument("--hostile", action="store_true", help="names that try to be HTML, and other hard ones")
    parser.add_argument("--binned", action="store_true", help="as of a trace that is too large for the page")
    parser.add_argument("--compare", action="store_true", help="two traces")
    parser.add_argument("--ranks", type=int, default=0, metavar="N", help="a folder of N ranks")
    parser.add_argument("--kind", choices=("pytorch", "rocprof"), default="pytorch")
    return parser.parse_args(argv)


if __name__ == "__main__":
    make(*sys.argv[1:])
