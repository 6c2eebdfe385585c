// What if: tools on the map, the list of edits, paths, two what-ifs side by side, save as.

import { $, count, make, short } from "./dom.js";
import { arrow, drawEdit, ink, line, ring } from "./overlay.js";

const ENDS = { terminal: "where the episode ends", loop: "then round in a circle", open: "where nothing more is known" };
const rounded = ([x, y]) => [Number(x.toPrecision(6)), Number(y.toPrecision(6))];

export class WhatIf {
  constructor(app) {
    this.app = app;
    this.tool = "look";
    this.stroke = null; // the points of the line that is being drawn
    this.pathFrom = -1;
    this.paths = null;
    this.comparing = false;
    this.settled = Promise.resolve();
    const { model, socket } = app;
    for (const button of document.querySelectorAll("[data-tool]")) button.onclick = () => this.choose(button.dataset.tool);
    model.actions.forEach((name, i) => $("shortcut-action").append(make("option", { value: i, textContent: name })));
    $("discount").value = model.discount;
    for (const what of ["undo", "redo", "reset"]) $(what).onclick = () => this.ask(what);
    $("reverse").onclick = () => this.edit({ do: "reverse" });
    $("set-discount").onclick = () => this.edit({ do: "discount", discount: Number($("discount").value) });
    $("radius").oninput = () => app.redraw();
    $("visible").onchange = () => socket.ask("pace", { visible: $("visible").checked });
    $("path").onclick = () => this.path(app.state.row);
    $("clear-path").onclick = () => this.path(-1);
    $("compare").onclick = () => this.compare(!this.comparing);
    $("keep").onclick = () => this.ask("keep");
    $("save").onsubmit = (event) => { event.preventDefault(); this.#save(); };
    socket.onpush = (message) => this.#values(message);
    this.#sayCompared();
  }

  choose(tool) {
    this.tool = tool;
    this.stroke = null;
    for (const button of document.querySelectorAll("[data-tool]")) button.setAttribute("aria-pressed", button.dataset.tool === tool);
    for (const map of this.app.maps) map.element.dataset.tool = tool;
    if (tool !== "look") this.app.tabs.show("whatif");
    this.app.redraw();
  }

  // --- edits ---------------------------------------------------------------------------------------

  /** The radius of the brush on the map, from CSS pixels. */
  get radius() { return Number($("radius").value) / this.app.camera.scale; }

  /** Make an edit of the points drawn with the current tool, and do it. */
  async finish(points) {
    const radius = Number(this.radius.toPrecision(6));
    const [start, end] = [points[0], points[points.length - 1]];
    switch (this.tool) {
      case "reward":
      case "penalty":
        return this.edit({ do: "paint", points: thinned(points, radius / 3), radius, reward: Number($(`${this.tool}-size`).value), ends: $("ends").checked });
      case "block": return this.edit({ do: "block", start, end });
      case "shortcut": return this.edit({ do: "shortcut", start, end, radius, action: Number($("shortcut-action").value) });
      default: return undefined;
    }
  }

  edit(edit) { return this.ask("edit", { edit }); }

  /** Ask for a change; values follow, slice by slice, until nothing changes any more. */
  async ask(what, fields = {}) {
    const { app } = this;
    app.slow.close();
    this.settled = new Promise((resolve) => { this.whenSettled = resolve; });
    try {
      const { header, arrays } = await app.socket.ask(what, fields);
      if (arrays.x) app.model.grow(arrays);
      if (arrays.kept) app.model.kept = arrays.kept.slice();
      app.model.edits = header.edits;
      app.model.keptEdits = header.kept_edits;
      app.model.undone = header.undone;
      $("discount").value = header.discount;
      this.began = performance.now();
      this.#list();
      this.#sayCompared();
      app.show.legend();
      app.redraw(true);
      app.address.changed();
      app.say("");
    } catch (error) {
      this.whenSettled();
      app.say(error.message);
    }
  }

  /** Put new values on the map, and tell the server when they are on the screen. */
  #values({ header, arrays }) {
    const { app } = this;
    const { now } = app.model;
    const { rows, value } = arrays;
    for (let i = 0; i < rows.length; i++) now[rows[i]] = value[i];
    if (app.model.filters.value) app.model.filter();
    if (header.settled) { app.model.fitScale(); app.show.legend(); }
    const ms = header.seconds * 1000;
    $("counter").textContent = app.model.edits.length || header.backups ? `${count(header.backups)} backups in ${ms < 10 ? Number(ms.toPrecision(2)) : Math.round(ms)} ms${header.settled ? "" : ` · ${count(header.queued)} queued`}` : "";
    $("counter").dataset.backups = header.backups;
    $("counter").dataset.settled = header.settled;
    app.redraw(true);
    app.afterDrawing(() => {
      app.socket.tell("drawn");
      if (!header.settled) return;
      app.state.refresh();
      if (this.pathFrom >= 0) this.path(this.pathFrom);
      this.whenSettled?.();
    });
  }

