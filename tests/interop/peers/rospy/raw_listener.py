"""Subscribes to topics of any type: `raw_listener.py TOPIC...`. Prints `got TOPIC len L crc C` with the received bytes of each
message, and ends at a signal."""
import zlib

import rospy

from common import print_line, start


def on_message(message, topic):
    print_line("got {} len {} crc {:08x}".format(topic, len(message._buff), zlib.crc32(message._buff)))


unregistered = start("raw_listener")
subscribers = [
    rospy.Subscriber(topic, rospy.AnyMsg, on_message, callback_args=topic) for topic in rospy.myargv()[1:]
]
print_line("ready")
rospy.spin()
unregistered.wait()
