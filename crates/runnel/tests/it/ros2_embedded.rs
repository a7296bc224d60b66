//! Tests with a fake embeddedRTPS (mROS 2) peer on a host of its own, over real sockets.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::LONG;
use crate::embedded::Board;
use runnel::core::Message;
use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::geometry_msgs::msg::Twist;
use runnel::msgs::std_msgs::msg::{String as Text, UInt8MultiArray};
use runnel::{Context, ContextOptions, Graphs, Node, Publisher, QoS};
use runnel_testkit::hosts::Host;

fn context() -> Context {
    let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
    Context::with_options(options.graphs(Graphs::Ros2).domain_id(0)).unwrap()
}

/// A host with several interfaces, of which only the last one is connected to the board.
fn connected_hosts(cables: u8) -> (Host, Host) {
    let (host, far) = (Host::new(), Host::new());
    for cable in 1..=cables {
        let name = format!("cable{cable}");
        host.join(&far, &name);
        host.address(&name, &format!("10.{cable}.0.1/24"));
    }
    far.address(&format!("cable{cables}"), &format!("10.{cables}.0.2/24"));
    (host, far)
}

/// Exchanges a message with the board in both directions. The bytes are equal.
fn exchange<T: Message + Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static>(
    (context, node): (&Context, &Node),
    board: &Board,
    topic: &str,
    message: &T,
) {
    let received = Arc::new(Mutex::new(None));
    let last = Arc::clone(&received);
    let qos = QoS::keep_last(10).best_effort();
    let _subscription = node
        .create_subscription(&format!("{topic}_from_board"), qos, move |message: &T| {
            *last.lock().unwrap() = Some(message.clone());
        })
        .unwrap();
    let publisher: Publisher<T> = node.create_publisher(&format!("{topic}_to_board"), 10).unwrap();
    let payload = cdr::encode(message, Encoding::Xcdr1).unwrap();
    let until = Instant::now() + LONG;
    while received.lock().unwrap().is_none() || !board.has_received(&format!("rt/{topic}_to_board"), &payload)
    {
        assert!(Instant::now() < until, "{topic}: {:?}", board.dropped());
        publisher.publish(message.clone()).unwrap();
        board.publish(&format!("rt/{topic}_from_board"), &payload);
        context.spin_once(Duration::from_millis(50)).unwrap();
    }
    assert_eq!(received.lock().unwrap().as_ref(), Some(message));
}

fn meet(cables: u8) {
    let (host, far) = connected_hosts(cables);
    let ip = [10, cables, 0, 2].into();
    let topics = [("text", Text::DDS_TYPE), ("twist", Twist::DDS_TYPE), ("array", UInt8MultiArray::DDS_TYPE)];
    let board = Board::start(&far, ip, &topics);
    host.run(|| {
        let context = context();
        let node = context.create_node("host").unwrap();
        let text = Text { data: "hello".into() };
        let mut twist = Twist::default();
        (twist.linear.x, twist.angular.z) = (1.5, -2.5);
        let array = UInt8MultiArray { data: (0..=255).chain(0..100).collect(), ..Default::default() };
        exchange((&context, &node), &board, "text", &text);
        exchange((&context, &node), &board, "twist", &twist);
        exchange((&context, &node), &board, "array", &array);
    });
}

#[test]
fn embedded_peer_exchanges_text_twist_and_array() {
    meet(1);
}

#[test]
fn embedded_peer_matches_host_with_eight_interfaces() {
    meet(8);
}
