/* Job files as texts; see rocprof_jobs.h. */
#include "sweep/run/rocprof_jobs.h"
#include "base/memory.h"
#include "output/file.h"

#include <stdlib.h>
#include <string.h>

const char *const gt_rocprof_job_names[GT_ROCPROF_JOBS] = {"rocprof_cu_only.yaml", "rocprof_input.yaml"};

static const char *const JOBS[GT_ROCPROF_JOBS] = {
    "# rocprofv3 -i FILE: how busy the compute units are in matrix products. Few counters, so one pass is "
    "enough.\n"
    "jobs:\n"
    "  - kernel_include_regex: \"(gemm|Cijk_.*)\"\n"
    "    kernel_trace: true\n"
    "    output_format: [json, csv] # reports are made of these\n"
    "    pmc:\n"
    "      - SQ_BUSY_CU_CYCLES # cycles in which a compute unit was busy\n"
    "      - SQ_WAVES          # waves that were launched\n"
    "      - SQ_WAVE_CYCLES    # cycles that waves were there\n"
    "      - SQ_INSTS_MFMA     # matrix instructions\n",

    "# rocprofv3 -i FILE: many counters of matrix products, with statistics and a trace for Perfetto.\n"
    "jobs:\n"
    "  - kernel_include_regex: \"(gemm|Cijk_.*)\"\n"
    "    kernel_trace: true\n"
    "    stats: true # times only\n"
    "    output_format: [json, csv, pftrace]\n"
    "    sys_trace: false\n"
    "    advanced_thread_trace: false # true needs the decoder of thread traces\n"
    "    pmc:\n"
    "      - SQ_WAVES\n"
    "      - SQ_INSTS_VALU\n"
    "      - SQ_INSTS_MFMA\n"
    "      - SQ_ACTIVE_INST_ANY\n"
    "      - SQ_BUSY_CYCLES\n"
    "      - SQ_BUSY_CU_CYCLES\n"
    "      - SQ_WAVE_CYCLES\n"
    "      - SQ_WAVES_RESTORED\n"
    "      - SQ_INSTS_LDS\n"
    "      - SQ_INSTS_SMEM\n"
    "      - SQ_INSTS_VMEM\n"
    "      - SQ_WAIT_INST_LDS\n"
    "      - SQ_INSTS_VSKIPPED\n"
    "      - SQ_THREAD_CYCLES_VALU\n",
};

bool gt_rocprof_jobs_write(const char *folder, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool written = true;
    for (size_t i = 0; i < GT_ROCPROF_JOBS && written; i++) {
        char *path = gt_format("%s/%s", folder, gt_rocprof_job_names[i]);
        written = gt_output_whole_file(output, path, (gt_str){JOBS[i], strlen(JOBS[i])}, error);
        gt_free(path);
    }
    written = written && gt_output_commit(output, error);
    gt_output_free(output);
    return written;
}
