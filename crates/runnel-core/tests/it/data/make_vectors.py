#!/usr/bin/python3
"""Writes rostopic.json: what the genpy, PyYAML and rostopic of ROS Noetic make of messages and of command lines.

Run it where those are installed:  ./make_vectors.py > rostopic.json
"""
import io
import json
import random

import genpy.message
import yaml
from genpy import Time
from genpy.dynamic import generate_dynamic
from genpy.message import fill_message_args, strify_message
from rostopic import _str_plot, _str_plot_fields, create_value_transform

RULE = "\n" + "=" * 80 + "\nMSG: "
HEADER = "std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id"
POINT = "geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z"
NOW = Time(100, 5)


def definition(*parts):
    return RULE.join(parts)


DEFINITIONS = {
    "std_msgs/String": "string data",
    "std_msgs/Bool": "bool data",
    "std_msgs/Byte": "byte data",
    "std_msgs/Char": "char data",
    "std_msgs/UInt8": "uint8 data",
    "std_msgs/Int32": "int32 data",
    "std_msgs/Int64": "int64 data",
    "std_msgs/UInt64": "uint64 data",
    "std_msgs/Float32": "float32 data",
    "std_msgs/Float64": "float64 data",
    "std_msgs/Time": "time data",
    "std_msgs/Duration": "duration data",
    "std_msgs/Empty": "",
    "std_msgs/ColorRGBA": "float32 r\nfloat32 g\nfloat32 b\nfloat32 a",
    "std_msgs/Header": "uint32 seq\ntime stamp\nstring frame_id",
    "std_msgs/UInt8MultiArray": definition(
        "MultiArrayLayout layout\nuint8[] data",
        "std_msgs/MultiArrayLayout\nMultiArrayDimension[] dim\nuint32 data_offset",
        "std_msgs/MultiArrayDimension\nstring label\nuint32 size\nuint32 stride"),
    "geometry_msgs/Twist": definition(
        "Vector3 linear\nVector3 angular", "geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z"),
    "geometry_msgs/Polygon": definition(
        "Point32[] points", "geometry_msgs/Point32\nfloat32 x\nfloat32 y\nfloat32 z"),
    "geometry_msgs/PoseStamped": definition(
        "Header header\nPose pose", HEADER, "geometry_msgs/Pose\nPoint position\nQuaternion orientation", POINT,
        "geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w"),
    "sensor_msgs/JointState": definition(
        "Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort", HEADER),
    "sensor_msgs/CompressedImage": definition("Header header\nstring format\nuint8[] data", HEADER),
    "sensor_msgs/Part": "float64[9] covariance\nint8[2] small\nbool[2] flags\nbyte[3] bytes",
    "diagnostic_msgs/DiagnosticArray": definition(
        "Header header\nDiagnosticStatus[] status", HEADER,
        "diagnostic_msgs/DiagnosticStatus\nbyte level\nstring name\nKeyValue[] values",
        "diagnostic_msgs/KeyValue\nstring key\nstring value"),
    "trajectory_msgs/JointTrajectory": definition(
        "string[] joint_names\nJointTrajectoryPoint[] points",
        "trajectory_msgs/JointTrajectoryPoint\nfloat64[] positions\nduration time_from_start"),
    "a/X": definition(
        "string[2] s\nbool[] b\nbool[2] b2\nbyte[3] y\nint8[2] i\nuint8[2] u\ntime[] t\nduration[1] d\nE e\nE[] es\n"
        "int64[] l\nfloat32[] f\nstring[] ss", "a/E\n"),
}
CLASSES = {name: generate_dynamic(name, text) for name, text in DEFINITIONS.items()}
for classes in CLASSES.values():
    # Elements of lists are made of classes that genpy looks up by name.
    genpy.message._message_class_cache.update(classes)


def make(type_name, /, *args, **fields):
    message = CLASSES[type_name][type_name]()
    fill_message_args(message, list(args) or [fields], keys={"now": NOW})
    return message


def to_bytes(message):
    buffer = io.BytesIO()
    message.serialize(buffer)
    return buffer.getvalue()


