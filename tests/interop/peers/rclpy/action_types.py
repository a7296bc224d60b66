"""Actions of the types `PACKAGE/action/NAME` in a file of JSON lines: each has the type and the values of a goal, a feedback
and a result. As `server` it serves each type as /PACKAGE/NAME: it checks the goals, publishes the feedback, and succeeds with
the result. As `client` it sends the goals and checks the rest. Prints `ready`, `TYPE` for each goal that passed, and in the
end, as a client, `done`."""
import importlib
import json
import sys

from rclpy.action import ActionClient, ActionServer
from rclpy.utilities import remove_ros_args

from common import node, print_line
from generated import NEEDS, prepare
from values import from_plain


class Sample:
    def __init__(self, line):
        values = json.loads(line)
        self.name = values["type"]
        package, kind, name = self.name.split("/")
        if package in NEEDS:
            prepare(package)
        self.type = getattr(importlib.import_module("{}.{}".format(package, kind)), name)
        self.path = "/{}/{}".format(package, name)
        self.goal = from_plain(self.type.Goal, values["goal"])
        self.feedback = from_plain(self.type.Feedback, values["feedback"])
        self.result = from_plain(self.type.Result, values["result"])


def serve(this, sample):
    def execute(goal):
        assert goal.request == sample.goal, "{}: {}".format(sample.name, goal.request)
        goal.publish_feedback(sample.feedback)
        goal.succeed()
        print_line(sample.name)
        return sample.result

    return ActionServer(this, sample.type, sample.path, execute)


def use(this, sample, spin_once):
    def wait_for(future):
        while not future.done():
            spin_once(0.05)
        return future.result()

    client = ActionClient(this, sample.type, sample.path)
    while not client.server_is_ready():
        spin_once(0.05)
    feedback = []
    goal = wait_for(client.send_goal_async(sample.goal, lambda message: feedback.append(message.feedback)))
    end = wait_for(goal.get_result_async())
    assert end.result == sample.result, "{}: {}".format(sample.name, end.result)
    while not feedback:
        spin_once(0.05)
    assert feedback == [sample.feedback], "{}: {}".format(sample.name, feedback)
    print_line(sample.name)


role, path = remove_ros_args(sys.argv)[1:3]
with open(path, encoding="utf-8") as file:
    samples = [Sample(line) for line in file]
with node("action_types") as (this, spin_once):
    if role == "server":
        servers = [serve(this, sample) for sample in samples]
        print_line("ready")
        while True:
            spin_once()
    print_line("ready")
    for sample in samples:
        use(this, sample, spin_once)
    print_line("done")
