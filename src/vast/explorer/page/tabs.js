// The panels beside the map; arrow keys move between them, as in any list of tabs.

import { $ } from "./dom.js";

export class Tabs {
  constructor(onchange) {
    this.tabs = [...document.querySelectorAll("[role=tab]")];
    this.current = "state";
    this.onchange = onchange;
    this.tabs.forEach((tab, i) => {
      tab.onclick = () => this.show(tab.id.slice(4));
      tab.onkeydown = (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!by) return;
        const next = this.tabs[(i + by + this.tabs.length) % this.tabs.length];
        this.show(next.id.slice(4));
        next.focus();
      };
    });
  }

  show(name) {
    if (!$(`panel-${name}`)) return;
    this.current = name;
    for (const tab of this.tabs) {
      const chosen = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
      $(tab.getAttribute("aria-controls")).hidden = !chosen;
    }
    this.onchange();
  }
}
