//! Clocks of other hosts. A reply names the time at which it was sent, by the clock of its host: that time lies between
//! the times here at which the request was sent and the reply received.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use runnel::core::names::DdsTopic;
use runnel::diagnostics::ParticipantDetails;
use runnel::msgs::rcl_interfaces::srv::{GetParameters, GetParametersRequest};
use runnel::msgs::type_description_interfaces::srv::{GetTypeDescription, GetTypeDescriptionRequest};
use runnel::{Context, Gid, Node, Ros2Graph, Time};
use runnel_io::clock;

use crate::commands::doctor::ros2::found::ClockReading;
use crate::graphs::is_publisher;

/// Services of which nearly every node offers one. An empty request changes nothing.
const PARAMETERS: &str = "/get_parameters";
const DESCRIPTIONS: &str = "/get_type_description";

/// How long a node may take to answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Number of hosts, of nodes on each, and of exchanges with a node. The narrowest result counts.
const MOST_HOSTS: usize = 8;
const MOST_NODES: usize = 3;
const EXCHANGES: usize = 4;

/// A node that can be asked, and its service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    participant: Gid,
    node: String,
    service: &'static str,
}

/// Makes a call, and waits for the response.
type Call = Box<dyn Fn() -> Option<()>>;

/// The nodes of each other host that can be asked.
pub fn hosts(graph: &Ros2Graph) -> BTreeMap<IpAddr, Vec<Asked>> {
    let mut hosts: BTreeMap<IpAddr, Vec<Asked>> = BTreeMap::new();
    for end in &graph.endpoints {
        let Some(DdsTopic::ServiceRequest(service)) = end.ros_topic() else { continue };
        let parts =
            [PARAMETERS, DESCRIPTIONS].into_iter().find_map(|of| Some((service.strip_suffix(of)?, of)));
        let Some((node, service)) = parts.filter(|_| !is_publisher(end)) else { continue };
        let Some(participant) = graph.participant(end.gid).filter(|one| !one.is_same_host) else { continue };
        let Some(address) = participant.addresses.first() else { continue };
        let asked = Asked { participant: participant.gid, node: node.to_owned(), service };
        hosts.entry(address.ip()).or_default().push(asked);
    }
    hosts
}

/// The clocks of these hosts.
pub fn gather(context: &Context, node: &Node, hosts: &BTreeMap<IpAddr, Vec<Asked>>) -> Vec<ClockReading> {
    let reading = |(host, nodes): (&IpAddr, &Vec<Asked>)| {
        let ahead = |asked: &Asked| Some((ask(context, node, asked)?, asked.node.clone()));
        let (ahead, node) = nodes.iter().take(MOST_NODES).find_map(ahead)?;
        Some(ClockReading { host: *host, node, ahead })
    };
    hosts.iter().take(MOST_HOSTS).filter_map(reading).collect()
}

/// How far the clock of a node's host is ahead, at least and at most.
fn ask(context: &Context, node: &Node, asked: &Asked) -> Option<[f64; 2]> {
    let call = caller(node, asked)?;
    let exchange = || {
        let sent = clock::realtime();
        call()?;
        let received = clock::realtime();
        let details = context.ros2_participant_details();
        let replied =
            details.iter().find(|one: &&ParticipantDetails| one.gid == asked.participant)?.last_reply?;
        Some(bounds(sent, replied, received))
    };
    // The first one may have waited for discovery.
    let first = exchange()?;
    let all = (1..EXCHANGES).map_while(|_| exchange());
    Some(all.fold(first, |[least, most], [lower, upper]| [least.max(lower), most.min(upper)]))
}

fn caller(node: &Node, asked: &Asked) -> Option<Call> {
    let service = format!("{}{}", asked.node, asked.service);
    if asked.service == PARAMETERS {
        let client = node.create_client::<GetParameters>(&service).ok()?;
        let call = move || client.call_timeout(&GetParametersRequest::default(), TIMEOUT).ok().map(drop);
        return Some(Box::new(call));
    }
    let client = node.create_client::<GetTypeDescription>(&service).ok()?;
    Some(Box::new(move || client.call_timeout(&GetTypeDescriptionRequest::default(), TIMEOUT).ok().map(drop)))
}

fn bounds(sent: Time, replied: Time, received: Time) -> [f64; 2] {
    let seconds = |from: Time| (replied.as_nanos() as i128 - from.as_nanos() as i128) as f64 / 1e9;
    [seconds(received), seconds(sent)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;

    #[test]
    fn nodes_of_other_hosts_are_asked() {
        let ends = [("rq/a/get_parametersRequest", 1, false), ("rq/b/get_parametersRequest", 2, false)];
        let mut graph = graph(&[&ends[..], &[("rq/a/get_parametersRequest", 3, true)]].concat());
        graph.participants[0].is_same_host = true;
        let hosts = hosts(&graph);
        assert_eq!(hosts.len(), 1);
        assert_eq!(hosts.values().flatten().map(|asked| asked.node.as_str()).collect::<Vec<_>>(), ["/b"]);
    }

    #[test]
    fn reply_lies_between_request_and_reception() {
        let at = |sec| Time { sec, nanosec: 0 };
        assert_eq!(bounds(at(10), at(15), at(12)), [3.0, 5.0]);
        assert_eq!(bounds(at(10), at(5), at(12)), [-7.0, -5.0]);
    }
}
