/* What may stand at a place of a command line?
 *
 * The words before it are read by the rules of the option parser (cli/options.c), as far as they go: which
 * command, which step, whether an option waits for a value, whether options have ended. A line that is not
 * valid gets what is valid so far. */
#include "cli/completion/completion.h"

#include "model/model.h"
#include "os/paths.h"
#include "run/plan/plan.h"

typedef void choice_taker(void *context, const char *value, const char *text);

/* ---- values of options ---- */

static void each_gpu(choice_taker *take, void *context)
{
    size_t count;
    const gt_gpu_arch *gpus = gt_gpu_archs(&count);
    for (size_t i = 0; i < count; i++) take(context, gpus[i].name, "");
}

static void each_op(choice_taker *take, void *context)
{
    size_t count;
    const gt_model *const *ops = gt_op_list(&count);
    for (size_t i = 0; i < count; i++) take(context, ops[i]->name, "");
}

static void each_tool(choice_taker *take, void *context)
{
    for (size_t i = 0; i < gt_tool_count(); i++) take(context, gt_tool_name(i), gt_tool_purpose(i));
}

static void each_context(choice_taker *take, void *context)
{
    for (size_t i = 0; i < gt_config_count; i++) take(context, gt_configs[i].name, gt_configs[i].purpose);
}

static const struct {
    const char *name;
    void (*each)(choice_taker *take, void *context);
} lists[] = {{"@gpus", each_gpu}, {"@ops", each_op}, {"@tools", each_tool}, {"@contexts", each_context}};

static bool is_named(const char *name, const char *text, size_t len)
{
    return strlen(name) == len && memcmp(name, text, len) == 0;
}

/* Calls `take` for each value of gt_option.choices, in their order, with the items of lists: @gpus, @ops,
 * @tools, @contexts. `text` says what the value means; "" if that is unknown. */
static void choices_each(const char *choices, choice_taker *take, void *context)
{
    for (const char *at = choices; at && *at; at += *at == '|') {
        size_t len = strcspn(at, "|"), i = 0;
        while (i < GT_LENGTH(lists) && !is_named(lists[i].name, at, len)) i++;
        if (i < GT_LENGTH(lists)) {
            lists[i].each(take, context);
        } else if (len) {
            char value[64];
            snprintf(value, sizeof value, "%.*s", (int)len, at);
            take(context, value, "");
        }
        at += len;
    }
}

/* ---- what is offered ---- */

typedef struct offer {
    FILE *out;
    const char *typed;  /* the word so far */
    const char *before; /* comes before each word: "--index=" */
    size_t count;
} offer;

static bool begins_with(const char *text, const char *typed)
{
    return strncmp(text, typed, strlen(typed)) == 0;
}

/* A line has one word, so a tab or line break in it would end it. */
static void add_word(offer *o, const char *word, const char *text)
{
    if (!begins_with(word, o->typed)) return;
    fprintf(o->out, "%s%s\t%s\n", o->before, word, text);
    o->count++;
}

/* Case does not matter here, because it does not matter in names of GPUs. */
static void take_choice(void *context, const char *value, const char *text)
{
    offer *o = context;
    if (strncasecmp(value, o->typed, strlen(o->typed)) != 0) return;
    fprintf(o->out, "%s%s\t%s\n", o->before, value, text);
    o->count++;
}

/* ---- files ---- */

static void offer_files(FILE *out, const char *endings)
{
    fputs("files", out);
    for (const char *at = endings; at && *at; at++) {
        if (at == endings) fputc(' ', out);
        fputc(*at == ',' ? ' ' : *at, out);
    }
    fputc('\n', out);
}

/* Which files are a value of an option, by its name and the name of its value. */
static const struct {
    const char *part, *endings;
} endings_of[] = {
    {"xlsx", "xlsx"},         {"csv", "csv,csv.gz"},
    {"html", "html"},         {"output_md", "md"},
    {"output_db", "db"},      {"xplane_pb", "pb,pb.gz"},
    {"extension_file", "py"}, {"json", "json,json.gz,json.zst"},
    {"context_file", "json"}, {"tools_config", "json"},
    {"manifest", "json"},
};

static void offer_files_of(FILE *out, const gt_option *option)
{
    const char *metavar = option->metavar ? option->metavar : "";
    bool is_file = strstr(metavar, "FILE") || strstr(metavar, "PATH") || strstr(metavar, "DUMP") ||
                   strstr(metavar, "WHERE") || strstr(metavar, "PATTERN");
    if (strstr(metavar, "DIR") || strstr(metavar, "FOLDER") || strstr(metavar, "SWEEP") ||
        strcmp(metavar, "RUN") == 0 || strcmp(metavar, "RUN...") == 0) {
        fputs("folders\n", out);
        return;
    }
    if (!is_file) {
        fputs("none\n", out);
        return;
    }
    for (size_t i = 0; i < GT_LENGTH(endings_of); i++)
        if (strstr(option->name, endings_of[i].part)) {
            offer_files(out, endings_of[i].endings);
            return;
        }
    offer_files(out, NULL);
}

