/* The answer of a comparison of two sweeps: in sentences, as JSON for scripts, as Markdown for pull requests.
 */
#include "sweep/gate/gate.h"

#include "report/answers.h"
#include "schema/columns.h"

enum { OLD, NEW, NAMES_MAX = 8, WIDTH_MAX = 120 };

/* Text of a file in a sentence: control characters are replaced, and it is shortened. */
static void add_name(gt_buffer *text, const char *name)
{
    gt_buffer shown = {0}, cut = {0};
    gt_display_add(&shown, (gt_str){name, strlen(name)}, true);
    gt_display_add_cut(&cut, gt_buffer_str(&shown), WIDTH_MAX, true);
    gt_buffer_add(text, gt_buffer_str(&cut).bytes, cut.len);
    gt_buffer_free(&shown);
    gt_buffer_free(&cut);
}

static void add_p(gt_buffer *text, double p)
{
    if (p < 0.0001)
        gt_buffer_add_cstr(text, "p < 0.0001");
    else
        gt_buffer_add_format(text, "p = %.2g", p);
}

/* ---- settings ---- */

static void say_step(const gt_sweep_changes *c, const gt_setting_pair *pair, gt_buffer *text)
{
    const gt_sweep_change *change = &c->changes[pair->step];
    gt_buffer_add_cstr(text, "  ");
    add_name(text, pair->name);
    gt_buffer_add_format(text, ": step time %+.1f %% (95 %% interval %+.1f to %+.1f %%, ",
                         change->change_pct.value, change->change_pct.low, change->change_pct.high);
    add_p(text, change->p_value);
    gt_buffer_add_cstr(text, ")\n");
}

/* The settings with this verdict, each with its change; "N more" after the first ones. */
static void say_steps(const gt_sweep_changes *c, gt_change_verdict verdict, gt_buffer *text)
{
    size_t all = gt_sweep_changes_count(c, verdict), said = 0;
    if (!all) return;
    gt_buffer_add_format(text, "%c%s:\n", gt_change_verdict_names[verdict][0] - 'a' + 'A',
                         gt_change_verdict_names[verdict] + 1);
    for (size_t i = 0; i < c->setting_count && said < NAMES_MAX; i++) {
        if (c->settings[i].verdict != verdict) continue;
        say_step(c, &c->settings[i], text);
        said++;
    }
    if (all > said) gt_buffer_add_format(text, "  and %zu more\n", all - said);
}

static void say_names(const gt_sweep_changes *c, gt_change_verdict verdict, const char *what, gt_buffer *text)
{
    size_t all = gt_sweep_changes_count(c, verdict), said = 0;
    if (!all) return;
    gt_buffer_add_format(text, "%s: ", what);
    for (size_t i = 0; i < c->setting_count && said < NAMES_MAX; i++) {
        if (c->settings[i].verdict != verdict) continue;
        if (said++) gt_buffer_add_cstr(text, ", ");
        add_name(text, c->settings[i].name);
    }
    if (all > said) gt_buffer_add_format(text, " and %zu more", all - said);
    gt_buffer_add_cstr(text, "\n");
}

static void say_unequal(const gt_sweep_changes *c, gt_buffer *text)
{
    size_t all = gt_sweep_changes_count(c, GT_CHANGE_UNEQUAL), said = 0;
    if (all) gt_buffer_add_cstr(text, "Not comparable:\n");
    for (size_t i = 0; i < c->setting_count && said < NAMES_MAX; i++) {
        if (c->settings[i].verdict != GT_CHANGE_UNEQUAL) continue;
        gt_buffer_add_cstr(text, "  ");
        add_name(text, c->settings[i].name);
        gt_buffer_add_format(text, ": %s\n", c->settings[i].reason);
        said++;
    }
    if (all > said) gt_buffer_add_format(text, "  and %zu more\n", all - said);
}

/* Other measures than the step time that changed. */
static void say_measures(const gt_sweep_changes *c, gt_buffer *text)
{
    for (gt_sweep_measure_kind kind = GT_MEASURE_EXPOSED; kind < GT_MEASURES; kind++) {
        size_t counts[GT_CHANGE_VERDICTS] = {0}, all = 0;
        for (size_t i = 0; i < c->change_count; i++) {
            if (c->changes[i].kind != kind) continue;
            counts[c->changes[i].verdict]++;
            all++;
        }
        if (counts[GT_CHANGE_WORSE] + counts[GT_CHANGE_BETTER])
            gt_buffer_add_format(text, "%s: %zu worse and %zu better of %zu comparisons\n",
                                 gt_sweep_measure_names[kind], counts[GT_CHANGE_WORSE],
                                 counts[GT_CHANGE_BETTER], all);
    }
}

