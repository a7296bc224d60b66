// Reads a bag of rosbag and prints each channel: rosbag_file.mjs read FILE.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { Bag } = require("@foxglove/rosbag");
const { FileReader } = require("@foxglove/rosbag/node");
const Bzip2 = require("@foxglove/wasm-bz2");
const lz4 = require("@foxglove/wasm-lz4");

await lz4.isLoaded;
const bzip2 = await Bzip2.init();
const decompress = {
  bz2: (data, size) => bzip2.decompress(data, size),
  lz4: (data, size) => lz4(data, size),
};
const [, , command, path] = process.argv;
if (command !== "read") throw new Error(`no such command: ${command}`);
const file = new FileReader(path);
const bag = new Bag(file, { decompress });
await bag.open();
const channels = new Map();
let last = { sec: 0, nsec: 0 };
for await (const { topic, timestamp, connectionId, message } of bag.messageIterator()) {
  const goesBack = timestamp.sec < last.sec || (timestamp.sec === last.sec && timestamp.nsec < last.nsec);
  if (goesBack) throw new Error(`${topic}: times go back`);
  last = timestamp;
  const key = `${topic} ${bag.connections.get(connectionId).type}`;
  const { count, length } = channels.get(key) ?? { count: 0, length: 0 };
  channels.set(key, { count: count + 1, length: length + message.data.length });
}
const lines = [...channels].map(([key, { count, length }]) => `${key} ${count} ${length}`);
lines.sort().forEach((line) => console.log(line));
await file.close();
