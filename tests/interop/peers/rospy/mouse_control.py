"""Control node of a Raspberry Pi Mouse in plain rospy: connects the driver's files in the given folder with topics. Prints
`ready`, and stays until a signal."""
import math
import os
import sys

import rospy
from geometry_msgs.msg import Twist
from mouse import Leds, LightSensors, Switches
from std_msgs.msg import Int16
from std_srvs.srv import SetBool, SetBoolResponse

STEPS_PER_METRE = 400 / (2 * math.pi * 0.024)
TREAD = 0.092

folder = rospy.myargv()[1]


def read(name):
    with open(os.path.join(folder, name), encoding="ascii") as device:
        return device.read().split()


def write(name, text):
    with open(os.path.join(folder, name), "w", encoding="ascii") as device:
        device.write(str(text))


def drive(message):
    difference = message.angular.z * TREAD / 2
    write("rtmotor_raw_l0", round((message.linear.x - difference) * STEPS_PER_METRE))
    write("rtmotor_raw_r0", round((message.linear.x + difference) * STEPS_PER_METRE))


def light(message):
    for index, lit in enumerate((message.led0, message.led1, message.led2, message.led3)):
        write("rtled{}".format(index), int(lit))


def power(request):
    write("rtmotoren0", int(request.data))
    return SetBoolResponse(success=True, message="ON" if request.data else "OFF")


rospy.init_node("control")
rospy.Subscriber("cmd_vel", Twist, drive, queue_size=1, tcp_nodelay=True)
rospy.Subscriber("leds", Leds, light)
rospy.Subscriber("buzzer", Int16, lambda message: write("rtbuzzer0", message.data))
rospy.Service("motor_power", SetBool, power)
sensors = rospy.Publisher("light_sensors", LightSensors, queue_size=10, tcp_nodelay=True)
switches = rospy.Publisher("switches", Switches, queue_size=10)
print("ready")
sys.stdout.flush()
pace = rospy.Rate(60)
iteration = 0
while not rospy.is_shutdown():
    forward_r, right, left, forward_l = map(int, read("rtlightsensor0"))
    sensors.publish(forward_r=forward_r, forward_l=forward_l, left=left, right=right)
    if iteration % 6 == 0:
        switches.publish(*(read("rtswitch{}".format(index)) == ["0"] for index in range(3)))
    iteration += 1
    try:
        pace.sleep()
    except rospy.ROSInterruptException:
        break
