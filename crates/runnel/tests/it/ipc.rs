//! Tests of links in shared memory, between two contexts as between two processes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::{Graph, LONG, spin_until};
use runnel::msgs::std_msgs::msg::{Int32, String as Text, UInt8MultiArray};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Context, Publisher, QoS, Subscription};

type Received = Arc<Mutex<Vec<i32>>>;

/// A talker and a listener in contexts of their own, with a link in shared memory.
fn joined(graph: &Graph, depth: usize) -> (Context, Publisher<Int32>, Context, Received, Subscription) {
    let (near, far) = (graph.context(), graph.context());
    let talker = near.create_node("talker").unwrap().create_publisher::<Int32>("numbers", depth).unwrap();
    let received = Received::default();
    let into = Arc::clone(&received);
    let subscription = far.create_node("listener").unwrap().create_subscription("numbers", depth, {
        move |message: &Int32| into.lock().unwrap().push(message.data)
    });
    let subscription = subscription.unwrap();
    spin_until(&far, "the link in shared memory", || {
        talker.shared_memory_count() == 1 && subscription.shared_memory_count() == 1
    });
    (near, talker, far, received, subscription)
}

fn number(data: i32) -> Int32 {
    Int32 { data }
}

fn bytes(count: usize, fill: u8) -> UInt8MultiArray {
    UInt8MultiArray { data: vec![fill; count], ..UInt8MultiArray::default() }
}

#[test]
fn local_link_switches_to_shared_memory() {
    let graph = Graph::new();
    let (_near, talker, far, received, subscription) = joined(&graph, 1000);
    (0..500).for_each(|n| talker.publish(number(n)).unwrap());
    spin_until(&far, "500 messages received", || received.lock().unwrap().len() == 500);
    assert!(received.lock().unwrap().iter().copied().eq(0..500));
    assert_eq!((talker.dropped(), subscription.dropped(), subscription.received()), (0, 0, 500));
}

#[test]
fn handover_loses_and_doubles_nothing() {
    let graph = Graph::new();
    for round in 0..20 {
        let (near, far) = (graph.context(), graph.context());
        let name = format!("numbers{round}");
        let talker = near.create_node("talker").unwrap().create_publisher::<Int32>(&name, 100_000).unwrap();
        let received = Received::default();
        let into = Arc::clone(&received);
        let listener = far.create_node("listener").unwrap();
        let subscription = listener.create_subscription(&name, 100_000, move |message: &Int32| {
            into.lock().unwrap().push(message.data)
        });
        let subscription = subscription.unwrap();
        assert!(talker.wait_for_subscribers(1, LONG).unwrap());
        let so_far = Arc::clone(&received);
        let publishing = thread::spawn(move || {
            let mut count = 0;
            while talker.shared_memory_count() == 0 || count < 1000 {
                // On a busy machine the link switches late: at most as many messages wait as the queues hold.
                if count as usize >= so_far.lock().unwrap().len() + 50_000 {
                    thread::yield_now();
                    continue;
                }
                talker.publish(number(count)).unwrap();
                count += 1;
            }
            (talker, count)
        });
        spin_until(&far, "a link in shared memory", || subscription.shared_memory_count() == 1);
        spin_until(&far, "the end of publishing", || publishing.is_finished());
        let (_talker, count) = publishing.join().unwrap();
        spin_until(&far, "all messages received", || received.lock().unwrap().len() >= count as usize);
        assert!(received.lock().unwrap().iter().copied().eq(0..count), "round {round}");
    }
}

#[test]
fn messages_of_every_size_arrive_whole() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let talker =
        near.create_node("talker").unwrap().create_publisher::<UInt8MultiArray>("data", 100).unwrap();
    let received = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&received);
    let listener = far.create_node("listener").unwrap();
    let subscription = listener.create_subscription("data", 100, move |message: &UInt8MultiArray| {
        let same = message.data.windows(2).all(|pair| pair[0] == pair[1]);
        into.lock().unwrap().push((message.data.len(), message.data.first().copied(), same));
    });
    let subscription = subscription.unwrap();
    spin_until(&far, "a link in shared memory", || subscription.shared_memory_count() == 1);
    let sizes = [0, 1, 10, 100, 4000, 4096, 5000, 16_384, 70_000, 300_000, 2 << 20, 9 << 20];
    for (round, fill) in (1..=3).enumerate() {
        for (index, size) in sizes.into_iter().enumerate() {
            talker.publish(bytes(size, fill)).unwrap();
            spin_until(&far, "the message received", || {
                received.lock().unwrap().len() == round * sizes.len() + index + 1
            });
            let first = (size > 0).then_some(fill);
            assert_eq!(received.lock().unwrap().last(), Some(&(size, first, true)), "round {round}");
        }
    }
    assert_eq!((talker.dropped(), subscription.malformed()), (0, 0));
}

