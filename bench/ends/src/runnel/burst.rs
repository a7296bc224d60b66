//! Messages in one direction.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use runnel::core::message::len_with_tail;
use runnel::core::wire::{Bytes, Encoding};
use runnel::msgs::std_msgs::msg::{UInt8MultiArray, UInt8MultiArrayView};
use runnel::{Context, Node, Publisher};
use runnel_floor::{NUMBER, Stamps, number, set_number, sum};

use super::{PEER_TIMEOUT, lock, message, topics, wait_for_peers, wait_for_publishers, wait_until_due};
use crate::protocol::{send_ready, serve, wait_for_go};
use crate::{EndArgs, Failure, failed};

/// Messages in flight at a time when they are sent at a rate.
const PACED: usize = 4;

pub(super) fn source(args: &EndArgs, context: &Context, node: &Node) -> Result<(), Failure> {
    let publisher = |topic: &String| {
        let mut publisher = node.create_publisher(topic, args.qos())?;
        publisher.set_max_blocking_time(PEER_TIMEOUT);
        Ok::<_, runnel::Error>(publisher)
    };
    let publishers = topics(args, "burst").iter().map(publisher).collect::<Result<Vec<_>, _>>()?;
    let (mut message, mut sent) = (message(args.trial()), Stamps::of(args.trial()));
    // The other publishers send nothing.
    let publisher = &publishers[0];
    if args.mode.loans() {
        preallocate(args, publisher)?;
    }
    publishers.iter().try_for_each(|one| wait_for_peers(args, context, one, args.subscribers))?;
    send_ready()?;
    wait_for_go()?;
    let (sizes, mut pace) = (args.sizes(), args.pace());
    for number in 0..args.trial().total() {
        message.data.resize(sizes.size(number), 0);
        set_number(&mut message.data, number);
        wait_until_due(context, &mut pace, number)?;
        sent.take(number);
        if args.mode.loans() {
            loan(args, publisher, &message.data, number)?;
        } else {
            args.touch().fill(&mut message.data, number);
            publisher.publish(&message)?;
        }
    }
    serve(context)?;
    args.write_sent(&sent)
}

/// Publishes a payload in loaned memory. It is copied there, unless only the hand-over is measured.
fn loan(
    args: &EndArgs,
    publisher: &Publisher<UInt8MultiArray>,
    payload: &[u8],
    number: u64,
) -> Result<(), Failure> {
    let mut loan = publisher.loan(&UInt8MultiArray::default(), payload.len())?;
    match args.touch {
        None => loan.copy_from_slice(payload),
        Some(touch) => {
            set_number(&mut loan, number);
            touch.fill(&mut loan, number);
        }
    }
    Ok(loan.publish()?)
}

/// Preallocates memory, as iceoryx2 does for its publishers: for the whole queue if all messages are sent without pauses,
/// otherwise for some messages of each size.
fn preallocate(args: &EndArgs, publisher: &Publisher<UInt8MultiArray>) -> Result<(), Failure> {
    let messages = if args.rate.is_some() { PACED } else { args.depth };
    let sizes: BTreeSet<usize> = (0..args.trial().total()).map(|number| args.sizes().size(number)).collect();
    for size in sizes {
        publisher.preallocate(
            messages,
            len_with_tail(&UInt8MultiArray::default(), Encoding::Ros1, size).unwrap_or(size),
        )?;
    }
    Ok(())
}

/// The sum of all bytes of a payload, wherever it is stored.
fn sum_of(payload: Bytes<'_>) -> u64 {
    let mut all = 0;
    payload.for_each_part(|part| all += sum(part));
    all
}

pub(super) fn sink(args: &EndArgs, context: &Context, node: &Node) -> Result<(), Failure> {
    let received = Arc::new(Mutex::new((Stamps::of(args.trial()), true)));
    let (noted, ending) = (Arc::clone(&received), context.clone());
    let (touch, total) = (args.touch(), args.trial().total());
    let take = move |message: Bytes<'_>| {
        let (stamps, all_intact) = &mut *lock(&noted);
        let (front, payload) = message.split_at(NUMBER).unwrap_or_default();
        let mut bytes = [0; NUMBER];
        front.copy_to_slice(&mut bytes);
        let number = number(&bytes).unwrap_or_default();
        *all_intact &= touch.is_intact_sum(payload.len(), number, || sum_of(payload));
        stamps.take(number);
        if number + 1 == total {
            ending.shutdown();
        }
    };
    let subscription = |topic: &String| {
        let take = take.clone();
        if args.mode.loans() {
            let view = move |view: UInt8MultiArrayView<'_>| take(view.data);
            return node.create_view_subscription::<UInt8MultiArray, _>(topic, args.qos(), view);
        }
        node.create_subscription(topic, args.qos(), move |message: &UInt8MultiArray| {
            take(Bytes::from(&message.data))
        })
    };
    let bursts = topics(args, "burst").iter().map(subscription).collect::<Result<Vec<_>, _>>()?;
    wait_for_publishers(args, context, &bursts)?;
    send_ready()?;
    serve(context)?;
    let (stamps, all_intact) = &*lock(&received);
    if !all_intact {
        return Err(failed("a payload is not what was sent"));
    }
    args.write_received(stamps)
}
