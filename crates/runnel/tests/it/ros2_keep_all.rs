//! Tests of keep-all pairs of the ROS 2 graph: they lose nothing while other pairs exist or when a publisher ends.

use crate::common::{LONG, wait_until};
use crate::ros2_pair::{context, lingering, listen, new_domain, numbered};
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, Publisher, QoS, Subscription};

/// More than the queues of both ends hold.
const MANY: u32 = 5000;

/// Publishes until it would have to wait. Returns the number of messages.
fn publish(publisher: &Publisher<UInt8MultiArray>, most: u32) -> u32 {
    (0..most).find(|number| publisher.try_publish(numbered(*number, 10)).is_err()).unwrap_or(most)
}

/// Waits until both match, in shared memory if it is enabled.
fn wait_for_match(
    ipc: bool,
    [a, b]: [&Context; 2],
    publisher: &Publisher<UInt8MultiArray>,
    to: &Subscription,
) {
    wait_until("they match", || {
        [a, b].iter().for_each(|context| context.spin_some().unwrap());
        publisher.subscription_count() == 1
            && to.publisher_count() > 0
            && (!ipc || publisher.shared_memory_count() == 1 && to.shared_memory_count() == 1)
    });
}

#[test]
fn keep_all_subscription_receives_local_and_remote_publishers() {
    for ipc in [false, true] {
        let domain = new_domain();
        let (here, there) = (context(domain, ipc), context(domain, ipc));
        let nodes = [here.create_node("here").unwrap(), there.create_node("there").unwrap()];
        let [near, far] = [&nodes[0], &nodes[1]]
            .map(|node| node.create_publisher::<UInt8MultiArray>("data", QoS::keep_all()).unwrap());
        let (subscription, received) = listen(&nodes[0], "data", QoS::keep_all());
        wait_for_match(ipc, [&here, &there], &far, &subscription);
        // No callback runs.
        let of_near = publish(&near, MANY);
        assert!(of_near < MANY);
        let of_far = publish(&far, 1000);
        let all = u64::from(of_near + of_far);
        wait_until("as many as fit have arrived", || subscription.received() >= all.min(2000));
        wait_until("all are received", || {
            here.spin_some().unwrap();
            received.lock().unwrap().len() as u64 + subscription.dropped() + subscription.lost() >= all
        });
        assert_eq!((subscription.dropped(), subscription.lost()), (0, 0), "by memory {ipc}");
    }
}

#[test]
fn slow_callback_gets_messages_of_ended_publisher() {
    for ipc in [false, true] {
        let domain = new_domain();
        let (talking, listening) = (lingering(domain, ipc), context(domain, ipc));
        let nodes = [talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap()];
        let mut publisher: Publisher<UInt8MultiArray> =
            nodes[0].create_publisher("data", QoS::keep_all()).unwrap();
        // The listener's process takes them as fast as the machine allows.
        publisher.set_max_blocking_time(LONG);
        let (subscription, received) = listen(&nodes[1], "data", QoS::keep_all());
        wait_for_match(ipc, [&talking, &listening], &publisher, &subscription);
        // More than wait for the callback, so the listener's process holds the rest.
        (0..1500).for_each(|number| publisher.publish(numbered(number, 10)).unwrap());
        drop(publisher);
        wait_until("it is gone", || subscription.publisher_count() == 0);
        wait_until("all are received", || {
            listening.spin_some().unwrap();
            received.lock().unwrap().len() == 1500
        });
        assert!(received.lock().unwrap().iter().copied().eq(0..1500), "by memory {ipc}");
    }
}
