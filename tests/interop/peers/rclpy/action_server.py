"""Action server of test_msgs/action/Fibonacci. Order 1 sends feedback and succeeds, 2 is aborted, 3 is rejected, 4 sends
feedback and works until it is canceled, 5 refuses to be canceled and then succeeds. Prints `ready`, `goal ORDER` and
`cancel ORDER`. `--timeout` is the time in seconds for which results are kept. With `--introspect` it publishes the calls of
its services with their contents."""
import argparse
import sys
import threading

import rclpy
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.service_introspection import ServiceIntrospectionState
from rclpy.utilities import remove_ros_args
from test_msgs.action import Fibonacci

from common import print_line

words = argparse.ArgumentParser()
words.add_argument("action")
words.add_argument("--timeout", type=int, default=10)
words.add_argument("--introspect", action="store_true")
options = words.parse_args(remove_ros_args(sys.argv)[1:])
refused = threading.Event()


def on_goal(goal):
    print_line("goal {}".format(goal.order))
    return GoalResponse.REJECT if goal.order == 3 else GoalResponse.ACCEPT


def on_cancel(handle):
    order = handle.request.order
    print_line("cancel {}".format(order))
    if order == 5:
        refused.set()
        return CancelResponse.REJECT
    return CancelResponse.ACCEPT


def execute(handle):
    order = handle.request.order
    if order in (1, 4):
        handle.publish_feedback(Fibonacci.Feedback(sequence=[order]))
    if order == 4:
        while rclpy.ok() and not handle.is_cancel_requested:
            threading.Event().wait(0.01)
        if rclpy.ok():
            handle.canceled()
    elif order == 2:
        handle.abort()
    else:
        if order == 5:
            refused.wait()
        handle.succeed()
    return Fibonacci.Result(sequence=[order, 10 * order])


rclpy.init(args=sys.argv)
node = rclpy.create_node("action_server", start_parameter_services=False)
executor = MultiThreadedExecutor(8)
executor.add_node(node)
server = ActionServer(
    node,
    Fibonacci,
    options.action,
    execute,
    goal_callback=on_goal,
    cancel_callback=on_cancel,
    callback_group=ReentrantCallbackGroup(),
    result_timeout=options.timeout,
)
if options.introspect:
    kept = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    server.configure_introspection(node.get_clock(), kept, ServiceIntrospectionState.CONTENTS)
print_line("ready")
try:
    executor.spin()
except (KeyboardInterrupt, ExternalShutdownException):
    pass
