"""Provides a service of test_msgs/srv/BasicTypes, which publishes its calls as contents, and with `--no-events` does not:
the response holds the request's string and number. Prints `ready`, and `asked` for each call."""
import argparse
import sys

from rclpy.qos import QoSProfile
from rclpy.service_introspection import ServiceIntrospectionState
from rclpy.utilities import remove_ros_args
from test_msgs.srv import BasicTypes

from common import node, print_line

options_parser = argparse.ArgumentParser()
options_parser.add_argument("service")
options_parser.add_argument("--no-events", action="store_true")
options = options_parser.parse_args(remove_ros_args(sys.argv)[1:])


def answer(request, response):
    print_line("asked")
    response.string_value = request.string_value
    response.int32_value = request.int32_value
    response.float64_value = request.float64_value
    return response


with node("server") as (this, spin_once):
    service = this.create_service(BasicTypes, options.service, answer)
    if not options.no_events:
        service.configure_introspection(this.get_clock(), QoSProfile(depth=10), ServiceIntrospectionState.CONTENTS)
    print_line("ready")
    while True:
        spin_once()
