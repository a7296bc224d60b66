"""Says `now SECONDS` when its time has changed, in whole seconds."""
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
    # By the clock on the wall: time may stand still.
    gone.wait(0.01)
