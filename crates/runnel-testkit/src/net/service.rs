//! Services of nodes in a network. Request and response are texts.

use std::collections::BTreeMap;
use std::time::Duration;

use runnel_core::bounds::MAX_MESSAGE;
use runnel_core::time::Instant;
use runnel_ros1::net::{ConnId, Transmit};
use runnel_ros1::node::{
    NodeEvent, ServiceClientLink, ServiceClientSpec, ServiceFailure, ServiceLinkId, ServiceServerLink,
    ServiceSpec,
};
use runnel_ros1::tcpros::{FrameReader, ResponseReader, append_response, frame};

use super::{App, Net};

/// A request that gets no answer.
pub const SILENCE: &str = "silence";

/// A request that fails.
pub const FAIL: &str = "fail";

/// Result of a call.
pub type Answer = Result<String, CallFailure>;

/// Reason why a call has no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFailure {
    /// The service reported a failure.
    Failed(String),
    /// No answer arrived.
    None(ServiceFailure),
}

/// The services that a node provides and calls.
#[derive(Default)]
pub(super) struct Services {
    served: BTreeMap<ConnId, Served>,
    called: BTreeMap<ConnId, (ServiceLinkId, ResponseReader)>,
    links: BTreeMap<ServiceLinkId, Link>,
    /// Links that are no longer needed.
    done: Vec<ServiceLinkId>,
}

/// A link to a service, current or ended.
#[derive(Default)]
struct Link {
    /// The first request, which waits for the link.
    request: Vec<u8>,
    persistent: bool,
    conn: Option<ConnId>,
    answers: Vec<Answer>,
}

struct Served {
    reader: FrameReader,
    persistent: bool,
}

impl Services {
    pub(super) fn owns(&self, conn: ConnId) -> bool {
        self.served.contains_key(&conn) || self.called.contains_key(&conn)
    }

    pub(super) fn forget(&mut self, conn: ConnId) {
        self.served.remove(&conn);
        self.called.remove(&conn);
    }

    /// Handles a service event of the engine; returns the socket operations that follow.
    pub(super) fn take_event(&mut self, event: &NodeEvent) -> Vec<Transmit> {
        match event {
            NodeEvent::ServiceClientJoined(link) => self.serve(link),
            NodeEvent::ServiceLinked(link) => self.linked(link),
            NodeEvent::ServiceFailed { link, why } => {
                self.links.entry(*link).or_default().answers.push(Err(CallFailure::None(why.clone())));
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn serve(&mut self, link: &ServiceClientLink) -> Vec<Transmit> {
        let reader = FrameReader::new(MAX_MESSAGE);
        self.served.insert(link.conn, Served { reader, persistent: link.persistent });
        self.take_data(link.conn, &link.rest)
    }

    fn linked(&mut self, link: &ServiceServerLink) -> Vec<Transmit> {
        self.called.insert(link.conn, (link.link, ResponseReader::new(MAX_MESSAGE)));
        let mut transmits = self.take_data(link.conn, &link.rest);
        let known = self.links.entry(link.link).or_default();
        known.conn = Some(link.conn);
        transmits.push(Transmit::Send { conn: link.conn, bytes: std::mem::take(&mut known.request) });
        transmits
    }

    /// Takes the links that are no longer needed.
    pub(super) fn done(&mut self) -> Vec<ServiceLinkId> {
        std::mem::take(&mut self.done)
    }

    /// Answers requests, or records responses.
    pub(super) fn take_data(&mut self, conn: ConnId, mut bytes: &[u8]) -> Vec<Transmit> {
        if let Some((link, reader)) = self.called.get_mut(&conn) {
            while let Ok(Some(answer)) = reader.take(&mut bytes) {
                let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
                let known = self.links.entry(*link).or_default();
                known.answers.push(answer.map(text).map_err(CallFailure::Failed));
                if !known.persistent {
                    self.done.push(*link);
                }
            }
        }
        let mut transmits = Vec::new();
        let Some(served) = self.served.get_mut(&conn) else { return transmits };
        while let Ok(Some(request)) = served.reader.take(&mut bytes, Vec::new) {
            if request == SILENCE.as_bytes() {
                continue;
            }
            let mut bytes = Vec::new();
            let succeeded = request != FAIL.as_bytes();
            append_response(&mut bytes, succeeded, |out| {
                out.extend_from_slice(if succeeded { &request } else { b"on purpose" });
            });
            transmits.push(Transmit::Send { conn, bytes });
            if !served.persistent {
                transmits.push(Transmit::Close { conn });
            }
        }
        transmits
    }
}

/// A service whose request and response are a text.
pub fn text_service(service: &str) -> ServiceSpec {
    ServiceSpec {
        service: service.to_owned(),
        type_name: "test/Echo".to_owned(),
        md5: "0123456789abcdef0123456789abcdef".to_owned(),
    }
}

impl Net {
    /// Makes a node provide a service that echoes each text.
    ///
    /// # Panics
    /// If it already provides a service of that name.
    pub fn provide(&mut self, app: App, service: &str) {
        let spec = text_service(service);
        self.with_node(app, |node, now| node.advertise_service(now, spec)).expect("no service of that name");
    }

    /// Makes a node call a service once.
    pub fn call_service(
        &mut self,
        app: App,
        service: &str,
        request: &str,
        within: Duration,
    ) -> ServiceLinkId {
        let ServiceSpec { service, type_name, md5 } = text_service(service);
        let spec = ServiceClientSpec { service, type_name, md5, persistent: false, probe: false };
        self.call_service_as(app, spec, request, within)
    }

    /// Makes a node call a service, once or as the first of several calls.
    pub fn call_service_as(
        &mut self,
        app: App,
        spec: ServiceClientSpec,
        request: &str,
        within: Duration,
    ) -> ServiceLinkId {
        let until = self.now() + within;
        let persistent = spec.persistent;
        let id = self.with_node(app, |node, now: Instant| node.open_service(now, spec, Some(until)));
        let link = self.services_mut(app).links.entry(id).or_default();
        (link.request, link.persistent) = (framed(request), persistent);
        id
    }

    /// Sends another request on an established link.
    ///
    /// # Panics
    /// If it was never established.
    pub fn call_again(&mut self, app: App, link: ServiceLinkId, request: &str) {
        let conn = self.services_mut(app).links[&link].conn.expect("a link that stood");
        self.transmit_from(app, Transmit::Send { conn, bytes: framed(request) });
    }

    /// The results of the calls on a link, in order.
    pub fn answers(&mut self, app: App, link: ServiceLinkId) -> Vec<Answer> {
        self.services_mut(app).links.get(&link).map(|link| link.answers.clone()).unwrap_or_default()
    }
}

fn framed(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame(&mut bytes, |out| out.extend_from_slice(text.as_bytes()));
    bytes
}
