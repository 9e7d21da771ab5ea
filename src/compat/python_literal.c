/* JSON to Python: one walk over the tokens, with the open brackets on a stack of its own, because traces may
 * nest them as deeply as they like.
 *
 * Python to JSON: token by token. A comma is held back until something other than a closing bracket follows
 * it, which is how trailing commas disappear. */
#include "compat/python_literal.h"

#include "compat/python_repr.h"
#include "json/string.h"

/* An open bracket is one byte on the stack: its kind, and how many elements it has so far (0, 1, 2 for more).
 */
enum { LIST = 0, TUPLE = 4, DICT = 8, ELEMENTS = 3 };

typedef struct walk {
    gt_buffer *out;
    gt_buffer open; /* the brackets */
    gt_buffer text; /* of a string with escapes */
    const char *place, *end;
    bool tuples, quoted; /* quoted: a string that is the whole value is quoted too */
} walk;

static char look(walk *w)
{
    while (w->place < w->end && strchr(" \t\r\n", *w->place) && *w->place) w->place++;
    return w->place < w->end ? *w->place : 0;
}

static char *innermost(walk *w)
{
    return w->open.len ? &w->open.bytes[w->open.len - 1] : NULL;
}

/* ---- words and numbers ---- */

static bool add_word(walk *w)
{
    static const struct {
        const char *json, *python;
    } words[] = {
        {"true", "True"}, {"false", "False"},  {"null", "None"},
        {"NaN", "nan"},   {"Infinity", "inf"}, {"-Infinity", "-inf"},
    };
    for (size_t i = 0; i < GT_LENGTH(words); i++) {
        size_t len = strlen(words[i].json);
        if ((size_t)(w->end - w->place) < len || memcmp(w->place, words[i].json, len) != 0) continue;
        gt_buffer_add_cstr(w->out, words[i].python);
        w->place += len;
        return true;
    }
    return false;
}

static bool add_float(walk *w, const char *begin)
{
    char *end;
    double value = strtod(begin, &end);
    if (end != w->place) return false;
    gt_buffer_add_double(w->out, value);
    return true;
}

static bool add_number(walk *w)
{
    const char *begin = w->place;
    size_t digits = strspn(begin + (*begin == '-'), "0123456789");
    w->place += (*begin == '-') + digits;
    if (w->place > w->end || !digits) return false;
    if (strchr(".eE", *w->place) && *w->place) {
        w->place += strspn(w->place, "+-.0123456789eE");
        return w->place <= w->end && add_float(w, begin);
    }
    if (digits == 1 && memcmp(begin, "-0", 2) == 0) begin++;
    gt_buffer_add(w->out, begin, (size_t)(w->place - begin));
    return true;
}

/* ---- strings ---- */

static bool add_string(walk *w)
{
    gt_str text;
    w->place++;
    if (!gt_json_string_read(&w->place, w->end, &w->text, &text)) return false;
    if (w->open.len || w->quoted)
        gt_python_add_repr(w->out, text);
    else
        gt_buffer_add(w->out, text.bytes, text.len);
    return true;
}

/* ---- brackets ---- */

static bool add_key(walk *w)
{
    if (look(w) != '"' || !add_string(w) || look(w) != ':') return false;
    w->place++;
    gt_buffer_add_cstr(w->out, ": ");
    return true;
}

static void close_bracket(walk *w)
{
    char bracket = *innermost(w);
    w->open.len--;
    w->place++;
    if (bracket == (TUPLE | 1)) gt_buffer_add_cstr(w->out, ",");
    gt_buffer_add_cstr(w->out, bracket & DICT ? "}" : bracket & TUPLE ? ")" : "]");
}

/* The opening bracket; *closed if the container is empty, otherwise a value follows. */
static bool open_bracket(walk *w, bool *closed)
{
    const char *outer = innermost(w);
    bool dict = *w->place++ == '{', tuple = w->tuples && (!outer || *outer & TUPLE);
    char bracket = dict ? DICT : tuple ? TUPLE : LIST;
    gt_buffer_add_cstr(w->out, dict ? "{" : tuple ? "(" : "[");
    gt_buffer_add(&w->open, &bracket, 1);
    *closed = look(w) == (dict ? '}' : ']');
    if (*closed) close_bracket(w);
    return *closed || !dict || add_key(w);
}

/* After a value; *more if another one follows. */
static bool continue_bracket(walk *w, bool *more)
{
    while (w->open.len) {
        char *bracket = innermost(w), next = look(w);
        if ((*bracket & ELEMENTS) < 2) ++*bracket;
        *more = next == ',';
        if (*more) {
            w->place++;
            gt_buffer_add_cstr(w->out, ", ");
            return !(*bracket & DICT) || add_key(w);
        }
        if (next != (*bracket & DICT ? '}' : ']')) return false;
        close_bracket(w);
    }
    *more = false;
    return true;
}

