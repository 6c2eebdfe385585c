// Slow motion: a sweep backup by backup, in the exact order of the algorithm.

import { $, count, make, plural, short } from "./dom.js";
import { arrow, ink, pointer } from "./overlay.js";

const LISTED = 12;

export class SlowPanel {
  constructor(app) {
    this.app = app;
    this.log = null;
    this.at = 0; // states popped so far
    this.timer = 0;
    $("slow-edit").onclick = () => this.open("edit");
    $("slow-nothing").onclick = () => this.open("nothing");
    $("slow-close").onclick = () => this.close();
    $("slow-on").onclick = () => { this.pause(); this.seek(this.at + 1); };
    $("slow-back").onclick = () => { this.pause(); this.seek(this.at - 1); };
    $("slow-play").onclick = () => (this.timer ? this.pause() : this.play());
    $("slow-at").oninput = () => this.seek(Number($("slow-at").value));
    for (const kind of ["csv", "npz"]) $(`export-${kind}`).onclick = () => this.#export(kind);
  }

  async open(source) {
    this.close();
    $("slow-error").textContent = "";
    try {
      if (source === "edit" && !this.app.model.edits.length && !this.app.model.queued) {
        throw new Error("There is nothing to sweep: make an edit first, or start from nothing.");
      }
      const { header, arrays } = await this.app.socket.ask("slow", { source });
      this.#use(header, arrays);
    } catch (error) { $("slow-error").textContent = error.message; }
  }

  #use(header, arrays) {
    const { model } = this.app;
    this.log = arrays;
    this.pops = arrays.pop_row.length;
    this.backups = arrays.row.length;
    model.slow = Float32Array.from(arrays.values);
    this.start = arrays.values;
    this.at = 0;
    this.whole = header.whole;
    this.most = header.most;
    $("slow").hidden = false;
    $("slow-at").max = this.pops;
    this.#saySequences(header.sequences);
    this.app.show.legend();
    this.seek(0);
  }

  /** Say which part of the backups runs in the order of behaviour, and which against it. */
  #saySequences(s) {
    const share = (v) => (v === null ? "–" : `${Math.round(100 * v)} %`);
    $("slow-sequences").replaceChildren(...["reverse", "forward"].map((way) => make("tr", {},
      make("td", { textContent: way }),
      make("td", { className: "number", textContent: share(s[`${way}_share`]) }),
      make("td", { className: "number", textContent: share(s[`${way}_share_by_chance`]) }),
      make("td", { className: "number", textContent: count(s[`${way}_sequences`]) }),
      make("td", { className: "number", textContent: count(s[`longest_${way}`]) }))));
  }

  /** Return the first backup after this many pops. */
  #first(pops) { return pops < this.pops ? this.log.pop_first[pops] : this.backups; }

  /** Show the values after this many states were popped. */
  seek(to) {
    if (!this.log) return;
    const at = Math.max(0, Math.min(this.pops, to));
    const { row, value } = this.log;
    const { slow } = this.app.model;
    let from = this.#first(this.at);
    if (at < this.at) { slow.set(this.start); from = 0; }
    const end = this.#first(at);
    for (let i = from; i < end; i++) if (row[i] >= 0) slow[row[i]] = value[i];
    this.at = at;
    $("slow-at").value = at;
    if (this.app.model.filters.value) this.app.model.filter();
    this.#say();
    this.app.redraw(true);
  }

  #say() {
    const { log, at } = this;
    const { model } = this.app;
    const tail = this.whole ? "" : `; the log ends after ${count(this.most)} backups`;
    const body = $("slow-table").tBodies[0];
    body.replaceChildren();
    $("slow-more").textContent = "";
    if (!at) {
      $("slow-said").textContent = `${plural(this.pops, "state")} will be popped, with ${plural(this.backups, "backup")}${tail}.`;
      return;
    }
    const [first, end] = [this.#first(at - 1), this.#first(at)];
    $("slow-said").textContent = `Pop ${count(at)} of ${count(this.pops)}: priority |U − V| = ${short(log.pop_priority[at - 1])}, ${plural(end - first, "predecessor")} updated. ${count(end)} of ${plural(this.backups, "backup")}${tail}.`;
    $("slow-said").dataset.pop = at;
    for (let i = first; i < Math.min(end, first + LISTED); i++) {
      const link = make("button", { type: "button", className: "link", textContent: log.row[i] >= 0 ? model.key(log.row[i]).slice(-8) : "not on the map" });
      link.onclick = () => this.app.select(log.row[i]);
      body.append(make("tr", {}, make("td", { className: "mono" }, link), make("td", { textContent: model.actions[log.action[i]] }),
        make("td", { className: "number", textContent: (log.q_change[i] > 0 ? "+" : "") + short(log.q_change[i]) }), make("td", { className: "number", textContent: short(log.value[i]) })));
    }
    if (end - first > LISTED) $("slow-more").textContent = `and ${count(end - first - LISTED)} more`;
  }

  /** Play; at most speed 12, four thousand states per second. */
  play() {
    if (!this.log) return;
    if (this.at >= this.pops) this.seek(0);
    $("slow-play").textContent = "Pause";
    let last = performance.now(), due = 0;
    const tick = (now) => {
      due += (now - last) / 1000 * 2 ** Number($("slow-speed").value);
      last = now;
      const steps = Math.floor(due);
      due -= steps;
      if (steps) this.seek(this.at + steps);
      if (this.at >= this.pops) this.pause();
      else this.timer = requestAnimationFrame(tick);
    };
    this.timer = requestAnimationFrame(tick);
  }

  pause() {
    cancelAnimationFrame(this.timer);
    this.timer = 0;
    $("slow-play").textContent = "Play";
  }

  close() {
    if (!this.log) return;
    this.pause();
    this.log = null;
    this.app.model.slow = null;
    $("slow").hidden = true;
    this.app.show.legend();
    this.app.redraw(true);
  }

  async #export(kind) {
    try {
      const { header, arrays } = await this.app.socket.ask("export", { kind });
      const url = URL.createObjectURL(new Blob([arrays.file]));
      make("a", { href: url, download: header.name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (error) { $("slow-error").textContent = error.message; }
  }

  /** Draw the popped state and arrows to those that it updates. */
  draw(context, map) {
    const { log, at } = this;
    if (!log || !at) return;
    const { x, y, heading } = map.model;
    const popped = log.pop_row[at - 1];
    if (popped < 0) return;
    const place = map.pixel(x[popped], y[popped]);
    const colour = ink(map.element, "pop");
    for (let i = this.#first(at - 1); i < this.#first(at); i++) {
      const row = log.row[i];
      if (row >= 0) arrow(context, place, map.pixel(x[row], y[row]), colour, 1.6);
    }
    pointer(context, place, heading[popped], Math.max(16, 1.6 * map.markSize()), colour, ink(map.element, "page"));
  }
}
