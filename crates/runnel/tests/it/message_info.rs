//! Tests of `MessageInfo` by generation and path.

use std::sync::{Arc, Mutex};

use crate::common::{Graph, spin_until};
use crate::ros2_pair::{Pair, context, new_domain, numbered};
use runnel::core::Message;
use runnel::core::schema::{Generation, TypeName};
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Borrowed, Context, Gid, MessageInfo, Node, QoS, RawMessage, Subscription, WaitSet};
use runnel_io::clock;

type Infos = Arc<Mutex<Vec<MessageInfo>>>;

fn listen(node: &Node) -> (Subscription, Infos) {
    let infos = Infos::default();
    let into = Arc::clone(&infos);
    let note = move |_: &UInt8MultiArray, info: &MessageInfo| into.lock().unwrap().push(info.clone());
    (node.create_subscription_with_info("data", 100, note).unwrap(), infos)
}

/// Gid of the only publisher of `/data` in the graph of `context`.
fn gid_of_publisher(context: &Context) -> Gid {
    let endpoints = context.ros2_graph().unwrap().unwrap().endpoints;
    let is_it = |endpoint: &&runnel::EndpointInfo| {
        endpoint.dds_topic == "rt/data" && endpoint.endpoint_type == runnel::EndpointType::Publisher
    };
    endpoints.iter().find(is_it).unwrap().gid
}

/// Publishes three messages and returns their infos. Asserts that reception follows publication, and that a source time
/// is the time of publication.
#[track_caller]
fn exchange(
    publish: impl Fn(u32),
    infos: &Infos,
    mut poll_until: impl FnMut(&dyn Fn() -> bool),
) -> [MessageInfo; 3] {
    for number in 0..3 {
        let before = clock::realtime().as_nanos();
        publish(number);
        let published = clock::realtime().as_nanos();
        poll_until(&|| infos.lock().unwrap().len() > number as usize);
        let info = &infos.lock().unwrap()[number as usize];
        let (came, now) = (info.received_timestamp().as_nanos(), clock::realtime().as_nanos());
        assert!((before..=now).contains(&came), "{info:?}");
        // RTPS rounds times to multiples of 2^-32 s.
        let written = info.source_timestamp().map(|source| source.as_nanos());
        assert!(written.is_none_or(|written| (before - 1..=published + 1).contains(&written)), "{info:?}");
    }
    infos.lock().unwrap().clone().try_into().unwrap()
}

/// A subscription whose callback gets views, and one whose callback gets messages of a type known at run time.
fn listen_to_views_and_dynamic(node: &Node) -> [(Subscription, Infos); 2] {
    let [infos, dynamic_infos] = [(); 2].map(|()| Infos::default());
    let (into, into_dynamic) = (Arc::clone(&infos), Arc::clone(&dynamic_infos));
    let views = node.create_view_subscription_with_info::<UInt8MultiArray, _>("data", 100, move |_, info| {
        into.lock().unwrap().push(info.clone());
    });
    let name = TypeName::parse(UInt8MultiArray::TYPE).unwrap();
    let schema = runnel::msgs::library().message_in(Generation::Ros2, &name).unwrap();
    let dynamic = node.create_dynamic_subscription_with_info("data", &schema, 100, move |_, info| {
        into_dynamic.lock().unwrap().push(info.clone());
    });
    [(views.unwrap(), infos), (dynamic.unwrap(), dynamic_infos)]
}

#[test]
fn view_and_dynamic_callbacks_get_same_info() {
    let domain = new_domain();
    let (talking, listening) = (context(domain, false), context(domain, false));
    for near in [&talking, &listening] {
        let (talker, listener) =
            (near.create_node("talker").unwrap(), listening.create_node("listener").unwrap());
        let (_subscription, infos) = listen(&listener);
        let others = listen_to_views_and_dynamic(&listener);
        let publisher = talker.create_publisher("data", 100).unwrap();
        assert!(publisher.wait_for_subscribers(3, crate::common::LONG).unwrap());
        publisher.publish(numbered(1, 10)).unwrap();
        let all = || [&infos, &others[0].1, &others[1].1].map(|infos| infos.lock().unwrap().first().cloned());
        spin_until(&listening, "they come", || all().iter().all(Option::is_some));
        for info in all().into_iter().flatten() {
            assert_eq!(
                (info.publisher(), info.is_intra_process()),
                ("/talker", std::ptr::eq(near, &listening))
            );
            assert!(
                info.source_timestamp().is_some() && info.received_timestamp().as_nanos() > 0,
                "{info:?}"
            );
        }
    }
}

#[test]
fn ros1_message_has_publisher_and_reception_time_only() {
    let graph = Graph::new();
    let (talking, listening) = (graph.context_on_network(), graph.context_on_network());
    let (talker, listener) =
        (talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap());
    let (_subscription, infos) = listen(&listener);
    let publisher = talker.create_publisher("data", 100).unwrap();
    assert!(publisher.wait_for_subscribers(1, crate::common::LONG).unwrap());
    let publish = |number| publisher.publish(numbered(number, 10)).unwrap();
    for info in exchange(publish, &infos, |done| spin_until(&listening, "it arrives", done)) {
        assert_eq!((info.publisher(), info.is_intra_process()), ("/talker", false));
        assert_eq!((info.source_timestamp(), info.publication_sequence_number()), (None, None));
        assert_eq!(info.publisher_gid(), None);
    }
}

