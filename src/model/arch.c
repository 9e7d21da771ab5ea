/* GPUs: a table of the vendors' figures.
 *
 * A GPU has a set of peak rates and, where they are known, a set of achievable rates, which well-tuned
 * programs reach. Each figure has its source. TraceLens mixes both kinds for two GPUs; its figures are a
 * third set.
 *
 * To add a GPU, add a row to the table below, sorted by name. Then add a row to the table in
 * docs/models.md, the name to the list in tests/model/cli_cases.txt and the figures, typed from the vendor's
 * document, to tests/model/test_gpus.c, which compares them with the table. Nothing compares docs/models.md
 * with the table.
 *
 * Rules for figures: TFLOP/s without sparsity; a figure that the vendor gives only with sparsity is halved.
 * What the vendor does not publish is left out, with two exceptions. Vector units mostly compute 16-bit
 * numbers as 32-bit ones, so if the 16-bit rate is not specified, that of fp32 is used. Where a GPU has no
 * matrix units for a type, products of matrices run on the vector units and have their rate. matrix_fp32 is
 * TF32 on NVIDIA's GPUs from Ampere on. 16- and 8-bit matrix rates are those with 32-bit accumulation, which
 * frameworks use; on GeForce cards they are half of the rates with 16-bit accumulation. */
#include "model/arch.h"

/* ---- sources ----
 *
 * "As copied" means that the document itself could not be opened, only a copy of its figures on another page.
 * "Not checked" means that no copy was found either. */

#define A100_SHEET                                                                                           \
    "NVIDIA A100 Tensor Core GPU data sheet, as quoted by NVIDIA in TensorRT-LLM (cluster_info.py)"
#define A100_PAPER "NVIDIA A100 Tensor Core GPU Architecture white paper (2020), as copied"
#define A800_SHEET                                                                                           \
    "NVIDIA A800 Tensor Core GPU data sheet (2022), not checked; rates as copied: those of A100"
#define H100_PCIE_COLUMN                                                                                     \
    "NVIDIA H100 Tensor Core GPU Architecture white paper (2022), column H100 PCIe; not checked"
#define TWICE_FP32 "twice fp32: NVIDIA's white papers of Volta and Turing, as copied"
#define A10_SHEET                                                                                            \
    "NVIDIA A10 Tensor Core GPU data sheet (2021); fp32 and memory as copied, the rest not checked"
#define B200_SHEET                                                                                           \
    "NVIDIA Blackwell data sheet (2025), HGX B200, a single GPU, as copied; halved where with sparsity"
#define B300_SHEET                                                                                           \
    "NVIDIA HGX B300 data sheet (2025), a single GPU, as copied: "                                           \
    "https://glennklockwood.com/garden/processors/B300"
#define GH200_SHEET "NVIDIA GH200 Grace Hopper Superchip data sheet (2023), not checked; units as in H100"
#define H20_FIGURES                                                                                          \
    "figures of NVIDIA's announcement to customers (2023), as copied: "                                      \
    "https://zangshuxian.com/new/674733024499207168"
#define H100_SHEET                                                                                           \
    "NVIDIA H100 Tensor Core GPU data sheet, as quoted by NVIDIA in TensorRT-LLM (cluster_info.py)"
#define H100_PAPER "NVIDIA H100 Tensor Core GPU Architecture white paper (2022), as copied"
#define H200_SHEET                                                                                           \
    "NVIDIA H200 Tensor Core GPU data sheet (2023), as quoted by NVIDIA in TensorRT-LLM; units as in H100"
#define H800_SHEET                                                                                           \
    "NVIDIA H800 data sheet (2023), as copied: "                                                             \
    "https://www.philisun.com/technical-analysis/"                                                           \
    "nvidia-h800-vs-h100-a-technical-deep-dive-into-politically-defined-ai-chips"
#define L4_SHEET "NVIDIA L4 Tensor Core GPU data sheet (2023), as copied; halved where with sparsity"
#define L40_SHEET                                                                                            \
    "NVIDIA L40 data sheet (2023), as copied: https://www.mullet.se/product.html?product_id=355414"
#define L40S_SHEET                                                                                           \
    "NVIDIA L40S data sheet (2023), as copied: https://www.mullet.se/product.html?product_id=355414"
#define T4_SHEET   "NVIDIA T4 Tensor Core GPU data sheet (2019), as copied"
#define V100_SHEET "NVIDIA V100 Tensor Core GPU data sheet (2020), as copied"
#define GA102_PAPER                                                                                          \
    "NVIDIA Ampere GA102 GPU Architecture white paper (2021), RTX 3090, as copied; with 32-bit "             \
    "accumulation half of the 16-bit rate"