STRINGS = [
    "", "hello", "it's", 'say "hi"', "a\nb", "a\tb", "tab\\", "h\xe9llo", "\u65e5\u672c", "\x00\x07\x08\x0b\x0c\x1b",
    "\x7f\x85\xa0\u2028\u2029\ufeff", "\U0001f600", "123", "true", "a: b", "#c", " lead", "trail ", "x" * 200,
    "word " * 40, "a\n\nb\n", " \n ", "w\xf6rd " * 40, "long " * 15 + "\n" + "long " * 20, '"' * 100, "\xe9" * 100,
    "a" * 70 + " " + "b" * 70, "  " * 60, "\\" * 90, "/", "\r\n", "\xad\u061c\u200b\ud7ff\ue000\ufffd\uffff\U0010ffff",
    "- a", "#", "null", "~", "1.5", "1e5", "2020-01-01", "=", "<<", "yes", "y", "[a", "a,b", "a]", "a #b", "a:b", "!x",
    "&a", "*a", "%a", "@a", "`a", "?", "? a", ":", "-", "--", "---", "...", "|", ">", "{}", "a'b", "'", '"', "a\\b",
    "0x1F", "0o17", "017", "1_000", "12:30:45", "+1", ".5", "1.", ".inf", ".nan", "-.inf", "NaN", "inf", "1e+5",
    "1.0e+5", "No", "on", "OFF", "Null", "\t", "a\n", "\n", "a\n b", "a b\n", "it's " * 30, "it's\n" * 30,
    "a" * 79 + " b", "a" * 80 + " b", "a" * 78 + " b c", "2020-1-1 1:02:03", "b'x'", "k: \nv", "x:", "a? b",
]


def random_strings(count):
    alphabets = ["ab '", "ab \"\\\n", "a\xe9 ", "a: #-?\n", "01_.:eE+-", "abcdefgh      ", "\t\r\n a'", "xob017aF_-+",
                 "a\U0001f600\u2028 \"", "2019-:T Z.", ",[]{}&*!|>'\"%@` a", "aaaaaaaaaaaaaaaaaa '\n"]
    chance = random.Random(1)
    for _ in range(count):
        alphabet = chance.choice(alphabets)
        longest = chance.choice([3, 12, 120, 300])
        yield "".join(chance.choice(alphabet) for _ in range(chance.randint(0, longest)))


def messages():
    for text in STRINGS:
        yield make("std_msgs/String", data=text)
    yield make("sensor_msgs/JointState", name=STRINGS)
    yield make("sensor_msgs/JointState", name=list(random_strings(400)))
    for text in random_strings(150):
        yield make("std_msgs/String", data=text)
    for value in [0.0, -0.0, 1.0, 0.1, 1e16, 1e15, 1e22, 1e-4, 1e-5, 1.5e-7, 1e300, float("nan"), float("inf"),
                  -float("inf"), 5e-324, 9999999999999998.0, 16.0558624267578125]:
        yield make("std_msgs/Float64", data=value)
        if abs(value) < 1e38 or value != value or abs(value) == float("inf"):
            yield make("std_msgs/Float32", data=value)
    yield make("std_msgs/Bool", data=True)
    yield make("std_msgs/Byte", data=-5)
    yield make("std_msgs/Char", data=200)
    yield make("std_msgs/UInt64", data=2**64 - 1)
    yield make("std_msgs/Int64", data=-2**63)
    yield make("std_msgs/Empty")
    yield make("std_msgs/Time", data=[4294967295, 999999999])
    yield make("std_msgs/Duration", data=[-2, 5])
    yield make("std_msgs/Header", seq=4, stamp=[1700000000, 123456789], frame_id="map")
    yield make("geometry_msgs/PoseStamped")
    yield make("std_msgs/UInt8MultiArray", data=[1, 2, 255],
               layout={"dim": [["x", 1, 2], ["", 3, 4]], "data_offset": 1})
    yield make("std_msgs/UInt8MultiArray")
    yield make("geometry_msgs/Polygon", points=[[1, 2, 3], [4, 5, 6]])
    yield make("geometry_msgs/Polygon")
    yield make("sensor_msgs/JointState", name=["a"], position=[1.0, float("nan"), -float("inf")])
    yield make("sensor_msgs/CompressedImage", format="jpg", data=[97, 98, 99])
    yield make("sensor_msgs/Part")
    yield make("diagnostic_msgs/DiagnosticArray", header={"frame_id": "map"},
               status=[{"level": 1, "name": "n" * 90 + " x", "values": [["k", "v"], ["", ""]]}, {}])
    yield make("trajectory_msgs/JointTrajectory", joint_names=["a", "b"],
               points=[{"positions": [1.0, 2.0], "time_from_start": [1, 5]}, {"time_from_start": [-1, -5]}])
    yield make("a/X")
    yield make("a/X", s=["", '"'], b=[True, False], b2=[True, False], y=[1, -1, 0], i=[-1, 1], u=[1, 2],
               t=[[1, 2], [3, 4]], d=[[-1, -1]], es=[{}, {}], l=[2**63 - 1], f=[0.1], ss=["a", ""])


def echo(message):
    wire = to_bytes(message)
    received = type(message)()
    received.deserialize(wire)
    transformed = {
        "noarr": strify_message(create_value_transform(False, True)(received)),
        "nostr": strify_message(create_value_transform(True, False)(received)),
    }
    text = strify_message(received)
    different = {option: printed for option, printed in transformed.items() if printed != text}
    plot = {} if any(c in text for c in ',"\\') and "string" in message._full_text else {
        "plot": ["%" + _str_plot_fields(received, "field", None), _str_plot(received, None, NOW)]}
    return {"type": message._type, "wire": wire.hex(), "echo": text, **different, **plot}


