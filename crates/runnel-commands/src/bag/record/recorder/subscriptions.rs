//! The subscriptions of a recording, and the messages that wait in them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use runnel::core::schema::Schema;
use runnel::{Context, Node, QoS, RawMessage, Subscription, SubscriptionOptions};

use crate::bag::record::sink::Sink;
use crate::error::CliError;

/// How long the end may take to record what has arrived.
const DRAIN: Duration = Duration::from_secs(1);

/// How long a replaced subscription still receives: publishers learn of the other one.
const OVERLAP: Duration = Duration::from_secs(1);

/// The subscriptions of a recording, by topic.
#[derive(Default)]
pub struct Subscriptions(BTreeMap<String, Recorded>);

/// A subscription.
pub struct Recorded {
    topic: usize,
    subscription: Subscription,
    /// Messages that the callback has taken.
    taken: Arc<AtomicU64>,
    /// The subscription that this one has replaced, and when.
    replaced: Option<(Box<Recorded>, Instant)>,
    /// Messages that it had dropped and lost by then.
    earlier: (u64, u64),
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
        Ok(Self { topic, subscription, taken, replaced: None, earlier: (0, 0) })
    }

    /// The same in place of another one, which still receives.
    fn in_place_of(self, replaced: Self) -> Self {
        let earlier = replaced.lost();
        Self { replaced: Some((Box::new(replaced), Instant::now())), earlier, ..self }
    }

    /// Messages that have arrived.
    fn received(&self) -> u64 {
        let replaced = self.replaced.as_ref().map_or(0, |(replaced, _)| replaced.received());
        replaced + self.subscription.received()
    }

    /// Messages that wait no more: the callback has taken them, or the queue has dropped them.
    fn passed(&self) -> u64 {
        let replaced = self.replaced.as_ref().map_or(0, |(replaced, _)| replaced.passed());
        replaced + self.taken.load(Ordering::Relaxed) + self.subscription.dropped()
    }

    /// Messages that the queue has dropped, and those that the subscription knows to be lost on the way.
    fn lost(&self) -> (u64, u64) {
        let (dropped, lost) = self.earlier;
        (dropped + self.subscription.dropped(), lost + self.subscription.lost())
    }
}

impl Subscriptions {
    /// Adds one.
    pub fn add(&mut self, name: &str, recorded: Recorded) {
        self.0.insert(name.to_owned(), recorded);
    }

    /// Replaces one, which still receives until [`Subscriptions::end_replaced`].
    pub fn replace(&mut self, name: &str, recorded: Recorded) {
        let recorded = match self.0.remove(name) {
            Some(replaced) => recorded.in_place_of(replaced),
            None => recorded,
        };
        self.0.insert(name.to_owned(), recorded);
    }

    /// Ends those that have been replaced for long enough.
    pub fn end_replaced(&mut self) {
        for recorded in self.0.values_mut() {
            recorded.replaced.take_if(|(_, since)| since.elapsed() >= OVERLAP);
        }
    }

    /// Number of topics.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a topic is subscribed.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The QoS that the subscription to a topic requests.
    pub fn requested(&self, name: &str) -> Option<QoS> {
        Some(self.0.get(name)?.subscription.qos())
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
        let received: Vec<u64> = self.0.values().map(Recorded::received).collect();
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
        for (recorded, waiting) in self.0.values().zip(waiting) {
            let (dropped, lost) = recorded.lost();
            sink.set_lost(recorded.topic, dropped + waiting, lost);
        }
    }
}
