#!/usr/bin/env python3
"""Generates a large JAX profile from a real one by repeating the events of every line, later each time.

    python3 -m tests.jax.generate_xplane FIXTURE.xplane.pb.gz OUT.xplane.pb --megabytes 160
    python3 -m tests.jax.generate_xplane FIXTURE.xplane.pb.gz OUT.xplane.pb --copies 10

Offsets move by the length of the profile with each copy and correlation ids by more than the profile's highest, so that every
launch has its own kernels. Durations vary by a tenth, in steps of 32 ns like a GPU's clock, unless --exact is given. Names, stats and compiled modules do not change.
"""
import argparse
import gzip
import os

LINE, EVENT, STAT = 3, 4, 4  # fields of XPlane, XLine, XEvent
STEP_PS = 32000


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def encode(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data):
    """(number, value, the field's own bytes)"""
    at = 0
    while at < len(data):
        begin = at
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(tag & 7)
            if size is None:
                size, at = varint(data, at)
            value = data[at:at + size]
            at += size
        yield tag >> 3, value, data[begin:at]


def first(data, number, otherwise):
    return next((value for n, value, _ in fields(data) if n == number), otherwise)


def counted(number, data):
    return encode(number << 3 | 2) + encode(len(data)) + data


class Event:
    """An event, split at its offset and its correlation id."""

    def __init__(self, data, correlation_stat):
        self.offset, self.duration, self.correlation = 0, 0, None
        before, after = [], []
        for number, value, raw in fields(data):
            if number == 2:
                self.offset = value
            elif number == STAT and first(value, 1, 0) == correlation_stat:
                self.stat = [(n, v, r) for n, v, r in fields(value)]
                self.correlation = next(v for n, v, _ in self.stat if n in (3, 4))
            else:
                if number == 3:
                    self.duration = value
                    continue
                (before if number < STAT else after).append(raw)
        self.before, self.after = b"".join(before), b"".join(after)

    def copy(self, time_shift, id_shift, shorter=0):
        steps = self.duration // 10 // STEP_PS + 1
        duration = self.duration - shorter % steps * STEP_PS
        parts = [self.before, b"\x10", encode(self.offset + time_shift), b"\x18", encode(duration), self.after]
        if self.correlation is not None:
            stat = b"".join(encode(n << 3) + encode(v + id_shift) if n in (3, 4) else raw for n, v, raw in self.stat)
            parts.append(counted(STAT, stat))
        return counted(EVENT, b"".join(parts))


class Plane:
    def __init__(self, data):
        self.fields = list(fields(data))
        names = {first(raw, 1, 0): first(first(raw, 2, b""), 2, b"") for n, raw, _ in self.fields if n == 5}
        correlation = next((id for id, name in names.items() if name == b"correlation_id"), None)
        self.lines = []
        for number, value, _ in self.fields:
            if number == LINE:
                events = [Event(v, correlation) for n, v, _ in fields(value) if n == EVENT]
                rest = b"".join(raw for n, _, raw in fields(value) if n != EVENT)
                self.lines.append((rest, events))

    def events(self):
        return [event for _, events in self.lines for event in events]

    def write(self, copies, span, ids, exact):
        lines = iter(self.lines)
        out = []
        for number, _, raw in self.fields:
            if number == LINE:
                rest, events = next(lines)
                body = [event.copy(c * span, c * ids, 0 if exact else c * 7919 + i)
                        for c in range(copies) for i, event in enumerate(events)]
                raw = counted(LINE, rest + b"".join(body))
            out.append(raw)
        return b"".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("out")
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--megabytes", type=float, help="as many copies as give about this size")
    parser.add_argument("--exact", action="store_true", help="keep durations unchanged")
    options = parser.parse_args()
    with (gzip.open if options.source.endswith(".gz") else open)(options.source, "rb") as file:
        space = list(fields(file.read()))
    planes = [Plane(value) if number == 1 else None for number, value, _ in space]
    events = [event for plane in planes if plane for event in plane.events()]
    span = max(event.offset + event.duration for event in events) + 1000000
    ids = max(event.correlation or 0 for event in events) + 1
    copies = options.copies
    if options.megabytes:
        # The offsets of later copies take more bytes than those of the first.
        sizes = [sum(len(event.copy(c * span, c * ids)) for event in events) for c in (1, 1000)]
        copies = max(1, round(options.megabytes * 1e6 / max(sizes)))
    with open(options.out + ".part", "wb") as out:
        for (_, _, raw), plane in zip(space, planes):
            out.write(counted(1, plane.write(copies, span, ids, options.exact)) if plane else raw)
    os.replace(options.out + ".part", options.out)


if __name__ == "__main__":
    main()
