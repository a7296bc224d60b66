//! Tests of publishers and subscriptions over real sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::{Graph, LONG, spin_until, wait_until};
use crate::fake_publisher::FakePublisher;
use crate::raw::framed_text;
use runnel::core::Message;
use runnel::msgs::actionlib::action::TestAction;
use runnel::msgs::geometry_msgs::msg::{PoseStamped, Twist};
use runnel::msgs::sensor_msgs::msg::Image;
use runnel::msgs::std_msgs::msg::{Empty, Float32, Int32, String as Text, UInt8MultiArray};
use runnel::msgs::std_srvs::srv::{Trigger, TriggerRequest, TriggerResponse};
use runnel::{Context, Error, Node, Publisher, QoS, ServerGoalHandle, Subscription};
use runnel_ros1::http::request;
use runnel_ros1::rpc::Uri;
use runnel_ros1::xmlrpc::{Value, encode_call};

type Received = Arc<Mutex<Vec<String>>>;

fn text(data: impl ToString) -> Text {
    Text { data: data.to_string() }
}

fn listen(node: &Node, topic: &str, depth: usize) -> (Received, Subscription) {
    let received = Received::default();
    let into = Arc::clone(&received);
    let subscription = node.create_subscription(topic, depth, move |message: &Text| {
        into.lock().unwrap().push(message.data.clone())
    });
    (received, subscription.unwrap())
}

fn count(received: &Received) -> usize {
    received.lock().unwrap().len()
}

fn count_up(counter: &AtomicUsize) {
    counter.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn messages_arrive_whole_and_in_order() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let talker = near.create_node("talker").unwrap().create_publisher::<Text>("chatter", 1000).unwrap();
    let (received, _subscription) = listen(&far.create_node("listener").unwrap(), "chatter", 1000);
    assert!(talker.wait_for_subscribers(1, LONG).unwrap());
    (0..500).for_each(|n| talker.publish(text(n)).unwrap());
    spin_until(&far, "500 messages received", || count(&received) == 500);
    assert!(received.lock().unwrap().iter().enumerate().all(|(n, data)| *data == n.to_string()));
}

#[test]
fn messages_sent_before_publisher_leaves_topic_arrive() {
    let graph = Graph::new();
    let far = graph.context();
    let (received, subscription) = listen(&far.create_node("listener").unwrap(), "chatter", 1000);
    let fake = FakePublisher::new(&graph, "/talker", "/chatter");
    let mut publisher = fake.accept_and_send("/talker", Text::MD5, &[]);
    spin_until(&far, "the link", || subscription.publisher_count() == 1);
    let uri = graph.ask("lookupNode", &["/test", "/listener"].map(Into::into));
    let slave_api = Uri::parse(uri.as_str().unwrap()).unwrap();
    let mut master = TcpStream::connect(("127.0.0.1", slave_api.endpoint.port)).unwrap();
    let call = |method: &str, params: &[Value]| {
        request("127.0.0.1", "/", &encode_call(method, params).unwrap(), true)
    };
    master.write_all(&call("getPid", &["/master".into()])).unwrap();
    master.set_nonblocking(true).unwrap();
    spin_until(&far, "an answer", || master.read(&mut [0; 4096]).is_ok());
    // Both have arrived before the node reads either. It reads a part of the messages first: they exceed one read and
    // fit into the socket buffer.
    let messages: Vec<u8> = (0..100).flat_map(|number| framed_text(&format!("{number:01000}"))).collect();
    publisher.write_all(&messages).unwrap();
    let nobody = Value::Array(Vec::new());
    master.write_all(&call("publisherUpdate", &["/master".into(), "/chatter".into(), nobody])).unwrap();
    spin_until(&far, "all of them", || count(&received) == 100);
    spin_until(&far, "the end of the link", || subscription.publisher_count() == 0);
}

#[test]
fn subscriber_may_precede_publisher() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let (received, _subscription) = listen(&far.create_node("listener").unwrap(), "chatter", 10);
    let talker = near.create_node("talker").unwrap().create_publisher::<Text>("chatter", 10).unwrap();
    // No thread spins the far context: its background thread makes the link.
    assert!(talker.wait_for_subscribers(1, LONG).unwrap());
    talker.publish(text("hello")).unwrap();
    spin_until(&far, "the message received", || count(&received) == 1);
}