/* ---- options ---- */

/* Whether the typed text is a prefix of the name; '-' and '_' are equivalent. */
static bool is_prefix(const char *name, const char *typed, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (name[i] != typed[i] && !(name[i] == '_' && typed[i] == '-')) return false;
    return true;
}

static const gt_option *find_option(const gt_syntax *syntax, const char *typed, size_t len)
{
    const gt_option *found = NULL;
    for (gt_option_walk at = {.syntax = syntax}; gt_option_next(&at);) {
        if (!len || !is_prefix(at.option->name, typed, len)) continue;
        if (!at.option->name[len]) return at.option;
        found = at.option;
    }
    for (const gt_option_alias *alias = syntax->aliases; !found && alias && alias->old_name; alias++)
        if (len && is_prefix(alias->old_name, typed, len)) return gt_syntax_option(syntax, alias->option);
    return found;
}

/* The option of a short one with a value that is not in the same word: "-o". */
static const gt_option *find_short(const gt_syntax *syntax, const char *word)
{
    if (word[0] != '-' || !word[1] || word[2]) return NULL;
    for (gt_option_walk at = {.syntax = syntax}; gt_option_next(&at);)
        if (gt_syntax_short_option(syntax, at.option->name) == word[1]) return at.option;
    return NULL;
}

/* One option in the user's spelling: with '-' if the user typed one after the first two. */
static void add_option(offer *o, const char *name, const char *text)
{
    const char *typed = o->typed + (begins_with(o->typed, "--") ? 2 : strlen(o->typed));
    bool dashes = strchr(typed, '-') != NULL;
    char word[96];
    if (!is_prefix(name, typed, strlen(typed))) return;
    snprintf(word, sizeof word, "--%s", name);
    for (char *at = word + 2; dashes && *at; at++)
        if (*at == '_') *at = '-';
    fprintf(o->out, "%s\t%s\n", word, text);
    o->count++;
}

static void offer_options(offer *o, const gt_syntax *syntax)
{
    fputs("none\n", o->out);
    for (gt_option_walk at = {.syntax = syntax}; gt_option_next(&at);)
        if (!at.option->unused) add_option(o, at.option->name, at.option->help);
    add_option(o, "help", "print help, and exit");
    for (const gt_option_alias *alias = syntax->aliases; !o->count && alias && alias->old_name; alias++)
        add_option(o, alias->old_name, "");
}

static void offer_values(offer *o, const gt_option *option)
{
    const char *choices = option->choices;
    if (choices && choices[strlen(choices) - 1] != '|')
        fputs("none\n", o->out); /* no other value is valid */
    else
        offer_files_of(o->out, option);
    choices_each(option->choices, take_choice, o);
}

/* ---- arguments of a command ---- */

/* What is known before the word to complete. */
typedef struct place {
    const gt_option *waiting; /* option whose value comes now; NULL: none */
    const gt_option *more;    /* option of which more values may come */
    bool options_ended;
    size_t files;
} place;

static bool takes_value(const gt_option *option)
{
    return option && option->kind != GT_OPTION_FLAG && option->kind != GT_OPTION_MAYBE;
}

static place read_words(const gt_syntax *syntax, char **words, size_t count)
{
    place p = {0};
    for (size_t i = 0; i < count; i++) {
        const char *word = words[i], *equals = strchr(word, '=');
        if (p.waiting) {
            p.more = p.waiting->kind == GT_OPTION_STRINGS ? p.waiting : NULL;
            p.waiting = NULL;
        } else if (p.options_ended || word[0] != '-' || !word[1]) {
            if (p.more) continue;
            p.files++;
            p.options_ended |= syntax->is_command;
        } else if (strcmp(word, "--") == 0) {
            p.options_ended = true;
            p.more = NULL;
        } else {
            const gt_option *option =
                begins_with(word, "--")
                    ? find_option(syntax, word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2))
                    : find_short(syntax, word);
            p.more = NULL;
            if (takes_value(option) && !(begins_with(word, "--") && equals)) p.waiting = option;
        }
    }
    return p;
}

static void offer_files_of_command(offer *o, const gt_syntax *syntax, size_t files)
{
    if (files >= syntax->files_max || !syntax->files[0]) {
        fputs("none\n", o->out);
    } else if (syntax->file_choices) {
        fputs("none\n", o->out);
        choices_each(syntax->file_choices, take_choice, o);
    } else if (strstr(syntax->files, "SWEEP") || strstr(syntax->files, "DIR")) {
        fputs("folders\n", o->out);
    } else {
        offer_files(o->out, syntax->file_endings);
    }
}

