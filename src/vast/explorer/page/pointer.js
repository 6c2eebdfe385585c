// Mouse, touch and keys on a map.

import { $, plural, short } from "./dom.js";

const STEP = 60;
const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** Let the user look at, move and draw on a map. */
export function listen(app, map) {
  const { element } = map;
  const touches = new Map();
  let moved = false, pinch = 0, last = null;
  const at = (event) => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  element.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    element.setPointerCapture(event.pointerId);
    touches.set(event.pointerId, at(event));
    last = at(event);
    moved = false;
    if (app.whatIf.tool !== "look" && touches.size === 1) app.whatIf.stroke = [map.place(...last)];
    if (touches.size === 2) { app.whatIf.stroke = null; pinch = spread(touches); }
    hideTip();
    app.redraw();
  });

  element.addEventListener("pointermove", (event) => {
    const here = at(event);
    map.cursor = here;
    if (!touches.has(event.pointerId)) return hover(app, map, here);
    touches.set(event.pointerId, here);
    if (touches.size === 2) {
      const now = spread(touches), [cx, cy] = middle(touches);
      app.camera.zoom(now / pinch, cx - map.width / 2, cy - map.height / 2);
      pinch = now;
      moved = true;
    } else if (app.whatIf.stroke) {
      app.whatIf.stroke.push(map.place(...here));
      app.redraw();
    } else if (moved || Math.hypot(here[0] - last[0], here[1] - last[1]) > 3) {
      app.camera.pan(here[0] - last[0], here[1] - last[1]);
      last = here;
      moved = true;
    }
    return undefined;
  });

  const release = (event) => {
    if (!touches.delete(event.pointerId)) return;
    const { stroke } = app.whatIf;
    app.whatIf.stroke = null;
    if (event.type === "pointercancel") return;
    if (stroke) app.whatIf.finish(stroke);
    else if (!moved) app.select(map.hit(...at(event)), true);
  };
  element.addEventListener("pointerup", release);
  element.addEventListener("pointercancel", release);
  element.addEventListener("pointerleave", () => { map.cursor = null; hideTip(); app.redraw(); });
  element.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [px, py] = at(event);
    app.camera.zoom(Math.exp(-event.deltaY * 0.0016), px - map.width / 2, py - map.height / 2);
  }, { passive: false });
  element.addEventListener("keydown", (event) => press(app, map, event));
}

const spread = (touches) => { const [[ax, ay], [bx, by]] = touches.values(); return Math.max(1, Math.hypot(ax - bx, ay - by)); };
const middle = (touches) => { const [[ax, ay], [bx, by]] = touches.values(); return [(ax + bx) / 2, (ay + by) / 2]; };

function hideTip() { $("tip").hidden = true; }

function hover(app, map, [px, py]) {
  if (app.whatIf.tool !== "look") { hideTip(); return app.redraw(); }
  const row = map.hit(px, py, 9);
  const tip = $("tip");
  app.hovered = row;
  tip.hidden = row < 0;
  if (row >= 0) {
    const { model } = app;
    const value = map.values()[row];
    tip.textContent = Number.isNaN(value) ? "no known action" : `V ${short(value)} · ${plural(model.visits[row], "visit")}`;
    const box = map.element.getBoundingClientRect(), stage = $("stage").getBoundingClientRect();
    tip.style.transform = `translate(${Math.min(box.left - stage.left + px + 14, stage.width - 150)}px, ${box.top - stage.top + py + 14}px)`;
  }
  return app.redraw();
}

function press(app, map, event) {
  const { camera, whatIf, state, model } = app;
  const direction = DIRECTIONS[event.key];
  if (direction && event.shiftKey) camera.pan(-STEP * direction[0], STEP * direction[1]);
  else if (direction) app.select(neighbour(model, state.row, direction, camera), true);
  else if (event.key === "+" || event.key === "=") camera.zoom(1.25);
  else if (event.key === "-") camera.zoom(0.8);
  else if (event.key === "0") app.fit();
  else if (event.key === "Escape") { whatIf.stroke = null; whatIf.choose("look"); }
  else if (event.key === "Enter" && state.row >= 0 && whatIf.tool !== "look") {
    const place = [model.x[state.row], model.y[state.row]];
    const isLine = ["block", "shortcut"].includes(whatIf.tool);
    if (isLine && !whatIf.stroke) whatIf.stroke = [place];
    else {
      const points = [...(whatIf.stroke ?? []), place];
      whatIf.stroke = null;
      whatIf.finish(points);
    }
    app.redraw();
  } else if (/^[1-5]$/.test(event.key) && !event.ctrlKey) whatIf.choose(["look", "reward", "penalty", "block", "shortcut"][event.key - 1]);
  else return;
  event.preventDefault();
}

/** Return the nearest state in a direction, within 60 degrees of it; any state if none is selected. */
function neighbour(model, from, [dx, dy], camera) {
  const { x, y, shown, n } = model;
  const [ox, oy] = from >= 0 ? [x[from], y[from]] : [camera.x, camera.y];
  let best = from, least = Infinity;
  for (let i = 0; i < n; i++) {
    if (!shown[i] || i === from) continue;
    const along = (x[i] - ox) * dx + (y[i] - oy) * dy, far = Math.hypot(x[i] - ox, y[i] - oy);
    if (from >= 0 && (far < 1e-9 || along < 0.5 * far)) continue;
    if (far < least) { least = far; best = i; }
  }
  return best;
}