#[test]
fn latched_message_reaches_late_joiner() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let talker = near.create_node("talker").unwrap().create_publisher::<Text>("map", QoS::latched()).unwrap();
    talker.publish(text("old")).unwrap();
    talker.publish(text("kept")).unwrap();
    let (received, _subscription) = listen(&far.create_node("listener").unwrap(), "map", 1);
    spin_until(&far, "the kept message received", || count(&received) > 0);
    let (local, _local) = listen(&near.create_node("local").unwrap(), "map", 1);
    spin_until(&near, "the kept message received in the same process", || count(&local) > 0);
    assert_eq!(
        (&*received.lock().unwrap(), &*local.lock().unwrap()),
        (&vec!["kept".into()], &vec!["kept".into()])
    );
}

#[test]
fn second_subscription_gets_latched_message() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let talker = near.create_node("talker").unwrap().create_publisher::<Text>("map", QoS::latched()).unwrap();
    talker.publish(text("kept")).unwrap();
    let listener = far.create_node("listener").unwrap();
    let (first, _first) = listen(&listener, "map", 1);
    spin_until(&far, "the first subscription has it", || count(&first) == 1);
    let (second, subscription) = listen(&listener, "map", 1);
    spin_until(&far, "the second subscription has it", || count(&second) == 1);
    assert_eq!((count(&first), subscription.publisher_count()), (1, 1));
}

#[test]
fn publisher_without_spin_is_served() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let node = near.create_node("talker").unwrap();
    let talker = node.create_publisher::<Text>("chatter", 10).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = thread::spawn(move || {
        while !stopped.load(Ordering::SeqCst) {
            talker.publish(text("x")).unwrap();
            thread::yield_now();
        }
    });
    let (received, _subscription) = listen(&far.create_node("listener").unwrap(), "chatter", 10);
    spin_until(&far, "ten messages received", || count(&received) >= 10);
    stop.store(true, Ordering::SeqCst);
    thread.join().unwrap();
}

#[test]
fn long_callback_delays_no_peer() {
    let graph = Graph::new();
    let (blocked, other) = (graph.context(), graph.context());
    let node = blocked.create_node("blocked").unwrap();
    let _publisher = node.create_publisher::<Text>("from_blocked", QoS::latched()).unwrap();
    _publisher.publish(text("kept")).unwrap();
    let (entered, release) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (enter, leave) = (Arc::clone(&entered), Arc::clone(&release));
    let _subscription = node
        .create_subscription("block", 10, move |_: &Text| {
            enter.store(true, Ordering::SeqCst);
            wait_until("the callback released", || leave.load(Ordering::SeqCst));
        })
        .unwrap();
    let trigger = other.create_node("other").unwrap();
    let publisher = trigger.create_publisher::<Text>("block", 10).unwrap();
    let spinning = blocked.clone();
    let thread = thread::spawn(move || spinning.spin().unwrap());
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    publisher.publish(text("go")).unwrap();
    wait_until("the callback entered", || entered.load(Ordering::SeqCst));
    // While the callback blocks, its node connects a new subscriber and sends it the latched message.
    let (received, _late) = listen(&trigger, "from_blocked", 10);
    spin_until(&other, "the latched message of the blocked node received", || count(&received) == 1);
    release.store(true, Ordering::SeqCst);
    blocked.shutdown();
    thread.join().unwrap();
}

#[test]
fn local_message_is_passed_by_reference() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("both").unwrap();
    let publisher = node.create_publisher::<UInt8MultiArray>("data", 10).unwrap();
    let place = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&place);
    let _subscription = node
        .create_subscription("data", 10, move |message: &UInt8MultiArray| {
            seen.store(message.data.as_ptr() as usize, Ordering::SeqCst);
        })
        .unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let message = Arc::new(UInt8MultiArray { data: vec![1; 1000], ..Default::default() });
    publisher.publish(Arc::clone(&message)).unwrap();
    spin_until(&context, "the message arrived", || place.load(Ordering::SeqCst) != 0);
    assert_eq!(place.load(Ordering::SeqCst), message.data.as_ptr() as usize);
}

