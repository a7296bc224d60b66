//! Every standard message through real sockets, to rclpy and back.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use interop::TIMEOUT;
use interop::distros::python;
use interop::ros2::{Origin, Ros2Graph};
use interop::ros2_checks::expect_line;
use runnel::core::Message;
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Library, TypeName};
use runnel::core::wire::{Encoding, cdr};
use runnel::{Error, Node, Publisher, Subscription};
use runnel_testkit::messages::distinct_message;
use runnel_testkit::process::Peer;

use super::Direction;

/// Least number of types.
const LEAST: usize = 150;

/// Whether an implementation's packages are compared.
pub fn has_all(origin: Origin) -> bool {
    matches!(origin, Origin::Ros2(_))
}

/// Both directions at once: rclpy echoes what Runnel publishes.
pub fn attempt((from, to): Direction) -> String {
    let ((Origin::Ros2(distro), _) | (_, Origin::Ros2(distro))) = (from, to) else {
        panic!("{from} to {to}")
    };
    let share = python(distro).parent().and_then(|bin| bin.parent()).expect("an environment").join("share");
    let is_there = |name: &str| share.join(name).with_extension("msg").is_file();
    macro_rules! each {
        ($($module:ident :: $kind:ident :: $name:ident,)*) => {
            vec![$((runnel_msgs::$module::$kind::$name::ROS2_TYPE, RoundTrip::of::<runnel_msgs::$module::$kind::$name> as Begin),)*]
        };
    }
    let all: Vec<(&str, Begin)> = runnel_msgs::each_message!(each);
    let known: Vec<_> =
        all.into_iter().filter(|(name, _)| name.contains("/msg/") && is_there(name)).collect();
    assert!(known.len() >= LEAST, "only {} types of {distro:?} are compared", known.len());
    let graph = Ros2Graph::new();
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let mut echo = graph.rclpy(distro, "echo.py", "echo", &names);
    expect_line(&mut echo, "ready");
    come_back(&graph, &known, &echo).unwrap_or_else(|error| panic!("{error}"));
    format!("{} types", known.len())
}

/// Creates the endpoints of a type's topics.
type Begin = fn(&Node, &Library) -> Result<RoundTrip, Error>;

/// A message that is sent and echoed.
struct RoundTrip {
    name: &'static str,
    /// Publishes once a subscription is matched: true when that is done.
    publish: Box<dyn FnMut() -> Result<bool, Error>>,
    is_published: bool,
    /// The expected and the received message.
    expected: Vec<u8>,
    came: Arc<Mutex<Option<Vec<u8>>>>,
    subscription: Subscription,
}

impl RoundTrip {
    fn of<M: Message>(node: &Node, library: &Library) -> Result<RoundTrip, Error> {
        let name = TypeName::parse(M::TYPE).expect("a name");
        let schema = library.message_in(Generation::Ros2, &name).expect("a definition");
        let distinct_message: DynamicMessage = distinct_message(&schema);
        let payload = distinct_message.to_payload(Encoding::Xcdr1).expect("a form");
        let message: M = cdr::decode(&payload).expect("the same form");
        let place = M::ROS2_TYPE.replace("/msg/", "/");
        let publisher: Publisher<M> = node.create_publisher(&format!("/there/{place}"), 10)?;
        let came = Arc::new(Mutex::new(None));
        let into = Arc::clone(&came);
        let on_message = move |message: &M| {
            *into.lock().expect("no panic") = Some(cdr::encode(message, Encoding::Xcdr1).expect("a form"));
        };
        let subscription = node.create_subscription(&format!("/back/{place}"), 10, on_message)?;
        let expected = cdr::encode(&message, Encoding::Xcdr1).expect("a form");
        let publish = Box::new(move || {
            if publisher.subscription_count() == 0 {
                return Ok(false);
            }
            publisher.publish(message.clone()).map(|()| true)
        });
        Ok(RoundTrip { name: M::ROS2_TYPE, publish, is_published: false, expected, came, subscription })
    }

    /// Continues: true when the message has come back.
    fn go_on(&mut self) -> Result<bool, Error> {
        if !self.is_published && self.subscription.publisher_count() > 0 {
            self.is_published = (self.publish)()?;
        }
        let came = self.came.lock().expect("no panic");
        let Some(came) = &*came else { return Ok(false) };
        assert!(*came == self.expected, "{} came back otherwise", self.name);
        Ok(true)
    }
}

fn come_back(graph: &Ros2Graph, known: &[(&str, Begin)], echo: &Peer) -> Result<(), Error> {
    let library = runnel_msgs::library();
    let context = graph.context();
    let node = context.create_node("types")?;
    let round_trips: Result<Vec<RoundTrip>, Error> =
        known.iter().map(|(_, begin)| begin(&node, &library)).collect();
    let mut away = round_trips?;
    let until = Instant::now() + Duration::from_secs(TIMEOUT);
    while !away.is_empty() {
        context.spin_once(Duration::from_millis(20))?;
        let mut lacking = Vec::new();
        for mut round_trip in away {
            if !round_trip.go_on()? {
                lacking.push(round_trip);
            }
        }
        away = lacking;
        let names: Vec<_> =
            away.iter().map(|round_trip| (round_trip.name, round_trip.is_published)).collect();
        assert!(Instant::now() < until, "{names:?} did not come back; rclpy said:\n{}", echo.output());
    }
    Ok(())
}
