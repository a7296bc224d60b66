//! Fake peers on plain sockets.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use runnel::Context;
use runnel_ros1::header::ConnectionHeader;
use runnel_ros1::rpc::Uri;
use runnel_ros1::xmlrpc::Value;

use super::common::LONG;

/// Addresses of a master and a node.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    pub master: SocketAddr,
    pub rpc: SocketAddr,
    pub tcpros: SocketAddr,
}

impl Ports {
    /// Addresses of the node that publishes `topic`.
    pub fn of(context: &Context, node: &str, topic: &str) -> Self {
        let ask = |uri: &Uri, method: &str, params: &[Value]| {
            let answer = context.call(uri, method, params, LONG).unwrap();
            answer.as_array().unwrap()[2].clone()
        };
        let name = ask(context.master_uri(), "lookupNode", &["/test".into(), node.into()]);
        let node = Uri::parse(name.as_str().unwrap()).unwrap();
        let protocols = Value::Array(vec![Value::Array(vec!["TCPROS".into()])]);
        let tcpros = ask(&node, "requestTopic", &["/test".into(), topic.into(), protocols]);
        let port = tcpros.as_array().unwrap()[2].as_int().unwrap();
        Self {
            master: local(context.master_uri().endpoint.port),
            rpc: local(node.endpoint.port),
            tcpros: local(u16::try_from(port).unwrap()),
        }
    }
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Connects and sends these bytes.
pub fn send(to: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(bytes).unwrap();
    stream
}

/// Header of a subscriber.
pub fn subscriber_header(name: &str, topic: &str, type_name: &str, md5: &str) -> Vec<u8> {
    let fields = [("callerid", name), ("topic", topic), ("md5sum", md5), ("type", type_name)];
    ConnectionHeader::new(fields).emit()
}

/// Connects to a publisher as an untyped subscriber and reads the accepted header.
pub fn subscribe(tcpros: SocketAddr, name: &str, topic: &str) -> TcpStream {
    let mut stream = send(tcpros, &subscriber_header(name, topic, "*", "*"));
    let answer = ConnectionHeader::parse(&read_frame(&mut stream).unwrap()).unwrap();
    assert_eq!(answer.get("error"), None);
    stream
}

/// The next length-prefixed part of a stream: a header or a message.
pub fn read_frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut piece = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut piece)?;
    Ok(piece)
}

/// A length-prefixed message of `std_msgs/String`.
pub fn framed_text(text: &str) -> Vec<u8> {
    let length = text.len() as u32;
    [&(length + 4).to_le_bytes()[..], &length.to_le_bytes(), text.as_bytes()].concat()
}