#[test]
fn local_nodes_use_no_socket() {
    let graph = Graph::new();
    let context = graph.context();
    let (a, b) = (context.create_node("a").unwrap(), context.create_node("b").unwrap());
    let (received, subscription) = listen(&b, "chatter", 10);
    let publisher = a.create_publisher::<Text>("chatter", 10).unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    publisher.publish(text("hi")).unwrap();
    spin_until(&context, "the message received", || count(&received) == 1);
    assert_eq!(subscription.publisher_count(), 1);
    drop(subscription);
    assert_eq!(publisher.subscription_count(), 0);
}

#[test]
fn slow_subscriber_drops_and_counts_oldest() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("both").unwrap();
    let publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
    let (received, subscription) = listen(&node, "chatter", 3);
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    (0..10).for_each(|n| publisher.publish(text(n)).unwrap());
    spin_until(&context, "three messages received", || count(&received) == 3);
    assert_eq!(*received.lock().unwrap(), ["7", "8", "9"]);
    assert_eq!((subscription.received(), subscription.dropped()), (10, 7));
}

/// A subscriber that sends its header and then never reads.
fn stopped_subscriber(graph: &Graph, topic: &str) -> TcpStream {
    use runnel_ros1::header::ConnectionHeader;
    use runnel_ros1::xmlrpc::Value;
    use std::io::Write;
    let node = graph.ask("lookupNode", &["/test".into(), "/talker".into()]);
    let uri = Uri::parse(node.as_str().unwrap()).unwrap();
    let protocols = Value::Array(vec![Value::Array(vec!["TCPROS".into()])]);
    let caller = graph.context();
    let params = ["/stopped".into(), topic.into(), protocols];
    let answer = caller.call(&uri, "requestTopic", &params, LONG).unwrap();
    let address = answer.as_array().unwrap()[2].as_array().unwrap().to_vec();
    let port = u16::try_from(address[2].as_int().unwrap()).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let fields = [("callerid", "/stopped"), ("topic", topic), ("md5sum", "*"), ("type", "*")];
    stream.write_all(&ConnectionHeader::new(fields).emit()).unwrap();
    stream
}

fn talker(graph: &Graph, qos: QoS) -> (Context, Publisher<UInt8MultiArray>) {
    let context = graph.context();
    let publisher = context.create_node("talker").unwrap().create_publisher("data", qos).unwrap();
    (context, publisher)
}

fn block() -> UInt8MultiArray {
    UInt8MultiArray { data: vec![7; 1 << 20], ..Default::default() }
}

#[test]
fn suspended_subscriber_harms_no_other() {
    let graph = Graph::new();
    let (_near, publisher) = talker(&graph, QoS::keep_last(2));
    let _stopped = stopped_subscriber(&graph, "/data");
    let far = graph.context();
    let count = Arc::new(AtomicUsize::new(0));
    let into = Arc::clone(&count);
    let node = far.create_node("listener").unwrap();
    let subscription = node.create_subscription("data", 100, move |_: &UInt8MultiArray| count_up(&into));
    assert!(publisher.wait_for_subscribers(2, LONG).unwrap());
    for n in 1..=40 {
        publisher.publish(block()).unwrap();
        spin_until(&far, "the good subscriber has it", || count.load(Ordering::SeqCst) >= n);
    }
    assert!(publisher.dropped() > 0);
    assert_eq!(subscription.unwrap().dropped(), 0);
}

#[test]
fn keep_all_publisher_times_out_with_slowest_name() {
    let graph = Graph::new();
    let (_near, mut publisher) = talker(&graph, QoS::keep_all());
    publisher.set_max_blocking_time(Duration::from_millis(50));
    let _stopped = stopped_subscriber(&graph, "/data");
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let error = (0..5000).find_map(|_| publisher.publish(block()).err()).unwrap();
    assert!(matches!(&error, Error::Blocked { subscriber, .. } if subscriber == "/stopped"), "{error}");
    let error = publisher.try_publish(block()).unwrap_err();
    assert!(matches!(&error, Error::Blocked { waited: Duration::ZERO, .. }), "{error}");
    assert_eq!(publisher.dropped(), 0);
}

