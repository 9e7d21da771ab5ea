"""As much of PyTorch as replay.py uses, on a GPU whose clock is a number. The op test::cost takes as many µs as its argument
says, test::broken breaks the GPU for the process, and every other op takes 10 µs and appends its arguments to the file `calls`."""
import json
import os
import sys

clock = 0.0
broken = False
events = []


class DType:
    def __init__(self, name, size=4, floating=True):
        self.name, self.itemsize, self.is_floating_point, self.is_complex = name, size, floating, name.startswith("complex")


for _name in ("float64", "float32", "float16", "bfloat16", "complex64", "complex128", "float8_e4m3fn"):
    globals()[_name] = DType(_name, 1 if "8_" in _name else 4)
for _name in ("int64", "int32", "int16", "int8", "uint8", "bool"):
    globals()[_name] = DType(_name, floating=False)


class Tensor:
    def __init__(self, count, dtype, device, how):
        self.about = {"count": count, "dtype": dtype.name, "device": str(device), "how": how}

    def with_(self, **more):
        self.about.update(more)
        return self

    def __mul__(self, factor):
        return self.with_(factor=factor)

    def __add__(self, least):
        return self.with_(least=least)

    def __lt__(self, other):
        return self.with_(dtype="bool")

    def to(self, dtype):
        return self.with_(dtype=dtype.name)

    def sort(self):
        return [self.with_(sorted=True)]

    def pin_memory(self):
        return self.with_(pinned=True)

    def as_strided(self, shape, strides):
        return self.with_(shape=shape, strides=strides)

    def zero_(self):
        spend("flush", 100)

    def item(self):
        return 0


def spend(name, time):
    global clock
    events.append(Event(name, clock, clock + time))
    clock += time


class Event:
    def __init__(self, name, start, end):
        self.name, self.device_type = name, "gpu"
        self.time_range = Event.Range()
        self.time_range.start, self.time_range.end = start, end

    class Range:
        pass


def empty(count, dtype, device="gpu"):
    return Tensor(count, dtype, device, "empty")


def rand(count, device):
    return Tensor(count, float32, device, "rand")


def randn(count, device, dtype):
    return Tensor(count, dtype, device, "randn")


def randint(low, high, size, device, dtype):
    return Tensor(size[0], dtype, device, "randint").with_(low=low, high=high)


def zeros(count, device):
    if broken:
        raise RuntimeError("the GPU is broken")
    return Tensor(count, float32, device, "zeros")


def device(name):
    return "device " + name


def set_grad_enabled(_):
    pass


def op(name, overload):
    def call(*plain, **named):
        global broken
        if name == "test::broken":
            broken = True
        if broken:
            raise RuntimeError("invalid access\nof memory")
        show = lambda value: value.about if isinstance(value, Tensor) else [show(v) for v in value] if isinstance(value, list) else value
        with open("calls", "a", encoding="utf-8") as file:
            file.write(json.dumps([name + "." + overload, [show(v) for v in plain], {key: show(v) for key, v in named.items()}]) + "\n")
        spend(f"kernel of {name}", plain[0] if name == "test::cost" else 10)
    return call


class Argument:
    def __init__(self, name, kind):
        self.name, self.type = name, kind


class Schema:
    def __init__(self, overload, *arguments):
        self.overload_name, self.arguments = overload, [Argument(*a.split(":")) for a in arguments]


# The overloads of ops, with the first as a trap: another one fits.
SCHEMAS = {"aten::index_select": [Schema("", "self:Tensor", "dim:str", "index:int"), Schema("", "self:Tensor", "dim:int", "index:Tensor")],
           "aten::copy_": [Schema("", "self:Tensor", "src:Tensor", "non_blocking:bool")],
           "aten::masked_fill_": [Schema("Tensor", "self:Tensor", "mask:Tensor", "value:Tensor"),
                                  Schema("Scalar", "self:Tensor", "mask:Tensor", "value:number")],
           "aten::mul": [Schema("Scalar", "self:Tensor", "other:number"), Schema("Tensor", "self:Tensor", "other:Tensor")],
           "aten::cat": [Schema("", "tensors:List[Tensor]", "dim:int")], "aten::neg": [Schema("", "self:Tensor")],
           "test::cost": [Schema("", "time:int")], "test::broken": [Schema("", "n:int")], "test::other": [Schema("", "n:int")]}


class _C:
    @staticmethod
    def _jit_get_schemas_for_operator(name):
        return SCHEMAS.get(name, [])

    @staticmethod
    def _jit_get_all_schemas():
        return ["test::cost(int time) -> ()"]


class Names:
    """torch.ops.SPACE.OP.OVERLOAD"""

    def __init__(self, *path):
        self.path = path

    def __getattr__(self, name):
        if len(self.path) < 2:
            return Names(*self.path, name)
        qualified = "::".join(self.path)
        if name in [schema.overload_name or "default" for schema in SCHEMAS[qualified]]:
            return op(qualified, name)
        raise AttributeError(name)


ops = Names()


class cuda:
    class Event:
        def __init__(self, enable_timing):
            self.at = 0

        def record(self):
            self.at = clock

        def elapsed_time(self, end):
            return (end.at - self.at) / 1000

    is_available = staticmethod(lambda: "NO_GPU" not in os.environ)
    synchronize = staticmethod(lambda: None)
    get_device_name = staticmethod(lambda: "Stand-in")


class backends:
    class cuda:
        class matmul:
            allow_tf32 = None


class autograd:
    class DeviceType:
        CUDA = "gpu"


class profiler:
    class ProfilerActivity:
        CUDA = "gpu"

    class profile:
        def __init__(self, activities):
            pass

        def __enter__(self):
            self.first = len(events)
            return self

        def __exit__(self, *_):
            pass

        def events(self):
            return events[self.first:]


sys.modules["torch.profiler"] = profiler
