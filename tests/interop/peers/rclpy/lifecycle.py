"""A lifecycle node that does nothing. Prints `ready`."""
import sys

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.lifecycle import LifecycleNode

from common import print_line

rclpy.init(args=sys.argv)
this = LifecycleNode("lifecycle", start_parameter_services=False)
print_line("ready")
try:
    rclpy.spin(this)
except (KeyboardInterrupt, ExternalShutdownException):
    pass
finally:
    rclpy.try_shutdown()