#[test]
fn blocked_publisher_fails_at_once_after_shutdown() {
    let graph = Graph::new();
    let (near, mut publisher) = talker(&graph, QoS::keep_all());
    publisher.set_max_blocking_time(LONG);
    let _stopped = stopped_subscriber(&graph, "/data");
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    near.shutdown();
    let error = (0..5000).find_map(|_| publisher.publish(block()).err()).unwrap();
    assert!(matches!(error, Error::ShuttingDown), "{error}");
}

#[test]
fn keep_all_publisher_is_lossless_across_threads() {
    let small = UInt8MultiArray { data: vec![7; 10_000], ..Default::default() };
    // Whether two threads publish at the limit at once is chance.
    for _ in 0..8 {
        let graph = Graph::new();
        let (_near, mut publisher) = talker(&graph, QoS::keep_all());
        publisher.set_max_blocking_time(Duration::from_millis(1));
        let _stopped = stopped_subscriber(&graph, "/data");
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
        let fill = || (0..5000).any(|_| publisher.publish(&small).is_err());
        thread::scope(|scope| drop([(); 4].map(|()| scope.spawn(fill))));
        assert_eq!(publisher.dropped(), 0);
    }
}

#[test]
fn views_borrow_from_received_bytes() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let publisher = near.create_node("camera").unwrap().create_publisher::<Image>("image", 10).unwrap();
    let seen = Arc::new(Mutex::new(None));
    let into = Arc::clone(&seen);
    let node = far.create_node("viewer").unwrap();
    let _subscription = node
        .create_view_subscription::<Image, _>("image", 10, move |image| {
            *into.lock().unwrap() = Some((image.encoding.to_string(), image.data.len(), image.header.seq));
        })
        .unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let image = Image { encoding: "mono8".into(), data: vec![5; 300_000], ..Default::default() };
    publisher.publish(&image).unwrap();
    publisher.publish(&image).unwrap();
    spin_until(&far, "the second image seen", || {
        *seen.lock().unwrap() == Some(("mono8".to_owned(), 300_000, 1))
    });
}

#[test]
fn untyped_subscription_gets_bytes_and_definition() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let publisher = near.create_node("talker").unwrap().create_publisher::<PoseStamped>("pose", 10).unwrap();
    let seen = Arc::new(Mutex::new(String::new()));
    let into = Arc::clone(&seen);
    let node = far.create_node("recorder").unwrap();
    let _subscription = node
        .create_raw_subscription("pose", None, 10, move |message| {
            let text = format!("{} {} {}", message.publisher(), message.type_name(), message.bytes().len());
            assert!(message.definition().contains("MSG: geometry_msgs/Quaternion"));
            *into.lock().unwrap() = text;
        })
        .unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    publisher.publish(PoseStamped::default()).unwrap();
    spin_until(&far, "the message seen", || !seen.lock().unwrap().is_empty());
    assert_eq!(*seen.lock().unwrap(), "/talker geometry_msgs/PoseStamped 72");
}

#[test]
fn untyped_subscription_admits_no_other_type() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let publisher = near.create_node("talker").unwrap().create_publisher::<Float32>("number", 10).unwrap();
    let node = far.create_node("listener").unwrap();
    let (any, whole) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count_any, count_whole) = (Arc::clone(&any), Arc::clone(&whole));
    let _any = node.create_raw_subscription("number", None, 10, move |_| count_up(&count_any)).unwrap();
    // As long when encoded, so that decoding would succeed.
    let _whole = node.create_subscription("number", 10, move |_: &Int32| count_up(&count_whole)).unwrap();
    let error = node.create_subscription("number", 10, |_: &Float32| {}).map(drop).unwrap_err();
    assert!(matches!(&error, Error::Topic(_)), "{error}");
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    (0..3).for_each(|_| publisher.publish(Float32 { data: 1.0 }).unwrap());
    spin_until(&far, "three of any type received", || any.load(Ordering::SeqCst) == 3);
    far.spin_some().unwrap();
    assert_eq!(whole.load(Ordering::SeqCst), 0);
}

