#!/usr/bin/env python3
"""Writes doubles.txt: doubles that are hard to print, as bits and as Python's repr prints them.

    python3 -m tests.base.generate_doubles > tests/base/doubles.txt
"""
import struct


def bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def double(pattern):
    return struct.unpack("<d", struct.pack("<Q", pattern))[0]


def around(value):
    """The double and its two neighbours."""
    return [double(bits(value) + step) for step in (-1, 0, 1)]


def main():
    values = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 5e-324, 1e-323, 1.5e-323]
    values += [double(pattern) for pattern in (0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x0010000000000001)]
    values += [1.7976931348623157e308, -1.7976931348623157e308]
    for exponent in range(-1070, 1024, 47):  # the gap below a power of two is half the gap above
        values += around(2.0**exponent)
    for exponent in (-44, -24, -3, -1, 0, 1, 10, 52, 53, 54, 55, 56, 63, 64, 89, 122):
        values += around(2.0**exponent)
    for exponent in [-308, -200, -100, -23, -22] + list(range(-7, 24)) + [100, 200, 308]:
        values += around(float("1e%d" % exponent))
    # Numbers with a history of wrong last digits, ties and long runs of nines and zeros.
    values += [9007199254740993.0, 4.35, 0.3, 0.1 + 0.2, 2.675, 1 / 3, 2 / 3, 1e23, 8.41e21, 2.0**-1022 * 3, 9.5367431640625e-07,
               5.684341886080801e-14, 2.2250738585072011e-308, 6.9294956446009195e15, 1.8531501765868567e21,
               7.1202363472230444e-307, 3.6954879760742188e-6, 5.631998449e-315, 123456789012345680.0, 4.4501477170144023e-308]
    # Numbers as in traces: microseconds with thousandths, means, percentages, both sides of the three-decimals path.
    values += [5727483123456.789, 1234567.891, 0.001, 0.0005, 999999999999.999, 1e12 - 0.0005, 1e12, 1e12 + 0.001,
               68.993, 13.787398317937406, 100.0, 99.99999999999999, 43915.0, -17.25, -0.001, 2**53 - 1.0, 2.0**53, 9e15, 1e16 - 2]
    for value in values:
        print("%016x %r" % (bits(value), value))


if __name__ == "__main__":
    main()
