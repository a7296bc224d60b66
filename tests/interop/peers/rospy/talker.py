"""Publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays until a signal."""
import rospy

from common import TYPES, arguments, describe, print_line, start

options = arguments(
    ("--rate", float, 0.0),
    ("--size", int, 0),
    ("--wait", int, 1),
    ("--queue", int, 1000),
    ("--latch", bool, False),
)
message_class, make = TYPES[options.type]
unregistered = start("talker")
publisher = rospy.Publisher(options.topic, message_class, queue_size=options.queue, latch=options.latch)
print_line("ready")
while publisher.get_num_connections() < options.wait and not rospy.is_shutdown():
    rospy.sleep(0.01)
pace = rospy.Rate(options.rate) if options.rate else None
number = 0
while not rospy.is_shutdown() and (options.count == 0 or number < options.count):
    number += 1
    message = make(number, options.size)
    description = describe(message)
    publisher.publish(message)
    print_line("sent {} {}".format(number, description))
    if pace:
        pace.sleep()
print_line("done")
rospy.spin()
unregistered.wait()