static void say_spread(const gt_sweep_changes *c, gt_buffer *text)
{
    if (c->spread == GT_SPREAD_REPEATS) return;
    gt_buffer_add_cstr(
        text, "Each setting was run once, which does not show how much runs differ: no change can be told "
              "from noise. Repeat the command lines of both sweeps with --repeat 5 --skip_existing.\n");
}

static void say_machines(const gt_machine_facts *facts, gt_buffer *text)
{
    size_t differing = 0;
    for (size_t i = 0; i < facts->count; i++) differing += facts->items[i].differs;
    if (!facts->count)
        gt_buffer_add_cstr(text, "Nothing is recorded about the machines.\n");
    else if (!differing)
        gt_buffer_add_cstr(text, "What is recorded of the machines is the same.\n");
    else
        gt_buffer_add_cstr(text, "The machines or their software differ:\n");
    for (size_t i = 0; i < facts->count; i++) {
        const gt_machine_fact *fact = &facts->items[i];
        if (!fact->differs) continue;
        gt_buffer_add_cstr(text, "  ");
        add_name(text, fact->name);
        gt_buffer_add_cstr(text, ": ");
        add_name(text, fact->values[OLD]);
        gt_buffer_add_cstr(text, " -> ");
        add_name(text, fact->values[NEW]);
        gt_buffer_add_cstr(text, "\n");
    }
}

void gt_sweep_answer_say(const gt_sweep_answer *answer, gt_buffer *text)
{
    const gt_sweep_changes *c = answer->changes;
    gt_buffer_add_format(
        text, "%zu %s in both sweeps: %zu worse, %zu better, %zu cannot be told apart", c->in_both,
        c->in_both == 1 ? "setting" : "settings", gt_sweep_changes_count(c, GT_CHANGE_WORSE),
        gt_sweep_changes_count(c, GT_CHANGE_BETTER), gt_sweep_changes_count(c, GT_CHANGE_UNDECIDED));
    if (gt_sweep_changes_count(c, GT_CHANGE_UNKNOWN))
        gt_buffer_add_format(text, ", %zu run only once", gt_sweep_changes_count(c, GT_CHANGE_UNKNOWN));
    if (gt_sweep_changes_count(c, GT_CHANGE_UNEQUAL))
        gt_buffer_add_format(text, ", %zu not comparable", gt_sweep_changes_count(c, GT_CHANGE_UNEQUAL));
    gt_buffer_add_cstr(text, ".\n");
    say_steps(c, GT_CHANGE_WORSE, text);
    say_steps(c, GT_CHANGE_BETTER, text);
    say_measures(c, text);
    say_unequal(c, text);
    say_names(c, GT_CHANGE_MISSING, "Missing in the new sweep", text);
    say_names(c, GT_CHANGE_NEW, "Only in the new sweep", text);
    say_spread(c, text);
    say_machines(answer->facts, text);
}

/* ---- JSON ---- */

static void put_names(gt_json_writer *w, const gt_sweep_changes *c)
{
    gt_json_put_open(w, "settings", '{');
    for (gt_change_verdict verdict = 0; verdict < GT_CHANGE_VERDICTS; verdict++) {
        gt_json_put_open(w, gt_change_verdict_names[verdict], '[');
        for (size_t i = 0; i < c->setting_count; i++)
            if (c->settings[i].verdict == verdict) gt_json_add_cstr(w, c->settings[i].name);
        gt_json_close(w, ']');
    }
    gt_json_close(w, '}');
}

void gt_sweep_answer_json(const gt_sweep_answer *answer, gt_buffer *text)
{
    gt_json_writer w = {0};
    gt_json_open(&w, '{');
    gt_json_put_cstr(&w, "schema", GT_SWEEP_COMPARISON_SCHEMA);
    gt_json_put_cstr(&w, "old", answer->names[OLD]);
    gt_json_put_cstr(&w, "new", answer->names[NEW]);
    gt_json_put_cstr(&w, "gate", answer->condition_count ? gt_gate_outcome_names[answer->outcome] : NULL);
    gt_json_put_cstr(&w, "problem", answer->problem);
    gt_json_put_cstrs(&w, "conditions", answer->conditions, answer->condition_count);
    put_names(&w, answer->changes);
    gt_answers_put_sheets(&w, answer->tables);
    gt_json_close(&w, '}');
    gt_buffer_add_cstr(&w.text, "\n");
    gt_buffer_add(text, w.text.bytes, w.text.len);
    gt_json_writer_free(&w);
}

/* ---- Markdown ---- */

