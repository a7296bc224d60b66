//! Services of a ROS 2 node about itself: the description of its types, and the levels of its loggers.

use std::convert::Infallible;
#[cfg(feature = "type_description")]
use std::sync::Arc;

use runnel_core::message::Service;
use runnel_msgs::rcl_interfaces::srv::{GetLoggerLevels, SetLoggerLevels};
#[cfg(feature = "type_description")]
use runnel_msgs::type_description_interfaces::srv::GetTypeDescription;

use crate::callback_group::CallbackGroup;
use crate::data::{ServiceCallback, ServiceCore, ServiceTypes};
use crate::error::Error;
use crate::node::NodeInner;
use crate::ready::Dispatch;
use crate::services::service::answering;

impl NodeInner {
    /// Adds the services that the options select. Any thread that polls answers them, so also in a program that never
    /// spins.
    ///
    /// # Errors
    /// If the operating system has no random bytes, or the context ends.
    pub(crate) fn start_node_services(&self) -> Result<(), Error> {
        #[cfg(feature = "type_description")]
        if self.options.start_type_description_service {
            self.start_type_description_service()?;
        }
        if self.options.enable_logger_service {
            let (get, set) = (self.logger.clone(), self.logger.clone());
            self.add_node_service::<GetLoggerLevels>("get_logger_levels", move |request| {
                get.log_of_node().get_logger_levels(request)
            })?;
            self.add_node_service::<SetLoggerLevels>("set_logger_levels", move |request| {
                set.log_of_node().set_logger_levels(request)
            })?;
        }
        Ok(())
    }

    #[cfg(feature = "type_description")]
    fn start_type_description_service(&self) -> Result<(), Error> {
        let types = self.driver().nodes.get(self.key).map(|slot| Arc::clone(&slot.types));
        let types = types.ok_or(Error::ShuttingDown)?;
        self.add_node_service::<GetTypeDescription>("get_type_description", move |request| {
            types.get_type_description(request)
        })
    }

    fn add_node_service<S: Service>(
        &self,
        name: &str,
        mut answer: impl FnMut(&S::Request) -> S::Response + Send + 'static,
    ) -> Result<(), Error> {
        let callback = answering::<S, Infallible>(move |request: &S::Request| Ok(answer(request)));
        let callback = ServiceCallback::Answers(Box::new(callback));
        let service = format!("{}/{name}", self.full_name());
        let scheduling = (Dispatch::Inline, &CallbackGroup::for_entity(None));
        let core = ServiceCore::new(service.clone(), ServiceTypes::of::<S>(), scheduling, callback);
        let Some(types) = core.types.in_ros2() else { return Ok(()) };
        self.add_service_type::<S>();
        let mut driver = self.driver();
        driver.add_server(self.key, &core, &types, self.service_memory())?;
        let slot = driver.nodes.get_mut(self.key).ok_or(Error::ShuttingDown)?;
        slot.services.insert(service, core);
        Ok(())
    }

    /// Adds the type of a service or a client to those that the node describes.
    pub(crate) fn add_service_type<S: Service>(&self) {
        #[cfg(feature = "type_description")]
        if self.context.shared.settings.ros2.is_some()
            && let Some(slot) = self.driver().nodes.get(self.key)
        {
            slot.types.add_service::<S>();
        }
    }
}
