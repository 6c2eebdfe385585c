// The page's state in its address, after the #: it can be shared with whoever has the run.

const WAIT = 300;

export class Address {
  constructor(app) {
    this.app = app;
    this.timer = 0;
    this.quiet = true; // until the page has read its own address
  }

  /** Return what the address says, by name. */
  read() {
    return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  }

  /** Write the address soon: something on the page has changed. */
  changed() {
    if (this.quiet) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), WAIT);
  }

  text() {
    const { model, camera, state, tabs, whatIf } = this.app;
    const said = new URLSearchParams();
    const digits = (v) => String(Number(v.toPrecision(6)));
    if (this.app.moved) said.set("at", [camera.x, camera.y, camera.scale].map(digits).join(","));
    if (tabs.current !== "state") said.set("tab", tabs.current);
    if (state.row >= 0) said.set("state", model.key(state.row));
    if (whatIf.pathFrom >= 0) said.set("path", model.key(whatIf.pathFrom));
    if (model.colourBy !== "value") said.set("colour", model.colourBy === "bit" ? `bit${model.colourBit}` : model.colourBy);
    for (const [name, range] of Object.entries(model.filters)) said.set(name, range.map((v) => (Number.isFinite(v) ? v : "")).join(","));
    if (whatIf.comparing) said.set("compare", "1");
    if (model.edits.length) said.set("edits", JSON.stringify(model.edits));
    if (model.keptEdits.length) said.set("kept", JSON.stringify(model.keptEdits));
    return said.toString();
  }

  write() {
    history.replaceState(null, "", `${location.pathname}${location.search}#${this.text()}`);
  }

  /** Return the address of this view without the token. */
  shared() {
    return `${location.origin}/#${this.text()}`;
  }
}
