"""Uses the parameters of a node by rclpy's AsyncParameterClient. The node has declared rate (double, 1.0 to 100.0,
described), limits.low (integer), fixed (read-only text) and any (dynamic integer). Prints `ready`, one line for each
answer, `event NODE NAME` for each change that it receives, and `done`."""
import argparse
import sys

from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import qos_profile_parameter_events
from rclpy.utilities import remove_ros_args

from common import node, print_line

words = argparse.ArgumentParser()
words.add_argument("node")
options = words.parse_args(remove_ros_args(sys.argv)[1:])


def on_event(event):
    for parameter in event.changed_parameters:
        print_line("event {} {}".format(event.node, parameter.name))
    for parameter in event.deleted_parameters:
        print_line("deleted {} {}".format(event.node, parameter.name))


with node("parameter_client") as (this, turn):
    this.create_subscription(ParameterEvent, "/parameter_events", on_event, qos_profile_parameter_events)
    client = AsyncParameterClient(this, options.node)
    print_line("ready")
    while not (client.services_are_ready() and this.count_publishers("/parameter_events") == 2):
        turn(0.05)

    def answer(future):
        while not future.done():
            turn(0.05)
        return future.result()

    listed = answer(client.list_parameters([], 0)).result
    print_line("list {} {}".format(",".join(sorted(listed.names)), ",".join(sorted(listed.prefixes))))
    print_line("below {}".format(",".join(answer(client.list_parameters(["limits"], 1)).result.names)))
    got = answer(client.get_parameters(["rate", "limits.low", "fixed"])).values
    print_line("get {} {} {}".format(got[0].double_value, got[1].integer_value, got[2].string_value))
    print_line("unknown {}".format(len(answer(client.get_parameters(["rate", "nope"])).values)))
    print_line("types {}".format(list(answer(client.get_parameter_types(["rate", "any", "fixed"])).types)))
    rate, fixed = answer(client.describe_parameters(["rate", "fixed"])).descriptors
    at = rate.floating_point_range[0]
    print_line("describe {} {} {} {} {}".format(rate.name, rate.type, rate.description, at.from_value, at.to_value))
    print_line("read-only {} {}".format(rate.read_only, fixed.read_only))
    values = [("rate", 20.0), ("rate", 200.0), ("limits.low", "x"), ("fixed", "y"), ("nope", 1), ("rate", 50.0)]
    for result in answer(client.set_parameters([Parameter(name, value=value) for name, value in values])).results:
        print_line("set {} {}".format(result.successful, result.reason))
    group = [Parameter("rate", value=30.0), Parameter("limits.low", value=200)]
    result = answer(client.set_parameters_atomically(group)).result
    print_line("atomic {} {}".format(result.successful, result.reason))
    group = [Parameter("rate", value=40.0), Parameter("limits.low", value=7)]
    result = answer(client.set_parameters_atomically(group)).result
    print_line("atomic {} {}".format(result.successful, result.reason))
    result = answer(client.delete_parameters(["any"])).results[0]
    print_line("delete {} {}".format(result.successful, result.reason))
    got = answer(client.get_parameters(["rate", "limits.low"])).values
    print_line("finally {} {}".format(got[0].double_value, got[1].integer_value))
    for _ in range(20):
        turn(0.05)
    print_line("done")
