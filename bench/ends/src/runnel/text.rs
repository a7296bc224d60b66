//! Numbered texts.

use std::sync::{Arc, Mutex};

use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, Node};
use runnel_floor::Stamps;

use super::{lock, send_all};
use crate::protocol::{send_ready, serve};
use crate::{EndArgs, Failure};

/// The text before the number.
const GREETING: &str = "hello world ";

pub(super) fn talker(args: &EndArgs, context: &Context, node: &Node) -> Result<(), Failure> {
    let publisher = node.create_publisher("chatter", args.depth)?;
    send_all(args, context, &publisher, |number| Text { data: format!("{GREETING}{number}") })
}

pub(super) fn listener(args: &EndArgs, context: &Context, node: &Node) -> Result<(), Failure> {
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
    send_ready()?;
    serve(context)?;
    args.write_received(&lock(&received))
}
