/* A recursive-descent parser of Python's syntax that writes PCRE2's.
 *
 * Why not hand the expression over as it is? Most expressions mean the same to both, but not all, and those
 * that do not give another match without a word: \Z, {,n} and \1 beyond the groups differ in syntax, \s and
 * \w in which characters they cover, and much that is an error in Python ("(*COMMIT)", "\K", "[[:alpha:]]")
 * has a meaning of its own in PCRE2. So nothing is copied: each construct is written in a form that has one
 * meaning in every version of PCRE2. For example
 *
 *     (?P<n>\d{,2})(?P=n)\Z     becomes     (\p{Nd}{0,2})\g{1}\z
 */
#include "compat/python_regex_syntax.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NESTING_MAX = 200,
    PATTERN_MAX = 100000, /* bytes */
    REPEAT_MAX = 65535,   /* PCRE2's own limit of a count */
    WIDTH_MAX = 1 << 30,  /* stands for "no limit" */
};

typedef gt_regex_translation translation;
typedef gt_regex_width width;
typedef gt_regex_group group;

typedef enum item { NOTHING, ANCHOR, SINGLE, REPEATED } item;

static bool parse_sequence(translation *t, bool first, unsigned *flags, int depth, width *out);
static bool parse_alternatives(translation *t, unsigned flags, int depth, width *out);

/* ---- errors and characters ---- */

static bool fail_at(const translation *t, const char *place, const char *what)
{
    size_t position = 0;
    for (const char *p = t->begin; p < place; p++) position += ((unsigned char)*p & 0xC0) != 0x80;
    return gt_fail(t->error, "%s at position %zu", what, position);
}

/* The next byte, 0 at the end: an expression comes from a command line and holds no NUL. */
static char peek(const translation *t)
{
    return t->at < t->end ? *t->at : 0;
}

static bool take(translation *t, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(t->end - t->at) < len || memcmp(t->at, word, len) != 0) return false;
    t->at += len;
    return true;
}

static void put(translation *t, const char *text)
{
    gt_buffer_add_cstr(&t->out, text);
}

/* Letters and digits as they are, everything else as an escape that means the same in and out of sets. */
static void put_literal(translation *t, uint32_t code_point)
{
    char c = (char)code_point;
    if (code_point < 0x80 && (gt_is_digit(c) || gt_is_letter(c)))
        gt_buffer_add(&t->out, &c, 1);
    else
        gt_buffer_add_format(&t->out, "\\x{%x}", code_point);
}

/* ---- classes ---- */

/* What \d, \D and so on stand for, as the members of a set: general categories cover all characters, so that
 * the complement of a class is a list of categories too. Python takes U+001C to U+001F for white space. */
#define SPACES_ASCII "\\x{9}-\\x{d}\\x{20}"
#define SPACES                                                                                               \
    "\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{"  \
    "205f}"                                                                                                  \
    "\\x{3000}"
#define NO_SPACES                                                                                            \
    "\\x{0}-\\x{8}\\x{e}-\\x{1b}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}"          \
    "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}"
#define NO_WORDS                                                                                             \
    "\\p{M}\\p{Pd}\\p{Ps}\\p{Pe}\\p{Pi}\\p{Pf}\\p{Po}\\p{S}\\p{Z}\\p{C}\\x{203f}\\x{2040}\\x{2054}\\x{fe33}" \
    "\\x{fe34}\\x{fe4d}-\\x{fe4f}\\x{ff3f}"

static const struct {
    char letter;
    const char *unicode, *ascii;
} classes[] = {
    {'d', "\\p{Nd}", "0-9"},
    {'D', "\\P{Nd}", "\\x{0}-\\x{2f}\\x{3a}-\\x{10ffff}"},
    {'s', SPACES, SPACES_ASCII},
    {'S', NO_SPACES, "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{10ffff}"},
    {'w', "\\p{L}\\p{N}_", "0-9A-Z_a-z"},
    {'W', NO_WORDS, "\\x{0}-\\x{2f}\\x{3a}-\\x{40}\\x{5b}-\\x{5e}\\x{60}\\x{7b}-\\x{10ffff}"},
};

