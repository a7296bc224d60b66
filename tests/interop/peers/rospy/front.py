"""A node with all kinds of endpoints as input of commands: latched topics, a subscription and services."""
import rospy
from geometry_msgs.msg import Pose, PoseArray, Twist
from sensor_msgs.srv import SetCameraInfo, SetCameraInfoResponse
from std_msgs.msg import Int32, String
from std_srvs.srv import Empty, EmptyResponse, SetBool, SetBoolResponse, Trigger

from common import print_line, start


def poses():
    message = PoseArray()
    message.poses = [Pose() for _ in range(3)]
    for number, pose in enumerate(message.poses):
        pose.position.x = number + 0.5
    return message


def twist():
    message = Twist()
    message.linear.x = 1.5
    message.angular.z = -1e-7
    return message


def fail(_request):
    raise rospy.ServiceException("it cannot be done")


unregistered = start("front")
latched = []
for topic, message in [
    ("/zebra", String(data="it's a \"text\"")),
    ("/twist", twist()),
    ("/poses", poses()),
    ("/twist/linear", Int32(data=7)),
]:
    latched.append(rospy.Publisher(topic, type(message), queue_size=1, latch=True))
    latched[-1].publish(message)
subscriber = rospy.Subscriber("/wanted", String, lambda _message: None)
services = [
    rospy.Service("/switch", SetBool, lambda request: SetBoolResponse(request.data, "as told")),
    rospy.Service("~empty", Empty, lambda _request: EmptyResponse()),
    rospy.Service("/fail", Trigger, fail),
    rospy.Service("/camera", SetCameraInfo, lambda _request: SetCameraInfoResponse(True, "")),
]
print_line("ready")
rospy.spin()
unregistered.wait()
