/* Shared by the files that make the objects: the writer of YAML, line by line, and the parts of pods. */
#pragma once

#include "run/targets/kubernetes/kubernetes.h"
#include "run/targets/targets.h"

/* A file of this machine that goes into the ConfigMap, where pods find it as /config/KEY. */
typedef struct gt_kube_file {
    const char *key, *text;
} gt_kube_file;

typedef struct gt_kube_files {
    gt_kube_file *items; /* in the arena */
    size_t count, bytes;
} gt_kube_files;

typedef struct gt_kube_writer {
    const gt_plan *plan;
    const gt_kubernetes_request *request;
    const gt_kubernetes *job;
    const gt_value *settings, *k8s;
    const char *script; /* script that a pod runs */
    int64_t nodes, gpus;
    gt_distributed distributed;
    gt_kube_files files;
    gt_arg_list secrets; /* names of variables whose values are in the Secret */
    gt_buffer *text, scratch;
} gt_kube_writer;

/* ---- YAML (objects.c) ---- */

/* Adds a line: indentation, key, and the value as a quoted string, if any. */
void gt_kube_put(gt_kube_writer *w, int indent, const char *key, const char *value);
/* Adds a string of several lines, as a block if that is certain to be read back unchanged. */
void gt_kube_put_block(gt_kube_writer *w, int indent, const char *key, const char *value);
void gt_kube_put_number(gt_kube_writer *w, int indent, const char *key, int64_t value);
/* Adds a list or object of the context as JSON, which is also YAML. */
void gt_kube_put_json(gt_kube_writer *w, int indent, const char *key, const gt_value *value);
/* "KEY": of a map whose keys come from the context. */
const char *gt_kube_quoted_key(gt_kube_writer *w, const char *key);
/* A setting of the k8s object as a string; NULL if it is missing or empty. */
const char *gt_kube_setting(gt_kube_writer *w, const char *key);
/* The name of the job with an ending. */
const char *gt_kube_named(gt_kube_writer *w, const char *ending);
void gt_kube_begin(gt_kube_writer *w, const char *version, const char *kind, const char *name);

/* ---- pods (pods.c) ---- */

bool gt_kube_make_script(gt_kube_writer *w, gt_error *error);
void gt_kube_put_job(gt_kube_writer *w);
/* The pod that mounts the claim so that results can be fetched, preferably on the node where they were
 * written (NULL: any). */
void gt_kube_put_collector(gt_kube_writer *w, const char *node);

/* Makes that pod alone (objects.c). */
void gt_kube_make_collector(const gt_plan *plan, const gt_kubernetes *job, const char *node, gt_buffer *text);

/* ---- files that come along (files.c) ---- */

/* The value (a context or a tools file) without variables whose names look like secrets, and with the paths
 * of counter lists and scripts that exist on this machine replaced by their paths in a pod; adds these files
 * to `files`. NULL if one cannot be read. */
const gt_value *gt_kube_embed(gt_arena *arena, const char *workdir, const gt_value *value,
                              gt_kube_files *files, gt_error *error);
/* Adds a file; its path in a pod. */
const char *gt_kube_add_file(gt_arena *arena, gt_kube_files *files, const char *name, const char *text);
