//! The receiving side: a bounded queue between the sockets and the user's callback.

use std::any::{Any, TypeId};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};

use runnel_core::wire::DecodeError;
use runnel_ros1::node::LinkStats;
use runnel_ros1::tcpros::QueueBound;

use super::ready::{Runnable, When};
use super::received::Received;
use crate::ipc::{Frame, Lent};
use crate::logging::console;
use crate::sync::lock;

/// Most buffers that a subscription keeps for use again.
const SPARE: usize = 4;

/// Most short ones: as many as messages may come before the first callback runs.
const SHORT_SPARE: usize = 256;

/// Bytes of a short one.
const SHORT: usize = 512;

/// What a subscription knows of the publisher that a message came from. What each message touches comes first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct LinkInfo {
    pub(crate) stats: Arc<LinkStats>,
    pub(crate) latching: bool,
    pub(crate) publisher: String,
    pub(crate) type_name: String,
    pub(crate) md5: String,
    pub(crate) definition: String,
    /// Its messages that could not be read.
    pub(crate) malformed: AtomicU64,
}

/// A message that subscribers of this process take by reference.
pub(crate) type Shared = Arc<dyn Any + Send + Sync>;

/// One message on its way to a callback.
pub(crate) enum Delivery<'a> {
    /// As its bytes, which the callback may take along: see [`Kept`](super::Kept).
    Bytes { bytes: &'a mut Received, from: &'a Arc<LinkInfo>, queue: &'a Arc<Mutex<Queue>> },
    /// By reference from a publisher of this process.
    Shared(&'a (dyn Any + Send + Sync)),
}

enum Item {
    Bytes { bytes: Received, from: Arc<LinkInfo> },
    Shared(Shared),
}

/// It fails on a message that cannot be read.
type Callback = Box<dyn FnMut(Delivery<'_>) -> Result<(), DecodeError> + Send>;

/// What a subscription is to. What each message is held against comes first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct SubscriptionOptions {
    /// What may wait for the callback.
    pub(crate) bound: QueueBound,
    pub(crate) topic: String,
    pub(crate) type_name: String,
    /// MD5 sum of the type; `*` takes any.
    pub(crate) md5: String,
    /// The type that it takes by reference; `None` takes bytes only.
    pub(crate) takes: Option<TypeId>,
}

/// One subscription of the user's. What each message touches comes first.
#[repr(C)]
pub(crate) struct SubscriptionCore {
    queue: Arc<Mutex<Queue>>,
    myself: Weak<SubscriptionCore>,
    when: When,
    received: AtomicU64,
    callback: Mutex<Callback>,
    options: SubscriptionOptions,
    dropped: AtomicU64,
    lost: AtomicU64,
    malformed: AtomicU64,
}

/// What waits for a callback.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Item>,
    /// Bytes of those.
    bytes: usize,
    /// A buffer for use again, if it is one; it is at hand.
    spare: Vec<u8>,
    /// More of them.
    spares: Vec<Vec<u8>>,
    /// It stands in the ready queue, or its callback runs.
    scheduled: bool,
    /// The user has dropped the subscription.
    ended: bool,
}

