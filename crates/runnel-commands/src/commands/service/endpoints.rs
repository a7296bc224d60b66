//! Servers and clients of a ROS 2 service, each with its two endpoints.

use runnel::core::names::{self, DdsTopic};
use runnel::{EndpointInfo, EndpointType, Ros2Graph};
use serde_json::{Value as Json, json};

use crate::commands::topic::qos;
use crate::output::lines;

/// The servers and clients of a service.
#[derive(Default)]
pub struct Ends<'a>(Vec<End<'a>>);

/// A server or a client.
struct End<'a> {
    is_server: bool,
    request: &'a EndpointInfo,
    /// None if only half of it is announced.
    response: Option<&'a EndpointInfo>,
}

/// The servers and clients of a service.
pub fn of<'a>(graph: &'a Ros2Graph, service: &str) -> Ends<'a> {
    let of_topic = |topic: DdsTopic<'_>| {
        let is_it = |end: &&EndpointInfo| end.ros_topic() == Some(topic);
        graph.endpoints.iter().filter(is_it).collect::<Vec<_>>()
    };
    let mut responses = of_topic(DdsTopic::ServiceReply(service));
    let end = |request: &'a EndpointInfo| {
        let is_its = |response: &&EndpointInfo| {
            response.endpoint_type != request.endpoint_type
                && response.gid.participant() == request.gid.participant()
                && response.node == request.node
        };
        // Of several on one node, each takes one.
        let response = responses.iter().position(is_its).map(|index| responses.remove(index));
        End { is_server: request.endpoint_type == EndpointType::Subscription, request, response }
    };
    Ends(of_topic(DdsTopic::ServiceRequest(service)).into_iter().map(end).collect())
}

impl Ends<'_> {
    /// The servers or the clients, as ros2 prints them.
    pub fn text(&self, servers: bool) -> String {
        let texts = self.0.iter().filter(|end| end.is_server == servers).map(|end| end.text() + "\n");
        let texts: String = texts.collect();
        if texts.is_empty() { texts } else { format!("\n{texts}") }
    }

    /// All of them as JSON.
    pub fn json(&self) -> Json {
        self.0.iter().map(End::json).collect()
    }
}

impl End<'_> {
    fn role(&self) -> &'static str {
        if self.is_server { "SERVER" } else { "CLIENT" }
    }

    /// Its endpoints with their names.
    fn halves(&self) -> Vec<(&'static str, &EndpointInfo)> {
        let names = match self.is_server {
            true => ["Request Reader", "Response Writer"],
            false => ["Request Writer", "Response Reader"],
        };
        let ends = [Some(self.request), self.response];
        names.into_iter().zip(ends).filter_map(|(name, end)| Some((name, end?))).collect()
    }

    fn text(&self) -> String {
        let (namespace, name) = match &self.request.node {
            Some(node) => names::split(node),
            None => ("_NODE_NAMESPACE_UNKNOWN_", "_NODE_NAME_UNKNOWN_"),
        };
        let halves = self.halves();
        let mut text = lines([
            format!("Node name: {name}"),
            format!("Node namespace: {namespace}"),
            format!("Service type: {}", self.request.ros_type()),
            format!("Endpoint type: {}", self.role()),
            format!("Endpoint count: {}", halves.len()),
            "GIDs:".to_owned(),
        ]);
        for (name, end) in &halves {
            text += &format!("  - {name} : {}\n", end.gid);
        }
        text += "QoS profiles:\n";
        for (name, end) in &halves {
            let profile = qos::text(&end.qos, end.has_history).replace("\n  ", "\n      ");
            text += &format!("  - {name} :\n    {}", profile.trim_end_matches(' '));
        }
        text
    }

    fn json(&self) -> Json {
        let half = |(name, end): (&str, &EndpointInfo)| json!({ "endpoint": name, "gid": end.gid.to_string(), "qos": qos::to_json(&end.qos, end.has_history) });
        let halves: Json = self.halves().into_iter().map(half).collect();
        let role = self.role().to_lowercase();
        json!({ "node": self.request.node, "type": self.request.ros_type(), "role": role, "endpoints": halves })
    }
}
