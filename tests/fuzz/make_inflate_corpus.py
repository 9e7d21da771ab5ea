#!/usr/bin/env python3
"""Writes the seeds of fuzz_inflate:

    python3 -m tests.fuzz.make_inflate_corpus [FOLDER]

The first byte of a seed chooses raw deflate data (even) or a file (odd), which a thread reads ahead if its bit 1 is set; the
second the sizes of pieces and blocks.
"""
import gzip, os, struct, sys, zlib

folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "inflate")
text = b"".join(b'{"ph": "X", "name": "kernel_%d", "ts": %d.%03d},\n' % (i % 7, i * 1013, i % 1000) for i in range(60))


def raw(data, level=6, strategy=zlib.Z_DEFAULT_STRATEGY, flush=None):
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, 8, strategy)
    out = packer.compress(data[:500])
    if flush:
        out += packer.flush(flush)
    return out + packer.compress(data[500:]) + packer.flush()


member = gzip.compress(text, mtime=0)
# One zstd frame by hand: magic, a header without a size, one raw block of 5 bytes that is the last.
frame = b"\x28\xb5\x2f\xfd" + b"\x00\x58" + struct.pack("<I", 1 | 0 << 1 | 5 << 3)[:3] + b"hello"
seeds = {
    "raw_dynamic": b"\x00\xff" + raw(text),
    "raw_fixed": b"\x02\x10" + raw(text[:700], strategy=zlib.Z_FIXED),
    "raw_stored": b"\x04\x40" + raw(text[:700], level=0),
    "raw_flushed": b"\x06\x05" + raw(text, flush=zlib.Z_FULL_FLUSH),
    "raw_runs": b"\x00\x80" + raw(b"a" * 3000 + b"ab" * 500 + b"abcdefghijklm" * 90),
    "raw_cut": b"\x00\x70" + raw(text)[:60],
    "raw_bad_block": b"\x00\x70\x07rest",
    "raw_reaches_back": b"\x00\x70" + bytes([0x63, 0x00, 0x42, 0x02, 0x00, 0x00]),
    "raw_bad_code": b"\x00\x70" + bytes([0x63, 0xE0, 0xFF, 0xFF, 0xFF, 0x01]),
    "gzip_member": b"\x01\x20" + member,
    "gzip_members_padded": b"\x11\x07" + gzip.compress(b"one\n", mtime=0) + bytes(20) + gzip.compress(b"two\n", mtime=0) + bytes(9),
    "gzip_then_garbage": b"\x05\x00" + gzip.compress(b"[]", mtime=0) + b"garbage",
    "gzip_cut": b"\x03\x40" + member[: len(member) * 2 // 3],
    "gzip_threads": b"\x0b\x00" + member,
    "gzip_threads_bad": b"\x03\x00" + member[:90] + b"\xff\xff\xff" + member[93:],
    "zstd_frames": b"\x01\x03" + frame + b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc" + frame,
}
os.makedirs(folder, exist_ok=True)
for name, seed in seeds.items():
    with open(os.path.join(folder, name), "wb") as out:
        out.write(seed)
