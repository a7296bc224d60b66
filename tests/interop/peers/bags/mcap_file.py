"""Reads an MCAP file and prints each channel, or writes one: mcap_file.py read FILE | write FILE PROFILE COMPRESSION."""
import sys

from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from mcap_ros1.decoder import DecoderFactory as Ros1
from mcap_ros2.decoder import DecoderFactory as Ros2


def read(path):
    channels = {}
    with open(path, "rb") as file:
        reader = make_reader(file, decoder_factories=[Ros1(), Ros2()], validate_crcs=True)
        summary = reader.get_summary()
        assert summary.statistics.message_count == sum(summary.statistics.channel_message_counts.values())
        last = 0
        for schema, channel, message, decoded in reader.iter_decoded_messages():
            assert message.log_time >= last, "times go back"
            last = message.log_time
            channels.setdefault((channel.topic, schema.name), []).append(len(decoded.data))
        print("profile", reader.get_header().profile)
        for (topic, kind), lengths in sorted(channels.items()):
            print(topic, kind, len(lengths), sum(lengths))
        for attachment in reader.iter_attachments():
            print("attachment", attachment.name, attachment.media_type, attachment.data.decode())
        for metadata in reader.iter_metadata():
            if metadata.name != "rosbag2":
                print("metadata", metadata.name, metadata.metadata)


# Number 3 repeats its text four times.
def text(number):
    return ("number %d" % number) * (number % 5 + 1)


def write(path, profile, compression):
    with open(path, "wb") as file:
        writer = Writer(file, chunk_size=500, compression=CompressionType[compression.upper()])
        writer.start(profile=profile, library="test")
        name = "std_msgs/String" if profile == "ros1" else "std_msgs/msg/String"
        schema = writer.register_schema(name, profile + "msg", b"string data\n")
        encoding, metadata = ("ros1", {"callerid": "/talker"}) if profile == "ros1" else ("cdr", {})
        channel = writer.register_channel("/chatter", encoding, schema, metadata)
        for number in range(100):
            data = text(number).encode()
            if profile == "ros1":
                message = len(data).to_bytes(4, "little") + data
            else:
                message = b"\0\1\0\0" + (len(data) + 1).to_bytes(4, "little") + data + b"\0"
            time = 1000_000_000_000 + number * 100_000_000
            writer.add_message(channel, time, message, time - 1, number)
        writer.add_attachment(5, 7, "note.txt", "text/plain", b"hello")
        writer.add_metadata("place", {"city": "Turin"})
        writer.finish()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
