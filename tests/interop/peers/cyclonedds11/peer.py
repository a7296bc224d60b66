"""Shared parts of talker.py and listener.py: command line, types, quality of service, events, canonical bytes."""
import argparse
import os
import signal
import struct
import threading
import zlib
from dataclasses import dataclass

from cyclonedds.core import Listener, Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final, key
from cyclonedds.idl.types import int32, sequence, uint8, uint32
from cyclonedds.topic import Topic
from cyclonedds.util import duration


@dataclass
@final
class String(IdlStruct, typename="std_msgs.msg.dds_.String_"):
    data: str


@dataclass
@final
class MultiArrayDimension(IdlStruct, typename="std_msgs.msg.dds_.MultiArrayDimension_"):
    label: str
    size: uint32
    stride: uint32


@dataclass
@final
class MultiArrayLayout(IdlStruct, typename="std_msgs.msg.dds_.MultiArrayLayout_"):
    dim: sequence[MultiArrayDimension]
    data_offset: uint32


@dataclass
@final
class UInt8MultiArray(IdlStruct, typename="std_msgs.msg.dds_.UInt8MultiArray_"):
    layout: MultiArrayLayout
    data: sequence[uint8]


@dataclass
@final
class Keyed(IdlStruct, typename="runnel_test.msg.dds_.Keyed_"):
    id: int32
    key("id")
    data: str


TYPES = {"std_msgs/msg/String": String, "std_msgs/msg/UInt8MultiArray": UInt8MultiArray, "runnel_test/msg/Keyed": Keyed}
ended = threading.Event()


def numbered(message_class, number, size):
    """Message `number`."""
    text = "hello {}".format(number).ljust(size, ".")
    if message_class is String:
        return String(text)
    if message_class is Keyed:
        return Keyed(number % 3, text)
    return UInt8MultiArray(MultiArrayLayout([], 0), [(number + index) % 251 for index in range(size)])


def describe(message):
    """Length and CRC-32 of the message in little-endian CDR, without a header."""
    if isinstance(message, UInt8MultiArray):
        body = struct.pack("<III", 0, 0, len(message.data)) + bytes(message.data)
    else:
        text = message.data.encode() + b"\0"
        body = struct.pack("<I", len(text)) + text
    if isinstance(message, Keyed):
        body = struct.pack("<i", message.id) + body
    return "len {} crc {:08x}".format(len(body), zlib.crc32(body))


def parser():
    options_parser = argparse.ArgumentParser()
    options_parser.add_argument("topic")
    options_parser.add_argument("--type", default="std_msgs/msg/String", choices=TYPES)
    options_parser.add_argument("--count", type=int, default=0)
    options_parser.add_argument("--reliability", default="reliable", choices=["reliable", "best_effort"])
    options_parser.add_argument("--durability", default="volatile", choices=["volatile", "transient_local"])
    options_parser.add_argument("--depth", type=int, default=1000)
    options_parser.add_argument("--deadline", type=float)
    options_parser.add_argument("--lifespan", type=float)
    options_parser.add_argument("--liveliness", default="automatic", choices=["automatic", "manual_by_topic"])
    options_parser.add_argument("--lease", type=float)
    options_parser.add_argument("--xcdr2", action="store_true", help="offer, or accept, only this encoding")
    return options_parser


def qos(options):
    """The requested quality of service."""
    history = Policy.History.KeepLast(options.depth) if options.depth else Policy.History.KeepAll
    lease = duration(infinite=True) if options.lease is None else duration(seconds=options.lease)
    manual = options.liveliness == "manual_by_topic"
    policies = [
        Policy.Reliability.Reliable(duration(seconds=20))
        if options.reliability == "reliable"
        else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if options.durability == "transient_local" else Policy.Durability.Volatile,
        history,
        Policy.DurabilityService(0, history, -1, -1, -1),
        Policy.Liveliness.ManualByTopic(lease) if manual else Policy.Liveliness.Automatic(lease),
    ]
    if options.deadline is not None:
        policies.append(Policy.Deadline(duration(seconds=options.deadline)))
    if options.lifespan is not None:
        policies.append(Policy.Lifespan(duration(seconds=options.lifespan)))
    if options.xcdr2:
        policies.append(Policy.DataRepresentation(use_xcdrv2_representation=True))
    return Qos(*policies)


class Events(Listener):
    """Prints `matched NOW`, `incompatible POLICY TOTAL`, `deadline missed TOTAL`, `liveliness lost TOTAL`,
    `liveliness ALIVE DEAD` and `lost TOTAL`."""

    POLICIES = {
        2: "durability",
        4: "deadline",
        8: "liveliness",
        11: "reliability",
        12: "destination",
        13: "history",
        25: "data_representation",
    }
    matched = 0

    def on_publication_matched(self, _writer, status):
        self.matched = status.current_count
        print_line("matched {}".format(status.current_count))

    def on_subscription_matched(self, _reader, status):
        print_line("matched {}".format(status.current_count))

    def on_offered_incompatible_qos(self, _writer, status):
        print_line("incompatible {} {}".format(self.POLICIES.get(status.last_policy_id, "other"), status.total_count))

    on_requested_incompatible_qos = on_offered_incompatible_qos

    def on_offered_deadline_missed(self, _writer, status):
        print_line("deadline missed {}".format(status.total_count))

    on_requested_deadline_missed = on_offered_deadline_missed

    def on_liveliness_lost(self, _writer, status):
        print_line("liveliness lost {}".format(status.total_count))

    def on_liveliness_changed(self, _reader, status):
        print_line("liveliness {} {}".format(status.alive_count, status.not_alive_count))

    def on_sample_lost(self, _reader, status):
        print_line("lost {}".format(status.total_count))


def end_on_signals():
    """From here on, signals set `ended`."""
    for number in [signal.SIGINT, signal.SIGTERM]:
        signal.signal(number, lambda _number, _frame: ended.set())


def topic(options):
    """A participant and the topic of the command line. Signals set `ended` from here on."""
    end_on_signals()
    participant = DomainParticipant(int(os.environ.get("ROS_DOMAIN_ID", "0")))
    return participant, Topic(participant, "rt" + options.topic, TYPES[options.type])


def print_line(line):
    """Prints a line in one write: events arrive on other threads."""
    os.write(1, (line + "\n").encode())