impl SubscriptionCore {
    pub(crate) fn new(
        options: SubscriptionOptions,
        when: When,
        callback: impl FnMut(Delivery<'_>) -> Result<(), DecodeError> + Send + 'static,
    ) -> Arc<Self> {
        Arc::new_cyclic(|myself| Self {
            queue: Arc::default(),
            myself: myself.clone(),
            when,
            received: AtomicU64::new(0),
            callback: Mutex::new(Box::new(callback)),
            options,
            dropped: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
        })
    }

    /// True if messages of this MD5 sum can be read here.
    fn agrees_with(&self, md5: &str) -> bool {
        let mine = self.options.md5.as_str();
        mine == md5 || mine == "*" || md5 == "*"
    }

    /// Compares types with a publisher, as the headers do for those of other processes: with these it is another
    /// subscription of the node's that takes any type and let the publisher in. Says so if they differ.
    fn reads(&self, publisher: &LinkInfo) -> bool {
        let mismatch = self.mismatch(publisher);
        mismatch.iter().for_each(|line| console::error!("{line}"));
        mismatch.is_none()
    }

    /// What is to be said if the types differ.
    pub(super) fn mismatch(&self, publisher: &LinkInfo) -> Option<String> {
        if self.agrees_with(&publisher.md5) {
            return None;
        }
        let SubscriptionOptions { topic, type_name, md5, .. } = &self.options;
        let LinkInfo { publisher, type_name: theirs, md5: their_md5, .. } = publisher;
        Some(format!(
            "topic {topic}: publisher [{publisher}] has {theirs} [{their_md5}], this subscription {type_name} [{md5}]"
        ))
    }

    /// Messages that were dropped because the callback was slower than the publishers.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Messages that arrived, those dropped included.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Messages that were sent as datagrams and did not arrive whole.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Messages that could not be read.
    pub(crate) fn malformed(&self) -> u64 {
        self.malformed.load(Ordering::Relaxed)
    }

    /// Counts a message that cannot be read, and says so: each time twice as many have come, since a publisher may
    /// send nothing else.
    fn note_malformed(&self, from: &LinkInfo, error: &DecodeError) {
        self.malformed.fetch_add(1, Ordering::Relaxed);
        from.stats.count_dropped(1);
        let (topic, publisher) = (&self.options.topic, &from.publisher);
        match from.malformed.fetch_add(1, Ordering::Relaxed) + 1 {
            1 => console::error!("topic {topic}: message of publisher [{publisher}] cannot be read: {error}"),
            count if count.is_power_of_two() => {
                console::error!(
                    "topic {topic}: {count} messages of publisher [{publisher}] cannot be read, the last: {error}"
                );
            }
            _ => {}
        }
    }

    /// True if messages of this type are taken by reference.
    pub(super) fn takes(&self, message: TypeId) -> bool {
        self.options.takes == Some(message)
    }

    /// Takes a message of a publisher of this process by reference. What it pushes out goes to `unheard`.
    pub(super) fn push_shared(&self, message: Shared, unheard: &mut Vec<Shared>) {
        self.push(Item::Shared(message), None, unheard);
    }

    /// Takes a copy of a message.
    pub(crate) fn push_copy(&self, bytes: &[u8], from: &Arc<LinkInfo>) {
        let mut copy = self.spare();
        copy.clear();
        copy.extend_from_slice(bytes);
        self.push_bytes(Received::Own(copy), from);
    }

    /// Takes a message where a publisher of this process wrote it.
    pub(super) fn push_frame(&self, frame: &Frame, from: &Arc<LinkInfo>) {
        self.push_bytes(Received::Frame(frame.clone()), from);
    }

    fn push_bytes(&self, bytes: Received, from: &Arc<LinkInfo>) {
        // Outlives the lock, see `end`.
        let mut unheard = Vec::new();
        self.push(Item::Bytes { bytes, from: Arc::clone(from) }, Some(&from.stats), &mut unheard);
    }

    /// Takes a message that `fill` writes into a buffer, whatever that holds.
    fn push_filled(&self, from: &Arc<LinkInfo>, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut unheard = Vec::new();
        let mut queue = lock(&self.queue);
        let mut bytes = queue.take_spare();
        fill(&mut bytes);
        self.push_into(
            queue,
            Item::Bytes { bytes: Received::Own(bytes), from: Arc::clone(from) },
            Some(&from.stats),
            &mut unheard,
        );
    }

    fn push(&self, item: Item, stats: Option<&LinkStats>, unheard: &mut Vec<Shared>) {
        self.push_into(lock(&self.queue), item, stats, unheard);
    }

    fn push_into(
        &self,
        mut queue: MutexGuard<'_, Queue>,
        item: Item,
        stats: Option<&LinkStats>,
        unheard: &mut Vec<Shared>,
    ) {
        if queue.ended {
            return;
        }
        // Written under this lock only.
        self.received.store(self.received() + 1, Ordering::Relaxed);
        let bytes = item.bytes();
        while queue.is_full(self.options.bound, bytes) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            if let Some(stats) = stats {
                stats.count_dropped(1);
            }
            unheard.extend(queue.drop_oldest());
        }
        queue.bytes += bytes;
        queue.waiting.push_back(item);
        let schedule = !std::mem::replace(&mut queue.scheduled, true);
        drop(queue);
        if schedule {
            self.schedule();
        }
    }

