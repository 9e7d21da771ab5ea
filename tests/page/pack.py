"""The pack format of src/page/pack.h, written and read in plain Python: a reference model for the C and JavaScript code.

    table = Table("page_lanes", [Column("label", "string", ["stream 7"]), Column("device", "int", [0])])
    data = encode([(0, table)])                # inflated; base64_of(data) is what a page contains
    decode(data) == [(0, table)]
    page = read_page("report.html")            # of any page: page.front, page.tables[source][name]
"""
import base64
import html
import json
import pickle
import re
import struct
import zlib
from typing import NamedTuple

CODE_MAX = 1 << 53  # the largest code of u and d: a browser computes with doubles


class Column(NamedTuple):
    name: str
    type: str  # int, float, string, bool, list
    cells: list  # None: null. Strings may be bytes that are not UTF-8
    items: str = "int"  # of lists: the type of their elements


class Table(NamedTuple):
    name: str
    columns: list

    def rows(self):
        return len(self.columns[0].cells) if self.columns else 0

    def column(self, name):
        return next(column.cells for column in self.columns if column.name == name)

    def names(self):
        return [column.name for column in self.columns]

    def records(self):
        """The rows as dicts."""
        names = self.names()
        return [dict(zip(names, row)) for row in zip(*(column.cells for column in self.columns))]


# ---- writing ----

def write_planes(codes):
    """Numbers in planes, and their width."""
    width = (max(codes, default=0).bit_length() + 7) // 8
    whole = b"".join(code.to_bytes(width, "little") for code in codes)
    return b"".join(whole[plane::width] for plane in range(width)), width


def zigzag(value):
    return value * 2 if value >= 0 else -value * 2 - 1


def largest_code(cells):
    return max((zigzag(cell) + 1 for cell in cells if cell is not None), default=0)


def differences(cells):
    values = [cell for cell in cells if cell is not None]
    return [b - a for a, b in zip([0, *values], values)]


def integer_codes(cells, is_delta):
    codes, last = [], 0
    for cell in cells:
        codes.append(0 if cell is None else zigzag(cell - last) + 1)
        if is_delta and cell is not None:
            last = cell
    return codes


def write_floats(cells):
    whole = struct.pack(f"<{len(cells)}d", *(float("nan") if cell is None else cell for cell in cells))
    return b"".join(whole[plane::8] for plane in range(8))


class Writer:
    """The payload of a pack, and the strings of all its columns."""

    def __init__(self):
        self.payload = bytearray()
        self.strings = {}

    def add(self, data, width):
        at = len(self.payload)
        self.payload += data
        return {"width": width, "at": at, "size": len(data)}

    def add_codes(self, codes):
        return self.add(*write_planes(codes))

    def string_index(self, text):
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        return self.strings.setdefault(data, len(self.strings))

    def column(self, name, kind, cells, items="int"):
        if kind == "int" and largest_code(cells) > CODE_MAX:
            exact = all(cell is None or int(float(cell)) == cell for cell in cells)
            kind, cells = ("float", cells) if exact else ("string", [None if cell is None else str(cell) for cell in cells])
        entry = {"name": name}
        if kind == "int":
            plain, delta = integer_codes(cells, False), integer_codes(cells, True)
            is_delta = sum(delta) < sum(plain) and largest_code(differences(cells)) <= CODE_MAX
            return {**entry, "code": "d" if is_delta else "u", **self.add_codes(delta if is_delta else plain)}
        if kind == "float":
            return {**entry, "code": "f", **self.add(write_floats(cells), 8)}
        if kind == "string":
            return {**entry, "code": "t", **self.add_codes([0 if cell is None else self.string_index(cell) + 1 for cell in cells])}
        if kind == "bool":
            return {**entry, "code": "b", **self.add(bytes(2 if cell is None else int(cell) for cell in cells), 1)}
        place = self.add_codes([0 if cell is None else len(cell) + 1 for cell in cells])
        flat = [item for cell in cells if cell is not None for item in cell]
        return {**entry, "code": "l", **place, "items": self.column("items", items, flat)}


def encode(tables):
    """The inflated pack of (source, table) pairs."""
    writer = Writer()
    directory = {"strings": None, "tables": []}
    for source, table in tables:
        columns = [writer.column(*column) for column in table.columns]
        directory["tables"].append({"source": source, "name": table.name, "rows": table.rows(), "columns": columns})
    lengths, width = write_planes([len(data) for data in writer.strings])
    directory["strings"] = {"count": len(writer.strings), **writer.add(lengths + b"".join(writer.strings), width)}
    head = json.dumps(directory, separators=(",", ":")).encode()
    return struct.pack("<I", len(head)) + head + bytes(writer.payload)


