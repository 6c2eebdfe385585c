// Oriented marks drawn pixel by pixel: 100 000 of them in a few milliseconds, without a GPU.

const HEADINGS = 32;
const SAMPLES = 4;

/** Return how much of each pixel around the origin a shape covers, as offsets and shares. */
function sprite(inside, reach, width) {
  const full = [], edge = [], shares = [];
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) {
      let hits = 0;
      for (let i = 0; i < SAMPLES; i++) {
        for (let j = 0; j < SAMPLES; j++) {
          if (inside(x + (i + 0.5) / SAMPLES - 0.5, y + (j + 0.5) / SAMPLES - 0.5)) hits++;
        }
      }
      const share = hits / (SAMPLES * SAMPLES);
      if (share > 0.85) full.push(y * width + x);
      else if (share > 0.08) { edge.push(y * width + x); shares.push(Math.round(share * 256)); }
    }
  }
  return { full: Int32Array.from(full), edge: Int32Array.from(edge), shares: Uint16Array.from(shares), reach };
}

/** Return the sprites of a size in pixels: an arrowhead for each heading, and a dot at the end. */
function makeSprites(size, width) {
  const made = [];
  const reach = Math.ceil(size * 0.75) + 1;
  for (let k = 0; k < HEADINGS; k++) {
    const angle = (k / HEADINGS) * 2 * Math.PI;
    const [c, s] = [Math.cos(angle), -Math.sin(angle)]; // y points down on the screen
    made.push(sprite((x, y) => {
      const aside = Math.abs(x * s - y * c);
      const along = x * c + y * s + size * 0.35; // from the base, behind the place, to the tip
      return along >= 0 && along <= size && aside <= 0.36 * (size - along);
    }, reach, width));
  }
  const radius = Math.max(0.75, size * 0.3);
  made.push(sprite((x, y) => x * x + y * y <= radius * radius, Math.ceil(radius) + 1, width));
  return made;
}

export class Marks {
  /** Draw into this canvas, whose size is in device pixels. */
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.size = 0;
  }

  resize(width, height) {
    this.canvas.width = width;
    this.canvas.height = height;
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.size = 0;
  }

  /** Draw a mark for each state that is shown; `camera` maps places to device pixels. */
  draw({ x, y, heading, n }, shown, colours, camera, size) {
    const { width, height } = this.canvas;
    if (!width || !height) return;
    const rounded = Math.max(2, Math.round(size * 2) / 2);
    if (rounded !== this.size) { this.size = rounded; this.sprites = makeSprites(rounded, width); }
    const { pixels, sprites } = this;
    pixels.fill(0);
    const { scale, left, top } = camera;
    const turn = HEADINGS / 360;
    for (let i = 0; i < n; i++) {
      if (!shown[i]) continue;
      const px = Math.round(x[i] * scale + left), py = Math.round(top - y[i] * scale);
      const h = heading[i];
      const { full, edge, shares, reach } = sprites[h === h ? Math.round(h * turn) & (HEADINGS - 1) : HEADINGS];
      // A mark that the rim cuts is left out as a whole: those inside need no further test.
      if (!(px >= reach && py >= reach && px < width - reach && py < height - reach)) continue;
      const at = py * width + px, colour = colours[i];
      for (let k = 0; k < full.length; k++) pixels[at + full[k]] = colour;
      const r = colour & 255, g = (colour >> 8) & 255, b = (colour >> 16) & 255;
      for (let k = 0; k < edge.length; k++) {
        const to = at + edge[k], share = shares[k], below = pixels[to], alpha = below >>> 24;
        if (alpha === 0) { pixels[to] = (((share - 1) << 24) | (colour & 0xffffff)) >>> 0; continue; }
        const rest = 256 - share;
        pixels[to] = ((Math.max(alpha, share - 1) << 24)
          | (((b * share + ((below >> 16) & 255) * rest) >> 8) << 16)
          | (((g * share + ((below >> 8) & 255) * rest) >> 8) << 8)
          | ((r * share + (below & 255) * rest) >> 8)) >>> 0;
      }
    }
    this.context.putImageData(this.image, 0, 0);
  }
}
