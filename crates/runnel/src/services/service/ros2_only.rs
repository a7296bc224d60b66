//! Services that exist only in ROS 2, also on a node of both graphs: those of actions.

use std::sync::Arc;

use runnel_ros1::node::TopicError;

use super::{ProvidedType, ServiceServer};
use crate::callback_group::ExclusiveGroup;
use crate::data::{LongWaits, ServiceCallback, ServiceCore, ServiceRequest};
use crate::error::Error;
use crate::node::Node;
use crate::sync::{Class, Mutex};

impl Node {
    /// Creates a service of this absolute name that is only in ROS 2. Its callback answers at any time.
    pub(crate) fn provide_in_ros2(
        &self,
        (service, ProvidedType { types, type_use }): (String, ProvidedType),
        group: &Arc<ExclusiveGroup>,
        long_waits: LongWaits,
        callback: impl FnMut(ServiceRequest) + Send + 'static,
    ) -> Result<ServiceServer, Error> {
        let callback = ServiceCallback::Defers(Box::new(callback));
        let scheduling = (self.inner.executor_dispatch(), group);
        let core =
            ServiceCore::with_long_waits(service.clone(), types, scheduling, callback, Some(long_waits));
        let types = self.inner.service_in_ros2(&service, core.types.in_ros2())?;
        let memory = self.inner.service_memory();
        let mut driver = self.inner.driver();
        let slot = driver.nodes.get_mut(self.inner.key).ok_or(Error::ShuttingDown)?;
        if slot.services.contains_key(&service) {
            return Err(TopicError::ServiceExists { service }.into());
        }
        // The name is free again if this fails.
        if let Some(types) = &types {
            driver.add_server(self.inner.key, &core, types, memory)?;
        }
        self.inner.keep_service(&mut driver, &core)?;
        drop(driver);
        Ok(ServiceServer {
            node: Arc::clone(&self.inner),
            core,
            event_publisher: Mutex::new(Class::EventPublisher, None),
            _type_use: type_use,
        })
    }
}
