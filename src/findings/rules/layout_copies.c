/* layout_copies and dtype_casts: kernels that only move values to another place or convert them. The edits
 * make them take no time. Copies inside unfused attention are left to that finding. */
#include "findings/rules/gpu_rules.h"

#include "base/map.h"
#include "base/memory.h"

static gt_copy_change change_of(const gt_rule_input *input, size_t op)
{
    const gt_gpu_op *gpu_op = &input->schedule->ops[op];
    if (gpu_op->point == GT_NONE || gt_gpu_facts_attention(input->facts, op)) return GT_CHANGE_UNKNOWN;
    if (gpu_op->kind == GT_KIND_MEMCPY)
        return gt_str_contains(gt_interner_get(input->schedule->strings, gpu_op->name), "DtoD")
                   ? GT_CHANGE_LAYOUT
                   : GT_CHANGE_UNKNOWN;
    if (gpu_op->kind != GT_KIND_KERNEL) return GT_CHANGE_UNKNOWN;
    uint8_t name = input->facts->names[op];
    if (name & GT_KERNEL_LAYOUT) return GT_CHANGE_LAYOUT;
    const gt_op_shape *shape = gt_gpu_facts_shape(input->facts, op);
    if (!shape || shape->kind != GT_WORK_COPY) return GT_CHANGE_UNKNOWN;
    if (shape->copy == GT_CHANGE_UNKNOWN && name & GT_KERNEL_COPY) return GT_CHANGE_LAYOUT;
    return shape->copy;
}

/* "SITE [32, 1024]", made once per pair of site and shape; or the kernel's name. */
static uint32_t copy_label(const gt_rule_input *input, size_t op, gt_map *labels)
{
    const gt_schedule *schedule = input->schedule;
    const gt_gpu_facts *facts = input->facts;
    uint32_t source = facts->op_source[op];
    if (source == GT_NONE) return gt_short_kernel_name(schedule, schedule->ops[op].name, 50);
    uint32_t site = gt_site_of_op(schedule, facts->sources[source].event);
    uint32_t *label = gt_map_put(labels, site, facts->sources[source].shape);
    if (*label != GT_MAP_NONE) return *label;
    gt_buffer text = {0};
    gt_buffer_add_cstr(&text, gt_interner_get(schedule->strings, site).bytes);
    if (gt_shapes_get(facts->shapes, facts->sources[source].shape)->has_dims) {
        gt_buffer_add_cstr(&text, " ");
        gt_shapes_add_dims(facts->shapes, facts->sources[source].shape, 0, 1, &text);
    }
    gt_str written = gt_buffer_str(&text);
    *label = gt_interner_add(schedule->strings, written.bytes, written.len);
    gt_buffer_free(&text);
    return *label;
}

typedef struct copy_search {
    double *times;
    double window_ns;
    size_t window_count;
    gt_tally sites; /* in the window; only if these copies matter */
} copy_search;

/* All copies of one kind. False if they take at most 1 % of the window. */
static bool find_copies(const gt_rule_input *input, gt_copy_change change, copy_search *search)
{
    const gt_schedule *schedule = input->schedule;
    gt_map labels = {0};
    search->times = gt_new_times(schedule);
    for (size_t i = 0; i < schedule->op_count; i++) {
        if (change_of(input, i) != change) continue;
        search->times[i] = 0;
        if (!gt_window_has(&schedule->window, schedule->ops[i].start_ns)) continue;
        search->window_ns += (double)gt_op_ns(&schedule->ops[i]);
        search->window_count++;
    }
    bool matters = search->window_ns > 0.01 * gt_window_ns(schedule);
    for (size_t i = 0; matters && i < schedule->op_count; i++)
        if (search->times[i] >= 0 && gt_window_has(&schedule->window, schedule->ops[i].start_ns))
            gt_tally_add(&search->sites, copy_label(input, i, &labels), (double)gt_op_ns(&schedule->ops[i]));
    gt_map_free(&labels);
    return matters;
}

static void free_search(copy_search *search)
{
    gt_free(search->times);
    gt_tally_free(&search->sites);
}

bool gt_rule_layout_copies(const gt_rule_input *input, gt_finding *finding)
{
    copy_search search = {0};
    bool found = find_copies(input, GT_CHANGE_LAYOUT, &search);
    if (found) {
        finding->id = "layout_copies";
        finding->is_gpu = true;
        finding->confidence = GT_CONFIDENCE_MEDIUM;
        gt_new_times_apply(search.times, input->schedule, finding);
        finding->title = gt_rule_text("Layout copies (contiguous, transpose, clone) take %.2f ms per %s",
                                      gt_rule_ms(input, search.window_ns), input->per);
        finding->where = gt_tally_first(input, &search.sites);
        gt_rule_evidence_sums(input, finding, &search.sites, 4);
        gt_rule_evidence(finding, "%.0f copy kernels per %s",
                         (double)search.window_count / (double)input->schedule->window.steps, input->per);
        finding->advice =
            gt_rule_text("Remove needless .contiguous(), .clone() and permute, use one memory format "
                         "(channels_last for convolutions), or let torch.compile fuse the copy.");
    }
    free_search(&search);
    return found;
}

bool gt_rule_dtype_casts(const gt_rule_input *input, gt_finding *finding)
{
    copy_search search = {0};
    bool found = find_copies(input, GT_CHANGE_TYPE, &search);
    if (found) {
        finding->id = "dtype_casts";
        finding->is_gpu = true;
        finding->confidence = GT_CONFIDENCE_LOW;
        gt_new_times_apply(search.times, input->schedule, finding);
        finding->title = gt_rule_text("Conversions between data types take %.2f ms per %s",
                                      gt_rule_ms(input, search.window_ns), input->per);
        finding->where = gt_tally_first(input, &search.sites);
        gt_rule_evidence_sums(input, finding, &search.sites, 3);
        finding->advice =
            gt_rule_text("Keep tensors in one data type, or let torch.compile fuse the conversion.");
    }
    free_search(&search);
    return found;
}
