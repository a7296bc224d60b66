//! Services of a ROS 2 node about itself: the description of its types, and the levels of its loggers.

#[cfg(feature = "type_description")]
use std::sync::Arc;

use runnel_core::message::Service;
use runnel_msgs::rcl_interfaces::srv::{GetLoggerLevels, SetLoggerLevels};
#[cfg(feature = "type_description")]
use runnel_msgs::type_description_interfaces::srv::GetTypeDescription;

#[cfg(feature = "type_description")]
use crate::data::ServiceEventType;
use crate::error::Error;
use crate::node::NodeInner;
use crate::ready::Dispatch;
use crate::types::TypeUse;

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
            self.add_internal_service::<GetLoggerLevels>(
                "get_logger_levels",
                Dispatch::Inline,
                move |request| get.log_of_node().get_logger_levels(request),
            )?;
            self.add_internal_service::<SetLoggerLevels>(
                "set_logger_levels",
                Dispatch::Inline,
                move |request| set.log_of_node().set_logger_levels(request),
            )?;
        }
        Ok(())
    }

    #[cfg(feature = "type_description")]
    fn start_type_description_service(&self) -> Result<(), Error> {
        let types = self.driver().nodes.get(self.key).map(|slot| Arc::clone(&slot.types));
        let types = types.ok_or(Error::ShuttingDown)?;
        self.add_internal_service::<GetTypeDescription>(
            "get_type_description",
            Dispatch::Inline,
            move |request| types.get_type_description(request),
        )
    }

    /// Adds the type of a service's events to those that the node describes.
    #[cfg(feature = "type_description")]
    pub(crate) fn add_service_event_type(&self, event_type: &ServiceEventType) {
        if let Some(slot) = self.driver().nodes.get(self.key) {
            slot.types.add_service_event(event_type);
        }
    }

    /// Adds the type of a service or a client to those that the node describes in ROS 2.
    #[cfg_attr(
        not(feature = "type_description"),
        expect(clippy::extra_unused_type_parameters, reason = "the node describes no types")
    )]
    pub(crate) fn use_service_type<S: Service>(&self) -> Option<TypeUse> {
        #[cfg(feature = "type_description")]
        if self.is_in_ros2() {
            let types = self.driver().nodes.get(self.key).map(|slot| Arc::clone(&slot.types));
            return types.map(|types| types.use_service::<S>());
        }
        None
    }
}
