/* `gputally run --tags` and `--manifest_file`: models (models.c), one by one (one_model.c). */
#ifndef GT_CLI_RUN_MODELS_H
#define GT_CLI_RUN_MODELS_H

#include "cli/run/run.h"
#include "run/models/models.h"

#define GT_MODELS_RULE "================================================================================"

/* What all models of a call share. */
typedef struct gt_models_run {
    const gt_call *call;
    gt_arena *arena;
    const gt_plan_request *request; /* without what is the model's: command, image, name */
    const gt_value *context, *credentials;
    gt_host host;
    const char *docker; /* NULL: not installed */
    const char *perf_path, *data_config;
    const char *mirror; /* of --force_mirror_local; NULL: none */
    size_t job_count;
    bool no_docker, dry_run, keep_alive, keep_model_dir, skip_model_run, live_output;
    bool default_timeout; /* nobody has set one */
    bool built;           /* this call built the images */
    bool table_failed;    /* perf.csv could not be written */
    gt_json_writer plans; /* of --dry_run */
} gt_models_run;

/* One model with its image. */
typedef struct gt_model_job {
    const char *key; /* in the manifest */
    const gt_value *info, *model, *context;
    const char *image; /* NULL: no container */
    const char *log_name, *output_dir;
    gt_workspace space;
    gt_data data;
    gt_plan_model plan_model;
    gt_plan plan;
    gt_outcome outcome;
    gt_run_result result;
} gt_model_job;

/* Runs the model, or adds its plan to the plans; the job has the result. */
void gt_run_one_model(gt_models_run *run, gt_model_job *job);
/* Records a model that is not run because of its skip_gpu_arch. */
void gt_run_skipped_model(gt_models_run *run, gt_model_job *job);

#endif
