/* Python regular expressions on PCRE2.
 *
 * An expression goes to PCRE2 as it is, except for what the two read differently. Where PCRE2 has another way
 * to write it, that is written (\Z, \v, \u00e9, {,n}, "[" in sets, classes); the rest is refused. All of this
 * is decided token by token, without a syntax tree: everything else is PCRE2's to check. For example
 *
 *     (?P<n>\d{,2})(?P=n)\Z     becomes     (?P<n>\p{Nd}{0,2})(?P=n)\z
 */
#include "compat/python_regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
    PATTERN_MAX = 100000,     /* bytes */
    STEPS_MAX = 5000000,      /* about a second per text */
    HEAP_MAX_KIB = 64 * 1024, /* for the states that matching goes back to */
};

/* ---- classes ---- */

/* What \d, \D and so on stand for, as members of a set. PCRE2_UCP would say nearly the same, but its versions
 * differ in whether marks are part of a word, and Python also takes U+001C to U+001F for white space. General
 * categories cover all characters, so that the complement of a class is a list of categories too. */
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

/* ---- tokens ---- */

/* An expression on its way from Python's syntax to PCRE2's. */
typedef struct rewriting {
    const char *begin, *at, *end; /* valid UTF-8; at: what is not yet rewritten */
    gt_buffer out;
    bool ascii, ignore_case, multi_line, dot_all, verbose; /* the flags at the start */
    gt_error *error;
} rewriting;

static bool fail_at(const rewriting *r, const char *place, const char *what)
{
    size_t position = 0;
    for (const char *p = r->begin; p < place; p++) position += ((unsigned char)*p & 0xC0) != 0x80;
    return gt_fail(r->error, "%s at position %zu", what, position);
}

/* Fails with the characters from `place` on in the message: "unsupported escape \K at position 1". */
static bool fail_token(const rewriting *r, const char *place, const char *what, size_t len)
{
    char text[64];
    while (place + len < r->end && ((unsigned char)place[len] & 0xC0) == 0x80) len++;
    if (len > (size_t)(r->end - place)) len = (size_t)(r->end - place);
    snprintf(text, sizeof text, "%s %.*s", what, (int)len, place);
    return fail_at(r, place, text);
}

static bool starts_with(const rewriting *r, const char *text)
{
    size_t len = strlen(text);
    return (size_t)(r->end - r->at) >= len && memcmp(r->at, text, len) == 0;
}

static bool copy(rewriting *r, size_t len)
{
    gt_buffer_add(&r->out, r->at, len);
    r->at += len;
    return true;
}

static bool replace(rewriting *r, size_t len, const char *text)
{
    gt_buffer_add_cstr(&r->out, text);
    r->at += len;
    return true;
}

static const char *class_of(const rewriting *r, char letter)
{
    for (size_t i = 0; i < GT_LENGTH(classes); i++)
        if (classes[i].letter == letter) return r->ascii ? classes[i].ascii : classes[i].unicode;
    return NULL;
}

/* \b or \B, by our own \w. In an empty text, \B does not match (Python before 3.14). */
static bool replace_boundary(rewriting *r, bool inverted)
{
    const char *word = class_of(r, 'w');
    gt_buffer_add_format(&r->out,
                         inverted ? "(?:(?<=[%s])(?=[%s])|(?!\\A\\z)(?<![%s])(?![%s]))"
                                  : "(?:(?<=[%s])(?![%s])|(?<![%s])(?=[%s]))",
                         word, word, word, word);
    r->at += 2;
    return true;
}

/* How many characters from `p` on are digits of the base, at most `most`, and their value. */
static size_t count_digits(const rewriting *r, const char *p, unsigned base, size_t most,
                           unsigned long *value)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    size_t count = 0;
    for (*value = 0; count < most && p + count < r->end; count++) {
        const char *digit = memchr(digits, p[count], sizeof digits - 1);
        if (!digit || (unsigned)(digit - digits) % 16 >= base) break;
        *value = *value * base + (unsigned)(digit - digits) % 16;
    }
    return count;
}

