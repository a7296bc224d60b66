//! Tests of QoS events, between two participants on real sockets and within one process.

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common;
use crate::common::LONG;
use crate::domains::new_domain;
use runnel::core::qos::{Liveliness, Policy};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{
    Context, ContextOptions, DeadlineMissed, Error, Graphs, IncompatibleQoS, LivelinessChanged,
    LivelinessLost, Matched, Node, Publisher, PublisherOptions, QoS, Subscription, SubscriptionOptions,
};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// Contexts in a domain of their own.
fn contexts(count: usize) -> Vec<Context> {
    let domain = new_domain();
    let context = |_| {
        let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
        Context::with_options(options.graphs(Graphs::Ros2).domain_id(domain)).unwrap()
    };
    (0..count).map(context).collect()
}

/// A talker and a listener, in two contexts as in two processes, or in one.
struct Scene {
    contexts: Vec<Context>,
    talker: Node,
    listener: Node,
}

impl Scene {
    fn new(processes: usize) -> Self {
        let contexts = contexts(processes);
        let talker = contexts[0].create_node("talker").unwrap();
        let listener = contexts[processes - 1].create_node("listener").unwrap();
        Self { contexts, talker, listener }
    }

    /// Returns the longest time between two polls.
    #[track_caller]
    fn spin_until(&self, what: &str, done: impl Fn() -> bool) -> Duration {
        let until = Instant::now() + LONG;
        let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
        while !done() {
            longest = longest.max(last.elapsed());
            last = Instant::now();
            assert!(Instant::now() < until, "{what}");
            for context in &self.contexts {
                context.spin_once(MS(2)).unwrap();
            }
        }
        longest.max(last.elapsed())
    }

    /// Spins and calls `each` every few milliseconds. Returns the longest time between two calls.
    fn spin_for(&self, time: Duration, each: impl Fn()) -> Duration {
        let begun = Instant::now();
        let (mut last, mut longest) = (begun, Duration::ZERO);
        while begun.elapsed() < time {
            longest = longest.max(last.elapsed());
            last = Instant::now();
            each();
            for context in &self.contexts {
                context.spin_once(MS(5)).unwrap();
            }
        }
        longest.max(last.elapsed())
    }

    fn publisher(&self, options: impl Into<PublisherOptions>) -> Publisher<Text> {
        self.talker.create_publisher("chatter", options).unwrap()
    }

    fn subscription(&self, options: impl Into<SubscriptionOptions>) -> Subscription {
        self.listener.create_subscription("chatter", options, |_: &Text| {}).unwrap()
    }
}

/// Events passed to a callback.
struct Events<S>(Arc<Mutex<Vec<S>>>);

impl<S: Clone + Send + 'static> Events<S> {
    fn new() -> (Self, impl FnMut(S) + Send + 'static) {
        let events = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&events);
        (Self(events), move |status| into.lock().unwrap().push(status))
    }

    fn all(&self) -> Vec<S> {
        self.0.lock().unwrap().clone()
    }

    fn last(&self) -> Option<S> {
        self.0.lock().unwrap().last().cloned()
    }
}

fn text(data: impl Into<String>) -> Text {
    Text { data: data.into() }
}

fn collect(node: &Node, qos: impl Into<SubscriptionOptions>) -> (Subscription, Arc<Mutex<Vec<String>>>) {
    let received = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&received);
    let take = move |text: &Text| into.lock().unwrap().push(text.data.clone());
    (node.create_subscription("chatter", qos, take).unwrap(), received)
}

#[test]
fn incompatible_qos_is_reported_to_both_ends() {
    for processes in [2, 1] {
        let scene = Scene::new(processes);
        let (offered, on_publisher_event) = Events::<IncompatibleQoS>::new();
        let (requested, on_subscription_event) = Events::<IncompatibleQoS>::new();
        let options =
            PublisherOptions::from(QoS::sensor_data()).incompatible_qos_callback(on_publisher_event);
        let publisher = scene.publisher(options);
        let asked = QoS::keep_last(5).deadline(MS(100));
        let options = SubscriptionOptions::from(asked).incompatible_qos_callback(on_subscription_event);
        let subscription = scene.subscription(options);
        scene.spin_until("both are informed", || offered.last().is_some() && requested.last().is_some());
        let once = |policy| IncompatibleQoS {
            total_count: 1,
            total_count_change: 1,
            last_policy_kind: Some(policy),
        };
        assert_eq!(offered.all(), [once(Policy::Reliability)], "{processes} processes");
        assert_eq!(requested.all(), [once(Policy::Reliability)]);
        let second = scene.subscription(QoS::sensor_data().transient_local());
        scene.spin_until("the next one counts", || {
            offered.last().is_some_and(|status| (status.total_count, status.total_count_change) == (2, 1))
        });
        assert_eq!(offered.last().unwrap().last_policy_kind, Some(Policy::Durability));
        assert_eq!(publisher.incompatible_qos_status().total_count, 2);
        assert_eq!(second.incompatible_qos_status().total_count, 1);
        assert_eq!(subscription.incompatible_qos_status().total_count, 1);
        assert_eq!((publisher.subscription_count(), subscription.publisher_count()), (0, 0));
        let late = scene.publisher(QoS::sensor_data());
        assert_eq!(late.incompatible_qos_status().total_count, 2, "another one of the same quality");
    }
}

