"""Makes an endpoint of every profile on one topic: `matrix.py TOPIC writers|readers TAG`.

A profile is a number from 0 to 71, whose digits choose the policies. Writers are made from the weakest offer to the
strongest, readers from the strongest request to the weakest: an endpoint that has matched the last has discovered all.

Each writer publishes `TAG N` every second. Prints `ready`, `N matched NOW` and `N refused TOTAL` for endpoint N, and at
readers `N heard TAG W` when the first message of a writer comes."""
import sys

from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy
from rclpy.utilities import remove_ros_args
from std_msgs.msg import String

from common import node, say

PROFILES = 72
# More than all that writers publish before a reader takes it.
DEPTH = 1000
# Offers of short times serve every request.
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


def told(callbacks, number):
    callbacks.matched = lambda event: say("{} matched {}".format(number, event.current_count))
    callbacks.incompatible_qos = lambda event: say("{} refused {}".format(number, event.total_count))
    return callbacks


def writers(this, topic, tag):
    made = [
        this.create_publisher(String, topic, profile(number), event_callbacks=told(PublisherEventCallbacks(), number))
        for number in range(PROFILES)
    ]

    def publish():
        for number, publisher in enumerate(made):
            publisher.publish(String(data="{} {}".format(tag, number)))

    this.create_timer(1.0, publish)


def readers(this, topic, _tag):
    for number in reversed(range(PROFILES)):
        heard = set()

        def on_message(message, number=number, heard=heard):
            if message.data not in heard:
                heard.add(message.data)
                say("{} heard {}".format(number, message.data))

        this.create_subscription(
            String, topic, on_message, profile(number), event_callbacks=told(SubscriptionEventCallbacks(), number)
        )


topic, role, tag = remove_ros_args(sys.argv)[1:]
with node("matrix") as (this, turn):
    {"writers": writers, "readers": readers}[role](this, topic, tag)
    say("ready")
    while True:
        turn()
