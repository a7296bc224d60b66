//! The subscriptions of a recording, and the messages that wait in them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use runnel::core::schema::Schema;
use runnel::{Context, Node, RawMessage, Subscription, SubscriptionOptions};

use crate::bag::record::sink::Sink;
use crate::error::CliError;

/// How long the end may take to record what has arrived.
const DRAIN: Duration = Duration::from_secs(1);

/// The subscriptions of a recording, by topic.
#[derive(Default)]
pub struct Subscriptions(BTreeMap<String, Recorded>);

/// A subscription.
pub struct Recorded {
    topic: usize,
    subscription: Subscription,
    /// Messages that the callback has taken.
    taken: Arc<AtomicU64>,
}

impl Recorded {
    /// Subscribes to a topic, of a type if it has one before there is a publisher. It has this position in the sink.
    ///
    /// # Errors
    /// Those of [`Node::create_raw_subscription`].
    pub fn subscribe(
        node: &Node,
        (name, schema): (&str, Option<&Schema>),
        options: SubscriptionOptions,
        topic: usize,
        take: impl Fn(&RawMessage<'_>) + Send + 'static,
    ) -> Result<Self, CliError> {
        let taken = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&taken);
        let take = move |message: &RawMessage<'_>| {
            take(message);
            count.fetch_add(1, Ordering::Relaxed);
        };
        let subscription = node.create_raw_subscription(name, schema, options, take)?;
        Ok(Self { topic, subscription, taken })
    }

    /// Messages that wait no more: the callback has taken them, or the queue has dropped them.
    fn passed(&self) -> u64 {
        self.taken.load(Ordering::Relaxed) + self.subscription.dropped()
    }
}

impl Subscriptions {
    /// Adds one.
    pub fn add(&mut self, name: &str, recorded: Recorded) {
        self.0.insert(name.to_owned(), recorded);
    }

    /// Number of topics.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a topic is subscribed.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The position of a topic in the sink.
    pub fn topic(&self, name: &str) -> Option<usize> {
        Some(self.0.get(name)?.topic)
    }

    /// Ends all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Runs the callbacks of the messages that have arrived: after Ctrl-C nothing else runs them. Returns how many still
    /// wait of each subscription, since there is no more time.
    ///
    /// # Errors
    /// When the context cannot run callbacks.
    pub fn drain(&self, context: &Context) -> Result<Vec<u64>, CliError> {
        let passed = || self.0.values().map(Recorded::passed);
        let until = Instant::now() + DRAIN;
        context.spin_some()?;
        let received: Vec<u64> = self.0.values().map(|recorded| recorded.subscription.received()).collect();
        let waiting =
            || received.iter().zip(passed()).map(|(received, passed)| received.saturating_sub(passed));
        while waiting().any(|waiting| waiting > 0) && Instant::now() < until {
            let before = passed().sum::<u64>();
            context.spin_some()?;
            if passed().sum::<u64>() == before {
                // Other threads run the callbacks.
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(waiting().collect())
    }

    /// Sets the numbers of lost messages. Those that wait, of each subscription, are dropped.
    pub fn count_lost(&self, sink: &mut Sink, waiting: &[u64]) {
        let waiting = waiting.iter().copied().chain(std::iter::repeat(0));
        for (Recorded { topic, subscription, .. }, waiting) in self.0.values().zip(waiting) {
            sink.set_lost(*topic, subscription.dropped() + waiting, subscription.lost());
        }
    }
}
