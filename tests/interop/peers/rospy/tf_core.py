"""The original buffer of tf2 without a node: reads a file with a line of JSON for each transform and each look-up, and prints
the answer of each look-up as a line of JSON.

`{"set": [PARENT, CHILD, NANOSECONDS, [X, Y, Z], [X, Y, Z, W], IS_STATIC]}`, `{"look": [TARGET, SOURCE, NANOSECONDS]}`,
`{"full": [TARGET, NANOSECONDS, SOURCE, NANOSECONDS, FIXED]}`; `{"new": []}` begins with an empty buffer."""
import json
import sys

import rospy
import tf2_ros
from geometry_msgs.msg import TransformStamped

def empty():
    return tf2_ros.BufferCore(rospy.Duration(10))


def moment(nanoseconds):
    return rospy.Time(nanoseconds // 10**9, nanoseconds % 10**9)


def store(buffer, parent, child, nanoseconds, moved, turned, is_static):
    message = TransformStamped()
    message.header.frame_id, message.header.stamp, message.child_frame_id = parent, moment(nanoseconds), child
    translation, rotation = message.transform.translation, message.transform.rotation
    translation.x, translation.y, translation.z = moved
    rotation.x, rotation.y, rotation.z, rotation.w = turned
    (buffer.set_transform_static if is_static else buffer.set_transform)(message, "test")


def look(buffer, target, source, nanoseconds):
    return buffer.lookup_transform_core(target, source, moment(nanoseconds))


def full(buffer, target, target_time, source, source_time, fixed):
    return buffer.lookup_transform_full_core(target, moment(target_time), source, moment(source_time), fixed)


def answer(ask, buffer, words):
    try:
        found = ask(buffer, *words)
    except tf2_ros.TransformException as error:
        return {"error": type(error).__name__, "text": str(error)}
    moved, turned = found.transform.translation, found.transform.rotation
    stamp = found.header.stamp
    return {
        "stamp": stamp.secs * 10**9 + stamp.nsecs,
        "moved": [moved.x, moved.y, moved.z],
        "turned": [turned.x, turned.y, turned.z, turned.w],
    }


buffer = empty()
with open(sys.argv[1], encoding="utf-8") as lines:
    for line in lines:
        for word, words in json.loads(line).items():
            if word == "new":
                buffer = empty()
            elif word == "set":
                store(buffer, *words)
            else:
                print(json.dumps(answer({"look": look, "full": full}[word], buffer, words)))
