/* A diagnosis for people. The first two lines answer: what is it, can it be used, and what to type next. */
#include "doctor/doctor.h"

enum { NAME_WIDTH = 18, LEAST_WIDTH = 40, PARTS_SHOWN = 16 };

/* Wraps the text at spaces; later lines are indented. Names of files and of what is in them may have line
 * breaks, which must not look like lines of the diagnosis: they are shown as \n. */
static void print_wrapped(const gt_terminal *t, const char *text, size_t at, size_t indent)
{
    gt_buffer shown = {0};
    gt_display_add(&shown, (gt_str){text, strlen(text)}, true);
    text = gt_buffer_str(&shown).bytes;
    size_t width = t->width < LEAST_WIDTH ? LEAST_WIDTH : t->width;
    bool first = true;
    while (*text) {
        size_t len = strcspn(text, " ");
        if (!first && at + 1 + len > width) {
            fprintf(t->file, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', t->file);
            at++;
        }
        fwrite(text, 1, len, t->file);
        at += gt_display_width((gt_str){text, len});
        text += len;
        text += strspn(text, " ");
        first = false;
    }
    fputc('\n', t->file);
    gt_buffer_free(&shown);
}

__attribute__((format(printf, 3, 4))) static void print_row(const gt_terminal *t, const char *name,
                                                            const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char text[4096];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t len = strlen(name);
    fprintf(t->file, "  %s%*s", name, (int)(len < NAME_WIDTH ? NAME_WIDTH - len : 1), "");
    print_wrapped(t, text, 2 + (len < NAME_WIDTH ? NAME_WIDTH : len + 1), NAME_WIDTH + 2);
}

/* ---- facts ---- */

static void add_count(gt_buffer *line, double count)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.0f", count);
    size_t len = strlen(digits), first = digits[0] == '-';
    for (size_t i = 0; i < len; i++) {
        if (i > first && (len - i) % 3 == 0) gt_buffer_add_cstr(line, ",");
        gt_buffer_add(line, &digits[i], 1);
    }
}

static void add_bytes(gt_buffer *line, double bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < GT_LENGTH(units)) {
        bytes /= 1000;
        unit++;
    }
    gt_buffer_add_format(line, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

/* "python_functions" as "python functions". */
static void add_name(gt_buffer *line, const char *name)
{
    for (; *name; name++) gt_buffer_add(line, *name == '_' ? " " : name, 1);
}

static void add_fact(gt_buffer *line, const gt_fact *fact)
{
    if (line->len) gt_buffer_add_cstr(line, "; ");
    if (strcmp(fact->name, "bytes") == 0) {
        add_bytes(line, fact->number);
    } else if (fact->type == GT_FACT_COUNT) {
        add_name(line, fact->name);
        gt_buffer_add_cstr(line, " ");
        add_count(line, fact->number);
    } else if (fact->type == GT_FACT_NUMBER) {
        size_t len = strlen(fact->name), unit = fact->text ? strlen(fact->text) + 1 : 0;
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(len > unit ? len - unit : len), fact->name);
        add_name(line, name);
        gt_buffer_add_format(line, " %.3f %s", fact->number, fact->text ? fact->text : "");
    } else if (fact->type == GT_FACT_BOOL) {
        gt_buffer_add_format(line, "%s %s", fact->name, fact->number != 0 ? "on" : "off");
    } else if (strcmp(fact->name, "profiler") == 0) {
        gt_buffer_add_cstr(line, fact->text);
    } else {
        add_name(line, fact->name);
        gt_buffer_add_format(line, ": %s", fact->text);
    }
}

static void print_facts(const gt_diagnosis *d, const gt_terminal *t)
{
    static const char *const names[GT_FACT_GROUPS] = {"file", "made by", "contents"};
    for (int group = 0; group < GT_FACT_GROUPS; group++) {
        gt_buffer line = {0};
        for (size_t i = 0; i < d->fact_count; i++) {
            const gt_fact *fact = &d->facts[i];
            bool is_none = fact->type == GT_FACT_COUNT && fact->number == 0 &&
                           strcmp(fact->name, "rank") != 0 && strcmp(fact->name, "bytes") != 0 &&
                           strcmp(fact->name, "first_step") != 0 && strcmp(fact->name, "last_step") != 0;
            if ((int)fact->group == group && !is_none) add_fact(&line, fact);
        }
        if (line.len) print_row(t, names[group], "%s", gt_buffer_str(&line).bytes);
        gt_buffer_free(&line);
    }
}

/* ---- the rest ---- */

static void print_gaps(const gt_diagnosis *d, const gt_terminal *t)
{
    if (!d->missing_count) return;
    gt_terminal_heading(t, "Missing");
    for (size_t i = 0; i < d->missing_count; i++) {
        const gt_missing_item *item = &d->missing[i];
        print_row(t, item->id, "%s%s%s", item->text, item->effect ? ": " : "",
                  item->effect ? item->effect : "");
        if (item->fix) print_row(t, "", "-> %s", item->fix);
    }
}

