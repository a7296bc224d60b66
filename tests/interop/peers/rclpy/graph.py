"""Prints changes of the graph in rclpy: `+ ENTITY` for an addition and `- ENTITY` for a removal, polling ten times per
second. Entities are

    node /NAMESPACE/NAME
    topic /NAME TYPE...
    service /NAME TYPE...
    publisher|subscription /TOPIC of /NAMESPACE/NAME TYPE HASH gid HEX RELIABILITY DURABILITY HISTORY DEPTH
        deadline NS lifespan NS LIVELINESS lease NS

each in one line. Prints `ready` before the first poll. `--hidden` includes ROS's own topics."""
import argparse
import sys

from rclpy.utilities import remove_ros_args

from common import node, print_line

options_parser = argparse.ArgumentParser()
options_parser.add_argument("--hidden", action="store_true")
options = options_parser.parse_args(remove_ros_args(sys.argv)[1:])
ROS_TOPICS = ["/rosout", "/parameter_events"]


def full(name, namespace):
    return "{}/{}".format(namespace.rstrip("/"), name)


def endpoint(kind, topic, info):
    policies, version = info.qos_profile, info.topic_type_hash
    type_hash = "RIHS{:02}_{}".format(version.version, bytes(version.value).hex()) if version.version > 0 else "-"
    columns = [
        kind, topic, "of", full(info.node_name, info.node_namespace), info.topic_type, type_hash,
        "gid", bytes(info.endpoint_gid).hex(),
        policies.reliability.name, policies.durability.name, policies.history.name, policies.depth,
        "deadline", policies.deadline.nanoseconds, "lifespan", policies.lifespan.nanoseconds,
        policies.liveliness.name, "lease", policies.liveliness_lease_duration.nanoseconds,
    ]  # fmt: skip
    return " ".join(str(word) for word in columns)


def endpoints(this, topic):
    for kind, get_info in [
        ("publisher", this.get_publishers_info_by_topic),
        ("subscription", this.get_subscriptions_info_by_topic),
    ]:
        for info in get_info(topic):
            yield endpoint(kind, topic, info)


def entities(this):
    for name, namespace in this.get_node_names_and_namespaces():
        yield "node " + full(name, namespace)
    for name, types in this.get_service_names_and_types():
        yield "service {} {}".format(name, " ".join(types))
    for name, types in this.get_topic_names_and_types(no_demangle=options.hidden):
        if options.hidden or name not in ROS_TOPICS:
            yield "topic {} {}".format(name, " ".join(types))
            if not options.hidden:
                yield from endpoints(this, name)


with node("graph") as (this, spin_once):
    print_line("ready")
    previous = set()
    while True:
        now = set(entities(this))
        for entity in sorted(previous - now):
            print_line("- " + entity)
        for entity in sorted(now - previous):
            print_line("+ " + entity)
        previous = now
        spin_once(0.1)
