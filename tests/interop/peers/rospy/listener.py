"""Subscribes, prints `got N len L crc C` for each message, and ends after `--count` of them with `done`."""
import threading

import rospy

from common import TYPES, arguments, describe, say, start

options = arguments(("--nodelay", bool, False))
message_class, _ = TYPES[options.type]
received = 0
# Each publisher's messages come on a thread of their own.
receiving = threading.Lock()
enough = threading.Event()


def on_message(message):
    global received
    with receiving:
        if enough.is_set():
            return
        received += 1
        say("got {} {}".format(received, describe(message)))
        if received == options.count:
            enough.set()


gone = start("listener")
subscriber = rospy.Subscriber(options.topic, message_class, on_message, tcp_nodelay=options.nodelay)
say("ready")
while not enough.wait(0.05) and not rospy.is_shutdown():
    pass
if received == options.count:
    say("done")
rospy.signal_shutdown("heard enough")
gone.wait()
