"""Reads all messages of a bag, and prints topic, type and number of messages for each topic."""
import sys

import rosbag

counts = {}
with rosbag.Bag(sys.argv[1]) as bag:
    last = 0
    for topic, message, time in bag.read_messages():
        assert time.to_nsec() >= last, "times go back"
        last = time.to_nsec()
        counts.setdefault((topic, message._type), []).append(message)
    info = bag.get_type_and_topic_info().topics
for (topic, kind), messages in sorted(counts.items()):
    assert info[topic].message_count == len(messages) and info[topic].msg_type == kind
    print(topic, kind, len(messages))
