"""Logs a line of each of two levels every 100 ms: `NAME warns` and `NAME details`."""
import rospy

from common import print_line, start

unregistered = start("logger")
name = rospy.get_name()
print_line("ready")
rate = rospy.Rate(10)
while not rospy.is_shutdown():
    rospy.logwarn("%s warns", name)
    rospy.logdebug("%s details", name)
    try:
        rate.sleep()
    except rospy.ROSInterruptException:
        break
unregistered.wait()
