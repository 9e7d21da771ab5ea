/* Finds the models of the current folder.
 *
 * Models of scripts/NAME/get_models_json.py are Python objects of a class of madengine. A small program for
 * python3 gives that class to the script, so madengine need not be installed, and prints the models as JSON.
 * It runs once to list them and once more per selected model, because only then update_model may be called.
 */
#include "run/models/models.h"
#include "os/child.h"
#include "os/paths.h"

enum { MODELS_MAX = 100000 };

/* The key that marks a model of get_models_json.py until gt_models_complete: the script, and the arguments as
 * the script lists them; what a tag appends to the arguments comes after these. */
static const char mark_key[] = "_get_models_json";

typedef struct model_list {
    gt_value *items;
    size_t count, capacity;
} model_list;

static bool start_nothing; /* of --dry_run */

void gt_models_start_nothing(bool nothing)
{
    start_nothing = nothing;
}

/* ---- MODEL_DIR ---- */

static bool copy_item(gt_arena *arena, const char *folder, const char *name)
{
    const char *from = gt_path_join(arena, folder, name);
    if (access(from, F_OK) != 0) return true;
    const char *argv[] = {"cp", "-RLp", "--", from, ".", NULL};
    gt_child_setup setup = {.argv = argv};
    gt_child_result result;
    gt_error error;
    if (gt_child_run(&setup, &result, &error) && result.exit_code == 0) return true;
    gt_warn("MODEL_DIR: cannot copy %s into the current folder", from);
    return false;
}

void gt_models_copy_folder(gt_arena *arena)
{
    static const char *const items[] = {"docker", "scripts", "models.json", "credential.json", "data.json"};
    const char *folder = getenv("MODEL_DIR"), *here = gt_path_current(arena);
    if (start_nothing || !folder || !*folder || gt_path_is_same_file(folder, here)) return;
    if (!gt_path_is_folder(folder)) {
        gt_warn("MODEL_DIR: no folder %s", folder);
        return;
    }
    gt_info("MODEL_DIR: copying docker, scripts and settings from %s", folder);
    for (size_t i = 0; i < GT_LENGTH(items); i++) copy_item(arena, folder, items[i]);
}

/* ---- models.json ---- */

static bool check_model(const gt_value *model, const char *path, uint32_t index, gt_error *error)
{
    static const char *const texts[] = {"name", "dockerfile", "scripts", "args", "url", "cred"};
    if (model->type != GT_VALUE_DICT)
        return gt_fail(error, "%s: entry %u must be an object", path, index + 1);
    for (size_t i = 0; i < GT_LENGTH(texts); i++) {
        const gt_value *value = gt_value_get(model, texts[i]);
        if (value->type != GT_VALUE_STRING && value->type != GT_VALUE_NONE && value->type != GT_VALUE_MISSING)
            return gt_fail(error, "%s: entry %u: %s must be a string", path, index + 1, texts[i]);
    }
    const char *name = gt_model_text(model, "name");
    if (!*name) return gt_fail(error, "%s: entry %u has no name", path, index + 1);
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) /* it becomes the name of a folder */
        return gt_fail(error, "%s: entry %u: '%s' is not a valid name", path, index + 1, name);
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ')
            return gt_fail(error, "%s: the name of entry %u contains a control character", path, index + 1);
    return true;
}

/* "scripts/NAME/PATH", without "x/..". */
static gt_value below_scripts(gt_arena *arena, const char *folder, const char *path)
{
    const char *absolute =
        gt_path_absolute(arena, "/", gt_arena_format(arena, "scripts/%s/%s", folder, path));
    return gt_settings_copy_string(arena, absolute + 1);
}

/* The model of scripts/FOLDER as madengine names it. */
static const gt_value *in_folder(gt_arena *arena, const gt_value *model, const char *folder)
{
    model = gt_settings_with(arena, model, "name",
                             gt_settings_copy_string(arena, gt_arena_format(arena, "%s/%s", folder,
                                                                            gt_model_text(model, "name"))));
    model = gt_settings_with(arena, model, "dockerfile",
                             below_scripts(arena, folder, gt_model_text(model, "dockerfile")));
    return gt_settings_with(arena, model, "scripts",
                            below_scripts(arena, folder, gt_model_text(model, "scripts")));
}

