"""Sends the orders 1 to 5 of test_msgs/action/Fibonacci at once to a server as action_server.py is, cancels 4 once it has
sent feedback, and 5. Prints for each order its feedback, and its status and result, and then what becomes of requests about
goals that have ended or are not known. Ends with `done`."""
import argparse
import sys
import uuid

from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient
from rclpy.qos import qos_profile_action_status_default
from rclpy.utilities import remove_ros_args
from test_msgs.action import Fibonacci
from unique_identifier_msgs.msg import UUID

from common import node, print_line

STATUSES = {getattr(GoalStatus, name): name[len("STATUS_"):] for name in dir(GoalStatus) if name.startswith("STATUS_")}

words = argparse.ArgumentParser()
words.add_argument("action")
options = words.parse_args(remove_ros_args(sys.argv)[1:])

with node("action_client") as (this, turn):

    def wait_for(future):
        while not future.done():
            turn(0.05)
        return future.result()

    def result_of(goal_id):
        request = Fibonacci.Impl.GetResultService.Request(goal_id=goal_id)
        return wait_for(results.call_async(request))

    def cancel(goal_id):
        request = CancelGoal.Request(goal_info=GoalInfo(goal_id=goal_id))
        return wait_for(cancels.call_async(request))

    client = ActionClient(this, Fibonacci, options.action)
    cancels = this.create_client(CancelGoal, options.action + "/_action/cancel_goal")
    results = this.create_client(Fibonacci.Impl.GetResultService, options.action + "/_action/get_result")
    lists = []
    this.create_subscription(
        GoalStatusArray, options.action + "/_action/status", lists.append, qos_profile_action_status_default
    )
    print_line("ready")
    while not (client.server_is_ready() and cancels.service_is_ready() and results.service_is_ready()):
        turn(0.05)
    feedback = {order: [] for order in range(1, 6)}

    def sent(order):
        keep = lambda message: feedback[order].append(list(message.feedback.sequence))
        return client.send_goal_async(Fibonacci.Goal(order=order), keep)

    futures = {order: sent(order) for order in feedback}
    goals = {order: wait_for(future) for order, future in futures.items()}
    print_line("accepted {}".format([order for order, goal in goals.items() if goal.accepted]))
    ends = {order: goal.get_result_async() for order, goal in goals.items() if goal.accepted}
    # rclpy drops feedback of a goal if it finds the result in the same turn: that of 1 may be missing.
    while not feedback[4]:
        turn(0.05)
    for order in (4, 5):
        response = wait_for(goals[order].cancel_goal_async())
        mine = [bytes(info.goal_id.uuid) for info in response.goals_canceling] == [bytes(goals[order].goal_id.uuid)]
        print_line("cancel {} code {} mine {}".format(order, response.return_code, mine))
    for order, end in ends.items():
        end = wait_for(end)
        print_line("goal {} {} {}".format(order, STATUSES[end.status], list(end.result.sequence)))
    print_line("feedback {}".format(feedback))
    unknown = UUID(uuid=list(uuid.uuid4().bytes))
    ended = goals[1].goal_id
    print_line("ended: cancel code {}".format(cancel(ended).return_code))
    print_line("unknown: cancel code {}".format(cancel(unknown).return_code))
    everything = cancel(UUID())
    print_line("all: cancel code {} of {}".format(everything.return_code, len(everything.goals_canceling)))
    again = result_of(ended)
    print_line("ended: result {} {}".format(STATUSES[again.status], list(again.result.sequence)))
    nothing = result_of(unknown)
    print_line("unknown: result {} {}".format(STATUSES[nothing.status], list(nothing.result.sequence)))
    expected = {bytes(goal.goal_id.uuid) for goal in goals.values() if goal.accepted}

    def is_listed():
        listed = {bytes(entry.goal_info.goal_id.uuid): entry.status for entry in lists[-1].status_list} if lists else {}
        return set(listed) == expected and all(status >= GoalStatus.STATUS_SUCCEEDED for status in listed.values())

    while not is_listed():
        turn(0.05)
    print_line("done")