#define ADA_PAPER "NVIDIA Ada GPU Architecture white paper (2022), table of RTX 4090, as copied"
#define RTX_BW_PAPER                                                                                         \
    "NVIDIA RTX Blackwell GPU Architecture white paper (2025), RTX 5090, as copied; with 32-bit "            \
    "accumulation half of the 16-bit rate"
#define RTX_PRO_PAPER                                                                                        \
    "NVIDIA RTX Blackwell PRO GPU Architecture white paper (2025), RTX PRO 6000 Workstation Edition, as "    \
    "copied"
#define ADA_PRO_PAPER "NVIDIA Ada GPU Architecture white paper (2023), appendix on RTX 6000 Ada, not checked"
#define GA102_PRO_PAPER                                                                                      \
    "NVIDIA Ampere GA102 GPU Architecture white paper (2021), appendix on RTX A6000, not checked"
#define RTX_ADA_SHEET                                                                                        \
    "NVIDIA RTX 6000 Ada Generation data sheet (2022), not checked; halved where with sparsity"
#define RTX_A6000_SHEET                                                                                      \
    "NVIDIA RTX A6000 data sheet (2020); fp32 and memory as copied, the rest not checked; halved where "     \
    "with sparsity"
#define CDNA2_NOTES "AMD matrix cores (AMD lab notes, 2022): flops per clock and unit; 220 units at 1.7 GHz"
#define MI210_SHEET                                                                                          \
    "AMD Instinct MI210 data sheet (2022), as copied: "                                                      \
    "https://www.anandtech.com/show/17326/amd-releases-instinct-mi210-accelerator-cdna-2-on-a-pcie-card"
#define MI300A_SHEET                                                                                         \
    "AMD Instinct MI300A data sheet (2023), not checked: 228 of MI300X's 304 units at the same clock; "      \
    "memory as copied"
#define MI300X_PAGE                                                                                          \
    "AMD Instinct MI300X data sheet (2023), as copied; rates per clock and unit in "                         \
    "https://rocm.docs.amd.com/en/latest/conceptual/gpu-arch/mi300.html"
#define MI325X_PAGE "AMD Instinct MI325X data sheet (2024), as copied: the units and clock of MI300X"
#define MAF_BLOG                                                                                             \
    "https://rocm.blogs.amd.com/software-tools-optimization/measuring-max-achievable-flops-part2/"           \
    "README.html, as quoted by TraceLens"
#define CDNA4_BLOG                                                                                           \
    "Matrix Core Programming on AMD CDNA3 and CDNA4 architecture (AMD, 2025): cycles per instruction, 1024 " \
    "matrix cores, 2.2 GHz (MI350X) or 2.4 GHz (MI355X)"
#define CDNA4_VECTOR                                                                                         \
    "256 compute units, 256 flops (fp32) or 128 (fp64) per clock as in CDNA 3, 2.2 or 2.4 GHz"
#define CDNA4_LAUNCH "press reports of AMD's launch (June 2025), because no other source could be opened"
#define RX7900_PAGE  "AMD Radeon RX 7900 XTX product page, as copied"
#define W7900_PAGE   "AMD Radeon PRO W7900 data sheet (2023); memory as copied, the rest not checked"
#define RDNA3_WMMA                                                                                           \
    "How to accelerate AI applications on RDNA 3 using WMMA (AMD GPUOpen, 2023): 512 flops per clock and "   \
    "unit for fp16, bf16 and int8, not checked"
#define TRACELENS  "https://github.com/AMD-AGI/TraceLens"
#define ON_VECTORS "no matrix units for this type: the rate of the vector units"
#define LIKE_FP32  "not specified: the rate of fp32"
#define FP64_RATIO "1/64 of fp32, as the architecture's white paper says"

#define LIST(field, ...)                                                                                     \
    .field = (const gt_peak[]){__VA_ARGS__},                                                                 \
    .field##_count = sizeof((const gt_peak[]){__VA_ARGS__}) / sizeof(gt_peak)
#define PEAKS(...)         LIST(peaks, __VA_ARGS__)
#define ACHIEVABLE(...)    LIST(achievable, __VA_ARGS__)
#define TRACELENS_HAS(...) LIST(tracelens, __VA_ARGS__)
#define ALSO(...)                                                                                            \
    .aliases = (const char *const[])                                                                         \
    {                                                                                                        \
        __VA_ARGS__, NULL                                                                                    \
    }