static void complete_arguments(FILE *out, const gt_syntax *syntax, char **words, size_t at, const char *typed)
{
    place p = read_words(syntax, words, at);
    offer o = {.out = out, .typed = typed, .before = ""};
    const char *equals = strchr(typed, '=');
    if (p.waiting) {
        offer_values(&o, p.waiting);
        return;
    }
    if (!p.options_ended && begins_with(typed, "--") && equals) {
        const gt_option *option = find_option(syntax, typed + 2, (size_t)(equals - typed - 2));
        char before[96];
        snprintf(before, sizeof before, "%.*s", (int)(equals + 1 - typed < 95 ? equals + 1 - typed : 95),
                 typed);
        o.before = before;
        o.typed = equals + 1;
        if (option)
            offer_values(&o, option);
        else
            fputs("none\n", out);
        return;
    }
    if (!p.options_ended && typed[0] == '-') {
        offer_options(&o, syntax);
        return;
    }
    if (p.more) {
        offer_values(&o, p.more);
        return;
    }
    offer_files_of_command(&o, syntax, p.files);
}

/* ---- commands and steps ---- */

static void complete_commands(FILE *out, const char *typed, bool with_options)
{
    offer o = {.out = out, .typed = typed, .before = ""};
    fputs("none\n", out);
    for (size_t i = 0; i < gt_command_count; i++) add_word(&o, gt_commands[i].name, gt_commands[i].summary);
    if (!with_options) return;
    add_word(&o, "help", "describe a command and its options");
    if (typed[0] != '-') return;
    add_word(&o, "--help", "list the commands");
    add_word(&o, "--version", "print the version");
}

static void complete_steps(FILE *out, const gt_command *command, const char *typed, bool with_help)
{
    offer o = {.out = out, .typed = typed, .before = ""};
    fputs("none\n", out);
    for (const gt_command *step = gt_command_steps(command); step && step->name; step++)
        add_word(&o, step->name, step->summary);
    if (with_help && typed[0] == '-') add_word(&o, "--help", "list the steps");
}

static const gt_command *find_step(const gt_command *command, const char *name)
{
    const gt_command *step = gt_command_steps(command);
    while (step && step->name && strcmp(step->name, name) != 0) step++;
    return step && step->name ? step : NULL;
}

static void complete_madengine(FILE *out, size_t at, char **words, const char *typed)
{
    static const char *const names[] = {"run", "build", "discover"};
    offer o = {.out = out, .typed = typed, .before = ""};
    const gt_command *command = at > 1 ? gt_command_find(words[1]) : NULL;
    if (at > 1 && command && command->syntax) {
        complete_arguments(out, command->syntax, words + 2, at - 2, typed);
        return;
    }
    fputs("none\n", out);
    for (size_t i = 0; at == 1 && i < GT_LENGTH(names); i++)
        add_word(&o, names[i], gt_command_find(names[i])->summary);
}

/* After `gputally COMMAND`. */
static void complete_after_command(FILE *out, size_t at, char **words, const char *typed)
{
    const gt_command *command = gt_command_find(words[1]);
    const gt_command *step = command && at > 2 ? find_step(command, words[2]) : NULL;
    if (strcmp(words[1], "--version") == 0 || strcmp(words[1], "-V") == 0) {
        offer o = {.out = out, .typed = typed, .before = ""};
        fputs("none\n", out);
        add_word(&o, "--verbose", "also print how it was built and what it uses");
    } else if (!command) {
        fputs("none\n", out);
    } else if (!gt_command_steps(command)) {
        complete_arguments(out, command->syntax, words + 2, at - 2, typed);
    } else if (at == 2) {
        complete_steps(out, command, typed, true);
    } else if (step) {
        complete_arguments(out, step->syntax, words + 3, at - 3, typed);
    } else {
        fputs("none\n", out);
    }
}

void gt_complete(FILE *out, size_t at, char **words, size_t count)
{
    const char *typed = at < count ? words[at] : "";
    if (at == 0 || at > count) return;
    const char *program = gt_path_name(words[0]);
    const gt_command *command = gt_command_find_by_old_name(program);
    if (command)
        complete_arguments(out, command->syntax, words + 1, at - 1, typed);
    else if (strcmp(program, "madengine") == 0)
        complete_madengine(out, at, words, typed);
    else if (at == 1)
        complete_commands(out, typed, true);
    else if (strcmp(words[1], "help") == 0 && at == 2)
        complete_commands(out, typed, false);
    else if (strcmp(words[1], "help") == 0)
        complete_steps(out, gt_command_find(words[2]) ? gt_command_find(words[2]) : &gt_commands[0], typed,
                       false);
    else
        complete_after_command(out, at, words, typed);
}
