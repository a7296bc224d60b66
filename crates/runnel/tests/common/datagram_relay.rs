//! A radio between two masters' nodes: a publisher of one is heard at the other by UDPROS, through a relay that loses
//! the datagrams it is told to.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use runnel::Context;
use runnel::ros1::http::{RequestParser, RequestStep, response};
use runnel::ros1::rpc::Uri;
use runnel::ros1::xmlrpc::{Value, decode_call, encode_response};

use super::common::{Graph, LONG};

/// Says of the n-th datagram whether it is lost.
type Loses = Arc<Mutex<Box<dyn FnMut(u64) -> bool + Send>>>;

/// See the module's documentation.
pub struct Relay {
    ending: Arc<AtomicBool>,
    api: std::net::SocketAddr,
    threads: Vec<JoinHandle<()>>,
}

impl Relay {
    /// Registers at `far` as a publisher of `topic`, which a node at `talker` publishes.
    pub fn new(
        asking: &Context,
        talker: Uri,
        far: &Graph,
        topic: &str,
        type_name: &str,
        loses: impl FnMut(u64) -> bool + Send + 'static,
    ) -> Self {
        let api = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let radio = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        radio.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let (address, here) = (api.local_addr().unwrap(), radio.local_addr().unwrap().port());
        let ending = Arc::new(AtomicBool::new(false));
        let listener = Arc::new(Mutex::new(None));
        let loses: Loses = Arc::new(Mutex::new(Box::new(loses)));
        let (ended, to) = (Arc::clone(&ending), Arc::clone(&listener));
        let carries = std::thread::spawn(move || carry(&radio, &to, &loses, &ended));
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
        // The thread waits for somebody to connect.
        let _ = TcpStream::connect(self.api);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn carry(radio: &UdpSocket, listener: &Mutex<Option<u16>>, loses: &Loses, ended: &AtomicBool) {
    let (mut buffer, mut count) = ([0; 1 << 16], 0);
    while !ended.load(Ordering::SeqCst) {
        let Ok(length) = radio.recv(&mut buffer) else { continue };
        count += 1;
        if let Some(port) = *listener.lock().unwrap()
            && !loses.lock().unwrap()(count)
        {
            radio.send_to(&buffer[..length], ("127.0.0.1", port)).unwrap();
        }
    }
}

/// Asks the talker what the listener asks for, with the relay's port in the place of the listener's.
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
