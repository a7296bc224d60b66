//! The six services by which other ROS 2 nodes read and set the parameters of a node.

use std::convert::Infallible;
use std::sync::Arc;

use runnel_core::message::Service;
use runnel_msgs::rcl_interfaces::srv::{
    DescribeParameters, GetParameterTypes, GetParameters, ListParameters, SetParameters,
    SetParametersAtomically,
};

use crate::callback_group::CallbackGroup;
use crate::data::{ServiceCallback, ServiceCore, ServiceTypes};
use crate::error::Error;
use crate::node::NodeInner;
use crate::parameters::{self, NodeParameters};
use crate::ready::Dispatch;
use crate::services::service::answering;

impl NodeInner {
    /// Adds the services in ROS 2. Requests that read are answered by any thread that polls, so also in a program that
    /// never spins. Those that set run callbacks of the program, so they need a spinning thread.
    ///
    /// # Errors
    /// If the operating system has no random bytes, or the context ends.
    pub(crate) fn start_parameter_services(self: &Arc<Self>) -> Result<(), Error> {
        let (read, set) = (|| Dispatch::Inline, || self.executor_dispatch());
        self.add_parameter_service::<DescribeParameters>(
            "describe_parameters",
            read(),
            parameters::describe_parameters,
        )?;
        self.add_parameter_service::<GetParameters>("get_parameters", read(), parameters::get_parameters)?;
        self.add_parameter_service::<GetParameterTypes>(
            "get_parameter_types",
            read(),
            parameters::get_parameter_types,
        )?;
        self.add_parameter_service::<ListParameters>("list_parameters", read(), parameters::list_parameters)?;
        self.add_parameter_service::<SetParameters>("set_parameters", set(), parameters::set_parameters)?;
        self.add_parameter_service::<SetParametersAtomically>(
            "set_parameters_atomically",
            set(),
            parameters::set_parameters_atomically,
        )
    }

    fn add_parameter_service<S: Service>(
        self: &Arc<Self>,
        name: &str,
        dispatch: Dispatch,
        answer: fn(&NodeParameters, &S::Request) -> S::Response,
    ) -> Result<(), Error> {
        let parameters = Arc::clone(self.parameters()?);
        let callback =
            answering::<S, Infallible>(move |request: &S::Request| Ok(answer(&parameters, request)));
        let callback = ServiceCallback::Answers(Box::new(callback));
        let service = format!("{}/{name}", self.full_name());
        let scheduling = (dispatch, &CallbackGroup::for_entity(None));
        let core = ServiceCore::new(service.clone(), ServiceTypes::of::<S>(), scheduling, callback);
        let Some(types) = core.types.in_ros2() else { return Ok(()) };
        let mut driver = self.driver();
        driver.add_server(self.key, &core, &types, self.service_memory())?;
        let slot = driver.nodes.get_mut(self.key).ok_or(Error::ShuttingDown)?;
        slot.services.insert(service, core);
        Ok(())
    }
}
