"""Republishes each message of /there/PACKAGE/NAME on /back/PACKAGE/NAME once that has a subscription, for every
`PACKAGE/msg/NAME` of the command line. Prints `ready` after subscribing to all, and `echoed TYPE` for each message."""
import sys
import time

from rclpy.utilities import remove_ros_args

from common import node, print_line
from values import named


def echo(this, name):
    path = name.replace("/msg/", "/")
    publisher = this.create_publisher(named(name), "/back/" + path, 10)

    def on_message(message):
        while publisher.get_subscription_count() == 0:
            time.sleep(0.01)
        publisher.publish(message)
        print_line("echoed " + name)

    this.create_subscription(named(name), "/there/" + path, on_message, 10)


with node("echo") as (this, spin_once):
    for name in remove_ros_args(sys.argv)[1:]:
        echo(this, name)
    print_line("ready")
    while True:
        spin_once()