#[test]
fn burst_beyond_ring_is_queued() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let talker =
        near.create_node("talker").unwrap().create_publisher::<UInt8MultiArray>("data", 5000).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let listener = far.create_node("listener").unwrap();
    let subscription = listener.create_subscription("data", 5000, move |message: &UInt8MultiArray| {
        assert_eq!(message.data.first().copied(), Some(counted.fetch_add(1, Ordering::SeqCst) as u8));
    });
    let subscription = subscription.unwrap();
    spin_until(&far, "a link in shared memory", || subscription.shared_memory_count() == 1);
    for size in [50, 3000, 20_000] {
        count.store(0, Ordering::SeqCst);
        (0..5000).for_each(|n| talker.publish(bytes(size, n as u8)).unwrap());
        spin_until(&far, "the burst received", || count.load(Ordering::SeqCst) == 5000);
    }
    assert_eq!((talker.dropped(), subscription.dropped()), (0, 0));
}

#[test]
fn keep_all_subscriber_receives_every_message() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let mut talker =
        near.create_node("talker").unwrap().create_publisher::<Int32>("numbers", QoS::keep_all()).unwrap();
    talker.set_max_blocking_time(LONG);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let listener = far.create_node("listener").unwrap();
    let subscription = listener.create_subscription("numbers", 1_000_000, move |message: &Int32| {
        assert_eq!(message.data as usize, counted.fetch_add(1, Ordering::SeqCst));
    });
    let subscription = subscription.unwrap();
    spin_until(&far, "a link in shared memory", || subscription.shared_memory_count() == 1);
    // Its end would be read before a slow listener has read everything.
    let publishing = thread::spawn(move || {
        (0..100_000).for_each(|n| talker.publish(number(n)).unwrap());
        talker
    });
    spin_until(&far, "all received", || count.load(Ordering::SeqCst) == 100_000);
    // Its end would not have waited long.
    let _talker = publishing.join().unwrap();
}

#[test]
fn messages_before_process_end_arrive() {
    let graph = Graph::new();
    let (near, talker, far, received, _subscription) = joined(&graph, 1000);
    (0..1000).for_each(|n| talker.publish(number(n)).unwrap());
    drop(talker);
    drop(near);
    spin_until(&far, "what was left behind", || received.lock().unwrap().len() == 1000);
}

#[test]
fn many_topics_share_one_ipc_connection() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let (one, two) = (near.create_node("one").unwrap(), far.create_node("two").unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let mut ends = Vec::new();
    for topic in 0..50 {
        let name = format!("topic{topic}");
        let (here, there) = if topic % 2 == 0 { (&one, &two) } else { (&two, &one) };
        let counted = Arc::clone(&count);
        let publisher = here.create_publisher::<Int32>(&name, 10).unwrap();
        let subscription = there.create_subscription(&name, 10, move |message: &Int32| {
            assert_eq!(message.data, topic);
            counted.fetch_add(1, Ordering::SeqCst);
        });
        ends.push((publisher, subscription.unwrap()));
    }
    let spinning = thread::spawn({
        let near = near.clone();
        move || near.spin().unwrap()
    });
    spin_until(&far, "all links in shared memory", || {
        ends.iter().all(|(publisher, _)| publisher.shared_memory_count() == 1)
    });
    ends.iter()
        .enumerate()
        .for_each(|(topic, (publisher, _))| publisher.publish(number(topic as i32)).unwrap());
    spin_until(&far, "all received", || count.load(Ordering::SeqCst) == 50);
    near.shutdown();
    spinning.join().unwrap();
}

#[test]
fn nodes_of_a_process_receive_their_own_topics() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let talker = near.create_node("talker").unwrap();
    let mut ends = Vec::new();
    for n in 0..4 {
        let name = format!("topic{n}");
        let publisher = talker.create_publisher::<Int32>(&name, 10).unwrap();
        let received = Received::default();
        let into = Arc::clone(&received);
        let subscription =
            far.create_node(&format!("listener{n}")).unwrap().create_subscription(&name, 10, {
                move |message: &Int32| into.lock().unwrap().push(message.data)
            });
        ends.push((publisher, subscription.unwrap(), received));
    }
    spin_until(&far, "all links in shared memory", || {
        ends.iter().all(|(publisher, subscription, _)| {
            publisher.shared_memory_count() == 1 && subscription.shared_memory_count() == 1
        })
    });
    for (n, (publisher, ..)) in ends.iter().enumerate() {
        publisher.publish(number(n as i32)).unwrap();
    }
    let received =
        || ends.iter().map(|(_, _, received)| received.lock().unwrap().clone()).collect::<Vec<_>>();
    spin_until(&far, "a message for each", || received().iter().map(Vec::len).sum::<usize>() == 4);
    assert_eq!(received(), [[0], [1], [2], [3]]);
}

