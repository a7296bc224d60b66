"""Subscribes, prints `got N len L crc C` for each message, and ends after `--count` of them with `done`."""
import threading

import rospy

from common import TYPES, arguments, describe, print_line, start

options = arguments(("--nodelay", bool, False))
message_class, _ = TYPES[options.type]
received = 0
# Messages of each publisher arrive on a separate thread.
receiving = threading.Lock()
finished = threading.Event()


def on_message(message):
    global received
    with receiving:
        if finished.is_set():
            return
        received += 1
        print_line("got {} {}".format(received, describe(message)))
        if received == options.count:
            finished.set()


unregistered = start("listener")
subscriber = rospy.Subscriber(options.topic, message_class, on_message, tcp_nodelay=options.nodelay)
print_line("ready")
while not finished.wait(0.05) and not rospy.is_shutdown():
    pass
if received == options.count:
    print_line("done")
rospy.signal_shutdown("all messages received")
unregistered.wait()
