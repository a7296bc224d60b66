"""Publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays until a signal ends it. With
`--dispose`, the instances of keyed messages are disposed of before that."""
import os
import time

from cyclonedds.pub import DataWriter

from peer import TYPES, Events, Keyed, describe, ended, numbered, parser, qos, say, topic

words = parser()
words.add_argument("--rate", type=float, default=0.0)
words.add_argument("--sizes", type=lambda list: [int(size) for size in list.split(",")], help="of the messages in turn")
words.add_argument("--size", type=int, default=0)
words.add_argument("--wait", type=int, default=1)
words.add_argument("--after")
words.add_argument("--dispose", action="store_true")
options = words.parse_args()

events = Events()
participant, place = topic(options)
writer = DataWriter(participant, place, qos=qos(options), listener=events)
say("ready")
while events.matched < options.wait or options.after and not os.path.exists(options.after):
    if ended.wait(0.01):
        break
number = 0
while not ended.is_set() and (options.count == 0 or number < options.count):
    number += 1
    size = options.sizes[(number - 1) % len(options.sizes)] if options.sizes else options.size
    message = numbered(TYPES[options.type], number, size)
    writer.write(message)
    say("sent {} {}".format(number, describe(message)))
    if options.rate:
        time.sleep(1 / options.rate)
if options.dispose and options.type == "runnel_test/msg/Keyed":
    for instance in range(3):
        writer.dispose(Keyed(instance, ""))
say("done")
ended.wait()
