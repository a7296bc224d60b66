"""Nodes with tf2_ros: `transforms.py broadcast` broadcasts one static and some moving transforms, and prints `sent` when both topics
have a subscriber and all are published; `transforms.py look TARGET SOURCE SECONDS ...` waits for each transform (seconds 0: the
latest) and prints `X Y Z QX QY QZ QW` for it, or the name of the error."""
import math

import rospy
import tf2_ros
from geometry_msgs.msg import TransformStamped

from common import print_line, start


def stamped(parent, child, tenths, x, yaw):
    """A transform along x with a rotation about z."""
    message = TransformStamped()
    message.header.frame_id, message.child_frame_id = parent, child
    message.header.stamp = rospy.Time(tenths // 10, tenths % 10 * 100_000_000)
    message.transform.translation.x = x
    message.transform.rotation.z, message.transform.rotation.w = math.sin(yaw / 2), math.cos(yaw / 2)
    return message


def broadcast(gone):
    moving, fixed = tf2_ros.TransformBroadcaster(), tf2_ros.StaticTransformBroadcaster()
    fixed.sendTransform(stamped("base", "camera", 0, 1, 0.5))
    print_line("ready")
    while moving.pub_tf.get_num_connections() == 0 or fixed.pub_tf.get_num_connections() == 0:
        gone.wait(0.02)
    for step in range(50):
        moving.sendTransform(stamped("odom", "base", 10_000 + step, step, step / 100))
    print_line("sent")
    rospy.spin()


def look(words):
    buffer = tf2_ros.Buffer()
    _listener = tf2_ros.TransformListener(buffer)
    print_line("ready")
    for target, source, seconds in zip(words[::3], words[1::3], words[2::3]):
        moment = rospy.Time.from_sec(float(seconds))
        try:
            found = buffer.lookup_transform(target, source, moment, rospy.Duration(60)).transform
        except tf2_ros.TransformException as error:
            print_line(type(error).__name__)
            continue
        moved, turned = found.translation, found.rotation
        numbers = [moved.x, moved.y, moved.z, turned.x, turned.y, turned.z, turned.w]
        print_line(" ".join("{:.6f}".format(number) for number in numbers))


gone = start("transforms")
role, *words = rospy.myargv()[1:]
if role == "broadcast":
    broadcast(gone)
else:
    look(words)
