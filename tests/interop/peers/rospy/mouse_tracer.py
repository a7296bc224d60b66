"""Line tracer in plain rospy. The first press samples the floor, the second the line, the third starts. Prints `ready`, and
stays until a signal."""
import sys

import rospy
from geometry_msgs.msg import Twist
from mouse import Leds, LightSensors, Switches
from std_srvs.srv import SetBool

SAMPLES = 20
SPEED, GAIN, OUTER = 0.25, 2.5, 1.6
# LEDs while a press is awaited: for the floor, for the line, to start.
LED_STATES = [(False, False, False, False), (True, False, False, False), (True, True, False, False)]


class Tracer:
    def __init__(self):
        self.sampled = []
        self.sampling = None
        self.held = False
        self.follows = False
        self.error = 0.0
        self.cmd_vel = rospy.Publisher("cmd_vel", Twist, queue_size=10, tcp_nodelay=True)
        self.leds = rospy.Publisher("leds", Leds, queue_size=10, latch=True)
        self.motor_power = rospy.ServiceProxy("motor_power", SetBool)
        self.leds.publish(*LED_STATES[0])
        rospy.Subscriber("light_sensors", LightSensors, self.sense, queue_size=1, tcp_nodelay=True)
        rospy.Subscriber("switches", Switches, self.press)

    def press(self, message):
        held = message.switch0 or message.switch1 or message.switch2
        pressed, self.held = held and not self.held, held
        if not pressed or self.sampling is not None:
            return
        if len(self.sampled) < 2:
            self.sampling = []
        else:
            self.motor_power.wait_for_service(60)
            self.motor_power(True)
            self.follows = True

    def sense(self, message):
        row = (message.forward_r, message.right, message.left, message.forward_l)
        if self.sampling is not None:
            self.sample(row)
        if self.follows:
            self.follow(row)

    def sample(self, row):
        self.sampling.append(row)
        if len(self.sampling) == SAMPLES:
            self.sampled.append([sum(values) / SAMPLES for values in zip(*self.sampling)])
            self.sampling = None
            self.leds.publish(*LED_STATES[len(self.sampled)])

    def follow(self, row):
        dark = [(floor - value) / (floor - line) for floor, line, value in zip(*self.sampled, row)]
        is_dark = [share > 0.5 for share in dark]
        if is_dark[1] or is_dark[2]:
            self.error = dark[1] - dark[2]
        elif is_dark[0] or is_dark[3]:
            self.error = OUTER if is_dark[0] else -OUTER
        twist = Twist()
        twist.linear.x = SPEED * (1 - 0.4 * min(abs(self.error), 1))
        twist.angular.z = GAIN * self.error
        self.cmd_vel.publish(twist)


rospy.init_node("tracer")
tracer = Tracer()
print("ready")
sys.stdout.flush()
rospy.spin()
