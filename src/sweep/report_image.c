/* What is left of a trace of a sweep when its report was written, as an image (base/image.h), and back: its
 * collectives, messages and outcome, for the process that makes the reports on settings. */
#include "sweep/report_job.h"

#include "analysis/collective/sheets.h"
#include "table/image.h"

static const char owner[] = "trace";

enum { MADE, FAILURES, CUT, DEVICES, RANK, HAS_ROWS, NUMBERS };

bool gt_report_task_pack(void *context, size_t index, gt_image *image)
{
    gt_report_job *j = context;
    const gt_report_task *t = &j->tasks[index];
    const gt_report_setting *s = &j->settings[t->config];
    const gt_buffer *messages = gt_report_messages(j, t);
    gt_table *rows = s->rows[t->trace - s->traces.items];
    const int64_t numbers[NUMBERS] = {
        [MADE] = t->made,        [FAILURES] = (int64_t)t->failures,
        [CUT] = t->is_cut,       [DEVICES] = t->trace == s->traces.items ? (int64_t)s->devices : 0,
        [RANK] = t->trace->rank, [HAS_ROWS] = rows != NULL};
    gt_image_add_numbers(image, owner, "numbers", numbers, NUMBERS);
    gt_image_add(image, owner, "messages", messages->bytes, messages->len);
    gt_written_save(&t->written, image);
    if (!rows) return true;
    gt_tables_save(&rows, 1, t->strings, image);
    gt_strings_save(t->strings, image);
    return true;
}

void gt_report_task_drop(void *context, size_t index)
{
    gt_report_job *j = context;
    gt_report_task *t = &j->tasks[index];
    gt_report_setting *s = &j->settings[t->config];
    gt_table **rows = &s->rows[t->trace - s->traces.items];
    gt_table_free(*rows);
    *rows = NULL;
    gt_interner_free(t->strings);
    t->strings = NULL;
    gt_written_free(&t->written);
    t->made = false;
    t->failures = 0;
    t->is_cut = false;
    if (s->is_kept) return; /* the messages are those of the stamp */
    gt_buffer_free(gt_report_messages(j, t));
    *gt_report_messages(j, t) = (gt_buffer){0};
}

static void take_table(void *to, gt_table *table)
{
    gt_table **rows = to;
    gt_table_free(*rows);
    *rows = table;
}

/* The rows get strings of their own, so that the image can be freed. */
static gt_table *load_rows(gt_report_task *t, const gt_image *image)
{
    gt_table *rows = NULL;
    gt_interner *strings = gt_strings_load(image);
    bool sound = strings && gt_tables_load(image, strings, take_table, &rows) && rows &&
                 gt_collectives_are_sound(rows, t->trace->rank);
    if (sound) {
        t->strings = gt_interner_new();
        gt_table_use_strings(rows, t->strings);
    } else {
        gt_table_free(rows);
        rows = NULL;
    }
    gt_interner_free(strings);
    return rows;
}

bool gt_report_task_unpack(void *context, size_t index, const gt_image *image)
{
    gt_report_job *j = context;
    gt_report_task *t = &j->tasks[index];
    gt_report_setting *s = &j->settings[t->config];
    size_t len = 0;
    const int64_t *numbers = gt_image_get_all(image, owner, "numbers", sizeof *numbers, NUMBERS);
    const char *messages = gt_image_get(image, owner, "messages", 1, &len);
    if (!numbers || !messages || numbers[RANK] != t->trace->rank || numbers[FAILURES] < 0 ||
        numbers[FAILURES] > INT32_MAX || numbers[DEVICES] < 0 || numbers[DEVICES] > INT32_MAX ||
        !gt_captured_is_sound((gt_str){messages, len}))
        return false;
    gt_table *rows = numbers[HAS_ROWS] ? load_rows(t, image) : NULL;
    if (numbers[HAS_ROWS] && !rows) return false;
    s->rows[t->trace - s->traces.items] = rows;
    t->made = numbers[MADE] != 0;
    t->failures = (size_t)numbers[FAILURES];
    t->is_cut = numbers[CUT] != 0;
    if (t->trace == s->traces.items) s->devices = (size_t)numbers[DEVICES];
    if (!s->is_kept) gt_buffer_add(gt_report_messages(j, t), messages, len);
    return true;
}

char *gt_report_task_key(const gt_report_job *j)
{
    const gt_sweep_report_options *o = j->options;
    return gt_format("sweep report %d%d%d%d%d%d%d%d %s", o->profiler_folder != NULL, o->rocprof, o->by_pid,
                     o->full_names, o->old_layout, o->strict, o->no_ranks, o->no_collectives, j->analysis);
}

/* Reports may have been removed or changed since an earlier run wrote them. */
bool gt_report_task_is_usable(void *context, size_t index, const gt_image *image)
{
    (void)context;
    (void)index;
    const int64_t *numbers = gt_image_get_all(image, owner, "numbers", sizeof *numbers, NUMBERS);
    return numbers && !numbers[FAILURES] && !numbers[CUT] && gt_written_are_there(image);
}