#[test]
fn node_has_one_type_per_topic() {
    let graph = Graph::new();
    let node = graph.context().create_node("one").unwrap();
    let publisher = node.create_publisher::<Float32>("number", 10).unwrap();
    let error = node.create_subscription("number", 10, |_: &Int32| {}).map(drop).unwrap_err();
    assert!(matches!(&error, Error::Topic(_)), "{error}");
    let _any = node.create_raw_subscription("number", None, 10, |_| {}).unwrap();
    let _same = node.create_subscription("number", 10, |_: &Float32| {}).unwrap();
    drop((publisher, _same));
    let _subscription = node.create_subscription("other", 10, |_: &Int32| {}).unwrap();
    let error = node.create_publisher::<Float32>("other", 10).map(drop).unwrap_err();
    assert!(matches!(&error, Error::Topic(_)), "{error}");
    drop(node.create_publisher::<Int32>("other", 10).unwrap());
}

#[test]
fn invalid_name_is_refused_with_its_use() {
    let graph = Graph::new();
    let node = graph.context().create_node("one").unwrap();
    let serve = |_: &TriggerRequest| Ok(TriggerResponse::default());
    let execute = |goal: &ServerGoalHandle<TestAction>| goal.succeed(&Default::default(), "");
    let refused = [
        ("topic", "", node.create_publisher::<Float32>("", 10).err()),
        ("topic", "/", node.create_subscription("/", 10, |_: &Float32| {}).err()),
        ("topic", "a b", node.create_raw_subscription("a b", None, 10, |_| {}).err()),
        ("service", "", node.create_service::<Trigger, Error>("", serve).err()),
        ("service", "a-b", node.create_client::<Trigger>("a-b").err()),
        ("action", "", node.create_action_client::<TestAction>("").err()),
        ("action", "1", node.create_concurrent_action_server::<TestAction, Error>("1", execute).err()),
        ("parameter", "a b", node.get_param::<i32>("a b").err()),
    ];
    for (used_for, name, error) in refused {
        let error = error.unwrap();
        let text = error.to_string();
        assert!(matches!(error, Error::Name(_)), "{text}");
        assert!(text.starts_with(&format!("{used_for} name {name:?}: ")), "{text}");
        assert!(text.contains(". Valid are letters, digits, "), "{text}");
    }
}

#[test]
fn type_mismatch_is_refused_without_side_effects() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let publisher = near.create_node("talker").unwrap().create_publisher::<Text>("chatter", 10).unwrap();
    let wrong_node = far.create_node("wrong").unwrap();
    let _wrong =
        wrong_node.create_subscription("chatter", 10, |_: &Twist| -> () { panic!("not a Twist") }).unwrap();
    let (received, _right) = listen(&far.create_node("right").unwrap(), "chatter", 10);
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    publisher.publish(text("hello")).unwrap();
    spin_until(&far, "the message received by the right one", || count(&received) == 1);
    assert_eq!(publisher.subscription_count(), 1);
    let conflict = wrong_node.create_subscription("chatter", 10, |_: &Text| ()).err().unwrap();
    assert!(matches!(conflict, Error::Topic(_)), "{conflict}");
}

#[test]
fn names_are_resolved_and_remapped() {
    let graph = Graph::new();
    let context = graph.context_with(&["chatter:=/other", "__ns:=/robot", "__name:=renamed", "rest"]);
    let node = context.create_node("talker").unwrap();
    assert_eq!((node.full_name(), node.namespace()), ("/robot/renamed", "/robot"));
    assert_eq!(node.create_publisher::<Text>("chatter", 1).unwrap().topic(), "/other");
    assert_eq!(node.create_publisher::<Text>("~state", 1).unwrap().topic(), "/robot/renamed/state");
    assert_eq!(context.arguments(), ["rest"]);
}

#[test]
fn last_message_before_drop_arrives() {
    let graph = Graph::new();
    let (near, far) = (Context::with_options(graph.options().linger(LONG)).unwrap(), graph.context());
    let (received, _subscription) = listen(&far.create_node("listener").unwrap(), "chatter", 1000);
    let publisher = near.create_node("talker").unwrap().create_publisher::<Text>("chatter", 1000).unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    (0..1000).for_each(|n| publisher.publish(text(n)).unwrap());
    drop(publisher);
    spin_until(&far, "all messages received", || count(&received) == 1000);
}

