//! An oracle that has never heard of Runnel: Wireshark's dissectors take apart every frame that Runnel exchanges with
//! rospy and with itself, at both masters.

use interop::capture::{Capture, Frames};
use interop::{Master, Origin, PATIENCE, Ros1Graph, Server, hear_out, ready, told};
use runnel_testkit::process::{Signal, deadline_in};

/// The ports on which the nodes and the master of a graph listen.
#[derive(Default)]
struct Ports {
    xml_rpc: Vec<u16>,
    tcpros: Vec<u16>,
}

impl Ports {
    fn of_master(graph: &Ros1Graph) -> Ports {
        Ports { xml_rpc: vec![port(graph.master_uri())], tcpros: Vec::new() }
    }

    /// Adds those of a node, whose port for messages is asked for by a topic that it publishes.
    fn add(&mut self, graph: &Ros1Graph, node: &str, publishes: Option<&str>) {
        self.xml_rpc.push(port(&graph.uri_of(node).expect("the node's address")));
        let port = |topic| graph.tcpros_port(node, topic).expect("the node's port for messages");
        self.tcpros.extend(publishes.map(port));
    }

    /// How tshark is told what they are for.
    fn decoding(&self) -> Vec<String> {
        let decode = |ports: &[u16], protocol: &str| -> Vec<String> {
            ports.iter().flat_map(|port| ["-d".to_owned(), format!("tcp.port=={port},{protocol}")]).collect()
        };
        [decode(&self.xml_rpc, "http"), decode(&self.tcpros, "tcpros")].concat()
    }

    /// A filter for what passes through one of them.
    fn filter(&self) -> String {
        let ports: Vec<String> = self.xml_rpc.iter().chain(&self.tcpros).map(u16::to_string).collect();
        format!("tcp.port in {{{}}}", ports.join(", "))
    }
}

fn port(uri: &str) -> u16 {
    let port = uri.trim_end_matches('/').rsplit(':').next();
    port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{uri} ends with no port"))
}

/// What a graph's programs said to each other.
struct Talk {
    frames: Frames,
    ports: Ports,
}

impl Talk {
    fn of(capture: Capture, ports: Ports) -> Talk {
        Talk { frames: capture.end().told(ports.decoding()), ports }
    }

    /// One line for each frame of the graph that passes the filter: the fields' values, or else a summary.
    fn filtered(&self, filter: &str, fields: &[&str]) -> Vec<String> {
        self.frames.ask(&format!("{} && ({filter})", self.ports.filter()), fields)
    }

    /// How many messages each frame with messages carries, added up.
    fn messages_from(&self, port: u16) -> usize {
        let lengths =
            self.filtered(&format!("tcp.srcport == {port} && tcpros.message"), &["tcpros.message.length"]);
        lengths.iter().map(|line| line.split(',').count()).sum()
    }
}

