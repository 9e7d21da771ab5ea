/* Counting what is left out of a trace, and the sentence that says so. */
#include "trace/account.h"

/* A clock never shows 0 while a kernel runs, but tests of programs do: a start of 0 is absent if the record
 * would last longer than this. */
static const int64_t longest_from_0_ns = 1000000000;

static const char *const reasons[GT_LEFT_REASONS] = {
    [GT_LEFT_NO_EVENT] = "that are no events (not an object, or without phase or category)",
    [GT_LEFT_NO_TIME] = "without a start or a duration",
    [GT_LEFT_NO_START] = "without a start",
    [GT_LEFT_NO_END] = "without an end",
    [GT_LEFT_NEGATIVE] = "that end before they start",
    [GT_LEFT_DUPLICATE] = "that are in the file twice",
};

gt_fault gt_account_judge(int64_t start_ns, int64_t end_ns)
{
    if (!start_ns && !end_ns) return GT_LEFT_NO_TIME;
    if (!end_ns && start_ns > 0) return GT_LEFT_NO_END;
    if (!start_ns && end_ns > longest_from_0_ns) return GT_LEFT_NO_START;
    return end_ns < start_ns ? GT_LEFT_NEGATIVE : GT_USED;
}

void gt_account_leave_out(gt_account *account, gt_fault why, const char *what, uint64_t number, bool is_gpu)
{
    struct gt_left_out_count *left = &account->left[why];
    if (!left->count++) {
        left->first = number + 1;
        left->what = what;
    }
    account->gpu_lost += is_gpu;
}

void gt_account_add_left(gt_account *account, const gt_account *later)
{
    for (size_t i = 0; i < GT_LEFT_REASONS; i++) {
        struct gt_left_out_count *left = &account->left[i];
        if (!left->count) {
            left->first = later->left[i].first;
            left->what = later->left[i].what;
        }
        left->count += later->left[i].count;
    }
    account->gpu_lost += later->gpu_lost;
}

uint64_t gt_account_left(const gt_account *account)
{
    uint64_t count = 0;
    for (size_t i = 0; i < GT_LEFT_REASONS; i++) count += account->left[i].count;
    return count;
}

char *gt_account_text(const gt_account *account)
{
    gt_buffer text = {0};
    unsigned long long left = gt_account_left(account), used = account->used, records = account->records;
    gt_buffer_add_format(&text, "%llu %s in the file, %llu used", records,
                         gt_noun(records, "record", "records"), used);
    if (records > used + left) gt_buffer_add_format(&text, ", %llu not needed", records - used - left);
    gt_buffer_add_format(&text, ", %llu left out", left);
    const char *before = ": ";
    for (size_t i = GT_USED + 1; i < GT_LEFT_REASONS; i++) {
        const struct gt_left_out_count *reason = &account->left[i];
        if (!reason->count) continue;
        gt_buffer_add_format(&text, "%s%llu %s (the first is %s %llu)", before,
                             (unsigned long long)reason->count, reasons[i], reason->what,
                             (unsigned long long)reason->first);
        before = ", ";
    }
    char *copy = gt_strdup(gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
    return copy;
}

void gt_account_warn(const gt_account *account)
{
    if (!gt_account_left(account)) return;
    char *text = gt_account_text(account);
    gt_warn("%s", text);
    gt_free(text);
}
