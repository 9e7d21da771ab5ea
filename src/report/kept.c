/* Reports in an index: tables, counts and messages as an image, and back. */
#include "report/kept.h"
#include "table/image.h"

static const char *const stages[GT_KEPT_STAGES] = {[GT_KEPT_READ] = "read", [GT_KEPT_MADE] = "made"};

/* Stands at the begin of a kept message for the trace's name, which may be another one next time. */
#define TITLE_MARK '\1'

/* ---- messages ----
 *
 * Each is its kind as a character, from '0', then its text, then a NUL. */

static void add_with_mark(gt_buffer *out, const char *text, const char *title)
{
    size_t len = strlen(title);
    if (strncmp(text, title, len) == 0 && text[len] == ':') {
        gt_buffer_add(out, &(char){TITLE_MARK}, 1);
        text += len;
    }
    gt_buffer_add(out, text, strlen(text) + 1);
}

static void hear(void *context, gt_message_kind kind, const char *text)
{
    gt_kept *kept = context;
    gt_buffer *out = &kept->messages[kept->stage];
    gt_buffer_add(out, &(char){(char)('0' + (int)kind)}, 1);
    add_with_mark(out, text, kept->title);
}

void gt_kept_listen(gt_kept *kept, gt_kept_stage stage)
{
    if (!gt_kept_wants(kept)) return;
    kept->stage = stage;
    kept->listener = (gt_log_listener){.hear = hear, .context = kept};
    gt_log_listen(&kept->listener);
}

void gt_kept_hush(gt_kept *kept)
{
    if (!gt_kept_wants(kept)) return;
    gt_log_unlisten(&kept->listener);
}

