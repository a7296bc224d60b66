//! Sends goals of 1 to 5 of an action of `actionlib/Test` at once, cancels those that do not end by themselves once the
//! server has them, and prints `feedback NUMBER VALUE` and `goal NUMBER STATUS RESULT TEXT` for each, then `done`.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use interop::messages::{Options, log_to_standard_error};
use interop::{PATIENCE as LONG, wait_until};
use runnel::msgs::actionlib::action::{TestAction, TestGoal};
use runnel::{ActionClient, ClientGoalHandle, Context, Error, GoalStatus};
use runnel_testkit::process::deadline_in;

/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(LONG);

fn main() -> Result<(), Error> {
    log_to_standard_error();
    let context = Context::new()?;
    let options = Options::of(&context, &[]);
    let client = context.create_node("action_client")?.create_action_client(&options.topic)?;
    assert!(client.wait_for_server(PATIENCE)?, "no server");
    let goals = (1..=5).map(|number| send(&client, number)).collect::<Result<Vec<_>, _>>()?;
    wait_until("it is worked on", deadline_in(LONG), || goals[3].0.status() == GoalStatus::Active);
    wait_until("the server has it", deadline_in(LONG), || goals[4].0.is_acknowledged());
    let mut feedback = None;
    while feedback.is_none() {
        assert!(goals[3].0.wait_for_result(Duration::from_millis(10))?.is_none(), "it ended by itself");
        feedback = goals[3].1.try_recv().ok();
    }
    goals[3].0.cancel()?;
    goals[4].0.cancel()?;
    for ((goal, heard), number) in goals.iter().zip(1..) {
        let outcome = goal.wait_for_result(PATIENCE)?.expect("a result");
        let before = feedback.take_if(|_| number == 4);
        before.into_iter().chain(heard.try_iter()).for_each(|value| println!("feedback {number} {value}"));
        let result = outcome.result.expect("a result").result;
        println!("goal {number} {} {result} {}", outcome.status, outcome.text);
    }
    println!("done");
    Ok(())
}

type Sent = (ClientGoalHandle<TestAction>, Receiver<i32>);

fn send(client: &ActionClient<TestAction>, number: i32) -> Result<Sent, Error> {
    let (sender, heard) = channel();
    let feedback = move |message: &runnel::msgs::actionlib::action::TestFeedback| {
        // The end of the program is no reason to complain.
        let _ = sender.send(message.feedback);
    };
    Ok((client.send_goal_with(&TestGoal { goal: number }, feedback, |_| {})?, heard))
}
