"""Publishes one latched message on each of `/topic_0`, `/topic_1`, ..., as many as the command line says."""
import rospy
from std_msgs.msg import String

from common import say, start

count = int(rospy.myargv()[1])
gone = start("many_topics")
publishers = [rospy.Publisher("/topic_{}".format(n), String, queue_size=1, latch=True) for n in range(count)]
for number, publisher in enumerate(publishers):
    publisher.publish(String(data=str(number)))
say("ready")
rospy.spin()
gone.wait()
