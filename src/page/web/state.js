// What the user chose. It lives in the URL's hash, so that a link shows the same:
// #timeline&range=0-5000&kernels.sort=ns

export class State {
  constructor(hash) {
    this.listeners = [];
    this.anchor = '';
    this.values = new Map();
    this.read(hash);
  }

  read(hash) {
    this.values.clear();
    this.anchor = '';
    for (const part of hash.replace(/^#/, '').split('&')) {
      const equals = part.indexOf('=');
      if (equals < 0) this.anchor = this.anchor || decode(part);
      else this.values.set(decode(part.slice(0, equals)), decode(part.slice(equals + 1)));
    }
  }

  hash() {
    const parts = [...this.values].map(([key, value]) => `${encode(key)}=${encode(value)}`);
    if (this.anchor) parts.unshift(encode(this.anchor));
    return parts.length ? `#${parts.join('&')}` : '';
  }

  get(key) {
    return this.values.has(key) ? this.values.get(key) : null;
  }

  // A range of numbers, as [start, end], or null.
  getRange(key) {
    const match = /^(-?[\d.]+)-([\d.]+)$/.exec(this.get(key) || '');
    return match && Number(match[1]) < Number(match[2]) ? [Number(match[1]), Number(match[2])] : null;
  }

  getNumber(key) {
    const text = this.get(key);
    return text === null || text === '' || !Number.isFinite(Number(text)) ? null : Number(text);
  }

  // null removes the value. Several at once: listeners hear of them together.
  set(changes) {
    const changed = new Set();
    for (const [key, value] of Object.entries(changes)) {
      const text = value === null || value === undefined ? null : String(value);
      if (this.get(key) === text) continue;
      if (text === null) this.values.delete(key);
      else this.values.set(key, text);
      changed.add(key);
    }
    if (changed.size) this.tell(changed);
  }

  // Calls the function after one of these keys has changed.
  on(keys, action) {
    this.listeners.push({keys, action});
  }

  tell(changed) {
    for (const {keys, action} of this.listeners) {
      if (keys.some((key) => changed.has(key))) action();
    }
    if (this.onchange) this.onchange();
  }

  // Takes over another hash, as when the user goes back.
  replace(hash) {
    const before = new Map(this.values);
    this.read(hash);
    const changed = new Set();
    for (const key of new Set([...before.keys(), ...this.values.keys()])) {
      if (before.get(key) !== this.values.get(key)) changed.add(key);
    }
    if (changed.size) this.tell(changed);
  }
}

function encode(text) {
  return encodeURIComponent(text).replace(/%3A/g, ':').replace(/%2C/g, ',');
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
