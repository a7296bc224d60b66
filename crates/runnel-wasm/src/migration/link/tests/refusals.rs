//! Hosts that do not trust each other, or are not those that they claim to be.

use std::fs;

use super::{Host, TIMEOUT, handshake, hosts};
use crate::migration::link::{LinkError, LinkOptions};

#[test]
fn hosts_that_trust_each_other_are_linked() {
    let (robot, station) = hosts();
    let (client, server) = handshake(&robot.credentials(), &station.credentials());
    assert_eq!(client.unwrap().peer.fingerprint, station.identity.fingerprint());
    assert_eq!(server.unwrap().peer().fingerprint, robot.identity.fingerprint());
}

#[test]
fn host_that_connects_must_be_trusted() {
    let (robot, station) = (Host::new(), Host::new());
    robot.trusts(&station, "station");
    let (client, server) = handshake(&robot.credentials(), &station.credentials());
    let own = robot.identity.fingerprint();
    let server = server.unwrap_err();
    assert!(matches!(&server, LinkError::UnknownPeer { fingerprint, .. } if *fingerprint == own), "{server}");
    assert!(server.to_string().ends_with(&format!("Try: runnel wasm trust {own}")), "{server}");
    assert!(server.to_string().starts_with("127.0.0.1:"), "{server}");
    let client = client.map(|established| established.peer).unwrap_err();
    assert!(matches!(client, LinkError::NotTrusted { .. }), "{client}");
    assert!(client.to_string().ends_with(&format!("Try there: runnel wasm trust {own}")), "{client}");
}

#[test]
fn host_to_connect_to_must_be_trusted() {
    let (robot, station) = (Host::new(), Host::new());
    station.trusts(&robot, "robot");
    let (client, server) = handshake(&robot.credentials(), &station.credentials());
    let client = client.map(|established| established.peer).unwrap_err();
    let other = station.identity.fingerprint();
    assert!(
        matches!(&client, LinkError::UnknownPeer { fingerprint, .. } if *fingerprint == other),
        "{client}"
    );
    let server = server.unwrap_err();
    assert!(matches!(server, LinkError::NotTrusted { .. }), "{server}");
}

#[test]
fn certificate_without_its_key_is_refused() {
    let (robot, station) = hosts();
    let mut credentials = robot.credentials();
    credentials.identity = robot.identity.with_key_of(&Host::new().identity);
    let (client, server) = handshake(&credentials, &station.credentials());
    let server = server.unwrap_err();
    assert!(server.to_string().contains("BadSignature"), "{server}");
    assert!(client.is_err());

    let mut credentials = station.credentials();
    credentials.identity = station.identity.with_key_of(&robot.identity);
    let (client, server) = handshake(&robot.credentials(), &credentials);
    let client = client.map(|established| established.peer).unwrap_err();
    assert!(client.to_string().contains("BadSignature"), "{client}");
    assert!(server.is_err());
}

#[test]
fn list_that_cannot_be_read_refuses_all() {
    let (robot, station) = hosts();
    fs::write(station.folder.join("trusted_hosts"), "SHA256:x robot\n").unwrap();
    let (client, server) = handshake(&robot.credentials(), &station.credentials());
    let server = server.unwrap_err().to_string();
    assert!(server.contains("trusted_hosts:1: \"SHA256:x\" is no fingerprint"), "{server}");
    assert!(client.is_err());
}

#[test]
fn list_is_read_for_each_connection() {
    let (robot, station) = (Host::new(), Host::new());
    robot.trusts(&station, "station");
    let listener = station.listen(LinkOptions::default());
    let connect = || robot.connect(listener.address(), &LinkOptions::default());
    assert!(matches!(connect(), Err(LinkError::NotTrusted { .. })));
    station.trusts(&robot, "robot");
    std::thread::scope(|scope| {
        let connecting = scope.spawn(connect);
        assert_eq!(listener.accept(TIMEOUT).unwrap().unwrap().peer().name, "robot");
        connecting.join().unwrap().unwrap();
    });
    station.trusted.remove("robot").unwrap().unwrap();
    assert!(matches!(connect(), Err(LinkError::NotTrusted { .. })));
}
