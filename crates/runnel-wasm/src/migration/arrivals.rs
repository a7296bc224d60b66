//! The nodes that a host accepts, and those that have come.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::arrival::{Arrival, Resolved};
use super::channel::SharedChannel;
use super::message::{Greeting, MigrationId, Offer, ToSource, VERSION};
use super::source::Resolution;

/// How long a source may take for its first message.
const GREETING: Duration = Duration::from_secs(10);

/// Migrations that are remembered, at most: sources ask for the latest ones.
const MOST: usize = 1000;

/// See the module's documentation.
#[derive(Default)]
pub struct Arrivals(Mutex<Known>);

#[derive(Default)]
struct Known {
    migrations: BTreeMap<MigrationId, Migration>,
    next: u64,
}

struct Migration {
    /// Which of the known ones it is.
    place: u64,
    nodes: Vec<String>,
    resolve: Sender<Resolved>,
    committed: Arc<AtomicBool>,
}

impl Arrivals {
    /// Takes the channel of a source. Returns a node that is to come.
    ///
    /// # Errors
    /// What is wrong with the source.
    pub fn greet(&self, channel: SharedChannel) -> Result<Option<Arrival>, String> {
        let greeting: Option<Greeting> = channel.receive(GREETING)?;
        let greeting = greeting.ok_or_else(|| format!("it says nothing for {GREETING:?}"))?;
        let version = match &greeting {
            Greeting::Offer(offer) => offer.version,
            Greeting::Return { version, .. } => *version,
        };
        if version != VERSION {
            let why = format!("version {version} of the protocol: this host has {VERSION}");
            let _ = channel.send(&ToSource::Refused(why.clone()));
            return Err(why);
        }
        match greeting {
            Greeting::Offer(offer) => Ok(Some(self.expect(*offer, channel))),
            Greeting::Return { migration, is_aborted, .. } => {
                self.take_back(migration, is_aborted, channel);
                Ok(None)
            }
        }
    }

    fn expect(&self, offer: Offer, channel: SharedChannel) -> Arrival {
        let (resolve, resolved) = mpsc::channel();
        let committed = Arc::<AtomicBool>::default();
        let mut known = self.known();
        known.next += 1;
        let migration = Migration {
            place: known.next,
            nodes: offer.nodes.clone(),
            resolve,
            committed: Arc::clone(&committed),
        };
        known.migrations.insert(offer.migration, migration);
        let oldest = known.next.saturating_sub(MOST as u64);
        known.migrations.retain(|_, migration| migration.place > oldest);
        Arrival { offer, channel, resolved, committed, on_come: None }
    }

    /// The channel of a source broke, which has come back.
    fn take_back(&self, id: MigrationId, is_aborted: bool, channel: SharedChannel) {
        let known = self.known();
        let Some(migration) = known.migrations.get(&id) else {
            let _ = channel.send(&ToSource::Unknown);
            return;
        };
        if migration.committed.load(Ordering::SeqCst) {
            let _ = channel.send(&ToSource::Committed);
            return;
        }
        let returned = Resolved::Returned { channel: channel.clone(), is_aborted };
        if migration.resolve.send(returned).is_err() {
            // Its guest has ended before it was committed.
            let _ = channel.send(&ToSource::Unknown);
        }
    }

    /// Decides where a node goes on of which this host does not know it. False if there is no such node.
    pub fn resolve(&self, node: &str, resolution: Resolution) -> bool {
        let known = self.known();
        let mut in_doubt = known.migrations.values().filter(|migration| {
            !migration.committed.load(Ordering::SeqCst) && migration.nodes.iter().any(|name| name == node)
        });
        in_doubt.any(|migration| migration.resolve.send(Resolved::ByUser(resolution)).is_ok())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
