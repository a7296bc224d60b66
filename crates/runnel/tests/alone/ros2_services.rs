//! Services in ROS 2 on a network that loses datagrams, and clients and servers in great numbers.

use std::process::Command;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

use crate::common::LONG;
use crate::process::alone;
use crate::ros2_pair::{context, new_domain};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Context, Error, ServiceServer};

/// Drops some of all datagrams until it is dropped itself.
struct Loss;

impl Loss {
    fn of_percent(percent: u32) -> Self {
        let loss = Self;
        for line in [
            "add table inet loss".to_owned(),
            "add chain inet loss in { type filter hook input priority 0; }".to_owned(),
            format!("add rule inet loss in meta l4proto udp numgen random mod 100 < {percent} drop"),
        ] {
            assert!(Command::new("nft").arg(&line).status().expect("nft").success(), "nft {line}");
        }
        loss
    }
}

impl Drop for Loss {
    fn drop(&mut self) {
        let _ = Command::new("nft").arg("delete table inet loss").status();
    }
}

/// A server in a context that spins on a thread of its own.
struct Server {
    context: Context,
    thread: Option<JoinHandle<()>>,
    server: Option<ServiceServer>,
}

impl Server {
    fn new(domain: u16) -> Self {
        let context = context(domain, false);
        let answer = |request: &SetBoolRequest| {
            Ok::<_, Error>(SetBoolResponse { success: request.data, message: "on".into() })
        };
        let server = context.create_node("server").unwrap().create_service::<SetBool, _>("power", answer);
        let spinning = context.clone();
        let thread = Some(thread::spawn(move || spinning.spin().unwrap()));
        Self { context, thread, server: Some(server.unwrap()) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.server = None;
        self.context.shutdown();
        self.thread.take().map(JoinHandle::join);
    }
}

/// Calls the service once, from a participant of its own.
fn call_from_fresh_participant(domain: u16) {
    let context = context(domain, false);
    let client = context.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    let response = client.call_timeout(&SetBoolRequest { data: true }, LONG).unwrap();
    assert!(response.success);
}

fn count(short: usize) -> usize {
    if std::env::var_os("RUNNEL_TEST_FULL").is_some() { 1000 } else { short }
}

#[test]
fn fresh_clients_lose_no_reply_when_datagrams_are_lost() {
    let _alone = alone();
    let domain = new_domain();
    let _server = Server::new(domain);
    let _loss = Loss::of_percent(10);
    for _ in 0..count(20) / 4 {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| call_from_fresh_participant(domain));
            }
        });
    }
}

#[test]
fn long_messages_arrive_when_datagrams_are_lost() {
    let _alone = alone();
    let domain = new_domain();
    let near = context(domain, false);
    let text = "x".repeat(300_000);
    let expected = text.clone();
    let node = near.create_node("server").unwrap();
    let _server = node.create_service::<SetBool, Error>("power", move |request| {
        Ok(SetBoolResponse { success: request.data, message: text.clone() })
    });
    let spinning = near.clone();
    let thread = thread::spawn(move || spinning.spin().unwrap());
    let _loss = Loss::of_percent(10);
    let far = context(domain, false);
    let client = far.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    for _ in 0..5 {
        let response = client.call_timeout(&SetBoolRequest { data: true }, LONG).unwrap();
        assert!(response.message == expected, "{} bytes", response.message.len());
    }
    near.shutdown();
    thread.join().unwrap();
}

/// Calls go on while servers end and others take their place.
#[test]
fn calls_survive_restarts_of_server() {
    let _alone = alone();
    let domain = new_domain();
    let far = context(domain, false);
    let client = far.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    let (answered, answers) = channel();
    let calls = thread::spawn(move || {
        for _ in 0..300 {
            let response = client.call_timeout(&SetBoolRequest { data: true }, LONG).unwrap();
            assert!(response.success);
            answered.send(()).unwrap();
        }
    });
    // Some calls are pending when a server ends.
    for _ in 0..10 {
        let _server = Server::new(domain);
        (0..30).for_each(|_| answers.recv_timeout(LONG).unwrap());
    }
    calls.join().unwrap();
}