/* The members of the class of that letter, NULL for a letter that names none. */
static const char *class_of(char letter, unsigned flags)
{
    for (size_t i = 0; i < GT_LENGTH(classes); i++)
        if (classes[i].letter == letter)
            return flags & GT_REGEX_ASCII ? classes[i].ascii : classes[i].unicode;
    return NULL;
}

/* \b or \B. In an empty text, \B does not match (Python before 3.14). */
static void put_boundary(translation *t, bool inverted, unsigned flags)
{
    const char *word = class_of('w', flags);
    gt_buffer_add_format(&t->out,
                         inverted ? "(?:(?<=[%s])(?=[%s])|(?!\\A\\z)(?<![%s])(?![%s]))"
                                  : "(?:(?<=[%s])(?![%s])|(?<![%s])(?=[%s]))",
                         word, word, word, word);
}

/* ---- escapes ---- */

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

/* Up to `most` digits of a base. The number of digits. */
static size_t take_digits(translation *t, unsigned base, size_t most, uint32_t *value)
{
    size_t count = 0;
    for (*value = 0; count < most && (unsigned)digit_of(peek(t)) < base; count++, t->at++)
        *value = *value * base + (uint32_t)digit_of(*t->at);
    return count;
}

/* Fails with the escape from `begin` to the cursor in the message: "incomplete escape \x1". */
static bool fail_escape(const translation *t, const char *begin, const char *what, const char *rest)
{
    char text[96];
    snprintf(text, sizeof text, "%s %.*s%s", what, (int)(t->at - begin), begin, rest);
    return fail_at(t, begin, text);
}

/* \xHH, \uHHHH, \UHHHHHHHH, after the letter. */
static bool take_hex(translation *t, const char *begin, size_t digits, uint32_t *code_point)
{
    if (take_digits(t, 16, digits, code_point) < digits)
        return fail_escape(t, begin, "incomplete escape", "");
    if (*code_point > 0x10FFFF) return fail_escape(t, begin, "bad escape", "");
    return true;
}

/* Escapes that stand for one character, the same in and out of sets. *known tells whether this is one. */
static bool take_character_escape(translation *t, const char *begin, char letter, uint32_t *code_point,
                                  bool *known)
{
    static const char letters[] = "afnrtv\\", meanings[] = "\a\f\n\r\t\v\\";
    const char *simple = letter ? strchr(letters, letter) : NULL;
    *known = true;
    if (simple) return *code_point = (uint32_t)meanings[simple - letters], true;
    if (letter == 'x') return take_hex(t, begin, 2, code_point);
    if (letter == 'u') return take_hex(t, begin, 4, code_point);
    if (letter == 'U') return take_hex(t, begin, 8, code_point);
    if (letter == 'N') return fail_escape(t, begin, "unsupported escape", "");
    *known = false;
    return true;
}

/* The escape of a character that needs none: itself, unless it is a letter. The cursor is on it. */
static bool take_plain_escape(translation *t, const char *begin, uint32_t *code_point)
{
    bool is_letter = gt_is_letter(peek(t));
    *code_point = gt_utf8_next(&t->at, t->end);
    return !is_letter || fail_escape(t, begin, "bad escape", "");
}

/* Inside of a look-behind, only groups from before it can be referred to. */
static bool check_lookbehind(const translation *t, size_t number)
{
    if (!t->lookbehind) return true;
    if (number > t->count || !t->groups[number - 1].closed)
        return fail_at(t, t->at, "cannot refer to an open group");
    return number <= t->groups_before_lookbehind ||
           fail_at(t, t->at, "cannot refer to group defined in the same lookbehind subpattern");
}

static bool put_back_reference(translation *t, const char *begin, size_t number, width *out)
{
    char what[48];
    if (number == 0 || number > t->count) {
        snprintf(what, sizeof what, "invalid group reference %zu", number);
        return fail_at(t, begin + 1, what);
    }
    const group *g = &t->groups[number - 1];
    if (!g->closed) return fail_at(t, begin, "cannot refer to an open group");
    if (!check_lookbehind(t, number)) return false;
    gt_buffer_add_format(&t->out, "\\g{%zu}", number);
    *out = g->width;
    return true;
}

