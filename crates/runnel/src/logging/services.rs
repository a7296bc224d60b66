//! The topic `/rosout` of a node, and the services by which levels of its loggers are asked for and set.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use runnel_core::message::Service;
use runnel_core::names;
use runnel_msgs::roscpp::{
    self,
    srv::{GetLoggers, GetLoggersResponse, SetLoggerLevel, SetLoggerLevelRequest, SetLoggerLevelResponse},
};

use crate::callback_group::CallbackGroup;
use crate::data::{ServiceCallback, ServiceCore, ServiceTypes};
use crate::error::Error;
use crate::log_output::loggers::ROOT;
use crate::log_output::{Level, UnknownLevel};
use crate::node::NodeInner;
use crate::node_log::{NodeLog, ROSOUT};
use crate::ready::When;
use crate::service::answering;

/// Names of the services by which levels are asked for and set.
const SERVICES: [&str; 2] = ["~get_loggers", "~set_logger_level"];

/// Makes a service of an absolute name.
type MakeService = Box<dyn FnOnce(String) -> Arc<ServiceCore>>;

fn service<S: Service, E: fmt::Display>(
    name: String,
    callback: impl FnMut(&S::Request) -> Result<S::Response, E> + Send + 'static,
) -> Arc<ServiceCore> {
    let turn = (When::AtOnce, &CallbackGroup::for_entity(None));
    let callback = ServiceCallback::Answers(Box::new(answering::<S, E>(callback)));
    ServiceCore::new(name, ServiceTypes::of::<S>(), turn, callback)
}

impl NodeLog {
    /// The services by which levels are asked for and set, by the names that they have in the node. They are answered by
    /// whoever turns the driver, so that also a node which never spins answers.
    fn services(self: &Arc<Self>) -> [(&'static str, MakeService); 2] {
        let (get, set) = (Arc::clone(self), Arc::clone(self));
        let get: MakeService =
            Box::new(move |name| service::<GetLoggers, Infallible>(name, move |_| Ok(get.tell_loggers())));
        let set: MakeService =
            Box::new(move |name| service::<SetLoggerLevel, String>(name, move |request| set.follow(request)));
        [(SERVICES[0], get), (SERVICES[1], set)]
    }

    fn tell_loggers(&self) -> GetLoggersResponse {
        let row =
            |(name, level): (String, Level)| roscpp::msg::Logger { name, level: level.name().to_lowercase() };
        GetLoggersResponse { loggers: self.loggers.all().into_iter().map(row).collect() }
    }

    fn follow(&self, request: &SetLoggerLevelRequest) -> Result<SetLoggerLevelResponse, String> {
        let level = request.level.parse().map_err(|error: UnknownLevel| error.to_string())?;
        // An empty name is roscpp's for the logger of all.
        let logger = if request.logger.is_empty() { ROOT } else { &request.logger };
        self.set_level(logger, level)?;
        Ok(SetLoggerLevelResponse::default())
    }
}

impl NodeInner {
    /// Has the node publish what it logs, and provide the services by which levels are set. The master hears of it in
    /// its turn.
    pub(crate) fn advertise_log(&self) -> Result<(), Error> {
        let log = self.logger.log_of_node();
        if let Some(slot) = self.driver().nodes.get_mut(self.key) {
            slot.log = Some(Arc::clone(log));
        }
        let Some(rosout) = log.rosout() else { return Ok(()) };
        self.driver().add_publication(self.key, &rosout.topic, &rosout.offer, &rosout.publication)?;
        log.add_topic(ROSOUT);
        if self.context.shared.settings.ros1.is_none() {
            return Ok(());
        }
        for (name, make) in log.services() {
            self.add_service(&make(names::resolve(&self.namespace, &self.name, name)?))?;
        }
        Ok(())
    }
}
