// What the page knows: places, values and edits of the states, which of them are shown, in what colour.

import { SCALES, UNKNOWN, range } from "./colours.js";

const ARRAYS = ["x", "y", "heading", "low", "high", "visits", "age"];

const joined = (a, b) => {
  const made = new a.constructor(a.length + b.length);
  made.set(a);
  made.set(b, a.length);
  return made;
};

export class Model {
  constructor({ header, arrays }) {
    Object.assign(this, header);
    for (const name of ARRAYS) this[name] = arrays[name];
    this.n = this.x.length;
    this.first = this.n; // states from here on were added in this session
    this.learned = arrays.value;
    this.now = arrays.value.slice();
    this.kept = null; // the values of the what-if that was kept to compare with
    this.slow = null; // the values shown in slow motion
    this.edits = [];
    this.keptEdits = [];
    this.undone = 0;
    this.colourBy = "value";
    this.colourBit = 0;
    this.filters = {};
    this.scale = range(this.learned);
    this.filter();
    let placed = 0;
    for (let i = 0; i < this.n; i++) placed += Number.isFinite(this.x[i]);
    this.unplaced = this.n - placed;
  }

  /** The values on the main map. */
  get values() { return this.slow ?? this.now; }

  /** Add states that the server has told of. */
  grow(arrays) {
    for (const name of ["x", "y", "heading", "low", "high"]) this[name] = joined(this[name], arrays[name]);
    const more = arrays.x.length;
    this.visits = joined(this.visits, new Uint32Array(more));
    this.age = joined(this.age, new Int32Array(more).fill(-1));
    const unknown = new Float32Array(more).fill(NaN);
    this.learned = joined(this.learned, unknown);
    this.now = joined(this.now, unknown);
    if (this.kept) this.kept = joined(this.kept, unknown);
    this.n += more;
    this.filter();
  }

  bitOf(i, bit) { return bit < 32 ? (this.low[i] >>> bit) & 1 : (this.high[i] >>> (bit - 32)) & 1; }

  key(i) { return this.high[i].toString(16).padStart(8, "0") + this.low[i].toString(16).padStart(8, "0"); }

  row(key) {
    if (!/^[0-9a-f]{16}$/.test(key)) return -1;
    const high = parseInt(key.slice(0, 8), 16), low = parseInt(key.slice(8), 16);
    for (let i = 0; i < this.n; i++) if (this.low[i] === low && this.high[i] === high) return i;
    return -1;
  }

  /** Find out which states are shown: all that pass the filters and have a place. */
  filter() {
    const { visits, age, filters } = this;
    const values = this.values;
    const within = (value, [low, high]) => !(value < low) && !(value > high);
    const shown = new Uint8Array(this.n);
    let count = 0;
    for (let i = 0; i < this.n; i++) {
      const passes = Number.isFinite(this.x[i])
        && (!filters.visits || within(visits[i], filters.visits))
        && (!filters.value || (values[i] === values[i] && within(values[i], filters.value)))
        && (!filters.age || (age[i] >= 0 && within(age[i], filters.age)))
        && (!filters.bit || this.bitOf(i, filters.bit[0]) === filters.bit[1]);
      shown[i] = passes;
      count += passes;
    }
    this.shown = shown;
    this.count = count;
  }

  /** Fit the colour scale to the values as learned, now, and kept. */
  fitScale() {
    this.scale = range(this.learned);
    for (const values of [this.now, this.kept]) {
      if (!values) continue;
      const [low, high] = range(values);
      this.scale = [Math.min(this.scale[0], low), Math.max(this.scale[1], high)];
    }
  }

  /** Return the name, the ends and the colours of the legend. */
  legend() {
    const colours = SCALES[this.colourBy];
    switch (this.colourBy) {
      case "change": {
        const most = this.mostChange();
        return { name: "change of V(s)", low: -most, high: most, colours };
      }
      case "visits": return { name: "visits, log scale", low: 0, high: Math.max(1, this.#most(this.visits)), colours };
      case "age": return { name: "frames since the last visit", low: 0, high: Math.max(1, this.#most(this.age)), colours };
      case "bit": return { name: `bit ${this.colourBit}`, low: 0, high: 1, colours };
      default: return { name: "value V(s)", low: this.scale[0], high: this.scale[1], colours };
    }
  }

  mostChange() {
    let most = 0;
    const { values, learned } = this;
    for (let i = 0; i < this.n; i++) {
      const change = Math.abs(values[i] - learned[i]);
      if (change > most) most = change;
    }
    return most || 1;
  }

  #most(numbers) {
    let most = 0;
    for (const each of numbers) if (each > most) most = each;
    return most;
  }

  /** Return the colour of every state for some values. */
  colours(values) {
    const { low, high, colours } = this.legend();
    const made = new Uint32Array(this.n);
    const last = colours.length - 1;
    const factor = last / (high - low);
    const { colourBy, learned, visits, age } = this;
    const logs = last / Math.log1p(high);
    for (let i = 0; i < this.n; i++) {
      let at;
      if (colourBy === "value") at = (values[i] - low) * factor;
      else if (colourBy === "change") at = (values[i] - (learned[i] === learned[i] ? learned[i] : 0) - low) * factor;
      else if (colourBy === "visits") at = Math.log1p(visits[i]) * logs;
      else if (colourBy === "age") at = age[i] < 0 ? NaN : age[i] * factor;
      else at = this.bitOf(i, this.colourBit);
      made[i] = at === at ? colours[at < 0 ? 0 : at > last ? last : (at + 0.5) | 0] : UNKNOWN;
    }
    return made;
  }
}
