"""Publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays until a signal.

Prints `ready` once it publishes, and events of the publisher (see `events`)."""
import os
import time

from rclpy.event_handler import PublisherEventCallbacks

from common import describe, events, node, parsed, parser, print_line, qos
from values import from_json, named, numbered

options_parser = parser()
options_parser.add_argument("--rate", type=float, default=0.0, help="messages per second, 0: without pauses")
options_parser.add_argument(
    "--sizes", type=lambda list: [int(size) for size in list.split(",")], help="sizes of messages, round-robin"
)
options_parser.add_argument("--size", type=int, default=0, help="bytes of text or data")
options_parser.add_argument("--wait", type=int, default=1, help="subscriptions to wait for")
options_parser.add_argument("--after", help="a file to wait for")
options_parser.add_argument("--value", help="each message, as JSON")
options = parsed(options_parser)
message_class = named(options.type)


def new_message(number):
    if options.value:
        return from_json(message_class, options.value)
    size = options.sizes[(number - 1) % len(options.sizes)] if options.sizes else options.size
    return numbered(message_class, number, size)


with node("talker") as (this, spin_once):
    callbacks = events(PublisherEventCallbacks())
    publisher = this.create_publisher(message_class, options.topic, qos(options), event_callbacks=callbacks)
    print_line("ready")
    while publisher.get_subscription_count() < options.wait or options.after and not os.path.exists(options.after):
        spin_once(0.02)
    number, due = 0, time.monotonic()
    while options.count == 0 or number < options.count:
        number += 1
        message = new_message(number)
        publisher.publish(message)
        print_line("sent {} {}".format(number, describe(message)))
        due += 1 / options.rate if options.rate else 0
        spin_once(0)
        while time.monotonic() < due:
            spin_once(due - time.monotonic())
    print_line("done")
    while True:
        spin_once()