#[test]
fn persistent_service_connection_switches_to_memory() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let server = far.create_node("server").unwrap();
    let _service = server.create_service::<SetBool, String>("switch", |request: &SetBoolRequest| {
        Ok(SetBoolResponse { success: request.data, message: "x".repeat(100_000) })
    });
    let spinning = thread::spawn({
        let far = far.clone();
        move || far.spin().unwrap()
    });
    let client = near.create_node("client").unwrap().create_persistent_client::<SetBool>("switch").unwrap();
    for n in 0..200 {
        let answer = client.call(&SetBoolRequest { data: n % 2 == 0 }).unwrap();
        assert_eq!((answer.success, answer.message.len()), (n % 2 == 0, 100_000));
    }
    far.shutdown();
    spinning.join().unwrap();
}

#[test]
fn subscriptions_of_a_node_receive_during_their_lifetime() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let talker = near.create_node("talker").unwrap().create_publisher::<Int32>("numbers", 10).unwrap();
    let listener = far.create_node("listener").unwrap();
    let subscribe = || {
        let received = Received::default();
        let into = Arc::clone(&received);
        let push = move |message: &Int32| into.lock().unwrap().push(message.data);
        (listener.create_subscription("numbers", 10, push).unwrap(), received)
    };
    let (first, received_first) = subscribe();
    let (_second, received_second) = subscribe();
    spin_until(&far, "the link in shared memory", || talker.shared_memory_count() == 1);
    let received = || (received_first.lock().unwrap().clone(), received_second.lock().unwrap().clone());
    talker.publish(number(0)).unwrap();
    spin_until(&far, "both receive", || received() == (vec![0], vec![0]));
    drop(first);
    talker.publish(number(1)).unwrap();
    spin_until(&far, "the other receives", || received() == (vec![0], vec![0, 1]));
    let (_third, received_third) = subscribe();
    talker.publish(number(2)).unwrap();
    spin_until(&far, "the new one receives", || *received_third.lock().unwrap() == [2]);
    spin_until(&far, "the old one receives", || received() == (vec![0], vec![0, 1, 2]));
}

#[test]
fn untyped_subscription_admits_no_type_to_typed_ones() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let words = near.create_node("words").unwrap().create_publisher::<Text>("data", 10).unwrap();
    let numbers = near.create_node("numbers").unwrap().create_publisher::<Int32>("data", 10).unwrap();
    let listener = far.create_node("listener").unwrap();
    let all = listener.create_raw_subscription("data", None, 10, |_| {}).unwrap();
    let received = Received::default();
    let into = Arc::clone(&received);
    let push = move |message: &Int32| into.lock().unwrap().push(message.data);
    let typed = listener.create_subscription("data", 10, push).unwrap();
    spin_until(&far, "the links in shared memory", || {
        words.shared_memory_count() == 1 && numbers.shared_memory_count() == 1
    });
    drop(all);
    words.publish(Text { data: "none of a number".into() }).unwrap();
    numbers.publish(number(7)).unwrap();
    spin_until(&far, "the number", || !received.lock().unwrap().is_empty());
    assert_eq!((received.lock().unwrap().clone(), typed.received(), typed.malformed()), (vec![7], 1, 0));
}

#[test]
fn context_may_disable_shared_memory() {
    let graph = Graph::new();
    let near = graph.context_on_network();
    let far = graph.context();
    let talker = near.create_node("talker").unwrap().create_publisher::<Int32>("numbers", 10).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let listener = far.create_node("listener").unwrap();
    let subscription = listener.create_subscription("numbers", 10, move |_: &Int32| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let subscription = subscription.unwrap();
    assert!(talker.wait_for_subscribers(1, LONG).unwrap());
    for n in 1..100 {
        talker.publish(number(n)).unwrap();
        spin_until(&far, "the message received", || count.load(Ordering::SeqCst) == n as usize);
    }
    assert_eq!((talker.shared_memory_count(), subscription.shared_memory_count()), (0, 0));
}
