//! Links to services of other nodes: look up the provider, connect, exchange headers. A failed link is not retried;
//! the caller decides. Only a wait for a service begins again ([`Node::await_service`]).

mod awaiting;

use std::fmt;
use std::time::Duration;

use runnel_core::time::Instant;

use super::event::{NodeEvent, ServiceServerLink};
use super::fault::{HandshakeFault, MasterFault, TypeMismatch, TypeSum};
use super::same_host;
use super::timer::Timer;
use super::{Conn, Node, Purpose};
use crate::answer::Answer;
use crate::header::{ConnectionHeader, MAX_HEADER};
use crate::net::{ConnId, Endpoint, Transmit};
use crate::peer_text::{sanitize, sanitize_value};
use crate::rpc::{CallError, Uri};
use crate::tcpros::FrameReader;
use crate::xmlrpc::Value;

/// Id of a link to a service. A node never uses an id twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceLinkId(pub u64);

/// A service to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceClientSpec {
    /// Global name, such as `/add_two_ints`.
    pub service: String,
    /// Service type; `*` if unknown.
    pub type_name: String,
    /// MD5 sum of the type; `*` accepts any.
    pub md5: String,
    /// The connection stays open for more than one call.
    pub persistent: bool,
    /// Only requests the provider's header; no call is made.
    pub probe: bool,
}

/// Reason why a service cannot be called, or a call got no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceFailure {
    /// The master knows no provider.
    NotProvided,
    /// The master did not answer, or its answer is not valid.
    MasterSilent {
        /// The master's URI.
        master: Box<Uri>,
        /// The error.
        why: MasterFault,
    },
    /// The provider cannot be reached.
    Unreachable {
        /// The provider's address.
        at: String,
        /// The error.
        why: String,
    },
    /// The handshake with the provider failed.
    Refused {
        /// The provider's address.
        at: String,
        /// The reason.
        why: HandshakeFault,
    },
    /// The connection ended.
    Lost {
        /// The provider's address.
        at: String,
        /// The error, if there was one.
        why: Option<String>,
    },
    /// A step exceeded its time limit.
    TimedOut {
        /// The step.
        waiting_for: &'static str,
    },
}

impl fmt::Display for ServiceFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotProvided => f.write_str("no node provides it"),
            Self::MasterSilent { master, why } => {
                write!(f, "its provider is unknown: {}. Try: runnel master", why.summary(master))
            }
            Self::Unreachable { at, why } => write!(f, "cannot connect to its node at {at}: {why}"),
            Self::Refused { at, why: HandshakeFault::Rejected(why) } => {
                write!(f, "its node at {at} refused the connection: {}", sanitize(why))
            }
            Self::Refused { at, why } => {
                write!(f, "its node at {at} refused the connection: {}", sanitize(&why.to_string()))
            }
            Self::Lost { at, why: Some(why) } => write!(f, "the connection to its node at {at} broke: {why}"),
            Self::Lost { at, why: None } => {
                write!(f, "its node at {at} closed the connection before it answered")
            }
            Self::TimedOut { waiting_for } => write!(f, "timed out waiting for {waiting_for}"),
        }
    }
}

impl std::error::Error for ServiceFailure {}

/// A link to a service.
#[derive(Debug)]
pub(super) struct ServiceLink {
    spec: ServiceClientSpec,
    state: State,
    /// Pause after the next failure, if the service is awaited.
    pause: Option<Duration>,
}

#[derive(Debug)]
enum State {
    /// The lookup of the provider is in progress.
    ExpectAddress,
    /// The service is awaited, and its next lookup is scheduled.
    ExpectRetry,
    /// The connection is being opened.
    ExpectConnection { conn: ConnId, to: Endpoint },
    /// The node's header is sent; the provider's is expected.
    ExpectHeader { conn: ConnId, to: Endpoint, reader: FrameReader, token: Option<u128> },
    /// The link is established.
    Linked { conn: ConnId, to: Endpoint },
}

impl State {
    fn conn(&self) -> Option<ConnId> {
        match self {
            Self::ExpectAddress | Self::ExpectRetry => None,
            Self::ExpectConnection { conn, .. }
            | Self::ExpectHeader { conn, .. }
            | Self::Linked { conn, .. } => Some(*conn),
        }
    }

