"""Calls services, one after another: each `SERVICE TYPE REQUEST` of its command line, with the request in JSON. Prints the
response of each in a line of JSON."""
import importlib
import sys

from rclpy.utilities import remove_ros_args

from common import node, print_line
from generated import NEEDS, prepare
from values import from_json, to_json


def service_class(name):
    package, kind, name = name.split("/")
    if package in NEEDS:
        prepare(package)
    return getattr(importlib.import_module("{}.{}".format(package, kind)), name)


with node("ask") as (this, turn):
    words = remove_ros_args(sys.argv)[1:]
    calls = list(zip(words[::3], words[1::3], words[2::3]))
    # All at once: each takes seconds to discover its server.
    kinds = {service: service_class(type_name) for service, type_name, _ in calls}
    clients = {service: this.create_client(kind, service) for service, kind in kinds.items()}
    for service, _, request in calls:
        while not clients[service].wait_for_service(timeout_sec=1.0):
            pass
        answer = clients[service].call_async(from_json(kinds[service].Request, request))
        while not answer.done():
            turn(0.1)
        print_line(to_json(answer.result()))
