//! Creates an endpoint of every QoS profile on one ROS 2 topic: `runnel_ros2_matrix TOPIC writers|readers TAG`.
//! Profiles and output are those of `peers/rclpy/matrix.py`.

use std::collections::BTreeSet;
use std::env;
use std::time::{Duration, Instant};

use interop::ros2_options::print_line;
use runnel::core::qos::{History, Liveliness};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, ContextOptions, Error, Graphs, Node, Publisher, QoS, Subscription};

const PROFILES: usize = 72;
/// More than all that writers publish before a reader takes it.
const DEPTH: usize = 1000;
const SECONDS: [Option<Duration>; 3] = [None, Some(Duration::from_secs(120)), Some(Duration::from_secs(60))];

fn main() -> Result<(), Error> {
    let words: Vec<String> = env::args().skip(1).take_while(|word| word != "--ros-args").collect();
    let [topic, role, tag] = &words[..] else { panic!("usage: TOPIC writers|readers TAG") };
    let context = Context::with_options(ContextOptions::default().graphs(Graphs::Ros2))?;
    match role.as_str() {
        "writers" => write(&context, topic, tag),
        "readers" => read(&context, topic),
        other => panic!("{other} is neither writers nor readers"),
    }
}

fn profile(number: usize) -> QoS {
    let history = if number.is_multiple_of(5) { History::KeepAll } else { History::KeepLast };
    let qos = QoS { history, deadline: SECONDS[number / 8 % 3], ..QoS::keep_last(DEPTH) };
    let qos = if number % 2 == 1 { qos } else { qos.best_effort() };
    let qos = if number / 2 % 2 == 1 { qos.transient_local() } else { qos };
    let kind = [Liveliness::Automatic, Liveliness::ManualByTopic][number / 4 % 2];
    qos.liveliness(kind, SECONDS[number / 24])
}

/// One node per endpoint.
fn node(context: &Context, number: usize) -> Result<Node, Error> {
    context.create_node(&format!("matrix_{number}"))
}

fn write(context: &Context, topic: &str, tag: &str) -> Result<(), Error> {
    let publisher =
        |number| Ok((number, node(context, number)?.create_publisher::<Text>(topic, profile(number))?));
    let made: Vec<(usize, Publisher<Text>)> = (0..PROFILES).map(publisher).collect::<Result<_, Error>>()?;
    print_line("ready");
    let (mut counts, mut due) = (Counts::new(), Instant::now());
    while context.ok() {
        turn(context)?;
        for (number, publisher) in &made {
            counts.print_changes(
                *number,
                publisher.subscription_count(),
                publisher.incompatible_qos_status().total_count,
            );
        }
        if Instant::now() >= due {
            due += Duration::from_secs(1);
            for (number, publisher) in &made {
                publisher.publish(Text { data: format!("{tag} {number}") })?;
            }
        }
    }
    Ok(())
}

fn read(context: &Context, topic: &str) -> Result<(), Error> {
    let subscription = |number: usize| {
        Ok((
            number,
            node(context, number)?.create_subscription(topic, profile(number), report_first(number))?,
        ))
    };
    let made: Vec<(usize, Subscription)> =
        (0..PROFILES).rev().map(subscription).collect::<Result<_, Error>>()?;
    print_line("ready");
    let mut counts = Counts::new();
    while context.ok() {
        turn(context)?;
        for (number, subscription) in &made {
            counts.print_changes(
                *number,
                subscription.publisher_count(),
                subscription.incompatible_qos_status().total_count,
            );
        }
    }
    Ok(())
}

/// Spins for a while: querying the matches of 72 endpoints takes longer than a message.
fn turn(context: &Context) -> Result<(), Error> {
    let until = Instant::now() + Duration::from_millis(100);
    while context.ok() && Instant::now() < until {
        context.spin_once(until.saturating_duration_since(Instant::now()))?;
    }
    Ok(())
}

/// Prints the first message of each writer.
fn report_first(reader: usize) -> impl Fn(&Text) + Send + 'static {
    let received = std::sync::Mutex::new(BTreeSet::new());
    move |message| {
        if received.lock().expect("no panic").insert(message.data.clone()) {
            print_line(&format!("{reader} heard {}", message.data));
        }
    }
}

/// Number of matched and of incompatible endpoints, per endpoint.
struct Counts([(usize, u64); PROFILES]);

impl Counts {
    fn new() -> Counts {
        Counts([(0, 0); PROFILES])
    }

    /// Prints counts that have changed.
    fn print_changes(&mut self, number: usize, matched: usize, refused: u64) {
        let before = std::mem::replace(&mut self.0[number], (matched, refused));
        if before.0 != matched {
            print_line(&format!("{number} matched {matched}"));
        }
        if before.1 != refused {
            print_line(&format!("{number} refused {refused}"));
        }
    }
}
