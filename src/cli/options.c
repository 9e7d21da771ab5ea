/* The option parser: one pass over the arguments; names are looked up in the tables of the groups. */
#include "cli/options.h"

#include "base/guard.h"
#include "compat/number.h"

/* ---- walks through the options ---- */

bool gt_option_next(gt_option_walk *at)
{
    const gt_option_group *const *groups = at->syntax->groups;
    if (at->option) {
        at->index++;
        at->row_index++;
    }
    for (; at->group_index < GT_OPTION_GROUPS_MAX && groups[at->group_index]; at->group_index++) {
        at->group = groups[at->group_index];
        if (at->row_index < at->group->count && at->index < GT_OPTIONS_MAX) {
            at->option = &at->group->options[at->row_index];
            return true;
        }
        at->row_index = 0;
    }
    return false;
}

/* ---- the parser ---- */

enum { NOT_FOUND = GT_OPTIONS_MAX, AMBIGUOUS };

typedef struct parser {
    gt_arguments *arguments;
    const gt_option *options[GT_OPTIONS_MAX]; /* of all groups, in the order of gt_arguments.values */
    size_t option_count;
    char **words;
    size_t word_count, next;
    gt_error *error;
} parser;

static size_t collect_options(const gt_syntax *syntax, const gt_option *options[GT_OPTIONS_MAX])
{
    size_t count = 0;
    for (gt_option_walk at = {.syntax = syntax}; gt_option_next(&at);) options[count++] = at.option;
    return count;
}

/* Whether the `len` characters at `typed` are a prefix of `name`. */
static bool is_prefix(const char *name, const char *typed, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (name[i] != typed[i] && !(name[i] == '_' && typed[i] == '-')) return false;
    return true;
}

static bool ambiguous(const parser *p, const char *typed, size_t len)
{
    char list[512] = "";
    for (size_t i = 0; i < p->option_count; i++) {
        size_t used = strlen(list);
        if (is_prefix(p->options[i]->name, typed, len))
            snprintf(list + used, sizeof list - used, "%s--%s", used ? ", " : "", p->options[i]->name);
    }
    return gt_fail(p->error, "ambiguous option: --%.*s could match %s", (int)len, typed, list);
}

static bool unknown(const parser *p, const char *word, size_t name_len)
{
    const char *names[GT_OPTIONS_MAX + 1] = {"help"};
    for (size_t i = 0; i < p->option_count; i++) names[i + 1] = p->options[i]->name;
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)(name_len < 60 ? name_len : 60), word + 2);
    const char *nearest = name_len ? gt_nearest(typed, names, p->option_count + 1) : NULL;
    return nearest ? gt_fail(p->error, "unrecognized arguments: %.200s (did you mean --%s?)", word, nearest)
                   : gt_fail(p->error, "unrecognized arguments: %.200s", word);
}

static size_t find_option(const parser *p, const char *typed, size_t len)
{
    size_t found = NOT_FOUND;
    for (size_t i = 0; i < p->option_count; i++) {
        if (!is_prefix(p->options[i]->name, typed, len)) continue;
        if (p->options[i]->name[len] == 0) return i;
        found = found == NOT_FOUND ? i : AMBIGUOUS;
    }
    if (found != NOT_FOUND || !len) return len ? found : NOT_FOUND;
    for (const gt_option_alias *alias = p->arguments->syntax->aliases; alias && alias->old_name; alias++)
        if (is_prefix(alias->old_name, typed, len))
            return find_option(p, alias->option, strlen(alias->option));
    return NOT_FOUND;
}

static bool parse_int(const char *text, int64_t *value, bool *too_large)
{
    __int128 number = 0;
    gt_python_parsed parsed = gt_python_parse_int((gt_str){text, strlen(text)}, &number);
    *too_large = parsed == GT_PYTHON_TOO_LARGE || (parsed == GT_PYTHON_PARSED && number != (int64_t)number);
    *value = (int64_t)number;
    return parsed == GT_PYTHON_PARSED && !*too_large;
}