/* \0, \12, \123: a character by its octal number, or a group. The cursor is on the first digit. */
static bool parse_number_escape(translation *t, const char *begin, width *out)
{
    uint32_t value;
    const char *digits = t->at;
    size_t octal = 0;
    while (octal < 3 && digits + octal < t->end && (unsigned)digit_of(digits[octal]) < 8) octal++;
    if (*digits == '0' || octal == 3) {
        take_digits(t, 8, 3, &value);
        if (value > 0377) return fail_escape(t, begin, "octal escape value", " outside of range 0-0o377");
        put_literal(t, value);
        return true;
    }
    take_digits(t, 10, 2, &value);
    return put_back_reference(t, begin, value, out);
}

/* After a backslash outside of a set. */
static bool parse_escape(translation *t, unsigned flags, item *kind, width *out)
{
    const char *begin = t->at++;
    char letter = peek(t);
    uint32_t code_point;
    bool known;
    *kind = SINGLE;
    *out = (width){1, 1};
    if (!letter) return fail_at(t, begin, "bad escape (end of pattern)");
    if (strchr("AZbB", letter)) {
        t->at++;
        *kind = ANCHOR;
        *out = (width){0, 0};
        if (letter == 'A' || letter == 'Z')
            put(t, letter == 'A' ? "\\A" : "\\z");
        else
            put_boundary(t, letter == 'B', flags);
        return true;
    }
    const char *members = class_of(letter, flags);
    if (members) {
        t->at++;
        gt_buffer_add_format(&t->out, "[%s]", members);
        return true;
    }
    if (gt_is_digit(letter)) return parse_number_escape(t, begin, out);
    t->at++;
    if (!take_character_escape(t, begin, letter, &code_point, &known)) return false;
    t->at -= !known;
    if (!known && !take_plain_escape(t, begin, &code_point)) return false;
    put_literal(t, code_point);
    return true;
}

/* ---- sets ---- */

/* One member of a set: a character, or a class, whose members are written at once. */
static bool take_member(translation *t, unsigned flags, uint32_t *code_point, bool *is_class)
{
    const char *begin = t->at;
    *is_class = false;
    if (*begin != '\\') {
        *code_point = gt_utf8_next(&t->at, t->end);
        return true;
    }
    char letter = ++t->at < t->end ? *t->at : 0;
    if (!letter) return fail_at(t, begin, "bad escape (end of pattern)");
    const char *members = class_of(letter, flags);
    if (members) {
        t->at++;
        put(t, members);
        *is_class = true;
        return true;
    }
    if ((unsigned)digit_of(letter) < 8) {
        take_digits(t, 8, 3, code_point);
        return *code_point <= 0377 ||
               fail_escape(t, begin, "octal escape value", " outside of range 0-0o377");
    }
    t->at++;
    if (gt_is_digit(letter)) return fail_escape(t, begin, "bad escape", "");
    if (letter == 'b') return *code_point = '\b', true;
    bool known;
    if (!take_character_escape(t, begin, letter, code_point, &known)) return false;
    t->at -= !known;
    return known || take_plain_escape(t, begin, code_point);
}

/* After '['. */
static bool parse_set(translation *t, unsigned flags)
{
    const char *begin = t->at - 1;
    put(t, "[");
    if (take(t, "^")) put(t, "^");
    for (bool first = true;; first = false) {
        const char *member = t->at;
        uint32_t from, to;
        bool is_class, is_class_too;
        if (t->at == t->end) return fail_at(t, begin, "unterminated character set");
        if (!first && take(t, "]")) break;
        if (!take_member(t, flags, &from, &is_class)) return false;
        if (peek(t) != '-') {
            if (!is_class) put_literal(t, from);
            continue;
        }
        t->at++;
        if (t->at == t->end) return fail_at(t, begin, "unterminated character set");
        if (take(t, "]")) {
            if (!is_class) put_literal(t, from);
            put(t, "\\x{2d}");
            break;
        }
        if (!take_member(t, flags, &to, &is_class_too)) return false;
        if (is_class || is_class_too || to < from) {
            char what[96];
            snprintf(what, sizeof what, "bad character range %.*s",
                     (int)(t->at - member > 60 ? 60 : t->at - member), member);
            return fail_at(t, member, what);
        }
        put_literal(t, from);
        put(t, "-");
        put_literal(t, to);
    }
    put(t, "]");
    return true;
}

