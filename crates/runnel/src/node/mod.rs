//! Nodes.

pub(crate) mod callback_output;
pub(crate) mod executor_nodes;
pub(crate) mod graph_options;
pub(crate) mod jump_handler;
pub(crate) mod node_creation;
pub(crate) mod node_options;
pub(crate) mod options;
pub(crate) mod publishing;
mod ros1;
mod standby;
pub(crate) mod timer;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use runnel_core::Message;
use runnel_core::names::{self, NameError, NameErrorKind, NameUse, Remapping};
use runnel_core::schema::Generation;
use runnel_core::time::Time;

use crate::context::Context;
use crate::data::SubscriptionCore;
use crate::driver::{Driver, NodeKey};
use crate::error::Error;
use crate::node::node_options::NodeOptions;
use crate::node_log::{Logger, NodeLog, Rosout};
use crate::parameters::{NodeParameters, Overrides, argument_overrides};
use crate::ready::{Dispatch, NodeQueue};
use crate::rtps::random_dual_node_id;
use crate::runtime::event_loop::DriverGuard;
use crate::sync::{Class, Mutex};
use crate::types::announced::Topic;
use crate::types::type_mapping::TypeMapping;
use publishing::Publishers;

/// A node of the ROS graph. It leaves the graph when its last handle is dropped, including those in its publishers,
/// subscriptions, services, clients, timers and watches.
///
/// # Parameters
/// | To | use |
/// |---|---|
/// | have parameters of the node's own, with types, which other programs may set | [`declare_parameter`](Self::declare_parameter), [`get_parameter`](Self::get_parameter), [`set_parameter`](Self::set_parameter), [`has_parameter`](Self::has_parameter) |
/// | read parameters that ROS 1 nodes share; without a declaration, also values that the arguments give this node | [`param`](Self::param), [`get_param`](Self::get_param), [`has_param`](Self::has_param) |
/// | change parameters that ROS 1 nodes share | [`set_param`](Self::set_param), [`delete_param`](Self::delete_param) |
/// | follow parameters that ROS 1 nodes share | [`watch_param`](Self::watch_param) |
/// | read and set the parameters of another ROS 2 node | [`create_parameter_client`](Self::create_parameter_client) |
#[derive(Clone)]
#[must_use = "a node leaves the graph when its last handle is dropped: bind it to a name, `let node = ...`, not `let _ = ...`"]
pub struct Node {
    pub(crate) inner: Arc<NodeInner>,
}

pub(crate) struct NodeInner {
    pub(crate) context: Context,
    pub(crate) key: NodeKey,
    pub(crate) namespace: String,
    pub(crate) name: String,
    full_name: String,
    pub(crate) logger: Logger,
    pub(crate) options: NodeOptions,
    /// Queue of its callbacks.
    pub(crate) queue: Arc<NodeQueue>,
    /// Its parameters, made when the first is declared, so that a node without any does not link them.
    pub(crate) parameters: OnceLock<Arc<NodeParameters>>,
    /// The parameters that files and arguments give it.
    pub(crate) overrides: Overrides,
    remapping: Remapping,
    /// Locked from the lookup of a publisher end until it is created or removed.
    publishers: Mutex<Publishers>,
}

impl Node {
    /// The node's name with its namespace, such as `/robot/camera`.
    pub fn full_name(&self) -> &str {
        &self.inner.full_name
    }

    /// The node's name without its namespace.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The node's namespace, such as `/robot` or `/`.
    pub fn namespace(&self) -> &str {
        &self.inner.namespace
    }

    /// The node's context.
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// The node's logger, for the macros `log_info!` and the like.
    pub fn logger(&self) -> &Logger {
        &self.inner.logger
    }

    /// The current ROS time: the wall clock or, while the parameter `/use_sim_time` is true, `/clock`.
    pub fn now(&self) -> Time {
        self.inner.context.now()
    }

    /// The absolute name of `name` in this node, after remapping.
    ///
    /// # Errors
    /// When it is not a valid name.
    pub fn resolve(&self, name: &str) -> Result<String, Error> {
        let resolved = names::resolve(&self.inner.namespace, &self.inner.name, name)?;
        Ok(self.inner.remapping.remap(&resolved).to_owned())
    }

    /// As [`Node::resolve`]; an error says what the name is for. An empty name would resolve to the namespace, which is not
    /// a topic, service or action.
    pub(crate) fn resolve_for(&self, used_for: NameUse, name: &str) -> Result<String, Error> {
        let refused = |kind| NameError { used_for, name: name.to_owned(), kind }.into();
        if name.is_empty() && used_for != NameUse::Parameter {
            return Err(refused(NameErrorKind::Empty));
        }
        match self.resolve(name) {
            Err(Error::Name(error)) => Err(error.used_for(used_for).into()),
            Ok(resolved) if resolved == "/" && used_for != NameUse::Parameter => {
                Err(refused(NameErrorKind::TrailingSlash))
            }
            resolved => resolved,
        }
    }

    /// The absolute name of a topic.
    pub(crate) fn topic_name(&self, topic: &str) -> Result<String, Error> {
        self.resolve_for(NameUse::Topic, topic)
    }

    /// The absolute name of a service.
    pub(crate) fn service_name(&self, service: &str) -> Result<String, Error> {
        self.resolve_for(NameUse::Service, service)
    }

    pub(crate) fn topic_of<M: Message>(&self, topic: &str) -> Result<Topic, Error> {
        Ok(Topic::of::<M>(self.topic_name(topic)?))
    }

