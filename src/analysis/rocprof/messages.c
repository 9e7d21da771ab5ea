/* Sheet nccl_messages: how much did NCCL send, in messages of which size? From the payloads of its ranges,
 * which Nsight Systems exports only if asked to (`nsys export --include-blobs=true`).
 *
 *     name             the function of NCCL
 *     communicator     its id; empty if it was not recorded
 *     Message Bytes    size of one message
 *     Count            calls with this size
 *     Total Bytes      Message Bytes * Count
 *     Total Time (ms)  how long these calls took on the host
 *
 * The largest Total Bytes first, then by name, communicator and size. */
#include "analysis/rocprof/sheets.h"

#include "analysis/sheet_parts.h"
#include "schema/columns.h"

static gt_table *message_records(const gt_rocprof *run, const int64_t *durations)
{
    size_t count = gt_store_count(run->messages);
    uint32_t *names = gt_store_string_ids(run->messages, GT_MESSAGE_NAME);
    uint32_t *communicators = gt_store_string_ids(run->messages, GT_MESSAGE_COMMUNICATOR);
    int64_t *bytes = gt_store_ints(run->messages, GT_MESSAGE_BYTES);
    gt_table *records = gt_table_new(GT_SHEET_CALLS, run->strings);
    gt_table_add_column(records, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(records, GT_COL_COMMUNICATOR, GT_TYPE_STRING);
    gt_table_add_column(records, GT_COL_MESSAGE_BYTES, GT_TYPE_INT);
    gt_table_add_column(records, GT_COL_DUR_NS, GT_TYPE_INT);
    gt_table_add_rows(records, count);
    for (size_t i = 0; i < count; i++) {
        records->columns[0].texts[i] = names[i];
        records->columns[1].texts[i] = communicators[i] ? communicators[i] : GT_STR_EMPTY;
        records->columns[2].ints[i] = bytes[i];
        records->columns[3].ints[i] = durations[i];
    }
    gt_free_all(names, communicators, bytes);
    return records;
}

gt_table *gt_rocprof_nccl_messages(gt_rocprof *run, bool *failed, gt_error *error)
{
    static const gt_col keys[] = {GT_COL_NAME, GT_COL_COMMUNICATOR, GT_COL_MESSAGE_BYTES};
    static const gt_aggregate sums[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE},
                                        {GT_COL_MESSAGE_BYTES, GT_GROUP_SUM, GT_COL_TOTAL_BYTES},
                                        {GT_COL_DUR_NS, GT_GROUP_SUM, GT_COL_TOTAL_NS}};
    static const gt_sort_key most_first[] = {{GT_COL_TOTAL_BYTES, true}};
    if (!run->messages || !gt_store_count(run->messages)) return NULL;
    int64_t *durations =
        gt_rocprof_durations(run->messages, GT_MESSAGE_START, GT_MESSAGE_END, "NCCL message", error);
    *failed = !durations;
    if (!durations) return NULL;
    gt_table *records = message_records(run, durations);
    gt_table *sheet = gt_table_group(records, keys, GT_LENGTH(keys), sums, GT_LENGTH(sums),
                                     (gt_group_options){.sorted = true});
    gt_table_free(records);
    gt_free(durations);
    gt_table_rename(sheet, GT_SHEET_NCCL_MESSAGES);
    gt_table_sort(sheet, most_first, GT_LENGTH(most_first));
    gt_table_ns_to_ms(sheet, gt_table_find(sheet, GT_COL_TOTAL_NS), GT_COL_TOTAL_TIME_MS_TITLE);
    return sheet;
}