/* ---- groups ---- */

static bool is_word_byte(char c)
{
    return c == '_' || gt_is_letter(c) || gt_is_digit(c) || (unsigned char)c >= 0x80;
}

/* A name up to `close`, which is taken too. */
static bool take_name(translation *t, char close, gt_str *name)
{
    const char *begin = t->at;
    const char *end = memchr(begin, close, (size_t)(t->end - begin));
    *name = (gt_str){begin, end ? (size_t)(end - begin) : (size_t)(t->end - begin)};
    if (!name->len) return fail_at(t, begin, "missing group name");
    if (!end)
        return fail_at(t, begin,
                       close == '>' ? "missing >, unterminated name" : "missing ), unterminated name");
    t->at = end + 1;
    return true;
}

static bool check_name(const translation *t, gt_str name)
{
    bool ok = !gt_is_digit(name.bytes[0]);
    for (size_t i = 0; i < name.len; i++) ok = ok && is_word_byte(name.bytes[i]);
    char what[96];
    snprintf(what, sizeof what, "bad character in group name '%.*s'", (int)(name.len > 48 ? 48 : name.len),
             name.bytes);
    return ok || fail_at(t, name.bytes, what);
}

/* The group of that name; 0 if there is none yet. */
static size_t find_group(const translation *t, gt_str name)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->groups[i].name.len == name.len && memcmp(t->groups[i].name.bytes, name.bytes, name.len) == 0)
            return i + 1;
    return 0;
}

static bool unknown_name(const translation *t, gt_str name)
{
    char what[96];
    snprintf(what, sizeof what, "unknown group name '%.*s'", (int)(name.len > 60 ? 60 : name.len),
             name.bytes);
    return fail_at(t, name.bytes, what);
}

/* The alternatives of a group and its closing bracket. */
static bool parse_inside(translation *t, const char *begin, unsigned flags, int depth, width *out)
{
    if (!parse_alternatives(t, flags, depth + 1, out)) return false;
    if (!take(t, ")")) return fail_at(t, begin, "missing ), unterminated subpattern");
    put(t, ")");
    return true;
}

static bool parse_capture(translation *t, const char *begin, gt_str name, unsigned flags, int depth,
                          width *out)
{
    size_t index = t->count;
    GT_PUSH(t->groups, t->count, t->capacity, ((group){.name = name}));
    put(t, "(");
    if (!parse_inside(t, begin, flags, depth, out)) return false;
    t->groups[index].closed = true;
    t->groups[index].width = *out;
    return true;
}

/* (?P<name>...) and (?P=name), after "(?P". */
static bool parse_named(translation *t, const char *begin, unsigned flags, int depth, width *out)
{
    gt_str name;
    if (take(t, "<")) {
        if (!take_name(t, '>', &name) || !check_name(t, name)) return false;
        size_t before = find_group(t, name);
        if (!before) return parse_capture(t, begin, name, flags, depth, out);
        char what[128];
        snprintf(what, sizeof what, "redefinition of group name '%.*s' as group %zu; was group %zu",
                 (int)(name.len > 48 ? 48 : name.len), name.bytes, t->count + 1, before);
        return fail_at(t, name.bytes, what);
    }
    if (take(t, "=")) {
        if (!take_name(t, ')', &name) || !check_name(t, name)) return false;
        size_t number = find_group(t, name);
        return number ? put_back_reference(t, name.bytes, number, out) : unknown_name(t, name);
    }
    if (t->at == t->end) return fail_at(t, t->at, "unexpected end of pattern");
    char what[] = "unknown extension ?P?";
    what[sizeof what - 2] = *t->at;
    return fail_at(t, begin + 1, what);
}

