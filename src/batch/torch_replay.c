/* The Python program is the text below; the op's name, shapes, types, strides and other arguments are its
 * arguments, the latter four as JSON. */
#include "batch/torch_replay.h"

#include "base/memory.h"
#include "os/child.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

enum { MOST_BYTES_KEPT = 4 << 20 };

static const char script[] =
    "import ast, json, sys\n"
    "import torch\n"
    "\n"
    "TYPES = {'float': torch.float32, 'double': torch.float64, 'int': torch.int32, 'long': torch.int64,\n"
    "         'long int': torch.int64, 'bool': torch.bool, 'signed char': torch.int8, 'unsigned char': "
    "torch.uint8,\n"
    "         'c10::Half': torch.float16, 'c10::BFloat16': torch.bfloat16}\n"
    "for name in ('Float8_e4m3fn', 'Float8_e5m2', 'Float8_e4m3fnuz', 'Float8_e5m2fnuz'):\n"
    "    if hasattr(torch, name.lower()):\n"
    "        TYPES['c10::' + name] = getattr(torch, name.lower())\n"
    "\n"
    "mode, op = sys.argv[1:3]\n"
    "dims, types, strides, concrete = (json.loads(text) if text else [] for text in sys.argv[3:7])\n"
    "\n"
    "\n"
    "def tensor(place):\n"
    "    shape, steps = dims[place], strides[place] if place < len(strides) else []\n"
    "    if len(steps) != len(shape):\n"
    "        return torch.randn(shape, device='cuda').to(TYPES[types[place]])\n"
    "    room = 1 + sum((size - 1) * step for size, step in zip(shape, steps)) if 0 not in shape else 0\n"
    "    return torch.randn(room, device='cuda').to(TYPES[types[place]]).as_strided(shape, steps)\n"
    "\n"
    "\n"
    "def fits(value, kind):\n"
    "    if kind.startswith('List['):\n"
    "        return isinstance(value, list) and all(fits(item, kind[5:-1]) for item in value)\n"
    "    if kind == 'bool':\n"
    "        return isinstance(value, bool)\n"
    "    if kind in ('int', 'SymInt'):\n"
    "        return isinstance(value, int) and not isinstance(value, bool)\n"
    "    return kind in ('float', 'number', 'Scalar') and isinstance(value, (int, float))\n"
    "\n"
    "\n"
    "def argument(place, declared):\n"
    "    kind = str(declared.type)\n"
    "    optional = kind.startswith('Optional[')\n"
    "    if optional:\n"
    "        kind = kind[9:-1]\n"
    "    if kind == 'Tensor' and types[place] in TYPES:\n"
    "        return tensor(place)\n"
    "    if optional and types[place] == '':\n"
    "        return None\n"
    "    value = ast.literal_eval(concrete[place]) if kind != 'Tensor' else None\n"
    "    if value is None or not fits(value, kind):\n"
    "        raise ValueError(f'argument {place} is no {declared.type}')\n"
    "    return value\n"
    "\n"
    "\n"
    "def arguments():\n"
    "    why = 'PyTorch does not know it'\n"
    "    for schema in torch._C._jit_get_schemas_for_operator(op):\n"
    "        if len(schema.arguments) != len(types):\n"
    "            why = 'no form of it takes that many arguments'\n"
    "            continue\n"
    "        try:\n"
    "            values = [argument(place, declared) for place, declared in enumerate(schema.arguments)]\n"
    "        except (ValueError, SyntaxError, IndexError) as error:\n"
    "            why = error\n"
    "            continue\n"
    "        named = {d.name: v for d, v in zip(schema.arguments, values) if d.kwarg_only}\n"
    "        return [v for d, v in zip(schema.arguments, values) if not d.kwarg_only], named\n"
    "    sys.exit(f'cannot call {op}: {why}')\n"
    "\n"
    "\n"
    "call = torch._C._jit_get_operation(op)[0]\n"
    "plain, named = arguments()\n"
    "if mode == 'log':\n"
    "    call(*plain, **named)\n"
    "    torch.cuda.synchronize()\n"
    "else:\n"
    "    steps = 1000\n"
    "    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)\n"
    "    for _ in range(steps):\n"
    "        call(*plain, **named)\n"
    "    torch.cuda.synchronize()\n"
    "    start.record()\n"
    "    for _ in range(steps):\n"
    "        call(*plain, **named)\n"
    "    end.record()\n"
    "    torch.cuda.synchronize()\n"
    "    print(start.elapsed_time(end) / steps * 1000)\n";

/* ---- running ---- */

static bool keep_line(void *context, gt_child_stream stream, gt_str line)
{
    gt_replay_run *run = context;
    gt_buffer *kept = stream == GT_CHILD_STDOUT ? &run->output : &run->errors;
    if (kept->len + line.len >= MOST_BYTES_KEPT) return false;
    gt_buffer_add(kept, line.bytes, line.len);
    gt_buffer_add(kept, "\n", 1);
    return false;
}

/* This program's environment and more. */
static const char **join_environment(const char *const *more)
{
    size_t count = 0, added = 0;
    while (environ[count]) count++;
    while (more[added]) added++;
    const char **all = gt_alloc((count + added + 1) * sizeof *all);
    for (size_t i = 0; i < count; i++) all[i] = environ[i];
    for (size_t i = 0; i <= added; i++) all[count + i] = more[i];
    return all;
}

gt_replay_run gt_replay_run_program(const char *const *argv, const char *const *environment)
{
    gt_replay_run run = {0};
    gt_error error;
    const char **all = environment ? join_environment(environment) : NULL;
    const gt_child_setup setup = {
        .argv = argv, .environment = all, .silent = true, .line = keep_line, .line_context = &run};
    gt_child_result result;
    gt_child_run(&setup, &result, &error); /* where it cannot be started, the exit code tells */
    gt_free(all);
    if (result.interrupted) {
        signal(result.interrupted, SIG_DFL);
        raise(result.interrupted);
    }
    run.exit_code = result.exit_code;
    return run;
}

void gt_replay_run_free(gt_replay_run *run)
{
    gt_buffer_free(&run->output);
    gt_buffer_free(&run->errors);
}

/* ---- PyTorch ---- */

bool gt_torch_is_there(void)
{
    const char *const argv[] = {"python3", "-c", "import torch", NULL};
    gt_replay_run run = gt_replay_run_program(argv, NULL);
    gt_replay_run_free(&run);
    return run.exit_code == 0;
}

static gt_replay_run run_script(const char *mode, const gt_bench_op *op, const char *const *environment)
{
    const char *const argv[] = {
        "python3",          "-c", script, mode, op->name, op->dims.bytes, op->types.bytes, op->strides.bytes,
        op->concrete.bytes, NULL};
    return gt_replay_run_program(argv, environment);
}

gt_replay_run gt_torch_log(const gt_bench_op *op, gt_bench bench, const char *log_path)
{
    char *path = gt_format("HIPBLASLT_LOG_FILE=%s", log_path);
    const char *const hipblaslt[] = {"HIPBLASLT_LOG_MASK=32", path, NULL};
    const char *const miopen[] = {"MIOPEN_ENABLE_LOGGING_CMD=1", NULL};
    gt_replay_run run = run_script("log", op, bench == GT_BENCH_HIPBLASLT ? hipblaslt : miopen);
    gt_free(path);
    return run;
}

gt_replay_run gt_torch_time(const gt_bench_op *op)
{
    return run_script("time", op, NULL);
}
