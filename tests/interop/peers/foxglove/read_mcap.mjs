// Reads an MCAP file with Foxglove's libraries. Each message is decoded by the schema in the file and encoded again: in ROS 1
// the bytes must be the same, in ROS 2, where padding is undefined, the values. Images must have the size that they state.
// Prints `channel ENCODING TOPIC TYPE COUNT`, and for each message `message ENCODING TOPIC len L crc C` of what was encoded,
// without the header of CDR.
import { open } from "node:fs/promises";
import { createRequire } from "node:module";
import { isDeepStrictEqual } from "node:util";

import { lengthAndCrc } from "./crc.mjs";

const require = createRequire(import.meta.url);
const { McapIndexedReader } = require("@mcap/core");
const { parse } = require("@foxglove/rosmsg");
const ros1 = require("@foxglove/rosmsg-serialization");
const ros2 = require("@foxglove/rosmsg2-serialization");

const CDR_HEADER = 4;

class File {
  constructor(handle) {
    this.handle = handle;
  }

  async size() {
    return BigInt((await this.handle.stat()).size);
  }

  async read(offset, length) {
    const { buffer } = await this.handle.read({ buffer: new Uint8Array(Number(length)), position: Number(offset) });
    return buffer;
  }
}

class Codec {
  constructor(encoding, schema) {
    const definitions = parse(new TextDecoder().decode(schema.data), { ros2: encoding === "cdr" });
    const library = encoding === "cdr" ? ros2 : ros1;
    this.isCdr = encoding === "cdr";
    this.reader = new library.MessageReader(definitions);
    this.writer = new library.MessageWriter(definitions);
  }

  decode(bytes) {
    return this.reader.readMessage(bytes);
  }

  // The message encoded again, of which `bytes` must be an encoding too.
  encodeAgain(message, bytes) {
    const encoded = Buffer.from(this.writer.writeMessage(message));
    const isSame = this.isCdr ? isDeepStrictEqual(this.decode(encoded), message) : encoded.equals(bytes);
    if (!isSame) throw new Error("it is not the same when it is encoded again");
    return this.isCdr ? encoded.subarray(CDR_HEADER) : encoded;
  }
}

function checkImage({ height, step, data }) {
  if (data.length === 0 || data.length !== height * step) {
    throw new Error(`${data.length} bytes in ${height} rows of ${step}`);
  }
}

const reader = await McapIndexedReader.Initialize({ readable: new File(await open(process.argv[2])) });
const channels = new Map();
for (const { id, topic, messageEncoding, schemaId } of reader.channelsById.values()) {
  const schema = reader.schemasById.get(schemaId);
  const codec = new Codec(messageEncoding, schema);
  channels.set(id, { name: `${messageEncoding} ${topic}`, type: schema.name, codec, count: 0 });
}
for await (const { channelId, data, logTime } of reader.readMessages()) {
  const channel = channels.get(channelId);
  channel.count += 1;
  try {
    const message = channel.codec.decode(data);
    if (/^sensor_msgs\/(msg\/)?Image$/.test(channel.type)) checkImage(message);
    console.log(`message ${channel.name} ${lengthAndCrc(channel.codec.encodeAgain(message, data))}`);
  } catch (error) {
    throw new Error(`${channel.name}, message at ${logTime}: ${error.message}`);
  }
}
for (const { name, type, count } of channels.values()) console.log(`channel ${name} ${type} ${count}`);
