/* The interner: a hash table of ids with open addressing, and the strings in an arena. */
#include "base/interner.h"
#include "base/map.h"
#include "base/memory.h"

typedef struct entry {
    const char *bytes;
    uint32_t len;
    uint32_t hash; /* its first slot, and what a probe compares first */
} entry;

struct gt_interner {
    gt_arena arena;
    entry *entries;
    size_t count, capacity;
    uint32_t *slots; /* ids; 0 for an empty slot */
    size_t mask;
    uint64_t seed;                 /* strings come from files and may be chosen to collide */
    void (*release)(void *object); /* see gt_interner_own */
    void *object;
};

static inline uint64_t hash_from(uint64_t h, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    uint64_t word;
    while (len >= 8) {
        memcpy(&word, p, 8);
        h = (h ^ word) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
        p += 8;
        len -= 8;
    }
    word = 0;
    if (len) memcpy(&word, p, len);
    h = (h ^ word) * 0xD6E8FEB86659FD93u;
    return h ^ (h >> 29);
}

uint64_t gt_hash_bytes(const void *bytes, size_t len)
{
    return hash_from(len * 0x9E3779B97F4A7C15u, bytes, len);
}

bool gt_str_contains_nocase(gt_str text, const char *word)
{
    size_t len = strlen(word);
    for (size_t at = 0; at + len <= text.len; at++)
        if ((text.bytes[at] | 0x20) == (word[0] | 0x20) && strncasecmp(text.bytes + at, word, len) == 0)
            return true;
    return false;
}

int gt_str_compare(gt_str a, gt_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.bytes, b.bytes, len) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

gt_interner *gt_interner_new(void)
{
    gt_interner *s = gt_alloc_zero(1, sizeof *s);
    s->mask = 255;
    s->seed = gt_map_seed();
    s->slots = gt_alloc_zero(s->mask + 1, sizeof *s->slots);
    GT_PUSH(s->entries, s->count, s->capacity, ((entry){"", 0, 0})); /* GT_STR_NONE has no slot */
    gt_interner_add(s, "", 0);
    return s;
}

gt_interner *gt_interner_copy(const gt_interner *from)
{
    gt_interner *s = gt_alloc_zero(1, sizeof *s);
    s->count = s->capacity = from->count;
    s->mask = from->mask;
    s->seed = from->seed;
    s->entries = gt_alloc(from->count * sizeof *s->entries);
    s->slots = gt_alloc((from->mask + 1) * sizeof *s->slots);
    memcpy(s->entries, from->entries, from->count * sizeof *s->entries);
    memcpy(s->slots, from->slots, (from->mask + 1) * sizeof *s->slots);
    return s;
}

void gt_interner_free(gt_interner *s)
{
    if (!s) return;
    gt_arena_free(&s->arena);
    gt_free_all(s->entries, s->slots);
    if (s->release) s->release(s->object);
    gt_free(s);
}

void gt_interner_own(gt_interner *s, void (*release)(void *object), void *object)
{
    s->release = release;
    s->object = object;
}

static uint32_t short_hash(const gt_interner *s, const void *bytes, size_t len)
{
    uint64_t hash = hash_from(s->seed ^ len, bytes, len);
    return (uint32_t)(hash ^ hash >> 32);
}

static size_t find_slot(const gt_interner *s, const void *bytes, size_t len, uint32_t hash)
{
    size_t at = hash & s->mask;
    for (; s->slots[at]; at = (at + 1) & s->mask) {
        const entry *e = &s->entries[s->slots[at]];
        if (e->hash == hash && e->len == len && (len == 0 || memcmp(e->bytes, bytes, len) == 0)) break;
    }
    return at;
}

static void double_slots(gt_interner *s)
{
    size_t mask = s->mask * 2 + 1;
    uint32_t *slots = gt_alloc_zero(mask + 1, sizeof *slots);
    for (uint32_t id = 1; id < s->count; id++) {
        size_t at = s->entries[id].hash & mask;
        while (slots[at]) at = (at + 1) & mask;
        slots[at] = id;
    }
    gt_free(s->slots);
    s->slots = slots;
    s->mask = mask;
}

/* Puts a new string into the empty slot that find_slot returned. */
static uint32_t add_entry(gt_interner *s, size_t slot, entry added)
{
    uint32_t id = (uint32_t)s->count;
    GT_PUSH(s->entries, s->count, s->capacity, added);
    s->slots[slot] = id;
    if (s->count * 2 > s->mask) double_slots(s);
    return id;
}

uint32_t gt_interner_add(gt_interner *s, const void *bytes, size_t len)
{
    uint32_t hash = short_hash(s, bytes, len);
    size_t at = find_slot(s, bytes, len, hash);
    if (s->slots[at]) return s->slots[at];
    return add_entry(s, at, (entry){gt_arena_bytes(&s->arena, bytes, len), (uint32_t)len, hash});
}

uint32_t gt_interner_add_borrowed(gt_interner *s, const char *bytes, size_t len)
{
    uint32_t hash = short_hash(s, bytes, len);
    size_t at = find_slot(s, bytes, len, hash);
    if (s->slots[at]) return s->slots[at];
    return add_entry(s, at, (entry){bytes, (uint32_t)len, hash});
}

uint32_t gt_interner_add_cstr(gt_interner *s, const char *text)
{
    return gt_interner_add(s, text, strlen(text));
}

uint32_t gt_interner_add_from(gt_interner *to, const gt_interner *from, uint32_t id)
{
    if (id == GT_STR_NONE) return GT_STR_NONE;
    gt_str text = gt_interner_get(from, id);
    return gt_interner_add(to, text.bytes, text.len);
}

uint32_t gt_interner_find(const gt_interner *s, const void *bytes, size_t len)
{
    return s->slots[find_slot(s, bytes, len, short_hash(s, bytes, len))];
}

gt_str gt_interner_get(const gt_interner *s, uint32_t id)
{
    return (gt_str){s->entries[id].bytes, s->entries[id].len};
}

uint32_t gt_interner_count(const gt_interner *s)
{
    return (uint32_t)s->count;
}
