"""Subscribes, prints `got N len L crc C` for each message (`--show`: `got N JSON`), and ends after `--count` of them with
`done`.

Prints `ready` once it has subscribed, and what happens to the subscription (see `events`); with `--info`, before each message
`info` and what is told of it."""
from rclpy.event_handler import SubscriptionEventCallbacks

from common import describe, events, node, parsed, parser, qos, say
from values import named, to_json

words = parser()
words.add_argument("--show", action="store_true")
words.add_argument("--info", action="store_true")
options = parsed(words)
received = 0


def on_message(message, info):
    global received
    received += 1
    if options.info:
        say("info " + " ".join("{}={}".format(key, info[key]) for key in sorted(info)))
    say("got {} {}".format(received, to_json(message) if options.show else describe(message)))


with node("listener") as (this, turn):
    callbacks = events(SubscriptionEventCallbacks())
    this.create_subscription(named(options.type), options.topic, on_message, qos(options), event_callbacks=callbacks)
    say("ready")
    while options.count == 0 or received < options.count:
        turn()
    say("done")
