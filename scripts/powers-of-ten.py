#!/usr/bin/env python3
"""Writes src/base/powers_of_ten.inc: 10^e for e = -292 .. 324, each as its 128 leading bits, rounded up.

Row e is floor(10^e * 2^(127 - floor(log2(10^e)))) + 1, or the exact value where 128 bits hold it. The range is what
printing any double needs. Computed with whole numbers, so every bit is right.

    scripts/powers-of-ten.py > src/base/powers_of_ten.inc
"""

FIRST, LAST = -292, 324


def leading_bits(exponent):
    """128 bits of 10^exponent and whether they are all of it."""
    if exponent >= 0:
        power = 10**exponent
        shift = power.bit_length() - 128
        if shift <= 0:
            return power << -shift, True
        return power >> shift, power % (1 << shift) == 0
    divisor = 10**-exponent
    # 1/divisor has its highest bit at 2^-bit_length; dividing this power of two leaves 128 bits.
    return (1 << (127 + divisor.bit_length())) // divisor, False


def main():
    print("/* 10^e, e = %d .. %d: {high, low} 64 of 128 leading bits, rounded up. Made by scripts/powers-of-ten.py. */"
          % (FIRST, LAST))
    rows = []
    for exponent in range(FIRST, LAST + 1):
        bits, exact = leading_bits(exponent)
        if not exact:
            bits += 1
        assert 1 << 127 <= bits < 1 << 128
        rows.append("{0x%016x, 0x%016x}," % (bits >> 64, bits & (1 << 64) - 1))
    for first in range(0, len(rows), 2):
        print(" ".join(rows[first:first + 2]))


if __name__ == "__main__":
    main()
