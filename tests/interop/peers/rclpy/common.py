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

from cdr import encoded


def parser():
    """A parser of the options that talkers and listeners share. Durations are in seconds."""
    words = argparse.ArgumentParser()
    words.add_argument("topic")
    words.add_argument("--type", default="std_msgs/msg/String")
    words.add_argument("--count", type=int, default=0, help="messages, 0 for no end")
    words.add_argument("--reliability", default="reliable", choices=["reliable", "best_effort"])
    words.add_argument("--durability", default="volatile", choices=["volatile", "transient_local"])
    words.add_argument("--depth", type=int, default=1000, help="messages kept, 0 for all")
    words.add_argument("--deadline", type=float)
    words.add_argument("--lifespan", type=float)
    words.add_argument("--liveliness", default="automatic", choices=["automatic", "manual_by_topic"])
    words.add_argument("--lease", type=float)
    return words


def parsed(words):
    """The parsed command line without ROS arguments (`--ros-args ...`)."""
    return words.parse_args(remove_ros_args(sys.argv)[1:])


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
    """Has callbacks of a publisher or a subscription print what they are told: `matched NOW`, `incompatible POLICY TOTAL`,
    `deadline missed TOTAL`, `liveliness lost TOTAL` (at a publisher), `liveliness ALIVE DEAD` and `lost TOTAL` (at a
    subscription), `incompatible TYPE TOTAL`."""

    def liveliness(event):
        if hasattr(event, "alive_count"):
            say("liveliness {} {}".format(event.alive_count, event.not_alive_count))
        else:
            say("liveliness lost {}".format(event.total_count))

    def incompatible(event):
        policy = QoSPolicyKind(event.last_policy_kind).name.lower()
        say("incompatible {} {}".format(policy, event.total_count))

    callbacks.matched = lambda event: say("matched {}".format(event.current_count))
    callbacks.incompatible_qos = incompatible
    callbacks.incompatible_type = lambda event: say("incompatible type {}".format(event.total_count))
    callbacks.deadline = lambda event: say("deadline missed {}".format(event.total_count))
    callbacks.liveliness = liveliness
    callbacks.message_lost = lambda event: say("lost {}".format(event.total_count))
    return callbacks


@contextlib.contextmanager
def node(name, **options):
    """A node, without parameter services unless its options start them, and a function that turns it once and waits at most
    the given seconds: not at all where these are negative, for ever where there are none. A signal ends it in good order."""
    rclpy.init(args=sys.argv)
    this = rclpy.create_node(name, **{"start_parameter_services": False, **options})
    executor = SingleThreadedExecutor()
    executor.add_node(this)

    def turn(seconds=None):
        # rclpy waits for ever where the time is negative. The time until a deadline is negative when the deadline has passed
        # since the caller compared it with the clock.
        executor.spin_once(timeout_sec=None if seconds is None else max(seconds, 0))

    try:
        yield this, turn
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        executor.remove_node(this)
        this.destroy_node()
        rclpy.try_shutdown()


def describe(message):
    """Length and CRC-32 of the message in CDR."""
    body = encoded(message)
    return "len {} crc {:08x}".format(len(body), zlib.crc32(body))


def say(line):
    """Prints a line in one write."""
    os.write(1, (line + "\n").encode())