/// Talks and listens in every direction that has Runnel at one end, with a refusal and a latched message among them,
/// until all have ended. Gives the ports of all.
fn converse(graph: &Ros1Graph) -> Ports {
    let mut ports = Ports::of_master(graph);
    // The dissector takes for a message only what begins with a header.
    let images = |topic, more: &[&'static str]| [&[topic, "--type", "sensor_msgs/Image"], more].concat();
    let talking = images("/ours", &["--count", "5", "--size", "3000", "--wait", "2", "--latch"]);
    let mut talker = ready(graph.talker(Origin::Runnel, &talking));
    let mut rospy = ready(graph.talker(Origin::Rospy, &images("/theirs", &["--count", "5"])));
    ports.add(graph, "/runnel_talker", Some("/ours"));
    ports.add(graph, "/rospy_talker", Some("/theirs"));
    let wrong =
        ready(graph.node(Origin::Rospy, "listener", "wrong", &["/ours", "--type", "geometry_msgs/Twist"]));
    ports.add(graph, "/wrong", None);
    let listening = images("/ours", &["--count", "5"]);
    // Messages that go by shared memory are on no network.
    let on_network = Ros1Graph::at(graph.master_uri()).with("RUNNEL_IPC", "off");
    let mut listeners = [(graph, Origin::Rospy), (&on_network, Origin::Runnel)]
        .map(|(graph, origin)| graph.listener(origin, &listening));
    hear_out(&mut talker, &mut listeners, 5);
    let other = graph.node(Origin::Runnel, "listener", "other", &images("/theirs", &["--count", "5"]));
    hear_out(&mut rospy, &mut [other], 5);
    let late = graph.node(Origin::Runnel, "listener", "late", &images("/ours", &["--count", "1"]));
    told(&mut ready(late), "got", 1, deadline_in(PATIENCE));
    for mut peer in [talker, rospy, wrong] {
        peer.signal(Signal::INT).unwrap();
        peer.wait_exit(deadline_in(PATIENCE)).unwrap();
    }
    ports
}

fn every_frame_is_dissected(server: Server) {
    let master = Master::start(server);
    let capture = Capture::start();
    let ports = converse(master.graph());
    let (ours, theirs) = (ports.tcpros[0], ports.tcpros[1]);
    let talk = Talk::of(capture, ports);
    let errors = talk.filtered("_ws.malformed || _ws.expert.severity == error", &[]);
    assert!(errors.is_empty(), "{errors:#?}");
    let told_once = "tcp.len > 0 && !tcp.reassembled_in && !tcp.analysis.retransmission";
    let strange = talk.filtered(&format!("{told_once} && !tcpros && !http"), &[]);
    assert!(strange.is_empty(), "{strange:#?}");
    let no_xml = talk.filtered("http.content_length > 0 && !xml", &[]);
    assert!(no_xml.is_empty(), "{no_xml:#?}");
    assert_eq!((talk.messages_from(ours), talk.messages_from(theirs)), (11, 5));
    assert!(talk.filtered("xml.cdata contains \"registerPublisher\"", &[]).len() >= 2);
    let refused = talk.filtered("tcpros.header_field_name == \"error\"", &["tcp.srcport"]);
    assert!(refused.contains(&ours.to_string()), "{refused:?}");
    // The late listener, which is one of Runnel, and the talker tell each other where they meet.
    let of_field = |name| talk.filtered(&format!("tcpros.header_field_name == \"{name}\""), &["tcp.srcport"]);
    let (processes, links) = (of_field("runnel_process"), of_field("runnel_link"));
    assert_eq!(processes.iter().filter(|port| **port == ours.to_string()).count(), 1, "{processes:?}");
    assert!(links.iter().all(|port| *port != ours.to_string() && processes.contains(port)), "{links:?}");
    assert_eq!(links.len(), 2, "who listens to Runnel and who listens to rospy: {links:?}");
    let said = talk.filtered("tcpros.header_field_name == \"callerid\"", &["tcpros.header_field_value"]);
    for node in ["/runnel_talker", "/rospy_talker", "/runnel_listener", "/rospy_listener", "/other", "/late"]
    {
        assert!(said.iter().any(|values| values.starts_with(node)), "{node} is not among {said:#?}");
    }
}

#[test]
fn every_frame_of_runnel_is_dissected_at_the_original_master() {
    every_frame_is_dissected(Server::Rosmaster);
}

#[test]
fn every_frame_of_runnel_is_dissected_at_runnels_master() {
    every_frame_is_dissected(Server::Runnel);
}

/// The header of a datagram of UDPROS, as tshark prints its bytes: operation, number of the message, block.
fn datagram_header(payload: &str) -> (u8, u8, u16) {
    let byte = |place: usize| u8::from_str_radix(&payload[2 * place..2 * place + 2], 16).expect("hex digits");
    (byte(4), byte(5), u16::from_le_bytes([byte(6), byte(7)]))
}

#[test]
fn datagrams_are_numbered_short_and_agreed_on_in_sound_xml() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let capture = Capture::start();
    let listening = ["/radio", "--udp", "--type", "std_msgs/UInt8MultiArray"];
    let mut listener = ready(graph.listener(Origin::Roscpp, &listening));
    let talking = ["/radio", "--type", "std_msgs/UInt8MultiArray", "--size", "5000", "--count", "3"];
    let mut talker = graph.talker(Origin::Runnel, &talking);
    told(&mut talker, "sent", 3, deadline_in(PATIENCE));
    told(&mut listener, "got", 3, deadline_in(PATIENCE));
    let mut ports = Ports::of_master(graph);
    ports.add(graph, "/runnel_talker", Some("/radio"));
    let talk = Talk::of(capture, ports);
    let errors = talk.filtered("_ws.malformed || _ws.expert.severity == error", &[]);
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(talk.filtered("xml.cdata contains \"UDPROS\"", &[]).len(), 2, "the wish and the answer");
    // The capture ends with a datagram of three bytes.
    let sent = talk.frames.ask("udp.length > 16", &["udp.length", "udp.payload"]);
    let row = |line: &String| -> (usize, (u8, u8, u16)) {
        let (length, payload) = line.split_once('\t').expect("two fields");
        (length.parse().expect("a length"), datagram_header(payload))
    };
    // 5016 bytes of 1464 each, behind 16 of headers.
    let of_message = |id| [(1480, (0, id, 4)), (1480, (1, id, 1)), (1480, (1, id, 2)), (640, (1, id, 3))];
    let expected: Vec<_> = (1..=3).flat_map(of_message).collect();
    assert_eq!(sent.iter().map(row).collect::<Vec<_>>(), expected);
}
