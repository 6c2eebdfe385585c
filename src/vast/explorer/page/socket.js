// The connection to the server: requests with answers, and values that it sends on its own.

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, uint32: Uint32Array, int32: Int32Array, uint8: Uint8Array,
};

/** Return the header and the arrays of a binary message; see protocol.py. */
function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const [name, type, shape, at] of header.arrays) {
    const count = shape.reduce((a, b) => a * b, 1);
    arrays[name] = new ARRAYS[type](buffer, 4 + length + at, count);
    arrays[name].shape = shape;
  }
  return { header, arrays };
}

export class Socket {
  constructor(token) {
    this.socket = new WebSocket(`ws://${location.host}/socket?token=${encodeURIComponent(token)}`);
    this.socket.binaryType = "arraybuffer";
    this.waiting = new Map();
    this.next = 1;
    this.onpush = () => {};
    this.onlost = () => {};
    this.opened = new Promise((resolve, reject) => {
      this.socket.onopen = resolve;
      this.socket.onerror = () => reject(new Error("The explorer cannot be reached."));
    });
    this.socket.onmessage = (event) => this.#receive(event.data);
    this.socket.onclose = (event) => this.onlost(event.reason);
  }

  /** Ask the server to do something; the promise fails with its one line if it refuses. */
  ask(what, fields = {}) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ id, do: what, ...fields }));
    });
  }

  /** Tell the server something that has no answer. */
  tell(what) {
    this.socket.send(JSON.stringify({ id: this.next++, do: what }));
  }

  #receive(data) {
    const message = typeof data === "string" ? { header: JSON.parse(data), arrays: {} } : unpack(data);
    const { header } = message;
    if (header.push) return this.onpush(message);
    const waiting = this.waiting.get(header.id);
    this.waiting.delete(header.id);
    if (!waiting) return;
    if (header.error) waiting.reject(new Error(header.error));
    else waiting.resolve(message);
  }
}
