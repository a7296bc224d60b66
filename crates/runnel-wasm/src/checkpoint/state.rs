//! What is in a checkpoint beside the memory.

use serde::{Deserialize, Serialize};

use crate::bounded;
use crate::host::{Description, Event, GlobalValue, LastRequests, MOST_PENDING, Suspended};
use crate::streams::Positions;

/// See the module's documentation.
#[derive(Clone, Serialize, Deserialize)]
pub struct State {
    #[serde(deserialize_with = "bounded::list::<1_000, _, _>")]
    pub arguments: Vec<String>,
    #[serde(deserialize_with = "bounded::list::<1_000, _, _>")]
    pub ros_arguments: Vec<String>,
    pub graphs: GraphsState,
    /// Names and texts of types that the guest has defined.
    #[serde(deserialize_with = "bounded::list::<10_000, _, _>")]
    pub definitions: Vec<(String, String)>,
    /// What its monotonic clock shows, in nanoseconds.
    pub clock: u64,
    /// How many the guest has created.
    pub handles: u32,
    /// Those that are open, by handles, which rise from 1.
    #[serde(deserialize_with = "bounded::list::<100_000, _, _>")]
    pub entities: Vec<(u32, EntityState)>,
    #[serde(deserialize_with = "bounded::list::<1_000_000, _, _>")]
    pub events: Vec<Event>,
    /// The number of the next request, call or goal.
    pub next_id: u64,
    /// Calls without a response, and their clients.
    #[serde(deserialize_with = "bounded::list::<MOST_PENDING, _, _>")]
    pub calls: Vec<(u64, u32)>,
    /// Goals without a result, and their action clients.
    #[serde(deserialize_with = "bounded::list::<MOST_PENDING, _, _>")]
    pub goals: Vec<(u64, u32)>,
    /// Requests without a response, and their services.
    #[serde(deserialize_with = "bounded::list::<MOST_PENDING, _, _>")]
    pub requests: Vec<(u64, u32)>,
    /// What it has written to standard output and standard error without an end of line.
    pub lines: [Vec<u8>; 2],
    pub last_error: String,
    pub suspended: Suspended,
    /// Address of the buffer that holds the functions that run.
    pub buffer: u32,
    /// What the guest has there, as far as the functions cover it.
    pub under_buffer: Vec<u8>,
    #[serde(deserialize_with = "bounded::list::<100_000, _, _>")]
    pub globals: Vec<GlobalValue>,
}

impl State {
    /// What its subscriptions have received.
    pub fn positions(&self) -> Vec<(u32, Positions)> {
        let of = |(handle, entity): &(u32, EntityState)| match &entity.data {
            EntityData::Received(positions) => Some((*handle, positions.clone())),
            _ => None,
        };
        self.entities.iter().filter_map(of).collect()
    }

    /// What its services have received.
    pub fn last_requests(&self) -> impl Iterator<Item = (u32, &LastRequests)> {
        self.entities.iter().filter_map(|(handle, entity)| match &entity.data {
            EntityData::Requests(requests) => Some((*handle, requests)),
            _ => None,
        })
    }

    /// An entity, for people.
    pub fn describe(&self, handle: u32) -> String {
        let entity = self.entities.iter().find(|(of, _)| *of == handle);
        entity.map_or_else(|| format!("entity {handle}"), |(_, entity)| entity.description.to_string())
    }

    /// Without what is only needed where the node goes on.
    pub fn outline(mut self) -> Self {
        self.events = Vec::new();
        self.under_buffer = Vec::new();
        for (_, entity) in &mut self.entities {
            entity.data = EntityData::None;
        }
        self
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraphsState {
    Ros1,
    Ros2,
    Both,
}

/// An entity, and what it holds.
#[derive(Clone, Serialize, Deserialize)]
pub struct EntityState {
    pub description: Description,
    pub data: EntityData,
}

#[derive(Clone, Serialize, Deserialize)]
pub enum EntityData {
    None,
    /// A node's parameters.
    Parameters(#[serde(deserialize_with = "bounded::list::<100_000, _, _>")] Vec<ParameterState>),
    /// The messages that a publisher keeps for late subscribers.
    Kept(#[serde(deserialize_with = "bounded::list::<100_000, _, _>")] Vec<Vec<u8>>),
    /// A subscription: what it has received of each publisher.
    Received(Positions),
    /// A service: what it has received of each client.
    Requests(#[serde(deserialize_with = "bounded::list::<10_000, _, _>")] LastRequests),
    /// A timer: nanoseconds to its next tick, if it has one.
    TimeLeft(Option<u64>),
}

#[derive(Clone, Serialize, Deserialize)]
pub struct ParameterState {
    pub name: String,
    /// An `rcl_interfaces/ParameterValue` in CDR.
    pub value: Vec<u8>,
    pub is_read_only: bool,
}

impl From<runnel::Graphs> for GraphsState {
    fn from(graphs: runnel::Graphs) -> Self {
        match graphs {
            runnel::Graphs::Ros1 => Self::Ros1,
            runnel::Graphs::Ros2 => Self::Ros2,
            runnel::Graphs::Both => Self::Both,
        }
    }
}

impl From<GraphsState> for runnel::Graphs {
    fn from(graphs: GraphsState) -> Self {
        match graphs {
            GraphsState::Ros1 => Self::Ros1,
            GraphsState::Ros2 => Self::Ros2,
            GraphsState::Both => Self::Both,
        }
    }
}
