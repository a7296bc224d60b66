"""Prints changes of the graph as rclpy sees it: `+ THING` for an addition and `- THING` for a removal, polling ten times
a second. Things are

    node /NAMESPACE/NAME
    topic /NAME TYPE...
    service /NAME TYPE...
    publisher|subscription /TOPIC of /NAMESPACE/NAME TYPE HASH gid HEX RELIABILITY DURABILITY HISTORY DEPTH
        deadline NS lifespan NS LIVELINESS lease NS

each in one line. Prints `ready` before the first look. `--hidden` does not leave out topics of ROS itself."""
import argparse
import sys

from rclpy.utilities import remove_ros_args

from common import node, say

words = argparse.ArgumentParser()
words.add_argument("--hidden", action="store_true")
options = words.parse_args(remove_ros_args(sys.argv)[1:])
OF_ROS = ["/rosout", "/parameter_events"]


def full(name, namespace):
    return "{}/{}".format(namespace.rstrip("/"), name)


def endpoint(kind, topic, info):
    policies, version = info.qos_profile, info.topic_type_hash
    type_hash = "RIHS{:02}_{}".format(version.version, bytes(version.value).hex()) if version.version > 0 else "-"
    words = [
        kind, topic, "of", full(info.node_name, info.node_namespace), info.topic_type, type_hash,
        "gid", bytes(info.endpoint_gid).hex(),
        policies.reliability.name, policies.durability.name, policies.history.name, policies.depth,
        "deadline", policies.deadline.nanoseconds, "lifespan", policies.lifespan.nanoseconds,
        policies.liveliness.name, "lease", policies.liveliness_lease_duration.nanoseconds,
    ]  # fmt: skip
    return " ".join(str(word) for word in words)


def endpoints(this, topic):
    for kind, of_topic in [
        ("publisher", this.get_publishers_info_by_topic),
        ("subscription", this.get_subscriptions_info_by_topic),
    ]:
        for info in of_topic(topic):
            yield endpoint(kind, topic, info)


def things(this):
    for name, namespace in this.get_node_names_and_namespaces():
        yield "node " + full(name, namespace)
    for name, types in this.get_service_names_and_types():
        yield "service {} {}".format(name, " ".join(types))
    for name, types in this.get_topic_names_and_types(no_demangle=options.hidden):
        if options.hidden or name not in OF_ROS:
            yield "topic {} {}".format(name, " ".join(types))
            if not options.hidden:
                yield from endpoints(this, name)


with node("graph") as (this, turn):
    say("ready")
    known = set()
    while True:
        now = set(things(this))
        for thing in sorted(known - now):
            say("- " + thing)
        for thing in sorted(now - known):
            say("+ " + thing)
        known = now
        turn(0.1)
