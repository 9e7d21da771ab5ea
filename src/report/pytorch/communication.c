/* Which kernels of a PyTorch trace are communication, and which look like it. */
#include "report/pytorch/parts.h"

#include "trace/pytorch/event_rows.h"

typedef struct comm_search {
    const gt_linked_view *trace;
    const gt_comm_kernels *others; /* instead of the trace's; NULL: those of the trace */
    uint8_t *known;                /* by name: 0 not checked, 1 no, 2 yes */
} comm_search;

static const char *comm_family_of(const comm_search *s, uint32_t name)
{
    gt_str text = gt_interner_get(s->trace->strings, name);
    const char *family = gt_comm_family(s->trace->communication, text);
    if (!s->others) return family;
    return family ? NULL : gt_comm_family(s->others, text);
}

/* Threads that check a new name at the same time store the same. */
static bool is_communication(const void *context, size_t row)
{
    const comm_search *s = context;
    if (s->trace->kind[row] != GT_KIND_KERNEL) return false;
    uint8_t *cached = &s->known[s->trace->name[row]], known = __atomic_load_n(cached, __ATOMIC_RELAXED);
    if (!known) {
        known = comm_family_of(s, s->trace->name[row]) ? 2 : 1;
        __atomic_store_n(cached, known, __ATOMIC_RELAXED);
    }
    return known == 2;
}

gt_comm_uses gt_pytorch_find_communication(const gt_linked_view *trace, const gt_comm_kernels *others)
{
    gt_comm_uses uses = {0};
    comm_search s = {trace, others, gt_alloc_zero(gt_interner_count(trace->strings), 1)};
    size_t count;
    uint32_t *rows = gt_numbers_where(trace->count, is_communication, &s, &count);
    const char **families = gt_alloc_zero(count ? gt_interner_count(trace->strings) : 0, sizeof *families);
    for (size_t i = 0; i < count; i++) {
        uint32_t name = trace->name[rows[i]];
        if (!families[name]) families[name] = comm_family_of(&s, name);
        gt_comm_uses_add(&uses, families[name], 1, trace->dur_us[rows[i]] / 1000.0);
    }
    gt_free_all(families, rows, s.known);
    return uses;
}

void gt_hint_at_communication(const gt_linked_view *trace)
{
    gt_comm_kernels *others = gt_comm_kernels_new(GT_COMM_OTHERS);
    gt_comm_uses uses = gt_pytorch_find_communication(trace, others);
    if (uses.count) {
        char *text = gt_comm_uses_text(&uses);
        gt_warn(
            "kernels that look like communication are counted as computation: %s; --comm_kernels all, the "
            "default of gputally report, counts them as communication",
            text);
        gt_free(text);
    }
    gt_comm_uses_free(&uses);
    gt_comm_kernels_free(others);
}