/* Rates that several products share. */
#define A100_PEAKS                                                                                           \
    PEAKS({"matrix_fp64", 19.5, A100_PAPER}, {"matrix_fp32", 156, A100_SHEET},                               \
          {"matrix_fp16", 312, A100_SHEET}, {"matrix_bf16", 312, A100_SHEET},                                \
          {"matrix_int8", 624, A100_SHEET}, {"vector_fp64", 9.7, A100_PAPER},                                \
          {"vector_fp32", 19.5, A100_PAPER}, {"vector_fp16", 78, A100_PAPER},                                \
          {"vector_bf16", 39, A100_PAPER})
#define H100_PEAKS                                                                                           \
    PEAKS({"matrix_fp64", 66.9, H100_PAPER}, {"matrix_fp32", 494.7, H100_PAPER},                             \
          {"matrix_fp16", 989.4, H100_PAPER}, {"matrix_bf16", 989.4, H100_PAPER},                            \
          {"matrix_fp8", 1978.9, H100_PAPER}, {"matrix_int8", 1978.9, H100_PAPER},                           \
          {"vector_fp64", 33.5, H100_PAPER}, {"vector_fp32", 66.9, H100_PAPER},                              \
          {"vector_fp16", 133.8, H100_PAPER}, {"vector_bf16", 133.8, H100_PAPER})

