//! The entities of a guest, by their handles.

use std::sync::Arc;

use runnel::core::schema::{ActionSchema, Schema, ServiceSchema};
use runnel::core::wire::Sink;
use runnel::{
    DynamicActionClient, DynamicActionServer, DynamicClient, DynamicPublisher, Node, ServiceServer,
    Subscription, Timer,
};

use super::description::Description;
use super::incoming::Incoming;
use super::kept::KeptMessages;
use super::service_requests::ServiceRequests;
use crate::refusal::{Refusal, Refused};

/// What a handle stands for.
pub enum Entity {
    Node(NodeEntity),
    Publisher(PublisherEntity),
    Subscription(SubscriptionEntity),
    Client(ClientEntity),
    Service(ServiceEntity),
    ActionClient(ActionClientEntity),
    ActionServer { _server: Box<DynamicActionServer>, schema: Arc<ActionSchema> },
    Timer(Timer),
}

/// A node, and what keeps its callbacks.
pub struct NodeEntity {
    pub node: Node,
    /// The parameters that the guest has declared, and `use_sim_time`: their names, and whether they are read-only.
    pub declared: Vec<(String, bool)>,
    pub _parameters: runnel::ParameterCallbackHandle,
}

/// A publisher, and the messages that late subscribers get.
pub struct PublisherEntity {
    pub publisher: DynamicPublisher,
    pub kept: Option<KeptMessages>,
}

impl PublisherEntity {
    /// Keeps a serialized message that the publisher had sent on another host.
    pub fn keep(&mut self, message: &[u8]) -> Result<(), Refusal> {
        self.publisher.keep_bytes(|out| out.put(message))?;
        if let Some(kept) = &mut self.kept {
            kept.add(message);
        }
        Ok(())
    }

    /// Publishes a serialized message.
    #[inline]
    pub fn publish(&mut self, message: &[u8]) -> Result<(), Refusal> {
        self.publisher.publish_bytes(|out| out.put(message))?;
        if let Some(kept) = &mut self.kept {
            kept.add(message);
        }
        Ok(())
    }
}

/// A subscription, and what it has received.
pub struct SubscriptionEntity {
    pub subscription: Subscription,
    pub incoming: Arc<Incoming>,
}

/// A service, its type, and the requests that it has received.
pub struct ServiceEntity {
    pub _server: ServiceServer,
    pub schema: Arc<ServiceSchema>,
    pub requests: Arc<ServiceRequests>,
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
    entities: Vec<Slot>,
    open: usize,
    most: usize,
}

