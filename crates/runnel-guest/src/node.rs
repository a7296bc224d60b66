//! Nodes.

use std::fmt;
use std::sync::Arc;

use runnel_core::time::Time;
use runnel_core::wire::Encoding;

use crate::abi::Handle;
use crate::context::Context;
use crate::entity::Entity;
use crate::error::Error;
use crate::host;
use crate::logger::Logger;

/// A node of the ROS graph. It leaves the graph when its last handle is dropped, including those in its publishers,
/// subscriptions, services, clients and timers.
#[derive(Clone)]
#[must_use = "a node leaves the graph when its last handle is dropped: bind it to a name, `let node = ...`, not `let _ = ...`"]
pub struct Node {
    inner: Arc<NodeInner>,
}

struct NodeInner {
    entity: Entity,
    context: Context,
    full_name: String,
    logger: Logger,
}

impl Context {
    /// Creates a node. `name` may be absolute. Arguments of the host can rename it and change its namespace.
    ///
    /// # Errors
    /// When the name is not valid, there is a node of that name, or the manifest allows no more nodes.
    pub fn create_node(&self, name: &str) -> Result<Node, Error> {
        let handle = host::create_node(name)?;
        let entity = Entity::new(handle);
        let full_name = host::node_name(handle)?;
        let logger = Logger::new(handle);
        Ok(Node { inner: Arc::new(NodeInner { entity, context: self.clone(), full_name, logger }) })
    }
}

impl Node {
    /// The node's name with its namespace, such as `/robot/camera`.
    pub fn full_name(&self) -> &str {
        &self.inner.full_name
    }

    /// The node's name without its namespace.
    pub fn name(&self) -> &str {
        self.full_name().rsplit('/').next().unwrap_or_default()
    }

    /// The node's namespace, such as `/robot` or `/`.
    pub fn namespace(&self) -> &str {
        match self.full_name().rsplit_once('/') {
            Some((namespace, _)) if !namespace.is_empty() => namespace,
            _ => "/",
        }
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
        self.context().now()
    }

    /// The absolute name of `name` in this node, after remapping.
    ///
    /// # Errors
    /// When it is not a valid name.
    pub fn resolve(&self, name: &str) -> Result<String, Error> {
        host::resolve(self.handle(), name)
    }

    pub(crate) fn handle(&self) -> Handle {
        self.inner.entity.handle()
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.context().encoding()
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("name", &self.full_name()).finish_non_exhaustive()
    }
}
