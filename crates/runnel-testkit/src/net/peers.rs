//! Scripted publisher and subscriber, with every byte under the test's control.

use runnel_ros1::node::{Port, TopicSpec};
use runnel_ros1::xmlrpc::Value;

use super::{App, Net, Socket, secs};

/// A scripted publisher: it answers every `requestTopic`; the test does the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakePublisher {
    /// Its program.
    pub app: App,
    /// Its name, such as `/talker`.
    pub name: String,
    /// The URI of its slave API.
    pub uri: String,
    /// The port of its slave API.
    pub rpc_port: u16,
    /// The port of its TCPROS connections.
    pub tcpros_port: u16,
}

/// An answer of the ROS 1 APIs.
pub fn answer(status: i32, message: &str, value: impl Into<Value>) -> Value {
    Value::Array(vec![status.into(), message.into(), value.into()])
}

/// An array of texts.
pub fn texts(list: &[&str]) -> Value {
    list.iter().map(|text| Value::from(*text)).collect::<Vec<_>>().into()
}

/// The header of a subscriber, as roscpp sends it.
pub fn subscriber_header<'a>(name: &'a str, spec: &'a TopicSpec) -> Vec<(&'a str, &'a str)> {
    vec![
        ("callerid", name),
        ("md5sum", &spec.md5),
        ("tcp_nodelay", "1"),
        ("topic", &spec.topic),
        ("type", &spec.type_name),
    ]
}

/// The header of a publisher, as roscpp sends it.
pub fn publisher_header<'a>(name: &'a str, spec: &'a TopicSpec) -> Vec<(&'a str, &'a str)> {
    vec![
        ("callerid", name),
        ("latching", if spec.latching { "1" } else { "0" }),
        ("md5sum", &spec.md5),
        ("message_definition", &spec.definition),
        ("topic", &spec.topic),
        ("type", &spec.type_name),
    ]
}

impl Net {
    /// Starts a scripted publisher on a host.
    pub fn fake_publisher(&mut self, name: &str, host: &str) -> FakePublisher {
        let app = self.fake(name, host);
        let (rpc_port, tcpros_port) = (self.free_port(host), self.free_port(host));
        self.listen(app, rpc_port, Port::Rpc);
        self.listen(app, tcpros_port, Port::Tcpros);
        let address = vec!["TCPROS".into(), host.into(), i32::from(tcpros_port).into()];
        self.answer_with(app, move |method, _| match method {
            "requestTopic" => Some(Ok(answer(1, "ready", address.clone()))),
            _ => Some(Ok(answer(1, "", 0))),
        });
        let (name, uri) = (name.to_owned(), format!("http://{host}:{rpc_port}/"));
        FakePublisher { app, name, uri, rpc_port, tcpros_port }
    }

    /// Waits for a subscriber to connect to a scripted publisher and to send its header, and answers with these
    /// fields.
    pub fn answer_subscriber(&mut self, publisher: &FakePublisher, fields: &[(&str, &str)]) -> Socket {
        let socket = self.accept_socket(publisher.app);
        self.run_until("the subscriber sends its header", secs(10), |net| {
            net.header_received(socket).is_some()
        });
        self.write_header(socket, fields);
        socket
    }

    /// Connects a scripted peer to the TCPROS port of a node and sends a header with these fields.
    pub fn dial_node(&mut self, app: App, node: App, fields: &[(&str, &str)]) -> Socket {
        let socket = self.dial_tcpros(app, node);
        self.write_header(socket, fields);
        socket
    }

    /// Connects a scripted peer to the TCPROS port of a node.
    pub fn dial_tcpros(&mut self, app: App, node: App) -> Socket {
        let (host, port) = self.tcpros_door(node);
        self.connect_socket(app, &host, port)
    }

    /// Sends a node the publishers of a topic, as a master does. The node must answer with success.
    pub fn update(&mut self, from: App, node: App, topic: &str, uris: &[&str]) {
        assert_eq!(self.update_answer(from, node, topic, uris), answer(1, "", 0));
    }

    /// The node's answer to [`update`](Self::update).
    pub fn update_answer(&mut self, from: App, node: App, topic: &str, uris: &[&str]) -> Value {
        let uri = self.node_of(node).uri();
        let params = ["/master".into(), topic.into(), texts(uris)];
        self.call(from, &uri, "publisherUpdate", &params).expect("an answer of the node")
    }

    /// Starts a scripted master on the host `hub`, which answers `[1, '', 0]` to everything.
    pub fn fake_master(&mut self) -> App {
        let app = self.fake("master", "hub");
        self.listen(app, super::MASTER_PORT, Port::Rpc);
        app
    }

    /// Host and TCPROS port of a node.
    fn tcpros_door(&self, node: App) -> (String, u16) {
        let of_node = |entry: &(&(String, u16), &(App, Port))| *entry.1 == (node, Port::Tcpros);
        let (door, _) = self.doors.iter().find(of_node).expect("a node that listens");
        door.clone()
    }
}