    /// The user has dropped the subscription: what waits is for nobody.
    pub(crate) fn end(&self) {
        let mut queue = lock(&self.queue);
        queue.ended = true;
        let unheard = std::mem::take(&mut queue.waiting);
        queue.bytes = 0;
        // A shared message may hold anything of the user's, whose end must not happen under this lock.
        drop(queue);
        drop(unheard);
    }

    fn schedule(&self) {
        if let Some(myself) = self.myself.upgrade() {
            self.when.push(myself);
        }
    }

    /// A buffer to receive the next message into; what it holds does not matter.
    fn spare(&self) -> Vec<u8> {
        lock(&self.queue).take_spare()
    }

    /// After a callback: keeps the message's buffer, and stands in line again if more waits.
    fn done(&self, item: Option<Item>) {
        // A shared message ends here and not under the lock, see `end`.
        let spare = item.and_then(Item::into_spare);
        let mut queue = lock(&self.queue);
        spare.into_iter().for_each(|spare| queue.keep_spare(spare));
        queue.scheduled = !queue.waiting.is_empty();
        let again = queue.scheduled;
        drop(queue);
        if again {
            self.schedule();
        }
    }
}

impl Item {
    /// Bytes that it takes in the queue; what is shared is the publisher's.
    fn bytes(&self) -> usize {
        match self {
            Self::Bytes { bytes, .. } => bytes.len(),
            Self::Shared(_) => 0,
        }
    }

    /// The buffer that it lies in, if that is the subscription's.
    fn into_spare(self) -> Option<Vec<u8>> {
        match self {
            Self::Bytes { bytes: Received::Own(bytes), .. } => Some(bytes),
            _ => None,
        }
    }
}

impl Queue {
    /// True if one more message of so many bytes is too much. One is always held, however long.
    fn is_full(&self, bound: QueueBound, bytes: usize) -> bool {
        let waiting = self.waiting.len();
        waiting > 0 && (waiting >= bound.messages || self.bytes + bytes > bound.bytes)
    }

    fn take(&mut self) -> Option<Item> {
        let item = self.waiting.pop_front()?;
        self.bytes -= item.bytes();
        if self.waiting.is_empty() {
            // The next one goes to the same place again, which is at hand.
            self.waiting.clear();
        }
        Some(item)
    }

    /// Makes room; a shared message is given back.
    fn drop_oldest(&mut self) -> Option<Shared> {
        match self.take()? {
            Item::Shared(message) => Some(message),
            bytes @ Item::Bytes { .. } => {
                bytes.into_spare().into_iter().for_each(|spare| self.keep_spare(spare));
                None
            }
        }
    }

    /// Keeps a buffer for use again, unless it is none.
    pub(super) fn keep_spare(&mut self, spare: Vec<u8>) {
        if self.spare.capacity() == 0 {
            self.spare = spare;
            return;
        }
        let most = if spare.capacity() <= SHORT { SHORT_SPARE } else { SPARE };
        if spare.capacity() > 0 && self.spares.len() + 1 < most {
            self.spares.push(spare);
        }
    }

    /// A buffer for use again, or an empty one.
    fn take_spare(&mut self) -> Vec<u8> {
        match std::mem::take(&mut self.spare) {
            none if none.capacity() == 0 => self.spares.pop().unwrap_or_default(),
            spare => spare,
        }
    }
}

