"""Provides a service of std_srvs/SetBool: true is answered with the number of the call, false fails."""
import argparse

import rospy
from std_srvs.srv import SetBool, SetBoolResponse

from common import say, start

parser = argparse.ArgumentParser()
parser.add_argument("service")
options = parser.parse_args(rospy.myargv()[1:])
calls = 0


def answer(request):
    global calls
    calls += 1
    say("asked {}".format(calls))
    if not request.data:
        raise rospy.ServiceException("it must stay on")
    return SetBoolResponse(success=True, message="call {}".format(calls))


gone = start("server")
service = rospy.Service(options.service, SetBool, answer)
say("ready")
rospy.spin()
gone.wait()
