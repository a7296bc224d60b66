"""Packages of messages, services and actions that no wheel has: generated from their definitions by what comes with ROS 2
and compiled, once, into `target/peers/rclpy`. Run as a program it makes all."""
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
    "composition_interfaces": ["rcl_interfaces"],
    "example_interfaces": [],
    "map_msgs": ["nav_msgs", "sensor_msgs", "geometry_msgs", "std_msgs", "builtin_interfaces"],
    "move_base_msgs": ["geometry_msgs", "std_msgs", "builtin_interfaces"],
    "raspimouse_msgs": [],
    "rosbag2_interfaces": [],
    "tf2_msgs": ["geometry_msgs", "std_msgs", "builtin_interfaces"],
}
# What the messages of a service hold, and those of an action.
OF_SERVICES = ["builtin_interfaces", "service_msgs"]
OF_ACTIONS = [*OF_SERVICES, "action_msgs", "unique_identifier_msgs"]
# Fast DDS 2 needs both kinds.
TYPE_SUPPORTS = ["rosidl_typesupport_fastrtps_c", "rosidl_typesupport_introspection_c"]
# A package's first module.
LOAD = """import ctypes
import pathlib

for library in pathlib.Path(__file__).parent.glob("lib*.so"):
    ctypes.CDLL(str(library))
"""
LIBRARIES = [
    "rosidl_runtime_c", "rosidl_typesupport_c", *TYPE_SUPPORTS, "rosidl_typesupport_fastrtps_cpp",
    "fastcdr", "rosidl_dynamic_typesupport", "rmw", "rcutils",
]  # fmt: skip


def source_of(package):
    """The folder of a package's definitions."""
    folders = [SOURCES / package, SOURCES / "ros2" / package, SOURCES / "ros1" / package]
    return next(folder for folder in folders if folder.is_dir())


def definitions_of(package):
    """The messages, services and actions of a package."""
    source = source_of(package)
    return sorted(path for ending in ["msg", "srv", "action"] for path in source.glob("{0}/*.{0}".format(ending)))


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
    from rosidl_adapter.srv import convert_srv_to_idl
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport
    from rosidl_typesupport_introspection_c.cli import GenerateIntrospectionCTypesupport

    converters = {".msg": convert_msg_to_idl, ".srv": convert_srv_to_idl, ".action": convert_action_to_idl}
    source = source_of(package)
    definitions = [path.relative_to(source) for path in definitions_of(package)]
    for definition in definitions:
        (made / definition).parent.mkdir(parents=True, exist_ok=True)
        (made / definition).write_text(in_ros2((source / definition).read_text()))
        converters[definition.suffix](made, package, definition, made / definition.parent)
    files = ["{}:{}".format(made, definition.with_suffix(".idl")) for definition in definitions]
    for generator, into in [
        (GenerateC("c"), made),
        (GenerateFastRTPSCTypesupport("fastrtps_c"), made),
        # Its files have names of those of the first generator.
        (GenerateIntrospectionCTypesupport("introspection_c"), introspection_of(package)),
        (GenerateCTypesupport("c", typesupport_implementations=TYPE_SUPPORTS), made),
        (GeneratePython("py", typesupport_implementations=["rosidl_typesupport_c"]), made),
    ]:
        generator.generate(package, files, [str(RELEASE / "share" / need) for need in needs], into)
    sys.path.remove(TEMPLATES)


def compile(package, needs, made):
    """Makes one library of them, which Python imports. Each kind of type support is found by the name of a library: one that
    needs the first, and is loaded when the package is imported."""
    # Debian's Fast CDR is an older one.
    own = [RELEASE / "include", *RELEASE.glob("include/*/")]
    folders = [made, introspection_of(package)]
    headers = [*(folder.parent for folder in folders), numpy.get_include(), sysconfig.get_paths()["include"], *own]
    options = ["-O1", "-fPIC", *("-I{}".format(folder) for folder in headers)]
    compilers = [("gcc", "*.c"), ("g++", "*.cpp")]
    sources = [(by, source) for by, ending in compilers for folder in folders for source in folder.rglob(ending)]
    objects = ["{}.o".format(source) for _, source in sources]

    def make(compiler, source):
        subprocess.run([compiler, *options, "-c", source, "-o", "{}.o".format(source)], check=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(make, *source) for source in sources]:
            done.result()
    library = made / "{}_s__rosidl_typesupport_c.so".format(package)
    kinds = [*TYPE_SUPPORTS, "rosidl_generator_c", "rosidl_typesupport_c", "rosidl_generator_py"]
    libraries = [*LIBRARIES, *("{}__{}".format(need, kind) for need in needs for kind in kinds)]
    folder = RELEASE / "lib"
    wanted = ["-L{}".format(folder), "-Wl,-rpath,{}".format(folder), *("-l{}".format(name) for name in libraries)]
    subprocess.run(["g++", "-shared", "-o", library, *objects, *wanted], check=True)
    for kind in TYPE_SUPPORTS:
        support = "lib{}__{}.so".format(package, kind)
        # By name and not by path: the folder may be used from another checkout, and moved.
        needed = ["-L{}".format(made), "-l:{}".format(library.name), "-Wl,-rpath,$ORIGIN"]
        needed = ["-Wl,--no-as-needed,-soname,{}".format(support), *needed]
        subprocess.run(["gcc", "-shared", "-o", made / support, *needed], check=True)
    (made / "__init__.py").write_text(LOAD)


def introspection_of(package):
    """The folder of the sources of the second kind of type support."""
    return INTO / "introspection" / package


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
    endings = {path.suffix for path in definitions_of(package)}
    of_services = OF_SERVICES if ".srv" in endings else []
    of_actions = OF_ACTIONS if ".action" in endings else []
    needs = sorted({*NEEDS[package], *of_services, *of_actions})
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
