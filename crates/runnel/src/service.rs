//! Service servers.

use std::fmt;
use std::sync::Arc;

use runnel_core::bounds::{LengthBeyondLimit, MAX_MESSAGE};
use runnel_core::message::Service;
use runnel_core::wire::{Wire, decode_into, try_write};
use runnel_ros1::node::{Role, ServiceSpec};

use crate::callback_group::CallbackGroup;
use crate::data::{ServiceCall, ServiceCallback, ServiceCore, ServiceTypes, no_memory_for_response};
use crate::error::Error;
use crate::node::{Node, NodeInner};
use crate::options::ServerOptions;
use crate::ready::Dispatch;

/// A service that a node provides, created by [`Node::create_service`] or [`Node::create_deferred_service`]. Dropping
/// it ends the service.
#[must_use = "a service ends when it is dropped: bind it to a name, `let _power = ...`, not `let _ = ...`"]
pub struct ServiceServer {
    node: Arc<NodeInner>,
    core: Arc<ServiceCore>,
}

impl ServiceServer {
    /// The service's absolute name.
    pub fn service(&self) -> &str {
        &self.core.service
    }

    pub(crate) fn core(&self) -> &Arc<ServiceCore> {
        &self.core
    }
}

impl Drop for ServiceServer {
    fn drop(&mut self) {
        self.node.remove_service(&self.core);
    }
}

impl fmt::Debug for ServiceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceServer").field("service", &self.core.service).finish_non_exhaustive()
    }
}

impl Node {
    /// Creates a service. `callback` returns the response to a request; the client gets the text of an error. It runs
    /// for one request at a time, on a spinning thread. [`Client::call`](crate::Client::call) from this process runs it
    /// on the caller's thread instead, outside of the node's executor. The name may be given as [`ServerOptions`].
    ///
    /// Returns once the service is registered with the master, as [`Node::create_publisher`] does.
    ///
    /// # Errors
    /// When the name is not valid, the node already provides a service of that name, or the master refuses;
    /// [`Error::Ros1Only`] if the context is only in ROS 2, where services are not supported yet.
    pub fn create_service<S: Service, E: fmt::Display>(
        &self,
        service: impl Into<ServerOptions>,
        callback: impl FnMut(&S::Request) -> Result<S::Response, E> + Send + 'static,
    ) -> Result<ServiceServer, Error> {
        let callback = ServiceCallback::Answers(Box::new(answering::<S, E>(callback)));
        self.provide::<S>(service, self.inner.executor_dispatch(), callback)
    }

    pub(crate) fn provide<S: Service>(
        &self,
        options: impl Into<ServerOptions>,
        dispatch: Dispatch,
        callback: ServiceCallback,
    ) -> Result<ServiceServer, Error> {
        let ServerOptions { name, group } = options.into();
        let service = self.service_name(&name)?;
        let scheduling = (dispatch, &CallbackGroup::for_entity(group.as_ref()));
        let core = ServiceCore::new(service.clone(), ServiceTypes::of::<S>(), scheduling, callback);
        self.inner.add_service(&core)?;
        let server = ServiceServer { node: Arc::clone(&self.inner), core };
        self.inner.wait_registered(Role::Service, &service)?;
        Ok(server)
    }
}

impl Node {
    /// The absolute name of a service.
    ///
    /// # Errors
    /// When it is not a valid name, or the node is not in ROS 1, which services require.
    pub(crate) fn service_name(&self, service: &str) -> Result<String, Error> {
        let name = self.resolve(service)?;
        self.inner.needs_ros1(format_args!("service {name}"))?;
        Ok(name)
    }
}

impl NodeInner {
    pub(crate) fn add_service(&self, core: &Arc<ServiceCore>) -> Result<(), Error> {
        let (service, type_name, md5) =
            (core.service.clone(), core.types.name.to_owned(), core.types.md5.to_owned());
        let spec = ServiceSpec { service: service.clone(), type_name, md5 };
        let mut driver = self.driver();
        let slot = driver.nodes.get_mut(self.key).ok_or(Error::ShuttingDown)?;
        slot.begin(Role::Service, &service);
        self.engine(&mut driver, |node, now| node.advertise_service(now, spec))??;
        let slot = driver.nodes.get_mut(self.key).ok_or(Error::ShuttingDown)?;
        slot.services.insert(service, Arc::clone(core));
        Ok(())
    }

    /// Removes a user's service and closes its clients' connections.
    fn remove_service(&self, core: &Arc<ServiceCore>) {
        let mut driver = self.driver();
        // The node may be closed already. Then there is nothing to unregister.
        let _ = self.engine(&mut driver, |node, now| node.unadvertise_service(now, &core.service));
        if let Some(slot) = driver.nodes.get_mut(self.key) {
            slot.services.remove(&core.service);
        }
        driver.end_clients(core);
        drop(driver);
        drop(self.queue.take(Arc::as_ptr(core).cast()));
    }
}

/// Wraps a user's callback: reads the request and writes the response.
pub(crate) fn answering<S: Service, E: fmt::Display>(
    mut callback: impl FnMut(&S::Request) -> Result<S::Response, E> + Send + 'static,
) -> impl FnMut(ServiceCall<'_>) -> Result<(), String> + Send + 'static {
    let mut owned = S::Request::default();
    move |asked| match asked {
        ServiceCall::Bytes { request, response } => {
            read_request(&mut owned, request)?;
            write_response(&callback(&owned).map_err(|error| error.to_string())?, response)
        }
        ServiceCall::Local { request, response } => {
            let request = request.downcast_ref().ok_or("the request is of another type")?;
            *response = Some(Box::new(callback(request).map_err(|error| error.to_string())?));
            Ok(())
        }
    }
}

pub(crate) fn read_request<R: Wire>(request: &mut R, bytes: &[u8]) -> Result<(), String> {
    decode_into(request, bytes).map_err(|error| format!("the request cannot be read: {error}"))
}

pub(crate) fn write_response<R: Wire>(response: &R, bytes: &mut Vec<u8>) -> Result<(), String> {
    try_write(bytes, |out| response.write(out)).map_err(no_memory_for_response)?;
    LengthBeyondLimit::check(bytes.len(), MAX_MESSAGE).map_err(|error| format!("response: {error}"))
}
