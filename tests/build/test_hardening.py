#!/usr/bin/env python3
"""Looks for the protections of cmake/Hardening.cmake in the program and the libraries, by reading the ELF files.

    python3 -m tests.build.test_hardening --bin build/gputally

A build with sanitizers or without the setting GPUTALLY_HARDENING is skipped.
"""
import os
import re
import struct
import sys

from tests.common import harness

ET_DYN, EM_X86_64, EM_AARCH64 = 3, 62, 183
PT_DYNAMIC, PT_INTERP, PT_GNU_STACK, PT_GNU_RELRO = 2, 3, 0x6474E551, 0x6474E552
DT_STRTAB, DT_STRSZ, DT_SYMTAB, DT_FLAGS, DT_FLAGS_1 = 5, 10, 6, 30, 0x6FFFFFFB
SHT_SYMTAB, SHT_DYNSYM = 2, 11
DF_BIND_NOW, DF_1_NOW, DF_1_PIE = 0x8, 0x1, 0x08000000
# The property of .note.gnu.property by machine. Its bits are IBT and shadow stack (x86-64), BTI and PAC (arm64).
FEATURES = {EM_X86_64: 0xC0000002, EM_AARCH64: 0xC0000000}
MARKED_TARGETS, ALL_FEATURES = 1, 3
# Functions of libc that have a checked variant which optimised builds use here.
FORTIFIED = ("__snprintf_chk", "__vsnprintf_chk", "__fprintf_chk", "__printf_chk", "__memcpy_chk", "__fread_chk")


