"""Small changes to C files, all compiled at once and chosen when the program runs (mutant.h).

Every change only inserts text, so that the program is the same while none is chosen:

    a < b       a < GT_MUTANT_ADD(1, 1) + b        as a <= b for integers; likewise <=, >, >=; == and != with another value
    a - b       a - GT_MUTANT_SIGN(2) * b
    37, LIMIT   (GT_MUTANT_TIMES(3) * 37)          numbers from 2 on, and constants that the file defines as such numbers
    A | O_EXCL  A | GT_MUTANT_DROP(4, O_EXCL)      flags

Only what is inside of functions can be chosen at run time: tables of constants stay as they are. Changes that do not compile are dropped.
"""
import re
import subprocess

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[A-Za-z_]\w*|'
                   r'\d[\w.]*(?:[eEpP][+-]\d+)?\w*|->|\+\+|--|<<=?|>>=?|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\sA-Za-z_0-9]', re.S | re.M)
AMOUNT = {"<": 1, "<=": -1, ">": -1, ">=": 1, "==": 1, "!=": 1}
NUMBER = re.compile(r"(\d+|\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE]-?\d+|0x[0-9A-Fa-f]+)[uUlL]*$")


def tokens_of(text):
    return [(match.start(), match.group()) for match in TOKEN.finditer(text)
            if not match.group().startswith(("/*", "//")) and not match.group().lstrip().startswith("#")]


def value_of(token):
    if not NUMBER.match(token):
        return None
    digits = token.rstrip("uUlL")
    return int(digits, 16) if digits.lower().startswith("0x") else float(digits)


def in_functions(tokens):
    """Whether each token is an expression of a function body, not of a static table, enum or case label."""
    depth, body, skipped, found, before = 0, 0, 0, [], ""
    for _, token in tokens:
        if token == "{":
            depth += 1
            if not body and before == ")":
                body = depth
        if body and token in ("static", "enum", "case", "_Static_assert", "goto"):
            skipped = depth
        found.append(bool(body) and not skipped)
        if token == "}":
            if depth == body:
                body = 0
            depth -= 1
        if skipped and depth <= skipped and (token == ";" or token == ":" and before != "?"):
            skipped = 0
        before = token
    return found


def places(text):
    """(position, end, line, kind, what) of each change: kind is how the text between position and end is rewritten."""
    tokens = tokens_of(text)
    limits = set(re.findall(r"^#define\s+([A-Z][A-Z0-9_]+)\s+\(?\d", text, re.M))
    for block in re.findall(r"\benum\s*\w*\s*\{(.*?)\}", text, re.S):
        limits |= {name for name, value in re.findall(r"([A-Z][A-Z0-9_]+)\s*=\s*([^,}]+)", block) if re.search(r"[2-9]|\d\d", value)}
    for number, ((at, token), inside) in enumerate(zip(tokens, in_functions(tokens))):
        before = tokens[number - 1][1] if number else ""
        after = tokens[number + 1][1] if number + 1 < len(tokens) else ""
        line = text.count("\n", 0, at) + 1
        end = at + len(token)
        operand = re.match(r"[\w)\]]", before[-1:]) and before not in ("return", "case", "sizeof")
        if not inside:
            continue
        if token in AMOUNT:
            yield end, end, line, f" GT_MUTANT_ADD(@, {AMOUNT[token]}) +", f"{before} {token} {after}"
        elif token in "+-" and operand or token in ("+=", "-="):
            yield end, end, line, " GT_MUTANT_SIGN(@) *", f"{before} {token} {after}"
        elif "|" in (before, after) and re.match(r"[A-Z][A-Z0-9_]{3,}$", token) and after != "(":
            yield at, end, line, f"GT_MUTANT_DROP(@, {token})", f"flag {token}"
        elif before != "[" and (token in limits or (value_of(token) or 0) >= 2) and after != "(":
            yield at, end, line, f"(GT_MUTANT_TIMES(@) * {token})", f"constant {token}"


def rewrite(text, changes):
    """The text with these changes; `changes` are (id, place)."""
    for number, (at, end, _, pattern, _) in sorted(changes, key=lambda change: change[1][:2], reverse=True):
        text = text[:at] + pattern.replace("@", str(number)) + text[end:]
    return '#include "mutant.h"\n#line 1\n' + text


def compile_errors(compiler, path):
    """The lines of the file in which it does not compile."""
    done = subprocess.run([*compiler, "-fsyntax-only", "-fmax-errors=0", "-w", path], capture_output=True, text=True)
    return {int(line) for line in re.findall(rf"{re.escape(path)}:(\d+):\d+: error", done.stderr)}, done.returncode


def mutate(path, first, compiler):
    """Rewrites a file; returns its changes as {id: (path, line, what)}."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    changes = [(first + number, place) for number, place in enumerate(places(text))]
    while True:
        with open(path, "w", encoding="utf-8") as file:
            file.write(rewrite(text, changes))
        lines, code = compile_errors(compiler, path)
        left = [change for change in changes if change[1][2] not in lines]
        if code == 0:
            return {number: (path, place[2], place[4]) for number, place in changes}
        if len(left) == len(changes):  # the error is elsewhere: leave the file alone
            left = []
            if not changes:
                raise RuntimeError(path)
        changes = left
