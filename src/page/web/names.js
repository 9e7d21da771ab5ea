// Display names of time categories. Tables and state use the short names of the sheets: `data`, `GEMM`.

const CAUSE_NAMES = {
  launch: ['host launches', 'the host was preparing or issuing kernels'],
  sync: ['after a sync', 'the host had waited for the GPU and had not caught up again'],
  data: ['data loading', 'the host was loading input data'],
  cpu_op: ['CPU op', 'the host was computing an operator on the CPU'],
  python: ['Python', 'the host was running Python code between operators'],
  untraced: ['untraced host', 'the host was doing something that the trace does not show'],
  wait: ['waiting', 'the host was waiting for a lock, a queue, a socket or another process'],
  alloc: ['memory allocation', 'the host was allocating or freeing memory'],
  module: ['code loading', 'the host was loading or compiling GPU code on its first use'],
  copy: ['copy call', 'the host was inside a copy call'],
  profiler: ['profiler', 'the profiler itself was working between two steps'],
  device_gap: ['kernel gaps', 'the usual short gap between queued kernels'],
  dependency: ['other stream', 'queued work was waiting for work of another stream'],
  device_wait: ['late start', 'work that was launched started late'],
  collective: ['other ranks', 'the GPU was waiting for other ranks'],
  unknown: ['unknown', 'the launch of the next kernel was not recorded'],
  outside: ['outside the window', 'idle time outside the window has no cause'],
};

// "data loading" for `data`. Unknown causes keep their name.
export function causeLabel(cause) {
  return Object.hasOwn(CAUSE_NAMES, cause) ? CAUSE_NAMES[cause][0] : String(cause);
}

// Why the GPU was idle, as the end of a sentence; empty if the cause is not known here.
export function causeMeaning(cause) {
  return Object.hasOwn(CAUSE_NAMES, cause) ? CAUSE_NAMES[cause][1] : '';
}

// The name of a part of the time: of a row of page_step_parts or of the bar, where communication and copies are those
// that nothing hides; or of a category (kind `category`).
export function partLabel(part, kind) {
  if (kind === 'idle') return `idle: ${causeLabel(part)}`;
  if (kind !== 'category' && part === 'communication') return 'exposed communication';
  if (kind !== 'category' && part === 'copy') return 'exposed copies and memsets';
  return String(part);
}

// The value of the state `category` that stands for a part.
export function partKey(part, kind) {
  return kind === 'idle' ? `idle:${part}` : String(part);
}

// The same back: {part, kind: 'idle' or 'category'}.
export function readPartKey(key) {
  return key.startsWith('idle:') ? {part: key.slice(5), kind: 'idle'} : {part: key, kind: 'category'};
}
