//! Connections of services, once both headers are good: those that we answer on, and those that we ask on.

use std::sync::Arc;
use std::thread::Thread;

use runnel_core::time::Instant;
use runnel_io::{Token, clock};
use runnel_ros1::node::{ServiceClientLink, ServiceFailure, ServiceLinkId, ServiceServerLink, WantedService};
use runnel_ros1::tcpros::{FrameReader, Response, ResponseReader};

use super::Driver;
use super::nodes::NodeKey;
use super::socket::{Called, Served, Socket};
use super::table::Key;
use crate::data::{ClientLink, ServiceCore, Way};
use crate::ready::{ReadyQueue, Runnable};
use crate::receive_budget::explain;

/// A link to a service and the call that is under way on it.
pub(crate) struct Call {
    /// The request, framed, until it is sent; `None` to learn only who provides the service.
    request: Option<Vec<u8>>,
    /// Bytes of every response of its type, if that is fixed.
    response_len: Option<usize>,
    /// What the provider said of itself.
    info: Option<ServiceInfo>,
    /// Its socket, while the link stands.
    socket: Option<Key>,
    /// What the call came to, until it is taken.
    answer: Option<CallAnswer>,
    tell: Option<Tell>,
}

/// Who provides a service, and of which type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceInfo {
    /// The node.
    pub node: String,
    /// Service type, such as `std_srvs/SetBool`; empty if the node does not tell.
    pub type_name: String,
    /// MD5 sum of the type.
    pub md5: String,
}

/// What a call sends and expects.
pub(crate) struct Asks {
    /// The request, framed; `None` to learn only who provides the service.
    pub(crate) request: Option<Vec<u8>>,
    /// Bytes of every response of the type, if that is fixed.
    pub(crate) response_len: Option<usize>,
}

/// What a call came to.
pub(crate) type CallAnswer = Result<Response, ServiceFailure>;

/// Who is told when the answer is there.
pub(crate) enum Tell {
    /// A callback, which waits for its turn.
    Callback { ready: Arc<ReadyQueue>, due: Arc<dyn Runnable> },
    /// A thread that waits for it.
    Thread(Thread),
}

impl Tell {
    fn tell(self) {
        match self {
            Self::Callback { ready, due } => ready.push(due),
            Self::Thread(thread) => thread.unpark(),
        }
    }
}

impl Driver {
    /// The service of this name, if a node of this process provides it.
    pub(crate) fn service_of_this_process(&self, service: &str) -> Option<Arc<ServiceCore>> {
        let mut running = self.nodes.iter().filter(|node| node.stopped.is_none());
        running.find_map(|node| node.services.get(service)).map(Arc::clone)
    }

    /// A client of a service of ours has joined: from now on its bytes are requests.
    pub(super) fn join_service_client(&mut self, engine: Key, link: ServiceClientLink) {
        let Some(key) = self.key_of(engine, link.conn) else { return };
        let service = self.node_of(engine).and_then(|node| node.services.get(&link.service).cloned());
        let Some(service) = service else { return self.ended(key, None) };
        let reactor = Arc::clone(&self.reactor);
        let Some(place) = self.sockets.get_mut(key) else { return };
        let Socket::Control(control) = place else { return };
        let (stream, unsent) = (Arc::clone(&control.stream), std::mem::take(&mut control.unsent));
        let claim = self.frame_budget.claim(control.peer.ip());
        let (token, linger) = (Token(key.to_bits()), self.frame_budget.limits().timeout);
        let client = ClientLink::new(reactor, token, Arc::clone(&stream), link.persistent, unsent, linger);
        let accepted = self.frame_budget.accepted(service.types.request_len);
        let (client, reader) = (Arc::new(client), FrameReader::accepting(accepted));
        let (conn, name, meeting, received) =
            (link.conn, link.client, link.same_host, link.rest.len() as u64);
        *place = Socket::Served(Served {
            engine,
            conn,
            stream,
            reader,
            claim,
            service,
            client,
            name,
            received,
            meeting,
        });
        self.requests(key, &link.rest);
        self.meet(key, meeting);
    }

