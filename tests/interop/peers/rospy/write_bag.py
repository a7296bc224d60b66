"""Writes a bag: `write_bag.py FILE COMPRESSION [killed]`. Each message has its number in it. A killed process leaves the
bag without an index."""
import os
import signal
import sys

import genpy
import rosbag
from geometry_msgs.msg import PointStamped
from std_msgs.msg import String

path, compression = sys.argv[1:3]
bag = rosbag.Bag(path, "w", compression=compression, chunk_threshold=2000)
header = {
    "topic": "/chatter", "type": String._type, "md5sum": String._md5sum,
    "message_definition": String._full_text, "callerid": "/talker", "latching": "1",
}
for number in range(100):
    time = genpy.Time(1000 + number // 10, number % 10 * 100_000_000)
    if number % 3:
        bag.write("/chatter", String("number %d" % number * (number % 5 + 1)), time, connection_header=header)
    else:
        point = PointStamped()
        point.header.seq = number
        point.point.x = number / 7
        bag.write("/point", point, time)
if "killed" in sys.argv:
    bag.flush()
    os.kill(os.getpid(), signal.SIGKILL)
bag.close()