static void escape(gt_buffer *out, const char *text)
{
    gt_answers_escape(out, (gt_str){text, strlen(text)});
}

/* The sentences as a list of lines. */
static void add_sentences(const gt_sweep_answer *answer, gt_buffer *out)
{
    gt_buffer text = {0};
    gt_sweep_answer_say(answer, &text);
    for (const char *line = gt_buffer_str(&text).bytes; *line;) {
        size_t len = strcspn(line, "\n"), indent = strspn(line, " ");
        gt_buffer_add_cstr(out, indent ? "  - " : "- ");
        gt_answers_escape(out, (gt_str){line + indent, len - indent});
        gt_buffer_add_cstr(out, "\n");
        line += len + (line[len] == '\n');
    }
    gt_buffer_add_cstr(out, "\n");
    gt_buffer_free(&text);
}

/* A cell of a table: a text, escaped, or a number. */
static void add_cell(gt_buffer *out, const gt_table *table, gt_col column, size_t row)
{
    gt_cell cell = gt_table_cell(table, gt_table_find(table, column), row);
    gt_buffer_add_cstr(out, " ");
    if (cell.type == GT_TYPE_STRING) {
        gt_buffer text = {0};
        if (!cell.is_null) add_name(&text, cell.text.bytes);
        gt_answers_escape(out, gt_buffer_str(&text));
        gt_buffer_free(&text);
    } else if (!cell.is_null && !isnan(cell.number)) {
        bool is_small_p = strcmp(column.name, GT_COL_P_VALUE.name) == 0 && cell.number < 0.0001;
        if (is_small_p)
            gt_buffer_add_cstr(out, "&lt;0.0001");
        else
            gt_buffer_add_format(out, "%.4g", cell.number);
    }
    gt_buffer_add_cstr(out, " |");
}

enum { ROWS_MAX = 200 };

static void add_table(gt_buffer *out, const gt_table *table, const gt_col *columns, size_t count)
{
    if (!table || !table->row_count) return;
    gt_buffer_add_cstr(out, "|");
    for (size_t i = 0; i < count; i++) gt_buffer_add_format(out, " %s |", columns[i].name);
    gt_buffer_add_cstr(out, "\n|");
    for (size_t i = 0; i < count; i++)
        gt_buffer_add_cstr(out,
                           gt_table_column(table, columns[i])->type == GT_TYPE_STRING ? "---|" : "---:|");
    gt_buffer_add_cstr(out, "\n");
    for (size_t row = 0; row < table->row_count && row < ROWS_MAX; row++) {
        gt_buffer_add_cstr(out, "|");
        for (size_t i = 0; i < count; i++) add_cell(out, table, columns[i], row);
        gt_buffer_add_cstr(out, "\n");
    }
    if (table->row_count > ROWS_MAX)
        gt_buffer_add_format(out, "\n%zu more rows\n", table->row_count - ROWS_MAX);
    gt_buffer_add_cstr(out, "\n");
}

void gt_sweep_answer_markdown(const gt_sweep_answer *answer, gt_buffer *out)
{
    gt_buffer_add_cstr(out, "# ");
    escape(out, answer->names[OLD]);
    gt_buffer_add_cstr(out, " → ");
    escape(out, answer->names[NEW]);
    gt_buffer_add_cstr(out, "\n\n");
    if (answer->condition_count)
        gt_buffer_add_format(out, "**Gate: %s**\n\n", gt_gate_outcome_names[answer->outcome]);
    if (answer->problem) {
        escape(out, answer->problem);
        gt_buffer_add_cstr(out, "\n\n");
    }
    add_sentences(answer, out);
    static const gt_col met[] = {GT_COL_CONDITION, GT_COL_ROW,     GT_COL_COLLECTIVE, GT_COL_MESSAGE_MB,
                                 GT_COL_BASELINE,  GT_COL_VARIANT, GT_COL_PCT,        GT_COL_P_VALUE};
    static const gt_col settings[] = {GT_COL_SETTING,         GT_COL_CHANGE_VERDICT, GT_COL_OLD_STEP_MS,
                                      GT_COL_NEW_STEP_MS,     GT_COL_CHANGE_PCT,     GT_COL_CHANGE_LOW_PCT,
                                      GT_COL_CHANGE_HIGH_PCT, GT_COL_P_VALUE};
    add_table(out, gt_table_list_find(answer->tables, GT_SHEET_FAIL_IF), met, GT_LENGTH(met));
    add_table(out, gt_table_list_find(answer->tables, GT_SHEET_SWEEP_SETTINGS), settings,
              GT_LENGTH(settings));
}
