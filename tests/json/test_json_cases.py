#!/usr/bin/env python3
"""Compares the verdicts of json_cases.txt with Python's json module. test_json.c runs the same cases through our reader.

    python3 -m tests.json.test_json_cases [--print]     --print shows each case's bytes
"""
import json
import os
import re
import sys

ESCAPES = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\"}
TOKEN = re.compile(r"\\\{(\d+)\*(.*?)\\\}|\\x([0-9a-fA-F]{2})|\\([nrt\\])|([^\\])")


def decode(notation):
    """The bytes that the notation of a case describes."""
    out, at = b"", 0
    while at < len(notation):
        token = TOKEN.match(notation, at)
        if not token:
            raise ValueError(f"bad escape at {notation[at:at + 10]!r}")
        count, body, byte, letter, plain = token.groups()
        out += (int(count) * decode(body) if count else bytes([int(byte, 16)]) if byte else
                ESCAPES[letter] if letter else plain.encode())
        at = token.end()
    return out


def cases():
    """Yields (verdict, name, bytes)."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "json_cases.txt"), encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                verdict, name, *notation = line.split(" ", 2)
                yield verdict, name, decode(notation[0] if notation else "")


def refuse(constant):
    raise ValueError(constant)


def python_accepts(data):
    """Strict RFC 8259, for UTF-8 without a byte order mark."""
    try:
        json.loads(data.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError):
        return False
    return True


def main():
    sys.setrecursionlimit(5_000)
    seen, wrong = set(), 0
    for verdict, name, data in cases():
        if "--print" in sys.argv:
            print(verdict, name, data if len(data) < 200 else f"{data[:60]}… ({len(data)} bytes)")
        ours = name.startswith("ours_")
        expected = {"y": not ours, "n": ours and name.startswith("ours_refused")}.get(verdict)
        if name in seen or verdict not in "yni":
            print(f"FAIL {name}: duplicate name or unknown verdict")
            wrong += 1
        elif expected is not None and expected != python_accepts(data):
            print(f"FAIL {name}: marked {verdict}, but Python {'accepts' if python_accepts(data) else 'refuses'} it")
            wrong += 1
        seen.add(name)
    print(f"{len(seen) - wrong} passed, {wrong} failed")
    return 1 if wrong or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
