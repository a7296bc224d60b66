"""The messages of raspimouse_msgs, which no wheel has."""
from generated import prepare

prepare("raspimouse_msgs")
from raspimouse_msgs.msg import Leds, LightSensors, Switches  # noqa: E402,F401
