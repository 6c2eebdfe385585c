// Browsers refuse workers to a page that was opened from a folder. There, the worker of the search
// runs in a hidden frame. Without a script of this name, Zensical would load one from elsewhere.
if (location.protocol === "file:") {
  window.Worker = class {
    onmessage = null;
    onerror = null;
    #frame = document.createElement("iframe");
    #ready;

    constructor(address) {
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const inside = this.#frame.contentWindow;
      inside.postMessage = (data) => this.onmessage?.(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      this.#ready = new Promise((loaded) => script.addEventListener("load", loaded));
      script.addEventListener("error", (event) => this.onerror?.(event));
      script.src = address;
      inside.document.body.append(script);
    }

    async postMessage(data) {
      await this.#ready;
      this.#frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.#frame.remove();
    }
  };
}
