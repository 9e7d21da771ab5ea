/* Lines on standard output, with a timestamp in the log form; messages of the library that TraceLens prints
 * are such lines too, the others go to standard error. */
#include "cli/journal.h"
#include "os/clock.h"

static bool kept, only_problems;
static gt_journal_form kept_form;

static void print_line(const char *level, const char *format, va_list args)
{
    struct timespec now;
    char stamp[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gt_clock_format(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", now.tv_sec);
    printf("[%s,%03ld] {gputally} %s - ", stamp, now.tv_nsec / 1000000, level);
    vprintf(format, args);
    putchar('\n');
}

__attribute__((format(printf, 2, 3))) static void print_at(const char *level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(level, format, args);
    va_end(args);
}

/* Only library messages that start like this are printed by TraceLens, to standard output; the others are
 * gputally's own and go to standard error. */
static bool is_known(gt_journal_form form, const char *text)
{
    static const struct {
        gt_journal_form form;
        const char *begin;
    } known[] = {
        {GT_JOURNAL_LOG, "No kernel events found in rocprof data"},
        {GT_JOURNAL_LOG, "No kernels found with duration < "},
        {GT_JOURNAL_PLAIN, "Detected GPU-only trace."},
        {GT_JOURNAL_PLAIN, "Recompute detection:"},
        {GT_JOURNAL_PLAIN, "Generating inference phase "},
        {GT_JOURNAL_PLAIN, "✓ Generated "},
        {GT_JOURNAL_PLAIN, "⚠ No "},
    };
    for (size_t i = 0; i < GT_LENGTH(known); i++)
        if (known[i].form == form && strncmp(text, known[i].begin, strlen(known[i].begin)) == 0) return true;
    return false;
}

static void print_message(bool warning, const char *text)
{
    if (!is_known(kept_form, text))
        fprintf(stderr, "gputally: %s%s\n", warning ? "warning: " : "", text);
    else if (kept_form == GT_JOURNAL_LOG)
        print_at(warning ? "WARNING" : "INFO", "%s", text);
    else
        puts(text);
}

void gt_journal_start(gt_journal_form form, bool quiet)
{
    kept = true;
    kept_form = form;
    only_problems = quiet;
    gt_log_to(print_message);
}

void gt_journal_end(void)
{
    kept = false;
    gt_log_to(NULL);
}

bool gt_journal_is_kept(void)
{
    return kept;
}

void gt_journal_print(const char *format, ...)
{
    if (!kept || only_problems || kept_form != GT_JOURNAL_PLAIN) return;
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

void gt_journal_info(const char *format, ...)
{
    if (!kept || only_problems || kept_form != GT_JOURNAL_LOG) return;
    va_list args;
    va_start(args, format);
    print_line("INFO", format, args);
    va_end(args);
}

bool gt_journal_error(const char *format, ...)
{
    if (!kept || kept_form != GT_JOURNAL_LOG) return false;
    va_list args;
    va_start(args, format);
    print_line("ERROR", format, args);
    va_end(args);
    return true;
}
