//! Queries of a master and of nodes over XML-RPC, without starting a program.

use std::time::Duration;

use runnel::{Context, ContextOptions};
use runnel_ros1::rpc::Uri;
use runnel_ros1::xmlrpc::Value;

use crate::TIMEOUT;
use crate::graph::Ros1Graph;

/// Side of a topic in the master's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Its publishers.
    Publishers = 0,
    /// Its subscribers.
    Subscribers = 1,
}

impl Ros1Graph {
    /// The nodes that the master lists on one side of a topic; empty if the master does not answer.
    pub fn nodes_at(&self, side: Side, topic: &str) -> Vec<String> {
        let Some(state) = self.ask(self.master_uri(), "getSystemState", &[]) else { return Vec::new() };
        let topics = elements(&state).get(side as usize).map(elements).unwrap_or_default();
        let row = topics.iter().map(elements).find(|row| row.first().and_then(Value::as_str) == Some(topic));
        let nodes = row.and_then(|row| row.get(1)).map(elements).unwrap_or_default();
        nodes.iter().filter_map(|node| node.as_str().map(str::to_owned)).collect()
    }

    /// The address of a node's slave API, from the master.
    pub fn uri_of(&self, node: &str) -> Option<String> {
        let uri = self.ask(self.master_uri(), "lookupNode", &[node.into()])?;
        uri.as_str().map(str::to_owned)
    }

    /// The port on which a node accepts TCPROS connections of a topic.
    pub fn tcpros_port(&self, node: &str, topic: &str) -> Option<u16> {
        let tcpros = Value::Array(vec![Value::Array(vec!["TCPROS".into()])]);
        let address = self.ask(&self.uri_of(node)?, "requestTopic", &[topic.into(), tcpros])?;
        elements(&address).get(2)?.as_int()?.try_into().ok()
    }

    /// Calls the master as a node would, to create a fault.
    ///
    /// # Panics
    /// If the call fails.
    pub fn call_master(&self, method: &str, params: &[&str]) {
        let params: Vec<Value> = params.iter().map(|text| (*text).into()).collect();
        let answer = self.call(self.master_uri(), method, &params);
        let status = answer.as_ref().and_then(|answer| elements(answer).first()?.as_int());
        assert_eq!(status, Some(1), "{method}: {answer:?}");
    }

    /// The value of a successful call.
    fn ask(&self, uri: &str, method: &str, params: &[Value]) -> Option<Value> {
        let params = [&["/test".into()], params].concat();
        match elements(&self.call(uri, method, &params)?) {
            [status, _, value] if status.as_int() == Some(1) => Some(value.clone()),
            _ => None,
        }
    }

    /// The reply to a call, if any.
    fn call(&self, uri: &str, method: &str, params: &[Value]) -> Option<Value> {
        let arguments = vec![format!("__master:={}", self.master_uri())];
        let options = ContextOptions::default().arguments(arguments).signals(false);
        let context = Context::with_options(options).expect("a context");
        let uri = Uri::parse(uri).expect("the URI of a master or node");
        context.call(&uri, method, params, Duration::from_secs(TIMEOUT)).ok()
    }
}

fn elements(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_default()
}
