/* Which axes of a sweep matter, and do they depend on each other? An analysis of variance.
 *
 * The logarithm of a time is explained by one number per value of each axis (main effects) and one per pair
 * of values of two axes (interactions). The sum of squares of a term is what it explains beyond all terms
 * that do not contain it (type II): for a main effect, beyond the other axes and their interactions. In a
 * balanced design this is the usual table, whose rows add up. In an unbalanced one (failed runs, a part of
 * the grid) the order of the terms does not matter, but the rows need not add up to the total; `is_balanced`
 * says so.
 *
 * A term is a set of columns of zeros and ones, one row per setting, weighted with its number of
 * measurements. Columns are made orthogonal to all columns before them (Gram-Schmidt, twice for accuracy);
 * the part of the measurements along the new columns is what the term explains, and the number of columns
 * that are not zero afterwards is its number of degrees of freedom. Combinations that were never run so
 * reduce the degrees of freedom of an interaction instead of being invented.
 *
 * F compares with the spread of the measurements of one setting. Without repeated measurements it compares
 * with the rest, the interactions that the model does not contain; with two axes these are the interactions
 * of the two, which then are no term. */
#include "sweep/decide/decide.h"

#include "table/distributions.h"

typedef struct term {
    size_t axes[2]; /* the second: SIZE_MAX of a main effect */
    size_t width;   /* columns */
} term;

typedef struct model {
    const gt_effect_design *design;
    size_t *rows; /* settings with measurements */
    size_t row_count;
    double *root; /* by row: the square root of the weight */
    term *terms;
    size_t term_count, term_capacity;
    double *basis; /* orthonormal columns, row_count numbers each */
    size_t basis_count, width;
    double *rest; /* what the basis does not explain of the measurements, weighted */
} model;

static const double negligible = 1e-9; /* a column whose length shrinks to this part depends on the others */
static const double most_work = 2e9;   /* multiplications */

static size_t place_of(const model *m, size_t row, size_t axis)
{
    return m->design->places[m->rows[row] * m->design->axis_count + axis];
}

/* ---- columns ---- */

/* The weighted dot product of a basis column and another column. */
static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static void subtract(double *from, const double *what, double times, size_t count)
{
    for (size_t i = 0; i < count; i++) from[i] -= times * what[i];
}

/* Adds a column, which is at the end of the basis, if it does not depend on the columns there. */
static void add_column(model *m)
{
    size_t n = m->row_count;
    double *column = &m->basis[m->basis_count * n], before = sqrt(dot(column, column, n));
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < m->basis_count; i++)
            subtract(column, &m->basis[i * n], dot(&m->basis[i * n], column, n), n);
    double length = sqrt(dot(column, column, n));
    if (!(length > negligible * before)) return;
    for (size_t i = 0; i < n; i++) column[i] /= length;
    subtract(m->rest, column, dot(column, m->rest, n), n);
    m->basis_count++;
}

static void add_term(model *m, const term *t)
{
    const size_t *levels = m->design->levels;
    bool is_pair = t->axes[1] != SIZE_MAX;
    for (size_t a = 1; a < levels[t->axes[0]]; a++)
        for (size_t b = 1; b < (is_pair ? levels[t->axes[1]] : 2); b++) {
            double *column = &m->basis[m->basis_count * m->row_count];
            for (size_t i = 0; i < m->row_count; i++)
                column[i] = place_of(m, i, t->axes[0]) == a && (!is_pair || place_of(m, i, t->axes[1]) == b)
                                ? m->root[i]
                                : 0;
            add_column(m);
        }
}

/* The measurements, and the column of the mean. */
static void begin_fit(model *m)
{
    for (size_t i = 0; i < m->row_count; i++) {
        m->rest[i] = m->design->samples[m->rows[i]].mean * m->root[i];
        m->basis[i] = m->root[i];
    }
    m->basis_count = 0;
    add_column(m);
}

static bool contains(const term *t, const term *part)
{
    for (size_t i = 0; i < 2; i++)
        if (part->axes[i] != SIZE_MAX && t->axes[0] != part->axes[i] && t->axes[1] != part->axes[i])
            return false;
    return true;
}

/* Fits all terms that do not contain term `index`, then that term. */
static gt_effect test_term(model *m, size_t index)
{
    const term *tested = &m->terms[index];
    begin_fit(m);
    for (size_t i = 0; i < m->term_count; i++)
        if (!contains(&m->terms[i], tested)) add_term(m, &m->terms[i]);
    double before = dot(m->rest, m->rest, m->row_count);
    size_t columns = m->basis_count;
    add_term(m, tested);
    gt_effect effect = {.axes = {tested->axes[0], tested->axes[1]},
                        .squares = fmax(0, before - dot(m->rest, m->rest, m->row_count)),
                        .freedom = m->basis_count - columns,
                        .kind = GT_EFFECT_TERM};
    return effect;
}

/* ---- the model ---- */

/* Axes of which at least two values occur. */
static bool varies(const model *m, size_t axis)
{
    for (size_t i = 1; i < m->row_count; i++)
        if (place_of(m, i, axis) != place_of(m, 0, axis)) return true;
    return false;
}

