"""Sends goals 1, 2 and 4 to an action of actionlib/Test, one after the other, and cancels 4. With `--preempt` it sends 4
again, and 1 while 4 is active. Prints `feedback NUMBER VALUE` and `goal NUMBER STATUS RESULT TEXT` for each, then `done`."""
import sys
import threading
import time

import actionlib
import rospy
from actionlib import GoalStatus
from actionlib.msg import TestAction, TestGoal

from common import action_name, print_line, start

start("simple_action_client")


class Client(actionlib.SimpleActionClient):
    """SimpleActionClient sends a goal before it stores its handle, and logs an error for a response in between, with any
    server. This class stores the handle first."""

    def send(self, number):
        self.number = number
        self.has_feedback = threading.Event()
        sent = []
        self.action_client.manager.register_send_goal_fn(sent.append)
        self.send_goal(TestGoal(number), feedback_cb=self.on_feedback)
        self.action_client.pub_goal.publish(sent.pop())

    def on_feedback(self, message):
        print_line("feedback {} {}".format(self.number, message.feedback))
        self.has_feedback.set()

    def wait_until_active(self):
        deadline = time.monotonic() + 60
        while self.get_state() != GoalStatus.ACTIVE:
            if time.monotonic() > deadline:
                raise SystemExit("the goal did not become active")
            time.sleep(0.01)
        if not self.has_feedback.wait(60):
            raise SystemExit("no feedback")

    def print_result(self):
        if not self.wait_for_result(rospy.Duration(60)):
            raise SystemExit("no result")
        status = GoalStatus.to_string(self.get_state())
        result, text = self.get_result().result, self.get_goal_status_text()
        print_line("goal {} {} {} {}".format(self.number, status, result, text))


clients = [Client(action_name(), TestAction) for _ in range(2)]
for client in clients:
    if not client.wait_for_server(rospy.Duration(60)):
        raise SystemExit("no server")
first, second = clients
for number in [1, 2]:
    first.send(number)
    first.print_result()
first.send(4)
first.wait_until_active()
first.cancel_goal()
first.print_result()
if "--preempt" in sys.argv:
    first.send(4)
    first.wait_until_active()
    second.send(1)
    first.print_result()
    second.print_result()
print_line("done")
