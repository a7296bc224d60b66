"""Server of an action of actionlib/Test with one goal at a time. Goal 1 succeeds, 2 is aborted, any other is active, with
feedback 7, until it is preempted."""
import actionlib
import rospy
from actionlib.msg import TestAction, TestFeedback, TestResult

from common import action_name, answer_when_connected, print_line, start

unregistered = start("simple_action_server")


def execute(goal):
    print_line("goal {}".format(goal.goal))
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
print_line("ready")
unregistered.wait()
