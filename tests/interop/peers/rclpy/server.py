"""Provides a service of std_srvs/SetBool: the response to true holds the number of the call, false fails. Prints `ready`,
and `asked N` for each call. With `--introspect` it publishes its events."""
import argparse
import sys

from rclpy.utilities import remove_ros_args
from std_srvs.srv import SetBool

from common import introspect, node, print_line

options_parser = argparse.ArgumentParser()
options_parser.add_argument("service")
options_parser.add_argument("--introspect", action="store_true")
options = options_parser.parse_args(remove_ros_args(sys.argv)[1:])
calls = 0


def answer(request, response):
    global calls
    calls += 1
    print_line("asked {}".format(calls))
    response.success = request.data
    response.message = "call {}".format(calls) if request.data else "it must stay on"
    return response


with node("server") as (this, spin_once):
    service = this.create_service(SetBool, options.service, answer)
    if options.introspect:
        introspect(this, service)
    print_line("ready")
    while True:
        spin_once()