static void print_checks(const gt_diagnosis *d, const gt_terminal *t)
{
    if (!d->check_count && !d->message_count) return;
    gt_terminal_heading(t, "Not as it should be");
    for (size_t i = 0; i < d->check_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s %s", d->checks[i].id, d->checks[i].level);
        print_row(t, name, "%s", d->checks[i].text);
    }
    for (size_t i = 0; i < d->message_count; i++) print_row(t, "message", "%s", d->messages[i]);
}

/* Sheets without rows, those with the same reason in one line. */
static void print_sheets(const gt_diagnosis *d, const gt_terminal *t)
{
    size_t full = 0;
    for (size_t i = 0; i < d->sheet_count; i++) full += d->sheets[i].rows > 0;
    if (!full) return;
    gt_terminal_heading(t, "Sheets of the report");
    print_row(t, "with rows", "%zu", full);
    for (size_t i = 0; i < d->sheet_count; i++) {
        const char *why = d->sheets[i].why;
        bool is_first = !d->sheets[i].rows && why;
        for (size_t k = 0; k < i && is_first; k++)
            is_first = d->sheets[k].rows || !d->sheets[k].why || strcmp(d->sheets[k].why, why) != 0;
        if (!is_first) continue;
        gt_buffer line = {0};
        for (size_t k = i; k < d->sheet_count; k++)
            if (!d->sheets[k].rows && d->sheets[k].why && strcmp(d->sheets[k].why, why) == 0)
                gt_buffer_add_format(&line, "%s%s", line.len ? ", " : "", d->sheets[k].name);
        print_row(t, "empty", "%s (%s)", gt_buffer_str(&line).bytes, why);
        gt_buffer_free(&line);
    }
}

static void print_abilities(const gt_diagnosis *d, const gt_terminal *t)
{
    if (!d->command_count) return;
    gt_terminal_heading(t, "What gputally can do with it");
    for (size_t i = 0; i < d->command_count; i++)
        print_row(t, d->commands[i].command, "%s%s",
                  d->commands[i].can ? "" : "no: ", d->commands[i].text ? d->commands[i].text : "");
}

static const char *state_of(const gt_diagnosis *d)
{
    if (!d->usable) return "not usable";
    return !d->verdict ? "usable" : strcmp(d->verdict, "good") == 0 ? "good" : d->verdict;
}

/* "t.json: PyTorch trace: usable" and what follows. The path is not wrapped: the rest of a name with spaces
 * could look like a line of the diagnosis. */
static void print_state(const gt_diagnosis *d, const gt_terminal *t, size_t indent, const char *rest)
{
    gt_buffer path = {0}, line = {0};
    gt_display_add(&path, (gt_str){d->path, strlen(d->path)}, true);
    if (strcmp(d->path, "-") == 0) path.len = 0;
    if (!path.len) gt_buffer_add_cstr(&path, "standard input");
    gt_buffer_add_format(&line, ": %s: %s%s", d->what, state_of(d), rest);
    fputs(gt_buffer_str(&path).bytes, t->file);
    print_wrapped(t, gt_buffer_str(&line).bytes, gt_display_width(gt_buffer_str(&path)), indent);
    gt_buffer_free(&line);
    gt_buffer_free(&path);
}

void gt_diagnosis_print_brief(const gt_diagnosis *d, const gt_terminal *t)
{
    gt_buffer rest = {0};
    if (!d->usable && d->problem) gt_buffer_add_format(&rest, ": %s", d->problem);
    for (size_t i = 0; i < d->missing_count; i++)
        gt_buffer_add_format(&rest, "%s%s", i ? ", " : "; missing: ", d->missing[i].id);
    print_state(d, t, 4, gt_buffer_str(&rest).bytes);
    gt_buffer_free(&rest);
}

static void print_head(const gt_diagnosis *d, const gt_terminal *t)
{
    print_state(d, t, 4, ""); /* not a heading, which would be cut */
    if (d->problem) print_row(t, d->usable ? "note" : "why", "%s", d->problem);
    /* Not wrapped: the line is there to be copied. */
    if (d->next) fprintf(t->file, "  %-*s%s\n", NAME_WIDTH, "next", d->next);
    if (d->next && d->next_text) print_row(t, "", "%s", d->next_text);
}

void gt_diagnosis_print(const gt_diagnosis *d, const gt_terminal *t)
{
    print_head(d, t);
    print_facts(d, t);
    if (d->part_count) gt_terminal_heading(t, "Files");
    for (size_t i = 0; i < d->part_count && i < PARTS_SHOWN; i++) {
        fputs("  ", t->file);
        gt_diagnosis_print_brief(d->parts[i], t);
    }
    if (d->part_count > PARTS_SHOWN)
        fprintf(t->file, "  and %zu more (all in the JSON of --output_json)\n", d->part_count - PARTS_SHOWN);
    print_gaps(d, t);
    print_checks(d, t);
    print_sheets(d, t);
    print_abilities(d, t);
    if (d->recording) {
        gt_terminal_heading(t, "To record all of it");
        fprintf(t->file, "  %s\n", d->recording);
    }
}
