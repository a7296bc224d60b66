"""The messages of raspimouse_msgs, which no wheel has: generated from their definitions by what comes with ROS 2 and
compiled, once, into `target/peers/rclpy`. Jazzy would want one more kind of type support."""
import contextlib
import fcntl
import io
import os
import pathlib
import subprocess
import sys
import sysconfig

import numpy

PACKAGE = "raspimouse_msgs"
ROOT = pathlib.Path(__file__).resolve().parents[4]
SOURCE = ROOT / "crates/runnel-gen/interfaces" / PACKAGE
RELEASE = pathlib.Path(sys.prefix)
INTO = ROOT / "target/peers/rclpy" / RELEASE.name
# Of Debian's, what generators are written with; behind all that the wheels have.
TEMPLATES = "/usr/lib/python3/dist-packages"
LIBRARIES = [
    "rosidl_runtime_c", "rosidl_typesupport_c", "rosidl_typesupport_fastrtps_c", "rosidl_typesupport_fastrtps_cpp",
    "fastcdr", "rosidl_dynamic_typesupport", "rmw", "rcutils",
]  # fmt: skip


def generate(made):
    """Writes the sources."""
    os.environ["AMENT_PREFIX_PATH"] = sys.prefix
    sys.path.append(TEMPLATES)
    from rosidl_adapter.msg import convert_msg_to_idl
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport

    definitions = [path.relative_to(SOURCE) for path in sorted(SOURCE.glob("msg/*.msg"))]
    for definition in definitions:
        convert_msg_to_idl(SOURCE, PACKAGE, definition, made / "msg")
    files = ["{}:{}".format(made, definition.with_suffix(".idl")) for definition in definitions]
    for generator in [
        GenerateC("c"),
        GenerateFastRTPSCTypesupport("fastrtps_c"),
        GenerateCTypesupport("c", typesupport_implementations=["rosidl_typesupport_fastrtps_c"]),
        GeneratePython("py", typesupport_implementations=["rosidl_typesupport_c"]),
    ]:
        generator.generate(PACKAGE, files, [], made)
    sys.path.remove(TEMPLATES)


def compile(made):
    """Makes one library of them, which Python imports."""
    headers = [made.parent, numpy.get_include(), sysconfig.get_paths()["include"], *RELEASE.glob("include/*/")]
    options = ["-O1", "-fPIC", *("-I{}".format(folder) for folder in headers)]
    objects = []
    for compiler, ending in [("gcc", "*.c"), ("g++", "*.cpp")]:
        for source in made.rglob(ending):
            objects.append("{}.o".format(source))
            subprocess.run([compiler, *options, "-c", source, "-o", objects[-1]], check=True)
    library = made / "{}_s__rosidl_typesupport_c.so".format(PACKAGE)
    wanted = ["-L{}".format(RELEASE / "lib"), *("-l{}".format(name) for name in LIBRARIES)]
    subprocess.run(["g++", "-shared", "-o", library, *objects, *wanted], check=True)


def prepare():
    """Has the package made, unless it is there since its definitions changed last."""
    INTO.mkdir(parents=True, exist_ok=True)
    done = INTO / "done"
    with open(INTO / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(path.stat().st_mtime for path in [*SOURCE.glob("msg/*.msg"), pathlib.Path(__file__)])
        if not done.exists() or done.stat().st_mtime < newest:
            with contextlib.redirect_stdout(io.StringIO()):
                generate(INTO / PACKAGE)
            compile(INTO / PACKAGE)
            done.touch()


prepare()
sys.path.append(str(INTO))
from raspimouse_msgs.msg import Leds, LightSensors, Switches  # noqa: E402,F401
