/* layout_copies: kernels that only move values to another place.
 *
 * Not every copy can go. What can, and what a repair is:
 *
 *     removable    the program asked for it (.contiguous(), .clone(), .to() in the forward pass), and
 *                  what reads the result would be as fast without it: remove the call
 *     conversion   a convolution changes its images from channels first to channels last and back, and
 *                  batch norm is slow on channels first: use channels_last for the model
 *     other        ops copy on their own: reshape, matmul and backward passes, where the layout of a
 *                  gradient follows from the forward pass
 *
 * The finding is about the removable copies, or about conversions if they take four times as long or more. If
 * neither matters, all copies together are a hint.
 *
 * Who needs a copy? A copy that keeps the layout only protects from changes in place. Two copies next to each
 * other that both change the layout mostly undo each other, or feed one attention. Otherwise the next op
 * decides: attention, convolutions, batch norm, products of two matrices and ops on one tensor accept any
 * strides. A product of batches would copy itself, and an op on several tensors is slow if their layouts
 * differ. */
#include "findings/rules/gpu_rules.h"

typedef enum copy_class { COPY_NONE, COPY_OTHER, COPY_REMOVABLE, COPY_CONVERSION, COPY_CLASSES } copy_class;

static const double conversions_first = 4;
/* Of the memory's rate, batch norm on channels last reaches this share. */
static const double reach_batch_norm = 0.4;

typedef struct copy_search {
    const gt_rule_input *input;
    uint8_t *classes;        /* copy_class by op */
    bool *is_copying;        /* by source: it launched a copy on the device */
    uint32_t *readers;       /* by source: the next one that launched no such copy; source_count: none */
    double ns[COPY_CLASSES]; /* in the window */
    size_t count[COPY_CLASSES];
} copy_search;

/* ---- which copies can go ---- */

static const gt_op_shape *source_shape(const copy_search *search, size_t source)
{
    return gt_shapes_get(search->input->facts->shapes, search->input->facts->sources[source].shape);
}

/* Whether the program itself asked for the copy. */
static bool is_requested(const copy_search *search, size_t source)
{
    static const char *const requests[] = {"aten::contiguous", "aten::clone", "aten::to", "aten::_to_copy"};
    const gt_schedule *schedule = search->input->schedule;
    uint32_t event = search->input->facts->sources[source].event;
    if (schedule->events[event].flags & GT_HOST_BACKWARD) return false;
    gt_str name = gt_interner_get(schedule->strings, schedule->events[gt_outermost_op(schedule, event)].name);
    for (size_t i = 0; i < GT_LENGTH(requests); i++)
        if (gt_str_equals(name, requests[i])) return true;
    return false;
}

static bool are_on_one_thread(const copy_search *search, size_t a, size_t b)
{
    const gt_gpu_facts *facts = search->input->facts;
    const gt_schedule *schedule = search->input->schedule;
    return a < facts->source_count && b < facts->source_count &&
           gt_schedule_thread_of(schedule, facts->sources[a].event) ==
               gt_schedule_thread_of(schedule, facts->sources[b].event);
}

/* Whether both are requested copies of tensors of one size that change the layout. */
static bool are_twins(const copy_search *search, size_t source, size_t other)
{
    if (!are_on_one_thread(search, source, other) || !search->is_copying[other]) return false;
    const gt_op_shape *a = source_shape(search, source), *b = source_shape(search, other);
    return b->copy == GT_CHANGE_LAYOUT && !b->keeps_strides && a->size == b->size &&
           is_requested(search, other);
}

/* Whether what reads the copy accepts the tensor as it was. */
static bool is_reader_flexible(const copy_search *search, size_t source)
{
    const gt_op_shape *copy = source_shape(search, source);
    size_t next = search->readers[source];
    if (!are_on_one_thread(search, source, next)) return false;
    const gt_op_shape *reader = source_shape(search, next);
    switch (reader->kind) {
    case GT_WORK_ATTENTION:
    case GT_WORK_CONVOLUTION:
    case GT_WORK_BATCH_NORM:
        return true;
    case GT_WORK_GEMM:
        return copy->rank == 2;
    case GT_WORK_OTHER:
        return reader->tensors == 1 && reader->size == copy->size;
    default:
        return false;
    }
}

static bool is_removable(const copy_search *search, size_t source)
{
    const gt_op_shape *copy = source_shape(search, source);
    if (copy->kind != GT_WORK_COPY || !is_requested(search, source)) return false;
    return copy->keeps_strides || !copy->has_dims || are_twins(search, source, source + 1) ||
           (source > 0 && are_twins(search, source, source - 1)) || is_reader_flexible(search, source);
}

