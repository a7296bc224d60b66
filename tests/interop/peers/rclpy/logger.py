"""Logs a line of each level in its logger `part`, and ends: `a line of warn`."""
from rclpy.logging import LoggingSeverity

from common import node

with node("logger") as (this, _):
    part = this.get_logger().get_child("part")
    part.set_level(LoggingSeverity.DEBUG)
    part.debug("a line of debug")
    part.info("a line of info")
    part.warning("a line of warn")
    part.error("a line of error")
    part.fatal("a line of fatal")