/// What a handle stands for. A closed entity leaves a pointer's size: a checkpoint of a few bytes may have the last handle.
type Slot = Option<Box<(Entity, Description)>>;

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
        self.check_room()?;
        if self.entities.len() >= MOST_HANDLES {
            return Err(too_many_handles());
        }
        Ok(self.entities.len() as u32 + 1)
    }

    /// # Errors
    /// If the guest has as many as it may have.
    pub fn check_room(&self) -> Result<(), Refusal> {
        if self.open >= self.most {
            let why = format!("the node has {} entities, as many as limits.entities allows", self.open);
            return Err(Refusal::new(Refused::TooMany, why));
        }
        Ok(())
    }

    /// Puts an entity at a handle that is free: that which [`next`](Self::next) returned, or one that was
    /// [skipped](Self::skip_to). Returns it as the status of the function.
    pub fn put(&mut self, handle: u32, entity: Entity, description: Description) -> Result<i32, Refusal> {
        let free = || Refusal::invalid(format!("handle {handle} is not free"));
        let place = (handle as usize).checked_sub(1).ok_or_else(free)?;
        if place == self.entities.len() {
            self.entities.push(None);
        }
        let slot = self.entities.get_mut(place).filter(|slot| slot.is_none()).ok_or_else(free)?;
        *slot = Some(Box::new((entity, description)));
        self.open += 1;
        Ok(handle as i32)
    }

    /// What the entity of a handle was made from.
    pub fn description(&self, handle: u32) -> Option<&Description> {
        let slot = self.entities.get((handle as usize).checked_sub(1)?)?.as_ref();
        slot.map(|slot| &slot.1)
    }

    /// Skips the handles before this one: a restored guest has closed these entities.
    ///
    /// # Errors
    /// If a guest may not create so many.
    pub fn skip_to(&mut self, handle: u32) -> Result<(), Refusal> {
        let before = (handle as usize).saturating_sub(1);
        if before > MOST_HANDLES {
            return Err(too_many_handles());
        }
        if before > self.entities.len() {
            self.entities.resize_with(before, || None);
        }
        Ok(())
    }

    /// How many the guest has created.
    pub fn count(&self) -> u32 {
        self.entities.len() as u32
    }

    /// What is open under each handle.
    pub fn all(&self) -> impl Iterator<Item = (u32, Option<(&Entity, &Description)>)> {
        (1..).zip(self.entities.iter().map(|slot| slot.as_deref().map(|(entity, about)| (entity, about))))
    }

    pub fn get(&self, handle: u32) -> Option<&Entity> {
        self.entities.get((handle as usize).checked_sub(1)?)?.as_deref().map(|(entity, _)| entity)
    }

    fn get_mut(&mut self, handle: u32) -> Option<&mut Entity> {
        self.entities.get_mut((handle as usize).checked_sub(1)?)?.as_deref_mut().map(|(entity, _)| entity)
    }

    /// Removes an entity. Its messages and requests end with it.
    pub fn close(&mut self, handle: u32) -> Result<Entity, Refusal> {
        let place = (handle as usize).checked_sub(1).and_then(|place| self.entities.get_mut(place));
        let entity = place.and_then(Option::take).ok_or_else(|| Refusal::no_such_handle(handle, "entity"))?;
        self.open -= 1;
        Ok(entity.0)
    }

    pub fn node(&self, handle: u32) -> Result<&Node, Refusal> {
        match self.get(handle) {
            Some(Entity::Node(node)) => Ok(&node.node),
            _ => Err(Refusal::no_such_handle(handle, "node")),
        }
    }

    pub fn node_mut(&mut self, handle: u32) -> Result<&mut NodeEntity, Refusal> {
        match self.get_mut(handle) {
            Some(Entity::Node(node)) => Ok(node),
            _ => Err(Refusal::no_such_handle(handle, "node")),
        }
    }

    #[inline]
    pub fn publisher(&mut self, handle: u32) -> Result<&mut PublisherEntity, Refusal> {
        match self.get_mut(handle) {
            Some(Entity::Publisher(publisher)) => Ok(publisher),
            _ => Err(Refusal::no_such_handle(handle, "publisher")),
        }
    }

    pub fn subscription(&self, handle: u32) -> Result<&Subscription, Refusal> {
        match self.get(handle) {
            Some(Entity::Subscription(subscription)) => Ok(&subscription.subscription),
            _ => Err(Refusal::no_such_handle(handle, "subscription")),
        }
    }

    pub fn client(&self, handle: u32) -> Result<&ClientEntity, Refusal> {
        match self.get(handle) {
            Some(Entity::Client(client)) => Ok(client),
            _ => Err(Refusal::no_such_handle(handle, "client")),
        }
    }

    pub fn service(&self, handle: u32) -> Result<&ServiceEntity, Refusal> {
        match self.get(handle) {
            Some(Entity::Service(service)) => Ok(service),
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

#[cold]
fn too_many_handles() -> Refusal {
    Refusal::new(Refused::TooMany, format!("the node has created {MOST_HANDLES} entities"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_closed_entities_take_little_memory() {
        assert!(MOST_HANDLES * size_of::<Slot>() <= 8 << 20, "{} bytes each", size_of::<Slot>());
    }
}
