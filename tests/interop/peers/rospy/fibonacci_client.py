"""Sends the orders 1 to 4 of test_msgs/FibonacciAction at once, cancels 4 once it has sent feedback, and prints `goal ORDER
STATUS SEQUENCE TEXT` for each, before that of 4 `feedback 4 SEQUENCE`, then `done`. Feedback of the other orders is not printed:
their results may overtake it. The file named last has the definition of the action, which is not installed for ROS 1."""
import sys
import threading

import actionlib
import rospy
from actionlib import CommState, TerminalState
from genpy.dynamic import generate_dynamic

from common import action_name, print_line, start

start("fibonacci_client")
with open(rospy.myargv(sys.argv)[-1]) as file:
    types = generate_dynamic("test_msgs/FibonacciAction", file.read())
client = actionlib.ActionClient(action_name(), types["test_msgs/FibonacciAction"])
changed = threading.Condition()
feedback = {}


def on_transition(_handle):
    with changed:
        changed.notify_all()


def on_feedback(handle, message):
    order = handle.comm_state_machine.action_goal.goal.order
    with changed:
        feedback.setdefault(order, []).append(list(message.sequence))
        changed.notify_all()


def wait_until(is_so):
    with changed:
        if not changed.wait_for(is_so, 60):
            raise SystemExit("the deadline passed")


if not client.wait_for_server(rospy.Duration(60)):
    raise SystemExit("no server")
goal_type = type(types["test_msgs/FibonacciActionGoal"]().goal)
goals = {order: client.send_goal(goal_type(order), on_transition, on_feedback) for order in range(1, 5)}
wait_until(lambda: goals[4].get_comm_state() == CommState.ACTIVE and 4 in feedback)
goals[4].cancel()
wait_until(lambda: all(goal.get_comm_state() == CommState.DONE for goal in goals.values()))
for order, goal in goals.items():
    for sequence in feedback[4] if order == 4 else []:
        print_line("feedback {} {}".format(order, sequence))
    status = TerminalState.to_string(goal.get_terminal_state())
    print_line("goal {} {} {} {}".format(order, status, list(goal.get_result().sequence), goal.get_goal_status_text()))
print_line("done")
