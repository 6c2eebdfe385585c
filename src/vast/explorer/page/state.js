// The panel of one state: value, actions, the backup's equation, bits, frames.

import { $, count, drawFrame, make, plural, short } from "./dom.js";

/** Return the action with the highest value among those that were taken, -1 if none was. */
function best(actions) {
  return actions.reduce((found, a, i) => (a.count && (found < 0 || a.q > actions[found].q) ? i : found), -1);
}

export class StatePanel {
  constructor(app) {
    this.app = app;
    this.row = -1;
    this.told = null; // what the server said of the state
    this.action = null; // whose equation is shown
  }

  /** Select a state, -1 for none, and ask the server about it. */
  async select(row) {
    this.row = row;
    this.action = null;
    this.frames = null;
    if (row < 0) {
      this.told = null;
      $("state").hidden = true;
      $("state-hint").hidden = false;
      this.app.redraw();
      this.app.address.changed();
      return;
    }
    await this.refresh();
    this.app.address.changed();
    const { header, arrays } = await this.app.socket.ask("frames", { row, start: 0 });
    if (this.row === row) this.#showFrames(header, arrays);
  }

  /** Ask again: the values may have changed. */
  async refresh() {
    const { row } = this;
    if (row < 0) return;
    const { header } = await this.app.socket.ask("inspect", { row });
    if (this.row !== row) return;
    this.told = header.state;
    this.action ??= Math.max(0, best(this.told.actions));
    this.#show();
    this.app.redraw();
  }

