/* Many words in one pass: at each place of the text, the words with this first letter are compared. */
#include "base/keywords.h"

#include "base/guard.h"

typedef struct keyword {
    gt_str text;          /* of the caller's list */
    struct keyword *next; /* with the same first letter */
} keyword;

struct gt_keywords {
    keyword items[GT_KEYWORDS_MAX];
    size_t count;
    keyword *by_letter[256];
};

gt_keywords *gt_keywords_new(void)
{
    return gt_alloc_zero(1, sizeof(gt_keywords));
}

void gt_keywords_free(gt_keywords *words)
{
    gt_free(words);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static keyword **chain_of(gt_keywords *words, char letter)
{
    return &words->by_letter[(unsigned char)lower(letter)];
}

static bool begins_with(gt_str text, gt_str word)
{
    if (word.len > text.len) return false;
    for (size_t i = 1; i < word.len; i++)
        if (lower(text.bytes[i]) != word.bytes[i]) return false;
    return true;
}

static void insert(gt_keyword_set *set, const gt_keywords *words, const keyword *word)
{
    size_t index = (size_t)(word - words->items);
    set->bits[index / 64] |= UINT64_C(1) << index % 64;
}

/* The lists are part of the program, so a list that cannot be added is an internal error. */
static keyword *add_word(gt_keywords *words, gt_str text)
{
    if (words->count == GT_KEYWORDS_MAX) gt_raise_internal("too many keywords: %s", text.bytes);
    keyword *word = &words->items[words->count++], **chain = chain_of(words, text.bytes[0]);
    *word = (keyword){text, *chain};
    *chain = word;
    return word;
}

gt_keyword_set gt_keywords_add(gt_keywords *words, const char *list)
{
    gt_keyword_set added = {0};
    for (const char *at = list + strspn(list, " "); *at; at += strspn(at, " ")) {
        gt_str text = {at, strcspn(at, " ")};
        keyword *word = *chain_of(words, *at);
        while (word && gt_str_compare(word->text, text) != 0) word = word->next;
        insert(&added, words, word ? word : add_word(words, text));
        at += text.len;
    }
    return added;
}

gt_keyword_set gt_keywords_find(gt_keywords *words, gt_str text)
{
    gt_keyword_set found = {0};
    for (; text.len; text.bytes++, text.len--)
        for (const keyword *word = *chain_of(words, *text.bytes); word; word = word->next)
            if (begins_with(text, word->text)) insert(&found, words, word);
    return found;
}
