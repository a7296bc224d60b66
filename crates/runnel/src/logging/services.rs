//! The `/rosout` topic of a node, and the services that get and set the levels of its loggers.

use std::convert::Infallible;
use std::sync::Arc;

use runnel_core::names;
use runnel_msgs::roscpp::{
    self,
    srv::{GetLoggers, GetLoggersResponse, SetLoggerLevel, SetLoggerLevelRequest, SetLoggerLevelResponse},
};

use crate::data::ServiceCore;
use crate::error::Error;
use crate::log_output::loggers::ROOT;
use crate::log_output::{Level, UnknownLevel};
use crate::node::NodeInner;
use crate::node_log::{NodeLog, ROSOUT};
use crate::ready::Dispatch;
use crate::services::internal::internal_service;

/// Names of these services.
const SERVICES: [&str; 2] = ["~get_loggers", "~set_logger_level"];

/// Creates a service with an absolute name.
type MakeService = Box<dyn FnOnce(String) -> Arc<ServiceCore>>;

impl NodeLog {
    /// The services, with their names within the node. They are answered by any thread that runs the driver, so also
    /// in a node that never spins.
    fn services(self: &Arc<Self>) -> [(&'static str, MakeService); 2] {
        let (get, set) = (Arc::clone(self), Arc::clone(self));
        let get: MakeService =
            Box::new(move |name| {
                internal_service::<GetLoggers, Infallible>(name, Dispatch::Inline, move |_| {
                    Ok(get.list_loggers())
                })
            });
        let set: MakeService = Box::new(move |name| {
            let set = move |request: &SetLoggerLevelRequest| set.set_logger_level(request);
            internal_service::<SetLoggerLevel, String>(name, Dispatch::Inline, set)
        });
        [(SERVICES[0], get), (SERVICES[1], set)]
    }

    fn list_loggers(&self) -> GetLoggersResponse {
        let row =
            |(name, level): (String, Level)| roscpp::msg::Logger { name, level: level.name().to_lowercase() };
        GetLoggersResponse { loggers: self.loggers.all().into_iter().map(row).collect() }
    }

    fn set_logger_level(&self, request: &SetLoggerLevelRequest) -> Result<SetLoggerLevelResponse, String> {
        let level = request.level.parse().map_err(|error: UnknownLevel| error.to_string())?;
        // roscpp uses an empty name for the root logger.
        let logger = if request.logger.is_empty() { ROOT } else { &request.logger };
        self.set_level(logger, level)?;
        Ok(SetLoggerLevelResponse::default())
    }
}

impl NodeInner {
    /// Makes the node publish its log, and provide the services that set levels. It does not wait for the master.
    pub(crate) fn advertise_log(&self) -> Result<(), Error> {
        let log = self.logger.log_of_node();
        if let Some(slot) = self.driver().nodes.get_mut(self.key) {
            slot.log = Some(Arc::clone(log));
        }
        let Some(rosout) = log.rosout() else { return Ok(()) };
        self.driver().add_publication(self.key, &rosout.topic, &rosout.group, &rosout.publication)?;
        log.add_topic(ROSOUT);
        if self.context.shared.settings.ros1.is_none() {
            return Ok(());
        }
        for (name, make) in log.services() {
            self.add_service_in_ros1(&make(names::resolve(&self.namespace, &self.name, name)?))?;
        }
        Ok(())
    }
}