#[test]
fn matches_are_reported_to_both_ends() {
    for processes in [2, 1] {
        let scene = Scene::new(processes);
        let (subscribers, on_publisher_event) = Events::<Matched>::new();
        let (publishers, on_subscription_event) = Events::<Matched>::new();
        let publisher = scene.publisher(PublisherOptions::from(1).matched_callback(on_publisher_event));
        let first = scene.subscription(SubscriptionOptions::from(1).matched_callback(on_subscription_event));
        let counts =
            |events: &Events<Matched>| events.last().map(|status| (status.total_count, status.current_count));
        scene.spin_until("they match", || {
            (counts(&subscribers), counts(&publishers)) == (Some((1, 1)), Some((1, 1)))
        });
        let second = scene.subscription(1);
        scene.spin_until("the second one is matched", || counts(&subscribers) == Some((2, 2)));
        drop(second);
        scene.spin_until("it is gone", || counts(&subscribers) == Some((2, 1)));
        let gone =
            Matched { total_count: 2, current_count: 1, current_count_change: -1, ..Matched::default() };
        assert_eq!(subscribers.last(), Some(gone));
        let other = scene.publisher(1);
        assert_eq!(other.matched_status().current_count, 1, "{processes} processes");
        drop((publisher, other));
        scene.spin_until("the publisher is gone", || counts(&publishers) == Some((1, 0)));
        assert_eq!(first.publisher_count(), 0);
    }
}

#[test]
fn ros1_subscribers_count_as_matched() {
    let graph = common::Graph::new();
    let (context, other) = (graph.context(), graph.context());
    let (subscribers, on_matched) = Events::<Matched>::new();
    let node = context.create_node("talker").unwrap();
    let options = PublisherOptions::from(1).matched_callback(on_matched);
    let publisher = node.create_publisher::<Text>("chatter", options).unwrap();
    let listener = other.create_node("listener").unwrap();
    let subscription = listener.create_subscription("chatter", 1, |_: &Text| {}).unwrap();
    let current = |count| move |status: Matched| status.current_count == count;
    common::spin_until(&context, "it has come", || subscribers.last().is_some_and(current(1)));
    common::spin_until(&other, "the other side knows", || subscription.matched_status().current_count == 1);
    drop((subscription, listener));
    common::spin_until(&context, "it is gone", || subscribers.last().is_some_and(current(0)));
    assert_eq!(publisher.matched_status().total_count, 1);
}

/// Repeats this until the machine was not too busy. A program that is suspended for too long misses a deadline itself,
/// which tests nothing.
#[track_caller]
fn retry_until_not_delayed(what: &str, is_tried: impl Fn() -> bool) {
    assert!((0..10).any(|_| is_tried()), "{what}: this program stood still each time");
}

