"""Transforms as tf2_ros for rclpy sends and receives them: `transforms.py broadcast` publishes one static and some moving
transforms and prints `sent` when both topics have `--wait` subscriptions (1) and all are published; `transforms.py listen` prints
each transform as JSON. Both use the topics and the quality of service of tf2_ros."""
import argparse
import math

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile

from common import node, parsed, print_line
from generated import prepare
from values import to_json

prepare("tf2_msgs")
from tf2_msgs.msg import TFMessage  # noqa: E402

DYNAMIC = QoSProfile(depth=100)
STATIC = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
STATIC_OF_LISTENER = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def stamped(parent, child, tenths, x, yaw):
    """A transform along x with a rotation about z."""
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    message.header.stamp = Time(sec=tenths // 10, nanosec=tenths % 10 * 100_000_000)
    message.transform.translation.x = float(x)
    message.transform.rotation.z, message.transform.rotation.w = math.sin(yaw / 2), math.cos(yaw / 2)
    return message


def broadcast(this, turn, wait):
    moving = this.create_publisher(TFMessage, "/tf", DYNAMIC)
    fixed = this.create_publisher(TFMessage, "/tf_static", STATIC)
    fixed.publish(TFMessage(transforms=[stamped("base", "camera", 0, 1, 0.5)]))
    print_line("ready")
    while min(moving.get_subscription_count(), fixed.get_subscription_count()) < wait:
        turn(0.02)
    for step in range(50):
        moving.publish(TFMessage(transforms=[stamped("odom", "base", 10_000 + step, step, step / 100)]))
        turn(0)
    print_line("sent")
    while True:
        turn()


def listen(this, turn):
    def on_message(message):
        for transform in message.transforms:
            print_line(to_json(transform))

    this.create_subscription(TFMessage, "/tf", on_message, DYNAMIC)
    this.create_subscription(TFMessage, "/tf_static", on_message, STATIC_OF_LISTENER)
    print_line("ready")
    while True:
        turn()


words = argparse.ArgumentParser()
words.add_argument("role", choices=["broadcast", "listen"])
words.add_argument("--wait", type=int, default=1, help="subscriptions to wait for on each topic")
options = parsed(words)
with node("transforms") as (this, turn):
    if options.role == "broadcast":
        broadcast(this, turn, options.wait)
    else:
        listen(this, turn)