COMMANDS = [
    ("std_msgs/String", ["hello", "data: hello", "data:", "1e5", "'data: \"a\\n\\u00e9\"'", "data: 'x: y'",
                         "{data: [a]}", "{data: {a: b}}", "nope: 1"]),
    ("std_msgs/Int32", ["0x1F", "017", "0b11", "1_000", "+5", "-0x10", "data: 3", "1.0", '"5"', "2147483648", "null",
                        "abc", "-2147483648", "99999999999999999999999999999999999999999999"]),
    ("std_msgs/UInt8", ["-1", "256", "255"]),
    ("std_msgs/Float32", ["1", "-.inf", "1_0.5", "2.5", '"1.5"', "1e300", "abc"]),
    ("std_msgs/Bool", ["yes", "off", "1", "0", "TRUE", "y", "3.5", "[]"]),
    ("std_msgs/Time", ["now", "data: {secs: 1}", "[1, 2]", "1500000000", "data: now", "data: [1, 2]", "auto", "1.5",
                       "-1", "[1]", "[-1, 0]", "[1, 2, 3]", "{secs: 1}", '"5"', "data: {q: 1}"]),
    ("std_msgs/Duration", ["[-1, 5]", "1500000000", "-1500000000", "data: {secs: -3, nsecs: 7}"]),
    ("std_msgs/Header", ["{stamp: now}", "{seq: 1, stamp: [1,2], frame_id: x}"]),
    ("geometry_msgs/PoseStamped", ["{header: auto, pose: {position: [1,2,3], orientation: [0,0,0,1]}}",
                                   "pose: {position: {x: 1, z: -2.5}}", "{header: now}",
                                   "pose: {position: {x: a}}", "pose: {position: {q: 1}}", "{header: }",
                                   "pose: {position: [1, 2]}", "pose: {position: [1, 2, 3, 4]}", "pose: 5"]),
    ("geometry_msgs/Twist", ["{}", "{linear: {x: 1}}", "[1,0,0]", "{linear: &a {x: 1}, angular: *a}"]),
    ("geometry_msgs/Polygon", ["[[1,2,3],[4,5,6]]", "{points: [{x: 1},[1,2,3]]}", "points: {x: 1}", "points: []",
                               "[[[1,2,3]]]", "points: a"]),
    ("std_msgs/UInt8MultiArray", ["{data: [1,2,255]}", "{data: [256]}", "{data: abc}"]),
    ("sensor_msgs/JointState", ['{name: [a, "b"], position: [1, 2.5]}', "{name: a}"]),
    ("sensor_msgs/Part", ["{covariance: [1,2,3]}", "{covariance: [1,2,3,4,5,6,7,8,9], flags: [yes, no]}",
                          "{small: [128, 0]}", "{bytes: [-128, 127, 0]}"]),
    ("std_msgs/Empty", ["{}"]),
    ("std_msgs/Char", ["65", "a"]),
    ("std_msgs/Byte", ["-5", "200"]),
]
COMMAND_LINES = [(name, [text]) for name, texts in COMMANDS for text in texts] + [
    ("std_msgs/String", ["a", "b"]),
    ("std_msgs/Header", ["1", "now", "map"]),
    ("std_msgs/Header", ["1", "now"]),
    ("geometry_msgs/Twist", ["[1,0,0]", "[0,0,1]"]),
    ("geometry_msgs/Twist", ["{x: 1}", "{z: 2}"]),
    ("geometry_msgs/Twist", ["[1,0]", "[0,0,1]"]),
    ("geometry_msgs/PoseStamped", ["auto", "[[1,2,3],[0,0,0,1]]"]),
    ("std_msgs/ColorRGBA", ["1", "0.5", "0", "1"]),
    ("trajectory_msgs/JointTrajectory", ["[a, b]", "[{positions: [1]}, [[1, 2], {secs: 3}]]"]),
    ("std_msgs/Empty", []),
]


def pub(name, arguments):
    message = CLASSES[name][name]()
    header = CLASSES["std_msgs/Header"]["std_msgs/Header"](stamp=NOW)
    try:
        keys = {"now": NOW, "auto": header}
        fill_message_args(message, [yaml.safe_load(argument) for argument in arguments], keys=keys)
        wire = to_bytes(message).hex()
    except Exception:
        wire = None
    return {"type": name, "arguments": arguments, "wire": wire}


def entries(items):
    return "[\n" + ",\n".join(json.dumps(item) for item in items) + "\n]"


print('{\n"definitions": ' + json.dumps(DEFINITIONS, indent=1) + ',\n"echo": ' + entries(map(echo, messages()))
      + ',\n"pub": ' + entries(pub(*line) for line in COMMAND_LINES) + "\n}")
