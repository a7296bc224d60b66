"""Publishes times on /clock: each `SECONDS` of its command line, every 20 ms until the file `GATE` with its number behind,
from 0, is there. Prints `ready` once it has a subscription."""
import argparse
import os
import sys
import time

from rclpy.utilities import remove_ros_args
from rosgraph_msgs.msg import Clock

from common import node, print_line

words = argparse.ArgumentParser()
words.add_argument("gate")
words.add_argument("times", type=int, nargs="+")
options = words.parse_args(remove_ros_args(sys.argv)[1:])

with node("clock") as (this, _):
    publisher = this.create_publisher(Clock, "/clock", 1)
    while publisher.get_subscription_count() == 0:
        time.sleep(0.01)
    print_line("ready")
    for index, seconds in enumerate(options.times):
        message = Clock()
        message.clock.sec = seconds
        while not os.path.exists("{}{}".format(options.gate, index)):
            publisher.publish(message)
            time.sleep(0.02)