    fn waiting_for(&self) -> &'static str {
        match self {
            Self::ExpectAddress | Self::ExpectRetry => "the master to name its provider",
            Self::ExpectConnection { .. } => "a connection to its node",
            Self::ExpectHeader { .. } => "its node's connection header",
            Self::Linked { .. } => "the answer",
        }
    }
}

impl Node {
    /// Opens a link to a service. [`NodeEvent::ServiceLinked`] or [`NodeEvent::ServiceFailed`] follows. The link can
    /// still fail later, and fails at `until` if it still exists.
    pub fn open_service(
        &mut self,
        now: Instant,
        spec: ServiceClientSpec,
        until: Option<Instant>,
    ) -> ServiceLinkId {
        let id = self.add_service_link(spec, None);
        self.set_service_deadline(id, until);
        self.look_up_service(now, id);
        id
    }

    fn add_service_link(&mut self, spec: ServiceClientSpec, pause: Option<Duration>) -> ServiceLinkId {
        self.last_service_link += 1;
        let id = ServiceLinkId(self.last_service_link);
        self.service_links.insert(id, ServiceLink { spec, state: State::ExpectAddress, pause });
        id
    }

    fn look_up_service(&mut self, now: Instant, id: ServiceLinkId) {
        let Some(link) = self.service_links.get_mut(&id) else { return };
        link.state = State::ExpectAddress;
        let params = [self.config.name.as_str().into(), link.spec.service.as_str().into()];
        self.call_master(now, "lookupService", &params, Purpose::LookupService(id));
    }

    /// Sets the time-out of the link; `None` removes it.
    pub fn set_service_deadline(&mut self, id: ServiceLinkId, until: Option<Instant>) {
        match until.filter(|_| self.service_links.contains_key(&id)) {
            Some(until) => self.timers.schedule(Timer::ServiceLink(id), until),
            None => {
                self.timers.cancel(&Timer::ServiceLink(id));
            }
        }
    }

    /// Closes a link; no event follows.
    pub fn close_service(&mut self, id: ServiceLinkId) {
        self.set_service_deadline(id, None);
        if let Some(conn) = self.service_links.remove(&id).and_then(|link| link.state.conn()) {
            self.close_service_conn(conn);
        }
    }

    fn close_service_conn(&mut self, conn: ConnId) {
        if self.conns.remove(&conn).is_some() {
            self.close(conn);
        }
    }

    fn fail_service(&mut self, now: Instant, id: ServiceLinkId, why: ServiceFailure) {
        if !self.retry_service(now, id) {
            self.close_service(id);
            self.events.push_back(NodeEvent::ServiceFailed { link: id, why });
        }
    }

    pub(super) fn service_due(&mut self, now: Instant, id: ServiceLinkId) {
        match self.service_links.get(&id).map(|link| &link.state) {
            Some(State::ExpectRetry) => self.look_up_service(now, id),
            Some(state) => {
                let waiting_for = state.waiting_for();
                self.fail_service(now, id, ServiceFailure::TimedOut { waiting_for });
            }
            None => {}
        }
    }

    /// The master has answered `lookupService`.
    pub(super) fn service_found(
        &mut self,
        now: Instant,
        id: ServiceLinkId,
        answer: Result<Value, CallError>,
    ) {
        if !self.service_links.contains_key(&id) {
            return;
        }
        match answer {
            Err(error) => {
                let master = Box::new(self.config.master.clone());
                self.fail_service(now, id, ServiceFailure::MasterSilent { master, why: error.into() });
            }
            Ok(answer) => match service_address(&self.config.master, &answer) {
                Ok(to) => self.connect_service(now, id, to),
                Err(why) => self.fail_service(now, id, why),
            },
        }
    }

    fn connect_service(&mut self, now: Instant, id: ServiceLinkId, to: Endpoint) {
        self.limit_attempt(now, id);
        let Some(link) = self.service_links.get_mut(&id) else { return };
        let conn = self.rpc.new_conn_id();
        link.state = State::ExpectConnection { conn, to: to.clone() };
        self.transmits.push_back(Transmit::Connect { conn, to });
        self.conns.insert(conn, Conn::ServiceLink(id));
    }