/* Fails if there is a closed list of values and this is none of them. */
static bool check_choice(const parser *p, const char *dashes, const char *name, const char *list,
                         const char *text)
{
    size_t len = strlen(text), whole = list ? strlen(list) : 0;
    if (!list || list[whole - 1] == '|') return true;
    gt_buffer shown = {0};
    bool found = false;
    for (const char *at = list; *at; at += *at == '|') {
        size_t part = strcspn(at, "|");
        found |= part == len && memcmp(at, text, len) == 0;
        if (shown.len) gt_buffer_add_cstr(&shown, ", ");
        gt_buffer_add(&shown, at, part);
        at += part;
    }
    if (!found)
        gt_fail(p->error, "argument %s%s: invalid choice: '%.200s' (choose from %s)", dashes, name, text,
                gt_buffer_str(&shown).bytes);
    gt_buffer_free(&shown);
    return found;
}

static bool set_value(parser *p, size_t index, const char *text)
{
    const gt_option *option = p->options[index];
    gt_option_value *value = &p->arguments->values[index];
    bool too_large = false;
    if (option->kind == GT_OPTION_INT && !parse_int(text, &value->number, &too_large))
        return gt_fail(p->error, "argument --%s: %s: '%.200s'", option->name,
                       too_large ? "value out of range" : "invalid int value", text);
    if (option->kind != GT_OPTION_STRINGS && !check_choice(p, "--", option->name, option->choices, text))
        return false;
    value->text = text;
    value->given = true;
    return true;
}

/* Whether an argument looks like an option and so cannot be a value; "-", lists that start with it, such as
 * "-,8x16", and negative numbers do not. */
static bool looks_like_option(const char *word)
{
    if (word[0] != '-' || strchr(",;", word[1]) || strchr(word, ' ')) return false;
    char *end;
    strtod(word, &end);
    return *end != 0;
}

static bool take_values(parser *p, size_t index, const char *first)
{
    gt_option_value *value = &p->arguments->values[index];
    const gt_option *option = p->options[index];
    if (!first && (p->next == p->word_count || looks_like_option(p->words[p->next])))
        return gt_fail(p->error, "argument --%s: expected %s argument", option->name,
                       option->kind == GT_OPTION_STRINGS ? "at least one" : "one");
    if (!set_value(p, index, first ? first : p->words[p->next++])) return false;
    if (option->kind == GT_OPTION_STRINGS &&
        !check_choice(p, "--", option->name, option->choices, value->text))
        return false;
    if (option->kind != GT_OPTION_STRINGS && option->kind != GT_OPTION_EACH) return true;
    GT_PUSH(value->texts, value->text_count, value->text_capacity, value->text);
    while (option->kind == GT_OPTION_STRINGS && !first && p->next < p->word_count &&
           !looks_like_option(p->words[p->next])) {
        value->text = p->words[p->next++];
        if (!check_choice(p, "--", option->name, option->choices, value->text)) return false;
        GT_PUSH(value->texts, value->text_count, value->text_capacity, value->text);
    }
    return true;
}

static void set_flag(parser *p, size_t index)
{
    p->arguments->values[index].given = true;
    if (strcmp(p->options[index]->name, "version") == 0) p->arguments->version = true;
}

static bool take_option(parser *p, const char *word)
{
    const char *typed = word + 2, *equals = strchr(typed, '=');
    size_t len = equals ? (size_t)(equals - typed) : strlen(typed);
    size_t index = find_option(p, typed, len);
    if (index == NOT_FOUND && len && is_prefix("help", typed, len) && !equals)
        return p->arguments->help = true;
    if (index == NOT_FOUND) return unknown(p, word, len);
    if (index == AMBIGUOUS) return ambiguous(p, typed, len);

    const gt_option *option = p->options[index];
    if (option->kind == GT_OPTION_FLAG) {
        if (equals)
            return gt_fail(p->error, "argument --%s: ignored explicit argument '%.200s'", option->name,
                           equals + 1);
        set_flag(p, index);
        return true;
    }
    if (option->kind == GT_OPTION_MAYBE && !equals) return p->arguments->values[index].given = true;
    return take_values(p, index, equals ? equals + 1 : NULL);
}

