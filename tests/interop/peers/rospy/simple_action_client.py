"""Sends goals of 1, of 2 and of 4, which it cancels, to an action of actionlib/Test, one after the other; with `--preempt` then
one of 4 and, while that is worked on, one of 1. Prints `feedback NUMBER VALUE` and `goal NUMBER STATUS RESULT TEXT` for each,
then `done`."""
import sys
import threading
import time

import actionlib
import rospy
from actionlib import GoalStatus
from actionlib.msg import TestAction, TestGoal

from common import action_name, say, start

start("simple_action_client")


class Client(actionlib.SimpleActionClient):
    """SimpleActionClient sends a goal before it stores its handle, and logs an error for an answer in between, whatever
    the server. Here the handle is stored first."""

    def send(self, number):
        self.number = number
        self.heard = threading.Event()
        sent = []
        self.action_client.manager.register_send_goal_fn(sent.append)
        self.send_goal(TestGoal(number), feedback_cb=self.on_feedback)
        self.action_client.pub_goal.publish(sent.pop())

    def on_feedback(self, message):
        say("feedback {} {}".format(self.number, message.feedback))
        self.heard.set()

    def wait_until_active(self):
        deadline = time.monotonic() + 60
        while self.get_state() != GoalStatus.ACTIVE:
            if time.monotonic() > deadline:
                raise SystemExit("the goal did not become active")
            time.sleep(0.01)
        if not self.heard.wait(60):
            raise SystemExit("no feedback")

    def tell(self):
        if not self.wait_for_result(rospy.Duration(60)):
            raise SystemExit("no result")
        status = GoalStatus.to_string(self.get_state())
        result, text = self.get_result().result, self.get_goal_status_text()
        say("goal {} {} {} {}".format(self.number, status, result, text))


clients = [Client(action_name(), TestAction) for _ in range(2)]
for client in clients:
    if not client.wait_for_server(rospy.Duration(60)):
        raise SystemExit("no server")
first, second = clients
for number in [1, 2]:
    first.send(number)
    first.tell()
first.send(4)
first.wait_until_active()
first.cancel_goal()
first.tell()
if "--preempt" in sys.argv:
    first.send(4)
    first.wait_until_active()
    second.send(1)
    first.tell()
    second.tell()
say("done")
