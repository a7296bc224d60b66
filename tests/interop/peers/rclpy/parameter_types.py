"""Parameters of each type. With the name of a node: reads and sets its parameters, prints `same` for each value that is read
back as it was set, and `refused REASON` for each bad one. Without: a node with a parameter of each type, which prints
`ready`. Parameters have the names of their types."""
import argparse
import sys

from rcl_interfaces.msg import Parameter as ParameterMessage, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.utilities import remove_ros_args

from common import node, print_line

VALUES = {
    "bool": False,
    "integer": 2**63 - 1,
    "double": -1e300,
    "string": "text",
    "byte_array": [b"\x01", b"\xc8"],
    "bool_array": [False, True, True],
    "integer_array": [-(2**63), 7],
    "double_array": [0.5],
    "string_array": ["x", "y", "z"],
}
words = argparse.ArgumentParser()
words.add_argument("node", nargs="?")
options = words.parse_args(remove_ros_args(sys.argv)[1:])


def typed(name):
    return Parameter(name, Parameter.Type[name.upper()], VALUES[name])


def use(this, turn):
    client = AsyncParameterClient(this, options.node)
    raw = this.create_client(SetParameters, options.node + "/set_parameters")
    print_line("ready")
    while not (client.services_are_ready() and raw.service_is_ready()):
        turn(0.05)

    def answer(future):
        while not future.done():
            turn(0.05)
        return future.result()

    for name in VALUES:
        wanted = typed(name)
        set_one = answer(client.set_parameters([wanted])).results[0]
        got = answer(client.get_parameters([name])).values[0]
        same = set_one.successful and got == wanted.get_parameter_value()
        print_line("same" if same else "{} {} {}".format(name, set_one.reason, got))
    messages = [
        Parameter(name, value=value).to_parameter_msg()
        for name, value in [
            ("count", 12),
            ("count", 3),
            ("count", 2.0),
            ("bool", 1),
            ("integer_array", ["a"]),
            ("byte_array", "x"),
            ("bool", None),
            ("nope", 1),
            ("", 1),
        ]
    ]
    messages.append(ParameterMessage(name="bool", value=ParameterValue(type=77)))
    for result in answer(raw.call_async(SetParameters.Request(parameters=messages))).results:
        print_line("set" if result.successful else "refused {}".format(result.reason))
    print_line("done")


with node("parameter_types", start_parameter_services=True) as (this, turn):
    if options.node:
        use(this, turn)
    else:
        for name in VALUES:
            this.declare_parameter(name, typed(name).value)
        print_line("ready")
        while True:
            turn()
