"""Republishes each message of /there/PACKAGE/NAME on /back/PACKAGE/NAME, for every `PACKAGE/msg/NAME` of its
command line, once it has a subscription. Prints `ready` once it is subscribed to all, and `echoed TYPE` for each message."""
import sys
import time

from rclpy.utilities import remove_ros_args

from common import node, say
from values import named


def echo(this, name):
    place = name.replace("/msg/", "/")
    publisher = this.create_publisher(named(name), "/back/" + place, 10)

    def on_message(message):
        while publisher.get_subscription_count() == 0:
            time.sleep(0.01)
        publisher.publish(message)
        say("echoed " + name)

    this.create_subscription(named(name), "/there/" + place, on_message, 10)


with node("echo") as (this, turn):
    for name in remove_ros_args(sys.argv)[1:]:
        echo(this, name)
    say("ready")
    while True:
        turn()
