"""Publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays until a signal ends it.

Prints `ready` once it publishes, and what happens to the publisher (see `events`)."""
import os
import time

from rclpy.event_handler import PublisherEventCallbacks

from common import describe, events, node, parsed, parser, qos, say
from values import from_json, named, numbered

words = parser()
words.add_argument("--rate", type=float, default=0.0, help="messages a second, 0 for no pause")
words.add_argument("--sizes", type=lambda list: [int(size) for size in list.split(",")], help="of the messages in turn")
words.add_argument("--size", type=int, default=0, help="bytes of text or data")
words.add_argument("--wait", type=int, default=1, help="subscriptions to wait for")
words.add_argument("--after", help="a file to wait for, too")
words.add_argument("--value", help="each message, as JSON")
options = parsed(words)
message_class = named(options.type)


def made(number):
    if options.value:
        return from_json(message_class, options.value)
    size = options.sizes[(number - 1) % len(options.sizes)] if options.sizes else options.size
    return numbered(message_class, number, size)


with node("talker") as (this, turn):
    callbacks = events(PublisherEventCallbacks())
    publisher = this.create_publisher(message_class, options.topic, qos(options), event_callbacks=callbacks)
    say("ready")
    while publisher.get_subscription_count() < options.wait or options.after and not os.path.exists(options.after):
        turn(0.02)
    number, due = 0, time.monotonic()
    while options.count == 0 or number < options.count:
        number += 1
        message = made(number)
        publisher.publish(message)
        say("sent {} {}".format(number, describe(message)))
        due += 1 / options.rate if options.rate else 0
        turn(0)
        while time.monotonic() < due:
            turn(due - time.monotonic())
    say("done")
    while True:
        turn()
