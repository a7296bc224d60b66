// Shared parts of talker.mjs and listener.mjs: command-line options, node, messages, and their canonical bytes. NODE_PATH
// leads to the library, which is installed in another folder.
import { createRequire } from "node:module";

import { lengthAndCrc } from "./crc.mjs";

const require = createRequire(import.meta.url);
const { RosNode } = require("@foxglove/ros1");
const { TcpServerNode, TcpSocketNode } = require("@foxglove/ros1/nodejs");
const { HttpServerNodejs } = require("@foxglove/xmlrpc/nodejs");

const MULTI_ARRAY_LAYOUT = `
================
MSG: std_msgs/MultiArrayLayout
std_msgs/MultiArrayDimension[] dim
uint32 data_offset
================
MSG: std_msgs/MultiArrayDimension
string label
uint32 size
uint32 stride`;

const HEADER = `
================
MSG: std_msgs/Header
uint32 seq
time stamp
string frame_id`;

const VECTOR3 = `
================
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z`;

const pattern = (number, size) => Uint8Array.from({ length: size }, (_, index) => (number + index) % 251);

export const TYPES = {
  "std_msgs/String": {
    definition: "string data",
    make: (number, size) => ({ data: `hello ${number}`.padEnd(size, ".") }),
  },
  "std_msgs/UInt8MultiArray": {
    definition: `std_msgs/MultiArrayLayout layout\nuint8[] data${MULTI_ARRAY_LAYOUT}`,
    make: (number, size) => ({ layout: { dim: [], data_offset: 0 }, data: pattern(number, size) }),
  },
  "sensor_msgs/Image": {
    definition:
      "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\n" +
      `uint32 step\nuint8[] data${HEADER}`,
    hasHeader: true,
    make: (number, size) => ({
      header: { seq: number, stamp: { sec: number, nsec: number * 1000 }, frame_id: "camera" },
      height: 1,
      width: size,
      encoding: "mono8",
      is_bigendian: 0,
      step: size,
      data: pattern(number, size),
    }),
  },
  "geometry_msgs/Twist": {
    definition: `geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular${VECTOR3}`,
    make: (number) => ({
      linear: { x: number, y: number / 2, z: number / 4 },
      angular: { x: -number, y: 0.1, z: 1e-300 },
    }),
  },
};

// `TOPIC --key value ... --latch ... __name:=NAME`
export function parseArguments(args) {
  const options = { type: "std_msgs/String", count: 0, rate: 0, size: 0, wait: 1, latch: false, nodelay: false };
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    const key = arg.slice(2);
    if (arg.startsWith("__name:=")) options.name = arg.slice("__name:=".length);
    else if (!arg.startsWith("--")) options.topic = arg;
    else if (typeof options[key] === "boolean") options[key] = true;
    else if (typeof options[key] === "number") options[key] = Number(args[++i]);
    else if (key === "type") options.type = args[++i];
    else throw new Error(`unknown option ${arg}`);
  }
  if (options.topic === undefined || !(options.type in TYPES)) throw new Error("the topic or a known --type is missing");
  return options;
}

export async function startNode(name) {
  const hostname = process.env.ROS_IP ?? "127.0.0.1";
  const node = new RosNode({
    name: `/${name}`,
    hostname,
    pid: process.pid,
    rosMasterUri: process.env.ROS_MASTER_URI,
    httpServer: new HttpServerNodejs(),
    tcpSocketCreate: TcpSocketNode.Create,
    tcpServer: await TcpServerNode.Listen({ host: hostname }),
  });
  node.on("error", (error) => console.error(`node error: ${error.message}`));
  await node.start();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => shutDown(node, 0));
  return node;
}

// Unregisters everything, waits for the master's responses, and exits.
export async function shutDown(node, status) {
  const { rosMasterClient, rosFollower, name } = node;
  const uri = rosFollower.url();
  await Promise.allSettled([
    ...[...node.subscriptions.keys()].map((topic) => rosMasterClient.unregisterSubscriber(name, topic, uri)),
    ...[...node.publications.keys()].map((topic) => rosMasterClient.unregisterPublisher(name, topic, uri)),
  ]);
  process.exit(status);
}

// Length and CRC-32 of the serialized message, with Header.seq as 0, since publishers overwrite it.
export function describe(type, body) {
  const canonical = Uint8Array.from(body);
  if (TYPES[type].hasHeader) canonical.fill(0, 0, 4);
  return lengthAndCrc(canonical);
}
