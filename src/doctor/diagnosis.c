/* A diagnosis being made: lists that own nothing but their arrays; all strings are in one arena. */
#include "doctor/doctor.h"

#include "os/shell_words.h"

enum { SHOWN_BYTES = 200, MESSAGES_MAX = 50 };

gt_diagnosis *gt_diagnosis_new(const char *path)
{
    gt_diagnosis *d = gt_alloc_zero(1, sizeof *d);
    d->path = gt_arena_bytes(&d->strings, path, strlen(path));
    gt_diagnosis_is(d, "unknown", "unknown file");
    return d;
}

void gt_diagnosis_free(gt_diagnosis *d)
{
    if (!d) return;
    for (size_t i = 0; i < d->part_count; i++) gt_diagnosis_free(d->parts[i]);
    gt_free_all(d->parts, d->facts, d->missing, d->commands, d->checks, d->sheets, d->messages);
    gt_arena_free(&d->strings);
    gt_free(d);
}

const char *gt_diagnosis_text(gt_diagnosis *d, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int len = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    size_t size = len > 0 ? (size_t)len : 0;
    char *text = gt_alloc(size + 1);
    vsnprintf(text, size + 1, format, again);
    va_end(again);
    const char *copy = gt_arena_bytes(&d->strings, text, size);
    gt_free(text);
    return copy;
}

const char *gt_diagnosis_string(gt_diagnosis *d, gt_str text)
{
    gt_buffer shown = {0};
    const char *end = text.bytes + (text.len < SHOWN_BYTES ? text.len : SHOWN_BYTES);
    for (const char *at = text.bytes; at < end;) {
        uint32_t code = gt_utf8_next(&at, text.bytes + text.len);
        gt_buffer_add_code_point(&shown, code ? code : 0xFFFD);
    }
    gt_str bytes = gt_buffer_str(&shown);
    const char *copy = gt_arena_bytes(&d->strings, bytes.bytes, bytes.len);
    gt_buffer_free(&shown);
    return copy;
}

void gt_diagnosis_is(gt_diagnosis *d, const char *kind, const char *what)
{
    d->kind = kind;
    d->what = what;
}

static void add_fact(gt_diagnosis *d, gt_fact fact)
{
    GT_PUSH(d->facts, d->fact_count, d->fact_capacity, fact);
}

void gt_fact_add_text(gt_diagnosis *d, gt_fact_group group, const char *name, const char *text)
{
    add_fact(d, (gt_fact){.group = group,
                          .name = name,
                          .type = GT_FACT_TEXT,
                          .text = gt_diagnosis_string(d, (gt_str){text, strlen(text)})});
}

void gt_fact_add_count(gt_diagnosis *d, gt_fact_group group, const char *name, double count)
{
    add_fact(d, (gt_fact){.group = group, .name = name, .type = GT_FACT_COUNT, .number = count});
}

void gt_fact_add_number(gt_diagnosis *d, gt_fact_group group, const char *name, double value,
                        const char *unit)
{
    add_fact(d,
             (gt_fact){.group = group, .name = name, .type = GT_FACT_NUMBER, .text = unit, .number = value});
}

void gt_fact_add_bool(gt_diagnosis *d, gt_fact_group group, const char *name, bool value)
{
    add_fact(d, (gt_fact){.group = group, .name = name, .type = GT_FACT_BOOL, .number = value});
}

const gt_fact *gt_fact_find(const gt_diagnosis *d, const char *name)
{
    for (size_t i = 0; i < d->fact_count; i++)
        if (strcmp(d->facts[i].name, name) == 0) return &d->facts[i];
    return NULL;
}

void gt_missing_add(gt_diagnosis *d, const char *id, const char *text, const char *effect, const char *fix)
{
    gt_missing_item item = {.id = id, .text = text, .effect = effect, .fix = fix};
    GT_PUSH(d->missing, d->missing_count, d->missing_capacity, item);
}

bool gt_missing_exists(const gt_diagnosis *d, const char *id)
{
    for (size_t i = 0; i < d->missing_count; i++)
        if (strcmp(d->missing[i].id, id) == 0) return true;
    return false;
}

void gt_supported_command_add(gt_diagnosis *d, const char *command, bool can, const char *text)
{
    gt_supported_command item = {.command = command, .can = can, .text = text};
    GT_PUSH(d->commands, d->command_count, d->command_capacity, item);
}

void gt_diagnosis_warn(gt_diagnosis *d, const char *text)
{
    if (d->message_count >= MESSAGES_MAX) return;
    for (size_t i = 0; i < d->message_count; i++)
        if (strcmp(d->messages[i], text) == 0) return;
    const char *copy = gt_arena_bytes(&d->strings, text, strlen(text));
    GT_PUSH(d->messages, d->message_count, d->message_capacity, copy);
}

/* Whether a terminal shows the name as it is, so that it can be copied. */
static bool is_shown_as_is(const char *path)
{
    if (!gt_utf8_is_valid((gt_str){path, strlen(path)})) return false;
    for (const char *at = path, *end = path + strlen(path); at < end;) {
        uint32_t code = gt_utf8_next(&at, end);
        bool turns_text = (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
                          (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF || code == 0x61C;
        if (code < ' ' || (code >= 0x7F && code < 0xA0) || turns_text) return false;
    }
    return true;
}

/* Quotes a path for bash and zsh so that it survives being shown: names with line breaks, escapes and bytes
 * that are not UTF-8 are written as $'a\012b'. */
static void quote_path(gt_buffer *line, const char *path)
{
    if (is_shown_as_is(path)) {
        gt_shell_quote(line, path);
        return;
    }
    gt_buffer_add_cstr(line, "$'");
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        if (c < ' ' || c >= 0x7F)
            gt_buffer_add_format(line, "\\%03o", c);
        else if (c == '\'' || c == '\\')
            gt_buffer_add_format(line, "\\%c", c);
        else
            gt_buffer_add(line, path, 1);
    }
    gt_buffer_add_cstr(line, "'");
}

const char *gt_diagnosis_command(gt_diagnosis *d, const char *words, const char *path, const char *after)
{
    gt_buffer line = {0};
    gt_buffer_add_format(&line, "%s ", words);
    /* A name that begins like an option would be taken for one. */
    if (path[0] == '-' && path[1]) gt_buffer_add_cstr(&line, "./");
    quote_path(&line, path);
    if (strcmp(path, "-") == 0) gt_buffer_add_cstr(&line, " < FILE"); /* it can be read only once */
    if (after) gt_buffer_add_format(&line, " %s", after);
    gt_str text = gt_buffer_str(&line);
    const char *copy = gt_arena_bytes(&d->strings, text.bytes, text.len);
    gt_buffer_free(&line);
    return copy;
}
