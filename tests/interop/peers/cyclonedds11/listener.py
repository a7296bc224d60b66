"""Subscribes, prints `got N len L crc C` for each message, and ends after `--count` of them with `done`. Of keyed messages also
`gone KEY`."""
from cyclonedds.core import ReadCondition, SampleState, InstanceState, ViewState, WaitSet
from cyclonedds.internal import InvalidSample
from cyclonedds.sub import DataReader
from cyclonedds.util import duration

from peer import Events, describe, ended, parser, qos, say, topic

options = parser().parse_args()
participant, place = topic(options)
reader = DataReader(participant, place, qos=qos(options), listener=Events())
waitset = WaitSet(participant)
waitset.attach(ReadCondition(reader, ViewState.Any | SampleState.Any | InstanceState.Any))
say("ready")
received = 0
while not ended.is_set() and (options.count == 0 or received < options.count):
    waitset.wait(duration(milliseconds=50))
    for message in reader.take(N=1):
        if isinstance(message, InvalidSample):
            say("gone")
            continue
        received += 1
        say("got {} {}".format(received, describe(message)))
if received and received == options.count:
    say("done")
