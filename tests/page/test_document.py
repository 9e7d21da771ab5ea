#!/usr/bin/env python3
"""The page as a file: its policy, its tables compared with the JSON of the same report, hostile names, sizes and limits.

    python3 -m tests.page.test_document --bin build/gputally [ONLY]

Nothing here needs a browser: pack.py reads the tables, and html.parser says what a browser would see.
"""
import base64
import hashlib
import html.parser
import json
import math
import os
import re
import sys

from tests.cli.folder import Folder
from tests.common import harness
from tests.findings import small_traces
from tests.page import sample
from tests.page.pack import read_page

TRACES = ("pytorch/training_stack.json.gz", "rocprof/tiny_results.json", "jax/training.xplane.pb.gz")
HOSTILE = ("</script><script>alert(1)</script>", "<!--", "<!-- <script>", "</style><img src=x onerror=alert(1)>", "]]>",
           "\u202egnp.exe", "\u2028\u2029", '"&quot;\'&lt;`${1}', "@PROGRAM@ @PACKS@", "*bold*")
CODE_BYTES_MAX = 2 << 20


class Parser(html.parser.HTMLParser):
    """The elements of a document with their attributes and texts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.is_open = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])
        self.is_open = True

    def handle_endtag(self, tag):
        self.is_open = False

    def handle_data(self, data):
        if self.is_open:
            self.elements[-1][2] += data

    def texts(self, tag, **attributes):
        return [text for name, found, text in self.elements if name == tag and attributes.items() <= found.items()]


def read_text(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def make(folder, trace, options=""):
    """The page of a trace, and the JSON of the same report."""
    done = folder.sh(f"gputally report '{trace}' -q --output_html p.html --output_json p.json {options}")
    assert done.returncode == 0, done.stderr
    with open(folder.file("p.json"), encoding="utf-8") as file:
        return read_page(folder.file("p.html")), json.load(file)


def fixtures():
    found = [os.path.join(harness.FIXTURES, name) for name in TRACES]
    for path in found:
        assert os.path.exists(path), path
    return found


# ---- the document ----

def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def test_policy_admits_only_what_is_embedded(binary):
    with Folder(binary) as folder:
        make(folder, "tiny_results.json")
        parser = Parser(read_text(folder.file("p.html")))
        program = [text for tag, attributes, text in parser.elements if tag == "script" and "type" not in attributes]
        style = parser.texts("style")
        assert len(program) == 1 and len(style) == 1, (len(program), len(style))
        policy = dict(part.strip().split(" ", 1) for part in read_page(folder.file("p.html")).csp.split(";"))
        assert policy == {"default-src": "'none'", "script-src": digest(program[0]), "style-src": digest(style[0]),
                          "img-src": "data: blob:", "worker-src": "blob:", "base-uri": "'none'", "form-action": "'none'"}, policy


def joined_modules():
    """What cmake/Page.cmake makes, from its description."""
    text = "".join("\n" + sample.read(name) for name in sample.modules())
    text = re.sub(r"\nexport ", "\n", re.sub(r"\nimport [^\n]*;", "", text))
    lines = [line.strip(" ") for line in text.split("\n")]
    return "'use strict';\n{\n" + "".join(line + "\n" for line in lines if line and not line.startswith("//")) + "}\n"


def test_program_is_all_modules(binary):
    with Folder(binary) as folder:
        make(folder, "tiny_results.json")
        parser = Parser(read_text(folder.file("p.html")))
        program = next(text for tag, attributes, text in parser.elements if tag == "script" and "type" not in attributes)
        assert program == joined_modules(), "the build has other modules than the source"
        assert "innerHTML" not in program and "eval(" not in program


def test_nothing_is_loaded(binary):
    """No element refers to anything outside of the file."""
    with Folder(binary) as folder:
        make(folder, "tiny_results.json")
        parser = Parser(read_text(folder.file("p.html")))
        for tag, attributes, _ in parser.elements:
            assert "src" not in attributes and "style" not in attributes, (tag, attributes)
            assert not any(name.startswith("on") for name in attributes), (tag, attributes)
            assert attributes.get("href") in (None, "data:,"), (tag, attributes)
        assert len(read_text(folder.file("p.html"))) < CODE_BYTES_MAX


# ---- tables ----

def same_cell(packed, expected):
    """JSON has null for numbers that are not finite; a pack has integers beyond 2^53 and printed values as text."""
    if isinstance(expected, list):
        return isinstance(packed, list) and len(packed) == len(expected) and all(map(same_cell, packed, expected))
    if isinstance(packed, float) and not math.isfinite(packed):
        return expected is None
    if isinstance(packed, str) and isinstance(expected, (int, float)) and not isinstance(expected, bool):
        return float(packed) == expected
    if isinstance(packed, str) and (expected is None or isinstance(expected, bool)):
        return packed in ("nan", "NaN", "None", "") if expected is None else packed == str(expected)
    return packed == expected and isinstance(packed, bool) == isinstance(expected, bool)


def check_sheets(page, document):
    sheets = {name: table for name, table in page.tables[0].items() if not name.startswith("page_")}
    assert list(sheets) == list(document["sheets"]), (list(sheets), list(document["sheets"]))
    for name, sheet in document["sheets"].items():
        assert sheets[name].names() == sheet["columns"], name
        rows = list(zip(*(column.cells for column in sheets[name].columns)))
        assert len(rows) == len(sheet["rows"]), name
        for number, (row, expected) in enumerate(zip(rows, sheet["rows"])):
            for column, cell, wanted in zip(sheet["columns"], row, expected):
                assert same_cell(cell, wanted), (name, number, column, cell, wanted)


def test_sheets_are_those_of_the_json(binary):
    with Folder(binary) as folder:
        for trace in fixtures():
            page, document = make(folder, trace)
            check_sheets(page, document)
            assert page.front["answers"] == {**document, "sheets": {}}, trace
            assert page.front["kind"] == "trace" and page.front["sources"] == [os.path.basename(trace)], page.front["sources"]
            assert page.front["schema"] == "gputally-page/1" and page.title == os.path.basename(trace) + " – gputally"


def test_bar_adds_up_to_the_window(binary):
    with Folder(binary) as folder:
        for trace in fixtures():
            page, document = make(folder, trace)
            facts = page.front["facts"]
            assert sum(part["ns"] for part in facts["bar"]) == document["window_ns"], (trace, facts["bar"])
            assert [tile["id"] for tile in facts["tiles"]] == ["step", "busy", "communication", "copies", "roofline"], trace
            busy = next(tile["value"] for tile in facts["tiles"] if tile["id"] == "busy")
            assert abs(busy - 100 * document["busy_ms"] / document["recorded_ms"]) < 1e-6, (trace, busy)


def test_without_findings(binary):
    """The page keeps what the schedule says; nothing speaks of findings."""
    with Folder(binary) as folder:
        for trace in fixtures():
            page, document = make(folder, trace, "--no_findings")
            check_sheets(page, document)
            assert page.front["answers"]["findings"] == [] and page.front["answers"]["trust"]["verdict"] is None, trace
            assert "page_facts" in page.tables[0], trace
            assert page.front["facts"]["sentence"].startswith("The GPU "), page.front["facts"]["sentence"]


# ---- messages ----

def test_messages_about_the_trace(binary):
    """Warnings are those of the terminal, without folders, whatever the threads and with or without an index."""
    with Folder(binary) as folder:
        os.makedirs(folder.file("deep/folder"))
        trace = small_traces.training()
        for event in trace["traceEvents"][-3:]:
            del event["dur"]
        small_traces.write(folder.file("deep/folder/t.json"), trace)
        with open(folder.file("deep/folder/cut.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(small_traces.training())[:-200])
        for name, wanted in (("t.json", "3 left out: 3 without a start or a duration"), ("cut.json", "cut.json: truncated")):
            found = set()
            for options in ("", "--threads 1", "--threads 8", "--index auto", "--index auto"):
                done = folder.sh(f"gputally report deep/folder/{name} -q --output_html p.html {options}")
                assert done.returncode == 0, done.stderr
                messages = read_page(folder.file("p.html")).front["messages"]
                told = [line.removeprefix("gputally: warning: ").replace("deep/folder/", "") for line in done.stderr.splitlines()]
                assert messages == sorted(told), (messages, told)
                found.add(tuple(messages))
            assert len(found) == 1 and any(wanted in message for message in messages), (found, wanted)
        page, _ = make(folder, fixtures()[1])
        assert page.front["messages"] == [], page.front["messages"]


# ---- hostile names ----

def hostile_trace():
    trace = small_traces.training(device=HOSTILE[0])
    for number, event in enumerate(trace["traceEvents"]):
        if event.get("ph") == "X" and not event["name"].startswith("ProfilerStep"):
            event["name"] += HOSTILE[number % len(HOSTILE)]
    return trace


def test_hostile_names_are_data(binary):
    with Folder(binary) as folder:
        make(folder, "tiny_results.json")
        clean = [(tag, sorted(attributes)) for tag, attributes, _ in Parser(read_text(folder.file("p.html"))).elements]
        name = "a<script>alert(1)<!--\u202e&.json"
        small_traces.write(folder.file(name), hostile_trace())
        page, document = make(folder, name)
        text = read_text(folder.file("p.html"))
        parser = Parser(text)
        assert [(tag, sorted(attributes)) for tag, attributes, _ in parser.elements] == clean, "a name became an element"
        assert page.title == name + " – gputally" and page.front["title"] == name, page.title
        check_sheets(page, document)
        front = re.search(r'id="front">(.*?)</script>', text, re.S).group(1)
        assert not re.search("[<>&\u2028\u2029]", front), "the front has characters that HTML interprets"
        names = "".join(page.tables[0]["kernel_summary"].column("Kernel name"))
        assert all(part in names for part in HOSTILE[:3]), names


def test_names_that_are_not_utf8(binary):
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), small_traces.training())
        with open(folder.file("t.json"), "rb") as file:
            data = file.read()
        with open(folder.file("t.json"), "wb") as file:
            file.write(data.replace(b"ampere_bf16_gemm", b"ampere\xff\xfe_gemm"))
        page, document = make(folder, "t.json")
        check_sheets(page, document)
        assert any("\ufffd" in name for name in page.tables[0]["kernel_summary"].column("Kernel name"))


# ---- limits ----

def test_long_strings_are_cut(binary):
    with Folder(binary) as folder:
        trace = small_traces.training()
        for event in trace["traceEvents"]:
            if event.get("cat") == "kernel":
                event["name"] = "k" * 40000
        small_traces.write(folder.file("t.json"), trace)
        page, _ = make(folder, "t.json")
        names = page.tables[0]["kernel_summary"].column("Kernel name")
        assert set(names) == {"k" * 4000 + "… [36000 more bytes]"}, [name[-40:] for name in names]
        assert "Strings of more than 4,000 bytes are cut." in page.front["notes"], page.front["notes"]


def test_long_sheets_are_cut(binary):
    """Of 25,000 rows, the 20,000 with the most time stay, in their order."""
    rows = 25000
    with Folder(binary) as folder:
        with open(folder.file("t.csv"), "w", encoding="utf-8") as file:
            file.write("Kernel_Name,Dispatch_Id,Start_Timestamp,End_Timestamp\n")
            for row in range(rows):
                start = row * 100000
                file.write(f"k{row},{row},{start},{start + 1000 + row * 7919 % rows}\n")
        page, document = make(folder, "t.csv", "--kernel_details")
        details = page.tables[0]["kernel_details"]
        assert details.rows() == 20000 and len(document["sheets"]["kernel_details"]["rows"]) == rows
        name = document["sheets"]["kernel_details"]["columns"].index("name")
        kept = set(sorted(range(rows), key=lambda row: row * 7919 % rows)[rows - 20000:])
        assert details.column("name") == [row[name] for row in document["sheets"]["kernel_details"]["rows"] if int(re.search(r"\d+", row[name]).group()) in kept]
        notes = page.front["notes"]
        assert "The sheet kernel_details has 25,000 rows; the page has the 20,000 with the most time." in notes, notes


# ---- the same bytes ----

def test_threads_index_and_outputs_change_nothing(binary):
    with Folder(binary) as folder:
        for trace in fixtures():
            pages = set()
            for options in ("--threads 1", "--threads 3", "--threads 8 --output_db x.db", "--index auto", "--index auto", "--max_memory 2G"):
                done = folder.sh(f"cp -n {trace} .; gputally report {os.path.basename(trace)} -q --output_html p.html {options}")
                assert done.returncode == 0, done.stderr
                pages.add(read_text(folder.file("p.html")))
            assert len(pages) == 1, trace


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
