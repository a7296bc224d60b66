//! The parameters of a node as its threads share them: changes follow each other, each with its callbacks.

use std::sync::Arc;

use runnel_msgs::rcl_interfaces::msg::{ListParametersResult, ParameterDescriptor};

use super::callbacks::{Callback, CallbackId, Callbacks, on_set, post_set, pre_set};
use super::store::{Change, Store};
use super::{Override, Overrides, Parameter};
use crate::error::ParameterError;
use crate::parameters::parameter_value::ParameterValue;
use crate::ready::thread_token;
use crate::sync::{Class, Condvar, Mutex, TryMutex, lock};

/// Follows every change of a node's parameters.
pub(crate) type Observer = dyn Fn(&Change) + Send + Sync;

/// See the module's documentation.
pub(crate) struct NodeParameters {
    state: Mutex<State>,
    /// Notified when a change ends.
    changed: Condvar,
}

struct State {
    store: Store,
    callbacks: Callbacks,
    observers: Vec<Arc<Observer>>,
    /// The thread that changes parameters now, without the lock while it runs callbacks.
    changing: Option<usize>,
}

/// A change in progress. Others wait for its end.
struct Changing<'a>(&'a NodeParameters);

impl NodeParameters {
    pub(crate) fn new(overrides: Overrides, allow_undeclared: bool) -> Arc<Self> {
        let store = Store::new(overrides, allow_undeclared);
        let state = State { store, callbacks: Callbacks::default(), observers: Vec::new(), changing: None };
        Arc::new(Self { state: Mutex::new(Class::NodeParameters, state), changed: Condvar::new() })
    }

    /// Adds an observer of changes. It may lock anything.
    pub(crate) fn add_observer(&self, observer: Arc<Observer>) {
        lock(&self.state).observers.push(observer);
    }

    pub(crate) fn allow_undeclared(&self, allowed: bool) {
        lock(&self.state).store.allow_undeclared(allowed);
    }

    /// Declares a parameter with a default, or without a value. `further` is an override that the arguments' precede.
    ///
    /// # Errors
    /// If it is declared already, a value does not fit, or a callback refuses it.
    pub(crate) fn declare(
        &self,
        descriptor: ParameterDescriptor,
        default: Option<ParameterValue>,
        ignore_override: bool,
        further: Option<Override>,
    ) -> Result<Option<ParameterValue>, ParameterError> {
        let changing = self.begin_change()?;
        let value = {
            let state = lock(&self.state);
            state.store.initial_value(&descriptor, default, ignore_override, further)?
        };
        let callbacks = changing.callbacks();
        let parameters = value.clone().map(|value| Parameter::new(&descriptor.name, value));
        let parameters: Vec<Parameter> = parameters.into_iter().collect();
        if !parameters.is_empty() {
            on_set(&callbacks, &parameters).map_err(|reason| ParameterError::Refused { reason })?;
        }
        let change = lock(&self.state).store.declare(descriptor, value.clone());
        changing.end(&callbacks, &parameters, &change);
        Ok(value)
    }

    /// Removes a parameter's declaration. No callback is asked.
    ///
    /// # Errors
    /// If it is not declared, or read-only.
    pub(crate) fn undeclare(&self, name: &str) -> Result<(), ParameterError> {
        let changing = self.begin_change()?;
        let change = lock(&self.state).store.undeclare(name)?;
        changing.end(&[], &[], &change);
        Ok(())
    }

    /// Sets all of these parameters, or none.
    ///
    /// # Errors
    /// The first that cannot be set, or the reason of a callback.
    pub(crate) fn set_atomically(&self, parameters: Vec<Parameter>) -> Result<(), ParameterError> {
        self.begin_change()?.set(parameters)
    }

    /// Sets a parameter if `is_wanted` says so once no other change is in progress.
    ///
    /// # Errors
    /// As [`set_atomically`](Self::set_atomically).
    pub(crate) fn set_if(
        &self,
        parameter: Parameter,
        is_wanted: impl FnOnce() -> bool,
    ) -> Result<(), ParameterError> {
        let changing = self.begin_change()?;
        if is_wanted() { changing.set(vec![parameter]) } else { Ok(()) }
    }

