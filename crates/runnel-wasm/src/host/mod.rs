//! What belongs to one guest on the host's side.

mod calls;
mod description;
mod entities;
mod events;
mod former_host;
mod guest_clock;
mod incoming;
mod kept;
mod line_budget;
mod memory;
mod pace;
mod received;
mod service_requests;
mod suspension;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use runnel::core::schema::{Generation, Library};
use runnel::core::time::Instant;
use runnel::{Context, DynamicGoalHandle, DynamicResponder, DynamicServerGoalHandle, Executor};
use runnel_io::clock;
use wasmtime::{Memory, ResourceLimiter};

pub use calls::Calls;
pub use description::{Description, Interface, QOS_RECORD, TimerDescription, Topic};
pub use entities::{
    ActionClientEntity, ClientEntity, Entities, Entity, NodeEntity, PublisherEntity, ServiceEntity,
    SubscriptionEntity,
};
pub use events::{Event, EventKind, Events};
pub use former_host::{FormerHost, poll_former_host};
pub use guest_clock::GuestClock;
pub use incoming::Incoming;
pub use kept::KeptMessages;
pub use line_budget::{LineBudget, Verdict};
pub use memory::GuestMemory;
pub use pace::{Pace, Signals, Watchdog};
pub use service_requests::{LastRequests, RequestName, ServiceRequests, name_of};
pub use suspension::{
    Asyncify, GlobalValue, Sleep, Suspended, Suspension, Wait, other_function, resume, suspend,
};

use crate::console::Console;
use crate::instrumented::PAGE;
use crate::manifest::{Limits, Manifest};
use crate::refusal::{Refusal, Refused, Stopped};
use crate::types::Types;

/// Requests, calls and goals of each kind that wait at a time, at most.
pub const MOST_PENDING: usize = 1000;

/// The data of a guest's store.
pub struct Host {
    pub context: Context,
    pub executor: Executor,
    pub manifest: Manifest,
    pub types: Types,
    pub entities: Entities,
    pub events: Arc<Events>,
    /// Requests that wait for a response, by their number.
    pub requests: PendingRequests,
    /// Calls without a response.
    pub calls: Calls,
    pub goals: Goals,
    pub last_error: String,
    pub arguments: Vec<String>,
    /// The arguments with which its context was made.
    pub ros_arguments: Vec<String>,
    pub clock: GuestClock,
    /// Set when the guest has been instantiated.
    pub memory: Option<Memory>,
    pub pace: Pace,
    /// Its standard output.
    pub console: Console,
    /// When the guest could know that it is to end.
    ending_since: Option<Instant>,
    /// It got the event `shutdown`.
    pub knows_of_end: bool,
    /// The lines that it may still write.
    pub lines: LineBudget,
    /// Parameters that it has declared.
    pub parameters: usize,
    has_reached_memory_limit: bool,
    /// Set when the guest has been instantiated, if its module is instrumented for checkpoints.
    pub asyncify: Option<Asyncify>,
    pub suspension: Suspension,
    /// The host that it has left, while that has something to do for it.
    pub former: Option<Box<dyn FormerHost>>,
    /// The guest has yet to come, from another host: its entities are there already.
    pub is_expected: bool,
    /// Bytes that its memory may have in addition, since the host has reserved them for checkpoints.
    pub buffer_memory: usize,
}

/// How long a guest may take to end after the event `shutdown`.
const GRACE: Duration = Duration::from_secs(5);

/// Longest sleep in which a guest cannot be suspended.
const SLEEP: Duration = Duration::from_millis(50);

/// Callbacks that run for a checkpoint, at most: peers may send as fast as they are received.
const MOST_RECEIVED: usize = 10_000;

/// Elements of all its tables, at most.
const MOST_ELEMENTS: usize = 1 << 16;

/// Tables that a guest may have.
const MOST_TABLES: usize = 4;

/// The requests of clients that the guest has not answered.
pub type PendingRequests = Arc<Mutex<HashMap<u64, PendingRequest>>>;

/// A request that the guest has not answered.
pub struct PendingRequest {
    pub responder: DynamicResponder,
    /// The service.
    pub handle: u32,
}

/// The goals of the guest's action clients and servers, shared with their callbacks.
#[derive(Default)]
pub struct Goals {
    pub sent: Arc<Mutex<HashMap<u64, SentGoal>>>,
    pub served: Arc<Mutex<HashMap<u64, ServedGoal>>>,
}

/// A goal of one of the guest's action clients.
pub struct SentGoal {
    pub handle: DynamicGoalHandle,
    /// The client.
    pub client: u32,
}

