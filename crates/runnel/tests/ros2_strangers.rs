//! Strangers in the network of ROS 2, and what they can have a program do.

mod common;
#[path = "common/logged.rs"]
mod logged;
#[path = "common/ros2_pair.rs"]
mod ros2_pair;

use std::net::UdpSocket;

use common::{LONG, spin_until};
use logged::{count_logged, keep_log};
use ros2_pair::{context, listen, new_domain, numbered};
use runnel::msgs::std_msgs::UInt8MultiArray;
use runnel::{Publisher, QoS};

/// An RTPS message of somebody, whose only submessage says that it is longer than it is.
fn nonsense(number: u32) -> Vec<u8> {
    let mut bytes = b"RTPS\x02\x04\x01\x0f".to_vec();
    bytes.extend([0x01, 0x0f, 1, 2, 3, 4, 5, 6]);
    bytes.extend(number.to_be_bytes());
    bytes.extend([6, 1, 200, 0]);
    bytes
}

#[test]
fn datagrams_that_make_no_sense_do_not_fill_the_log() {
    keep_log();
    let domain = new_domain();
    let (talking, listening) = (context(domain, false), context(domain, false));
    let nodes = [talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap()];
    let publisher: Publisher<UInt8MultiArray> = nodes[0].create_publisher("data", QoS::default()).unwrap();
    let (_subscription, heard) = listen(&nodes[1], "data", QoS::default());
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    for number in 0..1000 {
        for participant in 0..2 {
            let port = 7410 + 250 * domain + 2 * participant;
            stranger.send_to(&nonsense(number), ("127.0.0.1", port)).unwrap();
        }
    }
    publisher.publish(numbered(1, 10)).unwrap();
    spin_until(&listening, "the message heard", || *heard.lock().unwrap() == [1]);
    let told = count_logged(&["127.0.0.1"]);
    assert!((1..=100).contains(&told), "{told} lines");
}
