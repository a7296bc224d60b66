"""Subscribes, prints `got N len L crc C` for each message (`--show`: `got N JSON`), and ends after `--count` of them with
`done`.

Prints `ready` after subscribing, and events of the subscription (see `events`); with `--info`, a line `info` with the
metadata of each message before it."""
from rclpy.event_handler import SubscriptionEventCallbacks

from common import describe, events, node, parsed, parser, print_line, qos
from values import named, to_json

options_parser = parser()
options_parser.add_argument("--show", action="store_true")
options_parser.add_argument("--info", action="store_true")
options = parsed(options_parser)
received = 0


def on_message(message, info):
    global received
    received += 1
    if options.info:
        print_line("info " + " ".join("{}={}".format(key, info[key]) for key in sorted(info)))
    print_line("got {} {}".format(received, to_json(message) if options.show else describe(message)))


with node("listener") as (this, spin_once):
    callbacks = events(SubscriptionEventCallbacks())
    this.create_subscription(named(options.type), options.topic, on_message, qos(options), event_callbacks=callbacks)
    print_line("ready")
    while options.count == 0 or received < options.count:
        spin_once()
    print_line("done")