impl Runnable for SubscriptionCore {
    fn run(&self) {
        self.run_on(&|| false);
    }

    fn run_on(&self, goes_on: &dyn Fn() -> bool) {
        let callback = match self.callback.try_lock() {
            Ok(callback) => callback,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // It runs further down on this thread's stack; its end will look at the queue again.
            Err(TryLockError::WouldBlock) => return,
        };
        let mut running = Running { core: self, callback: Some(callback), item: None, more: false };
        running.take_next();
        running.call();
        while running.more && goes_on() {
            running.take_next();
            running.call();
        }
    }
}

/// Callbacks under way. When they end, also by a panic, the next message gets its turn.
struct Running<'a> {
    core: &'a SubscriptionCore,
    callback: Option<MutexGuard<'a, Callback>>,
    item: Option<Item>,
    /// More waited when that was taken.
    more: bool,
}

impl Running<'_> {
    /// Takes the next message, when the one before is done with.
    fn take_next(&mut self) {
        // A shared message ends here and not under the lock, see `end`.
        let spare = self.item.take().and_then(Item::into_spare);
        let mut queue = lock(&self.core.queue);
        spare.into_iter().for_each(|spare| queue.keep_spare(spare));
        self.item = queue.take();
        self.more = !queue.waiting.is_empty();
    }

    fn call(&mut self) {
        let Some(callback) = &mut self.callback else { return };
        match &mut self.item {
            Some(Item::Bytes { bytes, from }) => {
                if let Err(error) = callback(Delivery::Bytes { bytes, from, queue: &self.core.queue }) {
                    self.core.note_malformed(from, &error);
                }
            }
            // It was never bytes.
            Some(Item::Shared(message)) => drop(callback(Delivery::Shared(&**message))),
            None => {}
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.callback = None;
        self.core.done(self.item.take());
    }
}

/// All subscriptions of one node to one topic: they share the links to the publishers.
#[derive(Default)]
pub(crate) struct TopicInput {
    readers: Mutex<Readers>,
    links: Mutex<Vec<Link>>,
}

#[derive(Default)]
struct Readers {
    all: Vec<Arc<SubscriptionCore>>,
    /// There was a publisher whose type not all of them read: each message is held against their types.
    mixed: bool,
}

/// A link to a publisher of another process.
struct Link {
    from: Arc<LinkInfo>,
    /// The last message of a latched topic, for subscriptions that are added later.
    latched: Option<Vec<u8>>,
}

impl TopicInput {
    /// The type of a subscription whose messages this one cannot read.
    pub(crate) fn conflict(&self, subscription: &SubscriptionCore) -> Option<String> {
        let readers = lock(&self.readers);
        let other = readers.all.iter().find(|other| !other.agrees_with(&subscription.options.md5))?;
        Some(other.options.type_name.clone())
    }

    /// Adds a subscription: it gets what latched publishers sent last.
    pub(crate) fn add(&self, subscription: Arc<SubscriptionCore>) {
        let mut mixed = false;
        for link in lock(&self.links).iter() {
            if subscription.reads(&link.from) {
                link.latched.iter().for_each(|latched| subscription.push_copy(latched, &link.from));
            } else {
                mixed = true;
            }
        }
        let mut readers = lock(&self.readers);
        readers.mixed |= mixed;
        readers.all.push(subscription);
    }

    /// Removes a subscription; true if none is left.
    pub(crate) fn remove(&self, subscription: &Arc<SubscriptionCore>) -> bool {
        let mut readers = lock(&self.readers);
        readers.all.retain(|other| !Arc::ptr_eq(other, subscription));
        readers.all.is_empty()
    }

    /// A link to a publisher stands.
    pub(crate) fn join(&self, from: &Arc<LinkInfo>) {
        let mut readers = lock(&self.readers);
        let Readers { all, mixed } = &mut *readers;
        all.iter().for_each(|subscription| *mixed |= !subscription.reads(from));
        drop(readers);
        lock(&self.links).push(Link { from: Arc::clone(from), latched: None });
    }