static bool read_models(gt_arena *arena, const char *path, const char *folder, model_list *list,
                        gt_error *error)
{
    const gt_value *models = gt_settings_read(arena, path, error);
    if (!models) return false;
    if (!gt_value_is_list(models)) return gt_fail(error, "%s: must be a list of models", path);
    if (list->count + models->count > MODELS_MAX)
        return gt_fail(error, "%s: more than %d models", path, MODELS_MAX);
    for (uint32_t i = 0; i < models->count; i++) {
        const gt_value *model = &models->items[i];
        if (!check_model(model, path, i, error)) return false;
        if (folder) model = in_folder(arena, model, folder);
        GT_PUSH(list->items, list->count, list->capacity, *model);
    }
    return true;
}

/* ---- get_models_json.py ---- */

/* argv: the script, and the model whose update_model is called (or nothing). What the script itself prints
 * goes to standard error. */
static const char program[] =
    "import dataclasses, importlib.util, json, sys, types, typing\n"
    "out, sys.stdout = sys.stdout, sys.stderr\n"
    "@dataclasses.dataclass\n"
    "class CustomModel:\n"
    "    name: str\n"
    "    dockerfile: str = ''\n"
    "    dockercontext: str = ''\n"
    "    scripts: str = ''\n"
    "    url: str = ''\n"
    "    cred: str = ''\n"
    "    owner: str = ''\n"
    "    data: str = ''\n"
    "    n_gpus: str = '-1'\n"
    "    timeout: int = 7200\n"
    "    training_precision: str = ''\n"
    "    tags: typing.List[str] = dataclasses.field(default_factory=list)\n"
    "    args: str = ''\n"
    "    multiple_results: str = ''\n"
    "    skip_gpu_arch: str = ''\n"
    "    def to_dict(self):\n"
    "        return dataclasses.asdict(self)\n"
    "    def update_model(self):\n"
    "        pass\n"
    "for name in ('madengine', 'madengine.utils', 'madengine.utils.discover_models', 'madengine.tools',\n"
    "             'madengine.tools.discover_models'):\n"
    "    sys.modules[name] = types.ModuleType(name)\n"
    "    sys.modules[name].__path__ = []\n"
    "    sys.modules[name].CustomModel = CustomModel\n"
    "spec = importlib.util.spec_from_file_location('get_models_json', sys.argv[1])\n"
    "module = importlib.util.module_from_spec(spec)\n"
    "spec.loader.exec_module(module)\n"
    "if not hasattr(module, 'list_models'):\n"
    "    sys.exit('Please define a list_models function in get_models_json.py.')\n"
    "models = module.list_models()\n"
    "for model in models:\n"
    "    if not isinstance(model, CustomModel):\n"
    "        sys.exit('Please use or subclass madengine.utils.discover_models.CustomModel '\n"
    "                 'to define your custom model.')\n"
    "if len(sys.argv) > 2:\n"
    "    models = [m for m in models if m.name == sys.argv[2]][:1]\n"
    "    for model in models:\n"
    "        model.update_model()\n"
    "json.dump([m.to_dict() for m in models], out)\n";

/* Runs the script and returns its list of models. */
static const gt_value *run_python(gt_arena *arena, const char *script, const char *model, gt_error *error)
{
    const char *argv[] = {"python3", "-c", program, script, model, NULL};
    gt_buffer text = {0};
    gt_child_setup setup = {.argv = argv, .line = gt_child_keep_line, .line_context = &text};
    gt_child_result result;
    const gt_value *models = NULL;
    gt_error reason;
    if (!gt_path_search(arena, "python3", getenv("PATH")))
        gt_fail(error, "%s: python3 not found in PATH; it is needed to list these models", script);
    else if (!gt_child_run(&setup, &result, error))
        gt_error_prefix(error, script);
    else if (result.exit_code)
        gt_fail(error, "%s: cannot list its models: python3 ended with exit status %d", script,
                result.exit_code);
    else if (!(models = gt_settings_parse(arena, gt_buffer_str(&text), &reason)) || !gt_value_is_list(models))
        models = NULL, gt_fail(error, "%s: did not print a list of models", script);
    gt_buffer_free(&text);
    return models;
}

