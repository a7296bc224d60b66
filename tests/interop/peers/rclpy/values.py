"""Messages of any type: looked up by name, converted from and to JSON, and filled with distinct values."""
import array
import importlib
import json

from rosidl_parser.definition import (
    AbstractNestedType,
    AbstractString,
    AbstractWString,
    Array,
    BasicType,
    BoundedSequence,
    NamespacedType,
)
from std_msgs.msg import String, UInt8MultiArray


def named(name):
    """The class of `package/msg/Name`, or of the events of a service, `package/srv/Name_Event`."""
    package, kind, name = name.split("/")
    if kind == "srv" and name.endswith("_Event"):
        return named("{}/srv/{}".format(package, name[: -len("_Event")])).Event
    return getattr(importlib.import_module("{}.{}".format(package, kind)), name)


def fields(message):
    """Name and type of each field, without the hidden field of empty messages."""
    types = zip(message.get_fields_and_field_types(), message.SLOT_TYPES)
    return [(name, kind) for name, kind in types if name != "structure_needs_at_least_one_member"]


def to_json(message):
    """The message as one line of JSON."""
    return json.dumps(to_plain(message), separators=(",", ":"))


def to_plain(value):
    if hasattr(value, "get_fields_and_field_types"):
        return {name: to_plain(getattr(value, name)) for name, _ in fields(value)}
    if isinstance(value, bytes):
        return value[0]
    if hasattr(value, "tolist"):
        return value.tolist()
    return [to_plain(element) for element in value] if isinstance(value, list) else value


def from_json(message_class, text):
    """The message from a line of JSON; missing fields have their default values."""
    return from_plain(message_class, json.loads(text))


def from_plain(message_class, values):
    message = message_class()
    types = dict(fields(message))
    for name, value in values.items():
        setattr(message, name, field_value(types[name], value))
    return message


def field_value(kind, value):
    if isinstance(kind, AbstractNestedType):
        return [field_value(kind.value_type, element) for element in value]
    if isinstance(kind, NamespacedType):
        return from_plain(class_of(kind), value)
    if isinstance(kind, BasicType) and kind.typename == "octet":
        return bytes([value & 0xFF])
    return value


def class_of(kind):
    return getattr(importlib.import_module(".".join(kind.namespaces)), kind.name)


class Filler:
    """Fills fields with consecutive numbers: booleans are true for odd ones, integers are modulo 100, floats add 0.5, strings
    are `sN` or `wN`. Sequences have two elements, or fewer if bounded."""

    def __init__(self, number):
        self.number = number

    def message(self, message_class):
        message = message_class()
        for name, kind in fields(message):
            setattr(message, name, self.value(kind))
        return message

    def value(self, kind):
        if isinstance(kind, Array):
            return [self.value(kind.value_type) for _ in range(kind.size)]
        if isinstance(kind, AbstractNestedType):
            count = min(2, kind.maximum_size) if isinstance(kind, BoundedSequence) else 2
            return [self.value(kind.value_type) for _ in range(count)]
        if isinstance(kind, NamespacedType):
            return self.message(class_of(kind))
        number, self.number = self.number, self.number + 1
        if isinstance(kind, AbstractString):
            return "s{}".format(number)
        if isinstance(kind, AbstractWString):
            return "w{}".format(number)
        if kind.typename == "boolean":
            return number % 2 == 1
        if kind.typename in ("float", "double"):
            return number + 0.5
        return bytes([number % 100]) if kind.typename == "octet" else number % 100


def numbered(message_class, number, size):
    """Message `number`: text or bytes of the given size for types with such a field, otherwise values that count from it."""
    if message_class is String:
        return String(data="hello {}".format(number).ljust(size, "."))
    if message_class is UInt8MultiArray:
        return UInt8MultiArray(data=array.array("B", pattern(number, size)))
    message = Filler(number).message(message_class)
    if hasattr(message, "step") and hasattr(message, "data"):
        message.height, message.width, message.step = 1, size, size
        message.data = array.array("B", pattern(number, size))
    return message


def pattern(number, size):
    period = bytes((number + index) % 251 for index in range(251))
    return period * (size // 251) + period[: size % 251]