  #show() {
    const s = this.told;
    const kept = $("state-frames");
    $("state-hint").hidden = true;
    const root = $("state");
    root.hidden = false;
    root.dataset.row = s.row;
    root.dataset.value = s.value;
    const [x, y, heading] = s.pose;
    const where = this.app.model.measured && x !== null ? `at ${short(x)}, ${short(y)}${heading === null ? "" : `, heading ${Math.round(heading)}°`}` : "";
    const changed = s.learned !== null && Math.abs(s.value - s.learned) > 1e-9;
    root.replaceChildren(
      make("div", { className: "headline" },
        make("span", { className: "big", id: "state-value", data: { value: s.value }, textContent: short(s.value) }),
        make("span", {}, "V(s)", changed ? make("span", { className: "was", textContent: ` was ${short(s.learned)}` }) : null)),
      make("p", { className: "quiet", textContent: [where, plural(s.visits, "visit"), s.last >= 0 ? `last seen ${count(s.last)} frames ago` : ""].filter(Boolean).join(" · ") }),
      this.#actions(s),
      this.#equation(s),
      make("p", { className: "quiet", id: "state-links" },
        make("span", { className: "key in" }), ` ${plural(s.predecessors.n, "predecessor")} `,
        make("span", { className: "key out" }), ` ${plural(s.successors.n, "successor")}`,
        Math.max(s.predecessors.n, s.successors.n) > s.predecessors.rows.length && s.predecessors.n > s.predecessors.rows.length ? `, of which ${s.predecessors.rows.length} are drawn` : ""),
      make("h2", { textContent: "Frames" }),
      kept ?? make("div", { id: "state-frames" }),
      make("h2", { textContent: "Bits" }),
      this.#bits(s),
    );
  }

  #actions(s) {
    const body = make("tbody");
    const greedy = best(s.actions);
    s.actions.forEach((a, i) => {
      const from = a.count ? plural(a.count, "visit") : a.distance < 0 ? "never taken anywhere"
        : `borrowed, ${plural(a.distance, "bit")} away`;
      const row = make("tr", { className: `${i === greedy ? "best" : ""} ${i === this.action ? "chosen" : ""} ${a.count ? "" : "borrowed"}`, tabIndex: 0, data: { action: i, q: a.q, count: a.count } },
        make("td", { textContent: a.name }),
        make("td", { className: "number", textContent: short(a.q) }),
        make("td", { textContent: from }));
      row.title = "Show where this value comes from";
      const choose = () => { this.action = i; this.#show(); this.app.redraw(); };
      row.onclick = choose;
      row.onkeydown = (event) => { if (event.key === "Enter") choose(); };
      body.append(row);
    });
    return make("table", { className: "actions" }, make("thead", {}, make("tr", {}, make("th", { textContent: "action" }), make("th", { className: "number", textContent: "Q(s, a)" }), make("th", { textContent: "from" }))), body);
  }

  /** Write the backup of the chosen action with this state's numbers. */
  #equation(s) {
    const a = s.actions[this.action];
    const box = make("div", { className: "equation", id: "equation" });
    const link = (row, text) => {
      if (row === null || row < 0) return make("span", { textContent: text });
      const button = make("button", { type: "button", className: "link", textContent: text, title: "Go to this state" });
      button.onclick = () => this.app.select(row);
      return button;
    };
    if (!a.count) {
      if (a.distance < 0) box.append(`Nobody has ever taken ${a.name}: its value is 0.`);
      else {
        box.append(make("div", {}, `Q̃(s, ${a.name}) = Σ N·Q / Σ N over the ${plural(a.n_sources, "state")} at ${plural(a.distance, "bit")}`));
        const list = make("ul");
        for (const source of a.sources) list.append(make("li", {}, link(source.row, `Q ${short(source.value)}`), `, N ${count(source.count)}`));
        if (a.n_sources > a.sources.length) list.append(make("li", { textContent: `and ${count(a.n_sources - a.sources.length)} more` }));
        box.append(list, make("div", { className: "result", textContent: `= ${short(a.q)}` }));
      }
      return box;
    }
    const sum = a.outcomes.reduce((total, o) => total + o.count * o.value, a.rest);
    box.append(make("div", {}, `Q(s, ${a.name}) = E[r] + γ Σ N(s′)/N · V(s′)`));
    const list = make("ul");
    for (const o of a.outcomes) {
      list.append(make("li", {}, `${count(o.count)}/${count(a.count)} · `, o.row === null ? "0 (the episode ends)" : link(o.row, short(o.value))));
    }
    if (a.n_outcomes > a.outcomes.length) list.append(make("li", { textContent: `and ${count(a.n_outcomes - a.outcomes.length)} more` }));
    const q = a.reward + s.discount * sum / a.count;
    box.append(list, make("div", { className: "result", data: { q } }, `= ${short(a.reward)} + ${short(s.discount)} · ${short(sum / a.count)} = ${short(q)}`));
    return box;
  }

  #bits(s) {
    const cells = make("div", { className: "bits", role: "img" });
    cells.setAttribute("aria-label", `bits ${s.code}`);
    [...s.code].forEach((bit, i) => cells.append(make("i", { className: bit === "1" ? "on" : "", title: `bit ${i}: ${bit}` })));
    const tags = s.tag.replace(/0+$/, "") ? [...s.tag] : [];
    const box = make("div", {}, cells);
    if (tags.length) {
      const last = tags.slice(-this.app.model.actions.length).indexOf("1");
      box.append(make("p", { className: "quiet", textContent: last >= 0 ? `and the tag of the last action: ${this.app.model.actions[last]}` : `and tags above bit ${s.code.length - 1}` }));
    }
    box.append(make("p", { className: "quiet mono", textContent: s.key }));
    return box;
  }

  #showFrames(header, arrays) {
    const box = $("state-frames");
    if (!box) return;
    if (!header.start) box.replaceChildren();
    const { frames, decoded } = arrays;
    const total = this.told?.frames ?? 0;
    if (decoded && !header.start) box.append(this.#frame(decoded, decoded.shape, 0, "decoded", "What the decoder makes of the state"));
    if (!frames && !header.start) box.append(make("p", { className: "hint", textContent: this.app.model.frame.length ? "No frame of this state is stored any more." : "This agent stores no frames." }));
    if (!frames) return;
    const [n, ...shape] = frames.shape;
    const size = shape.reduce((a, b) => a * b, 1);
    for (let i = 0; i < n; i++) box.append(this.#frame(frames, shape, i * size, "", `Frame ${header.start + i + 1} of ${total}`));
    box.querySelector(".more")?.remove();
    const seen = header.start + n;
    const more = make("p", { className: "quiet more" }, `${seen === total ? "" : `${count(seen)} of `}${plural(total, "frame")}${box.querySelector("canvas.decoded") ? "; outlined: from the decoder" : ""}`);
    if (seen < total) {
      const button = make("button", { type: "button", textContent: "More" });
      const { row } = this;
      button.onclick = async () => {
        const next = await this.app.socket.ask("frames", { row, start: seen });
        if (this.row === row) this.#showFrames(next.header, next.arrays);
      };
      more.append(" ", button);
    }
    box.append(more);
  }

  #frame(values, shape, start, className, title) {
    if (shape.length === 3) {
      const canvas = make("canvas", { className: `frame ${className}`, title });
      drawFrame(canvas, values, shape, start);
      return canvas;
    }
    const numbers = Array.from(values.subarray(start, start + shape[0]), short).join(", ");
    return make("p", { className: `vector ${className}`, title, textContent: `${className ? "decoded: " : ""}${numbers}` });
  }
}
