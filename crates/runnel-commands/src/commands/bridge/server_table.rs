//! The services, or the actions, that a bridge carries, or why it does not.

use std::collections::BTreeMap;
use std::time::Instant;

use runnel::bridge::bridge_node_name;
use runnel_bridge::AnnouncedServer;
use runnel_bridge::decision::{BridgeId, Direction, Own, Verdict, decide_server};

use super::attempts::Attempts;
use super::report::{self, CallCounts, ServerRow, State};
use super::resources::{Carried, Resources};
use super::servers::Servers;
use crate::error::CliError;

/// A service or an action that is carried.
pub trait Relay: Sized {
    /// Whether it was made for this type.
    fn is_of(&self, announced: &AnnouncedServer) -> bool;

    /// For the report.
    fn status(&self) -> RelayStatus;
}

/// See [`Relay::status`].
pub struct RelayStatus {
    /// It is offered.
    pub is_complete: bool,
    /// The type in ROS 1.
    pub ros1_type: String,
    /// The type in ROS 2.
    pub ros2_type: String,
    /// The calls, or goals.
    pub counts: CallCounts,
    /// What was remarked about them.
    pub remarks: Vec<String>,
}

type Key = (String, Direction);

/// See the module's documentation.
pub struct ServerTable<R> {
    kind: &'static str,
    entries: BTreeMap<Key, Entry<R>>,
    attempts: Attempts<Key>,
}

enum Entry<R> {
    Carried {
        relay: Box<R>,
        /// The number of descriptions of the ROS 1 graph when it began.
        ros1_views: u64,
    },
    /// The type of the server is not known yet.
    Learning,
    OtherBridge(BridgeId),
    /// It cannot be carried as long as its servers are these.
    Refused {
        reason: String,
        servers: Box<Servers>,
        announced: Option<AnnouncedServer>,
    },
}

/// The type that the server in the source graph announces; `None` while it is not known.
pub type Announced<'a> = dyn Fn(&str, Direction, &Servers) -> Option<Result<AnnouncedServer, String>> + 'a;

/// Begins to carry a service or an action.
pub type Begin<'a, R> = dyn Fn(&Resources<'_>, &str, Direction, AnnouncedServer) -> Result<R, String> + 'a;

/// How a table learns types and makes relays.
pub struct Making<'a, R> {
    /// See [`Announced`].
    pub announced: &'a Announced<'a>,
    /// See [`Begin`].
    pub begin: &'a Begin<'a, R>,
    /// Whether the master still lists what was registered for a relay to ROS 1.
    pub is_registered: &'a dyn Fn(&str) -> bool,
}

impl<R: Relay> ServerTable<R> {
    /// `kind`: `service` or `action`.
    pub fn new(kind: &'static str) -> Self {
        Self { kind, entries: BTreeMap::new(), attempts: Attempts::default() }
    }

    /// Decides about all names, which have these servers.
    pub fn update(
        &mut self,
        resources: &mut Resources<'_>,
        found: &BTreeMap<String, Servers>,
        making: &Making<'_, R>,
    ) -> Result<(), CliError> {
        let unneeded: Vec<Key> =
            self.entries.keys().filter(|(name, _)| !found.contains_key(name)).cloned().collect();
        for key in unneeded {
            self.end(resources, &key)?;
        }
        for (name, servers) in found {
            for direction in Direction::BOTH {
                self.update_one(resources, (name.clone(), direction), servers, making)?;
            }
        }
        Ok(())
    }