static bool add_custom_models(gt_arena *arena, const char *folder, const char *script, model_list *list,
                              gt_error *error)
{
    const gt_value *models = run_python(arena, script, NULL, error);
    if (!models) return false;
    for (uint32_t i = 0; i < models->count; i++) {
        const gt_value *model = &models->items[i];
        if (!check_model(model, script, i, error)) return false;
        const gt_value *mark =
            gt_settings_with(arena, &gt_value_missing, "script", gt_settings_copy_string(arena, script));
        mark = gt_settings_with(arena, mark, "args",
                                gt_settings_copy_string(arena, gt_model_text(model, "args")));
        model = gt_settings_with(arena, model, mark_key, *mark);
        model =
            gt_settings_with(arena, model, "name",
                             gt_settings_copy_string(arena, gt_arena_format(arena, "%s/%s", folder,
                                                                            gt_model_text(model, "name"))));
        GT_PUSH(list->items, list->count, list->capacity, *model);
    }
    return true;
}

bool gt_models_complete(gt_arena *arena, const gt_value **model, gt_error *error)
{
    const gt_value *mark = gt_value_get(*model, mark_key);
    if (mark->type == GT_VALUE_MISSING) return true;
    const char *script = gt_model_text(mark, "script");
    const char *name = gt_model_text(*model, "name"), *slash = strchr(name, '/');
    const char *added = gt_model_text(*model, "args") + strlen(gt_model_text(mark, "args"));
    const gt_value *found = run_python(arena, script, slash + 1, error);
    if (!found) return false;
    if (found->count != 1 || !check_model(&found->items[0], script, 0, error))
        return gt_fail(error, "%s: no longer lists the model %.200s", script, slash + 1);
    const gt_value *complete =
        in_folder(arena, &found->items[0], gt_arena_bytes(arena, name, (size_t)(slash - name)));
    const char *arguments = gt_arena_format(arena, "%s%s", gt_model_text(complete, "args"), added);
    *model = gt_settings_with(arena, complete, "args", gt_settings_copy_string(arena, arguments));
    return true;
}

/* ---- the folder ---- */

static bool find_in_folder(gt_arena *arena, const char *folder, model_list *plain, model_list *custom,
                           gt_error *error)
{
    const char *json = gt_arena_format(arena, "scripts/%s/models.json", folder),
               *script = gt_arena_format(arena, "scripts/%s/get_models_json.py", folder);
    bool has_json = access(json, F_OK) == 0, has_script = access(script, F_OK) == 0;
    if (has_json && has_script)
        return gt_fail(error, "Both models.json and get_models_json.py found in scripts/%.200s.", folder);
    if (has_json) return read_models(arena, json, folder, plain, error);
    if (has_script && start_nothing) {
        gt_warn("%s: its models are not listed, because a dry run starts nothing", script);
        return true;
    }
    return !has_script || add_custom_models(arena, folder, script, custom, error);
}

bool gt_models_find(gt_arena *arena, const gt_value **models, gt_error *error)
{
    model_list plain = {0}, custom = {0};
    bool ok = access("models.json", F_OK) == 0 ? read_models(arena, "models.json", NULL, &plain, error)
                                               : gt_fail(error, "models.json file not found.");
    gt_folder_list folders = gt_list_folder("scripts");
    for (size_t i = 0; ok && i < folders.count; i++)
        if (gt_path_is_folder(gt_arena_format(arena, "scripts/%s", folders.items[i])))
            ok = find_in_folder(arena, folders.items[i], &plain, &custom, error);
    gt_folder_list_free(&folders);
    size_t count = plain.count + custom.count;
    gt_value *items = gt_arena_alloc(arena, (count + 1) * sizeof *items), *list;
    if (plain.count) memcpy(items, plain.items, plain.count * sizeof *items);
    if (custom.count) memcpy(items + plain.count, custom.items, custom.count * sizeof *items);
    list = gt_arena_alloc(arena, sizeof *list);
    *list = (gt_value){.type = GT_VALUE_LIST, .count = (uint32_t)count, .items = items};
    *models = list;
    gt_free_all(plain.items, custom.items);
    return ok;
}
