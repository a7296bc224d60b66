"""Subscribes to several topics: `topic_listener.py TOPIC=TYPE...`. Prints `got TOPIC len L crc C` for each message, in CDR, and
ends at a signal."""
import functools
import sys

from rclpy.qos import HistoryPolicy, QoSProfile
from rclpy.utilities import remove_ros_args

from common import describe, node, print_line
from generated import NEEDS, prepare
from values import named

ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL)


def message_class(name):
    package = name.split("/")[0]
    if package in NEEDS:
        prepare(package)
    return named(name)


def on_message(topic, message):
    print_line("got {} {}".format(topic, describe(message)))


with node("topic_listener") as (this, spin_once):
    for topic, name in (word.split("=") for word in remove_ros_args(sys.argv)[1:]):
        this.create_subscription(message_class(name), topic, functools.partial(on_message, topic), ALL)
    print_line("ready")
    while True:
        spin_once()