    /// Ends all.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    fn update_one(
        &mut self,
        resources: &mut Resources<'_>,
        key: Key,
        servers: &Servers,
        making: &Making<'_, R>,
    ) -> Result<(), CliError> {
        let carries = matches!(self.entries.get(&key), Some(Entry::Carried { .. }));
        match decide_server(&servers.view, key.1, Own { id: resources.id, carries }) {
            Verdict::NotNeeded => self.end(resources, &key),
            Verdict::CarriedBy(other) => {
                self.end(resources, &key)?;
                self.entries.insert(key, Entry::OtherBridge(other));
                Ok(())
            }
            Verdict::Carry => match (making.announced)(&key.0, key.1, servers) {
                None => {
                    self.entries.entry(key).or_insert(Entry::Learning);
                    Ok(())
                }
                Some(Ok(announced)) => self.carry(resources, key, (servers, announced), making),
                Some(Err(reason)) => match self.entries.get(&key) {
                    Some(Entry::Refused { announced: None, .. }) => Ok(()),
                    _ => self.refuse(resources, key, (servers, None), reason),
                },
            },
        }
    }

    fn carry(
        &mut self,
        resources: &mut Resources<'_>,
        key: Key,
        (servers, announced): (&Servers, AnnouncedServer),
        making: &Making<'_, R>,
    ) -> Result<(), CliError> {
        match self.entries.get(&key) {
            Some(Entry::Carried { relay, ros1_views }) => {
                // The master lists one provider of a service. Another bridge may have replaced this one, and ended.
                let is_lost = key.1 == Direction::ToRos1
                    && resources.ros1_views > *ros1_views
                    && !(making.is_registered)(&key.0);
                if relay.is_of(&announced) && !is_lost {
                    return Ok(());
                }
                self.end(resources, &key)?;
            }
            Some(Entry::Refused { servers: refused, announced: of, .. }) => {
                let has_changed = **refused != *servers || of.as_ref() != Some(&announced);
                if !self.attempts.is_due(&key, has_changed, Instant::now()) {
                    return Ok(());
                }
                resources.reload_types();
            }
            _ => {}
        }
        match (making.begin)(resources, &key.0, key.1, announced.clone()) {
            Ok(relay) => {
                let carried = Entry::Carried { relay: Box::new(relay), ros1_views: resources.ros1_views };
                resources.announce("carries", self.carried(&key))?;
                self.entries.insert(key, carried);
                Ok(())
            }
            Err(reason) => self.refuse(resources, key, (servers, Some(announced)), reason),
        }
    }

    fn refuse(
        &mut self,
        resources: &mut Resources<'_>,
        key: Key,
        (servers, announced): (&Servers, Option<AnnouncedServer>),
        reason: String,
    ) -> Result<(), CliError> {
        resources.warn_refused(self.carried(&key), &reason);
        self.end(resources, &key)?;
        self.attempts.refused(key.clone(), Instant::now());
        self.entries.insert(key, Entry::Refused { reason, servers: Box::new(servers.clone()), announced });
        Ok(())
    }

    fn end(&mut self, resources: &Resources<'_>, key: &Key) -> Result<(), CliError> {
        match self.entries.remove(key) {
            Some(Entry::Carried { relay, .. }) => {
                drop(relay);
                resources.announce("ends", self.carried(key))
            }
            _ => Ok(()),
        }
    }

    fn carried<'a>(&self, (name, direction): &'a Key) -> Carried<'a> {
        Carried { kind: self.kind, name, direction: *direction }
    }

    /// Those that are carried.
    pub fn relays(&mut self) -> impl Iterator<Item = &mut R> {
        self.entries.values_mut().filter_map(|entry| match entry {
            Entry::Carried { relay, .. } => Some(&mut **relay),
            _ => None,
        })
    }

    /// The report.
    pub fn rows(&self) -> Vec<ServerRow> {
        self.entries.iter().map(|(key, entry)| row(key, entry)).collect()
    }
}

fn row<R: Relay>((name, direction): &Key, entry: &Entry<R>) -> ServerRow {
    let mut row = ServerRow {
        name: name.clone(),
        to: report::destination(*direction).to_owned(),
        state: State::Connecting,
        ros1_type: None,
        ros2_type: None,
        counts: CallCounts::default(),
        remarks: Vec::new(),
    };
    match entry {
        Entry::Learning => {}
        Entry::OtherBridge(other) => row.state = State::OtherBridge(bridge_node_name(other.0)),
        Entry::Refused { reason, .. } => row.state = State::Refused(reason.clone()),
        Entry::Carried { relay, .. } => {
            let RelayStatus { is_complete, ros1_type, ros2_type, counts, remarks } = relay.status();
            (row.ros1_type, row.ros2_type) = (Some(ros1_type), Some(ros2_type));
            (row.counts, row.remarks) = (counts, remarks);
            if is_complete {
                row.state = State::Carried;
            }
        }
    }
    row
}
