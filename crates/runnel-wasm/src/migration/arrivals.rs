//! The nodes that a host accepts, and those that have come.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::arrival::Arrival;
use super::channel::SharedChannel;
use super::fate::Fate;
use super::message::{Greeting, MigrationId, Offer, ToSource, VERSION};
use super::outcome::Resolution;
use super::request::MoveRequest;

/// How long a source may take for its first message.
const GREETING: Duration = Duration::from_secs(10);

/// Migrations that are remembered, at most: sources ask for the latest ones.
const MOST: usize = 1000;

/// Those that were not given up, too.
const MOST_EVER: usize = 10 * MOST;

/// See the module's documentation.
#[derive(Default)]
pub struct Arrivals(Mutex<Known>);

/// What another host wants.
pub enum Greeted {
    /// A node is to come from it.
    Arrival(Box<Arrival>),
    /// A node is to move from here.
    Request(MoveRequest),
    /// Nothing more.
    Nothing,
}

#[derive(Default)]
struct Known {
    migrations: BTreeMap<MigrationId, Migration>,
    next: u64,
}

struct Migration {
    /// Which of the known ones it is.
    place: u64,
    nodes: Vec<String>,
    returned: Sender<SharedChannel>,
    fate: Fate,
}

impl Arrivals {
    /// Takes the channel of another host. Returns what that wants.
    ///
    /// # Errors
    /// What is wrong with the source.
    pub fn greet(&self, channel: SharedChannel) -> Result<Greeted, String> {
        let greeting: Option<Greeting> = channel.receive(GREETING)?;
        let greeting = greeting.ok_or_else(|| format!("it says nothing for {GREETING:?}"))?;
        let version = match &greeting {
            Greeting::Offer(offer) => offer.version,
            Greeting::Return { version, .. } | Greeting::Request { version, .. } => *version,
        };
        if version != VERSION {
            let why = format!("version {version} of the protocol: this host has {VERSION}");
            let _ = channel.send(&ToSource::Refused(why.clone()));
            return Err(why);
        }
        match greeting {
            Greeting::Offer(offer) => Ok(Greeted::Arrival(Box::new(self.expect(*offer, channel)))),
            Greeting::Return { migration, is_aborted, .. } => {
                self.take_back(migration, is_aborted, channel);
                Ok(Greeted::Nothing)
            }
            Greeting::Request { node, to, .. } => Ok(Greeted::Request(MoveRequest { node, to, channel })),
        }
    }

    fn expect(&self, offer: Offer, channel: SharedChannel) -> Arrival {
        let (returns, returned) = mpsc::channel();
        let fate = Fate::default();
        let mut known = self.known();
        known.next += 1;
        let migration = Migration {
            place: known.next,
            nodes: offer.nodes.clone(),
            returned: returns,
            fate: fate.clone(),
        };
        known.migrations.insert(offer.migration, migration);
        let oldest = known.next.saturating_sub(MOST as u64);
        // Sources ask for those that were not given up.
        known.migrations.retain(|_, migration| migration.place > oldest || !migration.fate.is_given_up());
        while known.migrations.len() > MOST_EVER {
            known.migrations.pop_first();
        }
        Arrival { offer, channel, returned, fate, on_come: None }
    }

    /// The channel of a source broke, which has come back.
    fn take_back(&self, id: MigrationId, is_aborted: bool, channel: SharedChannel) {
        let known = self.known();
        let Some(migration) = known.migrations.get(&id) else {
            let _ = channel.send(&ToSource::Unknown);
            return;
        };
        if is_aborted {
            migration.fate.give_up();
        }
        if migration.fate.is_committed() {
            let _ = channel.send(&ToSource::Committed);
        } else if migration.fate.is_given_up() || migration.returned.send(channel.clone()).is_err() {
            let _ = channel.send(&ToSource::Unknown);
        }
    }

    /// Decides where a node goes on of which this host does not know it. False if there is no such node, or if the opposite
    /// is decided.
    pub fn resolve(&self, node: &str, resolution: Resolution) -> bool {
        let known = self.known();
        let of_node =
            known.migrations.values().filter(|migration| migration.nodes.iter().any(|name| name == node));
        // A node may have come and gone before.
        let latest = of_node.max_by_key(|migration| migration.place);
        latest.is_some_and(|migration| migration.fate.resolve(resolution == Resolution::Target))
    }

    /// Whether a node has come to stay.
    pub fn has_come(&self, node: &str) -> bool {
        let known = self.known();
        let mut of_node =
            known.migrations.values().filter(|migration| migration.nodes.iter().any(|name| name == node));
        of_node.any(|migration| migration.fate.is_committed())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
