/* Similar names: edit distance with swaps of neighbours (optimal string alignment), three rows at a time. */
#include "compat/nearest.h"

enum { LETTERS = 64 };

static bool same_letter(char a, char b)
{
    return a == b || ((a == '-' || a == '_') && (b == '-' || b == '_'));
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t gt_edit_distance(const char *a, const char *b)
{
    size_t a_len = strnlen(a, LETTERS - 1), b_len = strnlen(b, LETTERS - 1);
    size_t rows[3][LETTERS]; /* row i: distances of the first i characters of a to each prefix of b */
    for (size_t j = 0; j <= b_len; j++) rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t best = above[j - 1] + !same_letter(a[i - 1], b[j - 1]);
            best = smaller(best, smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
                best = smaller(best, two_above[j - 2] + 1);
            row[j] = best;
        }
    }
    return rows[a_len % 3][b_len];
}

const char *gt_nearest(const char *word, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t best = strlen(word) / 3 + 2; /* one more than the largest distance that counts */
    for (size_t i = 0; i < count; i++) {
        size_t distance = gt_edit_distance(word, names[i]);
        if (distance >= best || distance >= strlen(names[i])) continue;
        best = distance;
        nearest = names[i];
    }
    return nearest;
}
