//! Ends that are Runnel nodes, written as a user would write them.

mod burst;
mod calls;
mod chain;
mod latched;
mod ping;
mod text;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runnel::core::Message;
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, ContextOptions, Graphs, PollingPolicy, Publisher, Subscription};
use runnel_floor::{Pace, Stamps, Trial, now};

use crate::protocol::{send_ready, serve, wait_for_go};
use crate::{EndArgs, Failure, Role, failed};

/// Time limit for the other end to appear.
const PEER_TIMEOUT: Duration = Duration::from_secs(20);

/// How often the handover of a link to shared memory is checked.
const HANDOVER_POLL: Duration = Duration::from_millis(1);

pub(super) fn run(args: &EndArgs) -> Result<(), Failure> {
    let polling = if args.mode.spins() { PollingPolicy::Spin } else { PollingPolicy::Block };
    let options = ContextOptions::default().arguments([""; 0]).signals(false).polling(polling);
    let is_ros2 = args.mode.is_ros2() || args.mode.is_bridged() && args.role != Role::Ping;
    let graphs = if is_ros2 { Graphs::Ros2 } else { Graphs::Ros1 };
    let options = options.ipc(!args.mode.is_remote()).graphs(graphs);
    let context = Context::with_options(options)?;
    let node = |name: &str| context.create_node(name);
    match args.role {
        Role::Ping if args.rate.is_some() => ping::flow(args, &context, &node("ping")?),
        Role::Ping => ping::ping(args, &context, &node("ping")?),
        Role::Pong => ping::pong(args, &context, &node("pong")?),
        Role::Source => burst::source(args, &context, &node("source")?),
        // There may be several ends, and node names are unique.
        Role::Sink => burst::sink(args, &context, &node(&format!("sink_{}", std::process::id()))?),
        Role::Talker => text::talker(args, &context, &node("talker")?),
        Role::Listener => text::listener(args, &context, &node("listener")?),
        Role::ParaIn => chain::para_in(args, &context, &node("para_in")?),
        Role::ParaAdd => chain::para_add(args, &context, &node("para_add")?),
        Role::Add => chain::add(args, &context, &node("add")?),
        Role::Serve => calls::serve(&context, &node("serve")?),
        Role::Call => calls::call_once(args, &context, &node("call")?),
        // A ROS 2 client has no connection.
        Role::CallPersistent if args.mode.is_ros2() => calls::call_once(args, &context, &node("call")?),
        Role::CallPersistent => calls::call_persistent(args, &context, &node("call_persistent")?),
        Role::Param => calls::param(args, &context, &node("param")?),
        Role::Latched => latched::latched(&context, &node("latched")?),
        Role::First => latched::first(&context, &node("first")?),
    }
}

fn message(trial: Trial) -> UInt8MultiArray {
    UInt8MultiArray { data: trial.message(), ..UInt8MultiArray::default() }
}

/// The topics of this exchange.
fn topics(args: &EndArgs, name: &str) -> Vec<String> {
    let several = |count| (0..count).map(|index| format!("{name}_{index}")).collect();
    args.topics.map_or_else(|| vec![name.to_owned()], several)
}

/// Publishes from a callback, which cannot return an error.
fn publish<M: Message>(publisher: &Publisher<M>, message: &M, context: &Context) {
    if let Err(error) = publisher.publish(message) {
        log::error!("cannot publish: {error}");
        context.shutdown();
    }
}

fn wait_for_peers<M: Message>(
    args: &EndArgs,
    context: &Context,
    publisher: &Publisher<M>,
    count: usize,
) -> Result<(), Failure> {
    let topic = publisher.topic();
    if !publisher.wait_for_subscribers(count, PEER_TIMEOUT)? {
        return Err(failed(format_args!("no subscriber of {topic}")));
    }
    let late = now() + PEER_TIMEOUT.as_nanos() as u64;
    while !args.mode.is_remote() && publisher.shared_memory_count() < count {
        if now() > late {
            return Err(failed(format_args!("{topic}: no handover to shared memory")));
        }
        context.sleep_wall(HANDOVER_POLL)?;
    }
    Ok(())
}

/// Waits until each of the subscriptions has a publisher: in ROS 2 discovery completes separately on each side, and a bridge
/// joins the directions one by one.
fn wait_for_publishers<'a>(
    args: &EndArgs,
    context: &Context,
    subscriptions: impl IntoIterator<Item = &'a Subscription>,
) -> Result<(), Failure> {
    let late = now() + PEER_TIMEOUT.as_nanos() as u64;
    for subscription in subscriptions {
        while (args.mode.is_ros2() || args.mode.is_bridged()) && subscription.publisher_count() == 0 {
            if now() > late {
                return Err(failed(format_args!("no publisher of {}", subscription.topic())));
            }
            context.sleep_wall(HANDOVER_POLL)?;
        }
    }
    Ok(())
}

/// Publishes each message when it is due, once the other ends are connected.
fn send_all<M: Message>(
    args: &EndArgs,
    context: &Context,
    publisher: &Publisher<M>,
    message: impl Fn(u64) -> M,
) -> Result<(), Failure> {
    let (mut sent, mut pace) = (Stamps::of(args.trial()), args.pace());
    wait_for_peers(args, context, publisher, 1)?;
    send_ready()?;
    wait_for_go()?;
    for number in 0..args.trial().total() {
        wait_until_due(context, &mut pace, number)?;
        sent.take(number);
        publisher.publish(message(number))?;
    }
    serve(context)?;
    args.write_sent(&sent)
}

/// Serves the graph until a message is due.
fn wait_until_due(context: &Context, pace: &mut Pace, number: u64) -> Result<(), Failure> {
    let due = pace.due(number);
    if due > now() {
        context.sleep_wall(Duration::from_nanos(due.saturating_sub(now())))?;
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
