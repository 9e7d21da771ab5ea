// Unpacks the data of the page: base64 text to bytes, inflated, in a worker so that the page stays responsive.

import {Strings, Table} from './table.js';

// Runs in the worker: only uses what is inside it.
async function inflate(text) {
  const compressed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Response(stream).arrayBuffer();
}

function inflateInWorker(text) {
  const program = `${inflate}\nonmessage = (event) => inflate(event.data).then(
      (buffer) => postMessage({buffer}, [buffer]), (error) => postMessage({error: String(error)}));`;
  const url = URL.createObjectURL(new Blob([program], {type: 'text/javascript'}));
  return new Promise((resolve, reject) => {
    const worker = new Worker(url);
    const finish = (action) => {
      worker.terminate();
      URL.revokeObjectURL(url);
      action();
    };
    worker.onmessage = ({data}) => finish(() => (data.buffer ? resolve(data.buffer) : reject(new Error(data.error))));
    worker.onerror = () => finish(() => inflate(text).then(resolve, reject));
    worker.postMessage(text);
  });
}

// The tables of an inflated pack, each with its source.
export function readPack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const directory = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const bytes = new Uint8Array(buffer, 4 + length);
  const strings = new Strings(bytes, directory.strings);
  return directory.tables.map((table) => ({source: table.source, table: new Table(bytes, strings, table)}));
}

// All tables of the document, in a promise.
export async function unpackTables(document) {
  const packs = [...document.querySelectorAll('script[type="application/octet-stream"]')];
  const buffers = await Promise.all(packs.map((pack) => inflateInWorker(pack.textContent.trim())));
  return buffers.flatMap(readPack);
}
