"""Sends goals 1 to 5 of an action of actionlib/Test simultaneously, and cancels 4 and 5 once the server has them. Prints
`feedback NUMBER VALUE` and `goal NUMBER STATUS RESULT TEXT` for each, then `done`."""
import threading

import actionlib
import rospy
from actionlib import CommState, TerminalState
from actionlib.msg import TestAction, TestGoal

from common import action_name, print_line, start

start("action_client")
client = actionlib.ActionClient(action_name(), TestAction)
changed = threading.Condition()
feedback = {}


def on_transition(_handle):
    with changed:
        changed.notify_all()


def on_feedback(handle, message):
    number = handle.comm_state_machine.action_goal.goal.goal
    with changed:
        feedback.setdefault(number, []).append(message.feedback)
        changed.notify_all()


def wait_until(condition):
    with changed:
        if not changed.wait_for(condition, 60):
            raise SystemExit("the deadline passed")


if not client.wait_for_server(rospy.Duration(60)):
    raise SystemExit("no server")
goals = {number: client.send_goal(TestGoal(number), on_transition, on_feedback) for number in range(1, 6)}
wait_until(lambda: goals[4].get_comm_state() == CommState.ACTIVE)
wait_until(lambda: goals[5].get_comm_state() == CommState.PENDING)
wait_until(lambda: 4 in feedback)
goals[4].cancel()
goals[5].cancel()
wait_until(lambda: all(goal.get_comm_state() == CommState.DONE for goal in goals.values()))
for number, goal in goals.items():
    for value in feedback.get(number, []):
        print_line("feedback {} {}".format(number, value))
    status = TerminalState.to_string(goal.get_terminal_state())
    print_line("goal {} {} {} {}".format(number, status, goal.get_result().result, goal.get_goal_status_text()))
print_line("done")
