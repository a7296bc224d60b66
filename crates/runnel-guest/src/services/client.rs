//! Service clients.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::message::Service;
use runnel_core::wire::Encoding;

use crate::abi::Event;
use crate::encoding::{decode, encoded, number};
use crate::entity::Entity;
use crate::error::{Error, ServiceError};
use crate::event_loop::{self, Source};
use crate::host::services;
use crate::node::Node;
use crate::types::Type;

/// A client of one service. Clones are handles of the same client.
pub struct Client<S> {
    inner: Arc<ClientInner>,
    service: PhantomData<fn(S)>,
}

struct ClientInner {
    entity: Entity,
    encoding: Encoding,
    service: String,
    node: Node,
}

impl Node {
    /// Creates a client of a service.
    ///
    /// # Errors
    /// If the name is not valid, or the manifest does not allow it.
    pub fn create_client<S: Service>(&self, service: &str) -> Result<Client<S>, Error> {
        let encoding = self.encoding();
        let handle = Type::of_service::<S>(encoding).create(|type_name| {
            services::create_client(self.handle(), service, type_name, number(encoding))
        })?;
        let entity = Entity::new(handle);
        let service = self.resolve(service)?;
        let inner = ClientInner { entity, encoding, service, node: self.clone() };
        Ok(Client { inner: Arc::new(inner), service: PhantomData })
    }
}

impl<S: Service> Client<S> {
    /// The service's absolute name.
    pub fn service(&self) -> &str {
        &self.inner.service
    }

    /// Calls the service and waits for the response without a time limit. Callbacks do not run meanwhile, so a service of
    /// this program does not answer: use [`Client::call_with`].
    ///
    /// # Errors
    /// [`Error::Service`] when there is no response, with the reason; [`Error::ShuttingDown`] when the program is to end.
    pub fn call(&self, request: &S::Request) -> Result<S::Response, Error> {
        self.call_timeout(request, None)
    }

    /// As [`Client::call`], but waits at most `timeout`.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn call_timeout(
        &self,
        request: &S::Request,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<S::Response, Error> {
        let call = self.send(request, timeout.into())?;
        let (event, payload) = event_loop::wait_for_response(call)?;
        self.inner.read::<S>(&event, &payload)
    }

    /// Calls the service and returns at once. The context calls `callback` with the response, or with the reason why there
    /// is none, while it spins; without a `timeout` there is no time limit.
    ///
    /// # Errors
    /// When the request cannot be sent.
    pub fn call_with(
        &self,
        request: &S::Request,
        timeout: Option<Duration>,
        callback: impl FnOnce(Result<S::Response, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let call = self.send(request, timeout)?;
        let (inner, mut callback) = (Arc::clone(&self.inner), Some(callback));
        let on_response = move |event: &Event, payload: &[u8]| {
            if let Some(callback) = callback.take() {
                callback(inner.read::<S>(event, payload));
            }
        };
        event_loop::add(Source::Call(call), Box::new(on_response));
        Ok(())
    }

    /// Waits at most `timeout` until a node of any graph provides the service. False if none does.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the program is to end.
    pub fn wait_for_service(&self, timeout: Duration) -> Result<bool, Error> {
        self.inner.node.context().wait_until(timeout, || self.service_is_ready())
    }

    /// Whether a node provides the service.
    ///
    /// # Errors
    /// When the host refuses.
    pub fn service_is_ready(&self) -> Result<bool, Error> {
        services::service_is_ready(self.inner.entity.handle())
    }

    fn send(&self, request: &S::Request, timeout: Option<Duration>) -> Result<u64, Error> {
        let ClientInner { entity, encoding, service, .. } = &*self.inner;
        let sent = encoded(request, *encoding, |bytes| services::call(entity.handle(), bytes, timeout));
        sent.unwrap_or_else(|why| Err(Error::Encode { what: format!("service {service}"), why }))
    }
}

impl ClientInner {
    /// The response of a call, or the reason why there is none.
    fn read<S: Service>(&self, event: &Event, payload: &[u8]) -> Result<S::Response, Error> {
        if event.status != 0 {
            let text = String::from_utf8_lossy(payload).into_owned();
            return Err(Error::of_response(&self.service, event.status, text));
        }
        decode(self.encoding, payload).map_err(|why| {
            let service = self.service.clone();
            Error::Service { service, why: ServiceError::Malformed(why) }
        })
    }
}

impl<S> Clone for Client<S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), service: PhantomData }
    }
}

impl<S> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("service", &self.inner.service).finish_non_exhaustive()
    }
}
