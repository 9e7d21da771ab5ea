/* Where the data of a model comes from: data.json names providers per data set.
 *
 *     {"imagenet": {"local": {"path": "/data/imagenet", "home": "/data", "readwrite": "true"}}}
 *
 * A local folder is mounted into the container; a custom script fills a folder of the container. Providers on
 * the network (minio, nas, aws) need programs and accounts of the site: mount the data and use local. */
#include "run/models/models.h"
#include "os/paths.h"

typedef struct finder {
    gt_arena *arena;
    const gt_data_request *request;
    gt_data *data;
    const char *name; /* of the data set */
    size_t index;     /* counts the data sets of the model */
    gt_error *error;
} finder;

static void add_home(finder *f, const char *home)
{
    f->data->home = f->data->home ? gt_arena_format(f->arena, "%s,%s", f->data->home, home) : home;
}

static void add_mount(finder *f, const char *path, const char *home, bool writable)
{
    const char *text = gt_arena_format(f->arena, "%s:%s%s", path, home, writable ? "" : ":ro");
    f->data->mounts = gt_settings_push(f->arena, f->data->mounts, gt_settings_copy_string(f->arena, text));
}

static const char *home_of(finder *f, const gt_value *config)
{
    const char *own = gt_settings_string(config, "home");
    return own ? own : gt_arena_format(f->arena, "/data_dlm_%zu", f->index);
}

static bool use_local(finder *f, const gt_value *config)
{
    const char *path = gt_settings_string(config, "path");
    const gt_value *writable = gt_value_get(config, "readwrite");
    if (!path || access(path, F_OK) != 0) return false;
    path = gt_path_absolute(f->arena, f->request->project, path);
    f->data->provider = "local";
    add_home(f, f->request->in_container ? home_of(f, config) : path);
    if (f->request->in_container)
        add_mount(f, path, home_of(f, config), gt_value_equals_cstr(writable, "true"));
    return true;
}

/* A script that fills the folder; with a mirror, that folder is kept on this machine. */
static bool use_custom(finder *f, const gt_value *config, bool *usable)
{
    const char *path = gt_settings_string(config, "path"), *args = gt_settings_string(config, "args"),
               *mirror = gt_settings_string(config, "mirrorlocal");
    *usable = path && access(path, F_OK) == 0;
    if (!*usable) return true;
    if (f->request->mirror) mirror = f->request->mirror;
    const char *home = home_of(f, config);
    gt_error error;
    if (mirror) {
        if (!gt_path_is_folder(mirror)) return gt_fail(f->error, "mirrorlocal: no folder %.300s", mirror);
        mirror = gt_path_absolute(f->arena, f->request->project,
                                  gt_arena_format(f->arena, "%s/%s", mirror, f->name));
        if (!gt_path_make_folder(mirror, &error)) return gt_fail(f->error, "%s", error.text);
    }
    if (f->request->in_container && mirror) add_mount(f, mirror, home, true);
    if (!f->request->in_container)
        home = mirror ? mirror : gt_path_absolute(f->arena, f->request->folder, "data");
    gt_buffer line = {0};
    gt_buffer_add_cstr(&line, "mkdir -p ");
    gt_shell_quote(&line, home);
    gt_buffer_add_cstr(&line, " && cd ");
    gt_shell_quote(&line, home);
    gt_buffer_add_cstr(&line, " && bash ");
    gt_shell_quote(&line, gt_path_absolute(
                              f->arena, f->request->in_container ? GT_WORKSPACE : f->request->project, path));
    gt_buffer_add_cstr(&line, " ");
    gt_buffer_add_cstr(&line, args ? args : "");
    f->data->setup = gt_settings_push(f->arena, f->data->setup,
                                      gt_settings_copy_string(f->arena, gt_buffer_str(&line).bytes));
    gt_buffer_free(&line);
    f->data->provider = "custom";
    add_home(f, home);
    return true;
}

static bool use_provider(finder *f, const gt_value *providers)
{
    const gt_value *custom = gt_value_get(providers, "custom"), *local = gt_value_get(providers, "local");
    bool usable = false;
    if (custom->type == GT_VALUE_DICT && !use_custom(f, custom, &usable)) return false;
    if (usable || (local->type == GT_VALUE_DICT && use_local(f, local))) return true;
    static const char *const remote[] = {"minio", "nas", "aws"};
    for (size_t i = 0; i < GT_LENGTH(remote); i++)
        if (gt_settings_has(providers, remote[i]))
            return gt_fail(
                f->error,
                "data '%.200s': provider %s is unsupported; copy the data to this machine and name "
                "the folder as provider 'local' in %.200s",
                f->name, remote[i], f->request->path);
    const char *path = gt_settings_string(local, "path");
    return path ? gt_fail(f->error, "data '%.200s': no folder %.300s", f->name, path)
                : gt_fail(f->error, "data '%.200s': no provider can be used", f->name);
}

bool gt_data_find(gt_arena *arena, const gt_data_request *request, const gt_value *model, gt_data *data,
                  gt_error *error)
{
    static const gt_value no_list = {.type = GT_VALUE_LIST};
    *data = (gt_data){.mounts = &no_list, .setup = &no_list};
    gt_arg_list names = {0};
    const gt_value *wanted = gt_value_get(model, "data");
    if (wanted->type == GT_VALUE_STRING) gt_tags_add(arena, wanted->text.bytes, &names);
    for (uint32_t i = 0; gt_value_is_list(wanted) && i < wanted->count; i++)
        gt_tags_add(arena, gt_settings_print(arena, &wanted->items[i]), &names);
    if (!names.count) return true;
    if (access(request->path, F_OK) != 0)
        return gt_fail(error, "%.300s: no such file; the model %.200s needs the data '%.200s'", request->path,
                       gt_model_text(model, "name"), names.items[0]);
    const gt_value *settings = gt_settings_read(arena, request->path, error);
    if (!settings) return false;
    for (size_t i = 0; i < names.count; i++) {
        finder f = {arena, request, data, names.items[i], i, error};
        const gt_value *providers = gt_value_get(settings, names.items[i]);
        if (providers->type != GT_VALUE_DICT)
            return gt_fail(error, "%.300s: no data '%.200s'; add it with a provider such as 'local'",
                           request->path, names.items[i]);
        data->name =
            data->name ? gt_arena_format(arena, "%s,%s", data->name, names.items[i]) : names.items[i];
        if (!use_provider(&f, providers)) return false;
    }
    return true;
}

const gt_value *gt_data_variables(gt_arena *arena, const gt_data *data, const gt_value *variables)
{
    if (!data->name) return variables;
    variables = gt_settings_with_text(arena, variables, "MAD_DATAHOME", data->home);
    return gt_settings_with_text(arena, variables, "MAD_DATANAME", data->name);
}