/* Short options that mean the same in every command; -o is a name that the command chooses. */
static const gt_short_option common_short_options[] = {{'q', "quiet"}, {'V', "version"}, {0}};

/* The long name of a short option, or NULL. */
static const char *find_short_option(const gt_syntax *syntax, char wanted)
{
    if (wanted == 'o' && syntax->output_option) return syntax->output_option;
    for (const gt_short_option *letter = common_short_options; letter->letter; letter++)
        if (letter->letter == wanted && gt_syntax_option(syntax, letter->option)) return letter->option;
    for (const gt_short_option *letter = syntax->short_options; letter && letter->letter; letter++)
        if (letter->letter == wanted) return letter->option;
    return NULL;
}

static bool is_short_option(const parser *p, const char *word)
{
    return word[0] == '-' && word[1] && find_short_option(p->arguments->syntax, word[1]);
}

/* "-o PATH", "-oPATH" or "-o=PATH"; flags: "-rd" */
static bool take_short_options(parser *p, const char *word)
{
    for (const char *at = word + 1; *at; at++) {
        const char *name = find_short_option(p->arguments->syntax, *at);
        if (!name) return gt_fail(p->error, "unrecognized arguments: %.200s", word);
        size_t index = find_option(p, name, strlen(name));
        if (p->options[index]->kind != GT_OPTION_FLAG)
            return take_values(p, index, !at[1] ? NULL : at[1] == '=' ? at + 2 : at + 1);
        set_flag(p, index);
    }
    return true;
}

static bool take_file(parser *p, const char *word)
{
    gt_arguments *a = p->arguments;
    const char *hint = a->syntax->file_hint;
    if (a->file_count == a->syntax->files_max)
        return gt_fail(p->error, "unrecognized arguments: %.200s%s%s", word, hint ? "; " : "",
                       hint ? hint : "");
    if (!check_choice(p, "", a->syntax->files, a->syntax->file_choices, word)) return false;
    GT_PUSH(a->files, a->file_count, a->file_capacity, word);
    return true;
}

/* No option begins with a blank: "-- text" is SQL that begins with a comment. */
static bool is_long_option(const char *word)
{
    return strncmp(word, "--", 2) == 0 && !strchr(" \t\r\n", word[2]);
}

static bool take_words(parser *p)
{
    bool options_ended = false;
    while (p->next < p->word_count && !p->arguments->help && !p->arguments->version) {
        const char *word = p->words[p->next++];
        if (!options_ended && strcmp(word, "--") == 0)
            options_ended = true;
        else if (!options_ended && strcmp(word, "-h") == 0)
            p->arguments->help = true;
        else if (!options_ended && is_long_option(word)) {
            if (!take_option(p, word)) return false;
        } else if (!options_ended && is_short_option(p, word)) {
            if (!take_short_options(p, word)) return false;
        } else if (!options_ended && looks_like_option(word))
            return gt_fail(p->error, "unrecognized arguments: %.200s", word);
        else if (!take_file(p, word))
            return false;
        else
            options_ended = options_ended || p->arguments->syntax->is_command;
    }
    return true;
}

/* A file without an option name becomes the value of the file option, if there is one. At least one file is
 * required unless the syntax says "[FILE...]". */
