"""Server of test_msgs/FibonacciAction, as peers/rclpy/action_server.py is one: order 1 sends feedback and succeeds, 2 is
aborted, 3 is rejected, 4 sends feedback and works until it is canceled, 5 succeeds once it is to be canceled. Prints
`ready`, `goal ORDER` and `cancel ORDER`. The file named last has the definition of the action, which is not installed for
ROS 1."""
import sys

import actionlib
import rospy
from genpy.dynamic import generate_dynamic

from common import action_name, answer_when_connected, print_line, start

unregistered = start("fibonacci_server")
with open(rospy.myargv(sys.argv)[-1]) as file:
    types = generate_dynamic("test_msgs/FibonacciAction", file.read())
Result, Feedback = types["test_msgs/FibonacciResult"], types["test_msgs/FibonacciFeedback"]


def on_goal(handle):
    order = handle.get_goal().order
    print_line("goal {}".format(order))
    result = Result([order, 10 * order])
    if order == 3:
        handle.set_rejected(result, "too much")
        return
    handle.set_accepted()
    if order in (1, 4):
        handle.publish_feedback(Feedback([order]))
    if order == 1:
        handle.set_succeeded(result, "reached")
    elif order == 2:
        handle.set_aborted(result, "no way")


def on_cancel(handle):
    order = handle.get_goal().order
    print_line("cancel {}".format(order))
    result = Result([order, 10 * order])
    if order == 5:
        handle.set_succeeded(result, "it goes on")
    else:
        handle.set_canceled(result, "as you wish")


server = actionlib.ActionServer(action_name(), types["test_msgs/FibonacciAction"], on_goal, on_cancel, False)
answer_when_connected(server)
server.start()
print_line("ready")
unregistered.wait()
