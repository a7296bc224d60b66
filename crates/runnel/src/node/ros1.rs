//! A node's part in the ROS 1 graph: an engine with two listeners, and the master's answers.

use std::net::SocketAddr;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::{Listener, host};
use runnel_ros1::node::{Limits, Node as Ros1Node, NodeConfig, Port, Role};
use runnel_ros1::rpc::CallError;

use super::NodeInner;
use crate::driver::{Driver, Ros1End};
use crate::error::{Error, Ros1Feature};
use crate::rtps::random_dual_node_id;
use crate::runtime::shared::Shared;
use crate::settings::environment::Ros1Settings;
use crate::types::announced::Topic;

/// Time for the master to answer a registration before the program continues without it.
const REGISTRATION: Duration = Duration::from_secs(10);

/// How long a call that waits for the master waits before the next attempt.
const MASTER_RETRY: Duration = Duration::from_millis(500);

/// Creates the ROS 1 end of a node. `dual_node_id` identifies the node if it is also in ROS 2.
pub(super) fn end(
    shared: &Shared,
    settings: &Ros1Settings,
    name: &str,
    dual_node_id: Option<u64>,
) -> Result<Ros1End, Error> {
    let bind = SocketAddr::new(settings.bind, 0);
    let listen = || {
        let what = |error| Error::io(format_args!("node {name} cannot listen on {}", bind.ip()), &error);
        Listener::bind(bind).map_err(what)
    };
    let (rpc, tcpros) = (listen()?, listen()?);
    let standby_name = standby_name(shared, name)?;
    let config = NodeConfig {
        name: name.to_owned(),
        host: settings.host.clone(),
        rpc_port: rpc.address().port(),
        tcpros_port: tcpros.address().port(),
        master: settings.master.clone(),
        pid: host::pid(),
        limits: limits(),
        same_host: shared.event_loop.driver().ipc_connections.same_host(),
        dual_node_id,
        standby_name,
    };
    let listeners = vec![(rpc, Port::Rpc), (tcpros, Port::Tcpros)];
    let engine = Box::new(Ros1Node::new(config));
    Ok(Ros1End { engine, listeners, awaits_master: !settings.wait_for_master })
}

/// The name by which the master knows a node that stands by: one that no other node has.
fn standby_name(shared: &Shared, name: &str) -> Result<Option<String>, Error> {
    let named = |number: u64| format!("{name}_standby_{number:016x}");
    let number = shared.standby.stand_by().then(random_dual_node_id).transpose()?;
    Ok(number.map(named))
}

/// Limits of what peers can make a node hold. Its own calls and links use descriptors, too.
fn limits() -> Limits {
    let limits = Limits::default();
    Limits { subscribers: host::connections_for_peers(limits.subscribers, 2), ..limits }
}

impl NodeInner {
    /// Whether the node is in the ROS 1 graph.
    pub(crate) fn is_in_ros1(&self) -> bool {
        self.context.shared.settings.ros1.is_some()
    }

    /// Whether the node is in the ROS 2 graph.
    pub(crate) fn is_in_ros2(&self) -> bool {
        self.context.shared.settings.ros2.is_some()
    }

    /// # Errors
    /// When the node is not in ROS 1, which the feature requires.
    pub(crate) fn needs_ros1(&self, feature: impl FnOnce() -> Ros1Feature) -> Result<(), Error> {
        if self.is_in_ros1() { Ok(()) } else { Err(Error::Ros1Only { feature: feature() }) }
    }

    /// Calls `work` with the node's engine.
    ///
    /// # Errors
    /// When the node has ended.
    pub(crate) fn engine<T>(
        &self,
        driver: &mut Driver,
        work: impl FnOnce(&mut Ros1Node, Instant) -> T,
    ) -> Result<T, Error> {
        driver.with_ros1(self.key, work).ok_or(Error::ShuttingDown)
    }

    /// Waits until the master has answered for a topic or is unreachable. Returns at once if the topic is not in ROS 1.
    pub(crate) fn wait_topic_registered(&self, role: Role, topic: &Topic) -> Result<(), Error> {
        if topic.ros1.is_some() { self.wait_registered(role, &topic.name) } else { Ok(()) }
    }

    /// Waits until the master has answered or is unreachable. Returns at once if the node is not in ROS 1.
    pub(crate) fn wait_registered(&self, role: Role, name: &str) -> Result<(), Error> {
        // The master does not get the services and parameters of a node that stands by.
        let waits =
            !matches!(role, Role::Service | Role::Parameter) || !self.context.shared.standby.stand_by();
        if !self.is_in_ros1() || !waits {
            return Ok(());
        }
        let (key, wanted) = (self.key, (role, name.to_owned()));
        let mut registered = Ok(());
        self.context.shared.wait(REGISTRATION, |driver| {
            let Some(slot) = driver.nodes.get_mut(key) else { return true };
            match slot.answered.get(&wanted) {
                Some(Some(why)) => registered = Err(Error::Refused(format!("{name}: {why}"))),
                Some(None) => {}
                None if slot.stopped.is_some() => registered = Err(Error::ShuttingDown),
                None => return slot.unreachable.is_some() || slot.awaits_master,
            }
            true
        })?;
        registered
    }

    /// Whether a call of the parameter API that failed in this way is to be repeated until there is a master. A call
    /// that the master may have carried out is not.
    pub(crate) fn waits_for_master(&self, why: &CallError) -> bool {
        let settings = &self.context.shared.settings;
        let waits = settings.ros1.as_ref().is_some_and(|ros1| ros1.wait_for_master);
        waits && settings.ros2.is_none() && matches!(why, CallError::Unreachable { .. }) && self.context.ok()
    }

    /// Waits until it is time to call the master again. Warns unless the node has warned already.
    ///
    /// # Errors
    /// When the context or the node ends first.
    pub(crate) fn wait_for_master(&self, why: &CallError) -> Result<(), Error> {
        let mut driver = self.driver();
        let slot = driver.nodes.get_mut(self.key).ok_or(Error::ShuttingDown)?;
        slot.master_unreachable(&why.call().uri, &why.clone().into());
        drop(driver);
        let mut ended = false;
        self.context.shared.wait(MASTER_RETRY, |driver| {
            let slot = driver.nodes.get(self.key).filter(|slot| slot.stopped.is_none());
            ended = slot.is_none();
            slot.is_none_or(|slot| slot.unreachable.is_none())
        })?;
        if ended || !self.context.ok() { Err(Error::ShuttingDown) } else { Ok(()) }
    }

    /// The master has answered a call of the parameter API.
    pub(crate) fn master_answered(&self) {
        if let Some(slot) = self.driver().nodes.get_mut(self.key) {
            slot.unreachable = None;
        }
    }
}
