"""Reads Perfetto traces field by field and assembles slices as trace_processor does; independent of gputally's reader.

    slices, tracks = reader.read(bytes)

Packet flags are respected: a packet that needs interned names which were never defined is an error, and so is an end without
a beginning.
"""
import struct
from typing import NamedTuple


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """[(number, value)]: integers, or bytes of length-delimited and fixed64 fields."""
    at, found = 0, []
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        elif wire == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise ValueError("a field is truncated")
        else:
            raise ValueError(f"wire type {wire}")
        found.append((number, value))
    return found


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Json(str):
    """The text of an annotation that contains JSON."""


class Slice(NamedTuple):
    track: int  # uuid
    category: str
    name: str
    start: int
    end: int
    notes: dict
    flows: tuple
    depth: int
    kind: str  # "slice", "mark" or "value"


def note_value(number, value, words):
    if number == 2:
        return bool(value)
    if number == 3:
        return value
    if number == 4:
        return signed(value)
    if number == 5:
        return struct.unpack("<d", value)[0]
    if number == 6:
        return value.decode()
    if number == 9:
        return Json(value.decode())
    if number == 17:
        return words[value]
    raise ValueError(f"annotation field {number}")


def read(data):
    categories, names, keys, words = {}, {}, {}, {}
    tables = {1: categories, 2: names, 3: keys, 29: words}
    tracks, events, cleared = {}, [], False
    for number, packet in fields(data):
        assert number == 1, "a trace may contain only packets"
        parts = fields(packet)
        first = dict(reversed(parts))
        flags = first.get(13, 0)
        if flags & 1:
            cleared = True
            for table in tables.values():
                table.clear()
        if flags & 2 and not cleared:
            raise ValueError("a packet needs state that was never given")
        for table, entry in fields(first.get(12, b"")):
            entry = dict(fields(entry))
            tables[table][entry[1]] = entry[2].decode()
        if 60 in first:
            track = dict(fields(first[60]))
            assert track[1] not in tracks, "a track is described twice"
            tracks[track[1]] = track
        if 11 in first:
            assert first[10] == 1 and flags == 2
            events.append((first[8], fields(first[11])))
    # trace_processor sorts by time; packets of one time keep their order
    events.sort(key=lambda event: event[0])
    stacks, slices = {}, []
    for time, parts in events:
        first = dict(reversed(parts))
        track, kind = first[11], first[9]
        assert track in tracks, "an event is on a track that was never described"
        stack = stacks.setdefault(track, [])
        if kind == 2:
            at = stack.pop()
            slices[at] = slices[at]._replace(end=time)
            continue
        notes = {}
        for number, value in parts:
            if number == 4:
                note = fields(value)
                name = keys[dict(note)[1]]
                assert name not in notes, "an annotation comes twice"
                (of, raw), = [part for part in note if part[0] not in (1, 10)]
                notes[name] = note_value(of, raw, words)
        flows = tuple(struct.unpack("<Q", value)[0] for number, value in parts if number == 47)
        if kind == 4:
            notes["value"] = struct.unpack("<d", first[44])[0]
        slices.append(Slice(track, categories[first[3]] if 3 in first else "", names[first[10]] if 10 in first else "", time,
                            time, notes, flows, len(stack), {1: "slice", 3: "mark", 4: "value"}[kind]))
        if kind == 1:
            stack.append(len(slices) - 1)
    assert not any(stacks.values()), "a slice never ends"
    return slices, tracks
