//! An action of `actionlib/Test`, one goal at a time. A goal of 1 is reached, 2 is aborted, any other is worked on, with
//! feedback of 7, until it is preempted.

use interop::messages::{Options, log_to_standard_error};
use interop::{PATIENCE, wait_until};
use runnel::msgs::actionlib::action::{TestAction, TestFeedback, TestResult};
use runnel::{Context, Error, SimpleGoalHandle};
use runnel_testkit::process::deadline_in;

fn main() -> Result<(), Error> {
    log_to_standard_error();
    let context = Context::new()?;
    let options = Options::of(&context, &[]);
    let node = context.create_node("simple_action_server")?;
    let _server = node.create_simple_action_server(&options.topic, execute)?;
    println!("ready");
    context.spin()
}

fn execute(goal: &SimpleGoalHandle<TestAction>) -> Result<(), Error> {
    let number = goal.goal().goal;
    println!("goal {number}");
    let result = TestResult { result: number };
    match number {
        1 => goal.succeed(&result, "reached"),
        2 => goal.abort(&result, "no way"),
        _ => {
            goal.publish_feedback(&TestFeedback { feedback: 7 })?;
            wait_until("it is preempted", deadline_in(PATIENCE), || goal.is_preempt_requested());
            goal.preempted(&result, "as you wish")
        }
    }
}