    /// Calls `with` with the value of a parameter, if it has one, while no other change is in progress.
    pub(crate) fn with_value(&self, name: &str, with: impl FnOnce(&ParameterValue)) {
        let Ok(_changing) = self.begin_change() else { return };
        if let Ok(Some(value)) = self.get(name) {
            with(&value);
        }
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// As [`set_atomically`](Self::set_atomically).
    pub(crate) fn set(&self, parameter: Parameter) -> Result<(), ParameterError> {
        self.set_atomically(vec![parameter])
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        lock(&self.state).store.has(name)
    }

    /// The value of a parameter.
    ///
    /// # Errors
    /// If it is not declared, or has no value although its type is static.
    pub(crate) fn get(&self, name: &str) -> Result<Option<ParameterValue>, ParameterError> {
        lock(&self.state).store.get(name).map(Option::<&_>::cloned)
    }

    /// Parameters below a prefix that have a value, by the rest of their names. An empty prefix selects all.
    pub(crate) fn by_prefix(&self, prefix: &str) -> Vec<(String, ParameterValue)> {
        let below = |name: &str| match prefix {
            "" => Some(name.to_owned()),
            _ => name.strip_prefix(prefix)?.strip_prefix('.').map(str::to_owned),
        };
        let state = lock(&self.state);
        let found = state.store.values().filter_map(|(name, value)| Some((below(name)?, value.clone())));
        found.collect()
    }

    /// The descriptor of a parameter.
    ///
    /// # Errors
    /// If it is not declared.
    pub(crate) fn describe(&self, name: &str) -> Result<ParameterDescriptor, ParameterError> {
        lock(&self.state).store.describe(name)
    }

    /// The number of the type of a parameter's value.
    ///
    /// # Errors
    /// If it is not declared.
    pub(crate) fn type_of(&self, name: &str) -> Result<u8, ParameterError> {
        lock(&self.state).store.type_of(name)
    }

    /// Names and their prefixes: see [`ListParameters`](runnel_msgs::rcl_interfaces::srv::ListParameters).
    pub(crate) fn list(&self, prefixes: &[String], depth: u64) -> ListParametersResult {
        lock(&self.state).store.list(prefixes, depth)
    }

    /// The value that files and arguments give a parameter, declared or not.
    pub(crate) fn override_of(&self, name: &str) -> Option<Override> {
        lock(&self.state).store.overrides().get(name).cloned()
    }

    /// The names of all overrides.
    pub(crate) fn override_names(&self) -> Vec<String> {
        lock(&self.state).store.overrides().names().map(str::to_owned).collect()
    }

    pub(crate) fn add_pre_set(
        &self,
        callback: impl FnMut(&mut Vec<Parameter>) + Send + 'static,
    ) -> CallbackId {
        self.add_callback(Callback::Edit(Arc::new(TryMutex::new(Box::new(callback)))))
    }

    pub(crate) fn add_on_set(
        &self,
        callback: impl FnMut(&[Parameter]) -> Result<(), String> + Send + 'static,
    ) -> CallbackId {
        self.add_callback(Callback::Validate(Arc::new(TryMutex::new(Box::new(callback)))))
    }

    pub(crate) fn add_post_set(&self, callback: impl FnMut(&[Parameter]) + Send + 'static) -> CallbackId {
        self.add_callback(Callback::Follow(Arc::new(TryMutex::new(Box::new(callback)))))
    }

    fn add_callback(&self, callback: Callback) -> CallbackId {
        lock(&self.state).callbacks.add(callback)
    }

    pub(super) fn remove_callback(&self, id: CallbackId) {
        let removed = lock(&self.state).callbacks.remove(id);
        // It owns data of the program, so it is dropped without the lock.
        drop(removed);
    }

    /// Waits for the end of a change by another thread, and begins one.
    ///
    /// # Errors
    /// [`ParameterError::ChangedInCallback`] if this thread changes parameters already.
    fn begin_change(&self) -> Result<Changing<'_>, ParameterError> {
        let me = thread_token();
        let mut state = lock(&self.state);
        while let Some(thread) = state.changing {
            if thread == me {
                return Err(ParameterError::ChangedInCallback);
            }
            state = self.changed.wait(state);
        }
        state.changing = Some(me);
        Ok(Changing(self))
    }
}

impl Changing<'_> {
    fn callbacks(&self) -> Vec<Callback> {
        lock(&self.0.state).callbacks.snapshot()
    }

    /// Sets all of these parameters, or none.
    fn set(self, mut parameters: Vec<Parameter>) -> Result<(), ParameterError> {
        let callbacks = self.callbacks();
        pre_set(&callbacks, &mut parameters);
        lock(&self.0.state).store.check(&parameters)?;
        on_set(&callbacks, &parameters).map_err(|reason| ParameterError::Refused { reason })?;
        let change = lock(&self.0.state).store.set(&parameters);
        self.end(&callbacks, &parameters, &change);
        Ok(())
    }

    /// Calls observers and post-set callbacks.
    fn end(self, callbacks: &[Callback], parameters: &[Parameter], change: &Change) {
        let observers = lock(&self.0.state).observers.clone();
        observers.iter().for_each(|observer| observer(change));
        post_set(callbacks, parameters);
    }
}

impl Drop for Changing<'_> {
    /// Also after a callback that panics.
    fn drop(&mut self) {
        lock(&self.0.state).changing = None;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
