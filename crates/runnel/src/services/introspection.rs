//! Introspection of services in ROS 2, which servers and clients configure.

use std::sync::Arc;

use runnel_core::message::Service;
use runnel_core::qos::QoS;
use runnel_core::schema::TypeDescription;

use crate::data::{EventPublishing, ServiceEventType, ServiceEvents};
use crate::error::Error;
use crate::node::{Node, NodeInner};
use crate::services::caller::Caller;
use crate::services::client::Client;
use crate::services::dynamic_client::DynamicClient;
use crate::services::service::ServiceServer;
use crate::sync::lock;
use crate::topics::publisher::PublisherBase;
use crate::types::announced::{Ros2Type, Topic};

/// What a server or a client publishes about its requests and responses in ROS 2, on `<service>/_service_event`. As
/// rclpy's `ServiceIntrospectionState`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceIntrospectionState {
    /// Nothing.
    #[default]
    Off,
    /// Client, sequence number and time of each request and response.
    Metadata,
    /// Also the requests and responses.
    Contents,
}

impl ServiceServer {
    /// Starts, changes or (with [`ServiceIntrospectionState::Off`]) stops publishing events about the requests and
    /// responses of clients in ROS 2, with this QoS. As rclpy's `Service.configure_introspection`.
    ///
    /// # Errors
    /// [`Error::NotInGraph`] if the service is not in ROS 2; otherwise as
    /// [`Node::create_publisher`](crate::Node::create_publisher).
    pub fn configure_introspection(
        &self,
        qos: impl Into<QoS>,
        state: ServiceIntrospectionState,
    ) -> Result<(), Error> {
        let core = self.core();
        let event_type = core.types.events.clone().ok_or_else(|| not_in_ros2(&core.service))?;
        let of = (&*core.service, event_type);
        let publisher = configure(self.node(), of, &core.events, (qos.into(), state))?;
        let former = std::mem::replace(&mut *lock(self.event_publisher()), publisher);
        drop(former);
        Ok(())
    }
}

impl<S: Service> Client<S> {
    /// Starts, changes or (with [`ServiceIntrospectionState::Off`]) stops publishing events about the client's requests
    /// and responses in ROS 2, with this QoS. As rclpy's `Client.configure_introspection`.
    ///
    /// # Errors
    /// As [`ServiceServer::configure_introspection`].
    pub fn configure_introspection(
        &self,
        qos: impl Into<QoS>,
        state: ServiceIntrospectionState,
    ) -> Result<(), Error> {
        configure_client(self.caller(), Some(ServiceEventType::of::<S>()), (qos.into(), state))
    }
}

impl DynamicClient {
    /// As [`Client::configure_introspection`].
    ///
    /// # Errors
    /// As [`ServiceServer::configure_introspection`].
    pub fn configure_introspection(
        &self,
        qos: impl Into<QoS>,
        state: ServiceIntrospectionState,
    ) -> Result<(), Error> {
        configure_client(self.caller(), self.event_type(), (qos.into(), state))
    }
}

/// Configures the events of a client.
fn configure_client(
    caller: &Caller,
    event_type: Option<ServiceEventType>,
    published: (QoS, ServiceIntrospectionState),
) -> Result<(), Error> {
    let (Some(event_type), Some(events)) = (event_type, caller.events()) else {
        return Err(not_in_ros2(caller.service()));
    };
    let publisher = configure(caller.node(), (caller.service(), event_type), events, published)?;
    let former = std::mem::replace(&mut *lock(caller.event_publisher()), publisher);
    drop(former);
    Ok(())
}

fn not_in_ros2(service: &str) -> Error {
    Error::NotInGraph { what: format!("service {service}, whose events are only in ROS 2") }
}

/// Configures events. Returns the publisher that they need.
fn configure(
    node: &Arc<NodeInner>,
    (service, event_type): (&str, ServiceEventType),
    events: &ServiceEvents,
    (qos, state): (QoS, ServiceIntrospectionState),
) -> Result<Option<PublisherBase>, Error> {
    if state == ServiceIntrospectionState::Off {
        events.configure(None);
        return Ok(None);
    }
    if node.context.shared.settings.ros2.is_none() {
        return Err(not_in_ros2(service));
    }
    let topic = topic(service, &event_type).ok_or_else(|| not_in_ros2(service))?;
    let publisher = Node { inner: Arc::clone(node) }.publishing(&topic, qos)?;
    #[cfg(feature = "type_description")]
    node.add_service_event_type(&event_type);
    let (publication, group) = publisher.publication_and_group();
    let shared = Arc::downgrade(&node.context.shared);
    let now = Box::new(move || shared.upgrade().map(|shared| shared.clock.now()).unwrap_or_default());
    let contents = (state == ServiceIntrospectionState::Contents).then_some(event_type.in_sequence);
    events.configure(Some(EventPublishing { publication, group, now, contents }));
    Ok(Some(publisher))
}

/// The topic of a service's events. `None` if the service has no type in ROS 2.
fn topic(service: &str, event_type: &ServiceEventType) -> Option<Topic> {
    let ServiceEventType { service: type_name, definitions: [request, response], .. } = event_type;
    let (package, name) = type_name.split_once("/srv/")?;
    let dds_type = format!("{package}::srv::dds_::{name}_Event_");
    let hash = TypeDescription::of_service_event(type_name, request, response).ok()?.hash;
    let ros2 = Ros2Type::without_definition(dds_type, hash);
    Some(Topic::of_ros2(format!("{service}/_service_event"), ros2))
}

#[cfg(test)]
mod tests {
    use runnel_core::schema::{Generation, TypeName};
    use runnel_msgs::rcl_interfaces::srv::SetParameters;

    use super::*;
    use crate::services::dynamic_client::events_in_ros2;
    use crate::types::type_mapping::TypeMapping;

    #[test]
    fn events_of_dynamic_type_have_its_hash() {
        let name = TypeName::parse("rcl_interfaces/srv/SetParameters").unwrap();
        let schema = runnel_msgs::library().service_in(Generation::Ros2, &name).unwrap();
        let types = [&schema.request, &schema.response].map(TypeMapping::of);
        let dynamic = events_in_ros2(&schema.ros2_name, &types).unwrap();
        let of = |event_type: &ServiceEventType| {
            let ros2 = topic("/set", event_type).unwrap().ros2.unwrap();
            (ros2.dds_type, ros2.rihs01)
        };
        assert_eq!(of(&dynamic), of(&ServiceEventType::of::<SetParameters>()));
    }
}
