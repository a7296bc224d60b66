"""Provides a service of std_srvs/SetBool: true is answered with the number of the call, false fails. Prints `ready`, and
`asked N` for each call."""
import argparse
import sys

from rclpy.utilities import remove_ros_args
from std_srvs.srv import SetBool

from common import node, say

words = argparse.ArgumentParser()
words.add_argument("service")
options = words.parse_args(remove_ros_args(sys.argv)[1:])
calls = 0


def answer(request, response):
    global calls
    calls += 1
    say("asked {}".format(calls))
    response.success = request.data
    response.message = "call {}".format(calls) if request.data else "it must stay on"
    return response


with node("server") as (this, turn):
    this.create_service(SetBool, options.service, answer)
    say("ready")
    while True:
        turn()
