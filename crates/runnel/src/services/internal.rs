//! Services that the library provides for every node. Their callbacks answer at once.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use runnel_core::message::Service;

use crate::callback_group::CallbackGroup;
use crate::data::{ServiceCallback, ServiceCore, ServiceTypes};
use crate::error::Error;
use crate::node::NodeInner;
use crate::ready::Dispatch;
use crate::services::service::answering;

/// The callback of a service that answers at once.
pub(crate) fn answers<S: Service, E: fmt::Display>(
    answer: impl FnMut(&S::Request) -> Result<S::Response, E> + Send + 'static,
) -> ServiceCallback {
    ServiceCallback::Answers(Box::new(answering::<S, E>(answer)))
}

/// A service of this absolute name, which is in no graph yet.
pub(crate) fn internal_service<S: Service, E: fmt::Display>(
    service: String,
    dispatch: Dispatch,
    answer: impl FnMut(&S::Request) -> Result<S::Response, E> + Send + 'static,
) -> Arc<ServiceCore> {
    let scheduling = (dispatch, &CallbackGroup::for_entity(None));
    ServiceCore::new(service, ServiceTypes::of::<S>(), scheduling, answers::<S, E>(answer))
}

impl NodeInner {
    /// Adds a service in ROS 2 below the node's own name, until the node ends.
    ///
    /// # Errors
    /// If the operating system has no random bytes, or the context ends.
    pub(crate) fn add_internal_service<S: Service>(
        &self,
        name: &str,
        dispatch: Dispatch,
        mut answer: impl FnMut(&S::Request) -> S::Response + Send + 'static,
    ) -> Result<(), Error> {
        let answer = move |request: &S::Request| Ok(answer(request));
        let service = format!("{}/{name}", self.full_name());
        let core = internal_service::<S, Infallible>(service.clone(), dispatch, answer);
        let Some(types) = core.types.in_ros2() else { return Ok(()) };
        let mut driver = self.driver();
        driver.add_server(self.key, &core, &types, self.service_memory())?;
        let slot = driver.nodes.get_mut(self.key).ok_or(Error::ShuttingDown)?;
        slot.services.insert(service, core);
        #[cfg(feature = "type_description")]
        slot.describe_internal_service::<S>();
        Ok(())
    }
}