    /// The connection is open: send the header.
    pub(super) fn service_connected(&mut self, id: ServiceLinkId) {
        let Some(ServiceLink { spec, state, .. }) = self.service_links.get_mut(&id) else { return };
        let State::ExpectConnection { conn, to } = state else { return };
        let (conn, to) = (*conn, to.clone());
        let persistent = spec.persistent;
        let mut fields = vec![
            ("callerid", self.config.name.as_str()),
            ("md5sum", &spec.md5),
            ("persistent", if spec.persistent { "1" } else { "0" }),
            ("service", &spec.service),
            ("type", &spec.type_name),
        ];
        if spec.probe {
            fields.push(("probe", "1"));
        }
        let mut header = ConnectionHeader::new(fields);
        // A connection for one call ends before the two processes could connect by shared memory.
        let token = if persistent { self.announce_process(&mut header) } else { None };
        let reader = FrameReader::new(MAX_HEADER);
        if let Some(link) = self.service_links.get_mut(&id) {
            link.state = State::ExpectHeader { conn, to, reader, token };
        }
        self.send(conn, header.emit());
    }

    /// Bytes of the provider's header have arrived.
    pub(super) fn service_data(&mut self, now: Instant, id: ServiceLinkId, mut bytes: &[u8]) {
        let Some(link) = self.service_links.get_mut(&id) else { return };
        let State::ExpectHeader { conn, to, reader, token } = &mut link.state else { return };
        let checked = match reader.take(&mut bytes, Vec::new) {
            Ok(None) => return,
            Ok(Some(header)) => check_provider(&link.spec, &header),
            Err(error) => Err(HandshakeFault::Length(error)),
        };
        let (conn, to, token) = (*conn, to.clone(), *token);
        match checked {
            Ok(header) => {
                link.state = State::Linked { conn, to };
                self.end_wait_for_service(id);
                let text = |key| header.get(key).unwrap_or_default().to_owned();
                self.events.push_back(NodeEvent::ServiceLinked(ServiceServerLink {
                    link: id,
                    conn,
                    provider: text("callerid"),
                    type_name: text("type"),
                    md5: text("md5sum"),
                    same_host: same_host::answered_peer(&header, token),
                    rest: bytes.to_vec(),
                }));
            }
            Err(why) => self.fail_service(now, id, ServiceFailure::Refused { at: to.to_string(), why }),
        }
    }

    /// The peer has closed the connection of a link.
    pub(super) fn service_closed(&mut self, now: Instant, id: ServiceLinkId, why: Option<&str>) {
        let Some(link) = self.service_links.get(&id) else { return };
        let failure = match &link.state {
            State::ExpectAddress | State::ExpectRetry => return,
            State::ExpectConnection { to, .. } => {
                let why = why.unwrap_or("the connection was closed").to_owned();
                ServiceFailure::Unreachable { at: to.to_string(), why }
            }
            State::ExpectHeader { to, .. } | State::Linked { to, .. } => {
                ServiceFailure::Lost { at: to.to_string(), why: why.map(str::to_owned) }
            }
        };
        self.fail_service(now, id, failure);
    }
}

/// Checks the provider's header.
fn check_provider(spec: &ServiceClientSpec, bytes: &[u8]) -> Result<ConnectionHeader, HandshakeFault> {
    let header = ConnectionHeader::parse(bytes)?;
    if let Some(why) = header.get("error") {
        return Err(HandshakeFault::Rejected(sanitize(why)));
    }
    let md5 = header.require("md5sum")?;
    for kept in ["callerid", "type"] {
        header.bounded(kept)?;
    }
    if md5 != spec.md5 && ![md5, &spec.md5].contains(&"*") {
        let offered = TypeSum::new(header.get("type").unwrap_or("a type"), md5);
        let requested = TypeSum::new(&spec.type_name, &spec.md5);
        return Err(HandshakeFault::OfferedType(Box::new(TypeMismatch { requested, offered })));
    }
    Ok(header)
}

/// Host and port in the answer to `lookupService`.
fn service_address(master: &Uri, answer: &Value) -> Result<Endpoint, ServiceFailure> {
    let bad = |why| ServiceFailure::MasterSilent { master: Box::new(master.clone()), why };
    let parsed = Answer::parse(answer).map_err(|error| bad(error.into()))?;
    let uri = parsed.into_result().map_err(|_| ServiceFailure::NotProvided)?;
    let uri = uri.as_str().ok_or_else(|| bad(MasterFault::NotAServiceAddress(sanitize_value(uri))))?;
    let uri = Uri::parse_scheme("rosrpc", uri).map_err(|error| bad(MasterFault::ServiceUri(error)))?;
    Ok(uri.endpoint)
}
