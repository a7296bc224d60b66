// Publishes "hello 0", "hello 1", ... on /chatter, ten times a second.

// The interface: crates/runnel-guest/wit/runnel.wit.
const KEEP_LAST: u32 = 0;
const RELIABLE: u32 = 1;
const CDR: i32 = 1;
const ROS_TIME: i32 = 0;
const TIMER: u32 = 2;
const SHUTDOWN: u32 = 10;
const EVENT_SIZE: i32 = 64;

@external("runnel:guest/host@0.1.0", "create-node")
declare function create_node(name: usize, name_length: usize): i32;
@external("runnel:guest/host@0.1.0", "create-publisher")
declare function create_publisher(
  node: i32, topic: usize, topic_length: usize, type: usize, type_length: usize, encoding: i32, qos: usize,
): i32;
@external("runnel:guest/host@0.1.0", "create-timer")
declare function create_timer(node: i32, period: u64, clock: i32, oneshot: bool): i32;
@external("runnel:guest/host@0.1.0", "publish")
declare function publish(publisher: i32, message: usize, message_length: usize): i32;
@external("runnel:guest/host@0.1.0", "wait")
declare function wait(timeout: u64, event: usize, bytes: usize, capacity: usize): i32;

// Ends the program if a call has failed.
function check(result: i32): i32 {
  assert(result >= 0);
  return result;
}

function utf8(text: string): ArrayBuffer {
  return String.UTF8.encode(text);
}

// A QoS: history, depth, reliability, durability, liveliness, then three durations from byte 24 on.
function keepLast(depth: u32): ArrayBuffer {
  const qos = new ArrayBuffer(48);
  const at = changetype<usize>(qos);
  store<u32>(at, KEEP_LAST);
  store<u32>(at, depth, 4);
  store<u32>(at, RELIABLE, 8);
  return qos;
}

// A std_msgs/String in CDR: header, length, and text with its final zero.
function message(text: string): ArrayBuffer {
  const content = String.UTF8.encode(text, true);
  const bytes = new ArrayBuffer(8 + content.byteLength);
  const at = changetype<usize>(bytes);
  store<u8>(at, 1, 1);
  store<u32>(at, content.byteLength, 4);
  memory.copy(at + 8, changetype<usize>(content), content.byteLength);
  return bytes;
}

const name = utf8("talker");
const node = check(create_node(changetype<usize>(name), name.byteLength));
const topic = utf8("chatter");
const type = utf8("std_msgs/msg/String");
const qos = keepLast(10);
const publisher = check(create_publisher(
  node, changetype<usize>(topic), topic.byteLength, changetype<usize>(type), type.byteLength, CDR, changetype<usize>(qos),
));
check(create_timer(node, 100_000_000, ROS_TIME, false));

const event = new ArrayBuffer(EVENT_SIZE);
for (let number = 0; ; ) {
  check(wait(u64.MAX_VALUE, changetype<usize>(event), 0, 0));
  const kind = load<u32>(changetype<usize>(event));
  if (kind == SHUTDOWN) break;
  if (kind == TIMER) {
    const bytes = message("hello " + number.toString());
    check(publish(publisher, changetype<usize>(bytes), bytes.byteLength));
    number += 1;
  }
}
