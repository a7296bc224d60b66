//! What belongs to one guest on the host's side.

mod entities;
mod events;
mod memory;
mod pace;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel::core::schema::{Generation, Library};
use runnel::core::time::Instant;
use runnel::{Context, DynamicGoalHandle, DynamicResponder, DynamicServerGoalHandle, Executor};
use runnel_io::clock;
use wasmtime::{Memory, ResourceLimiter};

pub use entities::{ActionClientEntity, ClientEntity, Entities, Entity, NodeEntity, PublisherEntity};
pub use events::{Event, EventKind, Events};
pub use memory::GuestMemory;
pub use pace::{Pace, Signals, Watchdog};

use crate::console::Console;
use crate::manifest::{Limits, Manifest};
use crate::refusal::{Refusal, Refused, Stopped};
use crate::types::Types;

/// The data of a guest's store.
pub struct Host {
    pub context: Context,
    pub executor: Executor,
    pub manifest: Manifest,
    pub types: Types,
    pub entities: Entities,
    pub events: Arc<Events>,
    /// Requests that wait for a response, by their number.
    pub requests: Requests,
    pub goals: Goals,
    pub last_error: String,
    pub arguments: Vec<String>,
    pub started: Instant,
    /// Set when the guest has been instantiated.
    pub memory: Option<Memory>,
    pub pace: Pace,
    /// Its standard output.
    pub console: Console,
    /// The guest got the event `shutdown`.
    pub is_ending: bool,
}

/// The requests of clients that the guest has not answered.
pub type Requests = Arc<Mutex<HashMap<u64, PendingRequest>>>;

/// A request that the guest has not answered.
pub struct PendingRequest {
    pub responder: DynamicResponder,
    /// The service.
    pub handle: u32,
}

/// The goals of the guest's action clients and servers, shared with their callbacks.
#[derive(Default)]
pub struct Goals {
    pub sent: Arc<Mutex<HashMap<u64, DynamicGoalHandle>>>,
    pub served: Arc<Mutex<HashMap<u64, ServedGoal>>>,
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
            requests: Requests::default(),
            goals: Goals::default(),
            last_error: String::new(),
            arguments,
            started: clock::monotonic(),
            memory: None,
            pace: Pace::new(&manifest.limits, signals),
            console: Console::default(),
            is_ending: false,
            manifest,
            context,
        }
    }

    /// Sleeps, until the guest is to end. It rests meanwhile.
    pub fn sleep(&mut self, duration: Duration) -> Result<(), Refusal> {
        self.pace.rest().map_err(Refusal::stopped)?;
        let slept = self.context.sleep_wall(duration);
        self.pace.run();
        if self.pace.is_stopped() {
            return Err(Refusal::stopped(Stopped::ByControl));
        }
        // A guest that is to end sleeps no more.
        Ok(slept.or_else(
            |error| if matches!(error, runnel::Error::ShuttingDown) { Ok(()) } else { Err(error) },
        )?)
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
        let most = self.manifest.limits.memory;
        if desired > most {
            log::warn!("the guest asks for {desired} bytes of memory, and its limit is {most}");
        }
        Ok(desired <= most)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= 1 << 20)
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