class Elf:
    """A 64-bit little-endian ELF file."""

    def __init__(self, data):
        assert data[:6] == b"\x7fELF\x02\x01", "not a 64-bit little-endian ELF file"
        self.data = data
        (self.type, self.machine, _, _, phoff, shoff, _, _, phsize, phnum, shsize, shnum, shstrndx) = struct.unpack_from(
            "<HHIQQQIHHHHHH", data, 16)
        self.segments = [struct.unpack_from("<IIQQQQQQ", data, phoff + i * phsize) for i in range(phnum)]
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shsize) for i in range(shnum)]
        names = self.sections[shstrndx][4]
        self.section_names = [self.text(names + section[0]) for section in self.sections]

    def text(self, offset):
        return self.data[offset:self.data.index(b"\0", offset)].decode()

    def segment(self, kind):
        return next((segment for segment in self.segments if segment[0] == kind), None)

    def dynamic(self):
        segment = self.segment(PT_DYNAMIC)
        assert segment, "not linked dynamically"
        return dict(struct.iter_unpack("<QQ", self.data[segment[2]:segment[2] + segment[5] // 16 * 16]))

    def symbols(self):
        """The names of all symbols, dynamic and others."""
        for section in self.sections:
            if section[1] not in (SHT_SYMTAB, SHT_DYNSYM):
                continue
            strings = self.sections[section[6]][4]
            for offset in range(section[4], section[4] + section[5], 24):
                name = self.text(strings + struct.unpack_from("<I", self.data, offset)[0])
                yield name.split("@")[0]

    def features(self):
        """The bits of this machine's control-flow features that the file is marked with."""
        wanted, found = FEATURES[self.machine], 0
        for name, section in zip(self.section_names, self.sections):
            if name != ".note.gnu.property":
                continue
            at, end = section[4], section[4] + section[5]
            while at + 16 <= end:
                name_size, size, _ = struct.unpack_from("<III", self.data, at)
                at += 12 + (name_size + 3) // 4 * 4
                stop = at + size
                while at + 8 <= stop:
                    kind, length = struct.unpack_from("<II", self.data, at)
                    if kind == wanted:
                        found |= struct.unpack_from("<I", self.data, at + 8)[0]
                    at += 8 + (length + 7) // 8 * 8
                at = stop
        return found


def members(path):
    """The ELF files in a static library, by name."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"!<arch>\n"
    at, long_names = 8, b""
    while at + 60 <= len(data):
        name, size = data[at:at + 16].decode().rstrip(), int(data[at + 48:at + 58])
        body = data[at + 60:at + 60 + size]
        if name == "//":
            long_names = body
        elif name not in ("/", "/SYM64/"):
            if name.startswith("/"):
                name = long_names[int(name[1:]):].split(b"/\n")[0].decode()
            yield name.rstrip("/"), Elf(body)
        at += 60 + size + size % 2


def read(path):
    with open(path, "rb") as file:
        return Elf(file.read())


def setting(binary, name):
    with open(os.path.join(os.path.dirname(binary), "CMakeCache.txt"), encoding="utf-8") as file:
        found = re.search(rf"^{name}:\w+=(.*)$", file.read(), re.M)
    return found.group(1) if found else ""


def compiler_knows(binary, flag):
    return setting(binary, "HAS" + re.sub(r"\W", "_", flag)) == "1"


def require(binary):
    if setting(binary, "GPUTALLY_HARDENING") != "ON" or "ON" in (setting(binary, "GPUTALLY_SANITIZE"), setting(binary, "GPUTALLY_FUZZ")):
        raise harness.Skipped("a build without these protections")


def outputs(binary):
    library = os.path.join(os.path.dirname(binary), "libgputally.so")
    return [binary] + ([library] if os.path.exists(library) else [])


def test_setting_is_recorded(binary):
    """The other tests rely on it."""
    assert setting(binary, "GPUTALLY_HARDENING") in ("ON", "OFF")


def test_program_is_position_independent(binary):
    require(binary)
    elf = read(binary)
    assert elf.type == ET_DYN and elf.segment(PT_INTERP), "the program has fixed addresses"
    assert elf.dynamic().get(DT_FLAGS_1, 0) & DF_1_PIE, "not marked as position-independent"


def test_relocations_are_read_only(binary):
    require(binary)
    for path in outputs(binary):
        elf = read(path)
        dynamic = elf.dynamic()
        assert elf.segment(PT_GNU_RELRO), f"{path}: no RELRO segment"
        assert dynamic.get(DT_FLAGS, 0) & DF_BIND_NOW or dynamic.get(DT_FLAGS_1, 0) & DF_1_NOW, f"{path}: binds lazily"


def test_stack_is_not_executable(binary):
    require(binary)
    for path in outputs(binary):
        segment = read(path).segment(PT_GNU_STACK)
        assert segment and not segment[1] & 1, f"{path}: its stack is executable"


def test_stack_protector(binary):
    require(binary)
    for path in outputs(binary):
        assert "__stack_chk_fail" in set(read(path).symbols()), f"{path}: no stack protector"


def test_checked_calls_of_libc(binary):
    require(binary)
    if setting(binary, "CMAKE_BUILD_TYPE") == "Debug":
        raise harness.Skipped("_FORTIFY_SOURCE needs optimisation")
    for path in outputs(binary):
        found = {name for name in read(path).symbols()}
        missing = [name for name in FORTIFIED[:3] if name not in found]
        assert not missing, f"{path}: does not use {missing}"


def test_control_flow_protection(binary):
    """In the files that are linked: the program itself is marked only where libc's own start files are."""
    require(binary)
    library = os.path.join(os.path.dirname(binary), "libgputally.a")
    flag = {EM_X86_64: "-fcf-protection=full", EM_AARCH64: "-mbranch-protection=standard"}.get(read(binary).machine)
    if not flag or not compiler_knows(binary, flag):
        raise harness.Skipped("the compiler has no such option")
    if not os.path.exists(library):
        raise harness.Skipped("the static library was not built")
    found = [(name, elf.features()) for name, elf in members(library)]
    assert len(found) > 100, f"only {len(found)} files in the library"
    for name, features in found:
        assert features & MARKED_TARGETS, f"{name}: not compiled with {flag}"
    # The files of the reader are compiled without signed return addresses on arm64; see Hardening.cmake.
    complete = sum(features & ALL_FEATURES == ALL_FEATURES for _, features in found)
    assert complete > 0.7 * len(found), f"only {complete} of {len(found)} files are compiled with {flag}"


def test_compiler_options(binary):
    """What leaves no mark in the files: the options with which they were compiled."""
    require(binary)
    path = os.path.join(os.path.dirname(binary), "CMakeFiles", "gputally_objects.dir", "flags.make")
    if not os.path.exists(path):
        raise harness.Skipped("not built with make")
    with open(path, encoding="utf-8") as file:
        flags = file.read().split()
    for flag in ("-fstack-clash-protection", "-fstack-protector-strong"):
        assert flag in flags or not compiler_knows(binary, flag), f"not compiled with {flag}"


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