/* (?(1)yes|no) and (?(name)yes|no), after "(?(". */
static bool parse_conditional(translation *t, const char *begin, unsigned flags, int depth, width *out)
{
    gt_str name;
    if (!take_name(t, ')', &name)) return false;
    size_t number = 0, digits = 0;
    while (digits < name.len && gt_is_digit(name.bytes[digits]) && number < 100000)
        number = number * 10 + (size_t)(name.bytes[digits++] - '0');
    if (digits < name.len) {
        if (!check_name(t, name)) return false;
        number = find_group(t, name);
        if (!number) return unknown_name(t, name);
    }
    if (!number) return fail_at(t, name.bytes, "bad group number");
    if (!check_lookbehind(t, number)) return false;
    if (number > t->condition) {
        t->condition = number;
        t->condition_at = name.bytes;
    }
    gt_buffer_add_format(&t->out, "(?(%zu)", number);
    /* At most two branches, and one that is missing matches the empty string. */
    *out = (width){WIDTH_MAX, 0};
    for (int branch = 0; branch < 2; branch++) {
        width one;
        if (!parse_sequence(t, false, &flags, depth + 1, &one)) return false;
        if (one.min < out->min) out->min = one.min;
        if (one.max > out->max) out->max = one.max;
        if (branch == 1) break;
        if (!take(t, "|")) {
            out->min = 0;
            break;
        }
        put(t, "|");
    }
    if (peek(t) == '|') return fail_at(t, t->at, "conditional backref with more than two branches");
    if (!take(t, ")")) return fail_at(t, begin, "missing ), unterminated subpattern");
    put(t, ")");
    return true;
}

static bool parse_look(translation *t, const char *begin, bool behind, bool negative, unsigned flags,
                       int depth)
{
    width inside;
    put(t, behind ? (negative ? "(?<!" : "(?<=") : negative ? "(?!" : "(?=");
    if (behind && !t->lookbehind++) t->groups_before_lookbehind = t->count;
    if (!parse_inside(t, begin, flags, depth, &inside)) return false;
    t->lookbehind -= behind;
    t->variable_lookbehind |= behind && inside.min != inside.max;
    return true;
}

static unsigned flag_of(char letter)
{
    switch (letter) {
    case 'a':
        return GT_REGEX_ASCII;
    case 'i':
        return GT_REGEX_IGNORE_CASE;
    case 'm':
        return GT_REGEX_MULTI_LINE;
    case 's':
        return GT_REGEX_DOT_ALL;
    case 'u':
        return GT_REGEX_UNICODE;
    case 'x':
        return GT_REGEX_VERBOSE;
    default:
        return 0;
    }
}

static bool take_flags(translation *t, unsigned *flags)
{
    for (*flags = 0; flag_of(peek(t)); t->at++) *flags |= flag_of(*t->at);
    if ((*flags & GT_REGEX_ASCII) && (*flags & GT_REGEX_UNICODE))
        return fail_at(t, t->at, "bad inline flags: flags 'a', 'u' and 'L' are incompatible");
    if (peek(t) == 'L')
        return fail_at(t, t->at + 1, "bad inline flags: cannot use 'L' flag with a str pattern");
    return true;
}

/* "(?i)" for the whole expression, or "(?i-m:...)" for a part of it, after "(?". */
static bool parse_flags(translation *t, const char *begin, bool at_start, unsigned *flags, int depth,
                        item *kind, width *out)
{
    unsigned on, off = 0;
    if (!take_flags(t, &on)) return false;
    if (on && take(t, ")")) {
        if (!at_start) return fail_at(t, begin, "global flags not at the start of the expression");
        t->global_flags |= on;
        *flags |= on;
        *kind = NOTHING;
        return true;
    }
    if (take(t, "-")) {
        if (!flag_of(peek(t)))
            return fail_at(t, t->at, gt_is_letter(peek(t)) ? "unknown flag" : "missing flag");
        if (!take_flags(t, &off)) return false;
        if (off & (GT_REGEX_ASCII | GT_REGEX_UNICODE))
            return fail_at(t, t->at, "bad inline flags: cannot turn off flags 'a', 'u' and 'L'");
    }
    if (!take(t, ":")) {
        const char *missing = off ? "missing :" : "missing -, : or )";
        return fail_at(t, t->at, gt_is_letter(peek(t)) ? "unknown flag" : missing);
    }
    if (on & off) return fail_at(t, t->at - 1, "bad inline flags: flag turned on and off");
    unsigned inside = on & GT_REGEX_UNICODE ? *flags & ~(unsigned)GT_REGEX_ASCII : *flags;
    inside = (inside | on) & ~off;
    gt_buffer_add_format(&t->out, "(?%s%s%s-%s%s%s:", inside & GT_REGEX_IGNORE_CASE ? "i" : "",
                         inside & GT_REGEX_MULTI_LINE ? "m" : "", inside & GT_REGEX_DOT_ALL ? "s" : "",
                         inside & GT_REGEX_IGNORE_CASE ? "" : "i", inside & GT_REGEX_MULTI_LINE ? "" : "m",
                         inside & GT_REGEX_DOT_ALL ? "" : "s");
    return parse_inside(t, begin, inside, depth, out);
}