/// False if nothing was tested.
fn missed_deadlines_are_reported(processes: usize) -> bool {
    const DEADLINE: Duration = Duration::from_millis(400);
    let scene = Scene::new(processes);
    let (offered, on_publisher_event) = Events::<DeadlineMissed>::new();
    let (requested, on_subscription_event) = Events::<DeadlineMissed>::new();
    let qos = QoS::keep_last(10).deadline(DEADLINE);
    let publisher = scene.publisher(PublisherOptions::from(qos).deadline_callback(on_publisher_event));
    let subscription =
        scene.subscription(SubscriptionOptions::from(qos).deadline_callback(on_subscription_event));
    scene.spin_until("they match", || {
        publisher.subscription_count() == 1 && subscription.publisher_count() == 1
    });
    scene.spin_for(MS(500), || {});
    assert_eq!((offered.all(), requested.all()), (vec![], vec![]), "nothing has begun");
    let last = Cell::new(Instant::now());
    let publish = || {
        last.set(Instant::now());
        publisher.publish(text("in time")).unwrap();
    };
    if scene.spin_for(MS(1000), publish) > DEADLINE / 2 {
        return false;
    }
    assert_eq!((offered.all(), requested.all()), (vec![], vec![]), "{processes} processes");
    let told_twice = || offered.all().len() >= 2 && requested.all().len() >= 2;
    if scene.spin_until("both are informed twice", told_twice) > DEADLINE / 2 {
        // Two missed periods before a poll are reported at once.
        return false;
    }
    assert!(last.get().elapsed() >= MS(700), "{:?}", last.get().elapsed());
    let first = DeadlineMissed { total_count: 1, total_count_change: 1 };
    assert_eq!((offered.all()[0], requested.all()[0]), (first, first));
    let count = publisher.deadline_missed_status().total_count;
    if scene.spin_for(MS(1000), publish) > DEADLINE / 2 {
        return false;
    }
    assert!(publisher.deadline_missed_status().total_count <= count + 1, "it is kept again");
    assert!(subscription.deadline_missed_status().total_count >= 2);
    true
}

#[test]
fn missed_deadlines_are_reported_to_both_ends() {
    for processes in [2, 1] {
        retry_until_not_delayed("deadlines", || missed_deadlines_are_reported(processes));
    }
}

/// False if nothing was tested.
fn liveliness_loss_is_reported(processes: usize) -> bool {
    const LEASE: Duration = Duration::from_millis(500);
    let scene = Scene::new(processes);
    let (lost, on_publisher_event) = Events::<LivelinessLost>::new();
    let (changed, on_subscription_event) = Events::<LivelinessChanged>::new();
    let qos = QoS::keep_last(10).liveliness(Liveliness::ManualByTopic, Some(LEASE));
    let publisher = scene.publisher(PublisherOptions::from(qos).liveliness_callback(on_publisher_event));
    let _subscription =
        scene.subscription(SubscriptionOptions::from(qos).liveliness_callback(on_subscription_event));
    let alive = |alive, not_alive| {
        let counts = |status: LivelinessChanged| (status.alive_count, status.not_alive_count);
        changed.last().map(counts) == Some((alive, not_alive))
    };
    scene.spin_until("they match", || publisher.subscription_count() == 1 && changed.last().is_some());
    publisher.publish(text("alive")).unwrap();
    if scene.spin_for(MS(1200), || publisher.assert_liveliness()) > LEASE / 2 {
        return false;
    }
    assert!(alive(1, 0) && lost.all().is_empty(), "{processes} processes, {:?}", changed.all());
    scene.spin_until("it does not live", || alive(0, 1) && !lost.all().is_empty());
    assert_eq!(lost.all(), [LivelinessLost { total_count: 1, total_count_change: 1 }]);
    publisher.publish(text("alive again")).unwrap();
    scene.spin_until("it lives again", || {
        publisher.assert_liveliness();
        alive(1, 0)
    });
    drop(publisher);
    scene.spin_until("it is gone", || alive(0, 0));
    true
}

#[test]
fn lost_liveliness_is_reported_to_both_ends() {
    for processes in [2, 1] {
        retry_until_not_delayed("signs of life", || liveliness_loss_is_reported(processes));
    }
}

#[test]
fn best_available_follows_existing_endpoints() {
    let scene = Scene::new(2);
    assert_eq!(scene.subscription(QoS::best_available()).qos(), QoS::default(), "there are no publishers");
    let _strong = scene.publisher(QoS::keep_last(1).transient_local().deadline(MS(700)));
    let probe = scene.subscription(1);
    scene.spin_until("it is known", || probe.publisher_count() == 1);
    let strong = scene.subscription(QoS::best_available());
    assert_eq!(strong.qos(), QoS::keep_last(10).transient_local().deadline(MS(700)));
    let publisher = scene.listener.create_publisher::<Text>("chatter", QoS::sensor_data()).unwrap();
    let weak = scene.subscription(QoS::best_available());
    assert_eq!(weak.qos(), QoS::keep_last(10).best_effort(), "one of this process counts as well");
    scene.spin_until("both are matched", || weak.publisher_count() == 2);
    let asks = scene.publisher(QoS::best_available());
    let offers = QoS::keep_last(10).transient_local().deadline(MS(700));
    scene.spin_until("what is asked for is offered", || {
        scene.publisher(QoS::best_available()).qos() == offers
    });
    assert!(asks.qos().is_latching());
    drop(publisher);
}

