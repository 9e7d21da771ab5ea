/* Finding patterns in lists of names, and the list in the call tree that has one. */
#include "analysis/serving/repetition.h"

/* ---- patterns ---- */

/* The sum of the lengths of all lists that are looked at: those of a broken trace may be endless. */
enum { NAMES_MAX = 1 << 30 };

/* z[i]: how many names from i on are equal to those from 0 on. */
static void find_equal(const uint32_t *names, size_t count, uint32_t *z)
{
    for (size_t i = 1, left = 0, right = 0; i < count; i++) {
        size_t same = 0;
        if (i < right) same = z[i - left] < right - i ? z[i - left] : right - i;
        while (i + same < count && names[same] == names[i + same]) same++;
        z[i] = (uint32_t)same;
        if (i + same > right) {
            left = i;
            right = i + same;
        }
    }
}

static bool begins_pattern(const uint32_t *names, size_t count, uint32_t *z, gt_pattern *pattern)
{
    enum { TIMES_MIN = 3 };
    find_equal(names, count, z);
    for (size_t p = 1; p <= count / TIMES_MIN; p++) {
        size_t times = 1 + z[p] / p;
        if (times < TIMES_MIN || 2 * times * p <= count) continue;
        pattern->period = p;
        pattern->count = times;
        return true;
    }
    return false;
}

/* By index: whether the name occurs at least three times from there on. */
static uint8_t *find_frequent(const uint32_t *names, size_t count)
{
    gt_map times = {0};
    uint8_t *frequent = gt_alloc(count);
    for (size_t i = count; i-- > 0;) {
        uint32_t *known = gt_map_put(&times, names[i], 0);
        *known = *known == GT_MAP_NONE ? 1 : *known + 1;
        frequent[i] = *known >= 3;
    }
    gt_map_free(&times);
    return frequent;
}

static bool find_pattern(const uint32_t *names, size_t count, uint64_t *looked_at, gt_pattern *pattern)
{
    uint8_t *frequent = find_frequent(names, count);
    uint32_t *z = gt_alloc(count * sizeof *z);
    bool found = false;
    for (size_t start = 0; !found && start < count && *looked_at < NAMES_MAX; start++) {
        if (!frequent[start]) continue;
        *looked_at += count - start;
        found = begins_pattern(names + start, count - start, z, pattern);
        pattern->start = start;
    }
    gt_free_all(z, frequent);
    return found;
}

bool gt_pattern_find(const uint32_t *names, size_t count, gt_pattern *pattern)
{
    uint64_t looked_at = 0;
    return find_pattern(names, count, &looked_at, pattern);
}

/* ---- the search ---- */

typedef struct search {
    const gt_calls *calls;
    const gt_linked_view *trace;
    uint32_t
        *plain_names; /* by string id: the id of the name without addresses; GT_STR_NONE: not known yet */
    gt_row_list queue, depths;
    gt_row_list children, names; /* of the event that is looked at */
    uint64_t looked_at;
    gt_repetition found;
} search;

/* "<method at 0x7f12>" is another name in each step. */
static uint32_t plain_name(search *s, uint32_t name)
{
    static const char address[] = " at 0x";
    if (s->plain_names[name] != GT_STR_NONE) return s->plain_names[name];
    gt_str text = gt_interner_get(s->trace->strings, name);
    gt_buffer plain = {0};
    for (size_t i = 0; i < text.len;) {
        if (text.len - i >= strlen(address) && memcmp(text.bytes + i, address, strlen(address)) == 0) {
            i += strlen(address);
            while (i < text.len && memchr("0123456789abcdefABCDEF", text.bytes[i], 22)) i++;
        } else {
            gt_buffer_add(&plain, text.bytes + i++, 1);
        }
    }
    bool same = plain.len == text.len;
    uint32_t id = same ? name : gt_interner_add(s->trace->strings, gt_buffer_str(&plain).bytes, plain.len);
    gt_buffer_free(&plain);
    return s->plain_names[name] = id;
}

static void add_row(gt_row_list *list, uint32_t row)
{
    GT_PUSH(list->items, list->count, list->capacity, row);
}

/* The roots above the ops, in the order of the ops. */
static void list_roots(search *s)
{
    gt_row_list ops = gt_calls_cpu_roots(s->calls);
    uint8_t *seen = gt_alloc_zero(s->trace->count, 1);
    for (size_t i = 0; i < ops.count; i++) {
        uint32_t row = ops.items[i];
        while (s->trace->parent[row] != GT_NO_EVENT && !seen[row]) {
            seen[row] = 1;
            row = s->trace->parent[row];
        }
        if (seen[row]) continue;
        seen[row] = 1;
        add_row(&s->queue, row);
        add_row(&s->depths, 0);
    }
    gt_free_all(seen, ops.items);
    s->found.has_roots = s->queue.count > 0;
}

