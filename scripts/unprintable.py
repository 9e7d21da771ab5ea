#!/usr/bin/env python3
"""Writes src/compat/unprintable.inc: the code points that Python's repr escapes, as {first, last} ranges.

Run with CPython 3.11, whose Unicode 14 is what people's existing sheets were written with:

    scripts/unprintable.py > src/compat/unprintable.inc
"""
import unicodedata


def main():
    ranges = []
    for code_point in range(0x110000):
        if chr(code_point).isprintable():
            continue
        if ranges and ranges[-1][1] == code_point - 1:
            ranges[-1][1] = code_point
        else:
            ranges.append([code_point, code_point])
    print("/* Code points that Python's repr escapes, Unicode %s. Made by scripts/unprintable.py. */"
          % unicodedata.unidata_version)
    cells = ["{0x%x, 0x%x}," % tuple(each) for each in ranges]
    for first in range(0, len(cells), 6):
        print(" ".join(cells[first:first + 6]))


if __name__ == "__main__":
    main()
