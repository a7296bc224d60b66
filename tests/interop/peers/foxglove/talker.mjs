// Publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays until a signal.
import { setImmediate as yieldToEvents, setTimeout as pause } from "node:timers/promises";

import { TYPES, describe, parseArguments, startNode } from "./common.mjs";

const options = parseArguments(process.argv.slice(2));
const { definition, make } = TYPES[options.type];
const node = await startNode(options.name ?? "talker");
const publication = await node.advertise({
  topic: options.topic,
  dataType: options.type,
  latching: options.latch,
  messageDefinitionText: definition,
});
console.log("ready");
while (publication.subscribers().size < options.wait) await pause(10);
for (let number = 1; options.count === 0 || number <= options.count; number++) {
  const message = make(number, options.size);
  await node.publish(options.topic, message);
  console.log(`sent ${number} ${describe(options.type, publication.messageWriter.writeMessage(message))}`);
  // Without `yieldToEvents`, signals and sockets would wait until the end of a burst.
  await (options.rate > 0 ? pause(1000 / options.rate) : yieldToEvents());
}
console.log("done");
