"""Types of services and actions with values for their messages, from a file of JSON lines, and the programs that serve and use
them. Types that no wheel has are generated."""
import importlib
import json
import sys

from rclpy.utilities import remove_ros_args

from common import node, print_line
from generated import NEEDS, prepare
from values import from_plain


class Sample:
    """A type `PACKAGE/KIND/NAME`, served at /PACKAGE/NAME, and the messages of its parts, such as a goal or a request."""

    def __init__(self, line):
        self.values = json.loads(line)
        self.name = self.values["type"]
        package, kind, name = self.name.split("/")
        if package in NEEDS:
            prepare(package)
        self.type = getattr(importlib.import_module("{}.{}".format(package, kind)), name)
        self.path = "/{}/{}".format(package, name)

    def message(self, part):
        return from_plain(getattr(self.type, part.capitalize()), self.values[part])


def read(path):
    with open(path, encoding="utf-8") as file:
        return [Sample(line) for line in file]


def run(name, serve, use):
    """The program `NAME ROLE FILE`. As `server` it has `serve(node, sample)` create a server of each type, and spins. As
    `client` it has `use(node, sample, spin_once)` use the server of each type. Prints `ready` and, as a client, in the end
    `done`."""
    role, path = remove_ros_args(sys.argv)[1:3]
    samples = read(path)
    with node(name) as (this, spin_once):
        if role == "server":
            servers = [serve(this, sample) for sample in samples]
            print_line("ready")
            while servers:
                spin_once()
        print_line("ready")
        for sample in samples:
            use(this, sample, spin_once)
        print_line("done")
