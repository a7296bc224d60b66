//! Histories of topics with transient-local durability.

use std::sync::mpsc::{self, Receiver};

use runnel::msgs::std_msgs::msg::Int32;
use runnel::{Context, Graphs, Node, QoS, Subscription};
use runnel_wasm::Ended;

use super::adder::ADDER;
use super::{checkpoint, unlimited};
use crate::guests::{TIMEOUT, context_in, namespace, program, start_from, start_in};

/// The adder with topics that are transient local.
fn adder() -> String {
    let volatile = r"\01\00\00\00";
    ADDER.replace(&format!("{volatile}\")"), &format!("{volatile}{volatile}\")"))
}

fn qos() -> QoS {
    QoS::keep_last(1000).reliable().transient_local()
}

/// Receives the sums, and those that were kept.
fn sums(node: &Node) -> (Subscription, Receiver<i32>) {
    let (send, received) = mpsc::channel();
    let receive = move |sum: &Int32| _ = send.send(sum.data);
    (node.create_subscription("sum", qos(), receive).unwrap(), received)
}

fn spin(context: &Context) -> std::thread::JoinHandle<()> {
    let context = context.clone();
    std::thread::spawn(move || context.spin().expect("it spins"))
}

/// All that arrives up to a sum.
fn up_to(last: i32, received: &Receiver<i32>) -> Vec<i32> {
    let mut all = Vec::new();
    while all.last() != Some(&last) {
        all.push(received.recv_timeout(TIMEOUT).unwrap_or_else(|_| panic!("{last} after {all:?}")));
    }
    all
}

#[test]
fn histories_are_neither_lost_nor_received_twice() {
    let (namespace, program) = (namespace(), program(&adder()));
    let context = || context_in(Graphs::Ros2, &namespace);
    let native = context();
    let node = native.create_node("native").unwrap();
    let numbers = node.create_publisher::<Int32>("number", qos()).unwrap();
    let spinning = spin(&native);
    let send = |number| numbers.publish(Int32 { data: number }).unwrap();
    let first = sums(&node);
    let guest = start_in(&program, unlimited(), context());
    (1..=3).for_each(send);
    assert_eq!(up_to(6, &first.1), [1, 3, 6]);
    let taken = checkpoint(&guest, true);
    assert_eq!(guest.end().unwrap(), Ended::Stopped);
    let restored = start_from(&taken, &program, unlimited(), context());
    // The native publisher sends its history to the new subscription, and the restored publisher to a late subscription.
    send(10);
    assert_eq!(up_to(16, &sums(&node).1), [1, 3, 6, 16]);
    // The restored publisher sends what it had kept also to a subscription that had received it.
    assert_eq!(up_to(16, &first.1), [1, 3, 6, 16]);
    restored.control.stop();
    assert_eq!(restored.end().unwrap(), Ended::Stopped);
    native.shutdown();
    spinning.join().unwrap();
}
