// Small helpers for the page's elements and numbers.

export const $ = (id) => document.getElementById(id);

/** Make an element; children may be text. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "data") Object.assign(element.dataset, value);
    else if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Write a number with few digits: 0.123, 12.3, 1,234. */
export function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  const text = size >= 1000 ? Math.round(value).toLocaleString("en") : size < 0.0005 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
  return text.replace("-", "−");
}

export const count = (n) => n.toLocaleString("en");
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** Draw an image of bytes, [rows, columns, channels], into a canvas of its size. */
export function drawFrame(canvas, bytes, [rows, columns, channels], start = 0) {
  [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++) {
    const at = start + i * channels;
    image.data[4 * i] = bytes[at];
    image.data[4 * i + 1] = bytes[at + (channels > 1 ? 1 : 0)];
    image.data[4 * i + 2] = bytes[at + (channels > 1 ? 2 : 0)];
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}