/* After '('. */
static bool parse_group(translation *t, bool at_start, unsigned *flags, int depth, item *kind, width *out)
{
    const char *begin = t->at - 1;
    *kind = SINGLE;
    *out = (width){0, 0};
    if (depth >= NESTING_MAX) return fail_at(t, begin, "groups are nested too deeply");
    if (!take(t, "?")) return parse_capture(t, begin, (gt_str){"", 0}, *flags, depth, out);
    if (t->at == t->end) return fail_at(t, t->at, "unexpected end of pattern");
    if (take(t, "P")) return parse_named(t, begin, *flags, depth, out);
    if (take(t, ":")) return put(t, "(?:"), parse_inside(t, begin, *flags, depth, out);
    if (take(t, ">")) return put(t, "(?>"), parse_inside(t, begin, *flags, depth, out);
    if (take(t, "(")) return parse_conditional(t, begin, *flags, depth, out);
    if (take(t, "=")) return parse_look(t, begin, false, false, *flags, depth);
    if (take(t, "!")) return parse_look(t, begin, false, true, *flags, depth);
    if (take(t, "<=")) return parse_look(t, begin, true, false, *flags, depth);
    if (take(t, "<!")) return parse_look(t, begin, true, true, *flags, depth);
    if (take(t, "#")) {
        const char *close = memchr(t->at, ')', (size_t)(t->end - t->at));
        if (!close) return fail_at(t, begin, "missing ), unterminated comment");
        t->at = close + 1;
        *kind = NOTHING;
        return true;
    }
    char c = *t->at;
    if (flag_of(c) || c == '-' || c == 'L') return parse_flags(t, begin, at_start, flags, depth, kind, out);
    if (c == '<' && t->at + 1 == t->end) return fail_at(t, t->at + 1, "unexpected end of pattern");
    char what[32];
    snprintf(what, sizeof what, c == '<' ? "unknown extension ?<%c" : "unknown extension ?%c",
             c == '<' ? t->at[1] : c);
    return fail_at(t, begin + 1, what);
}

/* ---- repetition ---- */

/* A count such as {2,3} at the cursor; false if the bracket is a character like others. */
static bool take_count(translation *t, uint64_t *min, uint64_t *max)
{
    const char *p = t->at + 1;
    if (p < t->end && *p == '}') return false;
    uint64_t counts[2] = {0, WIDTH_MAX};
    bool given[2] = {false, false};
    int which = 0;
    for (; p < t->end && (gt_is_digit(*p) || (*p == ',' && which == 0)); p++) {
        if (*p == ',') {
            which = 1;
            continue;
        }
        if (!given[which]) counts[which] = 0;
        given[which] = true;
        if (counts[which] <= REPEAT_MAX) counts[which] = counts[which] * 10 + (uint64_t)(*p - '0');
    }
    if (p == t->end || *p != '}') return false;
    t->at = p + 1;
    *min = counts[0];
    *max = which == 0 ? counts[0] : counts[1];
    return true;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return a && b > WIDTH_MAX / a ? WIDTH_MAX : a * b;
}

