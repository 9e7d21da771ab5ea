#!/usr/bin/env python3
"""Sample pages (sample.py) in a real browser, and the rig itself: it must notice what a page does wrong.

    python3 -m tests.page.test_samples --bin build/gputally [ONLY]
"""
import contextlib
import os
import sys
import tempfile

from tests.page.browser import Browser, require_browser
from tests.common.harness import run_test_functions
from tests.page import sample
from tests.page.pack import read_page


@contextlib.contextmanager
def sample_page(*options):
    require_browser()
    with tempfile.TemporaryDirectory(prefix="gputally-page-") as folder:
        path = os.path.join(folder, "page.html")
        sample.make(path, *options)
        yield path


def opens(*options):
    """The page is ready without problems and has the sections that the test names."""
    with sample_page(*options) as path, Browser() as browser:
        browser.open(path)
        return browser.js("return [...document.querySelectorAll('main section')].map((one) => one.id)")


def test_training_page_opens(_):
    opens()


def test_binned_page_opens(_):
    opens("--binned")


def test_rocprof_page_opens(_):
    opens("--kind", "rocprof")


def test_compare_page_opens(_):
    opens("--compare")


def test_ranks_page_opens(_):
    opens("--ranks", "8")


def test_hostile_names_are_inert(_):
    with sample_page("--hostile") as path, Browser() as browser:
        browser.open(path)
        assert browser.js("return document.title") == read_page(path).title
        assert browser.count("script") == len(read_page(path).tables) + 2, "an element came from a name"
        assert browser.count("main img, main script, main style, main iframe, main b:not(.front b)") == browser.count("main b:not(.front b)")
        assert browser.js("return [...document.querySelectorAll('main *')].every((one) => [...one.attributes].every((a) => !a.name.startsWith('on')))")


def test_sample_reads_back(_):
    with tempfile.TemporaryDirectory(prefix="gputally-page-") as folder:
        path = os.path.join(folder, "page.html")
        sample.make(path)
        page = read_page(path)
        work = page.tables[0]
        assert page.title == "train.json.gz" and "'sha256-" in page.csp and "unsafe" not in page.csp
        assert sum(work["page_sums"].column("ns")) == sum(work["page_gpu"].column("ns"))
        assert sum(work["page_kernels"].column("count")) == work["page_gpu"].rows()
        for counts, count in zip(work["page_kernels"].column("histogram"), work["page_kernels"].column("count")):
            assert sum(counts or []) == count
        parts = {step: 0 for step in range(work["page_steps"].rows())}
        for row in work["page_step_parts"].records():
            parts[row["step"]] += row["ns"]
        assert list(parts.values()) == work["page_steps"].column("ns")


# ---- the rig ----

def page_with(folder, program):
    """A sample page whose program ends with more code."""
    original = sample.join_program
    sample.join_program = lambda: original() + program
    try:
        path = os.path.join(folder, "page.html")
        sample.make(path)
    finally:
        sample.join_program = original
    return path


def noticed(program):
    require_browser()
    with tempfile.TemporaryDirectory(prefix="gputally-page-") as folder:
        path = page_with(folder, program)
        try:
            with Browser() as browser:
                browser.open(path)
        except AssertionError as error:
            return str(error)
    return ""


def test_rig_notices_console_errors(_):
    assert "broken on purpose" in noticed("\nconsole.error('broken on purpose');")


def test_rig_notices_exceptions(_):
    assert "broken on purpose" in noticed("\nsetTimeout(() => { throw new Error('broken on purpose'); });")


def test_rig_notices_requests(_):
    assert "http://127.0.0.1:9/x.png" in noticed("\nnew Image().src = 'http://127.0.0.1:9/x.png';")


def test_rig_notices_inline_programs(_):
    found = noticed("\nconst bad = document.createElement('button'); bad.setAttribute('onclick', 'x()'); document.body.append(bad); bad.click();")
    assert "CSP: script-src" in found, found


if __name__ == "__main__":
    sys.exit(run_test_functions(__doc__, globals()))