#[test]
fn publishers_of_a_topic_keep_the_largest_depth() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let node = near.create_node("talker").unwrap();
    let _first = node.create_publisher::<Text>("chatter", 1).unwrap();
    let second = node.create_publisher::<Text>("chatter", QoS::keep_last(1).transient_local()).unwrap();
    second.publish(text("kept")).unwrap();
    let (received, _subscription) = listen(&far.create_node("late").unwrap(), "chatter", 1);
    spin_until(&far, "the kept message received", || count(&received) == 1);
}

#[test]
fn empty_message_can_be_latched() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let node = near.create_node("talker").unwrap();
    let publisher = node.create_publisher::<Empty>("go", QoS::keep_last(1).transient_local()).unwrap();
    publisher.publish(Empty {}).unwrap();
    let listener = far.create_node("listener").unwrap();
    for nth in ["first", "second"] {
        let received = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&received);
        let subscription =
            listener.create_subscription("go", 1, move |_: &Empty| count_up(&counter)).unwrap();
        spin_until(&far, &format!("received by the {nth}"), || received.load(Ordering::SeqCst) == 1);
        // The link would end with the last subscription, and the second one must find it.
        std::mem::forget(subscription);
    }
}

#[test]
fn dropped_subscription_receives_no_queued_message() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("both").unwrap();
    let publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
    let (received, subscription) = listen(&node, "chatter", 10);
    (0..5).for_each(|n| publisher.publish(text(n)).unwrap());
    context.spin_once(LONG).unwrap();
    drop(subscription);
    context.spin_some().unwrap();
    assert_eq!(count(&received), 1);
}

#[test]
fn publisher_created_during_drop_survives() {
    let graph = Graph::new();
    let near = graph.context();
    let node = near.create_node("talker").unwrap();
    let first = node.create_publisher::<UInt8MultiArray>("data", 100).unwrap();
    let _stopped = stopped_subscriber(&graph, "/data");
    assert!(first.wait_for_subscribers(1, LONG).unwrap());
    // More than socket buffers hold: the end of the first waits a second for it.
    (0..50).for_each(|_| first.publish(block()).unwrap());
    let far = graph.context();
    let count = Arc::new(AtomicUsize::new(0));
    let into = Arc::clone(&count);
    let begun = AtomicBool::new(false);
    thread::scope(|scope| {
        let going = scope.spawn(|| {
            let first = first;
            begun.store(true, Ordering::SeqCst);
            drop(first);
        });
        wait_until("the first goes", || begun.load(Ordering::SeqCst));
        let second = node.create_publisher::<UInt8MultiArray>("data", 100).unwrap();
        going.join().unwrap();
        let listener = far.create_node("listener").unwrap();
        let _subscription =
            listener.create_subscription("data", 10, move |_: &UInt8MultiArray| count_up(&into)).unwrap();
        spin_until(&far, "the second publisher received", || {
            second.publish(UInt8MultiArray::default()).unwrap();
            count.load(Ordering::SeqCst) > 0
        });
    });
}

#[test]
fn busy_topic_starves_no_other_topic() {
    let graph = Graph::new();
    let context = graph.tool();
    let node = context.create_node("node").unwrap();
    let received = Arc::new(Mutex::new(0));
    let (into, counted, ending) = (Arc::clone(&received), Arc::clone(&received), context.clone());
    let count = move |_: &Text| *into.lock().unwrap() += 1;
    let _many = node.create_subscription("many", 5000, count).unwrap();
    let _few = node.create_subscription("few", 1, move |_: &Text| ending.shutdown()).unwrap();
    let (many, few) =
        (node.create_publisher("many", 5000).unwrap(), node.create_publisher("few", 1).unwrap());
    spin_until(&context, "both links", || many.subscription_count() + few.subscription_count() == 2);
    let say = |publisher: &Publisher<Text>, times: usize| {
        (0..times).for_each(|_| publisher.publish(Text { data: "text".into() }).unwrap());
    };
    say(&many, 3);
    assert!(context.spin_once(LONG).unwrap());
    assert_eq!(*counted.lock().unwrap(), 1);
    say(&many, 1998);
    say(&few, 1);
    context.spin().unwrap();
    let received = *counted.lock().unwrap();
    assert!(received < 10, "{received} before the one that came when these waited");
}