    /// A link to a publisher is gone.
    pub(crate) fn leave(&self, from: &Arc<LinkInfo>) {
        lock(&self.links).retain(|link| !Arc::ptr_eq(&link.from, from));
    }

    /// Publishers of other processes that are connected.
    pub(crate) fn link_count(&self) -> usize {
        lock(&self.links).len()
    }

    /// Those of them whose messages come by shared memory.
    pub(crate) fn shared_memory_count(&self) -> usize {
        lock(&self.links).iter().filter(|link| link.from.stats.is_by_memory()).count()
    }

    /// Whether a publisher of another process that is connected is a node of this name.
    pub(crate) fn has_publisher(&self, node: &str) -> bool {
        lock(&self.links).iter().any(|link| link.from.publisher == node)
    }

    /// Whether this is so for any subscription.
    pub(crate) fn any(&self, is_so: impl FnMut(&Arc<SubscriptionCore>) -> bool) -> bool {
        lock(&self.readers).all.iter().any(is_so)
    }

    /// A buffer to receive the next message into; what it holds does not matter.
    pub(crate) fn spare(&self) -> Vec<u8> {
        lock(&self.readers).all.first().map(|first| first.spare()).unwrap_or_default()
    }

    /// Gives a received message to every subscription; only the first takes it without a copy.
    pub(crate) fn push(&self, message: Vec<u8>, from: &Arc<LinkInfo>) {
        self.give(Received::Own(message), from);
    }

    /// Gives a message of `len` bytes that `fill` writes into a buffer to every subscription.
    pub(crate) fn push_filled(&self, len: usize, from: &Arc<LinkInfo>, fill: impl FnOnce(&mut Vec<u8>)) {
        let readers = lock(&self.readers);
        if let [only] = readers.all.as_slice()
            && !from.latching
            && !readers.mixed
        {
            from.stats.count(1, (len + runnel_ros1::tcpros::LENGTH) as u64);
            return only.push_filled(from, fill);
        }
        drop(readers);
        let mut message = self.spare();
        fill(&mut message);
        self.push(message, from);
    }

    /// The same of a message that lies in another process's memory.
    pub(crate) fn push_lent(&self, message: Lent, from: &Arc<LinkInfo>) {
        self.give(Received::Lent(message), from);
    }

    fn give(&self, message: Received, from: &Arc<LinkInfo>) {
        from.stats.count(1, (message.len() + runnel_ros1::tcpros::LENGTH) as u64);
        if from.latching {
            self.keep(&message, from);
        }
        let readers = lock(&self.readers);
        let mut readers = readers.of(from);
        let Some(first) = readers.next() else { return };
        readers.for_each(|other| other.push_copy(&message, from));
        first.push_bytes(message, from);
    }

    /// Messages of a publisher did not arrive whole.
    pub(crate) fn lose(&self, messages: u64, from: &LinkInfo) {
        from.stats.count_dropped(messages);
        for subscription in lock(&self.readers).of(from) {
            subscription.lost.fetch_add(messages, Ordering::Relaxed);
        }
    }

    fn keep(&self, message: &[u8], from: &Arc<LinkInfo>) {
        if let Some(link) = lock(&self.links).iter_mut().find(|link| Arc::ptr_eq(&link.from, from)) {
            let latched = link.latched.get_or_insert_default();
            latched.clear();
            latched.extend_from_slice(message);
        }
    }

    /// Does `each` for every subscription.
    pub(crate) fn for_each(&self, each: impl FnMut(&Arc<SubscriptionCore>)) {
        lock(&self.readers).all.iter().for_each(each);
    }
}

impl Readers {
    /// Those that read what this publisher sends.
    fn of(&self, from: &LinkInfo) -> impl Iterator<Item = &Arc<SubscriptionCore>> {
        self.all.iter().filter(|subscription| !self.mixed || subscription.agrees_with(&from.md5))
    }
}
