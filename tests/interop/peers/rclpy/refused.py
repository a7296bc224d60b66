"""Creates incompatible pairs, one for each set of policies that are offered too weakly: `refused.py ROLE FAMILY...`.

A set is a number from 1 to 31, a bit a policy: reliability, durability, deadline, liveliness, its lease. On topic
`FAMILY_SET` writers (ROLE `writers`) offer too little of that set and enough of all else; readers (`readers`) ask for the most.
Prints `ready`, and `FAMILY_SET incompatible POLICY TOTAL` for each event of an endpoint."""
import sys

from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import DurabilityPolicy, LivelinessPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.utilities import remove_ros_args
from std_msgs.msg import String

from common import node, say

SETS = range(1, 32)


def offering(lacking):
    """A QoS that is too weak in the policies of a set."""

    def pick(bit, enough, too_little):
        return too_little if lacking & 1 << bit else enough

    return QoSProfile(
        depth=1,
        reliability=pick(0, ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT),
        durability=pick(1, DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE),
        deadline=Duration(seconds=pick(2, 60, 120)),
        liveliness=pick(3, LivelinessPolicy.MANUAL_BY_TOPIC, LivelinessPolicy.AUTOMATIC),
        liveliness_lease_duration=Duration(seconds=pick(4, 60, 120)),
    )


def told(callbacks, topic):
    def incompatible(event):
        policy = QoSPolicyKind(event.last_policy_kind).name.lower()
        say("{} incompatible {} {}".format(topic, policy, event.total_count))

    callbacks.incompatible_qos = incompatible
    return callbacks


def make(this, role, topic, lacking):
    if role == "writers":
        return this.create_publisher(
            String, topic, offering(lacking), event_callbacks=told(PublisherEventCallbacks(), topic)
        )
    return this.create_subscription(
        String, topic, lambda _message: None, offering(0), event_callbacks=told(SubscriptionEventCallbacks(), topic)
    )


role, *families = remove_ros_args(sys.argv)[1:]
with node("refused") as (this, turn):
    for family in families:
        for lacking in SETS:
            make(this, role, "{}_{}".format(family, lacking), lacking)
    say("ready")
    while True:
        turn()
