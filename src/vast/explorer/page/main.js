// The page: puts its parts together, and draws when something has changed.

import { Address } from "./address.js";
import { Camera } from "./camera.js";
import { $, count } from "./dom.js";
import { DrivePanel } from "./drive.js";
import { extent, MapView } from "./map.js";
import { Model } from "./model.js";
import { arrow, drawPath, ink, ring } from "./overlay.js";
import { listen } from "./pointer.js";
import { ShowPanel } from "./show.js";
import { SlowPanel } from "./slow.js";
import { Socket } from "./socket.js";
import { StatePanel } from "./state.js";
import { Tabs } from "./tabs.js";
import { WhatIf } from "./whatif.js";

const MARK = 1.15; // size of a mark, in typical distances between states
const MARK_SHARES = [1 / 220, 1 / 38]; // at least and at most, in widths of the map

class App {
  constructor(socket, hello) {
    this.socket = socket;
    this.model = new Model(hello);
    this.camera = new Camera();
    this.maps = [];
    this.waiting = [];
    this.scheduled = false;
    this.hovered = -1;
    this.moved = false; // whether the user has moved the camera
    this.frames = 0;
    this.address = new Address(this);
    this.tabs = new Tabs(() => { this.redraw(); this.address.changed(); });
    this.show = new ShowPanel(this);
    this.state = new StatePanel(this);
    this.slow = new SlowPanel(this);
    this.whatIf = new WhatIf(this);
    this.drive = new DrivePanel(this);
    this.camera.onchange = () => { this.moved = true; this.redraw(); this.address.changed(); };
    this.#describe();
    this.showMaps();
    this.fit();
    this.show.legend();
    $("fit").onclick = () => this.fit();
    $("share").onclick = () => this.#share();
    document.addEventListener("keydown", (event) => this.#undoKeys(event));
    window.addEventListener("resize", () => { if (!this.moved) this.fit(); });
  }

  #describe() {
    const { model } = this;
    document.title = `${model.title} · VaST explorer`;
    $("title").textContent = model.title;
    $("facts").textContent = [...Object.entries(model.facts).map(([name, value]) => `${name} ${value}`), `${count(model.transitions)} transitions`].join(" · ");
    const [left, bottom, right, top] = this.box = extent(model);
    const wide = Math.max(right - left, top - bottom, 1e-9);
    const typical = Math.sqrt(Math.max((right - left) * (top - bottom), wide * wide / 50) / Math.max(1, model.n));
    model.mark = Math.min(wide * MARK_SHARES[1], Math.max(wide * MARK_SHARES[0], MARK * typical));
  }

