// Perfetto's trace processor, the WebAssembly of its user interface, behind a pipe: its stream of requests on standard
// input, that of its replies on standard output. The argument is the directory of the bundle.
"use strict";
const fs = require("fs");
const path = require("path");
const directory = process.argv[2];

// What the bundle expects of a browser's worker.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.importScripts = () => {};
process.type = "renderer"; // else it finds node, and refuses
globalThis.location = { href: "file:///engine_bundle.js" };
globalThis.XMLHttpRequest = class {
  open(_method, url) {
    this.file = path.join(directory, path.basename(url));
  }
  send() {
    this.status = 200;
    const bytes = fs.readFileSync(this.file);
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  }
};
console.log = console.warn = () => {};

const port = {
  postMessage(data) {
    for (let at = 0; at < data.length; at += fs.writeSync(1, data, at));
  },
};
(0, eval)(fs.readFileSync(path.join(directory, "engine_bundle.js"), "utf8"));
globalThis.onmessage({ data: port });

// What it waits for at its beginning is done by then.
setImmediate(() => {
  const bytes = Buffer.alloc(1 << 20);
  for (let count; (count = fs.readSync(0, bytes, 0, bytes.length)); ) {
    port.onmessage({ data: new Uint8Array(bytes.subarray(0, count)) });
  }
  process.exit(0);
});
