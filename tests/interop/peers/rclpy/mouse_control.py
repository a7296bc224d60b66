"""Control node of a Raspberry Pi Mouse in plain rclpy: connects the driver's files in the given folder with topics. Prints
`ready`, and stays until a signal. The first command that drives switches the motors on, since a robot
needs no service for power in ROS 2."""
import argparse
import math
import os

from geometry_msgs.msg import Twist
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Int16

from common import node, parsed, print_line
from mouse import Leds, LightSensors, Switches

STEPS_PER_METRE = 400 / (2 * math.pi * 0.024)
TREAD = 0.092

options_parser = argparse.ArgumentParser()
options_parser.add_argument("folder")
folder = parsed(options_parser).folder


def read(name):
    with open(os.path.join(folder, name), encoding="ascii") as device:
        return device.read().split()


def write(name, text):
    with open(os.path.join(folder, name), "w", encoding="ascii") as device:
        device.write(str(text))


def drive(message):
    if message.linear.x or message.angular.z:
        write("rtmotoren0", 1)
    difference = message.angular.z * TREAD / 2
    write("rtmotor_raw_l0", round((message.linear.x - difference) * STEPS_PER_METRE))
    write("rtmotor_raw_r0", round((message.linear.x + difference) * STEPS_PER_METRE))


def light(message):
    for index, lit in enumerate((message.led0, message.led1, message.led2, message.led3)):
        write("rtled{}".format(index), int(lit))


with node("control") as (this, spin_once):
    latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    this.create_subscription(Twist, "cmd_vel", drive, 1)
    this.create_subscription(Leds, "leds", light, latched)
    this.create_subscription(Int16, "buzzer", lambda message: write("rtbuzzer0", message.data), 10)
    sensors = this.create_publisher(LightSensors, "light_sensors", 10)
    switches = this.create_publisher(Switches, "switches", 10)

    def publish_sensors():
        forward_r, right, left, forward_l = map(int, read("rtlightsensor0"))
        sensors.publish(LightSensors(forward_r=forward_r, forward_l=forward_l, left=left, right=right))

    def publish_switches():
        pressed = [read("rtswitch{}".format(index)) == ["0"] for index in range(3)]
        switches.publish(Switches(switch0=pressed[0], switch1=pressed[1], switch2=pressed[2]))

    this.create_timer(1 / 60, publish_sensors)
    this.create_timer(1 / 10, publish_switches)
    print_line("ready")
    while True:
        spin_once()
