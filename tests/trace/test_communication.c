/* Which kernels are communication. The names are those of the libraries' sources, as profilers write them;
 * the others are compute kernels whose names look similar. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "trace/communication.h"

#include <string.h>

static gt_str str(const char *text)
{
    return (gt_str){text, strlen(text)};
}

static const struct {
    const char *family, *name;
} communication[] = {
    {"NCCL or RCCL", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
    {"NCCL or RCCL", "void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)"},
    {"custom all-reduce", "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, "
                          "vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)"},
    {"custom all-reduce", "void aiter::allgather_lastdim<std::bfloat16_t, 2>(aiter::RankData*, "
                          "aiter::RankSignals, aiter::Signal*, std::bfloat16_t*, int, int, int)"},
    {"custom all-reduce", "void aiter::reduce_scatter_cross_device_store<float, 8>"},
    {"custom all-reduce",
     "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<half>>"},
    {"custom all-reduce", "void vllm::cross_device_all_gather<float, 8>(float*)"},
    {"DeepEP", "void deep_ep::internode_ll::dispatch<false, true, 3, 7168>(void*, float*, int*)"},
    {"DeepEP", "void deep_ep::internode_ll::combine<3, 7168, 9>(void*, void*)"},
    {"DeepEP", "void deep_ep::intranode::notify_dispatch<8>(int const*, int*)"},
    {"DeepEP", "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>(__nv_bfloat16*)"},
    {"DeepEP", "void deep_ep::legacy::internode::dispatch<false, 1, false>(int4*)"},
    {"DeepEP", "void deep_ep::elastic::combine_impl<true>(__nv_bfloat16*)"},
    {"DeepEP", "_ZN7deep_ep9intranode8dispatchILi8ELi768EEEvP4int4"},
    {"MORI", "void mori::moe::EpDispatchIntraNodeKernel<hip_bfloat16>(mori::moe::EpDispatchCombineArgs)"},
    {"MORI", "EpCombineInterNodeV1Kernel_bf16"},
    {"pplx-garden", "void a2a_kernels::a2a_dispatch_send_kernel<true>(int)"},
    {"NVSHMEM", "void nvshmemi_alltoall_on_stream_kernel<char>(int, char*, char const*, unsigned long)"},
    {"NVSHMEM", "barrier_on_stream_kernel_threadgroup(int, int)"},
    {"NVSHMEM", "void c10d::nvshmem_extension::allToAllV<true>(void*, void*)"},
    {"rocSHMEM", "rocshmem_barrier_all_kernel()"},
    {"MSCCL++", "void mscclpp::collective::allreduceFullmesh<(mscclpp::ReduceOp)0, __half>(__half*)"},
    {"MSCCL++", "void allreduce7<__half>(__half*, mscclpp::DeviceHandle<mscclpp::MemoryChannel>*)"},
    {"MSCCL++", "mscclKernel_Sum_float_LL"},
    {"oneCCL", "oneccl_allreduce_large_kernel"},
    {"oneCCL", "Allreduce_small_kernel_scalar<sycl::half, 8>"},
    {"oneCCL", "ReduceScatterMediumKernel_GlobalSync<float>"},
    {"oneCCL", "allreduce_kernel_float32_sum"},
    {"Gloo", "gloo::_Kernel_float_cudaSum(float*, float const*, int)"},
    {"symmetric memory",
     "void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 2>("
     "c10::BFloat16**, unsigned long, unsigned long, unsigned int**)"},
    {"symmetric memory",
     "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)"},
    {"symmetric memory", "void (anonymous namespace)::multimem_one_shot_reduce_kernel<float, 16, 8>(float*)"},
    {"symmetric memory",
     "c10d::symmetric_memory::barrier_kernel(unsigned int**, int, int, int, unsigned long)"},
    {"TensorRT-LLM", "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<"
                     "(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8>()"},
    {"TensorRT-LLM", "void tensorrt_llm::kernels::twoShotAllReduceKernel<__half, 8>(AllReduceParams)"},
    {"TensorRT-LLM", "void tensorrt_llm::kernels::moe_alltoall::moeA2ADispatchKernel<8>(int)"},
    {"userbuffers", "void kuserbuffers_pushsendrecv(int, int, int, int*, int*, int4*, int4*, int)"},
    {"userbuffers", "void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int)"},
    {"other collectives", "_all_gather_kernel"},
    {"other collectives", "void sp_collective::reduce_scatter_pull_kernel<8>(float*)"},
    {"other collectives", "AllReduceKernelImpl"},
    {"other collectives", "amd_all_reduce_kernel"},
    {"other collectives", "void p2p_allreduce_kernel<float>(float*)"},
    {"other collectives", "triton_one_shot_all_reduce_kernel"},
    {"symmetric memory", "one_shot_all_reduce_kernel"},
    {"symmetric memory", "_ZN4c10d16symmetric_memory14barrier_kernelEPPjiiim"},
    {"custom all-reduce", "_ZN11quickreduce27allreduce_prototype_twoshotEv"},
};

static const char *const computation[] = {
    "",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(at::native::ReduceOp<float>)",
    "void splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>(cublasSplitKParams<float>)",
    "void cublasLt::splitKreduce_kernel<32, 16>",
    "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128>>(Flash_fwd_params)",
    "void vllm::moe::moe_combine_kernel<float>(float*)",
    "moe_combine",
    "moe_dispatch_kernel",
    "dispatch_kernel",
    "void combine<int>(int*)",
    "deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*, int*)",
    "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u>(float*)",
    "triton_poi_fused_add_all_reduce_4",
    "triton_red_fused__to_copy_add_all_gather_into_tensor_wait_tensor_0",
    "block_all_reduce_sum_f32_f32_kernel(float*, float*, int)",
    "void warp_all_reduce<float>(float*)",
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int)",
    "void at::native::_scatter_gather_elementwise_kernel<128, 8>(int)",
    "allreduce_gemm_kernel",
    "void gemm_all_reduce_kernel<float>(float*)",
    "EpilogueGemm",
    "void cub::DeviceReduceKernel<int>(int)",
    "void aiter::fmoe_kernel<float>(float*)",
    "Memcpy DtoD (Device -> Device)",
    ("void at::native::elementwise_kernel<128, 2, "
     "at::native::gpu_kernel_impl<at::native::BinaryFunctor>>(int)"),
    "epoch_kernel",
    "signal_filter_kernel",
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_64x1_tn_align8>(Params)",
    "barrier_free_softmax_kernel",
    "one_shot_softmax_reduce",
    "two_shot_topk_reduce",
    "block_all_reduce_kernel",
};

static void the_table_knows_the_libraries(void **state)
{
    (void)state;
    gt_comm_kernels *all = gt_comm_kernels_new(GT_COMM_TRACELENS | GT_COMM_OTHERS);
    for (size_t i = 0; i < GT_LENGTH(communication); i++) {
        const char *family = gt_comm_family(all, str(communication[i].name));
        if (!family || strcmp(family, communication[i].family) != 0)
            fail_msg("%s: %s", communication[i].name, family ? family : "not communication");
    }
    gt_comm_kernels_free(all);
}

static void compute_kernels_are_not_communication(void **state)
{
    (void)state;
    gt_comm_kernels *all = gt_comm_kernels_new(GT_COMM_TRACELENS | GT_COMM_OTHERS);
    for (size_t i = 0; i < GT_LENGTH(computation); i++) {
        const char *family = gt_comm_family(all, str(computation[i]));
        if (family) fail_msg("%s: %s", computation[i], family);
    }
    gt_comm_kernels_free(all);
}

static void without_the_table_only_names_of_tracelens_count(void **state)
{
    (void)state;
    gt_comm_kernels *few = gt_comm_kernels_new(GT_COMM_TRACELENS), *none = gt_comm_kernels_new(0);
    for (size_t i = 0; i < GT_LENGTH(communication); i++) {
        gt_str name = str(communication[i].name);
        assert_int_equal(gt_comm_family(few, name) != NULL, gt_is_communication(name));
        assert_int_equal(gt_comm_family(NULL, name) != NULL, gt_is_communication(name));
        assert_null(gt_comm_family(none, name));
    }
    assert_non_null(gt_comm_family(NULL, str(communication[0].name)));
    gt_comm_kernels_free(few);
    gt_comm_kernels_free(none);
}

static void users_add_expressions(void **state)
{
    (void)state;
    gt_error error;
    gt_comm_kernels *comm = gt_comm_kernels_new(GT_COMM_TRACELENS);
    assert_true(gt_comm_kernels_add(comm, "^my_exchange_\\d+$", &error));
    assert_true(gt_comm_kernels_add(comm, "(?i)halo", &error));
    assert_string_equal(gt_comm_family(comm, str("my_exchange_12")), "^my_exchange_\\d+$");
    assert_string_equal(gt_comm_family(comm, str("void swapHalos<float>(float*)")), "(?i)halo");
    assert_null(gt_comm_family(comm, str("my_exchange_12b")));
    assert_false(gt_comm_kernels_add(comm, "(open", &error));
    assert_false(gt_comm_regex_check("*", &error));
    assert_true(gt_comm_regex_check("a|b", &error));
    gt_comm_kernels_free(comm);
}

/* An expression that backtracks without end is given up, and the kernel does not count. */
static void expressions_are_limited(void **state)
{
    (void)state;
    gt_error error;
    char name[200];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = 0;
    gt_comm_kernels *comm = gt_comm_kernels_new(0);
    assert_true(gt_comm_kernels_add(comm, "(a*)*(a*)*(a*)*b", &error));
    assert_null(gt_comm_family(comm, str(name)));
    gt_comm_kernels_free(comm);
}

static void uses_are_listed_by_time(void **state)
{
    (void)state;
    gt_comm_uses uses = {0};
    gt_comm_uses_add(&uses, "NCCL or RCCL", 1, 0.0125);
    gt_comm_uses_add(&uses, "DeepEP", 57, 100);
    gt_comm_uses_add(&uses, "DeepEP", 1, 13);
    char *text = gt_comm_uses_text(&uses);
    assert_string_equal(text, "DeepEP (58 kernels, 113.000 ms), NCCL or RCCL (1 kernel, 0.013 ms)");
    gt_free(text);
    gt_comm_uses_free(&uses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_knows_the_libraries),
        cmocka_unit_test(compute_kernels_are_not_communication),
        cmocka_unit_test(without_the_table_only_names_of_tracelens_count),
        cmocka_unit_test(users_add_expressions),
        cmocka_unit_test(expressions_are_limited),
        cmocka_unit_test(uses_are_listed_by_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