/* ---- all copies ---- */

static copy_class classify(const copy_search *search, size_t op, const uint8_t *source_classes)
{
    const gt_gpu_facts *facts = search->input->facts;
    if (gt_copy_change_of(search->input, op) != GT_CHANGE_LAYOUT) return COPY_NONE;
    uint32_t source = facts->op_source[op];
    if (source == GT_NONE) return COPY_OTHER;
    const gt_op_shape *shape = source_shape(search, source);
    if (facts->names[op] & GT_KERNEL_LAYOUT)
        return shape->kind == GT_WORK_CONVOLUTION && (shape->is_channels_first || !shape->is_known)
                   ? COPY_CONVERSION
                   : COPY_OTHER;
    return (copy_class)source_classes[source];
}

static void find_copies(copy_search *search)
{
    const gt_rule_input *input = search->input;
    const gt_schedule *schedule = input->schedule;
    size_t source_count = input->facts->source_count;
    search->classes = gt_alloc(schedule->op_count);
    search->is_copying = gt_alloc_zero(source_count, sizeof *search->is_copying);
    uint8_t *source_classes = gt_alloc(source_count);
    for (size_t i = 0; i < schedule->op_count; i++)
        if (input->facts->op_source[i] != GT_NONE && gt_copy_change_of(input, i) == GT_CHANGE_LAYOUT &&
            gt_gpu_facts_shape(input->facts, i)->kind == GT_WORK_COPY)
            search->is_copying[input->facts->op_source[i]] = true;
    search->readers = gt_alloc(source_count * sizeof *search->readers);
    for (size_t i = source_count, next = source_count; i-- > 0;) {
        search->readers[i] = (uint32_t)next;
        if (!search->is_copying[i]) next = i;
    }
    for (size_t i = 0; i < source_count; i++)
        source_classes[i] = search->is_copying[i] && is_removable(search, i) ? COPY_REMOVABLE : COPY_OTHER;
    for (size_t i = 0; i < schedule->op_count; i++) {
        copy_class class = classify(search, i, source_classes);
        search->classes[i] = (uint8_t) class;
        if (!gt_window_has(&schedule->window, schedule->ops[i].start_ns)) continue;
        search->ns[class] += (double)gt_op_ns(&schedule->ops[i]);
        search->count[class]++;
    }
    gt_free(source_classes);
}

/* ---- the finding ---- */

/* Batch norm as fast as on channels last. Returns the time of these kernels in the window. */
static double speed_up_batch_norm(const copy_search *search, double *times)
{
    const gt_rule_input *input = search->input;
    const gt_schedule *schedule = input->schedule;
    double window_ns = 0;
    for (size_t i = 0; i < schedule->op_count && input->gpu->bytes > 0; i++) {
        const gt_op_shape *shape = gt_gpu_facts_shape(input->facts, i);
        if (!shape || shape->kind != GT_WORK_BATCH_NORM || !shape->is_known || !shape->is_channels_first)
            continue;
        double bytes = shape->elements * (gt_operand_is_half(shape->type) ? 2 : 4);
        double all_ns = (double)input->facts->sources[input->facts->op_source[i]].kernel_ns;
        double ratio = all_ns > 0 ? bytes / (reach_batch_norm * input->gpu->bytes) / all_ns : 1;
        if (schedule->ops[i].kind != GT_KIND_KERNEL || ratio >= 1) continue;
        times[i] = (double)gt_op_ns(&schedule->ops[i]) * ratio;
        if (gt_window_has(&schedule->window, schedule->ops[i].start_ns))
            window_ns += (double)gt_op_ns(&schedule->ops[i]);
    }
    return window_ns;
}

/* The edit, where most of the time is, and the largest sums as evidence; copies of classes in `mask`. */
static void add_copies(const copy_search *search, gt_finding *finding, unsigned mask, double *times)
{
    const gt_rule_input *input = search->input;
    const gt_schedule *schedule = input->schedule;
    gt_tally sites = {0};
    gt_map labels = {0};
    for (size_t i = 0; i < schedule->op_count; i++) {
        if (!(mask & 1u << search->classes[i])) continue;
        times[i] = 0;
        if (gt_window_has(&schedule->window, schedule->ops[i].start_ns))
            gt_tally_add(&sites, gt_copy_label(input, i, &labels), (double)gt_op_ns(&schedule->ops[i]));
    }
    gt_new_times_apply(times, schedule, finding);
    finding->where = gt_tally_first(input, &sites);
    gt_rule_evidence_sums(input, finding, &sites, 4);
    gt_tally_free(&sites);
    gt_map_free(&labels);
}

