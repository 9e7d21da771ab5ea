"""Calls single PyTorch ops again. Written by gputally; needs only PyTorch."""
import json
import os
import statistics
import sys
import warnings

warnings.simplefilter("ignore")
try:
    import torch
except ImportError:
    sys.exit("PyTorch is not installed for this Python (%s); install it, or use the Python of your training environment" % sys.executable)

TYPES = {"double": torch.float64, "float": torch.float32, "c10::Half": torch.float16, "c10::BFloat16": torch.bfloat16,
         "long": torch.int64, "int": torch.int32, "short int": torch.int16, "signed char": torch.int8,
         "unsigned char": torch.uint8, "bool": torch.bool, "c10::complex<float>": torch.complex64,
         "c10::complex<double>": torch.complex128}
for name in ("Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz"):
    if hasattr(torch, name.lower()):
        TYPES["c10::" + name] = getattr(torch, name.lower())


def fill(count, dtype, low, high, device):
    """Random values: in [low, high) if these are given, otherwise normally distributed, and zeros of integers."""
    if dtype == torch.bool:
        return torch.rand(count, device=device) < 0.5
    if dtype.is_floating_point or dtype.is_complex:
        made = torch.rand(count, device=device) * (high - low) + low if high is not None else \
            torch.randn(count, device=device, dtype=dtype if dtype.itemsize > 1 else torch.float16)
        return made.to(dtype)
    return torch.randint(low or 0, max(high or 1, 1), (count,), device=device, dtype=dtype)


def tensor(value, argument, device):
    shape, strides, dtype = value["shape"], value["strides"], TYPES[value["dtype"]]
    room = 1 + sum((size - 1) * step for size, step in zip(shape, strides)) if 0 not in shape else 0
    place = argument.get("device", "")
    where = "cpu" if place else device
    if value["init"] is None:
        made = torch.empty(room, dtype=dtype, device=where)
    else:
        made = fill(room, dtype, argument.get("low"), argument.get("high"), where)
    if argument.get("sorted"):
        made = made.sort()[0]
    return (made.pin_memory() if place == "pinned" else made).as_strided(shape, strides)


def build(argument, device):
    value, kind = argument["value"], argument["arg_type"]
    if kind.startswith("Device") and value is None:
        return torch.device(device)
    if isinstance(value, dict):
        return tensor(value, argument, device)
    if isinstance(value, list) and kind.startswith("Tensor"):
        return [tensor(item, argument, device) for item in value]
    return value


def overload_of(entry):
    """The op with these arguments. PyTorch would find it as well, but tries all overloads, and prints tensors on the way."""
    wanted = [(a["arg_name"], "Tensor" in a["arg_type"]) for key in ("list_pos_args", "list_kwargs") for a in entry["replay_ir"][key]]
    for schema in torch._C._jit_get_schemas_for_operator(entry["op_name"]):
        if [(a.name, "Tensor" in str(a.type)) for a in schema.arguments] == wanted:
            space, name = entry["op_name"].split("::")
            return getattr(getattr(getattr(torch.ops, space), name), schema.overload_name or "default")
    raise RuntimeError("this PyTorch does not know the op with these arguments")


def prepare(entry, device):
    """A function without arguments that calls the op."""
    function = overload_of(entry)
    plain = [build(a, device) for a in entry["replay_ir"]["list_pos_args"]]
    named = {a["arg_name"]: build(a, device) for a in entry["replay_ir"]["list_kwargs"]}
    torch.backends.cuda.matmul.allow_tf32 = any("tf32" in name for name in entry.get("kernels", []))
    return lambda: function(*plain, **named)


def event_times(call, repeats, before):
    """Microseconds between an event before and one after each call."""
    pairs = []
    for _ in range(repeats):
        pairs.append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
        before()
        pairs[-1][0].record()
        call()
        pairs[-1][1].record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) * 1000 for start, end in pairs]