static void repeat(const char *kind_and_text, const char *title)
{
    gt_buffer text = {0};
    bool is_named = kind_and_text[1] == TITLE_MARK;
    if (is_named) gt_buffer_add_cstr(&text, title);
    gt_buffer_add_cstr(&text, kind_and_text + 1 + is_named);
    gt_log_repeat((gt_message_kind)(kind_and_text[0] - '0'), gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
}

void gt_kept_repeat(const gt_kept *kept, gt_kept_stage stage)
{
    const gt_buffer *messages = &kept->messages[stage];
    for (size_t at = 0; at < messages->len; at += strlen(messages->bytes + at) + 1)
        repeat(messages->bytes + at, kept->title);
}

static bool load_messages(gt_kept *kept, const gt_image *image)
{
    for (int stage = 0; stage < GT_KEPT_STAGES; stage++) {
        size_t len = 0;
        const char *bytes = gt_image_get(image, "messages", stages[stage], 1, &len);
        if (!bytes || (len && bytes[len - 1])) return false;
        for (size_t at = 0; at < len; at += strlen(bytes + at) + 1)
            if (bytes[at] < '0' || bytes[at] > '0' + GT_MESSAGE_INFO) return false;
        gt_buffer_add(&kept->messages[stage], bytes, len);
    }
    return true;
}

/* ---- facts ---- */

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static void save_facts(const gt_summary_facts *facts, gt_image *image)
{
    gt_image_add(image, "facts", "counts", facts->counts, sizeof facts->counts);
    gt_image_add(image, "facts", "communication", text_or_empty(facts->communication),
                 strlen(text_or_empty(facts->communication)));
    gt_image_add(image, "facts", "left_out", text_or_empty(facts->left_out),
                 strlen(text_or_empty(facts->left_out)));
}

static bool load_text(const gt_image *image, const char *name, char **text)
{
    size_t len = 0;
    const char *bytes = gt_image_get(image, "facts", name, 1, &len);
    if (!bytes || len > INT32_MAX || memchr(bytes, 0, len)) return false;
    *text = len ? gt_format("%.*s", (int)len, bytes) : NULL;
    return true;
}

static bool load_facts(const gt_image *image, gt_summary_facts *facts)
{
    const int64_t *counts = gt_image_get_all(image, "facts", "counts", sizeof *counts, GT_FACT_COUNTS);
    if (!counts) return false;
    memcpy(facts->counts, counts, sizeof facts->counts);
    return load_text(image, "communication", &facts->communication) &&
           load_text(image, "left_out", &facts->left_out);
}

/* ---- finding ---- */

static void add_table(void *list, gt_table *table)
{
    gt_table_list_add(list, table);
}

/* All tables of a report are one list in the image, in which those of the page are the last. */
static bool split_tables(gt_kept *kept, const gt_image *image)
{
    const int64_t *count = gt_image_get_all(image, "page", "tables", sizeof *count, 1);
    if (!count || *count < 0 || (uint64_t)*count > kept->tables.count) return false;
    size_t first = kept->tables.count - (size_t)*count;
    for (size_t i = first; i < kept->tables.count; i++) gt_table_list_add(&kept->page, kept->tables.items[i]);
    kept->tables.count = first;
    return true;
}

static void forget(gt_kept *kept)
{
    gt_table_list_free(&kept->tables);
    gt_table_list_free(&kept->page);
    gt_summary_facts_free(&kept->facts);
    for (int stage = 0; stage < GT_KEPT_STAGES; stage++) {
        gt_buffer_free(&kept->messages[stage]);
        kept->messages[stage] = (gt_buffer){0};
    }
    gt_interner_free(kept->strings);
    kept->strings = NULL;
}

static void find(gt_kept *kept, const char *key)
{
    gt_image image = {0};
    if (!key || !gt_index_find(kept->index, key, &image)) return;
    kept->strings = gt_strings_load(&image);
    bool sound = kept->strings && load_messages(kept, &image) && load_facts(&image, &kept->facts) &&
                 gt_tables_load(&image, kept->strings, add_table, &kept->tables) &&
                 split_tables(kept, &image);
    gt_image_free(&image);
    if (sound) {
        gt_index_lend(kept->index, kept->strings);
        return;
    }
    forget(kept);
    gt_index_reject(kept->index);
}

void gt_kept_open(gt_kept *kept, const gt_index_policy *policy, const char *trace_path, const char *title,
                  const char *key, const char *key_with_more)
{
    *kept = (gt_kept){.title = title, .key = key ? gt_strdup(key) : NULL};
    kept->index = gt_index_open(policy, trace_path);
    find(kept, key);
    if (!gt_kept_is_found(kept)) find(kept, key_with_more);
}

void gt_kept_close(gt_kept *kept)
{
    forget(kept);
    gt_index_close(kept->index);
    gt_free(kept->key);
    *kept = (gt_kept){0};
}

/* ---- keeping ---- */

bool gt_kept_wants(const gt_kept *kept)
{
    return kept->key && !gt_kept_is_found(kept) && gt_index_keeps(kept->index);
}

static void save_tables(const gt_table_list *tables, const gt_table_list *page, gt_interner *strings,
                        gt_image *image)
{
    size_t count = tables->count + page->count;
    gt_table **all = gt_alloc(count * sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = i < tables->count ? tables->items[i] : page->items[i - tables->count];
    gt_tables_save(all, count, strings, image);
    gt_image_add_numbers(image, "page", "tables", &(int64_t){(int64_t)page->count}, 1);
    gt_free(all);
}

void gt_kept_keep(gt_kept *kept, gt_index_kind kind, const gt_table_list *tables, const gt_table_list *page,
                  const gt_summary_facts *facts)
{
    gt_image image = {0};
    gt_interner *strings = gt_interner_new();
    save_tables(tables, page, strings, &image);
    gt_strings_save(strings, &image);
    save_facts(facts, &image);
    for (int stage = 0; stage < GT_KEPT_STAGES; stage++)
        gt_image_add(&image, "messages", stages[stage], kept->messages[stage].bytes,
                     kept->messages[stage].len);
    gt_index_keep(kept->index, kind, kept->key, &image);
    gt_image_free(&image);
    gt_interner_free(strings);
}
