// What is drawn above the marks: the selected state and its arrows, paths, edits, the brush.

const TAU = 2 * Math.PI;

export function ink(element, name) {
  return getComputedStyle(element).getPropertyValue(`--${name}`).trim();
}

export function ring(context, [x, y], radius, colour, width = 2) {
  context.beginPath();
  context.arc(x, y, radius, 0, TAU);
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.stroke();
}

/** Draw an arrow that bends a little, so that there and back are two lines. */
export function arrow(context, [x0, y0], [x1, y1], colour, width = 1.4, bend = 0.14) {
  const dx = x1 - x0, dy = y1 - y0, length = Math.hypot(dx, dy);
  if (length < 3) return;
  const mx = (x0 + x1) / 2 - dy * bend, my = (y0 + y1) / 2 + dx * bend;
  const angle = Math.atan2(y1 - my, x1 - mx), head = Math.min(7, 3 + length / 10);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(x0, y0);
  context.quadraticCurveTo(mx, my, x1 - head * 0.7 * Math.cos(angle), y1 - head * 0.7 * Math.sin(angle));
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - head * Math.cos(angle - 0.42), y1 - head * Math.sin(angle - 0.42));
  context.lineTo(x1 - head * Math.cos(angle + 0.42), y1 - head * Math.sin(angle + 0.42));
  context.fill();
}

export function line(context, points, colour, width, dash = []) {
  if (points.length < 2) return;
  context.beginPath();
  points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.setLineDash(dash);
  context.lineWidth = width;
  context.lineJoin = context.lineCap = "round";
  context.strokeStyle = colour;
  context.stroke();
  context.setLineDash([]);
}

/** Draw an oriented mark as large as asked, for the agent and for the popped state. */
export function pointer(context, [x, y], heading, size, fill, edge) {
  context.save();
  context.translate(x, y);
  context.beginPath();
  if (heading === null || Number.isNaN(heading)) {
    context.arc(0, 0, size * 0.4, 0, TAU);
  } else {
    context.rotate(-heading * Math.PI / 180);
    context.moveTo(size * 0.65, 0);
    context.lineTo(-size * 0.4, size * 0.42);
    context.lineTo(-size * 0.2, 0);
    context.lineTo(-size * 0.4, -size * 0.42);
    context.closePath();
  }
  context.fillStyle = fill;
  context.fill();
  context.lineWidth = 1.5;
  context.strokeStyle = edge;
  context.stroke();
  context.restore();
}

/** Draw what an edit did to the map. */
export function drawEdit(context, map, edit) {
  const at = ([x, y]) => map.pixel(x, y);
  const colour = (name) => ink(map.element, name);
  if (edit.do === "paint") {
    const width = Math.max(2, 2 * edit.radius * map.camera.scale);
    const tint = colour(edit.reward >= 0 ? "reward" : "penalty");
    context.globalAlpha = 0.28;
    if (edit.points.length === 1) {
      context.beginPath();
      context.arc(...at(edit.points[0]), width / 2, 0, TAU);
      context.fillStyle = tint;
      context.fill();
    } else line(context, edit.points.map(at), tint, width);
    context.globalAlpha = 1;
  } else if (edit.do === "block") {
    line(context, [at(edit.start), at(edit.end)], colour("block"), 4);
  } else if (edit.do === "shortcut") {
    arrow(context, at(edit.start), at(edit.end), colour("shortcut"), 2.6, 0.08);
    for (const end of [edit.start, edit.end]) ring(context, at(end), Math.max(3, edit.radius * map.camera.scale), colour("shortcut"), 1);
  }
}

/** Draw a greedy path through the rows of states. */
export function drawPath(context, map, rows, colour, width, dash = []) {
  const { x, y } = map.model;
  const points = rows.filter((row) => Number.isFinite(x[row])).map((row) => map.pixel(x[row], y[row]));
  line(context, points, ink(map.element, "page"), width + 3);
  line(context, points, colour, width, dash);
  if (points.length) {
    ring(context, points[0], 5, colour, 2);
    const [ex, ey] = points[points.length - 1];
    context.beginPath();
    context.arc(ex, ey, 4, 0, TAU);
    context.fillStyle = colour;
    context.fill();
  }
}
