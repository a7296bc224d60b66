"""Creates an endpoint of every profile on one topic: `matrix.py TOPIC writers|readers TAG`.

See peers/rclpy/matrix.py."""
import os
import sys

from cyclonedds.core import Listener, Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

from peer import String, end_on_signals, ended, print_line

PROFILES = 72
SECONDS = [None, 120, 60]


def profile(number):
    deadline, lease = [
        duration(seconds=seconds) if seconds else duration(infinite=True)
        for seconds in [SECONDS[number // 8 % 3], SECONDS[number // 24]]
    ]
    return Qos(
        Policy.History.KeepAll if number % 5 == 0 else Policy.History.KeepLast(1000),
        [Policy.Reliability.BestEffort, Policy.Reliability.Reliable(duration(seconds=20))][number % 2],
        [Policy.Durability.Volatile, Policy.Durability.TransientLocal][number // 2 % 2],
        [Policy.Liveliness.Automatic, Policy.Liveliness.ManualByTopic][number // 4 % 2](lease),
        Policy.Deadline(deadline),
    )


class Events(Listener):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def on_publication_matched(self, _endpoint, status):
        print_line("{} matched {}".format(self.number, status.current_count))

    on_subscription_matched = on_publication_matched

    def on_offered_incompatible_qos(self, _endpoint, status):
        print_line("{} refused {}".format(self.number, status.total_count))

    on_requested_incompatible_qos = on_offered_incompatible_qos


def write(participant, topic, tag):
    endpoints = [
        DataWriter(participant, topic, qos=profile(number), listener=Events(number)) for number in range(PROFILES)
    ]
    print_line("ready")
    while not ended.wait(1):
        for number, writer in enumerate(endpoints):
            writer.write(String("{} {}".format(tag, number)))


def read(participant, topic, _tag):
    endpoints = {
        number: DataReader(participant, topic, qos=profile(number), listener=Events(number))
        for number in reversed(range(PROFILES))
    }
    print_line("ready")
    heard = set()
    while not ended.wait(0.05):
        for number, reader in endpoints.items():
            for message in reader.take(N=100):
                line = "{} heard {}".format(number, message.data)
                if line not in heard:
                    heard.add(line)
                    print_line(line)


name, role, tag = sys.argv[1:]
end_on_signals()
participant = DomainParticipant(int(os.environ.get("ROS_DOMAIN_ID", "0")))
{"writers": write, "readers": read}[role](participant, Topic(participant, "rt" + name, String), tag)
