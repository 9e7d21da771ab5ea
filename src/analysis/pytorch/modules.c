/* The nn.Module of each launcher, from the Python functions above it in the call tree:
 *
 *     call_stack       the launcher's name, then the names of the modules above it, innermost first, as a
 * list parent_module    the first of these modules without its number ("nn.Module: Layer_3" is "nn.Module:
 *                      Layer"), so that layers that do the same are one row; "NA" if there is none
 *
 * A call is a module if its name, of which at most NAME_MAX_CHARACTERS are shown, contains "nn.Module". */
#include "analysis/pytorch/sheets.h"

#include "analysis/pytorch/unified_details.h"
#include "compat/python_repr.h"

enum { NAME_MAX_CHARACTERS = 256, MODULES_MAX = 1000 };

typedef struct finder {
    const gt_linked_view *trace;
    gt_ancestors modules; /* above each event */
    uint8_t *is_module;   /* by name: 0 not looked at, 1 no, 2 yes */
    gt_map stacks;        /* from a module and a launcher's name to the stack: a string id */
    gt_map parents;       /* from a module's name to parent_module */
    gt_buffer text, name;
} finder;

/* The bytes of the first characters of a UTF-8 name. */
static size_t cut_length(gt_str name)
{
    size_t at = 0;
    for (size_t characters = 0; at < name.len; at++)
        if ((name.bytes[at] & 0xC0) != 0x80 && characters++ == NAME_MAX_CHARACTERS) break;
    return at;
}

/* Threads that look at a new name at the same time find the same. */
static bool is_passed(const void *context, uint32_t row)
{
    const finder *f = context;
    uint8_t *known = &f->is_module[f->trace->name[row]], is = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (!is) {
        gt_str name = gt_event_name(&f->trace->events, row);
        is = gt_str_contains((gt_str){name.bytes, cut_length(name)}, "nn.Module") ? 2 : 1;
        __atomic_store_n(known, is, __ATOMIC_RELAXED);
    }
    return is == 1;
}

/* The name of a module as it is shown; valid until the next call. */
static gt_str shown_name(finder *f, uint32_t module)
{
    gt_str name = gt_event_name(&f->trace->events, module);
    size_t cut = cut_length(name);
    f->name.len = 0;
    gt_buffer_add(&f->name, name.bytes, cut);
    if (cut < name.len) gt_buffer_add_cstr(&f->name, "..");
    return gt_buffer_str(&f->name);
}

static uint32_t stack_of(finder *f, uint32_t launcher, uint32_t module)
{
    uint32_t *known = gt_map_put(&f->stacks, module, f->trace->name[launcher]);
    if (*known != GT_MAP_NONE) return *known;
    f->text.len = 0;
    gt_buffer_add_cstr(&f->text, "[");
    gt_python_add_repr(&f->text, gt_event_name(&f->trace->events, launcher));
    for (size_t i = 0; i < MODULES_MAX && module != GT_NO_EVENT; i++) {
        gt_buffer_add_cstr(&f->text, ", ");
        gt_python_add_repr(&f->text, shown_name(f, module));
        module = gt_ancestor_of(&f->modules, f->trace->parent, module);
    }
    gt_buffer_add_cstr(&f->text, "]");
    return *known = gt_interner_add(f->trace->strings, f->text.bytes, f->text.len);
}

static uint32_t parent_of(finder *f, uint32_t module)
{
    if (module == GT_NO_EVENT) return gt_interner_add_cstr(f->trace->strings, "NA");
    uint32_t *known = gt_map_put(&f->parents, f->trace->name[module], 0);
    if (*known != GT_MAP_NONE) return *known;
    f->text.len = 0;
    gt_add_without_numbers(&f->text, shown_name(f, module));
    return *known = gt_interner_add(f->trace->strings, f->text.bytes, f->text.len);
}

void gt_table_add_modules(gt_table *table, const gt_linked_view *trace, const gt_launchers *launchers)
{
    finder f = {.trace = trace, .is_module = gt_alloc_zero(gt_interner_count(trace->strings), 1)};
    f.modules = gt_ancestors_find(trace->parent, trace->count, is_passed, &f);
    uint32_t *parents = gt_table_add_unset(table, GT_COL_PARENT_MODULE, GT_TYPE_STRING)->texts;
    uint32_t *stacks = gt_table_add_unset(table, GT_COL_CALL_STACK, GT_TYPE_STRING)->texts;
    for (size_t i = 0; i < launchers->count; i++) {
        uint32_t row = launchers->items[i].row, module = gt_ancestor_of(&f.modules, trace->parent, row);
        parents[i] = parent_of(&f, module);
        stacks[i] = stack_of(&f, row, module);
    }
    gt_ancestors_free(&f.modules);
    gt_map_free(&f.stacks);
    gt_map_free(&f.parents);
    gt_buffer_free(&f.text);
    gt_buffer_free(&f.name);
    gt_free(f.is_module);
}