static bool add_value(walk *w)
{
    bool more = true;
    while (more) {
        char next = look(w);
        bool closed = true, added = next == '[' || next == '{' ? open_bracket(w, &closed)
                                    : next == '"'              ? add_string(w)
                                                               : add_word(w) || add_number(w);
        if (!added || (closed && !continue_bracket(w, &more))) return false;
    }
    look(w);
    return w->place == w->end;
}

static void add_json(gt_buffer *buffer, gt_str json, gt_python_form form, bool quoted)
{
    size_t before = buffer->len;
    walk w = {.out = buffer,
              .place = json.bytes,
              .end = json.bytes + json.len,
              .tuples = form == GT_PYTHON_TUPLES,
              .quoted = quoted};
    if (!add_value(&w)) {
        buffer->len = before;
        gt_buffer_add(buffer, json.bytes, json.len);
    }
    gt_buffer_free(&w.open);
    gt_buffer_free(&w.text);
}

void gt_python_add_json(gt_buffer *buffer, gt_str json, gt_python_form form)
{
    add_json(buffer, json, form, false);
}

void gt_python_add_json_repr(gt_buffer *buffer, gt_str json, gt_python_form form)
{
    add_json(buffer, json, form, true);
}

/* ---- interned literals ---- */

struct gt_python_literals {
    gt_interner *strings;
    gt_python_form form;
    gt_buffer buffer;
    uint32_t *known; /* by id of the JSON text; GT_STR_NONE if not converted yet */
    size_t count;    /* of the strings at the beginning: later ones are not remembered */
};

gt_python_literals *gt_python_literals_new(gt_interner *strings, gt_python_form form)
{
    gt_python_literals *l = gt_alloc_zero(1, sizeof *l);
    l->strings = strings;
    l->form = form;
    l->count = gt_interner_count(strings);
    l->known = gt_alloc_zero(l->count, sizeof *l->known);
    return l;
}

static uint32_t convert(gt_python_literals *l, uint32_t json)
{
    l->buffer.len = 0;
    gt_python_add_json(&l->buffer, gt_interner_get(l->strings, json), l->form);
    gt_str text = gt_buffer_str(&l->buffer);
    return gt_interner_add(l->strings, text.bytes, text.len);
}

uint32_t gt_python_literals_of(gt_python_literals *l, uint32_t json)
{
    if (json == GT_STR_NONE) return GT_STR_NONE;
    if (json >= l->count) return convert(l, json);
    if (l->known[json] == GT_STR_NONE) l->known[json] = convert(l, json);
    return l->known[json];
}

/* New literals are interned in the order of the ids of their JSON texts. */
void gt_python_literals_convert(gt_python_literals *l, uint32_t *ids, size_t count)
{
    bool *wanted = gt_alloc_zero(l->count, sizeof *wanted);
    for (size_t i = 0; i < count; i++) wanted[ids[i]] = true;
    for (uint32_t id = GT_STR_NONE + 1; id < l->count; id++)
        if (wanted[id] && l->known[id] == GT_STR_NONE) l->known[id] = convert(l, id);
    for (size_t i = 0; i < count; i++) ids[i] = l->known[ids[i]];
    gt_free(wanted);
}

void gt_python_literals_free(gt_python_literals *l)
{
    if (!l) return;
    gt_buffer_free(&l->buffer);
    gt_free_all(l->known, l);
}

/* ---- Python to JSON ---- */

typedef struct reader {
    const char *begin, *at, *end;
    gt_buffer *json;
    bool comma;    /* a comma was read and is not written yet */
    bool is_shown; /* what repr() shows, not what a person typed: nan and inf are numbers */
    gt_error *error;
} reader;

static const struct {
    const char *python, *json;
} python_words[] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};

static bool fail(const reader *r, const char *what)
{
    return gt_fail(r->error, "%s at character %zu", what, (size_t)(r->at - r->begin) + 1);
}

static void flush_comma(reader *r)
{
    if (r->comma) gt_buffer_add_cstr(r->json, ",");
    r->comma = false;
}

static int digit_value(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                        : 99;
}

/* Digits of \x41, \u0041, \U00000041 or \101. */
static bool take_code(reader *r, int base, int least, int most, gt_buffer *text)
{
    uint32_t code = 0;
    int count = 0;
    for (; count < most && r->at < r->end && digit_value(*r->at) < base; count++, r->at++)
        code = code * (uint32_t)base + (uint32_t)digit_value(*r->at);
    if (count < least || code > 0x10FFFF) return fail(r, "invalid escape");
    gt_buffer_add_code_point(text, code >= 0xD800 && code < 0xE000 ? GT_REPLACEMENT : code);
    return true;
}

static bool take_escape(reader *r, gt_buffer *text)
{
    static const char letters[] = "abfnrtv\\'\"", meanings[] = "\a\b\f\n\r\t\v\\'\"";
    if (r->at == r->end) return fail(r, "unterminated string");
    char c = *r->at;
    const char *letter = c ? strchr(letters, c) : NULL;
    if (c >= '0' && c <= '7') return take_code(r, 8, 1, 3, text);
    r->at++;
    if (c == 'x') return take_code(r, 16, 2, 2, text);
    if (c == 'u') return take_code(r, 16, 4, 4, text);
    if (c == 'U') return take_code(r, 16, 8, 8, text);
    if (c == '\n') return true; /* a continued line */
    if (letter)
        gt_buffer_add(text, &meanings[letter - letters], 1);
    else
        gt_buffer_add(text, (char[]){'\\', c}, 2);
    return true;
}

