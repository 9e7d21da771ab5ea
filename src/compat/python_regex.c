/* Translates the expression to a POSIX extended one: named and plain groups, \d and its like, and sets, in
 * which Python has escapes and POSIX has none. */
#include "compat/python_regex.h"
#include "base/buffer.h"

#include <ctype.h>
#include <string.h>

typedef struct translation {
    const char *at; /* in the Python expression */
    gt_buffer out;
    size_t groups;                   /* opened so far, as POSIX counts them */
    size_t first_group, found_group; /* 0: none */
    const char *named_group;         /* the group looked for; NULL for none */
    bool any_case;
    gt_error *error;
} translation;

typedef struct char_set {
    bool has[256];
} char_set;

/* Adds what \d, \w or \s stands for, or all but that for \D, \W, \S. False for other letters. */
static bool add_class(char_set *set, char letter)
{
    int kind = tolower((unsigned char)letter);
    if (kind != 'd' && kind != 'w' && kind != 's') return false;
    for (int c = 1; c < 256; c++) {
        bool in = kind == 'd' ? isdigit(c) : kind == 's' ? isspace(c) : c == '_' || isalnum(c);
        if ((c < 128 && in) == (letter == kind)) set->has[c] = true;
    }
    return true;
}

/* A POSIX set has no escapes, only places: ']' comes first, '^' does not, '-' comes last. */
static void print_set(gt_buffer *out, const char_set *set)
{
    gt_buffer members = {0};
    if (set->has[']']) gt_buffer_add_cstr(&members, "]");
    for (int c = 1; c < 256; c++)
        if (set->has[c] && !strchr("]^[-", c)) gt_buffer_add(&members, &(char){(char)c}, 1);
    if (set->has['[']) gt_buffer_add_cstr(&members, "[");
    bool caret_alone = set->has['^'] && !members.len;
    if (set->has['^'] && !caret_alone) gt_buffer_add_cstr(&members, "^");
    if (set->has['-']) gt_buffer_add_cstr(&members, caret_alone ? "-^" : "-");
    if (members.len) {
        gt_buffer_add_cstr(out, "[");
        gt_buffer_add(out, members.bytes, members.len);
        gt_buffer_add_cstr(out, "]");
    } else {
        gt_buffer_add_cstr(out, "\\^");
    }
    gt_buffer_free(&members);
}

/* One character of a set, escapes resolved. 0 at the end of the expression, -1 where a class was added. */
static int set_member(translation *t, char_set *set)
{
    if (!*t->at) return 0;
    if (*t->at != '\\') return (unsigned char)*t->at++;
    t->at++;
    if (!*t->at) return 0;
    char letter = *t->at++;
    return add_class(set, letter) ? -1 : (unsigned char)letter;
}

static bool translate_set(translation *t)
{
    char_set set = {{false}};
    bool inverted = *t->at == '^';
    t->at += inverted;
    for (bool first = true; first || *t->at != ']'; first = false) {
        int from = set_member(t, &set);
        if (!from) return gt_fail(t->error, "unterminated character set");
        if (from < 0) continue;
        int to = from;
        if (t->at[0] == '-' && t->at[1] && t->at[1] != ']') {
            t->at++;
            to = set_member(t, &set);
            if (to < from) return gt_fail(t->error, "bad character range");
        }
        for (int c = from; c <= to; c++) set.has[c] = true;
    }
    t->at++;
    for (int c = 1; c < 256 && inverted; c++) set.has[c] = !set.has[c];
    print_set(&t->out, &set);
    return true;
}

/* What follows '('. */
static bool translate_group(translation *t)
{
    bool captures = true;
    if (strncmp(t->at, "?i)", 3) == 0) {
        t->at += 3;
        t->any_case = true;
        return true;
    }
    t->groups++;
    if (strncmp(t->at, "?P<", 3) == 0) {
        if (t->named_group && strncmp(t->at + 3, t->named_group, strlen(t->named_group)) == 0 &&
            t->at[3 + strlen(t->named_group)] == '>')
            t->found_group = t->groups;
        const char *end = strchr(t->at, '>');
        if (!end) return gt_fail(t->error, "unterminated group name");
        t->at = end + 1;
    } else if (strncmp(t->at, "?:", 2) == 0) {
        captures = false;
        t->at += 2;
    } else if (*t->at == '?') {
        return gt_fail(t->error, "'(%.3s' is not supported", t->at);
    }
    if (captures && !t->first_group) t->first_group = t->groups;
    gt_buffer_add_cstr(&t->out, "(");
    return true;
}

static bool translate_escape(translation *t)
{
    char_set set = {{false}};
    if (!*t->at) return gt_fail(t->error, "bad escape at the end");
    char letter = *t->at++;
    if (add_class(&set, letter)) {
        print_set(&t->out, &set);
        return true;
    }
    if (isdigit((unsigned char)letter)) return gt_fail(t->error, "'\\%c' is not supported", letter);
    if (isalpha((unsigned char)letter) && letter != 'b' && letter != 'B')
        return gt_fail(t->error, "'\\%c' is not supported", letter);
    gt_buffer_add(&t->out, (char[]){'\\', letter}, 2);
    return true;
}

static bool translate(translation *t)
{
    while (*t->at) {
        char c = *t->at++;
        bool translated = true;
        if (c == '[')
            translated = translate_set(t);
        else if (c == '(')
            translated = translate_group(t);
        else if (c == '\\')
            translated = translate_escape(t);
        else
            gt_buffer_add(&t->out, &c, 1);
        if (!translated) return false;
        if (strchr("*+?}", c) && *t->at == '?') return gt_fail(t->error, "'%c?' is not supported", c);
    }
    return true;
}

static bool compile(gt_python_regex *regex, translation *t)
{
    if (!translate(t)) return false;
    regex->first_group = t->first_group;
    regex->named_group = t->found_group;
    int code =
        regcomp(&regex->compiled, gt_buffer_str(&t->out).bytes, REG_EXTENDED | (t->any_case ? REG_ICASE : 0));
    char why[128];
    if (!code) return true;
    regerror(code, NULL, why, sizeof why);
    return gt_fail(t->error, "%s", why);
}

bool gt_python_regex_compile(gt_python_regex *regex, const char *python, const char *group, gt_error *error)
{
    translation t = {.at = python, .named_group = group, .error = error};
    bool compiled = compile(regex, &t);
    gt_buffer_free(&t.out);
    return compiled;
}

void gt_python_regex_free(gt_python_regex *regex)
{
    regfree(&regex->compiled);
}

bool gt_python_regex_matches(const gt_python_regex *regex, const char *text)
{
    return regexec(&regex->compiled, text, 0, NULL, 0) == 0;
}
