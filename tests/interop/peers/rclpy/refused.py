"""Creates incompatible endpoints, one for each set of policies that are offered too weakly: `refused.py ROLE FAMILY...`.

A set is a number from 1 to 31, one bit per policy: reliability, durability, deadline, liveliness, lease duration. On topic
`FAMILY_SET` writers (ROLE `writers`) offer too little in that set and enough in the other policies; readers (`readers`)
request the strongest policies. Prints `ready`, and `FAMILY_SET incompatible POLICY TOTAL` for each event of an endpoint."""
import sys

from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import DurabilityPolicy, LivelinessPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.utilities import remove_ros_args
from std_msgs.msg import String

from common import node, print_line

SETS = range(1, 32)


def offered_qos(weak_policies):
    """A QoS that is too weak in the policies of the set `weak_policies`."""

    def pick(bit, enough, too_little):
        return too_little if weak_policies & 1 << bit else enough

    return QoSProfile(
        depth=1,
        reliability=pick(0, ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT),
        durability=pick(1, DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE),
        deadline=Duration(seconds=pick(2, 60, 120)),
        liveliness=pick(3, LivelinessPolicy.MANUAL_BY_TOPIC, LivelinessPolicy.AUTOMATIC),
        liveliness_lease_duration=Duration(seconds=pick(4, 60, 120)),
    )


def printing(callbacks, topic):
    def incompatible(event):
        policy = QoSPolicyKind(event.last_policy_kind).name.lower()
        print_line("{} incompatible {} {}".format(topic, policy, event.total_count))

    callbacks.incompatible_qos = incompatible
    return callbacks


def create_endpoint(this, role, topic, weak_policies):
    if role == "writers":
        return this.create_publisher(
            String, topic, offered_qos(weak_policies), event_callbacks=printing(PublisherEventCallbacks(), topic)
        )
    return this.create_subscription(
        String, topic, lambda _message: None, offered_qos(0), event_callbacks=printing(SubscriptionEventCallbacks(), topic)
    )


role, *families = remove_ros_args(sys.argv)[1:]
with node("refused") as (this, spin_once):
    for family in families:
        for weak_policies in SETS:
            create_endpoint(this, role, "{}_{}".format(family, weak_policies), weak_policies)
    print_line("ready")
    while True:
        spin_once()
