//! Round trips of messages.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, Node, Publisher};
use runnel_floor::{Stamps, now, number, set_number};

use super::{PEER_TIMEOUT, lock, message, publish, topics, wait_for_peers, wait_for_publishers};
use crate::protocol::{send_ready, serve, shut_down_with_bench, wait_for_go};
use crate::{EndArgs, Failure};

/// State of the end that sends first.
struct Ping {
    context: Context,
    /// One publisher per topic, in turn.
    publishers: Vec<Publisher<UInt8MultiArray>>,
    message: UInt8MultiArray,
    sent: Stamps,
    received: Stamps,
    total: u64,
}

impl Ping {
    fn send(&mut self, number: u64) {
        set_number(&mut self.message.data, number);
        self.sent.take(number);
        publish(&self.publishers[number as usize % self.publishers.len()], &self.message, &self.context);
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

pub(super) fn ping(args: &EndArgs, context: &Context, node: &Node) -> Result<(), Failure> {
    let publisher = |topic: &String| node.create_publisher(topic, args.qos());
    let publishers = topics(args, "ping").iter().map(publisher).collect::<Result<Vec<_>, _>>()?;
    let ping = Arc::new(Mutex::new(Ping {
        context: context.clone(),
        publishers: publishers.clone(),
        message: message(args.trial()),
        sent: Stamps::of(args.trial()),
        received: Stamps::of(args.trial()),
        total: args.trial().total(),
    }));
    let answered = Arc::clone(&ping);
    let answers = node.create_subscription("pong", args.qos(), move |answer: &UInt8MultiArray| {
        lock(&answered).answered(answer);
    })?;
    publishers.iter().try_for_each(|publisher| wait_for_peers(args, context, publisher, 1))?;
    wait_for_publishers(args, context, [&answers])?;
    send_ready()?;
    wait_for_go()?;
    lock(&ping).send(0);
    serve(context)?;
    let ping = lock(&ping);
    args.write_sent(&ping.sent)?;
    args.write_received(&ping.received)
}

pub(super) fn pong(args: &EndArgs, context: &Context, node: &Node) -> Result<(), Failure> {
    let publisher = node.create_publisher("pong", args.qos())?;
    let received = Arc::new(Mutex::new(Stamps::of(args.trial())));
    let question = |topic: &String| {
        let (answering, stamps, ending) = (publisher.clone(), Arc::clone(&received), context.clone());
        let answer = move |message: &UInt8MultiArray| {
            lock(&stamps).take(number(&message.data).unwrap_or_default());
            publish(&answering, message, &ending);
        };
        node.create_subscription(topic, args.qos(), answer)
    };
    let questions = topics(args, "ping").iter().map(question).collect::<Result<Vec<_>, _>>()?;
    wait_for_peers(args, context, &publisher, 1)?;
    wait_for_publishers(args, context, &questions)?;
    send_ready()?;
    serve(context)?;
    args.write_received(&lock(&received))
}

/// As [`ping`], but at a rate and without waiting for each answer.
pub(super) fn flow(args: &EndArgs, context: &Context, node: &Node) -> Result<(), Failure> {
    let publisher = node.create_publisher("ping", args.qos())?;
    let answers = Arc::new(Mutex::new((0, Stamps::of(args.trial()))));
    let noted = Arc::clone(&answers);
    let _answers = node.create_subscription("pong", args.qos(), move |answer: &UInt8MultiArray| {
        let (count, stamps) = &mut *lock(&noted);
        stamps.take(number(&answer.data).unwrap_or_default());
        *count += 1;
    })?;
    wait_for_peers(args, context, &publisher, 1)?;
    send_ready()?;
    wait_for_go()?;
    shut_down_with_bench(context)?;
    let sent = send_at_rate(args, context, &publisher, || lock(&answers).0)?;
    args.write_sent(&sent)?;
    args.write_received(&lock(&answers).1)
}

/// Sends each message when it is due, as long as no more than the watermark are unanswered, until all are answered.
fn send_at_rate(
    args: &EndArgs,
    context: &Context,
    publisher: &Publisher<UInt8MultiArray>,
    answered: impl Fn() -> u64,
) -> Result<Stamps, Failure> {
    let (mut message, mut sent) = (message(args.trial()), Stamps::of(args.trial()));
    let (sizes, mut pace, total) = (args.sizes(), args.pace(), args.trial().total());
    let mut next = 0;
    while context.ok() && answered() < total {
        let may_send = next < total && next - answered() < args.watermark;
        let left =
            if may_send { pace.due(next).saturating_sub(now()) } else { PEER_TIMEOUT.as_nanos() as u64 };
        if left > 0 {
            context.spin_once(Duration::from_nanos(left))?;
            continue;
        }
        message.data.resize(sizes.size(next), 0);
        set_number(&mut message.data, next);
        sent.take(next);
        publisher.publish(&message)?;
        next += 1;
        // Answers are processed also while messages are late.
        context.spin_some()?;
    }
    Ok(sent)
}
