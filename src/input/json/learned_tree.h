/* The tree of learned text in memory: what learned.c grows and learned_read.h follows. */
#pragma once

#include "input/json/learned.h"
#include "json/scan_set.h"

enum {
    GT_LEARNED_EDGES = 12,      /* at a node */
    GT_LEARNED_GUESS_BITS = 12, /* of 2^n hashes of nodes and contexts, the last two strings are remembered */
    GT_LEARNED_RECENT_BITS = 12, /* and of 2^n hashes of strings, the last string */
};

typedef struct gt_learned_effect {
    uint8_t field;
    bool mistyped;
    gt_store_cell cell;
} gt_learned_effect;

/* What every record needs of it comes first. */
typedef struct gt_learned_edge {
    uint8_t *text;              /* padded to a multiple of 16 */
    struct gt_learned_node *to; /* NULL at the record's end */
    uint32_t len;
    uint16_t misses; /* of a folded edge: failed comparisons since it last matched */
    bool is_plain; /* leads to a value and has no effects, and none of the next three needs to be looked at */
    bool dropping; /* the record is not wanted, whatever follows */
    bool ending;   /* nothing that follows is wanted */
    bool folded;
    uint16_t same;  /* how often in a row the last value seen after this edge was the same */
    uint16_t watch; /* how many values are still to be watched */
    uint32_t effect_count;
    gt_learned_effect *effects; /* values of fields; */
    uint64_t present, mistyped; /* which fields they are, and which are mistyped */
    int64_t last;               /* the last value seen after this edge */
} gt_learned_edge;

typedef struct gt_learned_node {
    gt_step_op op;
    int field;
    unsigned depth;
    bool mistyped;
    uint8_t edge_count;
    gt_learned_edge *edges[GT_LEARNED_EDGES];
    uint32_t salt; /* of a string's hashes */
} gt_learned_node;

/* Strings that were read before, by what they are found from: raw ids, 0 if there is none. */
typedef struct gt_learned_seen {
    uint32_t guesses[1 << GT_LEARNED_GUESS_BITS][2]; /* the two that came last after the same strings */
    uint32_t recent[1 << GT_LEARNED_RECENT_BITS];    /* by some of their bytes */
} gt_learned_seen;

typedef struct gt_learned_strings {
    gt_json_interner *intern;
    gt_learned_seen *seen; /* NULL as long as the tree has no step that reads such strings */
} gt_learned_strings;

/* Reads records with one instruction set. */
typedef struct gt_learned_set {
    bool (*read)(gt_learned *learned, gt_json *json, gt_record *record); /* gt_learned_read */
    size_t (*skip)(gt_learned *learned, gt_json *json, gt_str separator, /* gt_learned_skip */
                   const uint8_t *limit);
    const gt_scan_loops *scan; /* the loops that it reads with, for tests */
} gt_learned_set;

struct gt_learned {
    const gt_learned_set *set;
    gt_learned_strings strings, values;
    gt_arena arena;
    gt_learned_node *root;
    size_t nodes;
    /* What a string is guessed from: the raw ids of the first strings of the last three records, with this
     * one if it is not its first, and of all strings before it in the record. */
    uint32_t context;
    uint32_t next_context; /* at the beginning of the next record */
    uint32_t first;        /* the first string of this or the last record */
    uint32_t second;       /* that of the record before */
    bool has_first;        /* of this record */
};

/* In the learned_<set>.c files. */
extern const gt_learned_set gt_learned_scalar, gt_learned_base, gt_learned_avx2, gt_learned_avx512,
    gt_learned_sve2;
/* NULL if the binary has no code for it. */
const gt_learned_set *gt_learned_set_of(gt_scan_set set);

/* The value between two edges has stayed the same for long: joins the edges before and after it into one. */
void gt_learned_fold(gt_learned *learned, gt_learned_node *from, const gt_learned_edge *before,
                     const gt_learned_edge *after, gt_str value_text, gt_learned_effect value);
void gt_learned_drop_edge(gt_learned_node *from, size_t index);
