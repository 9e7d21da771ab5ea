// GPU work by kernel, and by op with its shapes: the rows of the tables, of one source.

// Adds up numbers by key, and remembers which part of each sum is largest.
class Largest {
  constructor() {
    this.sums = new Map();
  }

  add(key, amount) {
    this.sums.set(key, (this.sums.get(key) || 0) + amount);
  }

  // Keys with their sums, largest first.
  sorted() {
    return [...this.sums].sort((a, b) => b[1] - a[1]);
  }

  key() {
    let best = null;
    for (const entry of this.sums) if (!best || entry[1] > best[1]) best = entry;
    return best ? best[0] : null;
  }
}

class WorkGroup {
  constructor(id) {
    this.id = id;
    this.ns = 0;
    this.count = 0; // kernels, copies and memsets
    this.opCalls = 0;
    this.calls = new Largest(); // rows of page_calls (NaN: unknown)
    this.kernels = new Largest(); // rows of page_kernels
  }

  add(call, kernel, {count, calls, ns}) {
    this.ns += ns;
    this.count += count;
    this.opCalls += calls;
    this.calls.add(call, ns);
    this.kernels.add(kernel, ns);
  }
}

function groupWork(work, keyOf) {
  const groups = new Map();
  for (let i = 0; i < work.ns.length; i++) {
    const key = keyOf(work.call[i], work.kernel[i]);
    if (key === null) continue;
    if (!groups.has(key)) groups.set(key, new WorkGroup(key));
    groups.get(key).add(work.call[i], work.kernel[i], {count: work.count[i], calls: work.calls[i], ns: work.ns[i]});
  }
  return [...groups.values()];
}

// One group per row of page_kernels that has time; its id is that row.
export function groupByKernel(work) {
  return groupWork(work, (call, kernel) => kernel);
}

// Rows of page_calls with the same op and shapes belong together; the id is the first of them.
export function opIds(calls) {
  const [ops, shapes] = [calls.column('op'), calls.column('shapes')];
  const firsts = new Map();
  return Array.from({length: calls.rows}, (_, row) => {
    if (ops[row] === null) return null;
    const key = `${ops[row]}\u0000${shapes[row] ?? ''}`;
    if (!firsts.has(key)) firsts.set(key, row);
    return firsts.get(key);
  });
}

// Work of no op is in none of them.
export function groupByOp(work, ids) {
  return groupWork(work, (call) => (Number.isNaN(call) ? null : ids[call]));
}

// The names of the modules above a call, outermost first.
export function modulePath(source, call) {
  const nodes = source.table('page_nodes');
  const names = [];
  let node = nodes && call !== null && !Number.isNaN(call) ? source.table('page_calls').get('node', call) : null;
  while (node !== null && names.length < 100) {
    if (nodes.get('kind', node) === 'module') names.unshift(nodes.get('name', node));
    node = nodes.get('parent', node);
  }
  return names.length ? names.join(' › ') : null;
}
