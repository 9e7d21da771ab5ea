/* The page of `gputally sweep compare OLD NEW...`, and the command itself with more than two sweeps: then the
 * page, with the changes since the first sweep, is the only output, because the other files of a comparison
 * are about two sweeps. */
#include "cli/sweep/sweep.h"
#include "sweep/page/page.h"

enum { TOP_DEFAULT = 5 /* of `sweep top` */ };

/* ---- the page ---- */

void gt_sweep_make_page(const gt_call *call, gt_sweep_measures *const *measures,
                        const gt_sweep_answer *const *answers, gt_buffer *page)
{
    size_t count = call->arguments.file_count;
    gt_page_sweep *sweeps = gt_alloc(count * sizeof *sweeps);
    gt_decision *decisions = gt_alloc(count * sizeof *decisions);
    gt_table_list *sheets = gt_alloc_zero(count, sizeof *sheets);
    char **texts = gt_alloc(2 * count * sizeof *texts), *command = gt_call_describe(call, NULL);
    for (size_t i = 0; i < count; i++) {
        texts[2 * i] = gt_sweep_folder_name(call->arguments.files[i]);
        texts[2 * i + 1] = gt_format("%s/" GT_SWEEP_ANALYSIS, call->arguments.files[i]);
        gt_decide(&decisions[i], measures[i]);
        gt_decision_add_sheets(&decisions[i], &sheets[i]);
        sweeps[i] = (gt_page_sweep){.label = texts[2 * i],
                                    .decision = &decisions[i],
                                    .sheets = &sheets[i],
                                    .baseline = SIZE_MAX,
                                    .analysis = texts[2 * i + 1],
                                    .top = TOP_DEFAULT,
                                    .answer = answers[i]};
    }
    gt_sweeps_page(sweeps, count, command, page);
    for (size_t i = 0; i < count; i++) {
        gt_table_list_free(&sheets[i]);
        gt_decision_free(&decisions[i]);
        gt_free_all(texts[2 * i], texts[2 * i + 1]);
    }
    gt_free_all(command, texts, sheets, decisions, sweeps);
}

/* ---- more than two sweeps ---- */

/* One of the sweeps; changes, facts and tables are about the first one and this. */
typedef struct shown_sweep {
    gt_sweep sweep;
    gt_sweep_measures measures;
    gt_sweep_changes changes;
    gt_machine_facts facts;
    gt_table_list tables;
    gt_sweep_answer answer;
} shown_sweep;

static void find_changes(const gt_call *call, size_t which, shown_sweep *s, const shown_sweep *first)
{
    gt_sweep_changes_find(&s->changes, &first->measures, &s->measures);
    gt_machine_facts_find(&s->facts, &first->sweep, &s->sweep);
    gt_sweep_changes_add_sheets(&s->changes, &s->tables);
    gt_machine_facts_add_sheet(&s->facts, s->changes.strings, &s->tables);
    s->answer = (gt_sweep_answer){.names = {call->arguments.files[0], call->arguments.files[which]},
                                  .changes = &s->changes,
                                  .facts = &s->facts,
                                  .tables = &s->tables};
}

static void say_changes(const shown_sweep *s)
{
    gt_buffer text = {0};
    printf("%s -> %s\n", s->answer.names[0], s->answer.names[1]);
    gt_sweep_answer_say(&s->answer, &text);
    fwrite(text.bytes, 1, text.len, stdout);
    putchar('\n');
    gt_buffer_free(&text);
}

static bool write_page(const gt_call *call, shown_sweep *shown, size_t count, gt_error *error)
{
    const char *path = gt_arguments_string(&call->arguments, "output_html");
    gt_sweep_measures **measures = gt_alloc(count * sizeof *measures);
    const gt_sweep_answer **answers = gt_alloc(count * sizeof *answers);
    gt_buffer page = {0};
    for (size_t i = 0; i < count; i++) {
        measures[i] = &shown[i].measures;
        answers[i] = i ? &shown[i].answer : NULL;
    }
    gt_sweep_make_page(call, measures, answers, &page);
    bool written = gt_sweep_write_texts(&path, (gt_str[]){gt_buffer_str(&page)}, 1, error);
    if (written && !gt_sweep_is_quiet(call)) printf("wrote %s\n", path);
    gt_buffer_free(&page);
    gt_free_all(measures, answers);
    return written;
}

static void free_sweeps(shown_sweep *shown, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gt_table_list_free(&shown[i].tables);
        gt_machine_facts_free(&shown[i].facts);
        gt_sweep_changes_free(&shown[i].changes);
        gt_sweep_measures_free(&shown[i].measures);
        gt_sweep_free(&shown[i].sweep);
    }
    gt_free(shown);
}

/* Only options that say how to read sweeps, and --output_html. */
static bool check_options(const gt_call *call, gt_error *error)
{
    static const char *const others[] = {"fail_if", "allow_missing", "output", "output_json", "output_md"};
    if (!gt_sweep_check_not_runs(call, error)) return false;
    for (size_t i = 0; i < GT_LENGTH(others); i++)
        if (gt_arguments_value(&call->arguments, others[i])->given)
            return gt_fail(error, "argument --%s: not allowed with %zu sweeps", others[i],
                           call->arguments.file_count);
    return gt_arguments_string(&call->arguments, "output_html") ||
           gt_fail(error, "%zu sweeps need --output_html: only a page shows more than two",
                   call->arguments.file_count);
}

gt_exit gt_cmd_sweep_several(const gt_call *call)
{
    gt_read_options read;
    gt_error error = {""};
    if (!gt_sweep_begin_reading(call, NULL, &read)) return GT_EXIT_USAGE;
    if (!check_options(call, &error)) return gt_usage_error(call->program, "%s", error.text);
    size_t count = call->arguments.file_count;
    shown_sweep *shown = gt_alloc_zero(count, sizeof *shown);
    bool made = true;
    for (size_t i = 0; i < count && made; i++)
        made = gt_sweep_measure_argument(call, i, &read, &shown[i].sweep, &shown[i].measures, &error);
    for (size_t i = 1; i < count && made; i++) {
        find_changes(call, i, &shown[i], shown);
        if (!gt_sweep_is_quiet(call)) say_changes(&shown[i]);
    }
    made = made && write_page(call, shown, count, &error);
    free_sweeps(shown, count);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}
