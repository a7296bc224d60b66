"""Shared parts of these programs: command line, quality of service, node, events, canonical bytes."""
import argparse
import contextlib
import os
import sys
import zlib

import rclpy
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.utilities import remove_ros_args

from cdr import serialized


def parser():
    """Parser of the options of talkers and listeners. Durations are in seconds."""
    options_parser = argparse.ArgumentParser()
    options_parser.add_argument("topic")
    options_parser.add_argument("--type", default="std_msgs/msg/String")
    options_parser.add_argument("--count", type=int, default=0, help="number of messages, 0: without end")
    options_parser.add_argument("--reliability", default="reliable", choices=["reliable", "best_effort"])
    options_parser.add_argument("--durability", default="volatile", choices=["volatile", "transient_local"])
    options_parser.add_argument("--depth", type=int, default=1000, help="history depth, 0: keep all")
    options_parser.add_argument("--deadline", type=float)
    options_parser.add_argument("--lifespan", type=float)
    options_parser.add_argument("--liveliness", default="automatic", choices=["automatic", "manual_by_topic"])
    options_parser.add_argument("--lease", type=float)
    return options_parser


def parsed(options_parser):
    """The parsed command line without ROS arguments (`--ros-args ...`)."""
    return options_parser.parse_args(remove_ros_args(sys.argv)[1:])


def qos(options):
    """The requested quality of service."""
    profile = QoSProfile(
        history=HistoryPolicy.KEEP_LAST if options.depth else HistoryPolicy.KEEP_ALL,
        depth=options.depth,
        reliability=ReliabilityPolicy[options.reliability.upper()],
        durability=DurabilityPolicy[options.durability.upper()],
        liveliness=LivelinessPolicy[options.liveliness.upper()],
    )
    for name, seconds in [
        ("deadline", options.deadline),
        ("lifespan", options.lifespan),
        ("liveliness_lease_duration", options.lease),
    ]:
        if seconds is not None:
            setattr(profile, name, Duration(seconds=seconds))
    return profile


def events(callbacks):
    """Sets event callbacks that print `matched NOW`, `incompatible POLICY TOTAL`, `deadline missed TOTAL`,
    `incompatible type TOTAL`; at a publisher `liveliness lost TOTAL`; at a subscription `liveliness ALIVE DEAD` and
    `lost TOTAL`."""

    def liveliness(event):
        if hasattr(event, "alive_count"):
            print_line("liveliness {} {}".format(event.alive_count, event.not_alive_count))
        else:
            print_line("liveliness lost {}".format(event.total_count))

    def incompatible(event):
        policy = QoSPolicyKind(event.last_policy_kind).name.lower()
        print_line("incompatible {} {}".format(policy, event.total_count))

    callbacks.matched = lambda event: print_line("matched {}".format(event.current_count))
    callbacks.incompatible_qos = incompatible
    callbacks.incompatible_type = lambda event: print_line("incompatible type {}".format(event.total_count))
    callbacks.deadline = lambda event: print_line("deadline missed {}".format(event.total_count))
    callbacks.liveliness = liveliness
    callbacks.message_lost = lambda event: print_line("lost {}".format(event.total_count))
    return callbacks


@contextlib.contextmanager
def node(name, **options):
    """A node, without parameter services unless its options start them, and a function that spins it once with a time-out
    in seconds: negative for 0, None for no time-out. A signal shuts it down in order."""
    rclpy.init(args=sys.argv)
    this = rclpy.create_node(name, **{"start_parameter_services": False, **options})
    executor = SingleThreadedExecutor()
    executor.add_node(this)

    def spin_once(seconds=None):
        # rclpy waits without a time-out if it is negative, which happens when a deadline passes before this call.
        executor.spin_once(timeout_sec=None if seconds is None else max(seconds, 0))

    try:
        yield this, spin_once
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        executor.remove_node(this)
        this.destroy_node()
        rclpy.try_shutdown()


def introspect(this, end):
    """Has a service or a client of a node publish its events, with contents, for late subscriptions too."""
    # Not in Humble.
    from rclpy.service_introspection import ServiceIntrospectionState

    profile = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    end.configure_introspection(this.get_clock(), profile, ServiceIntrospectionState.CONTENTS)


def describe(message):
    """Length and CRC-32 of the message in CDR."""
    body = serialized(message)
    return "len {} crc {:08x}".format(len(body), zlib.crc32(body))


def print_line(line):
    """Prints a line in one write."""
    os.write(1, (line + "\n").encode())