#[test]
fn each_publisher_offers_its_own_qos() {
    let scene = Scene::new(2);
    let weak = scene.publisher(QoS::sensor_data());
    let strong = scene.publisher(QoS::keep_last(10));
    let (reliable, received_reliable) = collect(&scene.listener, 10);
    let (any, received_untyped) = collect(&scene.listener, QoS::keep_last(10).best_effort());
    scene.spin_until("they match", || {
        (reliable.publisher_count(), any.publisher_count()) == (1, 2)
            && (weak.subscription_count(), strong.subscription_count()) == (1, 2)
    });
    let all = || received_untyped.lock().unwrap().clone();
    weak.publish(text("weak")).unwrap();
    // Messages of two publishers, one of which may have switched to shared memory, arrive in any order.
    scene.spin_until("the weak one is received", || all().len() == 1);
    strong.publish(text("strong")).unwrap();
    scene.spin_until("all are received", || all().len() == 2 && received_reliable.lock().unwrap().len() == 1);
    assert_eq!(
        (all(), received_reliable.lock().unwrap().clone()),
        (vec!["weak".to_owned(), "strong".to_owned()], vec!["strong".to_owned()])
    );
    assert_eq!(weak.incompatible_qos_status().total_count, 1);
    assert_eq!(strong.incompatible_qos_status().total_count, 0);
    drop(weak);
    scene.spin_until("the withdrawn offer is gone", || any.publisher_count() == 1);
    strong.publish(text("still")).unwrap();
    scene.spin_until("the other is received", || all().len() == 3);
}

#[test]
fn withdrawn_offer_unmatches_subscriptions() {
    for processes in [2, 1] {
        let scene = Scene::new(processes);
        let weak = scene.publisher(QoS::sensor_data());
        let strong = scene.publisher(QoS::keep_last(10));
        let (first, received_first) = collect(&scene.listener, 10);
        scene.spin_until("it is matched", || first.publisher_count() == 1);
        drop(strong);
        scene.spin_until("it is matched no longer", || first.publisher_count() == 0);
        let (late, received_late) = collect(&scene.listener, 10);
        scene.spin_until("it is reported", || late.incompatible_qos_status().total_count == 1);
        assert_eq!(first.incompatible_qos_status().total_count, 1, "of {processes} processes");
        let (any, received_untyped) = collect(&scene.listener, QoS::sensor_data());
        scene.spin_until("they match", || (any.publisher_count(), weak.subscription_count()) == (1, 1));
        weak.publish(text("weak")).unwrap();
        scene.spin_until("the weaker request receives it", || received_untyped.lock().unwrap().len() == 1);
        assert!(received_first.lock().unwrap().is_empty() && received_late.lock().unwrap().is_empty());
        assert_eq!(weak.incompatible_qos_status().total_count, 2);
    }
}

#[test]
fn keep_all_pair_loses_nothing_with_slow_callback() {
    for processes in [2, 1] {
        let scene = Scene::new(processes);
        let mut publisher = scene.publisher(QoS::keep_all());
        let (subscription, received) = collect(&scene.listener, QoS::keep_all());
        scene.spin_until("they match", || {
            publisher.subscription_count() == 1 && subscription.publisher_count() == 1
        });
        publisher.set_max_blocking_time(MS(500));
        let published = (0..10_000).position(|number| match publisher.publish(text(number.to_string())) {
            Ok(()) => false,
            Err(Error::Blocked { .. }) => true,
            Err(other) => panic!("{other}"),
        });
        // No thread spins: the queues of both ends together are bounded.
        let published = published.expect("it is held up");
        assert!((1000..=4000).contains(&published), "{published} of {processes} processes");
        let mut next = published;
        let end = published + 2000;
        while next < end {
            match publisher.try_publish(text(next.to_string())) {
                Ok(()) => next += 1,
                Err(Error::Blocked { .. }) => drop(scene.spin_for(MS(5), || {})),
                Err(other) => panic!("{other}"),
            }
        }
        scene.spin_until("all are received", || received.lock().unwrap().len() == end);
        let expected: Vec<String> = (0..end).map(|number| number.to_string()).collect();
        assert_eq!(*received.lock().unwrap(), expected);
        assert_eq!((subscription.dropped(), subscription.lost(), publisher.dropped()), (0, 0, 0));
    }
}
