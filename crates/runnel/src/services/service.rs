//! Service servers.

mod ros2_only;

use std::fmt;
use std::sync::Arc;

use runnel_core::bounds::{LengthBeyondLimit, MAX_MESSAGE};
use runnel_core::message::Service;
use runnel_core::names::{Generation, NameUse, validate_name};
use runnel_core::wire::{Encoding, GrowingSink, Wire, cdr, decode_into, try_write};
use runnel_io::clock;
use runnel_ros1::node::{Role, ServiceSpec, TopicError};

use crate::callback_group::CallbackGroup;
use crate::data::{
    ServiceCall, ServiceCallback, ServiceCore, ServiceMemory, ServiceTypes, no_memory_for_response,
};
use crate::driver::Driver;
use crate::error::Error;
use crate::log_output::console;
use crate::node::options::ServerOptions;
use crate::node::{Node, NodeInner};
use crate::ready::Dispatch;
use crate::rtps::ServiceTypeNames;
use crate::services::internal::answers;
use crate::sync::{Class, Mutex};
use crate::topics::publisher::PublisherBase;
use crate::types::TypeUse;

/// The type of a service that a node provides.
pub(crate) struct ProvidedType {
    types: ServiceTypes,
    /// Lets the node describe it.
    type_use: Option<TypeUse>,
}

impl ProvidedType {
    pub(crate) fn of<S: Service>(node: &NodeInner) -> Self {
        Self { types: ServiceTypes::of::<S>(), type_use: node.use_service_type::<S>() }
    }
}

/// A type that the node does not describe.
impl From<ServiceTypes> for ProvidedType {
    fn from(types: ServiceTypes) -> Self {
        Self { types, type_use: None }
    }
}

/// A service that a node provides, created by [`Node::create_service`] or [`Node::create_deferred_service`]. Dropping
/// it unregisters the service.
#[must_use = "a service is unregistered when it is dropped: bind it to a name, `let _power = ...`, not `let _ = ...`"]
pub struct ServiceServer {
    node: Arc<NodeInner>,
    core: Arc<ServiceCore>,
    event_publisher: Mutex<Option<PublisherBase>>,
    _type_use: Option<TypeUse>,
}

impl ServiceServer {
    /// The service's absolute name.
    pub fn service(&self) -> &str {
        &self.core.service
    }

    pub(crate) fn node(&self) -> &Arc<NodeInner> {
        &self.node
    }

    /// The publisher of its events.
    pub(crate) fn event_publisher(&self) -> &Mutex<Option<PublisherBase>> {
        &self.event_publisher
    }

    pub(crate) fn core(&self) -> &Arc<ServiceCore> {
        &self.core
    }
}

impl Drop for ServiceServer {
    fn drop(&mut self) {
        self.node.remove_service(&self.core);
        self.core.events.configure(None);
    }
}

impl fmt::Debug for ServiceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceServer").field("service", &self.core.service).finish_non_exhaustive()
    }
}

impl Node {
    /// Creates a service in each graph of the node. `callback` returns the response to a request; the client gets the
    /// text of an error, except a client of another implementation in ROS 2, which has no reply for errors. It runs
    /// for one request at a time, on a spinning thread. [`Client::call`](crate::Client::call) from this process runs it
    /// on the caller's thread instead, outside of the node's executor. The name may be given as [`ServerOptions`].
    ///
    /// Returns once the service is registered with the master, as [`Node::create_publisher`] does.
    ///
    /// # Errors
    /// [`Error::Name`] if the name is not valid; [`Error::Topic`] if the node already provides a service of that name;
    /// [`Error::Refused`] if the master refuses; [`Error::NotInGraph`] if the node is only in ROS 2 and the type cannot be
    /// represented there; [`Error::Io`] if sockets cannot be opened; [`Error::ShuttingDown`] when the context ends.
    pub fn create_service<S: Service, E: fmt::Display>(
        &self,
        service: impl Into<ServerOptions>,
        callback: impl FnMut(&S::Request) -> Result<S::Response, E> + Send + 'static,
    ) -> Result<ServiceServer, Error> {
        self.provide::<S>(service, self.inner.executor_dispatch(), answers::<S, E>(callback))
    }

