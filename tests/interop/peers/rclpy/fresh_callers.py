"""Calls a service of std_srvs/SetBool with `--count` fresh nodes, one call each, and then one of std_srvs/Empty, if
`--empty` names it. Prints `ready`, `answered N` for each call, and `done`."""
import argparse
import sys

import rclpy
from rclpy.utilities import remove_ros_args
from std_srvs.srv import Empty, SetBool

from common import node, say

words = argparse.ArgumentParser()
words.add_argument("service")
words.add_argument("--count", type=int, default=1)
words.add_argument("--empty")
options = words.parse_args(remove_ros_args(sys.argv)[1:])


def call(this, kind, service, request):
    """The response to one call, once it is there."""
    client = this.create_client(kind, service)
    while not client.wait_for_service(0.1):
        pass
    answer = client.call_async(request)
    rclpy.spin_until_future_complete(this, answer)
    this.destroy_client(client)
    return answer.result()


with node("callers") as (this, turn):
    say("ready")
    for number in range(options.count):
        fresh = rclpy.create_node("fresh_{}".format(number), use_global_arguments=False)
        assert call(fresh, SetBool, options.service, SetBool.Request(data=True)).success
        fresh.destroy_node()
        say("answered {}".format(number))
    if options.empty:
        call(this, Empty, options.empty, Empty.Request())
        say("answered empty")
    say("done")