  /** Show one map, or two side by side. */
  showMaps() {
    const two = this.whatIf.comparing;
    $("maps").classList.toggle("two", two);
    while (this.maps.length < (two ? 2 : 1)) this.#addMap();
    while (this.maps.length > (two ? 2 : 1)) this.maps.pop().element.remove();
    const { model } = this;
    this.maps[0].values = two ? () => model.kept ?? model.learned : () => model.values;
    if (two) this.maps[1].values = () => model.values;
    this.maps.forEach((map, i) => { map.overlay = (context) => this.#overlay(context, map, two && i === 0); });
    if (!this.moved) this.fit();
    this.redraw(true);
  }

  #addMap() {
    const map = new MapView($("maps"), this.model, this.camera, this.model.title);
    map.onredraw = () => this.redraw();
    map.element.dataset.tool = this.whatIf?.tool ?? "look";
    listen(this, map);
    this.maps.push(map);
  }

  fit() {
    const [map] = this.maps;
    map.resize();
    this.camera.fit(this.box, map.width, map.height);
    this.moved = false;
  }

  /** Draw with the next picture of the screen. */
  redraw(recolour = false) {
    for (const map of this.maps) {
      if (recolour) map.colours = null;
      map.dirty = true;
    }
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      for (const map of this.maps) if (map.dirty) map.draw();
      this.frames++;
      this.firstPicture ??= performance.now();
      const waiting = this.waiting;
      this.waiting = [];
      for (const then of waiting) then();
    });
  }

  /** Do something once everything is drawn. */
  afterDrawing(then) {
    this.waiting.push(then);
    this.redraw();
  }

  async select(row, byHand = false) {
    try {
      if (byHand && row >= 0 && this.tabs.current === "show") this.tabs.show("state");
      await this.state.select(row);
    } catch (error) { this.say(error.message); }
  }

  #overlay(context, map, isLeft) {
    this.whatIf.draw(context, map, isLeft);
    const { paths } = this.whatIf;
    if (paths) {
      if (isLeft || !this.whatIf.comparing) drawPath(context, map, (isLeft ? paths.kept ?? paths.learned : paths.learned).rows, ink(map.element, "learned"), 2, this.whatIf.comparing ? [] : [2, 5]);
      if (!isLeft) drawPath(context, map, paths.now.rows, ink(map.element, "now"), 2.4);
    }
    this.#drawSelected(context, map);
    if (!isLeft) {
      this.slow.draw(context, map);
      this.drive.draw(context, map);
    }
  }

  #drawSelected(context, map) {
    const { x, y } = this.model;
    const { row, told } = this.state;
    const place = (i) => map.pixel(x[i], y[i]);
    if (this.hovered >= 0 && map.cursor) ring(context, place(this.hovered), Math.max(6, map.markSize() * 0.7), ink(map.element, "ink"), 1.2);
    if (row < 0 || !Number.isFinite(x[row])) return;
    if (told && this.tabs.current === "state") {
      for (const [ends, name] of [[told.predecessors, "in"], [told.successors, "out"]]) {
        ends.rows.forEach((other) => {
          if (other === row || !Number.isFinite(x[other])) return;
          if (name === "in") arrow(context, place(other), place(row), ink(map.element, name));
          else arrow(context, place(row), place(other), ink(map.element, name), 1.8);
        });
      }
    }
    ring(context, place(row), Math.max(8, map.markSize() * 0.9), ink(map.element, "page"), 5);
    ring(context, place(row), Math.max(8, map.markSize() * 0.9), ink(map.element, "ink"), 2);
  }

  #undoKeys(event) {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.target.matches("input, select")) return;
    event.preventDefault();
    this.whatIf.ask(event.shiftKey ? "redo" : "undo");
  }

  async #share() {
    const text = this.address.shared();
    try {
      await navigator.clipboard.writeText(text);
      this.say("Copied. A colleague who explores the same run appends what follows the # to their own address.", true);
    } catch { this.say(text, true); }
  }

  /** Say something at the foot of the page; nothing: be quiet. */
  say(text, calm = false) {
    const box = $("message");
    box.textContent = text;
    box.hidden = !text;
    box.classList.toggle("calm", calm);
    clearTimeout(this.quieten);
    if (text && calm) this.quieten = setTimeout(() => this.say(""), 6000);
  }

  /** Do what the address says. */
  async restore() {
    const said = this.address.read();
    try {
      if (said.edits || said.kept) {
        await this.whatIf.ask("load", { kept: JSON.parse(said.kept ?? "[]"), edits: JSON.parse(said.edits ?? "[]") });
        await this.whatIf.settled;
      }
      this.show.restore(said);
      if (said.tab) this.tabs.show(said.tab);
      if (said.compare) this.whatIf.compare(true);
      const at = (said.at ?? "").split(",").map(Number);
      if (at.length === 3 && at.every(Number.isFinite) && at[2] > 0) {
        [this.camera.x, this.camera.y, this.camera.scale] = at;
        this.camera.onchange();
      }
      for (const [name, then] of [["state", (row) => this.select(row)], ["path", (row) => this.whatIf.path(row)]]) {
        if (!said[name]) continue;
        const row = this.model.row(said[name]);
        if (row >= 0) await then(row);
        else this.say("The address names a state that is not in this table.");
      }
    } catch (error) { this.say(`The address cannot be read: ${error.message}`); }
    this.address.quiet = false;
  }
}

async function begin() {
  const socket = new Socket(document.body.dataset.token);
  const message = $("message");
  socket.onlost = (reason) => {
    message.hidden = false;
    message.textContent = reason ? `The explorer has closed the connection: ${reason}.` : "The connection is closed: has `vast explore` ended?";
  };
  await socket.opened;
  const app = new App(socket, await socket.ask("hello"));
  await app.restore();
  window.addEventListener("hashchange", () => location.reload());
  window.explorer = app; // for the console, and for tests
  document.body.dataset.ready = "true";
}

begin().catch((error) => {
  $("message").hidden = false;
  $("message").textContent = error.message;
});
