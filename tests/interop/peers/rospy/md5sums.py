"""Prints `KIND TYPE MD5 CRC FILE` for every definition that rosmsg and rossrv list; KIND is msg or srv.

genmsg computes the MD5 from the definition file. It must equal the MD5 of the generated class, if installed, which
`rosmsg md5` prints. CRC is the CRC-32 of a message's full text in connection headers, and - for a service.
"""
import os
import zlib

import genmsg
import roslib.message
import rosmsg
import rospkg

packages = rospkg.RosPack()
KINDS = (
    ("msg", rosmsg.MODE_MSG, genmsg.msg_loader.load_msg_from_file, roslib.message.get_message_class),
    ("srv", rosmsg.MODE_SRV, genmsg.msg_loader.load_srv_from_file, roslib.message.get_service_class),
)


def search_path():
    path = {}
    for _, mode, _, _ in KINDS:
        for package, folder in rosmsg.iterate_packages(packages, mode):
            path.setdefault(package, []).append(folder)
    return path


def definition_file(kind, full_name, path):
    package, name = full_name.split("/")
    candidates = [os.path.join(folder, name + "." + kind) for folder in path[package]]
    return next(file for file in candidates if os.path.isfile(file))


def sums(kind, load, file, full_name, path):
    context = genmsg.MsgContext.create_default()
    spec = load(context, file, full_name)
    genmsg.msg_loader.load_depends(context, spec, path)
    md5 = genmsg.gentools.compute_md5(context, spec)
    if kind == "srv":
        return md5, "-"
    text = genmsg.gentools.compute_full_text(context, spec)
    return md5, "{:08x}".format(zlib.crc32(text.encode()))


path = search_path()
for kind, mode, load, generated_class in KINDS:
    for package, _ in sorted(set(rosmsg.iterate_packages(packages, mode))):
        for full_name in rosmsg.list_types(package, mode=mode):
            file = definition_file(kind, full_name, path)
            md5, crc = sums(kind, load, file, full_name, path)
            generated = generated_class(full_name)
            if generated is not None and generated._md5sum != md5:
                raise SystemExit("{}: {} by file, {} by class".format(full_name, md5, generated._md5sum))
            print(kind, full_name, md5, crc, file)
