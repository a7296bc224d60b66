//! Relay between nodes of two masters: it forwards a publisher's UDPROS datagrams and loses those that the test
//! selects.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use runnel::Context;
use runnel_ros1::http::{RequestParser, RequestStep, response};
use runnel_ros1::rpc::Uri;
use runnel_ros1::xmlrpc::{Value, decode_call, encode_response};

use super::common::{Graph, LONG};

/// Decides by the number of a datagram whether it is lost.
type LossRule = Arc<Mutex<Box<dyn FnMut(u64) -> bool + Send>>>;

/// See the module's documentation.
pub struct Relay {
    ending: Arc<AtomicBool>,
    api: std::net::SocketAddr,
    threads: Vec<JoinHandle<()>>,
}

impl Relay {
    /// Registers at the master of `far` as a publisher of `topic`, in place of the node at `talker`.
    pub fn new(
        asking: &Context,
        talker: Uri,
        far: &Graph,
        topic: &str,
        type_name: &str,
        is_lost: impl FnMut(u64) -> bool + Send + 'static,
    ) -> Self {
        let api = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let radio = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        radio.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let (address, here) = (api.local_addr().unwrap(), radio.local_addr().unwrap().port());
        let ending = Arc::new(AtomicBool::new(false));
        let listener = Arc::new(Mutex::new(None));
        let is_lost: LossRule = Arc::new(Mutex::new(Box::new(is_lost)));
        let (ended, to) = (Arc::clone(&ending), Arc::clone(&listener));
        let carries = std::thread::spawn(move || carry(&radio, &to, &is_lost, &ended));
        let (ended, asking) = (Arc::clone(&ending), asking.clone());
        let answers = std::thread::spawn(move || {
            while let Ok((stream, _)) = api.accept()
                && !ended.load(Ordering::SeqCst)
            {
                serve(stream, |params| forward(&asking, &talker, params, here, &listener));
            }
        });
        let params = ["/relay", topic, type_name, &format!("http://{address}/")].map(Value::from);
        far.ask("registerPublisher", &params);
        Self { ending, api: address, threads: vec![carries, answers] }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        // Wakes the thread, which waits in `accept`.
        let _ = TcpStream::connect(self.api);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn carry(radio: &UdpSocket, listener: &Mutex<Option<u16>>, is_lost: &LossRule, ended: &AtomicBool) {
    let (mut buffer, mut count) = ([0; 1 << 16], 0);
    while !ended.load(Ordering::SeqCst) {
        let Ok(length) = radio.recv(&mut buffer) else { continue };
        count += 1;
        if let Some(port) = *listener.lock().unwrap()
            && !is_lost.lock().unwrap()(count)
        {
            radio.send_to(&buffer[..length], ("127.0.0.1", port)).unwrap();
        }
    }
}

/// Forwards a `requestTopic` call to the talker, with the relay's port in place of the listener's.
fn forward(
    asking: &Context,
    talker: &Uri,
    mut params: Vec<Value>,
    here: u16,
    listener: &Mutex<Option<u16>>,
) -> Value {
    let Some(Value::Array(offers)) = params.get_mut(2) else { panic!("{params:?}") };
    let Some(Value::Array(offer)) = offers.first_mut() else { panic!("{offers:?}") };
    assert_eq!(offer[0].as_str(), Some("UDPROS"));
    let port = std::mem::replace(&mut offer[3], i32::from(here).into());
    *listener.lock().unwrap() = port.as_int().and_then(|port| u16::try_from(port).ok());
    asking.call(talker, "requestTopic", &params, LONG).unwrap()
}

fn serve(mut stream: TcpStream, answer: impl FnOnce(Vec<Value>) -> Value) {
    let (mut parser, mut buffer) = (RequestParser::new(1 << 20), [0; 4096]);
    stream.set_read_timeout(Some(LONG)).unwrap();
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        parser.push(&buffer[..count]);
        if let Ok(RequestStep::Whole(request)) = parser.step() {
            let call = decode_call(&request.body).unwrap();
            let reply = answer(call.params);
            let _ = stream.write_all(&response(&encode_response(&Ok(reply)).unwrap(), false));
            return;
        }
    }
}
