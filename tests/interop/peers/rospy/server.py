"""Provides a service of std_srvs/SetBool: the response to true holds the number of the call, false fails."""
import argparse

import rospy
from std_srvs.srv import SetBool, SetBoolResponse

from common import print_line, start

parser = argparse.ArgumentParser()
parser.add_argument("service")
options = parser.parse_args(rospy.myargv()[1:])
calls = 0


def answer(request):
    global calls
    calls += 1
    print_line("asked {}".format(calls))
    if not request.data:
        raise rospy.ServiceException("it must stay on")
    return SetBoolResponse(success=True, message="call {}".format(calls))


unregistered = start("server")
service = rospy.Service(options.service, SetBool, answer)
print_line("ready")
rospy.spin()
unregistered.wait()
