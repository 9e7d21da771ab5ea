/* Compiling and matching with PCRE2, once python_regex_syntax.c has translated the expression. */
#include "compat/python_regex.h"

#include "base/memory.h"
#include "compat/python_regex_syntax.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

enum {
    STEPS_MAX = 5000000,      /* about a second per text */
    HEAP_MAX_KIB = 64 * 1024, /* for the states that matching goes back to */
};

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

static bool compile(gt_python_regex *regex, gt_regex_translation *t)
{
    if (!gt_regex_translate(t)) return false;
    uint32_t options = PCRE2_UTF | PCRE2_ALT_CIRCUMFLEX |
                       (t->global_flags & GT_REGEX_IGNORE_CASE ? PCRE2_CASELESS : 0) |
                       (t->global_flags & GT_REGEX_MULTI_LINE ? PCRE2_MULTILINE : 0) |
                       (t->global_flags & GT_REGEX_DOT_ALL ? PCRE2_DOTALL : 0);
    pcre2_general_context *memory = pcre2_general_context_create(allocate, release, NULL);
    pcre2_compile_context *context = pcre2_compile_context_create(memory);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int code;
    size_t place;
    regex->code =
        pcre2_compile((PCRE2_SPTR)gt_buffer_str(&t->out).bytes, t->out.len, options, &code, &place, context);
    pcre2_compile_context_free(context);
    pcre2_general_context_free(memory);
    if (regex->code) return true;
    char why[160];
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
    return gt_fail(t->error, "%s", why);
}

bool gt_python_regex_compile(gt_python_regex *regex, const char *python, gt_error *error)
{
    gt_buffer scratch = {0};
    gt_str valid = gt_utf8_repair((gt_str){python, strlen(python)}, &scratch);
    gt_regex_translation t = {
        .begin = valid.bytes, .at = valid.bytes, .end = valid.bytes + valid.len, .error = error};
    *regex = (gt_python_regex){0};
    bool compiled = compile(regex, &t);
    if (compiled) {
        regex->group_count = t.count;
        regex->names = gt_alloc_zero(t.count + 1, sizeof *regex->names);
        for (size_t i = 0; i < t.count; i++)
            if (t.groups[i].name.len)
                regex->names[i] = gt_format("%.*s", (int)t.groups[i].name.len, t.groups[i].name.bytes);
    }
    gt_free(t.groups);
    gt_buffer_free(&t.out);
    gt_buffer_free(&scratch);
    return compiled;
}

void gt_python_regex_free(gt_python_regex *regex)
{
    for (size_t i = 0; i < regex->group_count; i++) gt_free(regex->names[i]);
    gt_free(regex->names);
    pcre2_code_free(regex->code);
    *regex = (gt_python_regex){0};
}

size_t gt_python_regex_group(const gt_python_regex *regex, const char *name)
{
    for (size_t i = 0; i < regex->group_count; i++)
        if (regex->names[i] && strcmp(regex->names[i], name) == 0) return i + 1;
    return 0;
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
