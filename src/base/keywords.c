/* Many words in one pass (Aho-Corasick): a state is the longest beginning of a word with which the text read
 * so far ends. Each state knows the words that end in it and, for every letter, the next state. */
#include "base/guard.h"
#include "base/keywords.h"

/* The letters of words; all other bytes are letter 0, which no word contains. */
static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789_:";
enum { LETTERS = sizeof alphabet, START = 0, NO_WORDS = 0 };

typedef struct state {
    uint16_t next[LETTERS]; /* while words are added: START if no word continues with this letter */
    uint16_t ends;          /* index of the set of words that end here */
} state;

struct gt_keywords {
    uint8_t letter_of[256];
    state *states;
    size_t state_count, state_capacity;
    gt_keyword_set *sets;
    size_t set_count, set_capacity;
    size_t word_count;
    bool ready;
};

gt_keywords *gt_keywords_new(void)
{
    gt_keywords *words = gt_alloc_zero(1, sizeof *words);
    for (size_t i = 0; alphabet[i]; i++) {
        unsigned char c = (unsigned char)alphabet[i];
        words->letter_of[c] = (uint8_t)(i + 1);
        if (c >= 'a' && c <= 'z') words->letter_of[c - 'a' + 'A'] = (uint8_t)(i + 1);
    }
    GT_PUSH(words->states, words->state_count, words->state_capacity, (state){0});
    GT_PUSH(words->sets, words->set_count, words->set_capacity, (gt_keyword_set){0});
    return words;
}

void gt_keywords_free(gt_keywords *words)
{
    if (!words) return;
    gt_free(words->states);
    gt_free(words->sets);
    gt_free(words);
}

/* ---- adding ---- */

/* The lists are part of the program, so a list that cannot be added is an internal error. */
static void require(bool possible, const char *list)
{
    if (!possible) gt_raise_internal("invalid keyword list: %s", list);
}

static uint16_t add_word(gt_keywords *words, const char *word, size_t len, const char *list)
{
    uint16_t at = START;
    for (size_t i = 0; i < len; i++) {
        uint8_t letter = words->letter_of[(unsigned char)word[i]];
        require(letter && words->state_count <= UINT16_MAX, list);
        if (words->states[at].next[letter] == START) {
            words->states[at].next[letter] = (uint16_t)words->state_count;
            GT_PUSH(words->states, words->state_count, words->state_capacity, (state){0});
        }
        at = words->states[at].next[letter];
    }
    return at;
}

static void unite(gt_keyword_set *set, const gt_keyword_set *more)
{
    for (size_t i = 0; i < GT_KEYWORDS_MAX / 64; i++) set->bits[i] |= more->bits[i];
}

gt_keyword_set gt_keywords_add(gt_keywords *words, const char *list)
{
    gt_keyword_set added = {0};
    require(!words->ready, list);
    for (const char *word = list + strspn(list, " "); *word; word += strspn(word, " ")) {
        size_t len = strcspn(word, " ");
        uint16_t last = add_word(words, word, len, list);
        state *end = &words->states[last];
        if (end->ends == NO_WORDS) {
            require(words->word_count < GT_KEYWORDS_MAX, list);
            gt_keyword_set one = {0};
            one.bits[words->word_count / 64] = UINT64_C(1) << words->word_count % 64;
            words->word_count++;
            end->ends = (uint16_t)words->set_count;
            GT_PUSH(words->sets, words->set_count, words->set_capacity, one);
        }
        unite(&added, &words->sets[end->ends]);
        word += len;
    }
    return added;
}

/* ---- finding ---- */

/* States in order of their depth, so that the state to fall back to is complete before it is needed. */
static void make_ready(gt_keywords *words)
{
    state *states = words->states;
    uint16_t *queue = gt_alloc(words->state_count * sizeof *queue);
    uint16_t *shorter =
        gt_alloc_zero(words->state_count, sizeof *shorter); /* by state: the state to fall back to */
    size_t first = 0, count = 0;
    queue[count++] = START;
    while (first < count) {
        uint16_t at = queue[first++], back = shorter[at];
        if (at != START && states[back].ends != NO_WORDS) {
            if (states[at].ends != NO_WORDS)
                unite(&words->sets[states[at].ends], &words->sets[states[back].ends]);
            else
                states[at].ends = states[back].ends;
        }
        for (size_t letter = 1; letter < LETTERS; letter++) {
            uint16_t next = states[at].next[letter];
            uint16_t otherwise = at == START ? START : states[back].next[letter];
            if (next == START) {
                states[at].next[letter] = otherwise;
            } else {
                shorter[next] = otherwise;
                queue[count++] = next;
            }
        }
    }
    gt_free(queue);
    gt_free(shorter);
    words->ready = true;
}

gt_keyword_set gt_keywords_find(gt_keywords *words, gt_str text)
{
    gt_keyword_set found = {0};
    uint16_t at = START;
    if (!words->ready) make_ready(words);
    for (size_t i = 0; i < text.len; i++) {
        const state *here = &words->states[at];
        at = here->next[words->letter_of[(unsigned char)text.bytes[i]]];
        uint16_t ends = words->states[at].ends;
        if (ends != NO_WORDS) unite(&found, &words->sets[ends]);
    }
    return found;
}
