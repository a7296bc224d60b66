"""Waits for a service of std_srvs/SetBool and calls it `--count` times with true, then once with false, unless
`--once`. With `--introspect` it publishes its events. Prints `ready`, `found`, `answered SUCCESS MESSAGE` for each call, and
`done`. With `--stay` it does not end then, since the end of a process may lose its last messages."""
import argparse
import sys

from rclpy.utilities import remove_ros_args
from std_srvs.srv import SetBool

from common import introspect, node, print_line

options_parser = argparse.ArgumentParser()
options_parser.add_argument("service")
options_parser.add_argument("--count", type=int, default=1)
options_parser.add_argument("--once", action="store_true")
options_parser.add_argument("--introspect", action="store_true")
options_parser.add_argument("--stay", action="store_true")
options = options_parser.parse_args(remove_ros_args(sys.argv)[1:])

with node("caller") as (this, spin_once):
    client = this.create_client(SetBool, options.service)
    if options.introspect:
        introspect(this, client)
    print_line("ready")
    while not client.service_is_ready():
        spin_once(0.05)
    print_line("found")
    for data in [True] * options.count + [False] * (not options.once):
        answer = client.call_async(SetBool.Request(data=data))
        while not answer.done():
            spin_once(0.05)
        print_line("answered {} {}".format(answer.result().success, answer.result().message))
    print_line("done")
    while options.stay:
        spin_once(0.05)
