#!/usr/bin/env python3
"""The modules of the page (src/page/web): lines of at most 120 characters, and no export that nobody imports.

    python3 -m tests.architecture.test_web
"""
import glob
import os
import re
import sys

from tests.architecture.run import run_functions

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINE_MAX = 120


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def files(pattern):
    found = sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, pattern), recursive=True))
    assert found, pattern
    return found


def test_lines_are_short():
    for path in files("src/page/web/**/*.js"):
        for number, line in enumerate(read(path).split("\n"), 1):
            assert len(line) <= LINE_MAX, f"{path}:{number}: {len(line)} characters"


def test_each_export_is_imported():
    """By another module, or by a test of the module."""
    imported = set()
    for path in files("src/page/web/**/*.js") + files("tests/page/*.mjs"):
        for names in re.findall(r"\bimport\s*\{([^}]*)\}", read(path)):
            imported.update(re.split(r"\s+as\s+", name.strip())[0] for name in names.split(","))
    for path in files("src/page/web/**/*.js"):
        exported = re.findall(r"^export (?:async )?(?:function\*?|const|let|class) (\w+)", read(path), re.M)
        for name in exported:
            assert name in imported, f"{path}: nobody imports {name}"


if __name__ == "__main__":
    sys.exit(run_functions(globals()))
