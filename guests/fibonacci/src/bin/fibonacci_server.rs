//! Serves the action `fibonacci` and the service `add_two_ints`. A goal gets one number of its sequence every `period`
//! seconds, a parameter that other programs may change. Each message on `reset` starts the sequences again.

#[cfg(target_arch = "wasm32")]
extern crate runnel_guest as runnel;

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runnel::msgs::example_interfaces::action::{FibonacciAction, FibonacciFeedback, FibonacciResult};
use runnel::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsResponse};
use runnel::msgs::std_msgs::msg::Empty;
use runnel::{Context, ContextOptions, Error, Node, Parameter, ParameterValue, ServerGoalHandle, log_info};

/// The longest sequence: its last number still has 32 bits.
const LONGEST: i32 = 46;

fn main() -> Result<(), Error> {
    let context = Context::with_options(ContextOptions::from_args()?)?;
    let node = context.create_node("fibonacci_server")?;
    let period = seconds(node.declare_parameter("period", 0.1)?);
    let sequences = Arc::new(Mutex::new(Sequences(Vec::new())));

    let (resetting, accepting, ticking) =
        (Arc::clone(&sequences), Arc::clone(&sequences), Arc::clone(&sequences));
    let _reset = node.create_subscription("reset", 10, move |_: &Empty| lock(&resetting).reset())?;
    let _sum = node.create_service::<AddTwoInts, Infallible>("add_two_ints", |request| {
        Ok(AddTwoIntsResponse { sum: request.a.wrapping_add(request.b) })
    })?;
    let _fibonacci = node.create_action_server::<FibonacciAction>(
        "fibonacci",
        move |goal| lock(&accepting).add(goal),
        // The next tick ends it.
        |_| (),
    )?;
    let tick = move || lock(&ticking).advance();
    let timer = Arc::new(Mutex::new(node.create_timer(period, tick.clone())));
    let (changed, of) = (Arc::clone(&timer), node.clone());
    let _changes = node.add_post_set_parameters_callback(move |parameters| {
        if let Some(period) = period_of(&of, parameters) {
            *lock(&changed) = of.create_timer(period, tick.clone());
        }
    });
    context.spin()
}

fn seconds(period: f64) -> Duration {
    Duration::try_from_secs_f64(period).unwrap_or_default().max(Duration::from_millis(1))
}

/// The new period, if it is among the parameters.
fn period_of(node: &Node, parameters: &[Parameter]) -> Option<Duration> {
    let period = parameters.iter().rfind(|parameter| parameter.name == "period")?;
    let Some(ParameterValue::Double(period)) = period.value else { return None };
    log_info!(node, "the period is {period} s");
    Some(seconds(period))
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The goals that have not ended, with the numbers that each has.
struct Sequences(Vec<(ServerGoalHandle<FibonacciAction>, Vec<i32>)>);

impl Sequences {
    fn add(&mut self, goal: ServerGoalHandle<FibonacciAction>) {
        let order = goal.goal().order;
        let answered = if (1..=LONGEST).contains(&order) {
            goal.accept()
        } else {
            goal.reject(&FibonacciResult::default(), "the order is from 1 to 46")
        };
        match answered {
            Ok(()) if !goal.status().is_terminal() => self.0.push((goal, vec![0, 1])),
            Ok(()) => {}
            Err(error) => log::warn!("{error}"),
        }
    }

    fn reset(&mut self) {
        self.0.iter_mut().for_each(|(_, numbers)| *numbers = vec![0, 1]);
    }

    /// Adds a number to each sequence. Those that have all, and those of canceled goals, end.
    fn advance(&mut self) -> Result<(), Error> {
        let mut result = Ok(());
        self.0.retain_mut(|(goal, numbers)| match advance(goal, numbers) {
            Ok(continues) => continues,
            Err(error) => {
                result = Err(error);
                false
            }
        });
        result
    }
}

/// False once the goal has ended.
fn advance(goal: &ServerGoalHandle<FibonacciAction>, numbers: &mut Vec<i32>) -> Result<bool, Error> {
    let result = |numbers: &Vec<i32>| FibonacciResult { sequence: numbers.clone() };
    if goal.is_cancel_requested() {
        goal.canceled(&result(numbers), "canceled")?;
        return Ok(false);
    }
    if numbers.len() > goal.goal().order as usize {
        goal.succeed(&result(numbers), "complete")?;
        return Ok(false);
    }
    if let [.., last_but_one, last] = numbers[..] {
        numbers.push(last_but_one + last);
    }
    goal.publish_feedback(&FibonacciFeedback { sequence: numbers.clone() })?;
    Ok(true)
}
