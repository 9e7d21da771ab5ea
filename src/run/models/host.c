/* The GPU of this machine: what madengine's variables say about it, and whether a model may run on it. */
#include "run/models/models.h"
#include "os/paths.h"

static const char *small_text(gt_arena *arena, const char *path)
{
    gt_buffer text = {0};
    gt_error ignored;
    const char *kept = NULL;
    if (gt_read_small_file(path, 1 << 20, &text, &ignored))
        kept = gt_arena_bytes(arena, text.bytes ? text.bytes : "", text.len);
    gt_buffer_free(&text);
    return kept;
}

/* The text after "NAME" and separators in a line that begins with the name. */
static const char *field(gt_arena *arena, const char *text, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = text; line && *line;) {
        size_t end = strcspn(line, "\n");
        if (strncmp(line, name, len) == 0) {
            const char *value = line + len + strspn(line + len, ": \t");
            size_t size = (size_t)(line + end - value);
            while (size && strchr(" \t\r", value[size - 1])) size--;
            return gt_arena_bytes(arena, value, size);
        }
        line += end + (line[end] == '\n');
    }
    return NULL;
}

/* The kernel driver numbers 9.4.2 as 90402: gfx942; 90010 is gfx90a. */
static const char *amd_architecture(gt_arena *arena)
{
    const char *folder = gt_sysfs_path(arena, "class/kfd/kfd/topology/nodes"), *found = NULL;
    gt_folder_list nodes = gt_list_folder(folder);
    for (size_t i = 0; !found && i < nodes.count; i++) {
        const char *text =
            small_text(arena, gt_arena_format(arena, "%s/%s/properties", folder, nodes.items[i]));
        const char *number = text ? field(arena, text, "gfx_target_version") : NULL;
        long version = number ? strtol(number, NULL, 10) : 0;
        if (version > 0)
            found =
                gt_arena_format(arena, "gfx%ld%lx%lx", version / 10000, version / 100 % 100, version % 100);
    }
    gt_folder_list_free(&nodes);
    return found;
}

static const char *nvidia_product(gt_arena *arena)
{
    const char *folder = "/proc/driver/nvidia/gpus", *found = NULL;
    gt_folder_list gpus = gt_list_folder(folder);
    for (size_t i = 0; !found && i < gpus.count; i++) {
        const char *text =
            small_text(arena, gt_arena_format(arena, "%s/%s/information", folder, gpus.items[i]));
        if (text) found = field(arena, text, "Model");
    }
    gt_folder_list_free(&gpus);
    return found;
}

static void find_amd(gt_arena *arena, gt_host *host)
{
    gt_gpu_list gpus = gt_gpus_find(arena);
    for (size_t i = 0; i < gpus.count; i++) {
        if (!gpus.items[i].is_amd) continue;
        host->gpus++;
        if (host->product) continue;
        const char *text = small_text(arena, gt_path_join(arena, gpus.items[i].device, "product_name"));
        host->product = text && *text ? field(arena, text, "") : gpus.items[i].name;
    }
    if (!host->gpus) return;
    host->vendor = "AMD";
    host->architecture = amd_architecture(arena);
    const char *rocm = getenv("ROCM_PATH");
    const char *version =
        small_text(arena, gt_arena_format(arena, "%s/.info/version", rocm && *rocm ? rocm : "/opt/rocm"));
    const char *dot = version ? strchr(version, '.') : NULL;
    if (dot)
        host->runtime =
            gt_arena_bytes(arena, version, (size_t)(dot - version) + 1 + strspn(dot + 1, "0123456789"));
}

gt_host gt_host_find(gt_arena *arena, const gt_value *context)
{
    gt_host host = {0};
    find_amd(arena, &host);
    char path[64];
    if (!host.gpus) {
        while (host.gpus < 256 &&
               (snprintf(path, sizeof path, "/dev/nvidia%zu", host.gpus), access(path, F_OK) == 0))
            host.gpus++;
        if (host.gpus) {
            host.vendor = "NVIDIA";
            host.architecture = host.product = nvidia_product(arena);
        }
    }
    const char *given =
        gt_settings_string(gt_value_get(context, "docker_env_vars"), "MAD_SYSTEM_GPU_ARCHITECTURE");
    if (given && *given) host.architecture = given;
    return host;
}

/* "NVIDIA A100-SXM4-40GB" is A100 in skip_gpu_arch. */
static const char *short_architecture(gt_arena *arena, const char *architecture)
{
    const char *at = strstr(architecture, "NVIDIA ");
    if (!at) return architecture;
    at += strlen("NVIDIA ");
    return gt_arena_bytes(arena, at, strcspn(at, "- "));
}

bool gt_host_is_skipped(gt_arena *arena, const gt_host *host, const gt_value *model)
{
    if (!host->architecture) return false;
    const char *ours = short_architecture(arena, host->architecture);
    const gt_value *skipped = gt_value_get(model, "skip_gpu_arch");
    gt_arg_list names = {0};
    if (skipped->type == GT_VALUE_STRING) gt_tags_add(arena, skipped->text.bytes, &names);
    for (uint32_t i = 0; gt_value_is_list(skipped) && i < skipped->count; i++)
        gt_tags_add(arena, gt_settings_print(arena, &skipped->items[i]), &names);
    for (size_t i = 0; i < names.count; i++)
        if (strcmp(names.items[i], ours) == 0) return true;
    return false;
}

const char *gt_host_mismatch(gt_arena *arena, const gt_host *host, const gt_value *image)
{
    const char *vendor = gt_model_text(image, "gpu_vendor"),
               *architecture = gt_model_text(image, "gpu_architecture");
    if (host->vendor && *vendor && strcmp(vendor, host->vendor) != 0)
        return gt_arena_format(arena, "GPU vendor mismatch (%s != %s)", vendor, host->vendor);
    if (host->architecture && *architecture && strcmp(architecture, host->architecture) != 0)
        return gt_arena_format(arena, "architecture mismatch (%s != %s)", architecture, host->architecture);
    return NULL;
}
