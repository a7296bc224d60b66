//! Services that a node provides.

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
use crate::ready::When;

/// A service that a node provides, made by [`Node::create_service`] or [`Node::create_deferred_service`]. It ends when it is
/// dropped.
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
    /// Provides a service. `callback` makes the response of a request; what it fails with is told to the client. It runs
    /// for one request at a time, on a thread that spins. The name may be [`ServerOptions`].
    ///
    /// Returns once the master knows, as [`Node::create_publisher`] does.
    ///
    /// # Errors
    /// When the name is not valid, the node provides a service of that name, or the master refuses; [`Error::Ros1Only`] in ROS 2
    /// alone, which has no services so far.
    pub fn create_service<S: Service, E: fmt::Display>(
        &self,
        service: impl Into<ServerOptions>,
        callback: impl FnMut(&S::Request) -> Result<S::Response, E> + Send + 'static,
    ) -> Result<ServiceServer, Error> {
        let callback = ServiceCallback::Answers(Box::new(answering::<S, E>(callback)));
        self.provide::<S>(service, self.inner.spun(), callback)
    }

    pub(crate) fn provide<S: Service>(
        &self,
        options: impl Into<ServerOptions>,
        when: When,
        callback: ServiceCallback,
    ) -> Result<ServiceServer, Error> {
        let ServerOptions { name, group } = options.into();
        let service = self.service_name(&name)?;
        let turn = (when, &CallbackGroup::for_entity(group.as_ref()));
        let core = ServiceCore::new(service.clone(), ServiceTypes::of::<S>(), turn, callback);
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
    /// When it is not a valid name, or the node is not in the ROS 1 graph, which alone has services.
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

    /// A service of the user's is gone, and its clients' connections with it.
    fn remove_service(&self, core: &Arc<ServiceCore>) {
        let mut driver = self.driver();
        // The node may be closed already, and then there is nothing to unregister.
        let _ = self.engine(&mut driver, |node, now| node.unadvertise_service(now, &core.service));
        if let Some(slot) = driver.nodes.get_mut(self.key) {
            slot.services.remove(&core.service);
        }
        driver.end_clients(core);
        drop(driver);
        drop(self.queue.take(Arc::as_ptr(core).cast()));
    }
}

/// What becomes of a request: the user's callback between the bytes of its request and those of its response.
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
