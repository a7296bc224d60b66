"""Types of services and actions with values for their messages, from a file of JSON lines. Those that no wheel has are
generated."""
import importlib
import json

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
