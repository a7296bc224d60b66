"""Reads a bag and prints each topic, or writes one: rosbags_bag.py read PATH | write PATH STORAGE VERSION COMPRESSION."""
import sys
from pathlib import Path

from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from mcap_file import text


def read(path):
    topics = {}
    with AnyReader([Path(path)], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
        last = 0
        for connection, time, data in reader.messages():
            assert time >= last, "times go back"
            last = time
            message = reader.deserialize(data, connection.msgtype)
            topics.setdefault((connection.topic, connection.msgtype), []).append(len(message.data))
        counts = {connection.topic: connection.msgcount for connection in reader.connections}
    for (topic, kind), lengths in sorted(topics.items()):
        assert counts[topic] == len(lengths), (counts, len(lengths))
        print(topic, kind, len(lengths), sum(lengths))


def write(path, storage, version, compression):
    store = get_typestore(Stores.ROS2_HUMBLE)
    string = store.types["std_msgs/msg/String"]
    writer = Writer(Path(path), version=int(version), storage_plugin=StoragePlugin[storage.upper()])
    if compression != "none":
        writer.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection("/chatter", string.__msgtype__, typestore=store)
        for number in range(100):
            message = store.serialize_cdr(string(text(number)), string.__msgtype__)
            writer.write(connection, 1000_000_000_000 + number * 100_000_000, bytes(message))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