    /// A topic whose type is known only at run time.
    ///
    /// # Errors
    /// When the type exists in none of the node's graphs.
    pub(crate) fn topic_of_mapping(&self, topic: &str, mapping: &TypeMapping) -> Result<Topic, Error> {
        let name = self.topic_name(topic)?;
        let settings = &self.inner.context.shared.settings;
        let why_not = |generation| mapping.in_generation(generation).err();
        let missing = [
            why_not(Generation::Ros1).filter(|_| settings.ros1.is_some()),
            why_not(Generation::Ros2).filter(|_| settings.ros2.is_some()),
        ];
        let type_name = &mapping.own().def.name;
        let graphs = usize::from(settings.ros1.is_some()) + usize::from(settings.ros2.is_some());
        let missing: Vec<String> = missing.into_iter().flatten().collect();
        if missing.len() == graphs
            && let Some(why) = missing.first()
        {
            return Err(Error::NotInGraph { what: format!("topic {name} of type {type_name} ({why})") });
        }
        for why in missing {
            let line = format_args!("topic {name} of type {type_name} is only in one graph: {why}");
            self.inner.log().log_library(log::Level::Warn, line);
        }
        Ok(Topic::of_mapping(name, mapping))
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("name", &self.inner.full_name).finish_non_exhaustive()
    }
}

impl NodeInner {
    /// Dispatch of callbacks to the node's executor.
    pub(crate) fn executor_dispatch(&self) -> Dispatch {
        Dispatch::Executor(Arc::clone(&self.queue))
    }

    /// Joins the node's graphs.
    pub(crate) fn join(
        context: Context,
        namespace: String,
        name: &str,
        options: NodeOptions,
    ) -> Result<Self, Error> {
        let shared = &context.shared;
        let arguments = options.arguments(shared);
        let remapping = arguments.remapping(&namespace, name)?;
        let full_name = names::resolve(&namespace, name, name)?;
        let files = options.use_global_arguments.then_some(&shared.settings.params);
        let overrides = argument_overrides(files, arguments, &full_name, name)?;
        let (graphs, clock) = (shared.settings.graphs(), Arc::clone(&shared.clock));
        let (reactor, pool) = (Arc::clone(&shared.reactor), Arc::clone(&shared.pool));
        let has_rosout = shared.rosout && options.enable_rosout && !arguments.disable_rosout_logs;
        let rosout_qos = options.rosout_qos;
        let rosout = has_rosout.then(|| Rosout::new(graphs, rosout_qos, &full_name, reactor, pool));
        let destinations = Arc::clone(&shared.log_destinations);
        let log = NodeLog::new(&full_name, clock, rosout, destinations, arguments)?;
        let ros1 = shared.settings.ros1.as_ref();
        let is_in_ros2 = shared.settings.ros2.is_some();
        let dual_node_id = (ros1.is_some() && is_in_ros2).then(random_dual_node_id).transpose()?;
        // A node that does not wait for a master does not wait for this answer either.
        let waits = dual_node_id.is_some() && ros1.is_some_and(|ros1| ros1.wait_for_master);
        let is_asked = waits && !shared.event_loop.driver().ros2.has_ros1_graph();
        let ros1_graph = if is_asked { context.ros1_graph(&full_name) } else { None };
        let ros1 = ros1.map(|settings| ros1::end(shared, settings, &full_name, dual_node_id)).transpose()?;
        let stands_by = shared.standby.stand_by();
        let mut driver = shared.event_loop.driver();
        if ros1.is_some() && driver.nodes.has(&full_name) {
            return Err(Error::NodeExists { name: full_name });
        }
        let key = driver.add_node(full_name.clone(), ros1, is_in_ros2, dual_node_id)?;
        if let Some(slot) = driver.nodes.get_mut(key) {
            slot.stands_by = stands_by;
        }
        ros1_graph.into_iter().for_each(|ros1_graph| driver.ros2.set_ros1_graph(ros1_graph));
        drop(driver);
        let publishers = Mutex::new(Class::NodePublishers, Publishers::default());
        let (name, logger) = (name.to_owned(), Logger::root(&log));
        let queue = NodeQueue::new(Arc::clone(&context.shared.ready));
        let parameters = OnceLock::new();
        Ok(Self {
            context,
            key,
            namespace,
            name,
            full_name,
            logger,
            options,
            queue,
            parameters,
            overrides,
            remapping,
            publishers,
        })
    }

    pub(crate) fn full_name(&self) -> &str {
        &self.full_name
    }

    pub(crate) fn log(&self) -> &NodeLog {
        self.logger.log_of_node()
    }

    pub(crate) fn driver(&self) -> DriverGuard<'_> {
        self.context.shared.event_loop.driver()
    }

    pub(crate) fn count_publishers_of_this_process(&self, core: &Arc<SubscriptionCore>) -> usize {
        self.driver().nodes.count_publishers_of_this_process(core)
    }

    /// Removes a user's subscription. The last one of a topic also removes its links.
    pub(crate) fn remove_subscription(&self, topic: &str, core: &Arc<SubscriptionCore>) {
        self.driver().remove_subscription(self.key, topic, core);
    }
}

impl Drop for NodeInner {
    fn drop(&mut self) {
        let (shared, key) = (&self.context.shared, self.key);
        self.driver().close_node(key);
        let closed = |driver: &mut Driver| {
            driver.nodes.get_mut(key).is_none_or(|slot| slot.is_closed() && slot.is_acknowledged_in_ros2())
        };
        let _ = shared.wait_through_shutdown(Duration::from_secs(1), closed);
        let removed = self.driver().remove_node(key);
        drop(removed);
    }
}
