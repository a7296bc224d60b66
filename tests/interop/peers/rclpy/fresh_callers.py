"""Calls a service of std_srvs/SetBool from `--count` fresh participants, or with `--one` from as many fresh nodes of one
participant, one call each, and then one of std_srvs/Empty, if `--empty` names it. Prints `ready`, `answered N` for each call, and `done`."""
import argparse
import sys

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.utilities import remove_ros_args
from std_srvs.srv import Empty, SetBool

from common import node, print_line

words = argparse.ArgumentParser()
words.add_argument("service")
words.add_argument("--count", type=int, default=1)
words.add_argument("--one", action="store_true")
words.add_argument("--empty")
options = words.parse_args(remove_ros_args(sys.argv)[1:])


def call(number, kind, service, request):
    """The response to one call from a node of its own, once it is there."""
    context = rclpy.get_default_context() if options.one else rclpy.Context()
    if not options.one:
        rclpy.init(context=context)
    this = rclpy.create_node("fresh_{}".format(number), context=context, use_global_arguments=False)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(this)
    client = this.create_client(kind, service)
    while not client.wait_for_service(0.1):
        pass
    answer = client.call_async(request)
    executor.spin_until_future_complete(answer)
    executor.remove_node(this)
    this.destroy_node()
    if not options.one:
        rclpy.shutdown(context=context)
    return answer.result()


with node("callers"):
    print_line("ready")
    for number in range(options.count):
        assert call(number, SetBool, options.service, SetBool.Request(data=True)).success
        print_line("answered {}".format(number))
    if options.empty:
        call("empty", Empty, options.empty, Empty.Request())
        print_line("answered empty")
    print_line("done")
