# Base classes for the performance models of extensions: `from TraceLens.PerfModel import GEMM, SDPA, ...`.
#
# The formulas are those of src/model. docs/extensions.md describes the members of a model class.
import math

# Bytes per element and precision by the profiler's name of a type in lower case, as in src/model/dtypes.c.
_TYPES = {
    "c10::bfloat16": (2, "bf16"), "float": (4, "fp32"), "c10::half": (2, "fp16"), "double": (8, "fp64"),
    "long int": (8, None), "int": (4, None), "scalar": (4, None), "c10::float8_e4m3fnuz": (1, "fp8"),
    "c10::float8_e4m3fn": (1, "fp8"), "c10::float8_e5m2": (1, None), "c10::float8_e8m0fnu": (1, None),
    "unsigned char": (1, "fp8"), "signed char": (1, None), "fp8": (1, "fp8"),
    "c10::float4_e2m1fn_x2": (1, "fp4"), "fp4": (1, "fp4"), "mxfp4": (None, "fp4"),
}


def name2bpe(name):
    """Bytes per element; None if the type is unknown."""
    return _TYPES.get(name.lower(), (None, None))[0] if name is not None else None


def torch_dtype_map(name):
    """Precision, such as "bf16"; None if the type is unknown."""
    return _TYPES.get(name.lower(), (None, None))[1]


class _Model:
    bwd_category = None

    def __init__(self, event, arch=None, python_path=None, **options):
        self.event, self.arch, self.python_path = event, arch, python_path
        self.parsed_kernel_info = None
        self._before_params()
        self.param_details = self.get_param_details(event)
        self._after_params()

    def _before_params(self):
        pass

    def _after_params(self):
        pass

    @staticmethod
    def get_param_details(event):
        raise NotImplementedError("get_param_details")

    def _first_type(self):
        types = self.param_details.get("dtype_A_B") or [None]
        return types[0]

    def get_compute_precision(self):
        dtype = self._first_type()
        return torch_dtype_map(dtype) if dtype else None


class GEMM(_Model):
    """Y = A B, with A: M x K and B: K x N, and optionally a bias of N elements."""

    category = "GEMM"
    kernel_infos = {}  # by kernel name: {"transpose": (bool, bool)}; set before models are evaluated

    def _before_params(self):
        names = self.event.get("kernel_names") or [k["name"] for k in self.event.get("kernel_details", [])]
        infos = (self.kernel_infos.get(name) for name in names)
        self.parsed_kernel_info = next((info for info in infos if info), None)

    def _after_params(self):
        self.param_details.setdefault("B", 1)
        if self.parsed_kernel_info:
            self.param_details["transpose"] = self.parsed_kernel_info["transpose"]
        self.B, self.M, self.N, self.K, self.bias = (self.param_details[key] for key in ("B", "M", "N", "K", "bias"))

    def get_maf_type(self):
        return "matrix"

    @staticmethod
    def flops_func(M, N, K, bias):
        return 2 * M * N * K + (M * N if bias else 0)

    def flops(self):
        return self.flops_func(self.M, self.N, self.K, self.bias)

    @staticmethod
    def bytes_func(M, N, K, bias, bpe_mat1, bpe_mat2, bpe_bias, bpe_output):
        if None in (bpe_mat1, bpe_mat2, bpe_bias, bpe_output):
            return None
        return M * K * bpe_mat1 + K * N * bpe_mat2 + M * N * bpe_output + (N * bpe_bias if bias else 0)

    def bytes(self, bpe_mat1=None, bpe_mat2=None, bpe_bias=None, bpe_output=None):
        return self.bytes_func(self.M, self.N, self.K, self.bias, bpe_mat1, bpe_mat2, bpe_bias, bpe_output)

    def flops_bwd(self):
        M, N, K = self.M, self.N, self.K
        return self.flops_func(M, K, N, False) + self.flops_func(N, K, M, False) + (M * N if self.bias else 0)

    def bytes_bwd(self, bytes_per_element):
        sizes = (bytes_per_element,) * 4
        M, N, K = self.M, self.N, self.K
        return (self.bytes_func(M, K, N, False, *sizes) + self.bytes_func(N, K, M, False, *sizes) +
                (M * N if self.bias else 0))


