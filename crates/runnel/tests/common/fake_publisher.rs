//! Fake publisher with a correct slave API, whose messages the test sends.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use runnel::core::Message;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel_ros1::header::ConnectionHeader;
use runnel_ros1::http::{RequestParser, RequestStep, response};
use runnel_ros1::xmlrpc::{Value, encode_response};

use super::common::{Graph, LONG, wait_until};
use super::raw::read_frame;

/// A thread answers every XML-RPC call as `requestTopic`.
pub struct FakePublisher {
    messages: TcpListener,
    api: std::net::SocketAddr,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl FakePublisher {
    /// Registers as a publisher of a `std_msgs/String` topic.
    pub fn new(graph: &Graph, name: &str, topic: &str) -> Self {
        Self::of::<Text>(graph, name, topic)
    }

    /// Registers as a publisher of a topic of this type.
    pub fn of<M: Message>(graph: &Graph, name: &str, topic: &str) -> Self {
        let [api, messages] = [0; 2].map(|port| TcpListener::bind(("127.0.0.1", port)).unwrap());
        let address = api.local_addr().unwrap();
        let ending = Arc::new(AtomicBool::new(false));
        let (ended, port) = (Arc::clone(&ending), messages.local_addr().unwrap().port());
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::SeqCst) {
                // The process may have run out of descriptors for a moment.
                match api.accept() {
                    Ok((stream, _)) => answer(stream, port),
                    Err(_) => std::thread::yield_now(),
                }
            }
        });
        let uri = format!("http://{address}/");
        let params = [name, topic, M::TYPE, &uri].map(Value::from);
        graph.ask("registerPublisher", &params);
        Self { messages, api: address, ending, thread: Some(thread) }
    }

    /// Accepts the next subscriber and reads its header.
    pub fn accept(&self) -> TcpStream {
        self.accept_header().0
    }

    /// Accepts a subscriber whose header may not have arrived.
    pub fn try_accept(&self) -> Option<TcpStream> {
        self.messages.set_nonblocking(true).unwrap();
        self.messages.accept().ok().map(|(stream, _)| stream)
    }

    /// Accepts the next subscriber. Returns its header.
    pub fn accept_header(&self) -> (TcpStream, ConnectionHeader) {
        let mut accepted = None;
        wait_until("a subscriber", || {
            accepted = self.try_accept();
            accepted.is_some()
        });
        let mut stream = accepted.unwrap();
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let header = ConnectionHeader::parse(&read_frame(&mut stream).unwrap()).unwrap();
        (stream, header)
    }

    /// Accepts the next subscriber and answers its header under the name `name`, followed by `then`.
    pub fn accept_and_send(&self, name: &str, md5: &str, then: &[u8]) -> TcpStream {
        let mut stream = self.accept();
        let fields = [("callerid", name), ("md5sum", md5), ("type", "std_msgs/String")];
        stream.write_all(&[&ConnectionHeader::new(fields).emit(), then].concat()).unwrap();
        stream
    }
}

impl Drop for FakePublisher {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        // Wakes the thread, which waits in `accept`.
        let _ = TcpStream::connect(self.api);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Answers the first call on a connection. A connection that ends earlier is ignored.
fn answer(mut stream: TcpStream, port: u16) {
    let (mut parser, mut buffer) = (RequestParser::new(1 << 20), [0; 4096]);
    stream.set_read_timeout(Some(LONG)).unwrap();
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        parser.push(&buffer[..count]);
        if let Ok(RequestStep::Whole(_)) = parser.step() {
            let address = vec!["TCPROS".into(), "127.0.0.1".into(), i32::from(port).into()];
            let reply = Value::Array(vec![1.into(), "".into(), address.into()]);
            let _ = stream.write_all(&response(&encode_response(&Ok(reply)).unwrap(), false));
            return;
        }
    }
}
