#!/usr/bin/env python3
"""Numbers of things in prose, which nobody corrects when a thing is added: those that announce a list are the number of its items,
and of sheets, rules, commands and the like there are none. Lists in prose of what there is name all of it.

    python3 -m tests.architecture.test_counts
"""
import glob
import os
import re
import sys

from tests.architecture.run import run_functions

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "examples/README.md", "docs/**/*.md", "docs/man/*")
WORDS = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()
GROWING = "sheets|rules|commands|subcommands|checks|causes|options|formats|sections|profilers"
ANNOUNCEMENT_MAX = 80  # characters; longer sentences are about more than the list


def texts(*patterns):
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True)):
            with open(path, encoding="utf-8") as file:
                yield os.path.relpath(path, ROOT), file.read()


def help_texts():
    """The string literals of the command line, those of several lines as one."""
    for path, text in texts("src/cli/**/*.c"):
        yield path, " | ".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", text)))


def lists(text):
    """(number, items) of each sentence like "Three things break them:" before a list or a table."""
    blocks = re.split(r"\n\s*\n", text)
    for before, after in zip(blocks, blocks[1:]):
        sentence = " ".join(re.split(r"(?<=[.?])\s", before.strip())[-1].split())
        numbers = [WORDS.index(word) + 2 for word in re.findall(r"\w+", sentence.lower()) if word in WORDS]
        marks = re.match(r"([-*]|\d+\.|\|)", after)
        if sentence.endswith(":") and len(sentence) <= ANNOUNCEMENT_MAX and len(numbers) == 1 and marks and before[0] not in "-*|":
            yield sentence, numbers[0], len(re.findall(r"^(?:[-*]|\d+\.) ", after, re.M)) or len(after.splitlines()) - 2


def test_lists_have_as_many_items_as_announced():
    assert list(lists("Text. Three things:\n\n- a\n  b\n- c\n\nTwo more things:\n\n| x |\n|---|\n| 1 |\n| 2 |")) == [
        ("Three things:", 3, 2), ("Two more things:", 2, 2)]
    found = [(path, *one) for path, text in texts(*PAGES) for one in lists(text)]
    assert len(found) >= 3, found
    wrong = [one for one in found if one[2] != one[3]]
    assert not wrong, wrong


def test_no_counts_of_what_grows():
    count = re.compile(rf"(?<!\\)\b({'|'.join(WORDS[1:])}|\d{{1,3}})\s+(?:[a-z]+\s+)?({GROWING})\b", re.I)
    assert count.search("The last three rules") and count.search("becomes 14 CSV sheets") and not count.search("two sheets")
    found = [(path, match.group(0)) for path, text in (*texts(*PAGES), *help_texts()) for match in count.finditer(text)]
    assert not found, found


def test_each_rule_has_a_row_and_a_page():
    (_, index), = texts("docs/rules/README.md")
    pages = {path[len("docs/rules/"):] for path, _ in texts("docs/rules/*.md")} - {"README.md"}
    rows = re.findall(r"^\| `.*\]\((\w+\.md)\) \|$", index, re.M)
    assert sorted(rows) == sorted(pages), (set(rows) ^ pages, rows)


def test_each_script_has_a_row():
    (_, text), = texts("CONTRIBUTING.md")
    for folder in ("scripts", "cmake"):
        rows = re.search(rf"^\| `{folder}/` \|.*\n\|.*\n((?:\|.*\n)+)", text, re.M).group(1)
        named = {name for row in rows.splitlines() for name in re.findall(r"`([\w.-]+)`", row.split("|")[1])}
        files = {name.removesuffix(".cmake") for name in os.listdir(os.path.join(ROOT, folder))} - {"commit.txt"}
        assert named == files, (folder, named ^ files)


if __name__ == "__main__":
    sys.exit(run_functions(globals()))
