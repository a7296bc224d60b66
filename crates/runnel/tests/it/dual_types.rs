//! Tests of dual nodes with dynamic types: each message arrives once, in whatever order the nodes match.

use std::sync::{Arc, Mutex};

use crate::common::{Graph, LONG, spin_until};
use crate::dual_scene::{Listener, Talker, context, domain};
use runnel::core::Message;
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Schema, TypeName};
use runnel::msgs::std_msgs::msg::UInt32;
use runnel::{Context, Graphs, QoS, Subscription, SubscriptionOptions};

const MANY: QoS = QoS::keep_last(10_000);

fn schema(generation: Generation) -> Arc<Schema> {
    runnel::msgs::library().message_in(generation, &TypeName::parse(UInt32::TYPE).unwrap()).unwrap()
}

fn number_in(message: &DynamicMessage) -> u32 {
    message.get("data").unwrap().as_f64().unwrap() as u32
}

/// An untyped subscription, and what it has received.
struct RawListener {
    subscription: Subscription,
    received: Arc<Mutex<Vec<u32>>>,
}

impl RawListener {
    fn new(context: &Context, name: &str, options: impl Into<SubscriptionOptions>) -> Self {
        let received = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&received);
        let schemas = Generation::ALL.map(|generation| (generation, schema(generation)));
        let node = context.create_node(name).unwrap();
        let subscription = node.create_raw_subscription("count", None, options, move |message| {
            let schema = schemas.iter().find(|(generation, _)| *generation == message.generation());
            let decoded = message.decode(&schema.unwrap().1).unwrap();
            into.lock().unwrap().push(number_in(&decoded));
        });
        Self { subscription: subscription.unwrap(), received }
    }

    fn len(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    #[track_caller]
    fn check(&self, subscriber: &str) {
        let received = self.received.lock().unwrap();
        let breaks = received.windows(2).position(|pair| pair[1] != pair[0] + 1);
        let breaks = breaks.map(|at| &received[at.saturating_sub(3)..(at + 6).min(received.len())]);
        assert_eq!(breaks, None, "{subscriber}, of {} messages", received.len());
    }
}

/// Publishes numbers with the schema of this generation.
fn dynamic_talker(context: &Context, generation: Generation, qos: QoS) -> (Talker, impl Fn() -> usize) {
    let schema = schema(generation);
    let node = context.create_node("talker").unwrap();
    let publisher = node.create_dynamic_publisher("count", &schema, qos).unwrap();
    let publishes = publisher.clone();
    let talker = Talker::by(move |number| {
        let _ = &node;
        let mut message = DynamicMessage::default_of(&schema).unwrap();
        message.set("data", number).unwrap();
        publishes.publish(&message).unwrap();
    });
    (talker, move || publisher.subscription_count())
}

#[test]
fn late_untyped_dual_subscription_receives_once_in_order() {
    for (qos, udpros) in
        [(MANY, false), (MANY.best_effort(), false), (MANY.transient_local(), false), (MANY, true)]
    {
        let (graph, domain) = (Graph::new(), domain());
        let [a, b] = [0, 1].map(|_| context(&graph.uri, Graphs::Both, domain));
        let talker = a.create_node("talker").unwrap();
        let publisher = talker.create_publisher::<UInt32>("count", qos).unwrap();
        let talks = Talker::new(publisher.clone());
        for round in 0..5 {
            let options = SubscriptionOptions::from(qos);
            let listener = RawListener::new(&b, "raw", if udpros { options.udpros() } else { options });
            spin_until(&b, "it receives", || listener.len() > 500);
            listener.check(&format!("round {round} of {qos:?}, datagrams: {udpros}"));
            // One graph may deliver messages before the other has matched.
            let counts = || (publisher.subscription_count(), listener.subscription.publisher_count());
            spin_until(&b, "one publisher and one subscription", || counts() == (1, 1));
            drop(listener);
            spin_until(&b, "it is gone", || publisher.subscription_count() == 0);
        }
        talks.end();
    }
}

#[test]
fn late_subscriptions_receive_dynamic_dual_publisher_once() {
    for generation in Generation::ALL {
        let (graph, domain) = (Graph::new(), domain());
        let [a, b, c] = [0, 1, 2].map(|_| context(&graph.uri, Graphs::Both, domain));
        let (talks, subscribers) = dynamic_talker(&a, generation, MANY);
        for _ in 0..3 {
            let (typed, raw) = (Listener::new(&b, MANY), RawListener::new(&c, "raw", MANY));
            spin_until(&b, "the typed one receives", || typed.received.lock().unwrap().len() > 500);
            spin_until(&c, "the raw one receives", || raw.len() > 500);
            typed.check();
            raw.check("the raw one");
            assert_eq!(subscribers(), 2);
            drop((typed, raw));
            spin_until(&b, "they have left", || subscribers() == 0);
        }
        talks.end();
    }
}

#[test]
fn untyped_subscription_receives_dynamic_publisher_once() {
    use Graphs::{Both, Ros1, Ros2};
    for (talking, listening) in [(Both, Ros1), (Both, Ros2), (Ros1, Both), (Ros2, Both)] {
        let (graph, domain) = (Graph::new(), domain());
        let [a, b] = [talking, listening].map(|graphs| context(&graph.uri, graphs, domain));
        let (talks, subscribers) = dynamic_talker(&a, Generation::Ros2, MANY);
        let listener = RawListener::new(&b, "raw", MANY);
        spin_until(&b, "it receives", || listener.len() > 300);
        listener.check(&format!("{talking:?} to {listening:?}"));
        assert_eq!((subscribers(), listener.subscription.publisher_count()), (1, 1));
        talks.end();
    }
}

#[test]
fn three_processes_receive_each_other_once() {
    for third in [Graphs::Both, Graphs::Ros1, Graphs::Ros2] {
        let (graph, domain) = (Graph::new(), domain());
        let contexts = [Graphs::Both, Graphs::Both, third].map(|graphs| context(&graph.uri, graphs, domain));
        // The first and the last talker count separately.
        let [first, _, last] = &contexts;
        let publishers = [(first, "one", 0), (last, "three", 1_000_000)].map(|(context, name, from)| {
            let publisher = context.create_node(name).unwrap().create_publisher::<UInt32>("count", MANY);
            (publisher.unwrap(), from)
        });
        let listeners: Vec<_> = contexts
            .iter()
            .enumerate()
            .map(|(index, context)| (context, RawListener::new(context, &format!("ear_{index}"), MANY)))
            .collect();
        for (publisher, _) in &publishers {
            assert!(publisher.wait_for_subscribers(3, LONG).unwrap(), "{third:?}");
        }
        for (context, listener) in &listeners {
            spin_until(context, "both are matched", || listener.subscription.publisher_count() == 2);
        }
        const COUNT: u32 = 200;
        for number in 0..COUNT {
            for (publisher, from) in &publishers {
                publisher.publish(UInt32 { data: from + number }).unwrap();
            }
        }
        for (context, listener) in &listeners {
            spin_until(context, "all is received", || listener.len() >= 2 * COUNT as usize);
            let received = listener.received.lock().unwrap();
            for (_, from) in &publishers {
                let all = *from..from + COUNT;
                let of_one = received.iter().copied().filter(|number| all.contains(number));
                assert_eq!(of_one.collect::<Vec<_>>(), all.clone().collect::<Vec<_>>(), "{third:?}");
            }
            assert_eq!(received.len(), 2 * COUNT as usize, "{third:?}");
        }
    }
}
