/* The quoting rules of POSIX shells, as far as they split a line into words. */
#include "os/shell_words.h"

void gt_arg_list_add(gt_arena *arena, gt_arg_list *list, const char *word)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        const char **items = gt_arena_alloc(arena, capacity * sizeof *items);
        if (list->count) memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = gt_arena_bytes(arena, word, strlen(word));
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\n");
}

/* Inside of double quotes, after the opening one. NULL if only a shell can tell. */
static const char *take_double(const char *at, gt_buffer *word)
{
    for (; *at && *at != '"'; at++) {
        if (*at == '$' || *at == '`') return NULL;
        if (*at == '\\' && at[1] && strchr("$`\"\\", at[1])) at++;
        gt_buffer_add(word, at, 1);
    }
    return *at ? at + 1 : NULL;
}

static const char *take_single(const char *at, gt_buffer *word)
{
    const char *close = strchr(at, '\'');
    if (close) gt_buffer_add(word, at, (size_t)(close - at));
    return close ? close + 1 : NULL;
}

static const char *take_word(const char *at, gt_buffer *word)
{
    while (at && *at && !strchr(" \t\n", *at)) {
        if (*at == '\'')
            at = take_single(at + 1, word);
        else if (*at == '"')
            at = take_double(at + 1, word);
        else if (strchr("$`;&|<>()*?[~#!{}", *at))
            return NULL;
        else {
            if (*at == '\\' && !at[1]) return NULL;
            if (*at == '\\') at++;
            gt_buffer_add(word, at++, 1);
        }
    }
    return at;
}

bool gt_shell_split(gt_arena *arena, const char *line, gt_arg_list *words)
{
    gt_buffer word = {0};
    const char *at = skip_blanks(line);
    while (at && *at) {
        word.len = 0;
        at = take_word(at, &word);
        if (!at) break;
        gt_arg_list_add(arena, words, gt_buffer_str(&word).bytes);
        at = skip_blanks(at);
    }
    gt_buffer_free(&word);
    return at != NULL;
}

/* "=" needs no quotes only in an option: at the beginning of a line, A=1 is not a command. */
static bool is_plain(const char *word)
{
    if (!*word) return false;
    const char *marks = *word == '-' ? "_@%+=:,./-" : "_@%+:,./-";
    for (; *word; word++)
        if (!isalnum((unsigned char)*word) && !strchr(marks, *word)) return false;
    return true;
}

void gt_shell_quote(gt_buffer *line, const char *word)
{
    if (is_plain(word)) {
        gt_buffer_add_cstr(line, word);
        return;
    }
    gt_buffer_add_cstr(line, "'");
    for (; *word; word++) {
        if (*word == '\'')
            gt_buffer_add_cstr(line, "'\\''");
        else
            gt_buffer_add(line, word, 1);
    }
    gt_buffer_add_cstr(line, "'");
}

void gt_shell_join(gt_buffer *line, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i) gt_buffer_add_cstr(line, " ");
        gt_shell_quote(line, words[i]);
    }
}

const char *gt_shell_line(gt_arena *arena, const char *const *words, size_t count)
{
    gt_buffer line = {0};
    gt_shell_join(&line, words, count);
    return gt_buffer_move(&line, arena);
}
