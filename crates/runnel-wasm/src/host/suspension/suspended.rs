//! Where a suspended guest is.

use serde::{Deserialize, Serialize};
use wasmtime::Val;

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