static const gt_gpu_arch archs[] = {
    {.name = "A10",
     .mem_bw_gbps = 600,
     .memory_gb = 24,
     .memory_source = A10_SHEET,
     PEAKS({"matrix_fp32", 62.5, A10_SHEET}, {"matrix_fp16", 125, A10_SHEET}, {"matrix_bf16", 125, A10_SHEET},
           {"matrix_int8", 250, A10_SHEET}, {"vector_fp32", 31.2, A10_SHEET},
           {"vector_fp16", 31.2, LIKE_FP32}, {"vector_bf16", 31.2, LIKE_FP32})},
    /* 80 GB, SXM. */
    {.name = "A100",
     ALSO("A100 SXM", "A100 SXM4", "A100 80GB", "A100 SXM 80GB", "A100 SXM4 80GB"),
     .mem_bw_gbps = 2039,
     .memory_gb = 80,
     .memory_source = A100_SHEET,
     A100_PEAKS},
    {.name = "A100_40GB",
     ALSO("A100 SXM 40GB", "A100 SXM4 40GB", "A100 PCIe 40GB"),
     .mem_bw_gbps = 1555,
     .memory_gb = 40,
     .memory_source = A100_PAPER,
     A100_PEAKS},
    /* 80 GB, PCIe. */
    {.name = "A100_PCIE",
     ALSO("A100 80GB PCIe", "A100 PCIe 80GB"),
     .mem_bw_gbps = 1935,
     .memory_gb = 80,
     .memory_source = "NVIDIA A100 Tensor Core GPU data sheet (2022), as copied",
     A100_PEAKS},
    /* A100 with slower links to other GPUs. 80 GB, SXM. */
    {.name = "A800",
     ALSO("A800 SXM4", "A800 80GB", "A800 SXM4 80GB"),
     .mem_bw_gbps = 2039,
     .memory_gb = 80,
     .memory_source = A800_SHEET,
     A100_PEAKS},
    /* 80 GB, PCIe. */
    {.name = "A800_PCIE",
     ALSO("A800 80GB PCIe", "A800 PCIe 80GB"),
     .mem_bw_gbps = 1935,
     .memory_gb = 80,
     .memory_source = A800_SHEET,
     A100_PEAKS},
    {.name = "B200",
     ALSO("B200 SXM", "HGX B200"),
     .mem_bw_gbps = 7700,
     .memory_gb = 180,
     .memory_source = B200_SHEET,
     PEAKS({"matrix_fp64", 37, B200_SHEET}, {"matrix_fp32", 1100, B200_SHEET},
           {"matrix_fp16", 2250, B200_SHEET}, {"matrix_bf16", 2250, B200_SHEET},
           {"matrix_fp8", 4500, B200_SHEET}, {"matrix_fp4", 9000, B200_SHEET},
           {"matrix_int8", 4500, B200_SHEET}, {"vector_fp64", 37, B200_SHEET},
           {"vector_fp32", 75, B200_SHEET}, {"vector_fp16", 75, LIKE_FP32}, {"vector_bf16", 75, LIKE_FP32})},
    /* Documents contradict each other about int8, so it is left out. */
    {.name = "B300",
     ALSO("B300 SXM", "B300 SXM6 AC", "HGX B300"),
     .mem_bw_gbps = 8000,
     .memory_gb = 288,
     .memory_source = B300_SHEET,
     PEAKS({"matrix_fp64", 1.25, B300_SHEET}, {"matrix_fp32", 1125, B300_SHEET},
           {"matrix_fp16", 2250, B300_SHEET}, {"matrix_bf16", 2250, B300_SHEET},
           {"matrix_fp8", 4500, B300_SHEET}, {"matrix_fp4", 13125, B300_SHEET},
           {"vector_fp64", 1.25, B300_SHEET}, {"vector_fp32", 75, B300_SHEET}, {"vector_fp16", 75, LIKE_FP32},
           {"vector_bf16", 75, LIKE_FP32})},
    /* With 96 GB of HBM3. Its driver's name has the memory of the CPU. */
    {.name = "GH200",
     ALSO("GH200 96GB", "GH200 480GB", "GH200 120GB"),
     .mem_bw_gbps = 4000,
     .memory_gb = 96,
     .memory_source = GH200_SHEET,
     H100_PEAKS},
    {.name = "GH200_144GB",
     ALSO("GH200 144G HBM3e", "GH200 144GB HBM3e"),
     .mem_bw_gbps = 4900,
     .memory_gb = 144,
     .memory_source = GH200_SHEET,
     H100_PEAKS},
    /* SXM. */
    {.name = "H100",
     ALSO("H100 SXM", "H100 SXM5", "H100 80GB", "H100 80GB HBM3", "H100 SXM5 80GB"),
     .mem_bw_gbps = 3350,
     .memory_gb = 80,
     .memory_source = H100_SHEET,
     H100_PEAKS},
    {.name = "H100_PCIE",
     ALSO("H100 80GB PCIe", "H100 PCIe 80GB"),
     .mem_bw_gbps = 2039,
     .memory_gb = 80,
     .memory_source = H100_PCIE_COLUMN,
     PEAKS({"matrix_fp64", 51.2, H100_PCIE_COLUMN}, {"matrix_fp32", 378, H100_PCIE_COLUMN},
           {"matrix_fp16", 756, H100_PCIE_COLUMN}, {"matrix_bf16", 756, H100_PCIE_COLUMN},
           {"matrix_fp8", 1513, H100_PCIE_COLUMN}, {"matrix_int8", 1513, H100_PCIE_COLUMN},
           {"vector_fp64", 25.6, H100_PCIE_COLUMN}, {"vector_fp32", 51.2, H100_PCIE_COLUMN},
           {"vector_fp16", 102.4, H100_PCIE_COLUMN}, {"vector_bf16", 102.4, H100_PCIE_COLUMN})},
    /* With 96 GB. Rates of fp64 on matrix units are not published. */
    {.name = "H20",
     .mem_bw_gbps = 4000,
     .memory_gb = 96,
     .memory_source = H20_FIGURES,
     PEAKS({"matrix_fp32", 74, H20_FIGURES}, {"matrix_fp16", 148, H20_FIGURES},
           {"matrix_bf16", 148, H20_FIGURES}, {"matrix_fp8", 296, H20_FIGURES},
           {"matrix_int8", 296, H20_FIGURES}, {"vector_fp64", 1, H20_FIGURES},
           {"vector_fp32", 44, H20_FIGURES}, {"vector_fp16", 44, LIKE_FP32}, {"vector_bf16", 44, LIKE_FP32})},
    /* SXM. Its data sheet has 67, 1979 and 3958 with sparsity: the figures of H100, which has the same units.
     */
    {.name = "H200",
     ALSO("H200 SXM", "H200 SXM5", "H200 141GB HBM3e"),
     .mem_bw_gbps = 4800,
     .memory_gb = 141,
     .memory_source = H200_SHEET,
     H100_PEAKS},
    /* SXM. H100 with slower links to other GPUs and nearly without fp64. */
    {.name = "H800",
     ALSO("H800 SXM", "H800 SXM5", "H800 80GB", "H800 80GB HBM3"),
     .mem_bw_gbps = 3350,
     .memory_gb = 80,
     .memory_source = H800_SHEET,
     PEAKS({"matrix_fp64", 1, H800_SHEET}, {"matrix_fp32", 494.7, H100_PAPER},
           {"matrix_fp16", 989.4, H100_PAPER}, {"matrix_bf16", 989.4, H100_PAPER},
           {"matrix_fp8", 1978.9, H100_PAPER}, {"matrix_int8", 1978.9, H100_PAPER},
           {"vector_fp64", 1, H800_SHEET}, {"vector_fp32", 66.9, H100_PAPER},
           {"vector_fp16", 133.8, H100_PAPER}, {"vector_bf16", 133.8, H100_PAPER})},
    {.name = "L4",
     .mem_bw_gbps = 300,
     .memory_gb = 24,
     .memory_source = L4_SHEET,
     PEAKS({"matrix_fp32", 60, L4_SHEET}, {"matrix_fp16", 121, L4_SHEET}, {"matrix_bf16", 121, L4_SHEET},
           {"matrix_fp8", 242.5, L4_SHEET}, {"matrix_int8", 242.5, L4_SHEET}, {"vector_fp32", 30.3, L4_SHEET},
           {"vector_fp16", 30.3, LIKE_FP32}, {"vector_bf16", 30.3, LIKE_FP32})},
    {.name = "L40",
     .mem_bw_gbps = 864,
     .memory_gb = 48,
     .memory_source = L40_SHEET,
     PEAKS({"matrix_fp32", 90.5, L40_SHEET}, {"matrix_fp16", 181.05, L40_SHEET},
           {"matrix_bf16", 181.05, L40_SHEET}, {"matrix_fp8", 362, L40_SHEET},
           {"matrix_int8", 362, L40_SHEET}, {"vector_fp32", 90.5, L40_SHEET},
           {"vector_fp16", 90.5, LIKE_FP32}, {"vector_bf16", 90.5, LIKE_FP32})},
    {.name = "L40S",
     .mem_bw_gbps = 864,
     .memory_gb = 48,
     .memory_source = L40S_SHEET,
     PEAKS({"matrix_fp32", 183, L40S_SHEET}, {"matrix_fp16", 362.05, L40S_SHEET},
           {"matrix_bf16", 362.05, L40S_SHEET}, {"matrix_fp8", 733, L40S_SHEET},
           {"matrix_int8", 733, "NVIDIA L40S product page, as copied"}, {"vector_fp32", 91.6, L40S_SHEET},
           {"vector_fp16", 91.6, LIKE_FP32}, {"vector_bf16", 91.6, LIKE_FP32})},
    {.name = "MI210",
     .mem_bw_gbps = 1638.4,
     .memory_gb = 64,
     .memory_source = MI210_SHEET,
     PEAKS({"matrix_fp64", 45.3, MI210_SHEET}, {"matrix_fp32", 45.3, MI210_SHEET},
           {"matrix_fp16", 181, MI210_SHEET}, {"matrix_bf16", 181, MI210_SHEET},
           {"matrix_int8", 181, MI210_SHEET}, {"vector_fp64", 22.6, MI210_SHEET},
           {"vector_fp32", 22.6, MI210_SHEET}, {"vector_fp16", 22.6, LIKE_FP32},
           {"vector_bf16", 22.6, LIKE_FP32})},
    /* The module. In a trace, each of its two dies is a device: MI250X_GCD. */
    {.name = "MI250X",
     .mem_bw_gbps = 3276.8,
     .memory_gb = 128,
     .memory_source = "1638.4 GB/s per die: Finite difference method - Laplacian part 1 (AMD lab notes); "
                      "ROCm documentation, GPU hardware specifications",
     PEAKS({"matrix_fp64", 95.7, CDNA2_NOTES}, {"matrix_fp32", 95.7, CDNA2_NOTES},
           {"matrix_fp16", 383, CDNA2_NOTES}, {"matrix_bf16", 383, CDNA2_NOTES},
           {"matrix_int8", 383, CDNA2_NOTES}, {"vector_fp64", 47.9, CDNA2_NOTES},
           {"vector_fp32", 47.9, CDNA2_NOTES}, {"vector_fp16", 47.9, LIKE_FP32},
           {"vector_bf16", 47.9, LIKE_FP32})},
    /* One of the two dies: half of every figure. Drivers call each die MI250X / MI250. */
    {.name = "MI250X_GCD",
     ALSO("MI250X/MI250"),
     .mem_bw_gbps = 1638.4,
     .memory_gb = 64,
     .memory_source = "1638.4 GB/s per die: Finite difference method - Laplacian part 1 (AMD lab notes); "
                      "ROCm documentation, GPU hardware specifications",
     PEAKS({"matrix_fp64", 47.85, CDNA2_NOTES}, {"matrix_fp32", 47.85, CDNA2_NOTES},
           {"matrix_fp16", 191.5, CDNA2_NOTES}, {"matrix_bf16", 191.5, CDNA2_NOTES},
           {"matrix_int8", 191.5, CDNA2_NOTES}, {"vector_fp64", 23.95, CDNA2_NOTES},
           {"vector_fp32", 23.95, CDNA2_NOTES}, {"vector_fp16", 23.95, LIKE_FP32},
           {"vector_bf16", 23.95, LIKE_FP32})},
    /* The GPU part of the APU; its memory is also that of the CPU. */
    {.name = "MI300A",
     .mem_bw_gbps = 5300,
     .memory_gb = 128,
     .memory_source = MI300A_SHEET,
     PEAKS({"matrix_fp64", 122.6, MI300A_SHEET}, {"matrix_fp32", 122.6, MI300A_SHEET},
           {"matrix_fp16", 980.6, MI300A_SHEET}, {"matrix_bf16", 980.6, MI300A_SHEET},
           {"matrix_fp8", 1961.2, MI300A_SHEET}, {"matrix_int8", 1961.2, MI300A_SHEET},
           {"vector_fp64", 61.3, MI300A_SHEET}, {"vector_fp32", 122.6, MI300A_SHEET},
           {"vector_fp16", 122.6, LIKE_FP32}, {"vector_bf16", 122.6, LIKE_FP32})},
    {.name = "MI300X",
     .mem_bw_gbps = 5300,
     .memory_gb = 192,
     .memory_source = MI300X_PAGE,
     PEAKS({"matrix_fp64", 163.4, MI300X_PAGE}, {"matrix_fp32", 163.4, MI300X_PAGE},
           {"matrix_fp16", 1307.4, MI300X_PAGE}, {"matrix_bf16", 1307.4, MI300X_PAGE},
           {"matrix_fp8", 2614.9, MI300X_PAGE}, {"matrix_int8", 2614.9, MI300X_PAGE},
           {"vector_fp64", 81.7, MI300X_PAGE}, {"vector_fp32", 163.4, MI300X_PAGE},
           {"vector_fp16", 163.4, LIKE_FP32}, {"vector_bf16", 163.4, LIKE_FP32}),
     ACHIEVABLE({"matrix_fp16", 654, MAF_BLOG}, {"matrix_bf16", 708, MAF_BLOG},
                {"matrix_fp8", 1273, MAF_BLOG}),
     TRACELENS_HAS({"matrix_fp16", 654, TRACELENS}, {"matrix_bf16", 708, TRACELENS},
                   {"matrix_fp32", 163, TRACELENS}, {"matrix_fp64", 81, TRACELENS},
                   {"matrix_fp8", 1273, TRACELENS}, {"matrix_int8", 2600, TRACELENS},
                   {"vector_fp16", 163, TRACELENS}, {"vector_bf16", 163, TRACELENS},
                   {"vector_fp32", 81, TRACELENS}, {"vector_fp64", 40, TRACELENS})},
    {.name = "MI325X",
     .mem_bw_gbps = 6000,
     .memory_gb = 256,
     .memory_source = MI325X_PAGE,
     PEAKS({"matrix_fp64", 163.4, MI325X_PAGE}, {"matrix_fp32", 163.4, MI325X_PAGE},
           {"matrix_fp16", 1307.4, MI325X_PAGE}, {"matrix_bf16", 1307.4, MI325X_PAGE},
           {"matrix_fp8", 2614.9, MI325X_PAGE}, {"matrix_int8", 2614.9, MI325X_PAGE},
           {"vector_fp64", 81.7, MI325X_PAGE}, {"vector_fp32", 163.4, MI325X_PAGE},
           {"vector_fp16", 163.4, LIKE_FP32}, {"vector_bf16", 163.4, LIKE_FP32}),
     ACHIEVABLE({"matrix_fp16", 794, MAF_BLOG}, {"matrix_bf16", 843, MAF_BLOG},
                {"matrix_fp8", 1519, MAF_BLOG}),
     TRACELENS_HAS({"matrix_fp16", 794, TRACELENS}, {"matrix_bf16", 843, TRACELENS},
                   {"matrix_fp32", 194, TRACELENS}, {"matrix_fp64", 97, TRACELENS},
                   {"matrix_fp8", 1519, TRACELENS}, {"matrix_int8", 3094, TRACELENS},
                   {"vector_fp16", 194, TRACELENS}, {"vector_bf16", 194, TRACELENS},
                   {"vector_fp32", 97, TRACELENS}, {"vector_fp64", 48, TRACELENS})},
    {.name = "MI350X",
     .mem_bw_gbps = 8000,
     .memory_gb = 288,
     .memory_source = CDNA4_LAUNCH,
     PEAKS({"matrix_fp64", 72.1, CDNA4_BLOG}, {"matrix_fp32", 144.2, CDNA4_BLOG},
           {"matrix_fp16", 2306.9, CDNA4_BLOG}, {"matrix_bf16", 2306.9, CDNA4_BLOG},
           {"matrix_fp8", 4613.7, CDNA4_BLOG}, {"matrix_fp4", 9227.5, CDNA4_BLOG},
           {"matrix_int8", 4613.7, CDNA4_LAUNCH}, {"vector_fp64", 72.1, CDNA4_VECTOR},
           {"vector_fp32", 144.2, CDNA4_VECTOR}, {"vector_fp16", 144.2, LIKE_FP32},
           {"vector_bf16", 144.2, LIKE_FP32})},
    {.name = "MI355X",
     .mem_bw_gbps = 8000,
     .memory_gb = 288,
     .memory_source = CDNA4_LAUNCH,
     PEAKS({"matrix_fp64", 78.6, CDNA4_BLOG}, {"matrix_fp32", 157.3, CDNA4_BLOG},
           {"matrix_fp16", 2516.6, CDNA4_BLOG}, {"matrix_bf16", 2516.6, CDNA4_BLOG},
           {"matrix_fp8", 5033.2, CDNA4_BLOG}, {"matrix_fp4", 10066.3, CDNA4_BLOG},
           {"matrix_int8", 5033.2, CDNA4_LAUNCH}, {"vector_fp64", 78.6, CDNA4_VECTOR},
           {"vector_fp32", 157.3, CDNA4_VECTOR}, {"vector_fp16", 157.3, LIKE_FP32},
           {"vector_bf16", 157.3, LIKE_FP32})},
    /* 16-bit rates with 16-bit accumulation: 142. */
    {.name = "RTX_3090",
     ALSO("3090"),
     .mem_bw_gbps = 936,
     .memory_gb = 24,
     .memory_source = GA102_PAPER,
     PEAKS({"matrix_fp64", 0.556, ON_VECTORS}, {"matrix_fp32", 35.6, GA102_PAPER},
           {"matrix_fp16", 71, GA102_PAPER}, {"matrix_bf16", 71, GA102_PAPER},
           {"matrix_int8", 284, GA102_PAPER}, {"vector_fp64", 0.556, FP64_RATIO},
           {"vector_fp32", 35.6, GA102_PAPER}, {"vector_fp16", 35.6, GA102_PAPER},
           {"vector_bf16", 35.6, GA102_PAPER})},
    /* fp16 and fp8 rates with 16-bit accumulation: 330.3 and 660.6. */
    {.name = "RTX_4090",
     ALSO("4090"),
     .mem_bw_gbps = 1008,
     .memory_gb = 24,
     .memory_source = ADA_PAPER,
     PEAKS({"matrix_fp64", 1.29, ON_VECTORS}, {"matrix_fp32", 82.6, ADA_PAPER},
           {"matrix_fp16", 165.2, ADA_PAPER}, {"matrix_bf16", 165.2, ADA_PAPER},
           {"matrix_fp8", 330.3, ADA_PAPER}, {"matrix_int8", 660.6, ADA_PAPER},
           {"vector_fp64", 1.29, FP64_RATIO}, {"vector_fp32", 82.6, ADA_PAPER},
           {"vector_fp16", 82.6, ADA_PAPER}, {"vector_bf16", 82.6, ADA_PAPER})},
    /* fp16 and fp8 rates with 16-bit accumulation: 419 and 838. */
    {.name = "RTX_5090",
     ALSO("5090"),
     .mem_bw_gbps = 1792,
     .memory_gb = 32,
     .memory_source = RTX_BW_PAPER,
     PEAKS({"matrix_fp64", 1.64, ON_VECTORS}, {"matrix_fp32", 104.8, RTX_BW_PAPER},
           {"matrix_fp16", 209.5, RTX_BW_PAPER}, {"matrix_bf16", 209.5, RTX_BW_PAPER},
           {"matrix_fp8", 419, RTX_BW_PAPER}, {"matrix_fp4", 1676, RTX_BW_PAPER},
           {"matrix_int8", 838, RTX_BW_PAPER}, {"vector_fp64", 1.64, FP64_RATIO},
           {"vector_fp32", 104.8, RTX_BW_PAPER}, {"vector_fp16", 104.8, RTX_BW_PAPER},
           {"vector_bf16", 104.8, RTX_BW_PAPER})},
    {.name = "RTX_6000_ADA",
     ALSO("RTX 6000 Ada Generation"),
     .mem_bw_gbps = 960,
     .memory_gb = 48,
     .memory_source = RTX_ADA_SHEET,
     PEAKS({"matrix_fp32", 182.1, ADA_PRO_PAPER}, {"matrix_fp16", 364.2, ADA_PRO_PAPER},
           {"matrix_bf16", 364.2, ADA_PRO_PAPER}, {"matrix_fp8", 728.5, RTX_ADA_SHEET},
           {"matrix_int8", 728.5, ADA_PRO_PAPER}, {"vector_fp32", 91.1, RTX_ADA_SHEET},
           {"vector_fp16", 91.1, LIKE_FP32}, {"vector_bf16", 91.1, LIKE_FP32})},
    {.name = "RTX_A6000",
     ALSO("A6000"),
     .mem_bw_gbps = 768,
     .memory_gb = 48,
     .memory_source = RTX_A6000_SHEET,
     PEAKS({"matrix_fp32", 77.4, GA102_PRO_PAPER}, {"matrix_fp16", 154.8, RTX_A6000_SHEET},
           {"matrix_bf16", 154.8, GA102_PRO_PAPER}, {"matrix_int8", 309.7, GA102_PRO_PAPER},
           {"vector_fp32", 38.7, RTX_A6000_SHEET}, {"vector_fp16", 38.7, LIKE_FP32},
           {"vector_bf16", 38.7, LIKE_FP32})},
    /* Workstation Edition; the Max-Q and Server Editions are slower. */
    {.name = "RTX_PRO_6000",
     ALSO("RTX PRO 6000 Blackwell", "RTX PRO 6000 Blackwell Workstation Edition"),
     .mem_bw_gbps = 1792,
     .memory_gb = 96,
     .memory_source = RTX_PRO_PAPER,
     PEAKS({"matrix_fp32", 251.9, RTX_PRO_PAPER}, {"matrix_fp16", 503.8, RTX_PRO_PAPER},
           {"matrix_bf16", 503.8, RTX_PRO_PAPER}, {"matrix_fp8", 1007.6, RTX_PRO_PAPER},
           {"matrix_fp4", 2015.2, RTX_PRO_PAPER}, {"matrix_int8", 1007.6, RTX_PRO_PAPER},
           {"vector_fp32", 126, RTX_PRO_PAPER}, {"vector_fp16", 126, RTX_PRO_PAPER},
           {"vector_bf16", 126, RTX_PRO_PAPER})},
    {.name = "RX_7900_XTX",
     ALSO("7900 XTX"),
     .mem_bw_gbps = 960,
     .memory_gb = 24,
     .memory_source = RX7900_PAGE,
     PEAKS({"matrix_fp32", 61.4, ON_VECTORS}, {"matrix_fp16", 122.8, RX7900_PAGE},
           {"matrix_bf16", 122.8, RDNA3_WMMA}, {"matrix_int8", 122.8, RDNA3_WMMA},
           {"vector_fp32", 61.4, RX7900_PAGE}, {"vector_fp16", 122.8, RX7900_PAGE},
           {"vector_bf16", 61.4, LIKE_FP32})},
    /* Product briefs give 320 GB/s. */
    {.name = "T4",
     .mem_bw_gbps = 300,
     .memory_gb = 16,
     .memory_source = T4_SHEET,
     PEAKS({"matrix_fp32", 8.1, ON_VECTORS}, {"matrix_fp16", 65, T4_SHEET}, {"matrix_int8", 130, T4_SHEET},
           {"vector_fp32", 8.1, T4_SHEET}, {"vector_fp16", 16.2, TWICE_FP32})},
    /* SXM2; there is one with 16 GB too. */
    {.name = "V100",
     ALSO("V100 SXM2", "V100 SXM2 32GB", "V100 SXM2 16GB", "V100 SXM3 32GB"),
     .mem_bw_gbps = 900,
     .memory_gb = 32,
     .memory_source = V100_SHEET,
     PEAKS({"matrix_fp64", 7.8, ON_VECTORS}, {"matrix_fp32", 15.7, ON_VECTORS},
           {"matrix_fp16", 125, V100_SHEET}, {"vector_fp64", 7.8, V100_SHEET},
           {"vector_fp32", 15.7, V100_SHEET}, {"vector_fp16", 31.4, TWICE_FP32})},
    {.name = "V100_PCIE",
     ALSO("V100 PCIe 16GB", "V100 PCIe 32GB"),
     .mem_bw_gbps = 900,
     .memory_gb = 32,
     .memory_source = V100_SHEET,
     PEAKS({"matrix_fp64", 7, ON_VECTORS}, {"matrix_fp32", 14, ON_VECTORS}, {"matrix_fp16", 112, V100_SHEET},
           {"vector_fp64", 7, V100_SHEET}, {"vector_fp32", 14, V100_SHEET}, {"vector_fp16", 28, TWICE_FP32})},
    {.name = "W7900",
     ALSO("PRO W7900"),
     .mem_bw_gbps = 864,
     .memory_gb = 48,
     .memory_source = W7900_PAGE,
     PEAKS({"matrix_fp32", 61.3, ON_VECTORS}, {"matrix_fp16", 122.6, W7900_PAGE},
           {"matrix_bf16", 122.6, RDNA3_WMMA}, {"matrix_int8", 122.6, RDNA3_WMMA},
           {"vector_fp32", 61.3, W7900_PAGE}, {"vector_fp16", 122.6, W7900_PAGE},
           {"vector_bf16", 61.3, LIKE_FP32})},
};

const gt_gpu_arch *gt_gpu_archs(size_t *count)
{
    *count = GT_LENGTH(archs);
    return archs;
}
