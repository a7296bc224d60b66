//! Many nodes with many topics in one process: `publish|subscribe NODES TOPICS`, with TOPICS topics per node. Prints
//! the duration of the registrations (`registered N in S s`). `subscribe` also prints `heard N`, the number of topics
//! with messages since the last such line, and at its end `messages N gaps M`.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel::msgs::std_msgs::msg::UInt64;
use runnel::{Context, Error, Node};
use runnel_io::clock;

/// Period of each topic's messages.
const PERIOD: Duration = Duration::from_millis(200);

fn main() -> Result<(), Error> {
    let context = Context::new()?;
    let [role, nodes, topics] = context.arguments() else { panic!("publish|subscribe NODES TOPICS") };
    let number = |text: &String| text.parse::<usize>().expect("a number");
    let crowd = Crowd { nodes: number(nodes), topics: number(topics) };
    match role.as_str() {
        "publish" => crowd.publish(&context),
        _ => crowd.subscribe(&context),
    }
}

struct Crowd {
    nodes: usize,
    topics: usize,
}

impl Crowd {
    /// Creates one end of each topic, and prints how long that took.
    fn ends<T>(
        &self,
        context: &Context,
        role: &str,
        mut end: impl FnMut(&Node, String, usize) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let nodes = (0..self.nodes).map(|node| context.create_node(&format!("{role}r_{node}")));
        let nodes: Vec<Node> = nodes.collect::<Result<_, _>>()?;
        let begun = clock::monotonic();
        let mut ends = Vec::new();
        for (number, node) in nodes.iter().enumerate() {
            for topic in 0..self.topics {
                ends.push(end(node, format!("/crowd/{number}/{topic}"), ends.len())?);
            }
        }
        let taken = clock::monotonic().since(begun).as_secs_f64();
        println!("registered {} in {taken:.3} s", ends.len());
        Ok(ends)
    }

    fn publish(&self, context: &Context) -> Result<(), Error> {
        let publishers =
            self.ends(context, "publishe", |node, topic, _| node.create_publisher::<UInt64>(&topic, 100))?;
        let clock = context.create_node("clock")?;
        let mut number = 0;
        let _timer = clock.create_timer(PERIOD, move || {
            number += 1;
            for publisher in &publishers {
                publisher.publish(UInt64 { data: number }).expect("a short message");
            }
        });
        context.spin()
    }

    fn subscribe(&self, context: &Context) -> Result<(), Error> {
        let received = Arc::new(Mutex::new(Received::default()));
        let _subscriptions = self.ends(context, "subscribe", |node, topic, index| {
            let (received, mut last) = (Arc::clone(&received), None);
            node.create_subscription(&topic, 100, move |message: &UInt64| {
                received.lock().expect("no panic").note(index, &mut last, message.data);
            })
        })?;
        let teller = context.create_node("teller")?;
        let shared = Arc::clone(&received);
        let _timer = teller.create_timer(PERIOD * 5, move || {
            let mut received = shared.lock().expect("no panic");
            println!("heard {}", std::mem::take(&mut received.topics).len());
        });
        context.spin()?;
        let received = received.lock().expect("no panic");
        println!("messages {} gaps {}", received.messages, received.gaps);
        Ok(())
    }
}

#[derive(Default)]
struct Received {
    /// Topics with messages since the last report.
    topics: HashSet<usize>,
    messages: u64,
    gaps: u64,
}

impl Received {
    fn note(&mut self, topic: usize, last: &mut Option<u64>, number: u64) {
        self.topics.insert(topic);
        self.messages += 1;
        self.gaps += u64::from(last.is_some_and(|last| last + 1 != number));
        *last = Some(number);
    }
}