static void add_count(const copy_search *search, gt_finding *finding, size_t count)
{
    gt_rule_evidence(finding, "%s per %s",
                     gt_rule_count((double)count / (double)search->input->schedule->window.steps,
                                   "copy kernel", "copy kernels")
                         .text,
                     search->input->per);
}

static void describe_removable(const copy_search *search, gt_finding *finding, double *times)
{
    const gt_rule_input *input = search->input;
    finding->confidence = GT_CONFIDENCE_MEDIUM;
    finding->title = gt_rule_text("Layout copies (contiguous, transpose, clone) take %.2f ms per %s",
                                  gt_rule_ms(input, search->ns[COPY_REMOVABLE]), input->per);
    add_copies(search, finding, 1u << COPY_REMOVABLE, times);
    add_count(search, finding, search->count[COPY_REMOVABLE]);
    if (search->ns[COPY_CONVERSION] > 0)
        gt_rule_evidence(finding, "not counted: convolutions convert their images, %.2f ms (channels_last)",
                         gt_rule_ms(input, search->ns[COPY_CONVERSION]));
    if (search->ns[COPY_OTHER] > 0)
        gt_rule_evidence(finding,
                         "not counted: copies that ops make themselves or their readers need, %.2f ms",
                         gt_rule_ms(input, search->ns[COPY_OTHER]));
    finding->advice =
        gt_rule_text("Remove needless .contiguous(), .clone() and permute, use one memory format "
                     "(channels_last for convolutions), or let torch.compile fuse the copy.");
}

static void describe_conversions(const copy_search *search, gt_finding *finding, double *times)
{
    const gt_rule_input *input = search->input;
    finding->confidence = GT_CONFIDENCE_MEDIUM;
    finding->title = gt_rule_text(
        "Convolutions convert their images between channels first and channels last: %.2f ms per %s",
        gt_rule_ms(input, search->ns[COPY_CONVERSION]), input->per);
    double norm_ns = speed_up_batch_norm(search, times);
    add_copies(search, finding, 1u << COPY_CONVERSION, times);
    add_count(search, finding, search->count[COPY_CONVERSION]);
    if (norm_ns > 0)
        gt_rule_evidence(finding, "batch norm on channels first takes %.2f ms", gt_rule_ms(input, norm_ns));
    finding->advice =
        gt_rule_text("Use one memory format: model.to(memory_format=torch.channels_last), and the same for "
                     "the input.");
}

static void describe_all(const copy_search *search, gt_finding *finding, double *times, double all_ns)
{
    const gt_rule_input *input = search->input;
    finding->confidence = GT_CONFIDENCE_LOW;
    finding->title = gt_rule_text("Layout copies take %.2f ms per %s, mostly made by other ops",
                                  gt_rule_ms(input, all_ns), input->per);
    add_copies(search, finding, 1u << COPY_REMOVABLE | 1u << COPY_CONVERSION | 1u << COPY_OTHER, times);
    add_count(search, finding,
              search->count[COPY_REMOVABLE] + search->count[COPY_CONVERSION] + search->count[COPY_OTHER]);
    finding->advice = gt_rule_text("Look whether another order of dimensions needs fewer copies, or let "
                                   "torch.compile fuse them.");
}

bool gt_rule_layout_copies(const gt_rule_input *input, gt_finding *finding)
{
    copy_search search = {.input = input};
    find_copies(&search);
    double least_ns = 0.01 * gt_window_ns(input->schedule);
    double removable_ns = search.ns[COPY_REMOVABLE], conversion_ns = search.ns[COPY_CONVERSION];
    double all_ns = removable_ns + conversion_ns + search.ns[COPY_OTHER];
    bool found = all_ns > least_ns;
    if (found) {
        double *times = gt_new_times(input->schedule);
        finding->id = "layout_copies";
        finding->is_gpu = true;
        if (conversion_ns > least_ns && conversion_ns >= conversions_first * removable_ns)
            describe_conversions(&search, finding, times);
        else if (removable_ns > least_ns)
            describe_removable(&search, finding, times);
        else
            describe_all(&search, finding, times, all_ns);
        gt_free(times);
    }
    gt_free_all(search.classes, search.is_copying, search.readers);
    return found;
}
