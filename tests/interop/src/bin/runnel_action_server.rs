//! Action server of `actionlib/Test` for any number of goals at once. Goal 1 succeeds, 2 is aborted, 3 is rejected, 4
//! is accepted and sends feedback of 7 until it is canceled, 5 waits until it is canceled.

use std::sync::{Arc, Mutex, PoisonError};

use interop::messages::{Options, log_to_standard_error};
use runnel::msgs::actionlib::action::{TestAction, TestFeedback, TestResult};
use runnel::{Context, Error, ServerGoalHandle};

fn main() -> Result<(), Error> {
    log_to_standard_error();
    let context = Context::new()?;
    let options = Options::of(&context, &[]);
    let node = context.create_node("action_server")?;
    let open = Arc::new(Mutex::new(Vec::new()));
    let keep = move |goal| open.lock().unwrap_or_else(PoisonError::into_inner).push(goal);
    let on_goal = move |goal: ServerGoalHandle<TestAction>| {
        begin(&goal).expect("a goal can be begun");
        keep(goal);
    };
    let on_cancel = |goal: ServerGoalHandle<TestAction>| {
        let number = goal.goal().goal;
        println!("cancel {number}");
        goal.canceled(&TestResult { result: number }, "as you wish").expect("a goal can be canceled");
    };
    let _server = node.create_action_server(&options.topic, on_goal, on_cancel)?;
    println!("ready");
    context.spin()
}

fn begin(goal: &ServerGoalHandle<TestAction>) -> Result<(), Error> {
    let number = goal.goal().goal;
    println!("goal {number}");
    let result = TestResult { result: number };
    match number {
        3 => return goal.reject(&result, "too much"),
        5 => return Ok(()),
        _ => goal.accept()?,
    }
    match number {
        1 => goal.succeed(&result, "reached"),
        2 => goal.abort(&result, "no way"),
        _ => goal.publish_feedback(&TestFeedback { feedback: 7 }),
    }
}
