// Subscribes, prints `got N len L crc C` for each message, and ends after `--count` of them with `done`.
import { describe, parseArguments, shutDown, startNode } from "./common.mjs";

const options = parseArguments(process.argv.slice(2));
const node = await startNode(options.name ?? "listener");
// If an update overtook the response to the registration, the library would connect twice: ready means registered.
const register = node.rosMasterClient.registerSubscriber.bind(node.rosMasterClient);
node.rosMasterClient.registerSubscriber = async (...args) => {
  const response = await register(...args);
  console.log("ready");
  return response;
};
let received = 0;
const subscription = node.subscribe({ topic: options.topic, dataType: options.type, tcpNoDelay: options.nodelay });
subscription.on("error", (error) => console.error(`subscription error: ${error.message}`));
subscription.on("message", (message, body) => {
  if (options.count !== 0 && received >= options.count) return;
  console.log(`got ${++received} ${describe(options.type, body)}`);
  if (received !== options.count) return;
  console.log("done");
  void shutDown(node, 0);
});
