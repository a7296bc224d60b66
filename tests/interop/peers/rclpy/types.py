"""Reads lines of JSON from a file: {"type": "std_msgs/msg/String", "value": {..}, "payload": "hex"}.

For each, prints rclpy's payload of the value, whether rclpy reads that value from the given payload, and the payload of a
default message: {"payload": "hex", "same": true, "default": "hex"}. Prints null for a type that is not installed.
"""
import importlib
import json
import operator
import sys

import rosidl_parser.definition as idl
from rclpy.serialization import deserialize_message, serialize_message

# Runnel's names of the fields of times.
TIME_PARTS = {"sec": "secs", "nanosec": "nsecs"}

# rclpy's paths of the generated messages of an action.
ACTION_PARTS = {
    "FeedbackMessage": "Impl.FeedbackMessage",
    "SendGoal_Request": "Impl.SendGoalService.Request",
    "SendGoal_Response": "Impl.SendGoalService.Response",
    "GetResult_Request": "Impl.GetResultService.Request",
    "GetResult_Response": "Impl.GetResultService.Response",
}


def message_class(name):
    package, folder, name = name.split("/")
    try:
        module = importlib.import_module("{}.{}".format(package, folder))
    except ModuleNotFoundError:
        return None
    name, _, part = name.partition("_") if folder != "msg" else (name, "", "")
    found = getattr(module, name, None)
    path = ACTION_PARTS.get(part, part)
    return operator.attrgetter(path)(found) if path and found else found


def element(slot_type, value):
    if isinstance(slot_type, idl.NamespacedType):
        return fill(message_class("/".join(slot_type.namespaced_name())), value)
    if isinstance(slot_type, idl.BasicType) and slot_type.typename == "octet":
        return bytes([value & 0xFF])
    return value


def fill(cls, value):
    message = cls()
    for field, slot_type in zip(cls.get_fields_and_field_types(), cls.SLOT_TYPES):
        if field == "structure_needs_at_least_one_member":
            continue
        part = value[TIME_PARTS.get(field) if "secs" in value else field]
        if isinstance(slot_type, idl.AbstractNestedType):
            part = [element(slot_type.value_type, one) for one in part]
        else:
            part = element(slot_type, part)
        setattr(message, field, part)
    return message


def result_of(case):
    cls = message_class(case["type"])
    if cls is None:
        return None
    message = fill(cls, case["value"])
    same = deserialize_message(bytes.fromhex(case["payload"]), cls) == message
    written = {"payload": message, "default": cls()}
    return {"same": bool(same), **{name: serialize_message(one).hex() for name, one in written.items()}}


with open(sys.argv[1]) as lines:
    for line in lines:
        print(json.dumps(result_of(json.loads(line))))
