//! What is in a checkpoint beside the memory.

use serde::{Deserialize, Serialize};
use wasmtime::Val;

use crate::host::{Description, Event};

/// See the module's documentation.
#[derive(Clone, Serialize, Deserialize)]
pub struct State {
    /// The file from which the node was loaded.
    pub program: String,
    pub arguments: Vec<String>,
    pub ros_arguments: Vec<String>,
    pub graphs: GraphsState,
    /// Names and texts of types that the guest has defined.
    pub definitions: Vec<(String, String)>,
    /// What its monotonic clock shows, in nanoseconds.
    pub clock: u64,
    /// By handle, from 1. Those that are closed have none.
    pub entities: Vec<Option<EntityState>>,
    pub events: Vec<Event>,
    /// The number of the next request, call or goal.
    pub next_id: u64,
    /// Calls without a response, and their clients.
    pub calls: Vec<(u64, u32)>,
    /// Goals without a result, and their action clients.
    pub goals: Vec<(u64, u32)>,
    /// What it has written to standard output and standard error without an end of line.
    pub lines: [Vec<u8>; 2],
    pub last_error: String,
    pub suspended: Suspended,
    /// Address of the buffer that holds the functions that run.
    pub buffer: u32,
    /// What the guest has there, as far as the functions cover it.
    pub under_buffer: Vec<u8>,
    pub globals: Vec<GlobalValue>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraphsState {
    Ros1,
    Ros2,
    Both,
}

/// An entity, and what it has been through.
#[derive(Clone, Serialize, Deserialize)]
pub struct EntityState {
    pub description: Description,
    pub data: EntityData,
}

#[derive(Clone, Serialize, Deserialize)]
pub enum EntityData {
    None,
    /// A node's parameters.
    Parameters(Vec<ParameterState>),
    /// The messages that a publisher keeps for late subscribers.
    Kept(Vec<Vec<u8>>),
    /// A subscription: the number of the last message of each publisher.
    Received(Vec<([u8; 16], u64)>),
    /// A timer: nanoseconds to its next tick, if it has one.
    Left(Option<u64>),
}

#[derive(Clone, Serialize, Deserialize)]
pub struct ParameterState {
    pub name: String,
    /// An `rcl_interfaces/ParameterValue` in CDR.
    pub value: Vec<u8>,
    pub is_read_only: bool,
}

/// Where a guest was suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Suspended {
    /// In a loop of its own.
    Loop,
    /// In `wait`.
    Wait(Wait),
    /// In `poll_oneoff`.
    Sleep(Sleep),
}

/// A call of `wait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Nanoseconds that are left.
    pub left: u64,
    pub record: u32,
    pub to: u32,
    pub capacity: u32,
}

/// A call of `poll_oneoff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sleep {
    /// Nanoseconds that are left.
    pub left: u64,
    pub user_data: u64,
    pub events: u32,
    pub count: u32,
}

/// The value of a global, floats as their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GlobalValue {
    I32(i32),
    I64(i64),
    F32(u32),
    F64(u64),
    V128(u128),
}

impl GlobalValue {
    /// `None` for references, of which no instrumented module has a mutable global.
    pub fn of(value: &Val) -> Option<Self> {
        Some(match value {
            Val::I32(value) => Self::I32(*value),
            Val::I64(value) => Self::I64(*value),
            Val::F32(bits) => Self::F32(*bits),
            Val::F64(bits) => Self::F64(*bits),
            Val::V128(value) => Self::V128(value.as_u128()),
            _ => return None,
        })
    }
}

impl From<&GlobalValue> for Val {
    fn from(value: &GlobalValue) -> Self {
        match *value {
            GlobalValue::I32(value) => Self::I32(value),
            GlobalValue::I64(value) => Self::I64(value),
            GlobalValue::F32(bits) => Self::F32(bits),
            GlobalValue::F64(bits) => Self::F64(bits),
            GlobalValue::V128(value) => Self::V128(value.into()),
        }
    }
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
