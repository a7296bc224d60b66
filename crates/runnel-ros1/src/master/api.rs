//! Dispatch of the master's methods by name: arguments and replies.

use runnel_core::time::Instant;

use crate::answer::{ERROR, FAILURE, SUCCESS, answer};
use crate::net::ConnId;
use crate::xmlrpc::{Fault, Value};

use super::check::{Arg, caller_name};
use super::limits::Limit;
use super::multicall::{MULTICALL, multicall};
use super::state::{Caller, State};
use super::{methods, param_methods};

/// The code of every fault; it is rosmaster's.
const FAULT: i32 = 1;
const LIST_METHODS: &str = "system.listMethods";

/// The HTTP request that contains a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) now: Instant,
    pub(super) conn: ConnId,
    /// Bytes of the request, or of one call's part in a `system.multicall`.
    pub(super) bytes: usize,
}

/// Text and value of a successful reply, or a refusal.
pub(super) type Outcome = Result<(String, Value), Refusal>;

/// A reply with a status other than success.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    pub(super) status: i32,
    pub(super) text: String,
    /// The value, if it is not the method's usual value for refusals.
    pub(super) value: Option<Value>,
}

impl Refusal {
    /// A refusal with status -1: the caller's fault.
    pub(super) fn new(text: String) -> Self {
        Self { status: ERROR, text, value: None }
    }

    /// A refusal that rosmaster reports as its own failure.
    pub(super) fn internal(why: &str) -> Self {
        Self { status: FAILURE, text: format!("Internal failure: {why}"), value: None }
    }
}

impl From<Limit> for Refusal {
    fn from(limit: Limit) -> Self {
        Self::new(format!("ERROR: {limit}"))
    }
}

/// One method: its arguments after the caller's name, its implementation, and the value of its refusals.
struct Method {
    name: &'static str,
    args: &'static [Arg],
    run: Run,
    refused: fn() -> Value,
}

