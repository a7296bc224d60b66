//! Parameters: those of the master's parameter server or, without it, the node's own.

mod arguments;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::names::{self, NameUse};
use runnel_ros1::answer::{Answer, SUCCESS};
use runnel_ros1::node::Role;
use runnel_ros1::xmlrpc::Value;

use crate::callback_group::CallbackGroup;
use crate::data::WatchCore;
use crate::error::{Error, Ros1Feature};
use crate::node::options::WatchOptions;
use crate::node::{Node, NodeInner};
use crate::parameters::parameter_value::{FromParameter, OutOfRange, ParameterValue, wanted_type};
use crate::ready::Dispatch;
use crate::settings::environment::Graphs;
use crate::time::ros_clock::USE_SIM_TIME;
pub(crate) use arguments::ros1_value;

/// How long to wait for an answer of the master.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Parameters that ROS 1 nodes share. The node's own parameters are [others](Node#parameters).
impl Node {
    /// The value of a parameter; `None` if it is not set. `~name` is below the node's own name.
    ///
    /// A node that is only in ROS 2 has only its own parameters, as in rclcpp: `rate` and `~rate` are the same there,
    /// and a name may contain points, `limits.speed`. Before their [declaration](Self::declare_parameter) they have the
    /// values that the arguments give them: `-p rate:=5`, `_rate:=5`, or a file (`--params-file`). In both graphs, these
    /// values are used while no master answers. A node that is only in ROS 1
    /// waits for its master, without limit, unless [`ContextOptions::wait_for_master`](crate::ContextOptions::wait_for_master)
    /// is false; a shutdown ends the wait with [`Error::ShuttingDown`]. The other methods for parameters do the same.
    ///
    /// # Errors
    /// If the name is not valid, the master does not answer ([`Error::NoMaster`] if the node is in both graphs), or
    /// the value is of another type ([`Error::Parameter`]); in ROS 2, if the name is absolute and not below the node's
    /// own ([`Error::Ros1Only`]).
    pub fn get_param<T: FromParameter>(&self, name: &str) -> Result<Option<T>, Error> {
        let key = self.param_key(name)?;
        let Some((value, in_master)) = self.value_at(&key)? else { return Ok(None) };
        match T::from_parameter(&value) {
            Some(value) => Ok(Some(value)),
            None => {
                let origin = match in_master {
                    true => "parameter server".to_owned(),
                    false => self.inner.own_param_origin(&key),
                };
                let (is, value, wanted) = (value.kind(), value.short_text(), wanted_type::<T>());
                Err(Error::Parameter { name: key, is, value, wanted, in_master, origin })
            }
        }
    }

    /// The value of a parameter, or `default` if it is not set. A node in both graphs also gets the default while no
    /// master answers; a warning is logged then.
    ///
    /// # Errors
    /// As [`Node::get_param`], except [`Error::NoMaster`].
    pub fn param<T: FromParameter>(&self, name: &str, default: T) -> Result<T, Error> {
        match self.get_param(name) {
            Err(Error::NoMaster { what, uri, .. }) => {
                let advice = format_args!("{what}: no master answers at {uri}; using the default");
                self.inner.log().log_library(log::Level::Warn, advice);
                Ok(default)
            }
            value => Ok(value?.unwrap_or(default)),
        }
    }

    /// Sets a parameter, or with a [`ParameterValue::Map`] all parameters below a name. A parameter that the node has
    /// [declared](Self::declare_parameter) is set as by [`set_parameter`](Self::set_parameter).
    ///
    /// # Errors
    /// If the name is not valid, or the master refuses or does not answer; [`Error::ParameterRange`] if an integer
    /// exceeds the 32 bits of ROS 1; in ROS 2, [`Error::NodeParameter`] if the node has not declared the parameter, and
    /// [`Error::Ros1Only`] if it is not below the node's name.
    pub fn set_param(&self, name: &str, value: impl Into<ParameterValue>) -> Result<(), Error> {
        let key = self.param_key(name)?;
        if let Some(own) = self.inner.own_name_to_set(&key)? {
            return self.set_parameter(&own, value);
        }
        let value = value.into().into_ros1().map_err(|OutOfRange { at, number }| Error::ParameterRange {
            name: format!("{key}{at}"),
            value: number,
        })?;
        self.change_at_master("setParam", &[key.into(), value])
    }

    /// Whether a parameter, or one below it, is set.
    ///
    /// # Errors
    /// If the name is not valid, or as [`Node::get_param`].
    pub fn has_param(&self, name: &str) -> Result<bool, Error> {
        let key = self.param_key(name)?;
        if !self.inner.is_in_ros1() {
            return Ok(self.inner.own_param(&key)?.is_some());
        }
        match self.query_master("hasParam", &[key.as_str().into()]) {
            Ok((_, value)) => Ok(value == Value::Bool(true)),
            Err(error) => self.own_param_without_master(&key, error).map(|_| true),
        }
    }