static bool check_files(parser *p)
{
    gt_arguments *a = p->arguments;
    const char *name = a->syntax->file_option;
    if (!name && (!a->syntax->files[0] || a->syntax->files[0] == '[')) return true;
    if (!name)
        return a->file_count ||
               gt_fail(p->error, "the following arguments are required: %s", a->syntax->files);
    size_t index = find_option(p, name, strlen(name));
    if (a->file_count && a->values[index].given)
        return gt_fail(p->error, "argument --%s: given twice: '%.200s' and '%.200s'", name,
                       a->values[index].text, a->files[0]);
    if (a->file_count) return set_value(p, index, a->files[0]);
    if (a->values[index].given) return true;
    /* Commands that take an output call it as their usage does; the others, as the programs that they
     * replace. */
    bool output = a->syntax->output_option && strcmp(a->syntax->output_option, name) == 0;
    return gt_fail(p->error, "the following arguments are required: %s%s", output ? "" : "--",
                   output ? a->syntax->files : name);
}

bool gt_arguments_parse(gt_arguments *arguments, const gt_syntax *syntax, int argc, char **argv,
                        gt_error *error)
{
    *arguments = (gt_arguments){.syntax = syntax};
    parser p = {.arguments = arguments, .words = argv, .word_count = (size_t)argc, .error = error};
    p.option_count = collect_options(syntax, p.options);
    for (size_t i = 0; i < p.option_count; i++) {
        if (!p.options[i]->initial) continue;
        if (!set_value(&p, i, p.options[i]->initial)) return false;
        arguments->values[i].given = false;
    }
    if (take_words(&p)) return arguments->help || arguments->version || check_files(&p);
    gt_error ignored; /* the first one counts; what follows may say where errors are written */
    p.error = &ignored;
    while (!take_words(&p)) {
    }
    return false;
}

void gt_arguments_free(gt_arguments *arguments)
{
    gt_free(arguments->files);
    for (size_t i = 0; i < arguments->owned_count; i++) gt_free(arguments->owned[i]);
    gt_free(arguments->owned);
    for (size_t i = 0; i < GT_OPTIONS_MAX; i++) gt_free(arguments->values[i].texts);
    *arguments = (gt_arguments){0};
}

const gt_option_value *gt_arguments_value(const gt_arguments *arguments, const char *name)
{
    for (gt_option_walk at = {.syntax = arguments->syntax}; gt_option_next(&at);)
        if (strcmp(at.option->name, name) == 0) return &arguments->values[at.index];
    gt_raise_internal("no option --%s", name);
}

bool gt_arguments_flag(const gt_arguments *arguments, const char *name)
{
    return gt_arguments_value(arguments, name)->given;
}

int64_t gt_arguments_int(const gt_arguments *arguments, const char *name)
{
    return gt_arguments_value(arguments, name)->number;
}

const char *gt_arguments_string(const gt_arguments *arguments, const char *name)
{
    const char *text = gt_arguments_value(arguments, name)->text;
    return text && text[0] ? text : NULL;
}

bool gt_arguments_flag_if(const gt_arguments *arguments, const char *name)
{
    return gt_syntax_option(arguments->syntax, name) && gt_arguments_flag(arguments, name);
}

const char *gt_arguments_string_if(const gt_arguments *arguments, const char *name)
{
    return gt_syntax_option(arguments->syntax, name) ? gt_arguments_string(arguments, name) : NULL;
}

char gt_syntax_short_option(const gt_syntax *syntax, const char *name)
{
    if (syntax->output_option && strcmp(syntax->output_option, name) == 0) return 'o';
    for (const gt_short_option *letter = syntax->short_options; letter && letter->letter; letter++)
        if (strcmp(letter->option, name) == 0) return letter->letter;
    for (const gt_short_option *letter = common_short_options; letter->letter; letter++)
        if (strcmp(letter->option, name) == 0) return letter->letter;
    return 0;
}

const gt_option *gt_syntax_option(const gt_syntax *syntax, const char *name)
{
    for (gt_option_walk at = {.syntax = syntax}; gt_option_next(&at);)
        if (strcmp(at.option->name, name) == 0) return at.option;
    return NULL;
}

bool gt_syntax_is_main(const gt_syntax *syntax, const gt_option *option)
{
    for (size_t i = 0; i < GT_MAIN_OPTIONS_MAX && syntax->main_options[i]; i++)
        if (strcmp(syntax->main_options[i], option->name) == 0) return true;
    return false;
}
