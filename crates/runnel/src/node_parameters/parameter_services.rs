//! The six services by which other ROS 2 nodes read and set the parameters of a node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use runnel_core::message::Service;
use runnel_msgs::rcl_interfaces::srv::{
    DescribeParameters, GetParameterTypes, GetParameters, ListParameters, SetParameters,
    SetParametersAtomically,
};

use crate::error::Error;
use crate::node::NodeInner;
use crate::parameters::{self, Answer, NodeParameters};
use crate::ready::Dispatch;

/// What the six services share.
struct Services {
    parameters: Arc<NodeParameters>,
    /// A request over a limit has been logged.
    is_over_limit_logged: Arc<AtomicBool>,
}

impl NodeInner {
    /// Adds the services in ROS 2. Requests that read are answered by any thread that polls, so also in a program that
    /// never spins. Those that set run callbacks of the program, so they need a spinning thread.
    ///
    /// # Errors
    /// If the operating system has no random bytes, or the context ends.
    pub(crate) fn start_parameter_services(self: &Arc<Self>) -> Result<(), Error> {
        let (read, set) = (|| Dispatch::Inline, || self.executor_dispatch());
        let services =
            Services { parameters: Arc::clone(self.parameters()), is_over_limit_logged: Arc::default() };
        services.add::<DescribeParameters>(
            self,
            "describe_parameters",
            read(),
            parameters::describe_parameters,
        )?;
        services.add::<GetParameters>(self, "get_parameters", read(), parameters::get_parameters)?;
        services.add::<GetParameterTypes>(
            self,
            "get_parameter_types",
            read(),
            parameters::get_parameter_types,
        )?;
        services.add::<ListParameters>(self, "list_parameters", read(), parameters::list_parameters)?;
        services.add::<SetParameters>(self, "set_parameters", set(), parameters::set_parameters)?;
        services.add::<SetParametersAtomically>(
            self,
            "set_parameters_atomically",
            set(),
            parameters::set_parameters_atomically,
        )
    }
}

impl Services {
    fn add<S: Service>(
        &self,
        node: &Arc<NodeInner>,
        name: &'static str,
        dispatch: Dispatch,
        answer: fn(&NodeParameters, &S::Request) -> Answer<S::Response>,
    ) -> Result<(), Error> {
        let (parameters, is_logged) = (Arc::clone(&self.parameters), Arc::clone(&self.is_over_limit_logged));
        let logger = node.logger.clone();
        node.add_internal_service::<S>(name, dispatch, move |request| {
            let Answer { response, over_limit } = answer(&parameters, request);
            if let Some(over) = over_limit
                && !is_logged.swap(true, Ordering::Relaxed)
            {
                let line =
                    format_args!("service {name}: {over}. Further requests over a limit are not logged");
                logger.log_of_node().log_library(log::Level::Warn, line);
            }
            response
        })
    }
}
