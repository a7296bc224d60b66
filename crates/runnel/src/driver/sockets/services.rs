//! Connections of service links, once both headers are accepted: of clients to this process, and to services of other
//! processes.

use std::sync::Arc;

use runnel_io::{Token, clock};
use runnel_ros1::node::{ServiceClientLink, ServiceServerLink};
use runnel_ros1::tcpros::{FrameReader, ResponseReader};

use super::Sockets;
use super::socket::{CalledService, ServedClient, Socket};
use crate::data::{ClientLink, ServiceCore, StreamPath};
use crate::driver::effect::{Effect, Effects};
use crate::driver::table::Key;
use crate::settings::receive_budget::explain;

impl Sockets {
    /// Begins a link of a client to a service of this process: the bytes of its connection are requests. False if there
    /// is no such connection.
    pub(in crate::driver) fn join_client(
        &mut self,
        key: Key,
        service: Arc<ServiceCore>,
        link: ServiceClientLink,
        effects: &mut Effects,
    ) -> bool {
        let reactor = Arc::clone(&self.reactor);
        let Some(place) = self.table.get_mut(key) else { return false };
        let Socket::Control(control) = place else { return false };
        let (stream, unsent) = (Arc::clone(&control.stream), std::mem::take(&mut control.unsent));
        let claim = self.frame_budget.claim(control.peer.ip());
        let (token, linger) = (Token(key.to_bits()), self.frame_budget.limits().timeout);
        let client = ClientLink::new(reactor, token, Arc::clone(&stream), link.persistent, unsent, linger);
        let accepted = self.frame_budget.accepted(service.types.request_len);
        let served = ServedClient {
            engine: control.engine,
            conn: link.conn,
            stream,
            reader: FrameReader::with_accepted_length(accepted),
            claim,
            service,
            client: Arc::new(client),
            name: link.client,
            received: link.rest.len() as u64,
            local_peer: link.same_host,
        };
        *place = Socket::ServedClient(served);
        self.requests(key, &link.rest, effects);
        true
    }

    pub(super) fn served_readable(&mut self, key: Key, effects: &mut Effects) {
        let Some(Socket::ServedClient(served)) = self.get(key) else { return };
        let stream = Arc::clone(&served.stream);
        let count = self.receive(key, &stream, effects);
        if let Some(Socket::ServedClient(served)) = self.get_mut(key) {
            served.received += count as u64;
        }
        let scratch = self.take_scratch();
        self.requests(key, scratch.get(..count).unwrap_or_default(), effects);
        self.scratch = scratch;
    }

    /// Takes requests from a client's bytes.
    pub(in crate::driver) fn requests(&mut self, key: Key, bytes: &[u8], effects: &mut Effects) {
        self.cut_requests(key, bytes, effects);
        if let Some(Socket::ServedClient(served)) = self.get_mut(key) {
            served.claim.update(served.reader.incomplete(), clock::monotonic);
        }
    }

    fn cut_requests(&mut self, key: Key, mut bytes: &[u8], effects: &mut Effects) {
        while !bytes.is_empty() {
            let Some(Socket::ServedClient(served)) = self.get_mut(key) else { return };
            match served.reader.take(&mut bytes, Vec::new) {
                Ok(None) => {}
                Ok(Some(request)) => {
                    if !served.service.push(request, &served.client) {
                        let why = "has too many requests without a response".to_owned();
                        return self.misbehaved(key, why, effects);
                    }
                }
                Err(error) => return self.misbehaved(key, explain(error), effects),
            }
        }
    }

    /// Ends the responses to all clients of a service. Returns the keys of their sockets.
    pub(in crate::driver) fn clients_of(&self, service: &Arc<ServiceCore>) -> Vec<Key> {
        let is_client = |key: &Key| match self.get(*key) {
            Some(Socket::ServedClient(served)) if Arc::ptr_eq(&served.service, service) => {
                served.client.end();
                true
            }
            _ => false,
        };
        self.keys().into_iter().filter(is_client).collect()
    }

    /// Begins a link to a service: the bytes of its connection are responses. False if there is no such connection.
    pub(in crate::driver) fn join_service(
        &mut self,
        key: Key,
        response_len: Option<usize>,
        linked: &ServiceServerLink,
    ) -> bool {
        let Some(place) = self.table.get_mut(key) else { return false };
        let Socket::Control(control) = place else { return false };
        let unsent = std::mem::take(&mut control.unsent);
        let stream = Arc::clone(&control.stream);
        let path =
            StreamPath::watched(Arc::clone(&stream), Token(key.to_bits()), unsent.len(), control.watched);
        *place = Socket::CalledService(CalledService {
            engine: control.engine,
            conn: linked.conn,
            stream,
            link: linked.link,
            reader: ResponseReader::of_type(response_len, self.frame_budget.longest()),
            claim: self.frame_budget.claim(control.peer.ip()),
            path,
            unsent,
            received: linked.rest.len() as u64,
            local_peer: linked.same_host,
        });
        true
    }

    /// Sends a request to a service.
    pub(in crate::driver) fn send_request(&mut self, key: Key, request: &[u8], effects: &mut Effects) {
        if let Some(Socket::CalledService(called)) = self.get_mut(key) {
            if let Err(refused) = called.unsent.try_push([request, &[]]) {
                return self.ended(key, Some(refused.to_string()), effects);
            }
            self.flush_request(key, effects);
        }
    }

    pub(in crate::driver) fn flush_request(&mut self, key: Key, effects: &mut Effects) {
        let Some(Socket::CalledService(called)) = self.table.get_mut(key) else { return };
        let CalledService { unsent, path, .. } = called;
        if let Err(error) = unsent.flush(|bytes| path.send(bytes)) {
            return self.ended(key, Some(error.to_string()), effects);
        }
        let _ = path.watch(&self.reactor, !unsent.is_empty());
    }

    pub(super) fn called_readable(&mut self, key: Key, effects: &mut Effects) {
        let Some(Socket::CalledService(called)) = self.get(key) else { return };
        let stream = Arc::clone(&called.stream);
        let count = self.receive(key, &stream, effects);
        if let Some(Socket::CalledService(called)) = self.get_mut(key) {
            called.received += count as u64;
        }
        let scratch = self.take_scratch();
        self.responses(key, scratch.get(..count).unwrap_or_default(), effects);
        self.scratch = scratch;
    }

    /// Takes the response from a service's bytes.
    pub(in crate::driver) fn responses(&mut self, key: Key, bytes: &[u8], effects: &mut Effects) {
        self.cut_responses(key, bytes, effects);
        if let Some(Socket::CalledService(called)) = self.get_mut(key) {
            called.claim.update(called.reader.incomplete(), clock::monotonic);
        }
    }

    fn cut_responses(&mut self, key: Key, mut bytes: &[u8], effects: &mut Effects) {
        while !bytes.is_empty() {
            let Some(Socket::CalledService(called)) = self.get_mut(key) else { return };
            let (engine, link) = (called.engine, called.link);
            match called.reader.take(&mut bytes) {
                Ok(None) => {}
                Ok(Some(response)) => {
                    effects.push_back(Effect::Answered { engine, link, answer: Ok(response) });
                }
                Err(error) => {
                    let why = format!("response from {}: {}", called.claim.address(), explain(error));
                    return self.finish(key, Some(why), effects);
                }
            }
        }
    }
}
