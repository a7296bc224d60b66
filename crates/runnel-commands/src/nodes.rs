//! ROS 1 nodes, as commands show, ping and unregister them.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::CliError;
use crate::graph::{Connection, Graph, names_of};
use crate::output::{shown, tabbed};

/// A connection as text, with the name of its peer if that is known.
pub fn connection_text(connection: &Connection, peer: Option<&str>) -> String {
    let [topic, transport] = [&connection.topic, &connection.transport].map(|text| shown(text));
    let socket = socket_text(&connection.details).map(|text| format!(" {text}")).unwrap_or_default();
    let to = peer.map_or_else(|| connection.peer.clone(), |name| format!("{name} ({})", connection.peer));
    let (to, socket, direction) = (shown(&to), shown(&socket), direction(connection));
    format!(
        " * topic: {topic}\n    * to: {to}\n    * direction: {direction}{socket}\n    * transport: {transport}\n"
    )
}

/// The direction of a connection.
pub fn direction(connection: &Connection) -> &'static str {
    match connection.direction.as_str() {
        "i" => "inbound",
        "o" => "outbound",
        _ => "unknown",
    }
}

/// `(PORT - ADDRESS) [SOCKET]` of `TCPROS connection on port PORT to [ADDRESS on socket SOCKET]`.
fn socket_text(details: &str) -> Option<String> {
    let (_, rest) = details.split_once(" connection on port ")?;
    let (port, rest) = rest.split_once(" to [")?;
    let (address, socket) = rest.strip_suffix(']')?.rsplit_once(" on socket ")?;
    // rospy leaves out the numbers of sockets that it has closed.
    [port, socket]
        .iter()
        .all(|number| number.parse::<u32>().is_ok())
        .then(|| format!("({port} - {address}) [{socket}]"))
}

/// The line about a node that answered after this time.
pub fn ping_reply(uri: &str, milliseconds: f64) -> String {
    tabbed([&format!("xmlrpc reply from {uri}"), &format!("time={milliseconds:.6}ms")])
}

/// A time in milliseconds.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Removes all registrations of a node from the master.
///
/// # Errors
/// When the master does not answer.
pub fn unregister(graph: &Graph<'_>, node: &str) -> Result<(), CliError> {
    let state = graph.system_state()?;
    let uri = graph.node_uri(node)?.unwrap_or_default();
    let held = |holders: &BTreeMap<String, Vec<String>>| names_of(holders, node);
    for topic in held(&state.publishers) {
        graph.unregister(node, "unregisterPublisher", &topic, &uri)?;
    }
    for topic in held(&state.subscribers) {
        graph.unregister(node, "unregisterSubscriber", &topic, &uri)?;
    }
    for service in held(&state.services) {
        if let Some(uri) = graph.service_uri(&service)? {
            graph.unregister(node, "unregisterService", &service, &uri)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_reads_as_in_rosnode() {
        let connection = Connection {
            id: 1,
            peer: "http://a:1/".into(),
            direction: "i".into(),
            transport: "TCPROS".into(),
            topic: "/chatter".into(),
            connected: true,
            details: "TCPROS connection on port 40001 to [127.0.0.1:5 on socket 9]".into(),
        };
        let expected = " * topic: /chatter\n    * to: /talker (http://a:1/)\n    \
                        * direction: inbound (40001 - 127.0.0.1:5) [9]\n    * transport: TCPROS\n";
        assert_eq!(connection_text(&connection, Some("/talker")), expected);
    }

    #[test]
    fn unknown_details_are_left_out() {
        for details in
            ["", "TCPROS", "x connection on port 1 to [a]", "x connection on port 1 to [a on socket None]"]
        {
            assert_eq!(socket_text(details), None, "{details}");
        }
    }
}
