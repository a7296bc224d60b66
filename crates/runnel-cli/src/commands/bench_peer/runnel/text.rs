//! Texts with a number.

use std::sync::{Arc, Mutex};

use runnel::msgs::std_msgs::String as Text;
use runnel::{Context, Node};
use runnel_floor::Stamps;

use super::{lock, wait_for_others, wait_until_due};
use crate::commands::bench_peer::EndArgs;
use crate::commands::bench_peer::talk::{say_ready, serve, wait_for_go};
use crate::error::CliError;

/// What stands before the number.
const GREETING: &str = "hello world ";

pub(super) fn talker(args: &EndArgs, context: &Context, node: &Node) -> Result<(), CliError> {
    let publisher = node.create_publisher("chatter", args.depth)?;
    let (mut sent, mut pace) = (Stamps::of(args.trial()), args.pace());
    wait_for_others(args, context, &publisher, 1)?;
    say_ready()?;
    wait_for_go()?;
    for number in 0..args.trial().total() {
        wait_until_due(context, &mut pace, number)?;
        sent.take(number);
        publisher.publish(Text { data: format!("{GREETING}{number}") })?;
    }
    serve(context)?;
    args.write_sent(&sent)
}

pub(super) fn listener(args: &EndArgs, context: &Context, node: &Node) -> Result<(), CliError> {
    let received = Arc::new(Mutex::new(Stamps::of(args.trial())));
    let (noted, ending, total) = (Arc::clone(&received), context.clone(), args.trial().total());
    let take = move |text: &Text| match text.data.strip_prefix(GREETING).map(str::parse) {
        Some(Ok(number)) => {
            lock(&noted).take(number);
            if number + 1 == total {
                ending.shutdown();
            }
        }
        _ => log::error!("'{}' is no greeting", text.data),
    };
    let _texts = node.create_subscription("chatter", args.depth, take)?;
    say_ready()?;
    serve(context)?;
    args.write_received(&lock(&received))
}
