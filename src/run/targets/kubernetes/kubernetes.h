/* A run as a Kubernetes job. gt_kubernetes_make makes the objects (objects.c, pods.c) with the files of this
 * machine that they need (files.c); gt_kubernetes_run submits them with kubectl (kubectl.c), follows the pods
 * (follow.c), and collects the results and removes the objects (collect.c).
 *
 * Results are on a claim, because that outlives a pod, also one that was evicted or whose node was lost. They
 * are fetched through a small pod that mounts the claim once the job is over. */
#pragma once

#include "run/plan/plan.h"

typedef struct gt_kubernetes_request {
    const gt_plan *plan;
    const char *image;
    const char *const *run_options; /* options of `gputally run` in each pod, before its "--" */
    size_t run_option_count;
    const char *tools_file; /* of --tools_config; NULL: none */
} gt_kubernetes_request;

typedef struct gt_kubernetes {
    const char *name;        /* of the job, unique; other objects have it with an ending */
    const char *path;        /* OUTPUT_DIR/gputally-NAME.yaml, for --generate_only */
    const char *results_dir; /* OUTPUT_DIR/k8s_results/NAME/ID, for a submitted run */
    const char *id;          /* of this run, the value of the label gputally-run */
    gt_buffer text;          /* all objects except the Secret */
    gt_buffer secret;        /* the Secret; empty if no variable needs one */
    gt_arg_list kubectl;     /* the program with its common options */
    const gt_value *settings, *k8s;
    const char *image, *claim;
    bool claim_is_ours; /* made for this run; otherwise k8s.results_pvc */
    bool has_service;
    int64_t nodes;
} gt_kubernetes;

/* Makes a claim for results, a ConfigMap with the context and other files, a Secret with variables whose
 * names look like secrets, a Service if there are several nodes, and the Job whose pods run `gputally run
 * --target local`. Returns false if a setting is missing or invalid. The caller frees `out` in any case. */
bool gt_kubernetes_make(const gt_kubernetes_request *request, gt_kubernetes *out, gt_error *error);
void gt_kubernetes_free(gt_kubernetes *objects);

/* Writes all objects to `path`; only the owner can read the file if there is a Secret. */
bool gt_kubernetes_write(gt_kubernetes *objects, gt_error *error);

/* Submits the objects, shows the output of the pods, collects their results into results_dir/node_N, and
 * removes the objects unless they are to be kept. Prints messages; false if the run failed. */
bool gt_kubernetes_run(const gt_plan *plan, gt_kubernetes *objects, bool keep);
