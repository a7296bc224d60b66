//! Ends that are Runnel nodes, written as a user would write them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runnel::msgs::std_msgs::{String as Text, UInt8MultiArray};
use runnel::{Context, ContextOptions, Node, Publisher, QoS};
use runnel_floor::{Stamps, Trial, now, number, set_number};

use super::calls;
use super::talk::{say, say_ready, serve, wait_for_go};
use super::{EndArgs, Role};
use crate::error::CliError;

/// How long the other end may take to be there.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn run(args: &EndArgs) -> Result<(), CliError> {
    let options = ContextOptions::default().arguments([""; 0]).signals(false);
    let context = Context::with_options(options)?;
    match args.role {
        Role::Ping => ping(args, &context, &context.create_node("ping")?),
        Role::Pong => pong(args, &context, &context.create_node("pong")?),
        Role::Source => source(args, &context, &context.create_node("source")?),
        Role::Sink => sink(args, &context, &context.create_node("sink")?),
        Role::Serve => calls::serve(&context, &context.create_node("serve")?),
        Role::Call => calls::call_once(args, &context, &context.create_node("call")?),
        Role::CallPersistent => {
            calls::call_persistent(args, &context, &context.create_node("call_persistent")?)
        }
        Role::Param => calls::param(args, &context, &context.create_node("param")?),
        Role::Latched => latched(&context, &context.create_node("latched")?),
        Role::First => first(&context, &context.create_node("first")?),
    }
}

/// The end that begins: what it needs at each answer.
struct Ping {
    context: Context,
    publisher: Publisher<UInt8MultiArray>,
    message: UInt8MultiArray,
    sent: Stamps,
    received: Stamps,
    total: u64,
}

impl Ping {
    fn send(&mut self, number: u64) {
        set_number(&mut self.message.data, number);
        self.sent.take(number);
        publish(&self.publisher, &self.message, &self.context);
    }

    fn answered(&mut self, answer: &UInt8MultiArray) {
        let number = number(&answer.data).unwrap_or_default();
        self.received.take(number);
        match number + 1 {
            next if next < self.total => self.send(next),
            _ => self.context.shutdown(),
        }
    }
}

fn ping(args: &EndArgs, context: &Context, node: &Node) -> Result<(), CliError> {
    let publisher = node.create_publisher("ping", args.depth)?;
    let ping = Arc::new(Mutex::new(Ping {
        context: context.clone(),
        publisher: publisher.clone(),
        message: message(args.trial()),
        sent: Stamps::of(args.trial()),
        received: Stamps::of(args.trial()),
        total: args.trial().total(),
    }));
    let answered = Arc::clone(&ping);
    let _answers =
        node.create_subscription("pong", args.depth, move |answer| lock(&answered).answered(answer))?;
    wait_for_other(&publisher)?;
    say_ready()?;
    wait_for_go()?;
    lock(&ping).send(0);
    serve(context)?;
    let ping = lock(&ping);
    args.write_sent(&ping.sent)?;
    args.write_received(&ping.received)
}

fn pong(args: &EndArgs, context: &Context, node: &Node) -> Result<(), CliError> {
    let publisher = node.create_publisher("pong", args.depth)?;
    let received = Arc::new(Mutex::new(Stamps::of(args.trial())));
    let (answering, stamps, ending) = (publisher.clone(), Arc::clone(&received), context.clone());
    let answer = move |message: &UInt8MultiArray| {
        lock(&stamps).take(number(&message.data).unwrap_or_default());
        publish(&answering, message, &ending);
    };
    let _questions = node.create_subscription("ping", args.depth, answer)?;
    wait_for_other(&publisher)?;
    say_ready()?;
    serve(context)?;
    args.write_received(&lock(&received))
}

fn source(args: &EndArgs, context: &Context, node: &Node) -> Result<(), CliError> {
    let publisher = node.create_publisher("burst", args.depth)?;
    let (mut message, mut sent) = (message(args.trial()), Stamps::of(args.trial()));
    wait_for_other(&publisher)?;
    say_ready()?;
    wait_for_go()?;
    for number in 0..args.trial().total() {
        set_number(&mut message.data, number);
        sent.take(number);
        publisher.publish(&message)?;
    }
    serve(context)?;
    args.write_sent(&sent)
}

fn sink(args: &EndArgs, context: &Context, node: &Node) -> Result<(), CliError> {
    let received = Arc::new(Mutex::new(Stamps::of(args.trial())));
    let (stamps, ending, total) = (Arc::clone(&received), context.clone(), args.trial().total());
    let take = move |message: &UInt8MultiArray| {
        let number = number(&message.data).unwrap_or_default();
        lock(&stamps).take(number);
        if number + 1 == total {
            ending.shutdown();
        }
    };
    let _burst = node.create_subscription("burst", args.depth, take)?;
    say_ready()?;
    serve(context)?;
    args.write_received(&lock(&received))
}

fn latched(context: &Context, node: &Node) -> Result<(), CliError> {
    let publisher = node.create_publisher::<Text>("latched", QoS::keep_last(1).transient_local())?;
    publisher.publish(Text { data: "kept".into() })?;
    say_ready()?;
    serve(context)
}

fn first(context: &Context, node: &Node) -> Result<(), CliError> {
    let came = Arc::new(Mutex::new(None));
    let (note, ending) = (Arc::clone(&came), context.clone());
    let asked = now();
    let _latched = node.create_subscription("latched", 1, move |_: &Text| {
        lock(&note).get_or_insert_with(now);
        ending.shutdown();
    })?;
    context.spin()?;
    let came = lock(&came).ok_or_else(|| CliError::failed("no latched message came"))?;
    say(format_args!("first {}", came - asked))
}

fn message(trial: Trial) -> UInt8MultiArray {
    UInt8MultiArray { data: trial.message(), ..UInt8MultiArray::default() }
}

/// Publishes from a callback, which has nobody to return an error to.
fn publish(publisher: &Publisher<UInt8MultiArray>, message: &UInt8MultiArray, context: &Context) {
    if let Err(error) = publisher.publish(message) {
        log::error!("cannot publish: {error}");
        context.shutdown();
    }
}

fn wait_for_other(publisher: &Publisher<UInt8MultiArray>) -> Result<(), CliError> {
    match publisher.wait_for_subscribers(1, PATIENCE)? {
        true => Ok(()),
        false => Err(CliError::failed(format_args!("nobody subscribes to {}", publisher.topic()))),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