static bool replace_character(rewriting *r, size_t len, unsigned long code_point)
{
    gt_buffer_add_format(&r->out, "\\x{%lx}", code_point);
    r->at += len;
    return true;
}

/* \0, \12, \123: a character by its octal number, or a group. In sets, there are no groups. */
static bool rewrite_number(rewriting *r, bool in_set)
{
    unsigned long value;
    size_t octal = count_digits(r, r->at + 1, 8, 3, &value);
    if (octal == 3 || (octal && (in_set || r->at[1] == '0'))) {
        if (value > 0377) return fail_token(r, r->at, "unsupported escape", 1 + octal);
        return replace_character(r, 1 + octal, value);
    }
    if (in_set) return fail_token(r, r->at, "unsupported escape", 2);
    size_t len = 1 + count_digits(r, r->at + 1, 10, 2, &value);
    gt_buffer_add_format(&r->out, "\\g{%lu}", value);
    return replace(r, len, "");
}

/* \xHH, \uHHHH, \UHHHHHHHH */
static bool rewrite_code_point(rewriting *r, size_t digits)
{
    unsigned long value;
    size_t found = count_digits(r, r->at + 2, 16, digits, &value);
    if (found < digits) return fail_token(r, r->at, "incomplete escape", 2 + found);
    return replace_character(r, 2 + digits, value);
}

static bool rewrite_escape(rewriting *r, bool in_set)
{
    char letter = r->at + 1 < r->end ? r->at[1] : 0;
    const char *members = class_of(r, letter);
    if (members) {
        gt_buffer_add_format(&r->out, in_set ? "%s" : "[%s]", members);
        r->at += 2;
        return true;
    }
    if (gt_is_digit(letter)) return rewrite_number(r, in_set);
    if (!gt_is_letter(letter) && letter) return copy(r, 2); /* other bytes of the character follow */
    if (in_set ? letter == 'b' : letter == 'A') return copy(r, 2);
    if (!in_set && letter == 'Z') return replace(r, 2, "\\z");
    if (!in_set && (letter == 'b' || letter == 'B')) return replace_boundary(r, letter == 'B');
    switch (letter) {
    case 'a':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return copy(r, 2);
    case 'v':
        return replace(r, 2, "\\x0b");
    case 'x':
        return rewrite_code_point(r, 2);
    case 'u':
        return rewrite_code_point(r, 4);
    case 'U':
        return rewrite_code_point(r, 8);
    default:
        return fail_token(r, r->at, "unsupported escape", 2);
    }
}

/* From '[' to ']'. "[" is a character in it: Python has no [:alpha:]. */
static bool rewrite_set(rewriting *r)
{
    const char *begin = r->at;
    copy(r, starts_with(r, "[^") ? 2 : 1);
    for (bool first = true; r->at < r->end; first = false) {
        if (*r->at == ']' && !first) return copy(r, 1);
        bool done = *r->at == '\\'  ? rewrite_escape(r, true)
                    : *r->at == '[' ? replace(r, 1, "\\[")
                                    : copy(r, 1);
        if (!done) return false;
    }
    return fail_at(r, begin, "unterminated character set");
}

/* {2,3}, {2,}, {,3}, {,} and {2}; else the bracket is a character like others. */
static bool rewrite_count(rewriting *r)
{
    unsigned long value;
    size_t least = count_digits(r, r->at + 1, 10, SIZE_MAX, &value), len = 1 + least;
    bool range = r->at + len < r->end && r->at[len] == ',';
    len += range;
    size_t most = range ? count_digits(r, r->at + len, 10, SIZE_MAX, &value) : 0;
    len += most;
    if (r->at + len == r->end || r->at[len] != '}' || len == 1) return replace(r, 1, "\\{");
    if (!least) replace(r, 1, "{0"), len--;
    return copy(r, len + 1);
}