    pub(super) fn served_readable(&mut self, key: Key) {
        if let Some(Socket::Served(served)) = self.sockets.get(key) {
            self.receive(key, &Arc::clone(&served.stream), Self::requests);
        }
    }

    /// Where a stream is counted: what comes by a session is not of the connection.
    pub(super) fn count_received(&mut self, key: Key, bytes: usize) {
        match self.sockets.get_mut(key) {
            Some(Socket::Served(served)) => served.received += bytes as u64,
            Some(Socket::Called(called)) => called.received += bytes as u64,
            _ => {}
        }
    }

    /// Cuts requests from what came from a client.
    pub(super) fn requests(&mut self, key: Key, bytes: &[u8]) {
        self.cut_requests(key, bytes);
        if let Some(Socket::Served(served)) = self.sockets.get_mut(key) {
            served.claim.update(served.reader.incomplete(), clock::monotonic);
        }
    }

    fn cut_requests(&mut self, key: Key, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Some(Socket::Served(served)) = self.sockets.get_mut(key) else { return };
            match served.reader.take(&mut bytes, Vec::new) {
                Ok(None) => {}
                Ok(Some(request)) => {
                    if !served.service.push(request, &served.client) {
                        return self.misbehaved(key, "sends too many requests ahead of their answers");
                    }
                }
                Err(error) => return self.misbehaved(key, &explain(error)),
            }
        }
    }

    /// Ends the connections of a service that is provided no longer.
    pub(crate) fn end_clients(&mut self, service: &Arc<ServiceCore>) {
        for key in self.sockets.keys() {
            if let Some(Socket::Served(served)) = self.sockets.get(key)
                && Arc::ptr_eq(&served.service, service)
            {
                served.client.end();
                self.ended(key, None);
            }
        }
        service.end();
    }

    /// Begins a call on a new link; `None` if the node is gone. What it comes to is to be taken with
    /// [`Driver::take_answer`], and the link to be ended with [`Driver::end_call`].
    pub(crate) fn begin_call(
        &mut self,
        key: NodeKey,
        wanted: WantedService,
        Asks { request, response_len }: Asks,
        until: Option<Instant>,
        tell: Option<Tell>,
    ) -> Option<ServiceLinkId> {
        let node = self.nodes.get_mut(key.0)?;
        let engine = node.ros1?;
        let ros1 = self.engines.get_mut(engine)?.engine.as_node()?;
        let link = ros1.open_service(clock::monotonic(), wanted, until);
        node.calls.insert(link, Call { request, response_len, info: None, socket: None, answer: None, tell });
        self.pump(engine);
        Some(link)
    }

    /// Begins another call on a link; false if it does not stand any more.
    pub(crate) fn call_again(
        &mut self,
        key: NodeKey,
        link: ServiceLinkId,
        request: &[u8],
        until: Option<Instant>,
        waits: Tell,
    ) -> bool {
        let call = self.node_slot(key).and_then(|node| node.calls.get_mut(&link));
        let Some(Call { socket: Some(socket), answer: None, tell, .. }) = call else { return false };
        let socket = *socket;
        *tell = Some(waits);
        self.with_ros1(key, |node, _| node.set_service_deadline(link, until));
        self.send_request(socket, request);
        true
    }

    /// What a call came to, once it has.
    pub(crate) fn take_answer(&mut self, key: NodeKey, link: ServiceLinkId) -> Option<CallAnswer> {
        self.node_slot(key)?.calls.get_mut(&link)?.answer.take()
    }

    /// What the provider at the other end of a link said of itself.
    pub(crate) fn service_info(&mut self, key: NodeKey, link: ServiceLinkId) -> Option<ServiceInfo> {
        self.node_slot(key)?.calls.get_mut(&link)?.info.clone()
    }

    /// Ends a link.
    pub(crate) fn end_call(&mut self, key: NodeKey, link: ServiceLinkId) {
        if let Some(node) = self.node_slot(key) {
            node.calls.remove(&link);
        }
        self.with_ros1(key, |node, _| node.close_service(link));
    }

    /// A link to a service stands: the request goes out.
    pub(super) fn join_service(&mut self, engine: Key, linked: ServiceServerLink) {
        let Some(key) = self.key_of(engine, linked.conn) else { return };
        let call = self.node_of(engine).and_then(|node| node.calls.get_mut(&linked.link));
        let Some(call) = call else { return };
        call.socket = Some(key);
        call.info = Some(ServiceInfo { node: linked.provider, type_name: linked.type_name, md5: linked.md5 });
        let (request, response_len) = (call.request.take(), call.response_len);
        let Some(place) = self.sockets.get_mut(key) else { return };
        let Socket::Control(control) = place else { return };
        let unsent = std::mem::take(&mut control.unsent);
        let stream = Arc::clone(&control.stream);
        let way = Way::watched(Arc::clone(&stream), Token(key.to_bits()), unsent.len(), control.watched);
        *place = Socket::Called(Called {
            engine,
            conn: linked.conn,
            stream,
            link: linked.link,
            reader: ResponseReader::of_type(response_len, self.frame_budget.longest()),
            claim: self.frame_budget.claim(control.peer.ip()),
            way,
            unsent,
            received: linked.rest.len() as u64,
            meeting: linked.same_host,
        });
        match request {
            Some(request) => self.send_request(key, &request),
            None => self.call_ended(engine, linked.link, Ok(Ok(Vec::new()))),
        }
        self.responses(key, &linked.rest);
        self.meet(key, linked.same_host);
    }

    fn send_request(&mut self, key: Key, request: &[u8]) {
        if let Some(Socket::Called(called)) = self.sockets.get_mut(key) {
            if let Err(refused) = called.unsent.try_push([request, &[]]) {
                return self.ended(key, Some(&refused.to_string()));
            }
            self.flush_request(key);
        }
    }

    pub(super) fn flush_request(&mut self, key: Key) {
        let Some(Socket::Called(called)) = self.sockets.get_mut(key) else { return };
        let Called { unsent, way, .. } = called;
        if let Err(error) = unsent.flush(|bytes| way.send(bytes)) {
            return self.ended(key, Some(&error.to_string()));
        }
        let _ = way.watch(&self.reactor, !unsent.is_empty());
    }

    pub(super) fn called_readable(&mut self, key: Key) {
        if let Some(Socket::Called(called)) = self.sockets.get(key) {
            self.receive(key, &Arc::clone(&called.stream), Self::responses);
        }
    }

    /// Cuts the response from what came from a service.
    pub(super) fn responses(&mut self, key: Key, bytes: &[u8]) {
        self.cut_responses(key, bytes);
        if let Some(Socket::Called(called)) = self.sockets.get_mut(key) {
            called.claim.update(called.reader.incomplete(), clock::monotonic);
        }
    }

    fn cut_responses(&mut self, key: Key, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Some(Socket::Called(called)) = self.sockets.get_mut(key) else { return };
            let (engine, link) = (called.engine, called.link);
            match called.reader.take(&mut bytes) {
                Ok(None) => {}
                Ok(Some(response)) => self.call_ended(engine, link, Ok(response)),
                Err(error) => {
                    let why = format!("response from {}: {}", called.claim.address(), explain(error));
                    return self.ended(key, Some(&why));
                }
            }
        }
    }

    /// A call has come to something. An answer that nobody waits for is passed over.
    pub(super) fn call_ended(&mut self, engine: Key, link: ServiceLinkId, answer: CallAnswer) {
        let Some(call) = self.node_of(engine).and_then(|node| node.calls.get_mut(&link)) else { return };
        if answer.is_err() {
            call.socket = None;
        }
        // A service closes behind its answer, which is no reason to forget that.
        if call.answer.is_some() {
            return;
        }
        call.answer = Some(answer);
        if let Some(tell) = call.tell.take() {
            tell.tell();
        }
        self.with_engine(engine, |engine, _| {
            engine.as_node().into_iter().for_each(|node| node.set_service_deadline(link, None));
        });
    }
}
