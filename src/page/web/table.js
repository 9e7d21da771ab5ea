// A table of a pack. Columns are decoded when they are first asked for.

const textDecoder = new TextDecoder();
const NOT_ASCII = /[^\0-\x7f]/;

// Numbers of `width` bytes in planes: first the lowest byte of all, then the next. Up to 2^53.
function readPlanes(bytes, {at, width}, count) {
  const numbers = new Float64Array(count);
  for (let plane = 0, scale = 1; plane < width; plane++, scale *= 256) {
    for (let i = 0, from = at + plane * count; i < count; i++) numbers[i] += bytes[from + i] * scale;
  }
  return numbers;
}

// Whole numbers of 31 bits are much faster than others.
function unzigzag(value) {
  if (value < 0x80000000) return (value >>> 1) ^ -(value & 1);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

function decodeIntegers(codes, isDelta) {
  let last = 0;
  for (let row = 0; row < codes.length; row++) {
    if (codes[row] === 0) {
      codes[row] = NaN;
      continue;
    }
    codes[row] = unzigzag(codes[row] - 1) + (isDelta ? last : 0);
    last = codes[row];
  }
  return codes;
}

function decodeFloats(bytes, {at}, rows) {
  const whole = new Uint8Array(rows * 8);
  for (let plane = 0; plane < 8; plane++) {
    for (let row = 0, from = at + plane * rows; row < rows; row++) whole[row * 8 + plane] = bytes[from + row];
  }
  return new Float64Array(whole.buffer);
}

// The strings of a pack. All are decoded at once as one-byte characters, which is ten times as fast as one by one;
// those that are not ASCII are decoded again when they are asked for.
export class Strings {
  constructor(bytes, place) {
    const lengths = readPlanes(bytes, place, place.count);
    const first = place.at + place.width * place.count;
    this.starts = new Float64Array(place.count + 1);
    for (let i = 0; i < place.count; i++) this.starts[i + 1] = this.starts[i] + lengths[i];
    this.bytes = bytes.subarray(first, first + this.starts[place.count]);
    this.whole = null;
    this.texts = new Array(place.count);
  }

  get(index) {
    if (this.texts[index] === undefined) this.texts[index] = this.decode(this.starts[index], this.starts[index + 1]);
    return this.texts[index];
  }

  decode(begin, end) {
    if (this.whole === null) this.whole = new TextDecoder('latin1').decode(this.bytes);
    const text = this.whole.slice(begin, end);
    return NOT_ASCII.test(text) ? textDecoder.decode(this.bytes.subarray(begin, end)) : text;
  }
}

export class Table {
  constructor(bytes, strings, directory) {
    this.name = directory.name;
    this.rows = directory.rows;
    this.columnNames = directory.columns.map((column) => column.name);
    this.bytes = bytes;
    this.strings = strings;
    this.directory = new Map(directory.columns.map((column) => [column.name, column]));
    this.decoded = new Map();
  }

  has(name) {
    return this.directory.has(name);
  }

  isNumeric(name) {
    return 'udf'.includes(this.directory.get(name).code);
  }

  // Numbers as a Float64Array, where NaN is null. Strings and booleans as an array with null.
  column(name) {
    if (!this.decoded.has(name)) this.decoded.set(name, this.decode(this.directory.get(name)));
    return this.decoded.get(name);
  }

  // A column of strings as an Int32Array of indexes for `text`, -1 for null: for columns with very many rows.
  codes(name) {
    const numbers = readPlanes(this.bytes, this.directory.get(name), this.rows);
    const codes = new Int32Array(this.rows);
    for (let row = 0; row < this.rows; row++) codes[row] = numbers[row] - 1;
    return codes;
  }

  text(code) {
    return code < 0 ? null : this.strings.get(code);
  }

  // One cell: number, string, boolean, array, or null.
  get(name, row) {
    const value = this.column(name)[row];
    return Number.isNaN(value) ? null : value;
  }

  // The first row with this value, or -1.
  find(name, value) {
    return this.column(name).indexOf(value);
  }

  decode(column) {
    return this.decodeCells(column, this.rows);
  }

  decodeCells(column, rows) {
    const {bytes} = this;
    switch (column.code) {
    case 'u': return decodeIntegers(readPlanes(bytes, column, rows), false);
    case 'd': return decodeIntegers(readPlanes(bytes, column, rows), true);
    case 'f': return decodeFloats(bytes, column, rows);
    case 't': return this.decodeTexts(column, rows);
    case 'b': return Array.from(bytes.subarray(column.at, column.at + rows), (byte) => [false, true, null][byte]);
    case 'l': return this.decodeLists(column, rows);
    default: throw new Error(`unknown code ${column.code} of column ${column.name}`);
    }
  }

  decodeTexts(column, rows) {
    const codes = readPlanes(this.bytes, column, rows);
    const texts = new Array(rows);
    for (let row = 0; row < rows; row++) texts[row] = this.text(codes[row] - 1);
    return texts;
  }

  decodeLists(column, rows) {
    const lengths = Array.from(readPlanes(this.bytes, column, rows));
    const total = lengths.reduce((sum, code) => sum + Math.max(0, code - 1), 0);
    const items = this.decodeCells(column.items, total);
    let at = 0;
    return lengths.map((code) => {
      if (code === 0) return null;
      const begin = at;
      at += code - 1;
      return Array.from(items.slice(begin, at), (item) => (Number.isNaN(item) ? null : item));
    });
  }
}
