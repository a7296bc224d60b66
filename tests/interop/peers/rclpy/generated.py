"""Packages of messages and actions that no wheel has: generated from their definitions by what comes with ROS 2 and
compiled, once, into `target/peers/rclpy`. Jazzy would want one more kind of type support. Run as a program it makes all."""
import concurrent.futures
import fcntl
import os
import pathlib
import re
import subprocess
import sys
import sysconfig

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[4]
SOURCES = ROOT / "crates/runnel-gen/interfaces"
RELEASE = pathlib.Path(sys.prefix)
INTO = ROOT / "target/peers/rclpy" / RELEASE.name
# Of Debian's, what generators are written with; behind all that the wheels have.
TEMPLATES = "/usr/lib/python3/dist-packages"
# The packages, each with those of the messages that its messages hold, and with what these hold.
NEEDS = {
    "actionlib": [],
    "example_interfaces": [],
    "move_base_msgs": ["geometry_msgs", "std_msgs", "builtin_interfaces"],
    "raspimouse_msgs": [],
    "tf2_msgs": ["geometry_msgs", "std_msgs", "builtin_interfaces"],
}
# What the services and messages of an action hold.
OF_ACTIONS = ["action_msgs", "builtin_interfaces", "service_msgs", "unique_identifier_msgs"]
LIBRARIES = [
    "rosidl_runtime_c", "rosidl_typesupport_c", "rosidl_typesupport_fastrtps_c", "rosidl_typesupport_fastrtps_cpp",
    "fastcdr", "rosidl_dynamic_typesupport", "rmw", "rcutils",
]  # fmt: skip


def source_of(package):
    """The folder of a package's definitions."""
    folders = [SOURCES / package, SOURCES / "ros2" / package, SOURCES / "ros1" / package]
    return next(folder for folder in folders if folder.is_dir())


def definitions_of(package):
    """The messages and actions of a package."""
    source = source_of(package)
    return sorted([*source.glob("msg/*.msg"), *source.glob("action/*.action")])


def in_ros2(definition):
    """A definition whose times and durations have the types of ROS 2."""
    definition = re.sub(r"(?m)^time ", "builtin_interfaces/Time ", definition)
    return re.sub(r"(?m)^duration ", "builtin_interfaces/Duration ", definition)


def generate(package, needs, made):
    """Writes the sources of a package whose messages hold those of `needs`."""
    os.environ["AMENT_PREFIX_PATH"] = sys.prefix
    sys.path.append(TEMPLATES)
    from rosidl_adapter.action import convert_action_to_idl
    from rosidl_adapter.msg import convert_msg_to_idl
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport

    source = source_of(package)
    definitions = [path.relative_to(source) for path in definitions_of(package)]
    for definition in definitions:
        (made / definition).parent.mkdir(parents=True, exist_ok=True)
        (made / definition).write_text(in_ros2((source / definition).read_text()))
        convert = convert_action_to_idl if definition.suffix == ".action" else convert_msg_to_idl
        convert(made, package, definition, made / definition.parent)
    files = ["{}:{}".format(made, definition.with_suffix(".idl")) for definition in definitions]
    for generator in [
        GenerateC("c"),
        GenerateFastRTPSCTypesupport("fastrtps_c"),
        GenerateCTypesupport("c", typesupport_implementations=["rosidl_typesupport_fastrtps_c"]),
        GeneratePython("py", typesupport_implementations=["rosidl_typesupport_c"]),
    ]:
        generator.generate(package, files, [str(RELEASE / "share" / need) for need in needs], made)
    sys.path.remove(TEMPLATES)


def compile(package, needs, made):
    """Makes one library of them, which Python imports."""
    # Debian's Fast CDR is an older one.
    own = [RELEASE / "include", *RELEASE.glob("include/*/")]
    headers = [made.parent, numpy.get_include(), sysconfig.get_paths()["include"], *own]
    options = ["-O1", "-fPIC", *("-I{}".format(folder) for folder in headers)]
    sources = [(compiler, source) for compiler, ending in [("gcc", "*.c"), ("g++", "*.cpp")] for source in made.rglob(ending)]
    objects = ["{}.o".format(source) for _, source in sources]

    def make(compiler, source):
        subprocess.run([compiler, *options, "-c", source, "-o", "{}.o".format(source)], check=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(make, *source) for source in sources]:
            done.result()
    library = made / "{}_s__rosidl_typesupport_c.so".format(package)
    kinds = ["generator_c", "typesupport_fastrtps_c", "typesupport_c", "generator_py"]
    libraries = [*LIBRARIES, *("{}__rosidl_{}".format(need, kind) for need in needs for kind in kinds)]
    folder = RELEASE / "lib"
    wanted = ["-L{}".format(folder), "-Wl,-rpath,{}".format(folder), *("-l{}".format(name) for name in libraries)]
    subprocess.run(["g++", "-shared", "-o", library, *objects, *wanted], check=True)


def prepare(package):
    """Has a package made, unless it is there since its definitions changed last, and lets it be imported."""
    INTO.mkdir(parents=True, exist_ok=True)
    done = INTO / "{}.made".format(package)
    with open(INTO / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(path.stat().st_mtime for path in [*definitions_of(package), pathlib.Path(__file__)])
        if not done.exists() or done.stat().st_mtime < newest:
            # The generators of one process make one package.
            making = [sys.executable, __file__, package]
            subprocess.run(making, check=True, stdout=subprocess.DEVNULL)
            done.touch()
    if str(INTO) not in sys.path:
        sys.path.append(str(INTO))


def make(package):
    needs = NEEDS[package]
    if any(path.suffix == ".action" for path in definitions_of(package)):
        needs = sorted({*needs, *OF_ACTIONS})
    generate(package, needs, INTO / package)
    compile(package, needs, INTO / package)


def main():
    if sys.argv[1:]:
        make(sys.argv[1])
    else:
        for package in NEEDS:
            prepare(package)


if __name__ == "__main__":
    main()
