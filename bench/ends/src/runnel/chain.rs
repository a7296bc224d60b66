//! Three nodes in a row: the first sends two integers, the second adds them, the third receives the sum.

use std::sync::{Arc, Mutex};

use runnel::{Context, Node};
use runnel_floor::Stamps;

use self::bench_msgs::msg::TwoInts;
use super::{lock, publish, send_all, wait_for_peers};
use crate::protocol::{send_ready, serve};
use crate::{EndArgs, Failure, failed};

runnel::include_interfaces!();

pub(super) fn para_in(args: &EndArgs, context: &Context, node: &Node) -> Result<(), Failure> {
    let publisher = node.create_publisher("para", args.depth)?;
    send_all(args, context, &publisher, |number| TwoInts { a: number as i32, b: 1 })
}

pub(super) fn para_add(args: &EndArgs, context: &Context, node: &Node) -> Result<(), Failure> {
    let publisher = node.create_publisher("sum", args.depth)?;
    let (answering, ending) = (publisher.clone(), context.clone());
    let add = move |para: &TwoInts| {
        let TwoInts { a, b } = *para;
        publish(&answering, &TwoInts { a, b: a.wrapping_add(b) }, &ending);
    };
    let _para = node.create_subscription("para", args.depth, add)?;
    wait_for_peers(args, context, &publisher, 1)?;
    send_ready()?;
    serve(context)
}

pub(super) fn add(args: &EndArgs, context: &Context, node: &Node) -> Result<(), Failure> {
    let received = Arc::new(Mutex::new((Stamps::of(args.trial()), true)));
    let (noted, ending, total) = (Arc::clone(&received), context.clone(), args.trial().total());
    let take = move |sum: &TwoInts| {
        let (stamps, all_right) = &mut *lock(&noted);
        let number = u64::from(sum.a as u32);
        stamps.take(number);
        *all_right &= sum.b == sum.a.wrapping_add(1);
        if number + 1 == total {
            ending.shutdown();
        }
    };
    let _sum = node.create_subscription("sum", args.depth, take)?;
    send_ready()?;
    serve(context)?;
    let (stamps, all_right) = &*lock(&received);
    if !all_right {
        return Err(failed("a sum is wrong"));
    }
    args.write_received(stamps)
}
