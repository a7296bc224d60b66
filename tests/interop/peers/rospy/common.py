"""Shared parts of talker.py and listener.py: command-line options, messages, and their canonical bytes."""
import argparse
import io
import os
import threading
import zlib

import rospy
from geometry_msgs.msg import Twist
from sensor_msgs.msg import Image
from std_msgs.msg import String, UInt8MultiArray


def string(number, size):
    return String(data="hello {}".format(number).ljust(size, "."))


def octets(number, size):
    return UInt8MultiArray(data=pattern(number, size))


def image(number, size):
    message = Image(height=1, width=size, encoding="mono8", step=size, data=pattern(number, size))
    message.header.stamp = rospy.Time(number, number * 1000)
    message.header.frame_id = "camera"
    return message


def twist(number, _size):
    message = Twist()
    message.linear.x, message.linear.y, message.linear.z = number, number / 2, number / 4
    message.angular.x, message.angular.y, message.angular.z = -number, 0.1, 1e-300
    return message


def pattern(number, size):
    return bytes((number + index) % 251 for index in range(251)) * (size // 251) + bytes(
        (number + index) % 251 for index in range(size % 251)
    )


TYPES = {
    "std_msgs/String": (String, string),
    "std_msgs/UInt8MultiArray": (UInt8MultiArray, octets),
    "sensor_msgs/Image": (Image, image),
    "geometry_msgs/Twist": (Twist, twist),
}


def arguments(*options):
    """The parsed command line: a topic, a type, a count, and `options` (name, type, default)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("topic")
    parser.add_argument("--type", default="std_msgs/String", choices=TYPES)
    parser.add_argument("--count", type=int, default=0, help="number of messages, 0: without end")
    for name, kind, default in options:
        if kind is bool:
            parser.add_argument(name, action="store_true")
        else:
            parser.add_argument(name, type=kind, default=default)
    return parser.parse_args(rospy.myargv()[1:])


def start(name):
    """Creates the node. The returned event is set once it has unregistered: a process that exits earlier stays registered."""
    unregistered = threading.Event()
    rospy.init_node(name)
    # Hooks run in the order in which they were added: rospy's own were added before.
    rospy.core.add_shutdown_hook(lambda _reason: unregistered.set())
    return unregistered


def action_name():
    """The action name of the command line."""
    return rospy.myargv()[1]


def answer_when_connected(server):
    """Delays goals until the client receives feedback and results: rospy reports a subscriber as connected before it sends
    to it."""
    accept = server.internal_goal_callback

    def wait_and_accept(goal):
        client = goal._connection_header["callerid"]
        while not all(topic.impl.has_connection(client) for topic in [server.feedback_pub, server.result_pub]):
            rospy.sleep(0.01)
        accept(goal)

    server.internal_goal_callback = wait_and_accept


def describe(message):
    """Length and CRC-32 of the serialized message, with Header.seq as 0, since publishers overwrite it."""
    sequence = None
    if hasattr(message, "header"):
        sequence, message.header.seq = message.header.seq, 0
    buffer = io.BytesIO()
    message.serialize(buffer)
    if sequence is not None:
        message.header.seq = sequence
    body = buffer.getvalue()
    return "len {} crc {:08x}".format(len(body), zlib.crc32(body))


def print_line(line):
    """Prints a line in one write: callbacks on other threads print, too."""
    os.write(1, (line + "\n").encode())
