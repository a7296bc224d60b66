"""Publishes one latched message on each of COUNT topics: `/topic_0`, `/topic_1`, ..."""
import rospy
from std_msgs.msg import String

from common import print_line, start

count = int(rospy.myargv()[1])
unregistered = start("many_topics")
publishers = [rospy.Publisher("/topic_{}".format(n), String, queue_size=1, latch=True) for n in range(count)]
for number, publisher in enumerate(publishers):
    publisher.publish(String(data=str(number)))
print_line("ready")
rospy.spin()
unregistered.wait()
