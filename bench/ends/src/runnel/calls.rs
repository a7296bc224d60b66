//! Runnel nodes that call a service, or the master for a parameter.

use std::convert::Infallible;

use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Client, Context, FromParameter, Node, ParameterValue};
use runnel_floor::Stamps;

use super::PEER_TIMEOUT;
use crate::protocol::{self, send_ready, shut_down_with_bench, wait_for_go};
use crate::{EndArgs, Failure, failed};

/// Bytes of an integer parameter; other sizes stand for strings.
const INT: usize = size_of::<i32>();

pub(super) fn serve(context: &Context, node: &Node) -> Result<(), Failure> {
    let echo = |request: &SetBoolRequest| {
        Ok::<_, Infallible>(SetBoolResponse { success: request.data, ..SetBoolResponse::default() })
    };
    let _service = node.create_service::<SetBool, _>("switch", echo)?;
    send_ready()?;
    protocol::serve(context)
}

pub(super) fn call_once(args: &EndArgs, context: &Context, node: &Node) -> Result<(), Failure> {
    call(args, context, &node.create_client("switch")?)
}

pub(super) fn call_persistent(args: &EndArgs, context: &Context, node: &Node) -> Result<(), Failure> {
    call(args, context, &node.create_persistent_client("switch")?)
}

fn call(args: &EndArgs, context: &Context, client: &Client<SetBool>) -> Result<(), Failure> {
    if !client.wait_for_service(PEER_TIMEOUT)? {
        return Err(failed(format_args!("no server of {}", client.service())));
    }
    ask(args, context, |number| {
        let data = number % 2 == 0;
        Ok(client.call(&SetBoolRequest { data })?.success == data)
    })
}

pub(super) fn param(args: &EndArgs, context: &Context, node: &Node) -> Result<(), Failure> {
    match args.size {
        INT => set_and_get(args, context, node, |number| number as i32),
        size => set_and_get(args, context, node, |number| format!("{number:0size$}")),
    }
}

/// Sets a parameter with each even number, and gets it with the odd number that follows.
fn set_and_get<T: FromParameter + Into<ParameterValue> + PartialEq>(
    args: &EndArgs,
    context: &Context,
    node: &Node,
    value: impl Fn(u64) -> T,
) -> Result<(), Failure> {
    ask(args, context, |number| {
        if number % 2 == 0 {
            node.set_param("value", value(number))?;
            return Ok(true);
        }
        Ok(node.get_param::<T>("value")? == Some(value(number - 1)))
    })
}

/// Makes one request after another, until all are made or the bench has closed standard input. A missing or wrong
/// answer leaves its second stamp empty.
fn ask(
    args: &EndArgs,
    context: &Context,
    mut is_answered: impl FnMut(u64) -> Result<bool, runnel::Error>,
) -> Result<(), Failure> {
    let (mut sent, mut received) = (Stamps::of(args.trial()), Stamps::of(args.trial()));
    send_ready()?;
    wait_for_go()?;
    shut_down_with_bench(context)?;
    for number in (0..args.trial().total()).take_while(|_| context.ok()) {
        sent.take(number);
        match is_answered(number) {
            Ok(true) => received.take(number),
            Ok(false) => log::error!("wrong answer to {number}"),
            Err(error) => log::error!("no answer to {number}: {error}"),
        }
    }
    args.write_sent(&sent)?;
    args.write_received(&received)
}
