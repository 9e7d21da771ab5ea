/* A table of messages by hash, with the text that stands for all of them: without the file's name. */
#include "base/repeats.h"
#include "base/map.h"
#include "base/memory.h"

#include <ctype.h>

enum { MESSAGES_MAX = 1024, SLOTS = 2 * MESSAGES_MAX }; /* further messages are printed every time */

typedef struct entry {
    char *text;    /* without the file */
    char *printed; /* NULL: no memory */
    bool warning, loose, is_about_files;
    size_t more;
} entry;

struct gt_repeats {
    size_t count;
    entry entries[MESSAGES_MAX];
    uint16_t slots[SLOTS]; /* index + 1 of an entry; 0: free */
};

/* The text without the file: "FILE: text" is cut, and "text of FILE" becomes "text of ...". malloc'ed. */
static char *without_file(const char *text, const char *file)
{
    const char *at = file && *file ? strstr(text, file) : NULL;
    if (!at) return strdup(text);
    size_t len = strlen(file);
    if (at == text && strncmp(text + len, ": ", 2) == 0) return strdup(text + len + 2);
    size_t size = strlen(text) - len + sizeof "...";
    char *other = malloc(size);
    if (other) snprintf(other, size, "%.*s...%s", (int)(at - text), text, at + len);
    return other;
}

/* Moves to the next character that counts and returns it: for loose messages, a number is one '0'. */
static char next_letter(const char **at, bool loose)
{
    char c = *(*at)++;
    if (!loose || !isdigit((unsigned char)c)) return c;
    while (isdigit((unsigned char)**at)) (*at)++;
    return '0';
}

static uint64_t hash_of(const char *text, bool loose)
{
    uint64_t hash = gt_map_seed();
    for (const char *at = text; *at;) hash = (hash ^ (unsigned char)next_letter(&at, loose)) * 0x100000001B3u;
    return hash ^ hash >> 29;
}

static bool is_same(const char *a, const char *b, bool loose)
{
    while (*a && *b)
        if (next_letter(&a, loose) != next_letter(&b, loose)) return false;
    return *a == *b;
}

bool gt_repeats_add(gt_repeats **list, bool warning, const char *text, const char *file, bool loose)
{
    if (!*list) *list = calloc(1, sizeof **list);
    gt_repeats *r = *list;
    char *key = r ? without_file(text, file) : NULL;
    if (!key) return true;
    size_t slot = hash_of(key, loose) % SLOTS;
    for (; r->slots[slot]; slot = (slot + 1) % SLOTS) {
        entry *e = &r->entries[r->slots[slot] - 1];
        if (e->warning != warning || e->loose != loose || !is_same(e->text, key, loose)) continue;
        e->more += !file || *file; /* "": dropped */
        free(key);
        return false;
    }
    if (r->count == MESSAGES_MAX) {
        free(key);
        return true;
    }
    r->entries[r->count] = (entry){.text = key,
                                   .printed = strdup(text),
                                   .warning = warning,
                                   .loose = loose,
                                   .is_about_files = file != NULL};
    r->slots[slot] = (uint16_t)++r->count;
    return true;
}

void gt_repeats_visit(const gt_repeats *list, gt_repeats_printer *visit, void *context)
{
    for (size_t i = 0; list && i < list->count; i++)
        if (list->entries[i].warning && list->entries[i].printed)
            visit(context, true, list->entries[i].printed);
}

void gt_repeats_end(gt_repeats **list, gt_repeats_printer *print, void *context)
{
    gt_repeats *r = *list;
    *list = NULL;
    for (size_t i = 0; r && i < r->count; i++) {
        entry *e = &r->entries[i];
        char line[8192 + 64];
        snprintf(line, sizeof line, "%zu more %s%s: %s", e->more, e->is_about_files ? "file" : "time",
                 e->more == 1 ? "" : "s", e->text);
        if (e->more) print(context, e->warning, line);
        free(e->text);
        free(e->printed);
    }
    free(r);
}

/* ---- the file, and the record ---- */

static _Thread_local gt_log_scope current GT_THREAD_LOCAL;

gt_log_scope gt_log_scope_current(void)
{
    return current;
}

gt_log_scope gt_log_scope_use(gt_log_scope scope)
{
    gt_log_scope before = current;
    current = scope;
    return before;
}

const char *gt_log_about(const char *file)
{
    const char *before = current.file;
    current.file = file;
    return before;
}

struct gt_log_record *gt_log_keep(struct gt_log_record *record)
{
    struct gt_log_record *before = current.record;
    current.record = record;
    return before;
}
