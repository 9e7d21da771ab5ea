/* Models, as madengine has them: a folder with models.json, Dockerfiles and scripts.
 *
 *     find.c         the models of a folder: models.json, scripts/NAME/models.json, get_models_json.py
 *     tags.c         which of them tags select
 *     dockerfiles.c  the Dockerfiles that fit a context, and what they say about GPUs
 *     registry.c     credentials, logging in, names of images in a registry
 *     images.c       building images with docker or podman, pushing and pulling them
 *     manifest.c     build_manifest.json: images, their models, and how to run them
 *     compute.c      images built by a SLURM job
 *     host.c         the GPU of this machine, in madengine's words
 *     data.c         where the data of a model comes from
 *     workspace.c    the folder that a model runs in: scripts, cloned repositories, files to keep
 *     status.c       whether a run of a model succeeded, and its figures
 *     perf_table.c   perf.csv, perf_entry.* and perf_super.*
 *
 * A model is a gt_value object with the fields of models.json; functions return changed copies. All memory is
 * in an arena of the caller. */
#pragma once

#include "run/execute/execute.h"

/* ---- finding models (find.c) ---- */

/* If MODEL_DIR names another folder, copies its docker/, scripts/, models.json, credential.json and data.json
 * into the current folder, as madengine does. Failures are warnings. */
void gt_models_copy_folder(gt_arena *arena);

/* All models of the current folder: first those of models.json and of scripts/NAME/models.json, then those of
 * scripts/NAME/get_models_json.py, which python3 runs. Names of the latter two begin with "NAME/". */
bool gt_models_find(gt_arena *arena, const gt_value **models, gt_error *error);

/* The same without starting python3: such models are skipped with a warning. For --dry_run. */
void gt_models_start_nothing(bool nothing);

/* The model as its get_models_json.py finally has it (update_model); other models as they are. */
bool gt_models_complete(gt_arena *arena, const gt_value **model, gt_error *error);

/* ---- choosing models (tags.c) ---- */

/* Splits "A, B" and adds the tags to the list. */
void gt_tags_add(gt_arena *arena, const char *text, gt_arg_list *tags);

/* The models that the tags select, tag by tag, in the order of `models`: by name, by tag or all; "scope/tag"
 * only those of scripts/scope; "name:k=v:flag" appends " --k v --flag" to their arguments. False if a tag
 * selects nothing. */
bool gt_tags_select(gt_arena *arena, const gt_value *models, const gt_arg_list *tags,
                    const gt_value **selected, gt_error *error);

/* gt_models_copy_folder, gt_models_find, gt_tags_select and gt_models_complete. */
bool gt_models_load(gt_arena *arena, const gt_arg_list *tags, const gt_value **selected, gt_error *error);

/* A string field of a model, or "" if it is missing. */
const char *gt_model_text(const gt_value *model, const char *key);
/* The name of the model, usable as a part of a file name: '/' is '_'. */
const char *gt_model_file_name(gt_arena *arena, const gt_value *model);

/* ---- Dockerfiles (dockerfiles.c) ---- */

/* The Dockerfiles DOCKERFILE.* of the model that fit the context, by name. False if there is none. */
bool gt_dockerfiles_find(gt_arena *arena, const gt_value *context, const gt_value *model, gt_arg_list *files,
                         gt_error *error);

typedef struct gt_dockerfile {
    const char *path, *stem;  /* "docker/a.ubuntu.amd.Dockerfile", "a.ubuntu.amd" */
    const char *base;         /* ARG BASE_DOCKER; "": none */
    const char *vendor;       /* AMD, NVIDIA or "" */
    const char *architecture; /* default of MAD_SYSTEM_GPU_ARCHITECTURE; NULL: none */
    bool needs_architecture;  /* it declares that argument without a default */
} gt_dockerfile;

bool gt_dockerfile_read(gt_arena *arena, const char *path, gt_dockerfile *file, gt_error *error);

/* ---- registries (registry.c) ---- */

/* The objects of credential.json, and MAD_DOCKERHUB_USER, _PASSWORD and _REPO as "dockerhub"; MISSING: none.
 */
bool gt_credentials_load(gt_arena *arena, const gt_value **credentials, gt_error *error);
/* Adds CRED_KEY=value for each key of the credentials that the model names. */
bool gt_credentials_variables(gt_arena *arena, const gt_value *credentials, const gt_value *model,
                              const gt_value **variables, gt_error *error);
