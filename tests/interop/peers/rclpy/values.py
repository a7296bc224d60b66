"""Messages of any type: by name, from and to plain values, and filled with distinct values."""
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
    """The class of `package/msg/Name`."""
    package, kind, name = name.split("/")
    return getattr(importlib.import_module("{}.{}".format(package, kind)), name)


def fields(message):
    """Name and type of each field; a message with none has a hidden one on the wire, which is left out."""
    types = zip(message.get_fields_and_field_types(), message.SLOT_TYPES)
    return [(name, kind) for name, kind in types if name != "structure_needs_at_least_one_member"]


def to_json(message):
    """The message in a line of JSON."""
    return json.dumps(plain(message), separators=(",", ":"))


def plain(value):
    if hasattr(value, "get_fields_and_field_types"):
        return {name: plain(getattr(value, name)) for name, _ in fields(value)}
    if isinstance(value, bytes):
        return value[0]
    if hasattr(value, "tolist"):
        return value.tolist()
    return [plain(element) for element in value] if isinstance(value, list) else value


def from_json(message_class, text):
    """The message from a line of JSON; missing fields have their default values."""
    return assembled(message_class, json.loads(text))


def assembled(message_class, values):
    message = message_class()
    types = dict(fields(message))
    for name, value in values.items():
        setattr(message, name, typed(types[name], value))
    return message


def typed(kind, value):
    if isinstance(kind, AbstractNestedType):
        return [typed(kind.value_type, element) for element in value]
    if isinstance(kind, NamespacedType):
        return assembled(class_of(kind), value)
    if isinstance(kind, BasicType) and kind.typename == "octet":
        return bytes([value])
    return value


def class_of(kind):
    return getattr(importlib.import_module(".".join(kind.namespaces)), kind.name)


class Filling:
    """Counts from a number on, and gives each value that is asked for the next one: `true` if it is odd; itself modulo 100
    for whole numbers; itself and a half; `s` or `w` and it. Sequences have two elements, or one if they may not have two."""

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
    """The message of a number: a text or bytes of a size for the types that have such, otherwise values that count from it."""
    if message_class is String:
        return String(data="hello {}".format(number).ljust(size, "."))
    if message_class is UInt8MultiArray:
        return UInt8MultiArray(data=array.array("B", pattern(number, size)))
    message = Filling(number).message(message_class)
    if hasattr(message, "step") and hasattr(message, "data"):
        message.height, message.width, message.step = 1, size, size
        message.data = array.array("B", pattern(number, size))
    return message


def pattern(number, size):
    whole = bytes((number + index) % 251 for index in range(251))
    return whole * (size // 251) + whole[: size % 251]
