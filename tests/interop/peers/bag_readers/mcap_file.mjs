// Reads an MCAP file and prints each channel, or writes one: mcap_file.mjs read FILE | write FILE PROFILE COMPRESSION.
import { open } from "node:fs/promises";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { McapIndexedReader, McapStreamReader, McapWriter } = require("@mcap/core");
const lz4 = require("@foxglove/wasm-lz4");
const zstd = require("@foxglove/wasm-zstd");

const decompressHandlers = {
  lz4: (data, size) => lz4(data, Number(size)),
  zstd: (data, size) => zstd.decompress(data, Number(size)),
};

class File {
  constructor(handle) {
    this.handle = handle;
    this.written = 0n;
  }

  async size() {
    return BigInt((await this.handle.stat()).size);
  }

  async read(offset, length) {
    const { buffer } = await this.handle.read({ buffer: new Uint8Array(Number(length)), position: Number(offset) });
    return buffer;
  }

  async write(bytes) {
    await this.handle.writeFile(bytes);
    this.written += BigInt(bytes.length);
  }

  position() {
    return this.written;
  }
}

// Length of the string in a message of ROS 1 or 2.
function textLength(encoding, data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return encoding === "cdr" ? view.getUint32(4, true) - 1 : view.getUint32(0, true);
}

// The lines about the channels. Within each, times must not go back.
class Channels {
  constructor() {
    this.channels = new Map();
  }

  add({ topic, messageEncoding }, schema, { data, logTime }) {
    const key = `${topic} ${schema.name}`;
    const known = this.channels.get(key) ?? { count: 0, length: 0, last: 0n };
    if (logTime < known.last) throw new Error(`${topic}: times go back`);
    const length = known.length + textLength(messageEncoding, data);
    this.channels.set(key, { count: known.count + 1, length, last: logTime });
  }

  lines() {
    return [...this.channels].map(([key, { count, length }]) => `${key} ${count} ${length}`).sort();
  }
}

async function readByIndex(file) {
  const reader = await McapIndexedReader.Initialize({ readable: file, decompressHandlers });
  const channels = new Channels();
  for await (const message of reader.readMessages()) {
    const channel = reader.channelsById.get(message.channelId);
    channels.add(channel, reader.schemasById.get(channel.schemaId), message);
  }
  const lines = [`profile ${reader.header.profile}`, ...channels.lines()];
  for await (const { name, mediaType, data } of reader.readAttachments()) {
    lines.push(`attachment ${name} ${mediaType} ${new TextDecoder().decode(data)}`);
  }
  for await (const { name, metadata } of reader.readMetadata()) {
    lines.push(`metadata ${name} ${JSON.stringify(Object.fromEntries(metadata))}`);
  }
  return lines;
}

async function readAsStream(file) {
  const reader = new McapStreamReader({ decompressHandlers, validateCrcs: true });
  reader.append(await file.read(0n, await file.size()));
  const [byId, schemas, channels] = [new Map(), new Map(), new Channels()];
  for (let record = reader.nextRecord(); record; record = reader.nextRecord()) {
    if (record.type === "Schema") schemas.set(record.id, record);
    if (record.type === "Channel") byId.set(record.id, record);
    if (record.type === "Message") {
      const channel = byId.get(record.channelId);
      channels.add(channel, schemas.get(channel.schemaId), record);
    }
  }
  if (!reader.done()) throw new Error("the stream is not complete");
  return channels.lines();
}

async function read(path) {
  const file = new File(await open(path));
  const lines = await readByIndex(file);
  const [, ...others] = lines;
  for (const [place, line] of (await readAsStream(file)).entries()) {
    if (line !== others[place]) throw new Error(`by index: ${others[place]}, as a stream: ${line}`);
  }
  lines.forEach((line) => console.log(line));
  await file.handle.close();
}

// Number 3 repeats its text four times.
const text = (number) => `number ${number}`.repeat((number % 5) + 1);

function string(profile, value) {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  if (profile === "ros1") {
    length.writeUInt32LE(bytes.length);
    return Buffer.concat([length, bytes]);
  }
  length.writeUInt32LE(bytes.length + 1);
  return Buffer.concat([Buffer.from([0, 1, 0, 0]), length, bytes, Buffer.from([0])]);
}

async function write(path, profile, compression) {
  const compressChunk = (chunk) => ({ compression, compressedData: zstd.compress(chunk) });
  const file = new File(await open(path, "w"));
  const writer = new McapWriter({
    writable: file,
    chunkSize: 500,
    compressChunk: compression === "zstd" ? compressChunk : undefined,
  });
  await writer.start({ profile, library: "test" });
  const name = profile === "ros1" ? "std_msgs/String" : "std_msgs/msg/String";
  const data = Buffer.from("string data\n");
  const schemaId = await writer.registerSchema({ name, encoding: `${profile}msg`, data });
  const messageEncoding = profile === "ros1" ? "ros1" : "cdr";
  const metadata = new Map(profile === "ros1" ? [["callerid", "/talker"]] : []);
  const channelId = await writer.registerChannel({ schemaId, topic: "/chatter", messageEncoding, metadata });
  for (let number = 0; number < 100; number++) {
    const logTime = 1000_000_000_000n + BigInt(number) * 100_000_000n;
    const message = { channelId, sequence: number, logTime, publishTime: logTime - 1n };
    await writer.addMessage({ ...message, data: string(profile, text(number)) });
  }
  const times = { logTime: 5n, createTime: 7n };
  const note = { name: "note.txt", mediaType: "text/plain", data: Buffer.from("hello") };
  await writer.addAttachment({ ...times, ...note });
  await writer.addMetadata({ name: "place", metadata: new Map([["city", "Turin"]]) });
  await writer.end();
  await file.handle.close();
}

await Promise.all([lz4.isLoaded, zstd.isLoaded]);
const [command, ...rest] = process.argv.slice(2);
await { read, write }[command](...rest);