/* The quantifier at the cursor, applied to what was written last; *kind stays if there is none. */
static bool parse_repeat(translation *t, item *kind, width *last)
{
    const char *begin = t->at;
    uint64_t min = 0, max = WIDTH_MAX;
    char c = peek(t);
    if (c == '{' && !take_count(t, &min, &max)) return true;
    if (c != '{') t->at++;
    if (c == '+') min = 1;
    if (c == '?') max = 1;
    if (max != WIDTH_MAX && max < min) return fail_at(t, begin + 1, "min repeat greater than max repeat");
    if (min > REPEAT_MAX || (max > REPEAT_MAX && max != WIDTH_MAX))
        return fail_at(t, begin + 1, "the repetition number is too large");
    if (*kind == NOTHING || *kind == ANCHOR) return fail_at(t, begin, "nothing to repeat");
    if (*kind == REPEATED) return fail_at(t, begin, "multiple repeat");
    gt_buffer_add_format(&t->out, max == WIDTH_MAX ? "{%u,}" : "{%u,%u}", (unsigned)min, (unsigned)max);
    if (take(t, "?"))
        put(t, "?");
    else if (take(t, "+"))
        put(t, "+");
    *last = (width){times(last->min, min), times(last->max, max)};
    *kind = REPEATED;
    return true;
}

/* ---- sequences ---- */

static void skip_blanks_and_comments(translation *t)
{
    while (t->at < t->end && (gt_is_blank(*t->at) || *t->at == '#')) {
        if (*t->at == '#')
            while (t->at < t->end && *t->at != '\n') t->at++;
        else
            t->at++;
    }
}

static bool parse_item(translation *t, bool at_start, unsigned *flags, int depth, item *kind, width *out)
{
    char c = *t->at;
    *kind = SINGLE;
    *out = (width){1, 1};
    switch (c) {
    case '\\':
        return parse_escape(t, *flags, kind, out);
    case '[':
        return t->at++, parse_set(t, *flags);
    case '(':
        return t->at++, parse_group(t, at_start, flags, depth, kind, out);
    case '.':
        return t->at++, put(t, "."), true;
    case '^':
    case '$':
        *kind = ANCHOR;
        *out = (width){0, 0};
        return t->at++, put(t, c == '^' ? "^" : "$"), true;
    default:
        return put_literal(t, gt_utf8_next(&t->at, t->end)), true;
    }
}

static width sum(width a, width b)
{
    return (width){a.min + b.min, a.max + b.max > WIDTH_MAX ? WIDTH_MAX : a.max + b.max};
}

/* "(?i)" at the beginning changes *flags for the rest of the expression. */
static bool parse_sequence(translation *t, bool first, unsigned *flags, int depth, width *out)
{
    item before = NOTHING;
    width last = {0,
                  0}; /* of the item that a quantifier would repeat; *out is the width of what is before it */
    bool empty = true;
    *out = (width){0, 0};
    for (;;) {
        if (*flags & GT_REGEX_VERBOSE) skip_blanks_and_comments(t);
        char c = peek(t);
        if (t->at == t->end || c == '|' || c == ')') break;
        if (c == '*' || c == '+' || c == '?' || c == '{') {
            const char *begin = t->at;
            if (!parse_repeat(t, &before, &last)) return false;
            if (t->at > begin) continue;
        }
        item kind;
        width one;
        if (!parse_item(t, first && empty, flags, depth, &kind, &one)) return false;
        if (kind == NOTHING) continue; /* a comment: a quantifier after it belongs to what comes before it */
        *out = sum(*out, last);
        before = kind;
        last = one;
        empty = false;
    }
    *out = sum(*out, last);
    return true;
}

static bool parse_alternatives(translation *t, unsigned flags, int depth, width *out)
{
    *out = (width){WIDTH_MAX, 0};
    for (bool first = depth == 0;; first = false) {
        width one;
        if (!parse_sequence(t, first, &flags, depth, &one)) return false;
        if (one.min < out->min) out->min = one.min;
        if (one.max > out->max) out->max = one.max;
        if (!take(t, "|")) return true;
        put(t, "|");
    }
}

bool gt_regex_translate(translation *t)
{
    width all;
    if (t->end - t->begin > PATTERN_MAX) return gt_fail(t->error, "the expression is too long");
    if (!parse_alternatives(t, 0, 0, &all)) return false;
    if (t->at < t->end) return fail_at(t, t->at, "unbalanced parenthesis");
    if (t->condition > t->count) {
        char what[48];
        snprintf(what, sizeof what, "invalid group reference %zu", t->condition);
        return fail_at(t, t->condition_at, what);
    }
    if (t->variable_lookbehind) return gt_fail(t->error, "look-behind requires fixed-width pattern");
    return true;
}
