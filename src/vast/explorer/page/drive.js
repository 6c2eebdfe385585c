// Driving: the real environment, by hand or greedily; frame, state, Q and map together.

import { $, count, drawFrame, make, plural, short } from "./dom.js";
import { ink, line, pointer } from "./overlay.js";

export class DrivePanel {
  constructor(app) {
    this.app = app;
    this.moment = null;
    this.trail = [];
    this.playing = false;
    const { model } = app;
    $("tab-drive").hidden = !model.drives;
    $("drive-start").onclick = () => this.start();
    $("drive-greedy").onclick = () => { this.playing = false; this.step(null); };
    $("drive-play").onclick = () => { this.playing = !this.playing; this.#play(); };
    model.actions.forEach((name, i) => {
      const button = make("button", { type: "button", textContent: name, disabled: true });
      button.onclick = () => { this.playing = false; this.step(i); };
      $("drive-actions").append(button);
    });
    $("runs").hidden = !model.runs.length;
    for (const name of model.runs) {
      const button = make("button", { type: "button", textContent: `Show the run ${name}` });
      button.onclick = () => this.#run(name, button);
      $("run-buttons").append(button);
    }
  }

  start() { return this.#ask("drive", { start: true }); }

  step(action) { return this.#ask("step", { action, by: $("drive-whatif").checked ? "what-if" : "agent" }); }

  async #ask(what, fields) {
    $("drive-error").textContent = "";
    $("drive-start").disabled = true;
    if (!this.moment) $("drive-error").textContent = "The environment is starting …";
    try {
      const { header, arrays } = await this.app.socket.ask(what, fields);
      $("drive-error").textContent = "";
      if (header.step === 0) this.trail = [];
      this.moment = header;
      if (header.pose[0] !== null) this.trail.push(header.pose);
      this.#show(arrays.frame);
    } catch (error) {
      this.playing = false;
      $("drive-error").textContent = error.message;
    }
    $("drive-start").disabled = false;
  }

  async #play() {
    $("drive-play").textContent = this.playing ? "Pause" : "Play";
    while (this.playing) {
      const before = performance.now();
      await this.step(null);
      if (!this.moment || this.moment.ended) this.playing = false;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, 110 - (performance.now() - before))));
    }
    $("drive-play").textContent = "Play";
  }

  #show(frame) {
    const m = this.moment;
    const { model } = this.app;
    $("drive").hidden = false;
    for (const button of [$("drive-greedy"), $("drive-play"), ...$("drive-actions").children]) button.disabled = Boolean(m.ended);
    const isImage = frame.shape.length === 3;
    $("drive-frame").hidden = !isImage;
    $("drive-vector").hidden = isImage;
    if (isImage) drawFrame($("drive-frame"), frame, frame.shape);
    else $("drive-vector").textContent = Array.from(frame, short).join(", ");
    const did = m.action === null ? "The episode begins." : `Step ${count(m.step)}: ${model.actions[m.action]}, reward ${short(m.reward)}.`;
    const known = m.row >= 0 ? "" : " This state is not in the table.";
    $("drive-said").textContent = `${did} Return ${short(m.total)}.${m.ended ? ` ${m.ended[0].toUpperCase()}${m.ended.slice(1)}.` : known}`;
    $("drive-said").dataset.step = m.step;
    const best = m.q.indexOf(Math.max(...m.q));
    $("drive-q").replaceChildren(...m.q.map((q, i) => make("tr", { className: i === best ? "best" : "" },
      make("td", { textContent: model.actions[i] }), make("td", { className: "number", textContent: short(q) }),
      make("td", { textContent: m.distance[i] === 0 ? "this state" : m.distance[i] < 0 ? "never taken" : `${plural(m.distance[i], "bit")} away` }))));
    if (m.row < 0 && !model.measured) this.trail = [];
    this.app.redraw();
  }

  /** Let the agent watch a forced run: an edit like any other. */
  async #run(name, button) {
    button.disabled = true;
    $("drive-error").textContent = "The environment is starting …";
    await this.app.whatIf.edit({ do: "run", name });
    $("drive-error").textContent = "";
    button.disabled = false;
    this.moment = null;
    this.app.redraw();
  }

  draw(context, map) {
    const { moment } = this;
    if (!moment || this.app.tabs.current !== "drive") return;
    const { model } = map;
    const colour = ink(map.element, "agent");
    let [x, y, heading] = moment.pose;
    if (!model.measured || x === null) {
      if (moment.row < 0) return;
      [x, y, heading] = [model.x[moment.row], model.y[moment.row], NaN];
    } else line(context, this.trail.map(([tx, ty]) => map.pixel(tx, ty)), colour, 2);
    pointer(context, map.pixel(x, y), heading, 24, colour, ink(map.element, "page"));
  }
}
