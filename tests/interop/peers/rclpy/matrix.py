"""Creates an endpoint of every profile on one topic: `matrix.py TOPIC writers|readers TAG`.

A profile is a number from 0 to 71, whose digits select the policies. Writers are created from the weakest offer to the
strongest, readers from the strongest request to the weakest. An endpoint that has matched the last one has discovered all.

Each writer publishes `TAG N` every second. Prints `ready`, `N matched NOW` and `N refused TOTAL` for endpoint N, and at
readers `N heard TAG W` for the first message of each writer."""
import sys

from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy
from rclpy.utilities import remove_ros_args
from std_msgs.msg import String

from common import node, print_line

PROFILES = 72
# More messages than writers publish before a reader takes them.
DEPTH = 1000
# Offers of short times satisfy every request.
SECONDS = [None, 120, 60]


def profile(number):
    qos = QoSProfile(
        history=HistoryPolicy.KEEP_ALL if number % 5 == 0 else HistoryPolicy.KEEP_LAST,
        depth=DEPTH,
        reliability=[ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE][number % 2],
        durability=[DurabilityPolicy.VOLATILE, DurabilityPolicy.TRANSIENT_LOCAL][number // 2 % 2],
        liveliness=[LivelinessPolicy.AUTOMATIC, LivelinessPolicy.MANUAL_BY_TOPIC][number // 4 % 2],
    )
    deadline, lease = SECONDS[number // 8 % 3], SECONDS[number // 24]
    if deadline:
        qos.deadline = Duration(seconds=deadline)
    if lease:
        qos.liveliness_lease_duration = Duration(seconds=lease)
    return qos


def printing(callbacks, number):
    callbacks.matched = lambda event: print_line("{} matched {}".format(number, event.current_count))
    callbacks.incompatible_qos = lambda event: print_line("{} refused {}".format(number, event.total_count))
    return callbacks


def writers(this, topic, tag):
    endpoints = [
        this.create_publisher(
            String, topic, profile(number), event_callbacks=printing(PublisherEventCallbacks(), number)
        )
        for number in range(PROFILES)
    ]

    def publish():
        for number, publisher in enumerate(endpoints):
            publisher.publish(String(data="{} {}".format(tag, number)))

    this.create_timer(1.0, publish)


def readers(this, topic, _tag):
    for number in reversed(range(PROFILES)):
        heard = set()

        def on_message(message, number=number, heard=heard):
            if message.data not in heard:
                heard.add(message.data)
                print_line("{} heard {}".format(number, message.data))

        this.create_subscription(
            String, topic, on_message, profile(number), event_callbacks=printing(SubscriptionEventCallbacks(), number)
        )


topic, role, tag = remove_ros_args(sys.argv)[1:]
with node("matrix") as (this, spin_once):
    {"writers": writers, "readers": readers}[role](this, topic, tag)
    print_line("ready")
    while True:
        spin_once()