#[test]
fn ros2_message_has_source_time_number_and_gid() {
    let domain = new_domain();
    let (talking, listening) = (context(domain, false), context(domain, false));
    let (talker, listener) =
        (talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap());
    let (_subscription, infos) = listen(&listener);
    let publisher = talker.create_publisher("data", 100).unwrap();
    assert!(publisher.wait_for_subscribers(1, crate::common::LONG).unwrap());
    let publish = |number| publisher.publish(numbered(number, 10)).unwrap();
    let infos = exchange(publish, &infos, |done| spin_until(&listening, "it arrives", done));
    for (info, number) in infos.iter().zip(1..) {
        assert!(info.source_timestamp().is_some() && !info.is_intra_process());
        assert_eq!(info.publication_sequence_number(), Some(number));
        assert_eq!(info.publisher_gid(), Some(gid_of_publisher(&listening)));
    }
}

#[test]
fn ros2_message_by_shared_memory_has_number_and_gid() {
    let pair = Pair::new(QoS::keep_last(100));
    pair.switch_to_memory();
    let (_subscription, infos) = listen(&pair.nodes[1]);
    pair.poll_until("both in shared memory", |pair| {
        pair.publisher.shared_memory_count() == 2 && pair.publisher.subscription_count() == 2
    });
    // Lengths that fit the ring, and lengths that need a slot.
    let publish =
        |number| pair.publisher.publish(numbered(number, [10, 20_000, 10][number as usize])).unwrap();
    let infos = exchange(publish, &infos, |done| pair.poll_until("it arrives", |_| done()));
    for (info, number) in infos.iter().zip(1..) {
        assert_eq!((info.source_timestamp(), info.is_intra_process()), (None, false));
        assert_eq!(info.publication_sequence_number(), Some(number));
        assert_eq!(info.publisher_gid(), Some(gid_of_publisher(&pair.listening)));
    }
}

#[test]
fn local_message_has_source_time_and_gid() {
    let graph = Graph::new();
    for (context, is_ros2) in [(graph.context(), false), (context(new_domain(), false), true)] {
        let node = context.create_node("node").unwrap();
        let (_subscription, infos) = listen(&node);
        let raw = Infos::default();
        let into = Arc::clone(&raw);
        let note = move |message: &RawMessage<'_>| into.lock().unwrap().push(message.info());
        let _raw = node.create_raw_subscription("data", None, 100, note).unwrap();
        let publisher = node.create_publisher("data", 100).unwrap();
        assert!(publisher.wait_for_subscribers(2, crate::common::LONG).unwrap());
        let publish = |number| publisher.publish(numbered(number, 10)).unwrap();
        let by_reference = exchange(publish, &infos, |done| spin_until(&context, "it arrives", done));
        spin_until(&context, "the bytes come", || raw.lock().unwrap().len() == 3);
        for info in by_reference.iter().chain(&*raw.lock().unwrap()) {
            assert_eq!((info.publisher(), info.is_intra_process()), ("/node", true));
            assert!(info.source_timestamp().is_some());
            assert_eq!(info.publication_sequence_number(), None);
            assert_eq!(info.publisher_gid(), is_ros2.then(|| gid_of_publisher(&context)));
        }
    }
}

#[test]
fn taken_or_kept_message_has_same_info() {
    let domain = new_domain();
    let (talking, listening) = (context(domain, false), context(domain, false));
    let (talker, listener) =
        (talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap());
    let taken = listener.create_waitable_subscription::<UInt8MultiArray>("data", 100).unwrap();
    let kept = Infos::default();
    let into = Arc::clone(&kept);
    let note = move |message: Borrowed<UInt8MultiArray>| into.lock().unwrap().push(message.info());
    let _borrowing = listener.create_borrowing_subscription("data", 100, note).unwrap();
    let publisher = talker.create_publisher("data", 100).unwrap();
    assert!(publisher.wait_for_subscribers(2, crate::common::LONG).unwrap());
    publisher.publish(numbered(7, 10)).unwrap();
    spin_until(&listening, "it arrives", || !kept.lock().unwrap().is_empty());
    let mut wait_set = WaitSet::new(&listening);
    wait_set.add_subscription(&taken);
    assert_eq!(wait_set.wait(Some(crate::common::LONG)).unwrap().len(), 1);
    let taken = taken.take::<UInt8MultiArray>().unwrap();
    let taken = taken.info().unwrap();
    for info in [taken, &kept.lock().unwrap()[0]] {
        assert_eq!(info.publication_sequence_number(), Some(1));
        assert!(
            info.source_timestamp().is_some()
                && info.received_timestamp() >= info.source_timestamp().unwrap()
        );
    }
    assert_eq!(taken.source_timestamp(), kept.lock().unwrap()[0].source_timestamp());
}

/// Messages of a callback without info carry none, and can still be taken.
#[test]
fn message_of_plain_callback_has_no_info() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("node").unwrap();
    let subscription = node.create_subscription("data", 100, |_: &UInt8MultiArray| {}).unwrap();
    let publisher = node.create_publisher("data", 100).unwrap();
    assert!(publisher.wait_for_subscribers(1, crate::common::LONG).unwrap());
    publisher.publish(numbered(7, 10)).unwrap();
    let taken = subscription.take::<UInt8MultiArray>().unwrap();
    assert!(taken.shared().is_some() && taken.info().is_none());
}