  #list() {
    const { model } = this.app;
    const list = model.edits.map((edit) => make("li", { textContent: this.#words(edit) }));
    $("edits").replaceChildren(...list);
    $("no-edits").hidden = list.length > 0;
    $("undo").disabled = !list.length;
    $("reset").disabled = !list.length;
    $("redo").disabled = !model.undone;
  }

  #words(edit) {
    switch (edit.do) {
      case "paint": return `${edit.reward >= 0 ? "reward" : "penalty"} of ${short(edit.reward)}${edit.ends ? ", which ends the episode" : " for every step there"}`;
      case "block": return "a wall that nothing crosses";
      case "shortcut": return `a shortcut by ${this.app.model.actions[edit.action]}`;
      case "reverse": return "all rewards reversed";
      case "discount": return `discount γ = ${edit.discount}`;
      default: return `the forced run ${edit.name}`;
    }
  }

  // --- paths and comparisons -----------------------------------------------------------------------

  async path(row) {
    this.pathFrom = row;
    $("clear-path").hidden = row < 0;
    $("path-said").textContent = "";
    this.paths = null;
    if (row >= 0) {
      const { header } = await this.app.socket.ask("path", { row });
      if (this.pathFrom !== row) return;
      this.paths = header;
      const words = ({ rows, end }) => `${count(rows.length - 1)} steps, ${ENDS[end]}`;
      const kept = header.kept ? ` Kept: ${words(header.kept)}.` : "";
      const same = JSON.stringify(header.learned) === JSON.stringify(header.now);
      $("path-said").textContent = same ? `${words(header.now)}; before and after alike.` : `As learned: ${words(header.learned)}. Now: ${words(header.now)}.${kept}`;
      $("path-said").dataset.now = header.now.rows.length - 1;
    } else if (this.app.state.row < 0) $("path-said").textContent = "Select a state first.";
    this.app.redraw();
    this.app.address.changed();
  }

  compare(on) {
    this.comparing = on;
    $("compare").setAttribute("aria-pressed", on);
    this.app.showMaps();
    this.#sayCompared();
    this.app.address.changed();
  }

  #sayCompared() {
    const { model } = this.app;
    const kept = model.kept ? `the what-if you kept (${count(model.keptEdits.length)} edits)` : "as learned";
    $("compare-said").textContent = `Left: ${kept}. Right: after the edits.`;
    const [left, right] = this.app.maps;
    if (left) left.caption.textContent = this.comparing ? (model.kept ? "kept" : "as learned") : "";
    if (right) right.caption.textContent = "after the edits";
  }

  async #save() {
    try {
      const { header } = await this.app.socket.ask("save", { name: $("save-name").value });
      $("saved").textContent = `Written: ${header.path}`;
    } catch (error) { $("saved").textContent = error.message; }
  }

  // --- drawing -------------------------------------------------------------------------------------

  /** Draw edits, or those of the kept what-if, and the line that is being drawn. */
  draw(context, map, isLeft) {
    const { model } = this.app;
    for (const edit of isLeft ? model.keptEdits : model.edits) drawEdit(context, map, edit);
    const { stroke, tool } = this;
    const pixels = Number($("radius").value);
    const colour = ink(map.element, tool);
    if (stroke) {
      const points = stroke.map(([x, y]) => map.pixel(x, y));
      const [start, end] = [points[0], points[points.length - 1]];
      context.globalAlpha = 0.4;
      if (tool === "reward" || tool === "penalty") line(context, points.length > 1 ? points : [start, [start[0] + 0.1, start[1]]], colour, 2 * pixels);
      context.globalAlpha = 1;
      if (tool === "block") line(context, [start, end], colour, 4);
      if (tool === "shortcut") arrow(context, start, end, colour, 2.6, 0.08);
    }
    if (tool !== "look" && tool !== "block" && map.cursor) ring(context, map.cursor, pixels, colour, 1.2);
  }
}

/** Leave out points that are close to each other. */
function thinned(points, least) {
  const kept = [points[0]];
  for (const point of points.slice(1)) {
    const [x, y] = kept[kept.length - 1];
    if (Math.hypot(point[0] - x, point[1] - y) >= least) kept.push(point);
  }
  return kept.map(rounded);
}