impl Goals {
    /// Drops the goals of an action client or server that is closed.
    pub fn forget(&self, entity: u32) {
        let sent = |goals: &mut HashMap<u64, SentGoal>| goals.retain(|_, goal| goal.client != entity);
        sent(&mut self.sent.lock().unwrap_or_else(PoisonError::into_inner));
        let served = |goals: &mut HashMap<u64, ServedGoal>| goals.retain(|_, goal| goal.server != entity);
        served(&mut self.served.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A goal of one of the guest's action servers.
#[derive(Clone)]
pub struct ServedGoal {
    pub handle: DynamicServerGoalHandle,
    /// The server.
    pub server: u32,
}

impl Host {
    pub fn new(
        context: Context,
        manifest: Manifest,
        library: Library,
        arguments: Vec<String>,
        signals: Arc<Signals>,
    ) -> Self {
        let Limits { queue, entities, .. } = manifest.limits;
        Self {
            executor: context.executor(),
            types: Types::new(library),
            entities: Entities::new(entities),
            events: Arc::new(Events::new(queue)),
            requests: PendingRequests::default(),
            calls: Calls::default(),
            goals: Goals::default(),
            last_error: String::new(),
            arguments,
            ros_arguments: Vec::new(),
            clock: GuestClock::starting_at(Duration::ZERO),
            memory: None,
            pace: Pace::new(&manifest.limits, signals),
            console: Console::default(),
            ending_since: None,
            knows_of_end: false,
            lines: LineBudget::default(),
            parameters: 0,
            has_reached_memory_limit: false,
            asyncify: None,
            suspension: Suspension::None,
            former: None,
            is_expected: false,
            buffer_memory: 0,
            manifest,
            context,
        }
    }

    /// Whether the guest is to end.
    pub fn is_ending(&mut self) -> bool {
        if !self.context.ok() {
            self.begin_end();
        }
        self.ending_since.is_some()
    }

    /// The guest learns that it is to end.
    pub fn begin_end(&mut self) {
        self.ending_since.get_or_insert_with(clock::monotonic);
    }

    /// Ends a guest that is stopped, or does not end by itself when it is to.
    pub fn check_end(&self) -> Result<(), Refusal> {
        let is_late = self.ending_since.is_some_and(|since| clock::monotonic().since(since) > GRACE);
        if self.pace.is_stopped() || is_late {
            return Err(Refusal::stopped(Stopped::ByControl));
        }
        Ok(())
    }

    /// Sleeps, until the guest is to end or to be suspended. It rests meanwhile. Returns the time that is left.
    pub fn sleep(&mut self, duration: Duration) -> Result<Duration, Refusal> {
        self.is_ending();
        self.pace.rest().map_err(Refusal::stopped)?;
        let left = self.sleep_at_rest(duration);
        self.pace.run();
        self.check_end()?;
        left
    }

    fn sleep_at_rest(&self, duration: Duration) -> Result<Duration, Refusal> {
        let began = clock::monotonic();
        loop {
            let left = duration.saturating_sub(clock::monotonic().since(began));
            if left.is_zero() || self.pace.is_suspension_wanted() {
                return Ok(left);
            }
            match self.context.sleep_wall(left.min(SLEEP)) {
                // A guest that is to end sleeps no more.
                Ok(()) if !self.context.ok() => return Ok(Duration::ZERO),
                Err(runnel::Error::ShuttingDown) => return Ok(Duration::ZERO),
                other => other?,
            }
        }
    }

    /// Takes what has arrived for the guest as events, as far as there is room. The rest stays in the queues of its
    /// subscriptions.
    pub fn receive_waiting(&self) -> Result<(), runnel::Error> {
        let mut idle = 0;
        for _ in 0..MOST_RECEIVED {
            if self.events.is_half_full() || idle > 2 {
                break;
            }
            // The first poll receives, and the next one runs the callback.
            idle = if self.executor.spin_once(Duration::ZERO)? { 0 } else { idle + 1 };
        }
        Ok(())
    }

    /// Pages that its memory may have.
    pub fn most_pages(&self) -> u32 {
        (self.most_memory() / PAGE) as u32
    }

    fn most_memory(&self) -> usize {
        self.manifest.limits.memory.saturating_add(self.buffer_memory)
    }

    /// Refuses a name that the manifest does not list.
    pub fn check_name(
        &self,
        names: impl FnOnce(&Manifest) -> &crate::manifest::Names,
        key: &str,
        name: &str,
    ) -> Result<(), Refusal> {
        if names(&self.manifest).allows(name) {
            return Ok(());
        }
        let why = format!("the manifest does not allow {name}: it is not in its list `{key}`");
        Err(Refusal::new(Refused::NotAllowed, why))
    }
}

impl ResourceLimiter for Host {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let most = self.most_memory();
        if desired > most && !std::mem::replace(&mut self.has_reached_memory_limit, true) {
            let name = self.arguments.first().map_or("a node in WebAssembly", String::as_str);
            log::warn!(
                "{name} asks for {desired} bytes of memory, and limits.memory is {}",
                self.manifest.limits.memory
            );
        }
        Ok(desired <= most)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= MOST_ELEMENTS)
    }

    fn tables(&self) -> usize {
        MOST_TABLES
    }

    fn memories(&self) -> usize {
        1
    }
}

/// The generation whose definitions the messages of an encoding have.
pub fn generation(encoding: u32) -> Result<Generation, Refusal> {
    match encoding {
        0 => Ok(Generation::Ros1),
        1 => Ok(Generation::Ros2),
        _ => Err(Refusal::new(Refused::Invalid, format!("{encoding} is no encoding"))),
    }
}
