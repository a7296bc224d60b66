//! Simple action client of `actionlib/Test`: sends the goals 1, 2 and 4 in sequence, and cancels the last. With
//! `--preempt` it then sends goal 4 and, while that is active, goal 1. Prints `feedback NUMBER VALUE` and `goal
//! NUMBER STATUS RESULT TEXT` for each, then `done`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use interop::messages::{Options, log_to_standard_error};
use runnel::msgs::actionlib::action::{TestAction, TestFeedback, TestGoal};
use runnel::{ActionClient, ClientGoalHandle, Context, Error};

/// Time limit of the server.
const TIMEOUT: Duration = Duration::from_secs(60);

fn main() -> Result<(), Error> {
    log_to_standard_error();
    let context = Context::new()?;
    let options = Options::of(&context, &["--preempt"]);
    let node = context.create_node("simple_action_client")?;
    let client = node.create_action_client(&options.topic)?;
    assert!(client.wait_for_server(TIMEOUT)?, "no server");
    for number in [1, 2] {
        Sent::new(&client, number)?.print_outcome()?;
    }
    let canceled = Sent::new(&client, 4)?;
    canceled.wait_for_feedback()?;
    canceled.handle.cancel()?;
    canceled.print_outcome()?;
    if options.flag("--preempt") {
        let first = Sent::new(&client, 4)?;
        first.wait_for_feedback()?;
        let second = Sent::new(&client, 1)?;
        first.print_outcome()?;
        second.print_outcome()?;
    }
    println!("done");
    Ok(())
}

/// An active goal.
struct Sent {
    number: i32,
    handle: ClientGoalHandle<TestAction>,
    has_feedback: Arc<AtomicBool>,
}

impl Sent {
    fn new(client: &ActionClient<TestAction>, number: i32) -> Result<Self, Error> {
        let has_feedback = Arc::new(AtomicBool::new(false));
        let sets = Arc::clone(&has_feedback);
        let feedback = move |message: &TestFeedback| {
            println!("feedback {number} {}", message.feedback);
            sets.store(true, Ordering::SeqCst);
        };
        let handle = client.send_goal_with(&TestGoal { goal: number }, feedback, |_| {})?;
        Ok(Self { number, handle, has_feedback })
    }

    fn wait_for_feedback(&self) -> Result<(), Error> {
        while !self.has_feedback.load(Ordering::SeqCst) {
            let ended = self.handle.wait_for_result(Duration::from_millis(10))?;
            assert!(ended.is_none(), "the goal ended by itself: {ended:?}");
        }
        Ok(())
    }

    fn print_outcome(&self) -> Result<(), Error> {
        let outcome = self.handle.wait_for_result(TIMEOUT)?.expect("a result");
        let result = outcome.result.expect("a result").result;
        println!("goal {} {} {result} {}", self.number, outcome.status, outcome.text);
        Ok(())
    }
}