/* "(?(1)" or "(?(name)": PCRE2 would take names such as R for something else. */
static bool rewrite_condition(rewriting *r)
{
    const char *name = r->at + 3, *close = memchr(name, ')', (size_t)(r->end - name));
    unsigned long number;
    if (!close) return fail_at(r, r->at, "missing ), unterminated subpattern");
    size_t len = (size_t)(close - name);
    bool is_number = count_digits(r, name, 10, len, &number) == len;
    gt_buffer_add_format(&r->out, is_number ? "(?(%.*s)" : "(?(<%.*s>)", (int)len, name);
    r->at = close + 1;
    return true;
}

/* How many characters from at[begin] on are among those. */
static size_t count_of(const rewriting *r, size_t begin, const char *those)
{
    size_t count = 0;
    while (r->at + begin + count < r->end && strchr(those, r->at[begin + count])) count++;
    return count;
}

static bool rewrite_group(rewriting *r)
{
    static const char *const same[] = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?P<", "(?P="};
    if (starts_with(r, "(*")) return fail_token(r, r->at, "unsupported group", 2);
    if (!starts_with(r, "(?")) return copy(r, 1);
    for (size_t i = 0; i < GT_LENGTH(same); i++)
        if (starts_with(r, same[i])) return copy(r, strlen(same[i]));
    if (starts_with(r, "(?(")) return rewrite_condition(r);
    if (starts_with(r, "(?#")) {
        const char *close = memchr(r->at, ')', (size_t)(r->end - r->at));
        if (!close) return fail_at(r, r->at, "missing ), unterminated comment");
        r->at = close + 1;
        return true;
    }
    size_t len = 2 + count_of(r, 2, "ims-");
    if (len > 2 && r->at + len < r->end && r->at[len] == ':') return copy(r, len + 1);
    len = 2 + count_of(r, 2, "aimsux");
    if (len > 2 && r->at + len < r->end && r->at[len] == ')')
        return fail_token(r, r->at, "flags not at the start of the expression", len + 1);
    return fail_token(r, r->at, "unsupported group", 4);
}

static bool rewrite_token(rewriting *r)
{
    switch (*r->at) {
    case '\\':
        return rewrite_escape(r, false);
    case '[':
        return rewrite_set(r);
    case '(':
        return rewrite_group(r);
    case '{':
        return rewrite_count(r);
    case '#':
        while (r->verbose && r->at < r->end && *r->at != '\n') r->at++;
        return r->verbose || copy(r, 1);
    default:
        return copy(r, 1);
    }
}

/* (?i) at the start. */
static void take_flags(rewriting *r)
{
    while (starts_with(r, "(?")) {
        size_t end = 2 + count_of(r, 2, "aimsux");
        if (end == 2 || r->at + end == r->end || r->at[end] != ')') return;
        for (size_t i = 2; i < end; i++) {
            r->ascii |= r->at[i] == 'a';
            r->ignore_case |= r->at[i] == 'i';
            r->multi_line |= r->at[i] == 'm';
            r->dot_all |= r->at[i] == 's';
            r->verbose |= r->at[i] == 'x';
        }
        r->at += end + 1;
    }
}

/* ---- compiling ---- */

/* PCRE2 gets its memory from us, so that a guarded call that fails releases it (base/guard.h). */
static void *allocate(size_t size, void *unused)
{
    (void)unused;
    return gt_alloc(size);
}

static void release(void *block, void *unused)
{
    (void)unused;
    gt_free(block);
}

/* What PCRE2 says about the place in what was rewritten, with the place in the expression. */
static bool fail_compile(rewriting *r, int code, size_t place)
{
    char why[160];
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
    r->at = r->begin;
    r->out.len = 0;
    take_flags(r);
    while (r->out.len < place && rewrite_token(r)) {
    }
    return fail_at(r, r->at, why);
}

static bool compile(gt_python_regex *regex, rewriting *r)
{
    if (r->end - r->begin > PATTERN_MAX) return gt_fail(r->error, "the expression is too long");
    take_flags(r);
    while (r->at < r->end)
        if (!rewrite_token(r)) return false;
    uint32_t options = PCRE2_UTF | PCRE2_ALT_CIRCUMFLEX | (r->ignore_case ? PCRE2_CASELESS : 0) |
                       (r->multi_line ? PCRE2_MULTILINE : 0) | (r->dot_all ? PCRE2_DOTALL : 0) |
                       (r->verbose ? PCRE2_EXTENDED : 0);
    pcre2_general_context *memory = pcre2_general_context_create(allocate, release, NULL);
    pcre2_compile_context *context = pcre2_compile_context_create(memory);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int code;
    size_t place;
    regex->code =
        pcre2_compile((PCRE2_SPTR)gt_buffer_str(&r->out).bytes, r->out.len, options, &code, &place, context);
    pcre2_compile_context_free(context);
    pcre2_general_context_free(memory);
    if (!regex->code) return fail_compile(r, code, place);
    uint32_t groups;
    pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    regex->group_count = groups;
    return true;
}

bool gt_python_regex_compile(gt_python_regex *regex, const char *python, gt_error *error)
{
    gt_buffer scratch = {0};
    gt_str valid = gt_utf8_repair((gt_str){python, strlen(python)}, &scratch);
    rewriting r = {.begin = valid.bytes, .at = valid.bytes, .end = valid.bytes + valid.len, .error = error};
    *regex = (gt_python_regex){0};
    bool compiled = compile(regex, &r);
    gt_buffer_free(&r.out);
    gt_buffer_free(&scratch);
    return compiled;
}

void gt_python_regex_free(gt_python_regex *regex)
{
    pcre2_code_free(regex->code);
    *regex = (gt_python_regex){0};
}

size_t gt_python_regex_group(const gt_python_regex *regex, const char *name)
{
    int number = pcre2_substring_number_from_name(regex->code, (PCRE2_SPTR)name);
    return number > 0 ? (size_t)number : 0;
}

/* ---- matching ---- */

static void keep_groups(const gt_python_regex *regex, gt_str text, const size_t *ends, gt_python_match *match)
{
    size_t count = regex->group_count + 1;
    if (match->capacity < count) {
        match->groups = gt_realloc(match->groups, count * sizeof *match->groups);
        match->capacity = count;
    }
    for (size_t i = 0; i < count; i++) {
        bool took_part = match->found && ends[2 * i] != PCRE2_UNSET;
        match->groups[i] =
            took_part ? (gt_str){text.bytes + ends[2 * i], ends[2 * i + 1] - ends[2 * i]} : (gt_str){NULL, 0};
    }
}

static int match_limited(const gt_python_regex *regex, gt_str text, pcre2_match_data *data,
                         pcre2_general_context *memory)
{
    pcre2_match_context *context = pcre2_match_context_create(memory);
    pcre2_set_match_limit(context, STEPS_MAX);
    pcre2_set_depth_limit(context, STEPS_MAX);
    pcre2_set_heap_limit(context, HEAP_MAX_KIB);
    int code =
        pcre2_match(regex->code, (PCRE2_SPTR)text.bytes, text.len, 0, PCRE2_NO_UTF_CHECK, data, context);
    pcre2_match_context_free(context);
    return code;
}

bool gt_python_regex_search(const gt_python_regex *regex, gt_str text, gt_python_match *match,
                            gt_error *error)
{
    text = gt_utf8_repair(text, &match->text);
    pcre2_general_context *memory = pcre2_general_context_create(allocate, release, NULL);
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(regex->code, memory);
    int code = match_limited(regex, text, data, memory);
    match->found = code >= 0;
    keep_groups(regex, text, pcre2_get_ovector_pointer(data), match);
    pcre2_match_data_free(data);
    pcre2_general_context_free(memory);
    if (code >= 0 || code == PCRE2_ERROR_NOMATCH) return true;
    return gt_fail(error, "too many steps to match it against '%.*s%s'", text.len > 60 ? 60 : (int)text.len,
                   text.bytes, text.len > 60 ? "..." : "");
}

void gt_python_match_free(gt_python_match *match)
{
    gt_free(match->groups);
    gt_buffer_free(&match->text);
    *match = (gt_python_match){0};
}
