"""Publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays until a signal. With
`--dispose`, disposes the instances of keyed messages before `done`."""
import os
import time

from cyclonedds.pub import DataWriter

from peer import TYPES, Events, Keyed, describe, ended, numbered, parser, print_line, qos, topic

options_parser = parser()
options_parser.add_argument("--rate", type=float, default=0.0)
options_parser.add_argument(
    "--sizes", type=lambda list: [int(size) for size in list.split(",")], help="sizes of messages, round-robin"
)
options_parser.add_argument("--size", type=int, default=0)
options_parser.add_argument("--wait", type=int, default=1)
options_parser.add_argument("--after")
options_parser.add_argument("--dispose", action="store_true")
options = options_parser.parse_args()

events = Events()
participant, topic_entity = topic(options)
writer = DataWriter(participant, topic_entity, qos=qos(options), listener=events)
print_line("ready")
while events.matched < options.wait or options.after and not os.path.exists(options.after):
    if ended.wait(0.01):
        break
number = 0
while not ended.is_set() and (options.count == 0 or number < options.count):
    number += 1
    size = options.sizes[(number - 1) % len(options.sizes)] if options.sizes else options.size
    message = numbered(TYPES[options.type], number, size)
    writer.write(message)
    print_line("sent {} {}".format(number, describe(message)))
    if options.rate:
        time.sleep(1 / options.rate)
if options.dispose and options.type == "runnel_test/msg/Keyed":
    for instance in range(3):
        writer.dispose(Keyed(instance, ""))
print_line("done")
ended.wait()
