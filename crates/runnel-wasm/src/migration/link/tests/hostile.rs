//! Strangers at a listener, and peers that do what they may not.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{Host, TIMEOUT, end_of, hosts, linked};
use crate::migration::link::verifier::PeerVerifier;
use crate::migration::link::{Link, LinkError, LinkOptions, Listener, tls};

/// A stranger's connection, on which reading does not block for ever.
fn stranger(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

/// Waits until the listener has closed the connection.
fn wait_for_end(mut stream: &TcpStream) {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}

fn connect(robot: &Host, listener: &Listener) -> (Link, Link) {
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| robot.connect(listener.address(), &LinkOptions::default()).unwrap());
        let accepted = listener.accept(TIMEOUT).unwrap().expect("the robot connects");
        (connecting.join().unwrap(), accepted)
    })
}

/// What a host sends first.
fn client_hello(host: &Host) -> Vec<u8> {
    let verifier = Arc::new(PeerVerifier::new(&host.trusted, host.identity.fingerprint()));
    let mut hello = Vec::new();
    tls::client(&host.identity, &verifier).unwrap().write_tls(&mut hello).unwrap();
    hello
}

#[test]
fn malformed_handshake_ends_only_its_connection() {
    let (robot, station) = hosts();
    let listener = station.listen(LinkOptions::default());
    let hello = client_hello(&robot);
    let mut damaged = hello.clone();
    let middle = damaged.len() / 2;
    damaged[middle..].fill(0xff);
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 70_000], &damaged, &[22, 3, 3, 0xff, 0xff, 1, 2]] {
        let mut stranger = stranger(listener.address());
        // The listener may close it before all is written.
        _ = stranger.write_all(bytes);
        wait_for_end(&stranger);
    }
    for length in [1, 5, hello.len() / 2, hello.len() - 1] {
        let mut stranger = stranger(listener.address());
        stranger.write_all(&hello[..length]).unwrap();
        stranger.shutdown(std::net::Shutdown::Write).unwrap();
        wait_for_end(&stranger);
    }
    connect(&robot, &listener);
}

/// Keeps the lines that are logged.
struct Log(Mutex<Vec<String>>);

static LOG: Log = Log(Mutex::new(Vec::new()));

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        self.0.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

#[test]
fn strangers_are_logged_and_probes_are_not() {
    log::set_logger(&LOG).expect("no other test has a logger");
    log::set_max_level(log::LevelFilter::Warn);
    let (_, station) = hosts();
    let listener = station.listen(LinkOptions::default());
    let probe = stranger(listener.address()).local_addr().unwrap();
    let mut other = stranger(listener.address());
    other.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    wait_for_end(&other);
    let of = |address: SocketAddr| {
        let lines = LOG.0.lock().unwrap();
        lines.iter().filter(|line| line.starts_with(&format!("{address}: "))).cloned().collect::<Vec<_>>()
    };
    let until = Instant::now() + TIMEOUT;
    while of(other.local_addr().unwrap()).is_empty() {
        assert!(Instant::now() < until, "the stranger is not logged");
        std::thread::yield_now();
    }
    assert_eq!(of(other.local_addr().unwrap()).len(), 1);
    assert_eq!(of(probe), [""; 0], "it was before the other one");
}

#[test]
fn handshake_that_takes_too_long_is_ended() {
    let (robot, station) = hosts();
    let handshake_timeout = Duration::from_millis(300);
    let listener = station.listen(LinkOptions { handshake_timeout, ..LinkOptions::default() });
    let begun = Instant::now();
    let mut stranger = stranger(listener.address());
    stranger.write_all(&client_hello(&robot)[..50]).unwrap();
    wait_for_end(&stranger);
    let taken = begun.elapsed();
    assert!((handshake_timeout..TIMEOUT).contains(&taken), "{taken:?}");
    connect(&robot, &listener);
}

#[test]
fn strangers_do_not_keep_a_host_waiting() {
    let (robot, station) = hosts();
    let listener = station.listen(LinkOptions { handshake_timeout: 2 * TIMEOUT, ..LinkOptions::default() });
    let strangers: Vec<TcpStream> = (0..100).map(|_| stranger(listener.address())).collect();
    let begun = Instant::now();
    let (_robot, _station) = connect(&robot, &listener);
    assert!(begun.elapsed() < TIMEOUT, "{:?}", begun.elapsed());
    // The oldest handshakes have given way to those that came after them.
    wait_for_end(&strangers[0]);
    // The newest one is still in progress.
    strangers[99].set_nonblocking(true).unwrap();
    assert_eq!((&strangers[99]).read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn frame_over_the_limit_ends_the_link() {
    let station_options = LinkOptions { longest_frame: 1000, ..LinkOptions::default() };
    let (robot, station) = linked(&LinkOptions::default(), &station_options);
    robot.send(vec![1; 1000]).unwrap();
    robot.send(vec![2; 1001]).unwrap();
    assert_eq!(station.receive(TIMEOUT).unwrap(), Some(vec![1; 1000]), "frames before it are received");
    let end = end_of(&station);
    assert!(matches!(end, LinkError::PeerMisbehaved { .. }), "{end}");
    assert!(end.to_string().contains("sent a frame of 1001 bytes: the limit is 1000"), "{end}");
    assert!(matches!(end_of(&robot), LinkError::Lost { .. }));
}
