//! `runnel doctor` and faults between nodes: one-sided links, lost messages, firewalls, and stale registrations.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use interop::doctor::{expect_findings, expect_no_findings, talker_and_listeners};
use interop::{Master, Origin, Server, TIMEOUT, next_messages, ready};
use runnel_ros1::header::ConnectionHeader;
use runnel_testkit::process::deadline_in;

#[test]
fn blocked_subscriber_is_reported_with_losses() {
    let master = Master::start(Server::Runnel);
    let graph = master.graph();
    let image =
        ["/camera", "--type", "sensor_msgs/Image", "--size", "500000", "--rate", "100", "--queue", "2"];
    let mut talker = ready(graph.talker(Origin::Runnel, &[&image[..], &["--wait", "1"]].concat()));
    let port = graph.tcpros_port("/runnel_talker", "/camera").expect("it publishes");
    let mut lazy = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let header = [("callerid", "/lazy"), ("md5sum", "*"), ("topic", "/camera"), ("type", "*")];
    lazy.write_all(&ConnectionHeader::new(header).emit()).unwrap();
    next_messages(&mut talker, "sent", 100, deadline_in(TIMEOUT));
    let printed = [
        "warning: /camera: /runnel_talker drops messages for /lazy, which receives too slowly:",
        "during this check",
    ];
    expect_findings(graph, &[], 0, &printed);
}

/// A firewall that blocks a port until dropped: later another program may use the port.
struct Firewall(u16);

impl Firewall {
    fn before(port: u16) -> Firewall {
        let chain = format!("chain in {{ type filter hook input priority 0; tcp dport {port} drop; }}");
        nft(&format!("table ip doctor_{port} {{ {chain}; }}"));
        Firewall(port)
    }
}

impl Drop for Firewall {
    fn drop(&mut self) {
        nft(&format!("delete table ip doctor_{}", self.0));
    }
}

fn nft(rules: &str) {
    assert!(Command::new("nft").arg(rules).status().unwrap().success(), "{rules}");
}

#[test]
fn firewall_is_distinguished_from_dead_process() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let _nodes = talker_and_listeners(graph, Origin::Rospy, &[Origin::Roscpp]);
    let port = graph.tcpros_port("/rospy_talker", "/chatter").expect("it publishes");
    let _messages = Firewall::before(port);
    let behind = format!("error: /chatter: messages of /rospy_talker: no reply from 127.0.0.1:{port}");
    expect_findings(graph, &[], 1, &[&behind, "a firewall passes calls but not messages"]);
    let uri = graph.uri_of("/roscpp_listener").expect("it is registered");
    let port = uri.trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
    let _calls = Firewall::before(port);
    let silent = format!("error: /roscpp_listener: no reply from {uri}");
    expect_findings(graph, &[], 1, &[&silent, "firewall"]);
}

#[test]
fn stale_registrations_are_reported() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        let _nodes = talker_and_listeners(graph, Origin::Runnel, &[Origin::Rospy]);
        let uri = graph.uri_of("/rospy_listener").expect("it is registered");
        let listener = "/rospy_listener";
        graph.call_master("registerService", &[listener, "/gone", "rosrpc://127.0.0.1:9", &uri]);
        expect_findings(
            graph,
            &[],
            1,
            &["error: /gone: service of /rospy_listener: no process listens at 127.0.0.1:9", "1 error,"],
        );
        graph.call_master("unregisterService", &[listener, "/gone", "rosrpc://127.0.0.1:9"]);
        graph.call_master("registerSubscriber", &[listener, "/rosout", "rosgraph_msgs/Log", &uri]);
        expect_findings(graph, &[], 1, &["error: /rosout: /runnel_talker -> /rospy_listener: not connected"]);
        graph.call_master("unregisterSubscriber", &[listener, "/rosout", &uri]);
        graph.call_master("registerPublisher", &["/ghost", "/statistics", "std_msgs/String", &uri]);
        let shared = "error: /ghost and /rospy_listener: all registered at";
        expect_findings(graph, &[], 1, &[shared, "where /rospy_listener (process "]);
    }
}

/// A subscriber of `/rosout` that connects to the publisher at `port` only when it is first queried for its
/// connections, which it reports as empty.
fn connects_when_asked(listener: &TcpListener, publisher: &str, port: u16) {
    let row = format!("1 {publisher} i TCPROS /rosout").split(' ').map(xml_text).collect::<String>();
    let mut link: Option<TcpStream> = None;
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"</methodCall>\n") && !request.ends_with(b"</methodCall>") {
            let mut byte = [0];
            match stream.read_exact(&mut byte) {
                Ok(()) => request.push(byte[0]),
                // The client may close without a request.
                Err(_) => break,
            }
        }
        let request = String::from_utf8(request).unwrap();
        let value = match () {
            () if request.contains("getBusInfo") && link.is_some() => xml_array(&xml_array(&row)),
            () if request.contains("getBusInfo") => {
                let mut new = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
                let header = [("callerid", "/late"), ("md5sum", "*"), ("topic", "/rosout"), ("type", "*")];
                new.write_all(&ConnectionHeader::new(header).emit()).unwrap();
                link = Some(new);
                xml_array("")
            }
            () if request.contains("getName") => xml_text("/late"),
            () if request.contains("getPid") => "<value><int>1</int></value>".to_owned(),
            () => xml_array(""),
        };
        let value = xml_array(&format!("<value><int>1</int></value>{}{value}", xml_text("")));
        let body = format!("<methodResponse><params><param>{value}</param></params></methodResponse>");
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: {}", body.len());
        // The client may be gone.
        let _ = write!(stream, "{head}\r\n\r\n{body}");
    }
}

fn xml_text(text: &str) -> String {
    format!("<value><string>{text}</string></value>")
}

fn xml_array(values: &str) -> String {
    format!("<value><array><data>{values}</data></array></value>")
}

#[test]
fn link_in_progress_is_not_a_fault() {
    let master = Master::start(Server::Runnel);
    let graph = master.graph();
    let _talker = ready(graph.talker(Origin::Runnel, &["/rosout_agg", "--wait", "0"]));
    let publisher = graph.uri_of("/runnel_talker").expect("it is registered");
    let port = graph.tcpros_port("/runnel_talker", "/rosout").expect("it publishes");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    graph.call_master("registerSubscriber", &["/late", "/rosout", "rosgraph_msgs/Log", &uri]);
    std::thread::spawn(move || connects_when_asked(&listener, &publisher, port));
    expect_no_findings(graph, &[]);
}
