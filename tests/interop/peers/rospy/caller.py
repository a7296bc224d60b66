"""Calls a service of std_srvs/SetBool: `--count` times with true, then once with false, then with true on one persistent
connection; prints `answer MESSAGE` or `failed TEXT` for each, then `done`."""
import argparse

import rospy
from std_srvs.srv import SetBool

from common import print_line, start

parser = argparse.ArgumentParser()
parser.add_argument("service")
parser.add_argument("--count", type=int, default=3)
options = parser.parse_args(rospy.myargv()[1:])


def call(proxy, data):
    try:
        print_line("answer {}".format(proxy(data).message))
    except rospy.ServiceException as failure:
        print_line("failed {}".format(failure))


start("caller")
rospy.wait_for_service(options.service, 60)
once = rospy.ServiceProxy(options.service, SetBool)
for _ in range(options.count):
    call(once, True)
call(once, False)
persistent = rospy.ServiceProxy(options.service, SetBool, persistent=True)
for _ in range(options.count):
    call(persistent, True)
persistent.close()
print_line("done")
