//! A message that is kept for late joiners.

use std::sync::{Arc, Mutex};

use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, Node, QoS};
use runnel_floor::now;

use super::lock;
use crate::protocol::{send_line, send_ready, serve};
use crate::{Failure, failed};

pub(super) fn latched(context: &Context, node: &Node) -> Result<(), Failure> {
    let publisher = node.create_publisher::<Text>("latched", QoS::keep_last(1).transient_local())?;
    publisher.publish(Text { data: "kept".into() })?;
    send_ready()?;
    serve(context)
}

pub(super) fn first(context: &Context, node: &Node) -> Result<(), Failure> {
    let received_at = Arc::new(Mutex::new(None));
    let (note, ending) = (Arc::clone(&received_at), context.clone());
    let asked = now();
    let _latched = node.create_subscription("latched", 1, move |_: &Text| {
        lock(&note).get_or_insert_with(now);
        ending.shutdown();
    })?;
    context.spin()?;
    let received_at = lock(&received_at).ok_or_else(|| failed("no latched message arrived"))?;
    send_line(format_args!("first {}", received_at - asked))
}