/// Implementation of a method, by the number of its arguments after the caller's name.
#[derive(Clone, Copy)]
enum Run {
    None(fn(&mut State, Caller<'_>) -> Outcome),
    One(fn(&mut State, Caller<'_>, &str) -> Outcome),
    Two(fn(&mut State, Caller<'_>, &str, &str) -> Outcome),
    Three(fn(&mut State, Caller<'_>, &str, &str, &str) -> Outcome),
    Set(fn(&mut State, Caller<'_>, &str, &Value) -> Outcome),
}

const METHODS: &[Method] = {
    use Arg::*;
    &[
        method("shutdown", &[Message], Run::One(methods::shutdown), zero),
        method("getUri", &[], Run::None(methods::uri), no_text),
        method("getPid", &[], Run::None(methods::pid), minus_one),
        method("deleteParam", &[Key], Run::One(param_methods::delete), zero),
        method("setParam", &[Key, ParamValue], Run::Set(param_methods::set), zero),
        method("getParam", &[Key], Run::One(param_methods::get), zero),
        method("searchParam", &[RawKey], Run::One(param_methods::search), zero),
        method("subscribeParam", &[CallerApi, Key], Run::Two(param_methods::subscribe), zero),
        method("unsubscribeParam", &[CallerApi, Key], Run::Two(param_methods::unsubscribe), zero),
        method("hasParam", &[Key], Run::One(param_methods::has), falsehood),
        method("getParamNames", &[], Run::None(param_methods::names), empty),
        method(
            "registerService",
            &[Service, ServiceApi, CallerApi],
            Run::Three(methods::register_service),
            zero,
        ),
        method("lookupService", &[Service], Run::One(methods::lookup_service), no_text),
        method("unregisterService", &[Service, ServiceApi], Run::Two(methods::unregister_service), zero),
        method(
            "registerSubscriber",
            &[Topic, TopicType, CallerApi],
            Run::Three(methods::register_subscriber),
            empty,
        ),
        method("unregisterSubscriber", &[Topic, CallerApi], Run::Two(methods::unregister_subscriber), zero),
        method(
            "registerPublisher",
            &[Topic, TopicType, CallerApi],
            Run::Three(methods::register_publisher),
            empty,
        ),
        method("unregisterPublisher", &[Topic, CallerApi], Run::Two(methods::unregister_publisher), zero),
        method("lookupNode", &[Node], Run::One(methods::lookup_node), no_text),
        method("getPublishedTopics", &[Subgraph], Run::One(methods::published_topics), zero),
        method("getTopicTypes", &[], Run::None(methods::topic_types), empty),
        method("getSystemState", &[], Run::None(methods::system_state), three_empty),
    ]
};

const fn method(name: &'static str, args: &'static [Arg], run: Run, refused: fn() -> Value) -> Method {
    Method { name, args, run, refused }
}

/// Carries out one call, including `system.*` methods.
///
/// # Errors
/// A fault if the method is unknown, or if `system.multicall` has no list of calls.
pub(super) fn call(
    state: &mut State,
    request: Request,
    method: &str,
    params: &[Value],
) -> Result<Value, Fault> {
    match method {
        MULTICALL => multicall(state, request, params),
        LIST_METHODS => Ok(list_methods()),
        _ => single(state, request, method, params),
    }
}

/// Carries out one call, except `system.*` methods.
///
/// # Errors
/// A fault if the method is unknown.
pub(super) fn single(
    state: &mut State,
    request: Request,
    method: &str,
    params: &[Value],
) -> Result<Value, Fault> {
    let found = METHODS.iter().find(|known| known.name == method);
    let known = found.ok_or_else(|| fault(format!("method \"{}\" is not supported", shortened(method))))?;
    let (status, text, value) = match known.run(state, request, params) {
        Ok((text, value)) => (SUCCESS, text, value),
        Err(no) => (no.status, no.text, no.value.unwrap_or_else(known.refused)),
    };
    Ok(answer(status, &text, value))
}

/// A fault with rosmaster's code.
pub(super) fn fault(message: String) -> Fault {
    Fault { code: FAULT, message }
}

impl Method {
    fn run(&self, state: &mut State, request: Request, params: &[Value]) -> Outcome {
        let Some((name, rest)) = params.split_first() else {
            return Err(Refusal::new("missing required caller_id parameter".to_owned()));
        };
        if rest.len() != self.args.len() {
            return Err(bad_arity());
        }
        let most = state.limits.name_bytes;
        let name = caller_name(name, most).map_err(Refusal::new)?;
        let checked = self.args.iter().zip(rest).map(|(arg, value)| arg.check(value, name, most));
        let texts = checked.collect::<Result<Vec<String>, String>>().map_err(Refusal::new)?;
        let Request { now, conn, bytes } = request;
        state.liveness.called(conn, name);
        let from = Caller { now, conn, name, bytes };
        let outcome = match (self.run, texts.as_slice(), rest) {
            (Run::None(run), [], _) => run(state, from),
            (Run::One(run), [first], _) => run(state, from, first),
            (Run::Two(run), [first, second], _) => run(state, from, first, second),
            (Run::Three(run), [first, second, third], _) => run(state, from, first, second, third),
            (Run::Set(run), [key, _], [_, value]) => run(state, from, key, value),
            _ => Err(bad_arity()),
        };
        state.grant_credit(from);
        outcome
    }
}

fn bad_arity() -> Refusal {
    Refusal::new("Error: bad call arity".to_owned())
}

fn list_methods() -> Value {
    let names = METHODS.iter().map(|method| method.name).chain([LIST_METHODS, MULTICALL]);
    names.map(Value::from).collect::<Vec<_>>().into()
}

/// The beginning of an unknown method's name, short enough to be repeated in the fault.
fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

fn zero() -> Value {
    0.into()
}

fn minus_one() -> Value {
    (-1).into()
}

fn falsehood() -> Value {
    false.into()
}

fn no_text() -> Value {
    "".into()
}

fn empty() -> Value {
    Vec::new().into()
}

fn three_empty() -> Value {
    vec![empty(), empty(), empty()].into()
}
