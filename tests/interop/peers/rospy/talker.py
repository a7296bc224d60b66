"""Publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays until a signal ends it."""
import rospy

from common import TYPES, arguments, describe, say, start

options = arguments(
    ("--rate", float, 0.0),
    ("--size", int, 0),
    ("--wait", int, 1),
    ("--queue", int, 1000),
    ("--latch", bool, False),
)
message_class, make = TYPES[options.type]
gone = start("talker")
publisher = rospy.Publisher(options.topic, message_class, queue_size=options.queue, latch=options.latch)
say("ready")
while publisher.get_num_connections() < options.wait and not rospy.is_shutdown():
    rospy.sleep(0.01)
pace = rospy.Rate(options.rate) if options.rate else None
number = 0
while not rospy.is_shutdown() and (options.count == 0 or number < options.count):
    number += 1
    message = make(number, options.size)
    description = describe(message)
    publisher.publish(message)
    say("sent {} {}".format(number, description))
    if pace:
        pace.sleep()
say("done")
rospy.spin()
gone.wait()
