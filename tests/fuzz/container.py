"""Index and partial files: their records, and the input of fuzz targets that load them (image_sections.h)."""
import struct

HEAD_BYTES, HEAD_PATH = 8192, 80
SECTION = struct.Struct("=40sQQQ")
RECORD = struct.Struct("=8sQQII")


def trace_of(data):
    """The path of the trace that a file is of."""
    return data[HEAD_PATH:HEAD_BYTES].split(b"\0")[0].decode()


def records(data):
    """(key, [(name, bytes)]) of each record of a file."""
    at = HEAD_BYTES
    while at < len(data):
        magic, size, _, count, key_bytes = RECORD.unpack_from(data, at)
        assert magic == b"GTRECORD", magic
        key = data[at + RECORD.size:at + RECORD.size + key_bytes].split(b"\0")[0].decode()
        first = at + RECORD.size + key_bytes
        sections = []
        for i in range(count):
            name, start, length, _ = SECTION.unpack_from(data, first + i * SECTION.size)
            sections.append((name.split(b"\0")[0], data[at + start:at + start + length]))
        yield key, sections
        at += size


def input_of(sections):
    return b"".join(bytes([len(name)]) + name + struct.pack("<I", len(data)) + data for name, data in sections)
