// What a section gets: the front, the tables of each source, and the state.

import {State} from './state.js';
import {workOf} from './work.js';

// The tables of one trace or report.
class Source {
  constructor(label) {
    this.label = label;
    this.tables = new Map();
  }

  // Whether there is a table of this name with rows.
  has(name) {
    return this.tables.has(name) && this.tables.get(name).rows > 0;
  }

  table(name) {
    return this.tables.get(name) || null;
  }

  // A number of page_facts, or null.
  fact(name) {
    const facts = this.table('page_facts');
    const row = facts ? facts.find('name', name) : -1;
    return row < 0 ? null : facts.get('value', row);
  }
}

export class Page {
  constructor(front, hash) {
    this.front = {...front, answers: front.answers || {}, facts: front.facts || {}, sources: front.sources || []};
    this.state = new State(hash);
    this.sources = this.front.sources.map((label) => new Source(label));
    this.hasTables = false;
    this.waiting = [];
    this.lastWork = [];
  }

  source(index) {
    return this.sources[index];
  }

  addTables(tables) {
    for (const {source, table} of tables) this.sources[source].tables.set(table.name, table);
    this.hasTables = true;
    for (const action of this.waiting) action();
  }

  // Calls the function when the tables are there. Sections of the first screen are built before.
  onTables(action) {
    if (this.hasTables) action();
    else this.waiting.push(action);
  }

  // The chosen range in the time of a source. Two traces are shown with their windows beginning at the same place, and
  // the range is in the time of the first.
  rangeOf(index) {
    const range = this.state.getRange('range');
    if (!range || index === 0) return range;
    const shift = this.source(index).fact('window_start') - this.source(0).fact('window_start');
    return range.map((ns) => ns + (shift || 0));
  }

  // GPU work of a source in the chosen range (work.js); null if the source has none. Several sections ask for the same.
  work(index = 0) {
    const range = this.rangeOf(index);
    const last = this.lastWork[index];
    if (last && String(last.range) === String(range)) return last.work;
    const work = workOf(this.source(index), range);
    if (this.hasTables) this.lastWork[index] = {range, work};
    return work;
  }
}
