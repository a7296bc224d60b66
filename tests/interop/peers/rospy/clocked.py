"""Prints `now SECONDS` when ROS time has changed, in whole seconds."""
import rospy

from common import print_line, start

unregistered = start("clocked")
print_line("ready")
printed = None
while not rospy.is_shutdown():
    now = int(rospy.get_time())
    if now != printed:
        printed = now
        print_line("now {}".format(now))
    # Wall clock: ROS time may stand still.
    unregistered.wait(0.01)
