//! Services that the node provides: handshake with clients. The driver then transfers requests and responses.

use runnel_core::local_peer::LocalPeerId;
use runnel_core::time::Instant;

use super::config::{NodeConfig, ServiceSpec};
use super::event::{NodeEvent, ServiceClientLink};
use super::fault::{HandshakeFault, RequestedType, TypeMismatch, TypeSum};
use super::same_host::requested_peer;
use super::{Conn, Node, Role, TopicError};
use crate::header::ConnectionHeader;
use crate::net::{ConnId, Endpoint};
use crate::xmlrpc::Value;

impl Node {
    /// Provides a service.
    ///
    /// # Errors
    /// If the node already provides a service of that name.
    pub fn advertise_service(&mut self, now: Instant, spec: ServiceSpec) -> Result<(), TopicError> {
        if self.services.contains_key(&spec.service) {
            return Err(TopicError::ServiceExists { service: spec.service });
        }
        self.registrar.want(Role::Service, &spec.service);
        self.services.insert(spec.service.clone(), spec);
        self.ask_master(now);
        Ok(())
    }

    /// Stops providing a service. The driver must close the connections of its clients.
    pub fn unadvertise_service(&mut self, now: Instant, service: &str) {
        if self.services.remove(service).is_some() {
            self.registrar.forget(Role::Service, service);
            self.ask_master(now);
        }
    }

    /// The URI at which clients reach the services.
    pub(super) fn service_uri(&self) -> String {
        let NodeConfig { host, tcpros_port: port, .. } = &self.config;
        format!("rosrpc://{}", Endpoint { host: host.clone(), port: *port })
    }

    /// Parameters of the `registerService` call.
    pub(super) fn service_registration(&self, service: &str) -> [Value; 4] {
        let name = Value::from(self.config.registered_name());
        [name, service.into(), self.service_uri().into(), self.uri().into()]
    }

    /// Checks a client's header: the request, or the reason of the refusal.
    pub(super) fn check_service_client(&self, header: &ConnectionHeader) -> Result<Client, HandshakeFault> {
        let (service, md5) = (header.require("service")?, header.require("md5sum")?);
        let client = header.require("callerid")?;
        let node = &self.config.name;
        let Some(spec) = self.services.get(service) else {
            return Err(HandshakeFault::NotProvided { service: service.to_owned(), node: node.clone() });
        };
        if self.linked_count >= self.config.limits.subscribers {
            return Err(self.too_many_links());
        }
        if md5 != spec.md5 && md5 != "*" {
            let requested = TypeSum::new(header.get("type").unwrap_or("*"), md5);
            let types = TypeMismatch { requested, offered: TypeSum::new(&spec.type_name, &spec.md5) };
            let (name, peer, node) = (service.to_owned(), client.to_owned(), node.clone());
            return Err(HandshakeFault::ClientType(Box::new(RequestedType { name, peer, node, types })));
        }
        let persistent = matches!(header.get("persistent"), Some("1" | "true"));
        let requested = requested_peer(header).filter(|_| persistent);
        Ok(Client { service: service.to_owned(), name: client.to_owned(), persistent, requested })
    }

    pub(super) fn join_service_client(&mut self, conn: ConnId, client: Client, rest: &[u8]) {
        let Client { service, name, persistent, requested } = client;
        let Some(spec) = self.services.get(&service) else { return };
        let [request, response] = ["Request", "Response"].map(|part| format!("{}{part}", spec.type_name));
        let mut reply = ConnectionHeader::new([
            ("callerid", self.config.name.as_str()),
            ("md5sum", &spec.md5),
            ("request_type", &request),
            ("response_type", &response),
            ("service", &service),
            ("type", &spec.type_name),
        ]);
        let same_host = self.answer_process(requested, &mut reply);
        self.send(conn, reply.emit());
        self.count_as_linked(conn);
        self.conns.insert(conn, Conn::ServiceClient);
        let rest = rest.to_vec();
        let link = ServiceClientLink { service, conn, client: name, persistent, same_host, rest };
        self.events.push_back(NodeEvent::ServiceClientJoined(link));
    }
}

/// A client whose header was accepted.
pub(super) struct Client {
    service: String,
    name: String,
    persistent: bool,
    /// The client's identity for shared memory.
    requested: Option<LocalPeerId>,
}
