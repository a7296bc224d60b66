//! Names of frames, and their numbers.

use std::collections::HashMap;
use std::sync::Arc;

/// Number of a frame in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FrameId(u32);

impl FrameId {
    /// Position of the frame in tables.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// See the module's documentation. Numbers are given in order from 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrameNames {
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, FrameId>,
}

impl FrameNames {
    /// The number of a frame.
    pub(crate) fn find(&self, name: &str) -> Option<FrameId> {
        self.ids.get(name).copied()
    }

    /// The number of a frame, which is added if it is new. `None` if there are `limit` frames.
    pub(crate) fn find_or_add(&mut self, name: &str, limit: usize) -> Option<FrameId> {
        if let Some(id) = self.find(name) {
            return Some(id);
        }
        let id = FrameId(u32::try_from(self.len()).ok().filter(|_| self.len() < limit)?);
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.ids.insert(name, id);
        Some(id)
    }

    /// The name of a frame; empty if it has another buffer's number.
    pub(crate) fn name(&self, id: FrameId) -> &str {
        self.names.get(id.index()).map_or("", |name| name)
    }

    /// Frames.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// All frames in the order in which they became known.
    pub(crate) fn all(&self) -> impl Iterator<Item = (FrameId, &str)> {
        (0..).map(FrameId).zip(self.names.iter().map(|name| &**name))
    }
}
