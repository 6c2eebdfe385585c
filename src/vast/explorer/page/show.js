// Which states are shown, and in what colour.

import { drawBar } from "./colours.js";
import { $, count, plural, short } from "./dom.js";

export class ShowPanel {
  constructor(app) {
    this.app = app;
    const { model } = app;
    $("colour-bit").max = model.n_bits - 1;
    $("bit").max = 63;
    $("colour").onchange = () => this.#recolour();
    $("colour-bit").oninput = () => this.#recolour();
    for (const input of document.querySelectorAll("#filters input, #filters select")) input.oninput = () => this.#refilter();
    $("clear-filters").onclick = () => {
      for (const input of document.querySelectorAll("#filters input")) input.value = "";
      this.#refilter();
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.redraw(true));
  }

  #recolour() {
    const { model } = this.app;
    model.colourBy = $("colour").value;
    model.colourBit = Math.min(63, Math.max(0, Math.floor(Number($("colour-bit").value) || 0)));
    $("which-bit").hidden = model.colourBy !== "bit";
    this.legend();
    this.app.redraw(true);
    this.app.address.changed();
  }

  #refilter() {
    const { model } = this.app;
    const read = (id) => ($(id).value === "" ? NaN : Number($(id).value));
    const filters = {};
    for (const name of ["visits", "value", "age"]) {
      const range = [read(`${name}-low`), read(`${name}-high`)];
      if (range.some(Number.isFinite)) filters[name] = range;
    }
    const bit = read("bit");
    if (Number.isFinite(bit)) filters.bit = [Math.min(63, Math.max(0, Math.floor(bit))), Number($("bit-is").value)];
    model.filters = filters;
    model.filter();
    this.legend();
    this.app.redraw();
    this.app.address.changed();
  }

  /** Set everything as an address says. */
  restore(said) {
    if (said.colour) {
      const bit = /^bit(\d+)$/.exec(said.colour);
      $("colour").value = bit ? "bit" : said.colour;
      if (bit) $("colour-bit").value = bit[1];
      if (!$("colour").value) $("colour").value = "value";
      this.#recolour();
    }
    for (const name of ["visits", "value", "age"]) {
      if (said[name]) [$(`${name}-low`).value, $(`${name}-high`).value] = said[name].split(",");
    }
    if (said.bit) [$("bit").value, $("bit-is").value] = said.bit.split(",");
    this.#refilter();
  }

  /** Draw the legend, and say how many states are on the map. */
  legend() {
    const { model } = this.app;
    const { name, low, high, colours } = model.legend();
    $("legend-name").textContent = name;
    drawBar($("bar"), colours);
    $("low").textContent = short(low);
    $("high").textContent = short(high);
    const unknown = ["value", "change"].includes(model.colourBy) && model.values.some(Number.isNaN);
    $("legend-unknown").hidden = !unknown;
    const placed = model.n - model.unplaced;
    const all = model.count === placed ? plural(placed, "state") : `${count(model.count)} of ${plural(placed, "state")}`;
    $("shown").textContent = all + (model.unplaced ? `; ${count(model.unplaced)} without a place: none of their frames is stored any more` : "");
    if (!model.measured) $("shown").textContent += ", placed by the steps between them";
    $("shown").dataset.count = model.count;
  }
}
