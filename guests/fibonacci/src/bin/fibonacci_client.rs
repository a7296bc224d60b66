//! Sends the goal of its argument to the action `fibonacci`, and prints feedback and result. With a second argument, cancels
//! the goal after so many feedback messages.

#[cfg(target_arch = "wasm32")]
extern crate runnel_guest as runnel;

use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

use runnel::msgs::example_interfaces::action::{FibonacciAction, FibonacciGoal};
use runnel::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest};
use runnel::{Context, ContextOptions};

const TIMEOUT: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error>> {
    let context = Context::with_options(ContextOptions::from_args()?)?;
    let arguments =
        context.arguments().iter().map(|argument| argument.parse()).collect::<Result<Vec<i32>, _>>()?;
    let order = *arguments.first().ok_or("usage: fibonacci_client ORDER [CANCEL_AFTER]")?;
    let node = context.create_node("fibonacci_client")?;

    // A call that waits.
    let add = node.create_client::<AddTwoInts>("add_two_ints")?;
    if !add.wait_for_service(TIMEOUT)? {
        return Err("nobody serves add_two_ints".into());
    }
    println!(
        "{order} + 1 = {}",
        add.call_timeout(&AddTwoIntsRequest { a: order.into(), b: 1 }, TIMEOUT)?.sum
    );

    let client = node.create_action_client::<FibonacciAction>("fibonacci")?;
    if !client.wait_for_server(TIMEOUT)? {
        return Err("nobody serves fibonacci".into());
    }
    let (send, events) = mpsc::channel();
    let send_end = send.clone();
    let goal = client.send_goal_with(
        &FibonacciGoal { order },
        move |feedback| _ = send.send(Event::Feedback(feedback.sequence.clone())),
        move |outcome| {
            let sequence = outcome.result.map(|result| result.sequence).unwrap_or_default();
            _ = send_end.send(Event::End(format!("{} {sequence:?} {}", outcome.status, outcome.text)));
        },
    )?;
    let mut received = 0;
    while context.ok() {
        context.spin_once(TIMEOUT)?;
        for event in events.try_iter() {
            match event {
                Event::Feedback(sequence) => println!("{sequence:?}"),
                Event::End(text) => {
                    println!("{}", text.trim_end());
                    return Ok(());
                }
            }
            received += 1;
            if arguments.get(1) == Some(&received) {
                goal.cancel()?;
            }
        }
    }
    Ok(())
}

enum Event {
    Feedback(Vec<i32>),
    End(String),
}