/* The launches of calls [begin, end) of the event that is looked at. */
static size_t count_launches(const search *s, size_t begin, size_t end)
{
    const gt_linked_view *trace = s->trace;
    uint32_t first = trace->preorder[s->children.items[begin]],
             last = trace->subtree_end[s->children.items[end - 1]];
    return gt_calls_begin(s->calls, last) - gt_calls_begin(s->calls, first);
}

static bool launches_enough(const search *s, const gt_pattern *p)
{
    enum { PERCENT_MIN = 10 };
    size_t all = gt_calls_begin(s->calls, s->trace->numbered);
    return 100 * count_launches(s, p->start, p->start + p->count * p->period) >= PERCENT_MIN * all;
}

static void list_children(search *s, uint32_t row)
{
    s->children.count = s->names.count = 0;
    for (uint32_t child = gt_calls_first(s->calls, row); child != GT_NO_EVENT;
         child = gt_calls_next(s->calls, row, child)) {
        add_row(&s->children, child);
        add_row(&s->names, plain_name(s, s->trace->name[child]));
    }
}

/* ---- steps ---- */

static size_t times_in_pattern(const search *s, const gt_pattern *p, uint32_t name)
{
    size_t times = 0;
    for (size_t i = 0; i < p->period; i++) times += s->names.items[p->start + i] == name;
    return times;
}

static void add_step(search *s, size_t *capacity, size_t first, size_t last)
{
    gt_repeated_step step = {s->children.items[first], s->children.items[last]};
    GT_PUSH(s->found.steps, s->found.count, *capacity, step);
}

/* From each call with the first name of the pattern to the next one with its last name. These may also be
 * after the repetitions, as the last step that is not like the others. */
static void add_by_name(search *s, const gt_pattern *p, uint32_t first_name, uint32_t last_name)
{
    size_t capacity = 0, first = p->start, last = p->start, count = s->names.count;
    for (;; first++, last++) {
        while (first < count && s->names.items[first] != first_name) first++;
        while (last < count && s->names.items[last] != last_name) last++;
        if (first >= count || last >= count || last < first) return;
        add_step(s, &capacity, first, last);
    }
}

static void add_steps(search *s, const gt_pattern *p)
{
    size_t capacity = 0;
    uint32_t first = s->names.items[p->start], last = s->names.items[p->start + p->period - 1];
    if (times_in_pattern(s, p, first) == 1 && times_in_pattern(s, p, last) == 1) {
        add_by_name(s, p, first, last);
        return;
    }
    for (size_t i = 0; i < p->count; i++)
        add_step(s, &capacity, p->start + i * p->period, p->start + (i + 1) * p->period - 1);
}

/* Whether the steps are found. Otherwise the event's calls are looked at later. */
static bool look_at(search *s, uint32_t row, uint32_t depth)
{
    gt_pattern pattern;
    list_children(s, row);
    bool any = false;
    for (size_t i = 0; !any && i < s->children.count; i++)
        any = gt_calls_use_gpu(s->calls, s->children.items[i]);
    if (!any) return false;
    if (find_pattern(s->names.items, s->names.count, &s->looked_at, &pattern) &&
        launches_enough(s, &pattern)) {
        s->found.caller = row;
        s->found.depth = depth;
        s->found.period = pattern.period;
        add_steps(s, &pattern);
        return true;
    }
    for (size_t i = 0; i < s->children.count; i++) {
        if (!gt_calls_use_gpu(s->calls, s->children.items[i])) continue;
        add_row(&s->queue, s->children.items[i]);
        add_row(&s->depths, depth + 1);
    }
    return false;
}

gt_repetition gt_repetition_find(const gt_calls *calls)
{
    search s = {.calls = calls, .trace = calls->trace, .found = {.caller = GT_NO_EVENT}};
    size_t names = gt_interner_count(s.trace->strings);
    s.plain_names = gt_alloc_zero(names, sizeof *s.plain_names);
    list_roots(&s);
    for (size_t i = 0; i < s.queue.count; i++)
        if (look_at(&s, s.queue.items[i], s.depths.items[i])) break;
    gt_free_all(s.plain_names, s.queue.items, s.depths.items, s.children.items, s.names.items);
    return s.found;
}

void gt_repetition_free(gt_repetition *repetition)
{
    gt_free(repetition->steps);
    *repetition = (gt_repetition){.caller = GT_NO_EVENT};
}
