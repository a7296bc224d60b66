"""Calls a service of std_srvs/SetBool once it is there: `--count` times with true, then once with false. Prints `ready`,
`found`, `answered SUCCESS MESSAGE` for each call, and `done`."""
import argparse
import sys

from rclpy.utilities import remove_ros_args
from std_srvs.srv import SetBool

from common import node, say

words = argparse.ArgumentParser()
words.add_argument("service")
words.add_argument("--count", type=int, default=1)
options = words.parse_args(remove_ros_args(sys.argv)[1:])

with node("caller") as (this, turn):
    client = this.create_client(SetBool, options.service)
    say("ready")
    while not client.service_is_ready():
        turn(0.05)
    say("found")
    for data in [True] * options.count + [False]:
        answer = client.call_async(SetBool.Request(data=data))
        while not answer.done():
            turn(0.05)
        say("answered {} {}".format(answer.result().success, answer.result().message))
    say("done")
