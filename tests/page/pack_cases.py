"""Prints packs as JSON for pack.test.mjs: one whose values the test knows, and a large random one with its values."""
import base64
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from tests.page.pack import Column, Table, decode, encode  # noqa: E402

KNOWN = [
    (0, Table("numbers", [
        Column("int", "int", [0, -1, 1, None, 63, 64, -64, -65, 2**52 - 1, -2**52, 2**31, 2**32]),
        Column("far", "int", [-2**52, 2**52 - 1] * 6),
        Column("huge", "int", [2**53, -2**62, None, 5] * 3),
        Column("growing", "int", [10**15 + 1000 * row if row != 3 else None for row in range(12)]),
        Column("large", "int", [2**53 + 1, -2**63, 7, None, 0, 0, 0, 0, 0, 0, 0, 2**63 - 1]),
        Column("float", "float", [0.1, -2.5, None, 5e-324, 1.7976931348623157e308, float("inf"), float("-inf"), 0.0, 1e16, 3.0, 1 / 3, -1e-7]),
        Column("bool", "bool", [True, False, None] * 4)])),
    (1, Table("texts", [
        Column("text", "string", ["", "a", None, "a", "µs 漢字 \U0001f680", "</script>", b"\xff\xfe!", "x" * 40000]),
        Column("ints", "list", [[], None, [1], [2, None, -3], [10**12], [], None, [0]]),
        Column("strings", "list", [["b"], [], None, ["", None], ["a", "a"], [], [], []], "string")])),
    (1, Table("empty", [Column("int", "int", []), Column("list", "list", [])])),
    (1, Table("no columns", [])),
]


def random_pack():
    source = random.Random(5)
    rows = 5000
    columns = [Column("delta", "int", sorted(source.randrange(10**13) for _ in range(rows))),
               Column("plain", "int", [source.choice((None, source.randrange(-10**9, 10**9))) for _ in range(rows)]),
               Column("float", "float", [source.choice((None, source.uniform(-1e9, 1e9))) for _ in range(rows)]),
               Column("text", "string", [source.choice((None, f"name {source.randrange(900)}")) for _ in range(rows)])]
    return [(0, Table("random", columns))]


def main():
    known, large = encode(KNOWN), random_pack()
    assert encode(decode(encode(large))) == encode(large) and decode(encode(large)) == large
    print(json.dumps({"known": base64.b64encode(known).decode(), "random": base64.b64encode(encode(large)).decode(),
                      "values": {column.name: column.cells for column in large[0][1].columns}}))


if __name__ == "__main__":
    main()