class SDPA(_Model):
    """Attention with B sequences, H_Q heads of N_Q queries, and H_KV heads of N_KV keys and values."""

    category, bwd_category = "SDPA_fwd", "SDPA_bwd"
    _SIZES = ("B", "N_Q", "H_Q", "N_KV", "H_KV", "d_h_qk", "d_h_v")

    def _after_params(self):
        for key in self._SIZES:
            setattr(self, key, self.param_details[key])
        self.d_h = self.d_h_qk

    def get_maf_type(self):
        return "matrix"

    def _sizes(self):
        return [getattr(self, key) for key in self._SIZES]

    @staticmethod
    def _causal(flops, N_Q, N_KV, causal):
        if causal and N_Q != N_KV:
            raise ValueError(f"causal attention with {N_Q} queries and {N_KV} keys")
        return flops / 2 if causal else flops

    @staticmethod
    def flops_func(B, N_Q, H_Q, N_KV, H_KV, d_h_qk, d_h_v, causal):
        return SDPA._causal(B * H_Q * 2 * N_Q * N_KV * (d_h_qk + d_h_v), N_Q, N_KV, causal)

    def flops(self):
        return self.flops_func(*self._sizes(), self.param_details["causal"])

    @staticmethod
    def bytes_func(B, N_Q, H_Q, N_KV, H_KV, d_h_qk, d_h_v, causal, bytes_per_element):
        return (d_h_qk + d_h_v) * B * (N_Q * H_Q + N_KV * H_KV) * bytes_per_element

    def bytes(self, bytes_per_element=2):
        return self.bytes_func(*self._sizes(), self.param_details["causal"], bytes_per_element)

    @staticmethod
    def flops_bwd_func(B, N_Q, H_Q, N_KV, H_KV, d_h_qk, d_h_v, causal, flash_impl):
        products = 2 * (d_h_qk + d_h_v) + (d_h_qk if flash_impl else 0)  # flash attention recomputes the scores
        shared = B * N_KV * (d_h_qk + d_h_v) * (H_Q // H_KV - 1)  # gradients of shared heads are summed
        return SDPA._causal(B * H_Q * 2 * N_Q * N_KV * products + shared, N_Q, N_KV, causal)

    def flops_bwd(self):
        return self.flops_bwd_func(*self._sizes(), self.param_details["causal"], self.param_details["flash_impl"])

    @staticmethod
    def bytes_bwd_func(B, N_Q, H_Q, N_KV, H_KV, d_h_qk, d_h_v, causal, bytes_per_element):
        queries, keys, values = B * N_Q * H_Q * d_h_qk, B * N_KV * H_KV * d_h_qk, B * N_KV * H_KV * d_h_v
        return (2 * (queries + keys + values) + B * N_Q * H_Q * d_h_v) * bytes_per_element

    def bytes_bwd(self, bytes_per_element=2):
        return self.bytes_bwd_func(*self._sizes(), self.param_details["causal"], bytes_per_element)


def extract_sdpa_cfg(q_shape, k_shape, v_shape, bhnd_idx):
    """The sizes of attention; bhnd_idx has the axes of batch, heads, length and head size in the shapes."""
    (b_q, h_q, n_q, d_q), (b_k, h_k, n_k, d_k), (b_v, h_v, n_v, d_v) = (
        tuple(shape[i] for i in bhnd_idx) for shape in (q_shape, k_shape, v_shape))
    for what, sizes in (("batches", {b_q, b_k, b_v}), ("heads of keys and values", {h_k, h_v}),
                        ("lengths of keys and values", {n_k, n_v}), ("head sizes of queries and keys", {d_q, d_k})):
        if len(sizes) > 1:
            raise ValueError(f"{what} differ: {sorted(sizes)}")
    return {"B": b_q, "N_Q": n_q, "H_Q": h_q, "N_KV": n_k, "H_KV": h_k, "d_h_qk": d_q, "d_h_v": d_v}


class GroupedGemm(_Model):
    """M rows of K elements, each multiplied with one of G matrices of K x N."""

    category, bwd_category = "GroupedGEMM_fwd", "GroupedGEMM_bwd"

    def _after_params(self):
        for key in ("M", "K", "G", "N", "bpe_in", "bpe_out"):
            setattr(self, key, self.param_details[key])

    def _first_type(self):
        return (self.event.get("args", {}).get("Input type") or [None])[0]

    def get_maf_type(self):
        return "matrix"

    @staticmethod
    def flops_func(M, K, N):
        return 2 * M * K * N

    def flops(self):
        return self.flops_func(self.M, self.K, self.N)

    @staticmethod
    def bytes_func(M, K, N, G, bpe_in, bpe_out):
        return (M * K + G * K * N) * bpe_in + M * N * bpe_out

    def bytes(self):
        return self.bytes_func(self.M, self.K, self.N, self.G, self.bpe_in, self.bpe_out)

    @staticmethod
    def flops_bwd_func(M, K, N):
        return 4 * M * K * N

    def flops_bwd(self):
        return self.flops_bwd_func(self.M, self.K, self.N)

    @staticmethod
    def bytes_bwd_func(M, K, N, G, bpe_in, bpe_out):
        return 2 * M * N * bpe_out + 2 * (M * K + G * K * N) * bpe_in

    def bytes_bwd(self):
        return self.bytes_bwd_func(self.M, self.K, self.N, self.G, self.bpe_in, self.bpe_out)


class Normalization(_Model):
    """Elements are normalized to mean 0 and deviation 1 per channel, then scaled and shifted."""

    category, bwd_category, sheet_category = "NORM_fwd", "NORM_bwd", "Normalization"

    def _after_params(self):
        details = self.param_details
        self.num_elems = math.prod(details["op_shape"])
        for key in ("dtype_in_out", "stride_input", "stride_output", "num_channels", "has_bias", "is_training",
                    "is_affine"):
            setattr(self, key, details[key])
        self.output_mask = details.get("output_mask", "[False]")
        self.bpe_in = name2bpe(self.dtype_in_out[0])
        self.bpe_out = self.bpe_in if self.dtype_in_out[1] is None else name2bpe(self.dtype_in_out[1])

    def _first_type(self):
        return self.dtype_in_out[0] if self.dtype_in_out else None

    def get_maf_type(self):
        return "vector"

    def _sizes(self):
        return self.has_bias, self.is_affine, self.is_training, self.num_elems, self.num_channels

    @staticmethod
    def flops_func(has_bias, is_affine, is_training, num_elems, num_channels):
        return 6 * num_channels + (5 if is_training else 2) * num_elems

    def flops(self):
        return self.flops_func(*self._sizes())

    @staticmethod
    def bytes_func(has_bias, is_affine, is_training, num_elems, num_channels, bpe_in, bpe_out):
        tensors = 2 + (2 if is_training else 0) + (1 + bool(has_bias) if is_affine else 0)
        return num_elems * (bpe_in + bpe_out) + tensors * num_channels * bpe_in

    def bytes(self):
        return self.bytes_func(*self._sizes(), self.bpe_in, self.bpe_out)

    @staticmethod
    def flops_func_bwd(has_bias, is_affine, is_training, num_elems, num_channels, output_mask):
        elements = num_elems / num_channels
        if output_mask[0]:
            more = 5 * elements if is_training else 0
        else:
            more = 2 * elements
        return num_channels * ((0 if is_training else 3) + 4 * elements + more)

    def flops_bwd(self):
        return self.flops_func_bwd(*self._sizes(), self.output_mask)

    @staticmethod
    def bytes_func_bwd(has_bias, is_affine, is_training, num_elems, num_channels, bpe_in, bpe_out, output_mask):
        inputs = 2 if output_mask[0] and is_training else 1
        channels = bool(is_training) + bool(is_affine) + ((2 if has_bias else 1) if is_affine and is_training else 0)
        return num_elems * (bpe_out + inputs * bpe_in) + channels * num_channels * bpe_in

    def bytes_bwd(self):
        return self.bytes_func_bwd(*self._sizes(), self.bpe_in, self.bpe_out, self.output_mask)
