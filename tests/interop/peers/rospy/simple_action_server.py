"""An action of actionlib/Test, one goal at a time. A goal of 1 is reached, 2 is aborted, any other is worked on, with
feedback of 7, until it is preempted."""
import actionlib
import rospy
from actionlib.msg import TestAction, TestFeedback, TestResult

from common import action_name, answer_when_connected, say, start

gone = start("simple_action_server")


def execute(goal):
    say("goal {}".format(goal.goal))
    if goal.goal == 1:
        server.set_succeeded(TestResult(1), "reached")
    elif goal.goal == 2:
        server.set_aborted(TestResult(2), "no way")
    else:
        server.publish_feedback(TestFeedback(7))
        while not server.is_preempt_requested() and not rospy.is_shutdown():
            rospy.sleep(0.01)
        server.set_preempted(TestResult(goal.goal), "as you wish")


server = actionlib.SimpleActionServer(action_name(), TestAction, execute, False)
answer_when_connected(server.action_server)
server.start()
say("ready")
gone.wait()
