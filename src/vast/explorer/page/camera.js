// Where the map looks: the same for both maps when two are side by side.

export class Camera {
  constructor() {
    this.x = this.y = 0;
    this.scale = 1; // CSS pixels per unit of the map
    this.onchange = () => {};
  }

  /** Look at everything, with a margin, in an area of this size. */
  fit([left, bottom, right, top], width, height) {
    const margin = 28;
    const wide = Math.max(right - left, 1e-9), tall = Math.max(top - bottom, 1e-9);
    this.scale = Math.max(1e-9, Math.min((width - 2 * margin) / wide, (height - 2 * margin) / tall));
    [this.x, this.y] = [(left + right) / 2, (bottom + top) / 2];
    this.onchange();
  }

  pan(dx, dy) {
    this.x -= dx / this.scale;
    this.y += dy / this.scale;
    this.onchange();
  }

  /** Zoom by a factor around a point that stays where it is, given from the centre. */
  zoom(factor, fromX = 0, fromY = 0) {
    const before = this.scale;
    this.scale = Math.min(Math.max(before * factor, 1e-7), 1e7);
    this.x += fromX / before - fromX / this.scale;
    this.y -= fromY / before - fromY / this.scale;
    this.onchange();
  }
}
