/* A diagnosis as JSON (docs/doctor.md). Numbers that do not exist are null; lists may be empty. */
#include "doctor/doctor.h"

static void put_fact(gt_json_writer *w, const gt_fact *fact)
{
    gt_json_key(w, fact->name);
    if (fact->type == GT_FACT_TEXT)
        gt_json_add_cstr(w, fact->text);
    else if (fact->type == GT_FACT_BOOL)
        gt_json_add_bool(w, fact->number != 0);
    else if (fact->type == GT_FACT_COUNT && fabs(fact->number) < 0x1p53)
        gt_json_add_int(w, (int64_t)fact->number);
    else
        gt_json_add_real(w, fact->number);
}

static void put_facts(gt_json_writer *w, const gt_diagnosis *d)
{
    static const char *const names[GT_FACT_GROUPS] = {"file", "made", "contents"};
    for (int group = 0; group < GT_FACT_GROUPS; group++) {
        gt_json_put_open(w, names[group], '{');
        for (size_t i = 0; i < d->fact_count; i++)
            if ((int)d->facts[i].group == group && gt_fact_find(d, d->facts[i].name) == &d->facts[i])
                put_fact(w, &d->facts[i]);
        gt_json_close(w, '}');
    }
}

static void put_gaps(gt_json_writer *w, const gt_diagnosis *d)
{
    gt_json_put_open(w, "missing", '[');
    for (size_t i = 0; i < d->missing_count; i++) {
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "id", d->missing[i].id);
        gt_json_put_cstr(w, "text", d->missing[i].text);
        gt_json_put_cstr(w, "effect", d->missing[i].effect);
        gt_json_put_cstr(w, "fix", d->missing[i].fix);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

static void put_commands(gt_json_writer *w, const gt_diagnosis *d)
{
    gt_json_put_open(w, "commands", '[');
    for (size_t i = 0; i < d->command_count; i++) {
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "command", d->commands[i].command);
        gt_json_put_bool(w, "can", d->commands[i].can);
        gt_json_put_cstr(w, "text", d->commands[i].text);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

static void put_checks(gt_json_writer *w, const gt_diagnosis *d)
{
    gt_json_put_open(w, "checks", '[');
    for (size_t i = 0; i < d->check_count; i++) {
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "id", d->checks[i].id);
        gt_json_put_cstr(w, "level", d->checks[i].level);
        gt_json_put_cstr(w, "text", d->checks[i].text);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

static void put_sheets(gt_json_writer *w, const gt_diagnosis *d)
{
    gt_json_put_open(w, "sheets", '[');
    for (size_t i = 0; i < d->sheet_count; i++) {
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "name", d->sheets[i].name);
        gt_json_put_int(w, "rows", (int64_t)d->sheets[i].rows);
        gt_json_put_cstr(w, "why", d->sheets[i].why);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

void gt_diagnosis_json(const gt_diagnosis *d, gt_json_writer *w)
{
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "path", d->path);
    gt_json_put_cstr(w, "kind", d->kind);
    gt_json_put_cstr(w, "what", d->what);
    gt_json_put_bool(w, "usable", d->usable);
    gt_json_put_cstr(w, "verdict", d->verdict);
    gt_json_put_cstr(w, "problem", d->problem);
    gt_json_put_cstr(w, "next", d->next);
    gt_json_put_cstr(w, "recording", d->recording);
    put_facts(w, d);
    put_gaps(w, d);
    put_checks(w, d);
    put_commands(w, d);
    put_sheets(w, d);
    gt_json_put_cstrs(w, "messages", d->messages, d->message_count);
    gt_json_put_open(w, "parts", '[');
    for (size_t i = 0; i < d->part_count; i++) gt_diagnosis_json(d->parts[i], w);
    gt_json_close(w, ']');
    gt_json_close(w, '}');
}
