"""The messages of raspimouse_msgs, which no wheel contains. ROS 2's generators create them once in `target/peers/rclpy`,
where they are compiled. Jazzy needs one more kind of type support, which is not built."""
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
OUTPUT = ROOT / "target/peers/rclpy" / RELEASE.name
# Debian's libraries of the generators; searched after the wheels.
TEMPLATES = "/usr/lib/python3/dist-packages"
LIBRARIES = [
    "rosidl_runtime_c", "rosidl_typesupport_c", "rosidl_typesupport_fastrtps_c", "rosidl_typesupport_fastrtps_cpp",
    "fastcdr", "rosidl_dynamic_typesupport", "rmw", "rcutils",
]  # fmt: skip


def generate(folder):
    """Generates the sources."""
    os.environ["AMENT_PREFIX_PATH"] = sys.prefix
    sys.path.append(TEMPLATES)
    from rosidl_adapter.msg import convert_msg_to_idl
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport

    definitions = [path.relative_to(SOURCE) for path in sorted(SOURCE.glob("msg/*.msg"))]
    for definition in definitions:
        convert_msg_to_idl(SOURCE, PACKAGE, definition, folder / "msg")
    files = ["{}:{}".format(folder, definition.with_suffix(".idl")) for definition in definitions]
    for generator in [
        GenerateC("c"),
        GenerateFastRTPSCTypesupport("fastrtps_c"),
        GenerateCTypesupport("c", typesupport_implementations=["rosidl_typesupport_fastrtps_c"]),
        GeneratePython("py", typesupport_implementations=["rosidl_typesupport_c"]),
    ]:
        generator.generate(PACKAGE, files, [], folder)
    sys.path.remove(TEMPLATES)


def compile(folder):
    """Compiles them into one library, which Python imports."""
    headers = [folder.parent, numpy.get_include(), sysconfig.get_paths()["include"], *RELEASE.glob("include/*/")]
    options = ["-O1", "-fPIC", *("-I{}".format(header) for header in headers)]
    objects = []
    for compiler, ending in [("gcc", "*.c"), ("g++", "*.cpp")]:
        for source in folder.rglob(ending):
            objects.append("{}.o".format(source))
            subprocess.run([compiler, *options, "-c", source, "-o", objects[-1]], check=True)
    library = folder / "{}_s__rosidl_typesupport_c.so".format(PACKAGE)
    libraries = ["-L{}".format(RELEASE / "lib"), *("-l{}".format(name) for name in LIBRARIES)]
    subprocess.run(["g++", "-shared", "-o", library, *objects, *libraries], check=True)


def prepare():
    """Builds the package if it is missing or older than its definitions."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    done = OUTPUT / "done"
    with open(OUTPUT / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        changed = max(path.stat().st_mtime for path in [*SOURCE.glob("msg/*.msg"), pathlib.Path(__file__)])
        if not done.exists() or done.stat().st_mtime < changed:
            with contextlib.redirect_stdout(io.StringIO()):
                generate(OUTPUT / PACKAGE)
            compile(OUTPUT / PACKAGE)
            done.touch()


prepare()
sys.path.append(str(OUTPUT))
from raspimouse_msgs.msg import Leds, LightSensors, Switches  # noqa: E402,F401
