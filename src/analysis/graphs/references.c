/* Lists of references, and what they contain. */
#include "analysis/graphs/references.h"

/* ---- contents ---- */

static uint64_t launch_key(uint32_t name, uint32_t grid)
{
    return (uint64_t)name << 32 | grid;
}

/* Counts one more; the counts are in the order of first appearance. */
static void count_key(gt_map *places, gt_graph_count **counts, size_t *count, size_t *capacity, uint64_t key)
{
    uint32_t *place = gt_map_put(places, key, 0);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)*count;
        GT_PUSH(*counts, *count, *capacity, ((gt_graph_count){key, 0}));
    }
    (*counts)[*place].count++;
}

static gt_graph_bag bag_of(gt_graph_names *names, const gt_graph_token *tokens, size_t count)
{
    gt_graph_bag bag = {0};
    gt_map launches = {0}, stems = {0};
    size_t launch_capacity = 0, stem_capacity = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t name = tokens[i].name;
        if (name == GT_STR_NONE) continue;
        count_key(&launches, &bag.launches, &bag.launch_count, &launch_capacity,
                  launch_key(name, tokens[i].grid));
        count_key(&stems, &bag.stems, &bag.stem_count, &stem_capacity,
                  gt_graph_kernel_name(names, name).stem);
    }
    gt_map_free(&launches);
    gt_map_free(&stems);
    return bag;
}

static void count_in_map(gt_map *map, uint64_t key)
{
    uint32_t *count = gt_map_put(map, key, 0);
    *count = *count == GT_MAP_NONE ? 1 : *count + 1;
}

gt_graph_contents gt_graph_contents_of(gt_graph_names *names, const gt_graph_kernel *kernels, size_t count)
{
    gt_graph_contents contents = {0};
    for (size_t i = 0; i < count; i++) {
        count_in_map(&contents.launches, launch_key(kernels[i].name, kernels[i].grid));
        count_in_map(&contents.stems, gt_graph_kernel_name(names, kernels[i].name).stem);
    }
    return contents;
}

void gt_graph_contents_free(gt_graph_contents *contents)
{
    gt_map_free(&contents->launches);
    gt_map_free(&contents->stems);
}

static uint64_t in_common(const gt_map *map, const gt_graph_count *counts, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t here = gt_map_get(map, counts[i].key, 0);
        if (here != GT_MAP_NONE) sum += here < counts[i].count ? here : counts[i].count;
    }
    return sum;
}

uint64_t gt_graph_in_common(const gt_graph_contents *contents, const gt_graph_bag *bag)
{
    return in_common(&contents->launches, bag->launches, bag->launch_count) +
           in_common(&contents->stems, bag->stems, bag->stem_count);
}

/* ---- lists ---- */

static void reference_free(gt_graph_reference *reference)
{
    gt_free_all(reference->tokens, reference->bag.launches, reference->bag.stems);
}

static uint64_t hash_of(const gt_graph_reference *reference)
{
    uint32_t *words = gt_alloc(reference->count * 3 * sizeof *words);
    for (size_t i = 0; i < reference->count; i++) {
        words[3 * i] = reference->tokens[i].name;
        words[3 * i + 1] = reference->tokens[i].grid;
        words[3 * i + 2] = reference->tokens[i].op;
    }
    uint64_t hash = gt_hash_bytes(words, reference->count * 3 * sizeof *words);
    gt_free(words);
    return hash;
}

static bool are_equal(const gt_graph_reference *a, const gt_graph_reference *b)
{
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->tokens[i].name != b->tokens[i].name || a->tokens[i].grid != b->tokens[i].grid ||
            a->tokens[i].op != b->tokens[i].op)
            return false;
    return true;
}

bool gt_graph_add_eager(gt_graph_references *references, gt_graph_names *names, gt_graph_reference reference)
{
    enum { SHORTEST = 8 };
    uint32_t *known = NULL;
    if (reference.count >= SHORTEST) known = gt_map_put(&references->known, hash_of(&reference), 0);
    bool is_equal = known && *known != GT_MAP_NONE && are_equal(&reference, &references->eager[*known]);
    if (!known || is_equal) {
        reference_free(&reference);
        return false;
    }
    *known = (uint32_t)references->eager_count;
    for (size_t i = 0; i < reference.count; i++) {
        gt_kernel_name name = gt_graph_kernel_name(names, reference.tokens[i].name);
        gt_stem_ops_add(&references->learned, name.stem, reference.tokens[i].op);
        reference.skeleton += gt_class_is_skeleton(name.class) && !name.is_helper;
    }
    reference.bag = bag_of(names, reference.tokens, reference.count);
    GT_PUSH(references->eager, references->eager_count, references->eager_capacity, reference);
    return true;
}

uint32_t gt_graph_add_arguments(gt_graph_references *references, gt_graph_arguments a)
{
    static const gt_graph_arguments none;
    if (!references->argument_count)
        GT_PUSH(references->arguments, references->argument_count, references->argument_capacity, none);
    if (!a.dims && !a.types && !a.strides && !a.concrete) return 0;
    uint32_t *place = gt_map_put(&references->argument_of, (uint64_t)a.dims << 32 | a.types,
                                 (uint64_t)a.strides << 32 | a.concrete);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)references->argument_count;
        GT_PUSH(references->arguments, references->argument_count, references->argument_capacity, a);
    }
    return *place;
}

void gt_graph_references_join(gt_graph_references *references, gt_graph_names *names,
                              gt_graph_references *more)
{
    for (size_t i = 0; i < more->eager_count; i++) {
        gt_graph_reference moved = more->eager[i];
        gt_free_all(moved.bag.launches, moved.bag.stems);
        moved.bag = (gt_graph_bag){0};
        moved.skeleton = 0;
        for (size_t t = 0; t < moved.count; t++)
            if (moved.tokens[t].arguments)
                moved.tokens[t].arguments =
                    gt_graph_add_arguments(references, more->arguments[moved.tokens[t].arguments]);
        gt_graph_add_eager(references, names, moved);
    }
    more->eager_count = 0;
    gt_graph_references_free(more);
}

void gt_graph_add_capture(gt_graph_references *references, int64_t padded)
{
    GT_PUSH(references->captures, references->capture_count, references->capture_capacity,
            ((gt_capture_reference){.padded = padded}));
}

void gt_graph_add_part(gt_graph_references *references, gt_graph_reference part)
{
    gt_capture_reference *capture = &references->captures[references->capture_count - 1];
    GT_PUSH(capture->parts, capture->part_count, capture->part_capacity, part);
}

void gt_graph_references_free(gt_graph_references *references)
{
    for (size_t i = 0; i < references->eager_count; i++) reference_free(&references->eager[i]);
    for (size_t i = 0; i < references->capture_count; i++) {
        for (size_t part = 0; part < references->captures[i].part_count; part++)
            reference_free(&references->captures[i].parts[part]);
        gt_free(references->captures[i].parts);
    }
    gt_free_all(references->eager, references->arguments);
    gt_map_free(&references->argument_of);
    gt_free(references->captures);
    gt_map_free(&references->known);
    gt_stem_ops_free(&references->learned);
    *references = (gt_graph_references){0};
}
