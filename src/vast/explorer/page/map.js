// One map: zones below, marks drawn pixel by pixel, and walls, arrows and paths above them.

import { Marks } from "./marks.js";

const NEAR = 14; // CSS pixels within which a state is hit

export class MapView {
  constructor(parent, model, camera, label) {
    this.model = model;
    this.camera = camera;
    this.element = document.createElement("div");
    this.element.className = "map";
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "application");
    this.element.setAttribute("aria-label", `Map of the states: ${label}`);
    this.floor = this.#layer();
    this.marks = new Marks(this.#layer());
    this.above = this.#layer();
    this.caption = document.createElement("span");
    this.caption.className = "caption";
    this.element.append(this.caption);
    parent.append(this.element);
    this.values = () => model.values;
    this.overlay = () => {};
    this.dirty = true;
    this.colours = null;
    new ResizeObserver(() => this.resize()).observe(this.element);
    this.resize();
  }

  #layer() {
    const canvas = document.createElement("canvas");
    this.element.append(canvas);
    return canvas;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    [this.width, this.height] = [width, height];
    const [w, h] = [Math.round(width * this.ratio), Math.round(height * this.ratio)];
    if (!w || !h) return;
    for (const canvas of [this.floor, this.above]) [canvas.width, canvas.height] = [w, h];
    this.marks.resize(w, h);
    this.redraw(true);
  }

  /** Draw again with the next picture of the screen; `recolour` if values or colours changed. */
  redraw(recolour = false) {
    if (recolour) this.colours = null;
    this.dirty = true;
    this.onredraw?.();
  }

  /** Return device pixels of the camera. */
  #projection() {
    const { camera, ratio } = this;
    const scale = camera.scale * ratio;
    return { scale, left: (this.width / 2) * ratio - camera.x * scale, top: (this.height / 2) * ratio + camera.y * scale };
  }

  /** Return the place on the map of a point in CSS pixels from the corner. */
  place(px, py) {
    return [this.camera.x + (px - this.width / 2) / this.camera.scale, this.camera.y - (py - this.height / 2) / this.camera.scale];
  }

  /** Return where a place is, in CSS pixels from the corner. */
  pixel(x, y) {
    return [this.width / 2 + (x - this.camera.x) * this.camera.scale, this.height / 2 - (y - this.camera.y) * this.camera.scale];
  }

  /** Return the state nearest to a point in CSS pixels, -1 if none is near. */
  hit(px, py, near = NEAR) {
    const [wx, wy] = this.place(px, py);
    const { x, y, heading, shown, n } = this.model;
    const ahead = (this.markSize() * 0.2) / this.camera.scale;
    let best = -1, least = (near / this.camera.scale) ** 2;
    for (let i = 0; i < n; i++) {
      if (!shown[i]) continue;
      let dx = x[i] - wx, dy = y[i] - wy;
      const h = heading[i];
      // States at one place differ in their headings: their marks point apart.
      if (h === h) { dx += ahead * Math.cos(h * Math.PI / 180); dy += ahead * Math.sin(h * Math.PI / 180); }
      const far = dx * dx + dy * dy;
      if (far < least) { least = far; best = i; }
    }
    return best;
  }

  /** Return the size of a mark in CSS pixels. */
  markSize() {
    return Math.min(18, Math.max(2.5, this.model.mark * this.camera.scale));
  }

  draw() {
    this.dirty = false;
    if (!this.width || !this.height) return;
    this.colours ??= this.model.colours(this.values());
    const projection = this.#projection();
    this.#drawFloor(projection);
    this.marks.draw(this.model, this.model.shown, this.colours, projection, this.markSize() * this.ratio);
    const context = this.above.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.above.width, this.above.height);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.#drawWalls(context);
    this.overlay(context, this);
  }

  #drawFloor({ scale, left, top }) {
    const context = this.floor.getContext("2d");
    context.clearRect(0, 0, this.floor.width, this.floor.height);
    for (const [kind, x0, y0, x1, y1] of this.model.zones) {
      context.fillStyle = getComputedStyle(this.element).getPropertyValue(`--zone-${kind}`) || "transparent";
      context.fillRect(x0 * scale + left, top - y1 * scale, (x1 - x0) * scale, (y1 - y0) * scale);
    }
  }

  #drawWalls(context) {
    const ink = getComputedStyle(this.element).getPropertyValue("--wall");
    for (const [lines, dash, width] of [[this.model.walls, [], 1.6], [this.model.unseen, [3, 3], 1.2]]) {
      if (!lines.length) continue;
      context.beginPath();
      for (const [x0, y0, x1, y1] of lines) {
        context.moveTo(...this.pixel(x0, y0));
        context.lineTo(...this.pixel(x1, y1));
      }
      context.setLineDash(dash);
      context.lineWidth = width;
      context.lineCap = "round";
      context.strokeStyle = ink;
      context.stroke();
    }
    context.setLineDash([]);
  }
}

/** Return the box around all places and walls. */
export function extent(model) {
  let [left, bottom, right, top] = [Infinity, Infinity, -Infinity, -Infinity];
  const add = (x, y) => {
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < bottom) bottom = y;
    if (y > top) top = y;
  };
  for (let i = 0; i < model.n; i++) add(model.x[i], model.y[i]);
  for (const [x0, y0, x1, y1] of [...model.walls, ...model.unseen]) { add(x0, y0); add(x1, y1); }
  return left <= right ? [left, bottom, right, top] : [0, 0, 1, 1];
}