/* The image's name in the registry. */
const char *gt_registry_image(gt_arena *arena, const char *image, const char *registry,
                              const gt_value *credentials);
/* Logs in if there are credentials for the registry. */
bool gt_registry_login(gt_arena *arena, const char *docker, const char *registry, const gt_value *credentials,
                       gt_error *error);

/* ---- images (images.c) ---- */

typedef struct gt_build_request {
    const gt_value *context, *credentials;
    const char *registry;      /* to push to; NULL: none */
    gt_arg_list architectures; /* of --target_archs: one image each */
    const gt_value *batch;     /* entries of a batch manifest by the name of the model; MISSING: none */
    bool clean_cache;
    bool live_output; /* docker's output is shown, not only logged */
} gt_build_request;

typedef struct gt_build {
    const gt_value *images, *models; /* objects; the keys of both are names of images */
    const gt_value *built, *failed;  /* lists of images, and of {model, error} */
    const gt_value *pushed,
        *push_failures; /* lists of names, and of {image, intended_registry_image, error} */
    double total_s;
    bool interrupted;
} gt_build;

/* Builds the images of the models in the current folder. False if nothing could be tried; images that failed
 * are in `failed`. */
bool gt_images_build(gt_arena *arena, const gt_build_request *request, const gt_value *models,
                     gt_build *build, gt_error *error);

/* "ci-scope_model_dummy.ubuntu.amd" of the stem of a Dockerfile; with an architecture (or NULL) "_gfx942". */
const char *gt_image_name(gt_arena *arena, const gt_value *model, const char *stem, const char *architecture);

bool gt_image_is_local(const char *docker, const char *image);
bool gt_image_pull(const char *docker, const char *image, gt_error *error);

/* ---- manifests (manifest.c) ---- */

const gt_value *gt_manifest_of_build(gt_arena *arena, const gt_value *context, const gt_build *build);
/* All models with one image that exists: MAD_CONTAINER_IMAGE. NULL: without an image. */
const gt_value *gt_manifest_of_image(gt_arena *arena, const gt_value *context, const gt_value *models,
                                     const char *image);
/* The same for `build --use_image`, whose models keep their own settings for jobs. */
const gt_value *gt_manifest_of_prebuilt(gt_arena *arena, const gt_value *context, const gt_value *models,
                                        const char *image);

/* Reads a batch manifest: a list of {model_name, build_new, registry, registry_image}. Names of models that
 * are to be built are added to the tags; by_name has their entries. NULL if it is invalid. */
const gt_value *gt_batch_read(gt_arena *arena, const char *path, gt_arg_list *tags, const gt_value **by_name,
                              gt_error *error);
/* Adds the models of the batch that were not built. */
bool gt_manifest_add_batch(gt_arena *arena, const gt_value **manifest, const gt_value *context,
                           const gt_value *batch, const char *registry, gt_error *error);

const gt_value *gt_manifest_read(gt_arena *arena, const char *path, gt_error *error);
bool gt_manifest_write(const gt_value *manifest, const char *path, gt_error *error);
/* The manifest with the settings of a run's own context (only the keys that were given). */
const gt_value *gt_manifest_merge(gt_arena *arena, const gt_value *manifest, const gt_value *given);
/* The context of a run: that of the manifest, with all keys of the run's own context. */
const gt_value *gt_manifest_context(gt_arena *arena, const gt_value *manifest, const gt_value *given);
const char *gt_manifest_target(const gt_value *manifest);

/* ---- images built in a job (compute.c) ---- */

/* Builds the images of the models on a compute node, waits for the job, and makes the manifest. On failure,
 * *is_setting says whether a setting is invalid. */
bool gt_compute_build(gt_arena *arena, const gt_build_request *request, const gt_value *models,
                      const gt_value **manifest, bool *is_setting, gt_error *error);

/* ---- this machine (host.c) ---- */

typedef struct gt_host {
    const char *vendor;       /* AMD or NVIDIA; NULL: no GPU */
    const char *architecture; /* "gfx942", or the name of an NVIDIA GPU; NULL: unknown */
    const char *product;      /* name of the GPU; NULL: unknown */
    const char *runtime;      /* version of ROCm, "7.0"; NULL: unknown */
    size_t gpus;
} gt_host;

