//! Callbacks of the program that accept or follow changes of a node's parameters.

use std::fmt;
use std::sync::{Arc, Weak};

use super::{NodeParameters, Parameter};
use crate::sync::TryMutex;

/// Identifies a callback of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallbackId(u64);

/// May change the list of parameters that are to be set.
type PreSet = dyn FnMut(&mut Vec<Parameter>) + Send;
/// Accepts parameters, or refuses them with a reason.
type OnSet = dyn FnMut(&[Parameter]) -> Result<(), String> + Send;
/// Follows parameters that were set.
type PostSet = dyn FnMut(&[Parameter]) + Send;

/// A callback. Changes of a node's parameters follow each other, so one thread at a time calls it.
#[derive(Clone)]
pub(super) enum Callback {
    Edit(Arc<TryMutex<Box<PreSet>>>),
    Validate(Arc<TryMutex<Box<OnSet>>>),
    Follow(Arc<TryMutex<Box<PostSet>>>),
}

/// The callbacks of a node. The one that was added last comes first.
#[derive(Default)]
pub(super) struct Callbacks {
    all: Vec<(CallbackId, Callback)>,
    added: u64,
}

impl Callbacks {
    pub(super) fn add(&mut self, callback: Callback) -> CallbackId {
        self.added += 1;
        let id = CallbackId(self.added);
        self.all.insert(0, (id, callback));
        id
    }

    /// Removes a callback. The caller drops it without locks, since it owns data of the program.
    pub(super) fn remove(&mut self, id: CallbackId) -> Option<Callback> {
        let index = self.all.iter().position(|(of, _)| *of == id)?;
        Some(self.all.remove(index).1)
    }

    /// All callbacks, in the order in which they are called.
    pub(super) fn snapshot(&self) -> Vec<Callback> {
        self.all.iter().map(|(_, callback)| callback.clone()).collect()
    }
}

/// Calls the pre-set callbacks among these.
pub(super) fn pre_set(callbacks: &[Callback], parameters: &mut Vec<Parameter>) {
    for callback in callbacks {
        if let Callback::Edit(callback) = callback
            && let Some(mut callback) = callback.try_lock()
        {
            callback(parameters);
        }
    }
}

/// Calls the on-set callbacks among these until one refuses.
pub(super) fn on_set(callbacks: &[Callback], parameters: &[Parameter]) -> Result<(), String> {
    for callback in callbacks {
        if let Callback::Validate(callback) = callback
            && let Some(mut callback) = callback.try_lock()
        {
            callback(parameters)?;
        }
    }
    Ok(())
}

/// Calls the post-set callbacks among these.
pub(super) fn post_set(callbacks: &[Callback], parameters: &[Parameter]) {
    for callback in callbacks {
        if let Callback::Follow(callback) = callback
            && let Some(mut callback) = callback.try_lock()
        {
            callback(parameters);
        }
    }
}

/// A callback for changes of a node's parameters. It is removed when this is dropped.
#[must_use = "a callback is removed when this is dropped: bind it to a name, `let _limits = ...`, not `let _ = ...`"]
pub struct ParameterCallbackHandle {
    of: Weak<NodeParameters>,
    id: CallbackId,
}

impl ParameterCallbackHandle {
    pub(crate) fn new(of: &Arc<NodeParameters>, id: CallbackId) -> Self {
        Self { of: Arc::downgrade(of), id }
    }
}

impl Drop for ParameterCallbackHandle {
    fn drop(&mut self) {
        if let Some(parameters) = self.of.upgrade() {
            parameters.remove_callback(self.id);
        }
    }
}

impl fmt::Debug for ParameterCallbackHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParameterCallbackHandle").finish_non_exhaustive()
    }
}
