//! Action server of `test_msgs/action/Fibonacci`, as `peers/rclpy/action_server.py`. With `--both` in the ROS 1 graph,
//! too.

use std::sync::{Arc, Mutex, PoisonError};

use interop::messages::log_to_standard_error;
use interop::test_msgs::action::{FibonacciAction, FibonacciFeedback, FibonacciResult};
use runnel::{Context, ContextOptions, Error, Graphs, ServerGoalHandle};

type Goal = ServerGoalHandle<FibonacciAction>;

fn main() -> Result<(), Error> {
    log_to_standard_error();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let graphs = if arguments.iter().any(|word| word == "--both") { Graphs::Both } else { Graphs::Ros2 };
    let context = Context::with_options(ContextOptions::from_args()?.graphs(graphs))?;
    let node = context.create_node("action_server")?;
    let open = Arc::new(Mutex::new(Vec::new()));
    let on_goal = move |goal: Goal| {
        begin(&goal).expect("a goal can be begun");
        open.lock().unwrap_or_else(PoisonError::into_inner).push(goal);
    };
    let on_cancel = |goal: Goal| decide(&goal).expect("a goal can be ended");
    let action = arguments.first().map_or("/fibonacci", String::as_str);
    let _server = node.create_action_server(action, on_goal, on_cancel)?;
    println!("ready");
    context.spin()
}

fn begin(goal: &Goal) -> Result<(), Error> {
    let order = goal.goal().order;
    println!("goal {order}");
    if order == 3 {
        return goal.reject(&result(order), "too much");
    }
    goal.accept()?;
    match order {
        1 => {
            goal.publish_feedback(&FibonacciFeedback { sequence: vec![order] })?;
            goal.succeed(&result(order), "reached")
        }
        2 => goal.abort(&result(order), "no way"),
        4 => goal.publish_feedback(&FibonacciFeedback { sequence: vec![order] }),
        _ => Ok(()),
    }
}

fn decide(goal: &Goal) -> Result<(), Error> {
    let order = goal.goal().order;
    println!("cancel {order}");
    if order == 5 {
        goal.refuse_cancel()?;
        return goal.succeed(&result(order), "against all odds");
    }
    goal.canceled(&result(order), "as you wish")
}

fn result(order: i32) -> FibonacciResult {
    FibonacciResult { sequence: vec![order, 10 * order] }
}