    pub(crate) fn provide<S: Service>(
        &self,
        options: impl Into<ServerOptions>,
        dispatch: Dispatch,
        callback: ServiceCallback,
    ) -> Result<ServiceServer, Error> {
        self.provide_of_types(options.into(), ProvidedType::of::<S>(&self.inner), dispatch, callback)
    }

    /// Creates a service of any type, in each graph of the node in which the type exists.
    pub(crate) fn provide_of_types(
        &self,
        ServerOptions { of: name, group }: ServerOptions,
        ProvidedType { types, type_use }: ProvidedType,
        dispatch: Dispatch,
        callback: ServiceCallback,
    ) -> Result<ServiceServer, Error> {
        let service = self.service_name(&name)?;
        let scheduling = (dispatch, &CallbackGroup::for_entity(group.as_ref()));
        let core = ServiceCore::new(service.clone(), types, scheduling, callback);
        let types = self.inner.service_in_ros2(&service, core.types.in_ros2())?;
        self.inner.add_service(&core, types.as_ref())?;
        let event_publisher = Mutex::new(Class::EventPublisher, None);
        let server =
            ServiceServer { node: Arc::clone(&self.inner), core, event_publisher, _type_use: type_use };
        self.inner.wait_registered(Role::Service, &service)?;
        Ok(server)
    }
}

impl NodeInner {
    /// The types of a service or a client in ROS 2; `None` if it is only in ROS 1.
    ///
    /// # Errors
    /// When the node is only in ROS 2, and the name or the type cannot be represented there.
    pub(crate) fn service_in_ros2(
        &self,
        service: &str,
        types: Option<ServiceTypeNames>,
    ) -> Result<Option<ServiceTypeNames>, Error> {
        if self.context.shared.settings.ros2.is_none() {
            return Ok(None);
        }
        let is_in_ros1 = self.is_in_ros1();
        if let Err(error) = validate_name(service, Generation::Ros2) {
            if !is_in_ros1 {
                return Err(error.used_for(NameUse::Service).into());
            }
            let line = format_args!("service {service} stays in ROS 1: {error}");
            self.log().log_library(log::Level::Warn, line);
            return Ok(None);
        }
        if types.is_none() && !is_in_ros1 {
            return Err(Error::NotInGraph {
                what: format!("service {service}, whose type cannot be represented in ROS 2"),
            });
        }
        Ok(types)
    }

    /// What services in ROS 2 need for shared memory.
    pub(crate) fn service_memory(&self) -> ServiceMemory {
        let shared = &self.context.shared;
        (Arc::clone(&shared.reactor), Arc::clone(&shared.pool))
    }

    /// Adds a service in ROS 1, if the node is there, and in ROS 2 with these types.
    fn add_service(&self, core: &Arc<ServiceCore>, types: Option<&ServiceTypeNames>) -> Result<(), Error> {
        let mut driver = self.driver();
        self.advertise_in_ros1(&mut driver, core)?;
        if let Some(types) = types {
            driver.add_server(self.key, core, types, self.service_memory())?;
        }
        self.keep_service(&mut driver, core)
    }

    /// Adds a service in ROS 1. Unlike [`Self::add_service`] it links no services in ROS 2.
    pub(crate) fn add_service_in_ros1(&self, core: &Arc<ServiceCore>) -> Result<(), Error> {
        let mut driver = self.driver();
        self.advertise_in_ros1(&mut driver, core)?;
        self.keep_service(&mut driver, core)
    }

