//! Links whose peer or connection ends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use super::{LOOPBACK, TIMEOUT, end_of, handshake, hosts, linked};
use crate::migration::link::{LinkError, LinkOptions};

#[test]
fn peer_that_is_killed_is_noticed() {
    let (robot, station) = hosts();
    let (client, server) = handshake(&robot.credentials(), &station.credentials());
    // The kernel closes the sockets of a process that is killed. TLS is not closed.
    drop(client.unwrap());
    let end = end_of(&server.unwrap());
    assert!(matches!(end, LinkError::Lost { .. }), "{end}");
}

#[test]
fn peer_that_is_silent_is_noticed() {
    let hour = Duration::from_secs(3600);
    let silence = Duration::from_millis(300);
    let silent = LinkOptions { keep_alive: hour, silence: hour, ..LinkOptions::default() };
    let (robot, station) =
        linked(&silent, &LinkOptions { silence, keep_alive: hour, ..LinkOptions::default() });
    let end = end_of(&station);
    assert!(matches!(end, LinkError::Silent { after, .. } if after == silence), "{end}");
    assert!(end.to_string().starts_with("robot (127.0.0.1:"), "{end}");
    // Its connection is closed, without an end of TLS.
    assert!(matches!(end_of(&robot), LinkError::Lost { .. }));
}

#[test]
fn changed_bytes_end_the_link() {
    let (robot, station) = hosts();
    let listener = station.listen(LinkOptions::default());
    // It forwards all, and changes the first byte of what the robot sends once it is linked.
    let relay = TcpListener::bind(LOOPBACK).unwrap();
    let address = relay.local_addr().unwrap();
    let target = listener.address();
    let (linked, is_linked) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let near = relay.accept().unwrap().0;
        let far = TcpStream::connect(target).unwrap();
        let (mut near_writer, mut far_reader) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut far_reader, &mut near_writer));
        forward(near, far, || is_linked.try_recv().is_ok());
    });
    let options = LinkOptions { keep_alive: Duration::from_millis(100), ..LinkOptions::default() };
    thread::scope(|scope| {
        let connecting = scope.spawn(|| robot.connect(address, &options).unwrap());
        let station = listener.accept(TIMEOUT).unwrap().unwrap();
        let robot = connecting.join().unwrap();
        robot.send(b"first".to_vec()).unwrap();
        assert_eq!(station.receive(TIMEOUT).unwrap(), Some(b"first".to_vec()));
        linked.send(()).unwrap();
        robot.send(b"second".to_vec()).unwrap();
        let end = end_of(&station);
        assert!(end.to_string().contains("TLS: cannot decrypt peer's message"), "{end}");
    });
}

/// Forwards bytes. The first ones after `changes` has become true are changed.
fn forward(mut from: TcpStream, mut to: TcpStream, mut changes: impl FnMut() -> bool) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if changes() {
            bytes[count - 1] ^= 1;
        }
        if to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

#[test]
fn unreachable_hosts_are_errors_that_name_them() {
    let (robot, _) = hosts();
    let refused = TcpListener::bind(LOOPBACK).unwrap().local_addr().unwrap().to_string();
    for (address, why) in [
        (refused.as_str(), "Connection refused"),
        ("robot2", "an address has the form HOST:PORT"),
        ("robot2:70000", "an address has the form HOST:PORT"),
        ("no-such-host.invalid:1", "no-such-host.invalid:1: no connection: "),
    ] {
        let error = super::connect(address, &robot.credentials(), TIMEOUT).map(|_| ()).unwrap_err();
        assert!(matches!(error, LinkError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
    // A host that takes connections, and does not answer.
    let mute = TcpListener::bind(LOOPBACK).unwrap().local_addr().unwrap();
    let mute = TcpListener::bind(mute).unwrap();
    let address = mute.local_addr().unwrap().to_string();
    let error = super::connect(&address, &robot.credentials(), Duration::from_millis(200));
    let error = error.map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), format!("{address}: no link: no answer within 200ms"));
}
