// Colour scales: from a number to a pixel, as 32 bits in the order of ImageData.

const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const CHANGE = ["#2b5fa8", "#6f9bd1", "#b9cbe0", "#c9c7c1", "#e8bfa4", "#d9814f", "#b0401b"];
const BIT = ["#8a97a6", "#d9742b"];

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const pixel = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

function scale(stops, n = 256) {
  const colours = stops.map(rgb);
  return Uint32Array.from({ length: n }, (_, i) => {
    const at = (i / (n - 1)) * (colours.length - 1);
    const low = Math.min(Math.floor(at), colours.length - 2);
    return pixel(colours[low].map((c, k) => Math.round(c + (colours[low + 1][k] - c) * (at - low))));
  });
}

const viridis = scale(VIRIDIS);
export const SCALES = { value: viridis, visits: viridis, age: viridis, change: scale(CHANGE), bit: scale(BIT, 2) };
export const UNKNOWN = pixel(rgb("#a7a59e"));

const css = (p) => `rgb(${p & 255} ${(p >> 8) & 255} ${(p >> 16) & 255})`;

/** Return the lowest and highest of the finite numbers, without the rarest. */
export function range(values, low = 0.01, high = 0.995) {
  const known = values.filter(Number.isFinite).sort();
  if (!known.length) return [0, 1];
  const at = (share) => known[Math.min(known.length - 1, Math.floor(share * known.length))];
  return [at(low), Math.max(at(high), at(low) + 1e-6)];
}

/** Draw a horizontal colour bar. */
export function drawBar(canvas, colours) {
  const context = canvas.getContext("2d");
  const { width, height } = canvas;
  for (let x = 0; x < width; x++) {
    context.fillStyle = css(colours[Math.floor((x / width) * colours.length)]);
    context.fillRect(x, 0, 1, height);
  }
}
