/* Which sheets of a report are written: --csv_sheets and --json_sheets. */
#include "cli/common.h"

/* NULL: the command does not have the option. */
static const gt_option_value *names_of(const gt_arguments *arguments, const char *option)
{
    return gt_syntax_option(arguments->syntax, option) ? gt_arguments_value(arguments, option) : NULL;
}

void gt_destinations_choose_sheets(gt_destinations *destinations, const gt_arguments *arguments)
{
    destinations->csv_sheets = names_of(arguments, "csv_sheets");
    destinations->json_sheets = names_of(arguments, "json_sheets");
}

static bool is_named(const gt_option_value *names, const char *sheet)
{
    for (size_t i = 0; i < names->text_count; i++)
        if (strcmp(names->texts[i], sheet) == 0) return true;
    return false;
}

/* Warns if the report does not have a sheet. */
static void look_for(const char *name, const gt_table_list *tables)
{
    const char **names = gt_alloc((tables->count + 1) * sizeof *names);
    bool found = strcmp(name, "none") == 0;
    for (size_t i = 0; i < tables->count; i++) {
        names[i] = tables->items[i]->name;
        found = found || strcmp(name, names[i]) == 0;
    }
    const char *nearest = gt_nearest(name, names, tables->count);
    if (!found && nearest)
        gt_warn("the report has no sheet '%.200s' (did you mean %s?)", name, nearest);
    else if (!found)
        gt_warn("the report has no sheet '%.200s'", name);
    gt_free(names);
}

gt_table_list gt_sheets_chosen(const gt_option_value *names, bool are_optional, const gt_table_list *tables)
{
    gt_table_list chosen = {.items = gt_alloc((tables->count + 1) * sizeof *chosen.items)};
    bool all = !names || !names->given;
    for (size_t i = 0; !all && !are_optional && i < names->text_count; i++) look_for(names->texts[i], tables);
    for (size_t i = 0; i < tables->count; i++)
        if (all || is_named(names, tables->items[i]->name)) chosen.items[chosen.count++] = tables->items[i];
    return chosen;
}