static void name_terms(model *m, bool pairs)
{
    const gt_effect_design *d = m->design;
    m->term_count = 0;
    m->width = 2; /* the mean, and room for a column that is dropped */
    for (size_t a = 0; a < d->axis_count; a++) {
        if (!varies(m, a)) continue;
        term t = {{a, SIZE_MAX}, d->levels[a] - 1};
        m->width += t.width;
        GT_PUSH(m->terms, m->term_count, m->term_capacity, t);
    }
    size_t mains = m->term_count;
    for (size_t i = 0; pairs && i < mains; i++)
        for (size_t k = i + 1; k < mains; k++) {
            term t = {{m->terms[i].axes[0], m->terms[k].axes[0]}, m->terms[i].width * m->terms[k].width};
            m->width += t.width;
            GT_PUSH(m->terms, m->term_count, m->term_capacity, t);
        }
}

static bool is_too_large(const model *m)
{
    double width = (double)m->width;
    return m->width > GT_EFFECT_COLUMNS_MAX ||
           2 * width * width * (double)m->row_count * (double)(m->term_count + 1) > most_work;
}

static bool is_balanced(const model *m)
{
    double cells = 1;
    for (size_t a = 0; a < m->design->axis_count; a++) cells *= (double)m->design->levels[a];
    for (size_t i = 1; i < m->row_count; i++)
        if (m->root[i] != m->root[0]) return false;
    return cells == (double)m->row_count;
}

static void add_effect(gt_effects *effects, gt_effect effect)
{
    effect.f = effect.p = NAN;
    GT_PUSH(effects->items, effects->count, effects->capacity, effect);
}

/* All rows: the terms, the rest, the error. */
static void fit(model *m, gt_effects *effects)
{
    effects->count = 0;
    gt_free(m->basis);
    m->basis = gt_alloc((m->width + 1) * m->row_count * sizeof *m->basis);
    for (size_t i = 0; i < m->term_count; i++) add_effect(effects, test_term(m, i));
    begin_fit(m);
    for (size_t i = 0; i < m->term_count; i++) add_term(m, &m->terms[i]);
    add_effect(effects, (gt_effect){.axes = {SIZE_MAX, SIZE_MAX},
                                    .squares = dot(m->rest, m->rest, m->row_count),
                                    .freedom = m->row_count - m->basis_count,
                                    .kind = GT_EFFECT_REST});
}

static gt_effect error_of(const model *m)
{
    gt_effect error = {.axes = {SIZE_MAX, SIZE_MAX}, .kind = GT_EFFECT_ERROR};
    for (size_t i = 0; i < m->row_count; i++) {
        const gt_log_sample *sample = &m->design->samples[m->rows[i]];
        if (sample->count < 2) continue;
        error.freedom += sample->count - 1;
        error.squares += sample->variance * (double)(sample->count - 1);
    }
    return error;
}

static double total_squares(model *m)
{
    begin_fit(m);
    return dot(m->rest, m->rest, m->row_count);
}

/* F, p and shares. */
static void finish(gt_effects *effects, double total)
{
    const gt_effect *against = &effects->items[effects->count - 1]; /* the error, else the rest */
    double mean_square = against->freedom ? against->squares / (double)against->freedom : NAN;
    for (size_t i = 0; i < effects->count; i++) {
        gt_effect *effect = &effects->items[i];
        effect->share_pct = total > 0 ? 100 * effect->squares / total : NAN;
        if (effect == against || !effect->freedom || !(mean_square > 0)) continue;
        effect->f = effect->squares / (double)effect->freedom / mean_square;
        effect->p = gt_fisher_p(effect->f, (double)effect->freedom, (double)against->freedom);
    }
}

static void take_rows(model *m)
{
    const gt_effect_design *d = m->design;
    m->rows = gt_alloc((d->count + 1) * sizeof *m->rows);
    m->root = gt_alloc((d->count + 1) * sizeof *m->root);
    m->rest = gt_alloc((d->count + 1) * sizeof *m->rest);
    for (size_t i = 0; i < d->count; i++) {
        if (!d->samples[i].count) continue;
        m->root[m->row_count] = sqrt((double)d->samples[i].count);
        m->rows[m->row_count++] = i;
    }
}

static void fit_all(model *m, gt_effects *effects)
{
    gt_effect error = error_of(m);
    effects->has_error = error.freedom > 0;
    effects->is_balanced = is_balanced(m);
    fit(m, effects);
    if (!effects->has_error && effects->has_interactions && !effects->items[effects->count - 1].freedom) {
        effects->has_interactions = false;
        name_terms(m, false);
        fit(m, effects);
    }
    double total = total_squares(m);
    if (effects->has_error) {
        add_effect(effects, error);
        total += error.squares;
    }
    finish(effects, total);
}

bool gt_effects_find(gt_effects *effects, const gt_effect_design *design)
{
    *effects = (gt_effects){0};
    if (design->axis_count > GT_EFFECT_AXES_MAX) return false;
    model m = {.design = design};
    take_rows(&m);
    name_terms(&m, true);
    effects->has_interactions = !is_too_large(&m);
    if (!effects->has_interactions) name_terms(&m, false);
    bool found = m.term_count && !is_too_large(&m);
    if (found) {
        effects->has_interactions = effects->has_interactions && m.term_count > 1;
        fit_all(&m, effects);
    }
    gt_free_all(m.rows, m.root, m.rest, m.terms, m.basis);
    return found;
}

void gt_effects_free(gt_effects *effects)
{
    gt_free(effects->items);
    *effects = (gt_effects){0};
}
