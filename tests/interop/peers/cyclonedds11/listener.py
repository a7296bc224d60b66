"""Subscribes, prints `got N len L crc C` for each message, and ends after `--count` of them with `done`. For instances
of keyed messages also `gone`."""
from cyclonedds.core import ReadCondition, SampleState, InstanceState, ViewState, WaitSet
from cyclonedds.internal import InvalidSample
from cyclonedds.sub import DataReader
from cyclonedds.util import duration

from peer import Events, describe, ended, parser, print_line, qos, topic

options = parser().parse_args()
participant, topic_entity = topic(options)
reader = DataReader(participant, topic_entity, qos=qos(options), listener=Events())
waitset = WaitSet(participant)
waitset.attach(ReadCondition(reader, ViewState.Any | SampleState.Any | InstanceState.Any))
print_line("ready")
received = 0
while not ended.is_set() and (options.count == 0 or received < options.count):
    waitset.wait(duration(milliseconds=50))
    for message in reader.take(N=1):
        if isinstance(message, InvalidSample):
            print_line("gone")
            continue
        received += 1
        print_line("got {} {}".format(received, describe(message)))
if received and received == options.count:
    print_line("done")
