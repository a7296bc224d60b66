//! Checkpoints: all that a guest is, at one instant, and what the host holds for it. The guest is suspended meanwhile, see
//! `host::suspension`.
//!
//! | Module | Holds |
//! |---|---|
//! | `request` | a checkpoint that another thread asks for |
//! | `state` | what is in a checkpoint beside the memory |
//! | `capture`, `restore` | between the host's objects and the state |
//! | `memory_copy` | which pages of linear memory have changed since the last time |
//! | `image` | linear memory without its zero pages |
//! | `file` | the bytes of a checkpoint |
mod capture;
mod file;
mod image;
mod memory_copy;
mod request;
mod restore;
mod state;

use std::fs;
use std::path::Path;

pub use capture::{capture, links};
pub use image::{MemoryImage, Page};
pub use memory_copy::{MemoryCopy, ReceivedPages};
pub use request::{Captured, CheckpointRequests, Decision, Leave, Moment, PendingCheckpoint, Wanted};
pub use restore::{Restoring, create_entities, restore_acting, restore_entities};
pub use state::State;

use crate::error::GuestError;
use crate::program::ModuleHash;

/// A guest at one instant.
#[derive(Clone)]
pub struct Checkpoint {
    pub(crate) module: ModuleHash,
    pub(crate) state: State,
    pub(crate) memory: MemoryImage,
}

impl Checkpoint {
    /// Reads a checkpoint from a file.
    ///
    /// # Errors
    /// If it cannot be read, is damaged, or is of another version.
    pub fn read(path: &Path) -> Result<Self, GuestError> {
        let bytes = fs::read(path).map_err(|source| GuestError::Io { path: path.to_owned(), source })?;
        Self::from_bytes(&bytes)
            .map_err(|why| GuestError::Checkpoint { name: path.display().to_string(), why })
    }

    /// Reads a checkpoint from the content of a file.
    ///
    /// # Errors
    /// Why it is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        file::read(bytes)
    }

    /// The content of a file: see `docs/wasm.md`.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        file::write(self)
    }

    /// The module whose node it holds.
    pub fn module(&self) -> ModuleHash {
        self.module
    }

    /// The arguments of the node's program, its name first.
    pub fn arguments(&self) -> &[String] {
        &self.state.arguments
    }

    /// The arguments for ROS with which the node ran: as anything in a checkpoint, they may be hostile.
    pub fn ros_arguments(&self) -> &[String] {
        &self.state.ros_arguments
    }

    /// The graphs in which it was.
    pub fn graphs(&self) -> runnel::Graphs {
        self.state.graphs.into()
    }

    /// Bytes of its linear memory.
    pub fn memory_size(&self) -> usize {
        self.memory.size()
    }
}
