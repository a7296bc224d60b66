"""The messages of raspimouse_msgs, generated from their definitions: no Debian package contains them."""
import os

from genpy.dynamic import generate_dynamic

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4, "crates/runnel-gen/interfaces/raspimouse_msgs/msg")


def message(name):
    """The class of `raspimouse_msgs/NAME`."""
    full_name = "raspimouse_msgs/" + name
    with open(os.path.join(FOLDER, name + ".msg"), encoding="utf-8") as definition:
        return generate_dynamic(full_name, definition.read())[full_name]


Leds = message("Leds")
LightSensors = message("LightSensors")
Switches = message("Switches")
