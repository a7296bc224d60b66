//! The entities of a guest, by their handles.

use std::sync::Arc;

use runnel::core::schema::{ActionSchema, Schema, ServiceSchema};
use runnel::{
    DynamicActionClient, DynamicActionServer, DynamicClient, DynamicPublisher, Node, ServiceServer,
    Subscription, Timer,
};

use crate::refusal::{Refusal, Refused};

/// What a handle stands for.
pub enum Entity {
    Node(NodeEntity),
    Publisher(DynamicPublisher),
    Subscription(Subscription),
    Client(ClientEntity),
    Service { _server: ServiceServer, schema: Arc<ServiceSchema> },
    ActionClient(ActionClientEntity),
    ActionServer { _server: Box<DynamicActionServer>, schema: Arc<ActionSchema> },
    Timer(Timer),
}

/// A node, and what keeps its callbacks.
pub struct NodeEntity {
    pub node: Node,
    pub _parameters: runnel::ParameterCallbackHandle,
}

/// A client, and the type of its requests.
pub struct ClientEntity {
    pub client: DynamicClient,
    pub schema: Arc<ServiceSchema>,
}

/// An action client, and its types.
pub struct ActionClientEntity {
    pub client: DynamicActionClient,
    pub goal: Arc<Schema>,
}

/// All entities that a guest has created. The handle of an entity is its place, from 1.
pub struct Entities {
    entities: Vec<Option<Entity>>,
    open: usize,
    most: usize,
}

/// Entities that a guest may create in its life, closed ones included: the table grows with them.
const MOST_HANDLES: usize = 1 << 20;

impl Entities {
    pub fn new(most: usize) -> Self {
        Self { entities: Vec::new(), open: 0, most }
    }

    /// The handle of the next entity.
    ///
    /// # Errors
    /// If the guest has as many as it may have.
    pub fn next(&self) -> Result<u32, Refusal> {
        if self.open >= self.most {
            let why = format!("the node has {} entities, as many as limits.entities allows", self.open);
            return Err(Refusal::new(Refused::TooMany, why));
        }
        if self.entities.len() >= MOST_HANDLES {
            return Err(Refusal::new(
                Refused::TooMany,
                format!("the node has created {MOST_HANDLES} entities"),
            ));
        }
        Ok(self.entities.len() as u32 + 1)
    }

    /// Adds an entity at the handle that [`next`](Self::next) returned. Returns it as the status of the function.
    pub fn add(&mut self, entity: Entity) -> i32 {
        self.entities.push(Some(entity));
        self.open += 1;
        self.entities.len() as i32
    }

    pub fn get(&self, handle: u32) -> Option<&Entity> {
        self.entities.get((handle as usize).checked_sub(1)?)?.as_ref()
    }

    /// Removes an entity. Its messages and requests end with it.
    pub fn close(&mut self, handle: u32) -> Result<Entity, Refusal> {
        let place = (handle as usize).checked_sub(1).and_then(|place| self.entities.get_mut(place));
        let entity = place.and_then(Option::take).ok_or_else(|| Refusal::no_such_handle(handle, "entity"))?;
        self.open -= 1;
        Ok(entity)
    }

    pub fn node(&self, handle: u32) -> Result<&Node, Refusal> {
        match self.get(handle) {
            Some(Entity::Node(node)) => Ok(&node.node),
            _ => Err(Refusal::no_such_handle(handle, "node")),
        }
    }

    #[inline]
    pub fn publisher(&self, handle: u32) -> Result<&DynamicPublisher, Refusal> {
        match self.get(handle) {
            Some(Entity::Publisher(publisher)) => Ok(publisher),
            _ => Err(Refusal::no_such_handle(handle, "publisher")),
        }
    }

    pub fn subscription(&self, handle: u32) -> Result<&Subscription, Refusal> {
        match self.get(handle) {
            Some(Entity::Subscription(subscription)) => Ok(subscription),
            _ => Err(Refusal::no_such_handle(handle, "subscription")),
        }
    }

    pub fn client(&self, handle: u32) -> Result<&ClientEntity, Refusal> {
        match self.get(handle) {
            Some(Entity::Client(client)) => Ok(client),
            _ => Err(Refusal::no_such_handle(handle, "client")),
        }
    }

    pub fn service(&self, handle: u32) -> Result<&Arc<ServiceSchema>, Refusal> {
        match self.get(handle) {
            Some(Entity::Service { schema, .. }) => Ok(schema),
            _ => Err(Refusal::no_such_handle(handle, "service")),
        }
    }

    pub fn action_client(&self, handle: u32) -> Result<&ActionClientEntity, Refusal> {
        match self.get(handle) {
            Some(Entity::ActionClient(client)) => Ok(client),
            _ => Err(Refusal::no_such_handle(handle, "action client")),
        }
    }

    pub fn action_server(&self, handle: u32) -> Result<&Arc<ActionSchema>, Refusal> {
        match self.get(handle) {
            Some(Entity::ActionServer { schema, .. }) => Ok(schema),
            _ => Err(Refusal::no_such_handle(handle, "action server")),
        }
    }

    pub fn timer(&self, handle: u32) -> Result<&Timer, Refusal> {
        match self.get(handle) {
            Some(Entity::Timer(timer)) => Ok(timer),
            _ => Err(Refusal::no_such_handle(handle, "timer")),
        }
    }

    /// Closes all, the latest first.
    pub fn close_all(&mut self) {
        while let Some(entity) = self.entities.pop() {
            drop(entity);
        }
        self.open = 0;
    }
}