/* MAD_SYSTEM_GPU_ARCHITECTURE in docker_env_vars of the context overrides what is found. */
gt_host gt_host_find(gt_arena *arena, const gt_value *context);
/* Whether the model's skip_gpu_arch names this machine's GPU. */
bool gt_host_is_skipped(gt_arena *arena, const gt_host *host, const gt_value *model);
/* Why an image was not built for this machine; NULL: it was, or the reason is unknown. */
const char *gt_host_mismatch(gt_arena *arena, const gt_host *host, const gt_value *image);

/* ---- data (data.c) ---- */

typedef struct gt_data_request {
    const char *path;    /* data.json */
    const char *project; /* folder of models.json */
    const char *folder;  /* that the model runs in */
    const char *mirror;  /* of --force_mirror_local; NULL: none */
    bool in_container;
} gt_data_request;

typedef struct gt_data {
    const char *name, *provider;    /* NULL: the model needs no data */
    const char *home;               /* where the command finds it; several are separated by commas */
    const gt_value *mounts, *setup; /* as in gt_plan_model */
} gt_data;

/* The data that the model names. False if it is not there or its provider is unsupported. */
bool gt_data_find(gt_arena *arena, const gt_data_request *request, const gt_value *model, gt_data *data,
                  gt_error *error);
/* Adds MAD_DATAHOME and MAD_DATANAME. */
const gt_value *gt_data_variables(gt_arena *arena, const gt_data *data, const gt_value *variables);

/* ---- the folder of a run (workspace.c) ---- */

typedef struct gt_workspace {
    const char *folder; /* absolute */
    const char *commit; /* of the cloned repository; "": none */
    const char *log_path;
    int lock;
} gt_workspace;

/* Makes the folder and fills it: clones the model's url, copies its scripts. Git's output goes to the log. */
bool gt_workspace_open(gt_arena *arena, const gt_value *model, const gt_value *credentials,
                       const char *log_path, gt_workspace *space, gt_error *error);
/* Removes the folder, unless it is to be kept. */
void gt_workspace_close(gt_workspace *space, bool keep);
/* Copies what stays to the output folder: *_output.csv, *_trace.csv, the model's multiple_results, and traces
 * of PyTorch and JAX, for which it returns the folder; it does not exist if there are none. */
const char *gt_workspace_keep(gt_arena *arena, const gt_workspace *space, const gt_value *model,
                              const char *output_dir, const char *name);

/* The shell line that starts the model's script, with the model's arguments or the context's model_args. */
const char *gt_model_line(gt_arena *arena, const gt_value *context, const gt_value *model);

/* ---- results (status.c) ---- */

/* "MODEL_FILE.run.live.log": of the model and the image's Dockerfile (NULL: no image), and a suffix. */
const char *gt_model_log_name(gt_arena *arena, const gt_value *model, const char *image, const char *suffix);

typedef struct gt_run_result {
    const char *status;               /* SUCCESS, FAILURE or SKIPPED */
    const char *performance, *metric; /* NULL: none */
    const char *reason;               /* why it failed; NULL: it did not */
    const char *results_path;         /* the file of multiple_results; NULL: none */
    const gt_value *rows;             /* its rows; NULL: none */
} gt_run_result;

/* Reads the model's multiple_results in a folder. False if it has no such field. */
bool gt_model_results(gt_arena *arena, const gt_value *model, const char *folder, gt_run_result *result);
void gt_model_judge(gt_arena *arena, const gt_value *model, const gt_outcome *outcome, const char *folder,
                    gt_run_result *result);

/* ---- performance tables (perf_table.c) ---- */

/* The rows of a CSV file as objects of strings; blanks around column names are dropped. */
const gt_value *gt_csv_rows_read(gt_arena *arena, const char *path, gt_error *error);

/* The columns of perf.csv, which are the keys of a row. */
extern const char *const gt_perf_columns[];
extern const size_t gt_perf_column_count;

/* False if the file exists and is not a performance table (has no column "model"). */
bool gt_perf_check(gt_arena *arena, const char *path, gt_error *error);

/* Adds the rows of one model to a performance table: one row, or one per entry of `results` (of
 * multiple_results), whose columns override those of the row. Also writes perf_entry.json and .csv (this
 * model only), and adds to perf_super.json and .csv, in the current folder. Columns that the table has stay,
 * new ones are added at its end. Several processes may add at the same time. */
bool gt_perf_add(gt_arena *arena, const char *path, const gt_value *row, const gt_value *results,
                 gt_error *error);
/* Removes perf_entry.* and perf_entry_super.*. */
void gt_perf_remove_entries(void);
