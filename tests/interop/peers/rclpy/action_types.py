"""Actions of the types in a file of JSON lines, each with the values of a goal, a feedback and a result. As `server` it serves
each type: it checks the goals, publishes the feedback until the client, which has received it, cancels the goal, and then succeeds with
the result. As `client` it does what such servers expect, and checks the rest. Prints `ready`, `TYPE` for each goal that passed,
and in the end, as a client, `done`."""
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.task import Future

from common import print_line
from samples import run


def serve(this, sample):
    expected = sample.message("goal")
    canceled = Future()

    async def execute(goal):
        assert goal.request == expected, "{}: {}".format(sample.name, goal.request)
        # Again and again: the first may be sent before the client's subscription is matched.
        timer = this.create_timer(0.02, lambda: goal.publish_feedback(sample.message("feedback")))
        await canceled
        this.destroy_timer(timer)
        goal.succeed()
        print_line(sample.name)
        return sample.message("result")

    def cancel(_):
        canceled.set_result(True)
        return CancelResponse.ACCEPT

    return ActionServer(this, sample.type, sample.path, execute, cancel_callback=cancel)


def use(this, sample, spin_once):
    def wait_for(future):
        while not future.done():
            spin_once(0.05)
        return future.result()

    client = ActionClient(this, sample.type, sample.path)
    while not client.server_is_ready():
        spin_once(0.05)
    feedback = []
    sent = client.send_goal_async(sample.message("goal"), lambda message: feedback.append(message.feedback))
    goal = wait_for(sent)
    while not feedback:
        spin_once(0.05)
    goal.cancel_goal_async()
    end = wait_for(goal.get_result_async())
    assert end.result == sample.message("result"), "{}: {}".format(sample.name, end.result)
    expected = sample.message("feedback")
    assert all(message == expected for message in feedback), "{}: {}".format(sample.name, feedback)
    print_line(sample.name)


run("action_types", serve, use)