    /// Registers a new service with the master, if the node is in ROS 1.
    fn advertise_in_ros1(&self, driver: &mut Driver, core: &ServiceCore) -> Result<(), Error> {
        let service = core.service.clone();
        let slot = driver.nodes.get_mut(self.key).ok_or(Error::ShuttingDown)?;
        if slot.services.contains_key(&service) {
            return Err(TopicError::ServiceExists { service }.into());
        }
        slot.begin(Role::Service, &service);
        if self.is_in_ros1() {
            let (type_name, md5) = (core.types.name.to_string(), core.types.md5.to_string());
            let spec = ServiceSpec { service, type_name, md5 };
            self.engine(driver, |node, now| node.advertise_service(now, spec))??;
        }
        Ok(())
    }

    fn keep_service(&self, driver: &mut Driver, core: &Arc<ServiceCore>) -> Result<(), Error> {
        let slot = driver.nodes.get_mut(self.key).ok_or(Error::ShuttingDown)?;
        slot.services.insert(core.service.clone(), Arc::clone(core));
        Ok(())
    }

    /// Removes a user's service and closes its clients' connections.
    fn remove_service(&self, core: &Arc<ServiceCore>) {
        self.wait_for_replies(core);
        let mut driver = self.driver();
        // The node may be closed already. Then there is nothing to unregister.
        let _ = self.engine(&mut driver, |node, now| node.unadvertise_service(now, &core.service));
        driver.remove_server(core);
        if let Some(slot) = driver.nodes.get_mut(self.key) {
            slot.services.remove(&core.service);
        }
        driver.end_clients(core);
        drop(driver);
        drop(self.queue.take(Arc::as_ptr(core).cast()));
    }
}

impl NodeInner {
    /// Waits until replies sent just before the end of a service have arrived.
    fn wait_for_replies(&self, core: &Arc<ServiceCore>) {
        let shared = &self.context.shared;
        let replies = self.driver().replies_of(core);
        let Some(replies) =
            replies.filter(|replies| !shared.linger.is_closed() && !replies.are_acknowledged())
        else {
            return;
        };
        let until = clock::monotonic() + shared.linger.time();
        if !shared.wait_for_arrival(until, |_| replies.are_acknowledged()) {
            let service = &core.service;
            console::warning!(
                "service {service}: it ends before all clients have acknowledged their responses"
            );
        }
    }
}

/// Wraps a user's callback: reads the request and writes the response.
pub(crate) fn answering<S: Service, E: fmt::Display>(
    mut callback: impl FnMut(&S::Request) -> Result<S::Response, E> + Send + 'static,
) -> impl FnMut(ServiceCall<'_>) -> Result<(), String> + Send + 'static {
    let mut owned = S::Request::default();
    move |asked| match asked {
        ServiceCall::Bytes { encoding, request, response } => {
            read_request(&mut owned, encoding, request)?;
            write_response(&callback(&owned).map_err(|error| error.to_string())?, encoding, response)
        }
        ServiceCall::Local { request, response } => {
            let request = request.downcast_ref().ok_or("the request is of another type")?;
            *response = Some(Box::new(callback(request).map_err(|error| error.to_string())?));
            Ok(())
        }
    }
}

pub(crate) fn read_request<R: Wire>(request: &mut R, encoding: Encoding, bytes: &[u8]) -> Result<(), String> {
    let read =
        if encoding.is_ros1() { decode_into(request, bytes) } else { cdr::decode_into(request, bytes) };
    read.map_err(|error| format!("the request cannot be read: {error}"))
}

pub(crate) fn write_response<R: Wire>(
    response: &R,
    encoding: Encoding,
    bytes: &mut Vec<u8>,
) -> Result<(), String> {
    let mut encoded = Ok(());
    let write = |out: &mut GrowingSink| match encoding.is_ros1() {
        true => response.write(out),
        false => encoded = cdr::encode_into(response, encoding, out),
    };
    try_write(bytes, write).map_err(no_memory_for_response)?;
    encoded.map_err(|error| format!("response: {error}"))?;
    LengthBeyondLimit::check(bytes.len(), MAX_MESSAGE).map_err(|error| format!("response: {error}"))
}
