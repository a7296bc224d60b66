//! Messages one way.

use std::sync::{Arc, Mutex};

use runnel::msgs::std_msgs::UInt8MultiArray;
use runnel::{Context, Node};
use runnel_floor::{Stamps, number, set_number};

use super::{lock, message, wait_for_others, wait_until_due};
use crate::commands::bench_peer::EndArgs;
use crate::commands::bench_peer::talk::{say_ready, serve, wait_for_go};
use crate::error::CliError;

pub(super) fn source(args: &EndArgs, context: &Context, node: &Node) -> Result<(), CliError> {
    let publisher = node.create_publisher("burst", args.depth)?;
    let (mut message, mut sent) = (message(args.trial()), Stamps::of(args.trial()));
    wait_for_others(&publisher, args.subscribers)?;
    say_ready()?;
    wait_for_go()?;
    let (sizes, mut pace) = (args.sizes(), args.pace());
    for number in 0..args.trial().total() {
        message.data.resize(sizes.size(number), 0);
        set_number(&mut message.data, number);
        wait_until_due(context, &mut pace, number)?;
        sent.take(number);
        args.touch.fill(&mut message.data, number);
        publisher.publish(&message)?;
    }
    serve(context)?;
    args.write_sent(&sent)
}

pub(super) fn sink(args: &EndArgs, context: &Context, node: &Node) -> Result<(), CliError> {
    let received = Arc::new(Mutex::new((Stamps::of(args.trial()), true)));
    let (noted, ending) = (Arc::clone(&received), context.clone());
    let (touch, total) = (args.touch, args.trial().total());
    let take = move |message: &UInt8MultiArray| {
        let (stamps, all_whole) = &mut *lock(&noted);
        let number = number(&message.data).unwrap_or_default();
        *all_whole &= touch.is_whole(&message.data, number);
        stamps.take(number);
        if number + 1 == total {
            ending.shutdown();
        }
    };
    let _burst = node.create_subscription("burst", args.depth, take)?;
    say_ready()?;
    serve(context)?;
    let (stamps, all_whole) = &*lock(&received);
    if !all_whole {
        return Err(CliError::failed("a payload is not what was sent"));
    }
    args.write_received(stamps)
}