static bool take_text(reader *r)
{
    gt_buffer text = {0}, scratch = {0};
    char quote = *r->at++;
    bool ok = true;
    while (ok && r->at < r->end && *r->at != quote) {
        if (*r->at == '\\') {
            r->at++;
            ok = take_escape(r, &text);
        } else if (*r->at == '\n') {
            ok = fail(r, "unterminated string");
        } else {
            gt_buffer_add(&text, r->at++, 1);
        }
    }
    if (ok && r->at == r->end) ok = fail(r, "unterminated string");
    if (ok) {
        r->at++;
        gt_json_string_add(r->json, gt_buffer_str(&text), &scratch);
    }
    gt_buffer_free(&text);
    gt_buffer_free(&scratch);
    return ok;
}

static bool take_word(reader *r)
{
    size_t len = 0, left = (size_t)(r->end - r->at);
    while (len < left && (isalnum((unsigned char)r->at[len]) || r->at[len] == '_')) len++;
    for (size_t i = 0; i < GT_LENGTH(python_words); i++) {
        if (strlen(python_words[i].python) != len || memcmp(r->at, python_words[i].python, len) != 0)
            continue;
        gt_buffer_add_cstr(r->json, python_words[i].json);
        r->at += len;
        return true;
    }
    return fail(r, "neither JSON nor a Python literal");
}

/* JSON has no such numbers. */
static bool take_not_finite(reader *r)
{
    static const char *const words[] = {"nan", "inf", "-inf"};
    size_t left = (size_t)(r->end - r->at);
    for (size_t i = 0; i < GT_LENGTH(words); i++) {
        size_t len = strlen(words[i]);
        if (left < len || memcmp(r->at, words[i], len) != 0) continue;
        gt_buffer_add_cstr(r->json, "null");
        r->at += len;
        return true;
    }
    return false;
}

/* A number as JSON has it: "+1" and "1_000" lose what JSON lacks, ".5" and "1." get a digit. */
static bool take_number(reader *r)
{
    if (*r->at == '+') r->at++;
    char before = 0;
    for (; r->at < r->end && *r->at && strchr("+-.0123456789eE_", *r->at); r->at++) {
        if (*r->at == '_') continue;
        bool is_digit = isdigit((unsigned char)*r->at);
        if ((*r->at == '.' && !isdigit((unsigned char)before)) || (before == '.' && !is_digit))
            gt_buffer_add_cstr(r->json, "0");
        gt_buffer_add(r->json, r->at, 1);
        before = *r->at;
    }
    if (before == '.') gt_buffer_add_cstr(r->json, "0");
    return true;
}

static bool take_token(reader *r)
{
    char c = *r->at;
    if (strchr("]})", c)) {
        r->comma = false;
        gt_buffer_add_cstr(r->json, c == ')' ? "]" : (char[]){c, 0});
        r->at++;
        return true;
    }
    flush_comma(r);
    if (c == ',') {
        r->comma = true;
        r->at++;
        return true;
    }
    if (strchr("[{(:", c)) {
        gt_buffer_add_cstr(r->json, c == '(' ? "[" : (char[]){c, 0});
        r->at++;
        return true;
    }
    if (c == '\'' || c == '"') return take_text(r);
    if (r->is_shown && take_not_finite(r)) return true;
    if (strchr("+-.0123456789", c)) return take_number(r);
    return take_word(r);
}

static bool to_json(gt_str literal, bool is_shown, gt_buffer *json, gt_error *error)
{
    reader r = {.begin = literal.bytes,
                .at = literal.bytes,
                .end = literal.bytes + literal.len,
                .json = json,
                .is_shown = is_shown,
                .error = error};
    for (;;) {
        while (r.at < r.end && isspace((unsigned char)*r.at)) r.at++;
        if (r.at == r.end) break;
        if (*r.at == 0) return fail(&r, "neither JSON nor a Python literal");
        if (!take_token(&r)) return false;
    }
    flush_comma(&r);
    return true;
}

bool gt_python_to_json(gt_str literal, gt_buffer *json, gt_error *error)
{
    return to_json(literal, false, json, error);
}

bool gt_python_shown_to_json(gt_str text, gt_buffer *json)
{
    gt_arena arena = {0};
    gt_error ignored;
    size_t begin = json->len;
    bool is_container = text.len && text.bytes[0] && strchr("[({", text.bytes[0]);
    bool ok = is_container && to_json(text, true, json, &ignored);
    ok = ok &&
         gt_value_parse(&arena, (gt_str){json->bytes + begin, json->len - begin})->type != GT_VALUE_MISSING;
    if (!ok) json->len = begin;
    gt_arena_free(&arena);
    return ok;
}