    /// Deletes a parameter and all below it. False if it was not set.
    ///
    /// # Errors
    /// As [`Node::set_param`].
    pub fn delete_param(&self, name: &str) -> Result<bool, Error> {
        let key = self.resolve_for(NameUse::Parameter, name)?;
        self.inner.needs_ros1(|| Ros1Feature::SharedParameter(key.clone()))?;
        Ok(self.query_master("deleteParam", &[key.into()])?.0)
    }

    /// The full name of the nearest parameter of this name: in the node's own namespace, then in the enclosing ones.
    ///
    /// # Errors
    /// [`Error::Call`] if the master does not answer, [`Error::NoMaster`] instead if the node is in both graphs;
    /// [`Error::Refused`] if its answer cannot be read; [`Error::ShuttingDown`] when the context ends before there is a
    /// master; [`Error::Ros1Only`] if the node is only in ROS 2.
    pub fn search_param(&self, name: &str) -> Result<Option<String>, Error> {
        self.inner.needs_ros1(|| Ros1Feature::SharedParameter(name.to_owned()))?;
        let (found, value) = self.query_master("searchParam", &[name.into()])?;
        Ok(value.as_str().filter(|_| found).map(str::to_owned))
    }

    /// The names of all parameters.
    ///
    /// # Errors
    /// [`Error::Call`] if the master does not answer, [`Error::NoMaster`] instead if the node is in both graphs;
    /// [`Error::Refused`] if its answer cannot be read; [`Error::ShuttingDown`] when the context ends before there is a
    /// master; [`Error::Ros1Only`] if the node is only in ROS 2.
    pub fn param_names(&self) -> Result<Vec<String>, Error> {
        let (_, value) = self.query_master("getParamNames", &[])?;
        let names = value.as_array().unwrap_or_default().iter();
        Ok(names.filter_map(|name| name.as_str().map(str::to_owned)).collect())
    }

    /// Calls `callback` with the current value of a parameter and with each later one, on a spinning thread. It gets
    /// the name, which may be that of a parameter below the watched one, and the value, `None` if it is not set. The
    /// name may be given as [`WatchOptions`].
    ///
    /// # Errors
    /// If the name is not valid, or the master refuses; [`Error::Ros1Only`] if the node is only in ROS 2.
    pub fn watch_param(
        &self,
        name: impl Into<WatchOptions>,
        callback: impl FnMut(&str, Option<&ParameterValue>) + Send + 'static,
    ) -> Result<ParamWatch, Error> {
        let WatchOptions { of: name, group } = name.into();
        let key = self.resolve_for(NameUse::Parameter, &name)?;
        self.inner.needs_ros1(|| Ros1Feature::SharedParameter(key.clone()))?;
        let group = CallbackGroup::for_entity(group.as_ref());
        let core = WatchCore::new(key, (self.inner.executor_dispatch(), &group), callback);
        let watch = ParamWatch { node: Arc::clone(&self.inner), core };
        if self.inner.add_watch(&watch.core)? {
            self.inner.wait_registered(Role::ParamSubscriber, &watch.core.key)?;
        } else {
            // The master sends the current value once per key and node.
            let value = self.value_at(&watch.core.key)?;
            watch.core.changed(&watch.core.key, value.map(|(value, _)| value));
        }
        Ok(watch)
    }

    /// The absolute name of a parameter. In ROS 2 a relative name is below the node's own, with points as separators.
    fn param_key(&self, name: &str) -> Result<String, Error> {
        if self.inner.is_in_ros1() || name.starts_with('/') {
            return self.resolve_for(NameUse::Parameter, name);
        }
        let own = name.strip_prefix('~').unwrap_or(name).replace('.', "/");
        let below = names::resolve(&self.inner.namespace, &self.inner.name, &format!("~{own}"))?;
        Ok(below)
    }

    /// The value of an absolute name, and whether it is from the master.
    fn value_at(&self, key: &str) -> Result<Option<(ParameterValue, bool)>, Error> {
        if !self.inner.is_in_ros1() {
            return Ok(self.inner.own_param(key)?.map(|value| (value, false)));
        }
        match self.query_master("getParam", &[key.into()]) {
            Ok((granted, value)) => Ok(granted.then(|| (value.into(), true))),
            Err(error) => self.own_param_without_master(key, error).map(|value| Some((value, false))),
        }
    }

    /// The node's own value of a parameter, if there is no master to ask; else the error.
    fn own_param_without_master(&self, key: &str, error: Error) -> Result<ParameterValue, Error> {
        if !matches!(error, Error::NoMaster { .. }) {
            return Err(error);
        }
        self.inner.own_param(key).ok().flatten().ok_or(error)
    }

    /// The value of an answer; true if the master granted the request.
    pub(crate) fn query_master(&self, method: &str, params: &[Value]) -> Result<(bool, Value), Error> {
        self.call_master_method(method, params).map(|(granted, _, value)| (granted, value))
    }