def base64_of(data):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return base64.b64encode(packer.compress(data) + packer.flush()).decode()


# ---- reading ----

def read_planes(payload, entry, count):
    """Numbers in planes, and where they end."""
    at, width = entry["at"], entry["width"]
    codes = [0] * count
    for plane in range(width):
        start, shift = at + plane * count, 8 * plane
        codes = [code | byte << shift for code, byte in zip(codes, payload[start:start + count], strict=True)]
    return codes, at + width * count


def unzigzag(value):
    return value >> 1 if value % 2 == 0 else -(value + 1 >> 1)


def read_integers(codes, is_delta):
    cells, last = [], 0
    for code in codes:
        cells.append(None if code == 0 else unzigzag(code - 1) + last)
        if is_delta and code != 0:
            last = cells[-1]
    return cells


def read_column(payload, strings, entry, rows):
    """The cells of a column and, of lists, the type of their elements."""
    code = entry["code"]
    codes, end = read_planes(payload, entry, rows)
    if code in "ud":
        cells = read_integers(codes, code == "d")
    elif code == "f":
        floats = struct.unpack(f"<{rows}d", struct.pack(f"<{rows}Q", *codes))
        cells = [None if cell != cell else cell for cell in floats]
    elif code == "t":
        cells = [None if code == 0 else strings[code - 1] for code in codes]
    elif code == "b":
        cells = [[False, True, None][code] for code in codes]
    elif code == "l":
        items = iter(read_column(payload, strings, entry["items"], sum(max(0, length - 1) for length in codes)).cells)
        cells = [None if length == 0 else [next(items) for _ in range(length - 1)] for length in codes]
    else:
        raise ValueError(f"unknown code {code!r} of column {entry.get('name')}")
    if end != entry["at"] + entry["size"]:
        raise ValueError(f"column {entry.get('name')} takes {end - entry['at']} bytes, not {entry['size']}")
    kinds = {"u": "int", "d": "int", "f": "float", "t": "string", "b": "bool", "l": "list"}
    return Column(entry.get("name"), kinds[code], cells, kinds[entry["items"]["code"]] if code == "l" else "int")


def decode(data, wanted=lambda name: True):
    """The (source, table) pairs of an inflated pack, of the tables that are wanted. Strings that are not UTF-8 have surrogates."""
    length, = struct.unpack_from("<I", data)
    directory, payload = json.loads(data[4:4 + length]), data[4 + length:]
    place = directory["strings"]
    sizes, at = read_planes(payload, place, place["count"])
    strings = []
    for size in sizes:
        strings.append(payload[at:at + size].decode("utf-8", "surrogateescape"))
        at += size
    if at != place["at"] + place["size"]:
        raise ValueError(f"strings take {at - place['at']} bytes, not {place['size']}")
    return [(entry["source"],
             Table(entry["name"], [read_column(payload, strings, column, entry["rows"]) for column in entry["columns"]]))
            for entry in directory["tables"] if wanted(entry["name"])]


def remembered(make):
    """A function that does not compute a result twice. Every caller gets a copy of its own, which it may change."""
    results = {}

    def result(*arguments):
        key = pickle.dumps(arguments)
        if key not in results:
            results[key] = pickle.dumps(make(*arguments))
        return pickle.loads(results[key])
    return result


@remembered
def read_pack(text):
    """The (source, table) pairs of the text in a page."""
    return decode(zlib.decompress(base64.b64decode(text), -15))


@remembered
def pack_text(source, tables):
    return base64_of(encode([(source, table) for table in tables]))


class PageData(NamedTuple):
    title: str
    csp: str
    front: dict
    tables: list  # of each source: dict of tables by name


def read_page(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    front = json.loads(re.search(r'<script type="application/json" id="front">(.*?)</script>', text, re.S).group(1))
    tables = [{} for _ in front["sources"]]
    for match in re.finditer(r'<script type="application/octet-stream">(.*?)</script>', text, re.S):
        for source, table in read_pack(match.group(1)):
            tables[source][table.name] = table
    title = html.unescape(re.search(r"<title>(.*?)</title>", text, re.S).group(1))
    csp = html.unescape(re.search(r'Content-Security-Policy" content="(.*?)"', text, re.S).group(1))
    return PageData(title, csp, front, tables)
