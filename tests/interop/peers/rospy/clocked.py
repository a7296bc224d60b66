"""Prints `now SECONDS` when ROS time has changed, in whole seconds."""
import rospy

from common import say, start

gone = start("clocked")
say("ready")
said = None
while not rospy.is_shutdown():
    now = int(rospy.get_time())
    if now != said:
        said = now
        say("now {}".format(now))
    # Wall clock: ROS time may stand still.
    gone.wait(0.01)