    fn change_at_master(&self, method: &str, params: &[Value]) -> Result<(), Error> {
        match self.call_master_method(method, params)? {
            (true, ..) => Ok(()),
            (false, why, _) => {
                let name = params.first().and_then(Value::as_str).unwrap_or(method);
                Err(Error::Refused(format!("parameter {name}: {why}")))
            }
        }
    }

    fn call_master_method(&self, method: &str, params: &[Value]) -> Result<(bool, String, Value), Error> {
        let params = [&[Value::from(self.full_name())], params].concat();
        let no_master = |error| match error {
            Error::Call(why) if self.context().graphs() == Graphs::Both => {
                let name = params.get(1).and_then(Value::as_str);
                let what = name.map_or_else(|| method.to_owned(), |name| format!("parameter {name}"));
                Error::NoMaster { what, uri: self.context().master_uri().to_string(), why: Box::new(why) }
            }
            error => error,
        };
        let answer = self.ask_master(method, &params).map_err(no_master)?;
        let odd = |error| Error::Refused(format!("{method}: {error}"));
        let Answer { status, message, value } = Answer::parse(&answer).map_err(odd)?;
        Ok((status == SUCCESS, message.to_owned(), value.clone()))
    }
}

/// Waiting for the master.
impl Node {
    /// Calls the master, after waiting for it if the node is only in ROS 1, as roscpp does.
    fn ask_master(&self, method: &str, params: &[Value]) -> Result<Value, Error> {
        let mut waited = false;
        loop {
            match self.context().call_master(method, params, TIMEOUT) {
                Err(Error::Call(why)) if self.inner.waits_for_master(&why) => {
                    self.inner.wait_for_master(&why)?;
                    waited = true;
                }
                Ok(answer) => {
                    if waited {
                        self.inner.master_answered();
                    }
                    return Ok(answer);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl NodeInner {
    /// Follows from now on whether time is simulated. Returns when the master has answered, or cannot.
    pub(crate) fn follow_sim_time(&self) -> Result<(), Error> {
        if !self.context.shared.sim_time || !self.options.sim_time {
            return Ok(());
        }
        if !self.is_in_ros1() {
            return Ok(());
        }
        if let Some(slot) = self.driver().nodes.get_mut(self.key) {
            slot.follows_sim_time = true;
        }
        // The driver handles the value. The watch makes the master send it, and again for a watch of the user.
        let nothing = Box::new(|_: &str, _: Option<&ParameterValue>| {});
        let scheduling = (Dispatch::Inline, &CallbackGroup::for_entity(None));
        self.add_watch(&WatchCore::new(USE_SIM_TIME.to_owned(), scheduling, nothing))?;
        self.wait_registered(Role::ParamSubscriber, USE_SIM_TIME)
    }

    /// Adds a watch. True if it is the first of its key, so that the master sends the current value.
    pub(crate) fn add_watch(&self, core: &Arc<WatchCore>) -> Result<bool, Error> {
        let mut driver = self.driver();
        let slot = driver.nodes.get_mut(self.key).ok_or(Error::ShuttingDown)?;
        let first = !slot.watches.iter().any(|other| other.key == core.key);
        slot.watches.push(Arc::clone(core));
        if first {
            slot.begin(Role::ParamSubscriber, &core.key);
            self.engine(&mut driver, |node, now| node.watch_parameter(now, &core.key))?;
        }
        Ok(first)
    }

    fn remove_watch(&self, core: &Arc<WatchCore>) {
        let mut driver = self.driver();
        let Some(slot) = driver.nodes.get_mut(self.key) else { return };
        slot.watches.retain(|other| !Arc::ptr_eq(other, core));
        if !slot.watches.iter().any(|other| other.key == core.key) {
            // The node may be closed already, and is then unsubscribed.
            let _ = self.engine(&mut driver, |node, now| node.unwatch_parameter(now, &core.key));
        }
    }
}

/// A watched parameter. Dropping it abandons the watch.
#[must_use = "a watch is abandoned when it is dropped: bind it to a name, `let _changes = ...`, not `let _ = ...`"]
pub struct ParamWatch {
    node: Arc<NodeInner>,
    core: Arc<WatchCore>,
}

impl ParamWatch {
    /// The parameter's absolute name.
    pub fn name(&self) -> &str {
        &self.core.key
    }

    /// The number of changes dropped, oldest first, because the callback was too slow.
    pub fn dropped(&self) -> u64 {
        self.core.changes.dropped()
    }
}

impl fmt::Debug for ParamWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParamWatch").field("name", &self.core.key).finish_non_exhaustive()
    }
}

impl Drop for ParamWatch {
    fn drop(&mut self) {
        self.node.remove_watch(&self.core);
        self.core.changes.forget();
    }
}
