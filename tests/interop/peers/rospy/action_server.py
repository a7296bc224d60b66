"""Server of an action of actionlib/Test with concurrent goals. Goal 1 succeeds, 2 is aborted, 3 is rejected; 4 is active,
with feedback 7, until it is canceled; 5 is pending until it is canceled."""
import actionlib
from actionlib.msg import TestAction, TestFeedback, TestResult

from common import action_name, answer_when_connected, print_line, start

unregistered = start("action_server")


def on_goal(handle):
    number = handle.get_goal().goal
    print_line("goal {}".format(number))
    if number == 3:
        handle.set_rejected(TestResult(3), "too much")
    elif number != 5:
        handle.set_accepted()
    if number == 1:
        handle.set_succeeded(TestResult(1), "reached")
    elif number == 2:
        handle.set_aborted(TestResult(2), "no way")
    elif number == 4:
        handle.publish_feedback(TestFeedback(7))


def on_cancel(handle):
    number = handle.get_goal().goal
    print_line("cancel {}".format(number))
    handle.set_canceled(TestResult(number), "as you wish")


server = actionlib.ActionServer(action_name(), TestAction, on_goal, on_cancel, False)
answer_when_connected(server)
server.start()
print_line("ready")
unregistered.wait()
