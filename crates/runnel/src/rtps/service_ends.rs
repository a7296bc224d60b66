//! Endpoints of a service in ROS 2: a reader and a writer, which are announced and withdrawn together.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use runnel_core::qos::QoS;
use runnel_io::{clock, host};
use runnel_rtps::announce::{Endpoint, Role};
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, SampleIdentity, VendorId};
use runnel_rtps::{EndpointOptions, NotSent, Participant};

use super::{CdrFrame, Rtps, Unsent, Writer, number, stamp};
use crate::frame::Frame;
use crate::sync::lock;

/// Depth that services of ROS 2 announce. Requests and replies are held until they are acknowledged.
const DEPTH: usize = 10;

/// Keys in the user data of the endpoints of clients and servers. Source: rmw_cyclonedds.
const CLIENT_KEY: &[u8] = b"clientid=";
const SERVICE_KEY: &[u8] = b"serviceid=";

/// Which end of a service the endpoints are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServiceRole {
    /// It reads requests and writes replies.
    Server,
    /// It writes requests and reads replies.
    Client,
}

/// A message type of a service in ROS 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServiceMessageType {
    /// Such as `std_srvs::srv::dds_::SetBool_Request_`.
    pub(crate) dds_type: String,
    /// The type hash of this message.
    pub(crate) rihs01: String,
}

/// The message types of a service in ROS 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServiceTypeNames {
    pub(crate) request: ServiceMessageType,
    pub(crate) response: ServiceMessageType,
}

/// See the module's documentation.
#[derive(Clone)]
pub(crate) struct ServiceEnds {
    pub(crate) reader: EntityId,
    pub(crate) writer: Arc<Writer>,
}

impl Rtps {
    /// Creates both endpoints of a client or a server.
    ///
    /// # Errors
    /// If the operating system has no random bytes.
    pub(crate) fn create_service_ends(
        &self,
        role: ServiceRole,
        service: &str,
        types: &ServiceTypeNames,
    ) -> io::Result<ServiceEnds> {
        let id = id_entry(role, random_id()?) + &self.bridge_mark_entry();
        let requests = options(format!("rq{service}Request"), &types.request, &id);
        let replies = options(format!("rr{service}Reply"), &types.response, &id);
        let (read, written) = match role {
            ServiceRole::Server => (requests, replies),
            ServiceRole::Client => (replies, requests),
        };
        let ends = self.work_on_core(|core, now| {
            let reader = core.participant.create_reader(now, stamp(), read);
            let writer =
                Arc::new(Writer::new(core.participant.create_addressed_writer(now, stamp(), written)));
            core.writers.insert(writer.id(), Arc::clone(&writer));
            ServiceEnds { reader, writer }
        });
        self.send_all();
        Ok(ends)
    }

    /// Removes both endpoints of a client or a server.
    pub(crate) fn remove_service_ends(&self, ends: &ServiceEnds) {
        lock(&self.core).writers.remove(&ends.writer.id());
        self.end_writer(&ends.writer);
        self.work(|participant, now| {
            [ends.reader, ends.writer.id()]
                .into_iter()
                .for_each(|id| participant.remove_endpoint(now, stamp(), id));
        });
    }

    /// Writes a message for one matched reader; returns its number. It is sent when the returned value is dropped, and
    /// not at all if an alternate path carries it.
    ///
    /// # Errors
    /// The reader is not matched, or the writer holds too many unacknowledged messages.
    pub(crate) fn write_to<'a>(
        &'a self,
        writer: &'a Writer,
        frame: Frame,
        to: (Guid, Option<SampleIdentity>),
    ) -> Result<(u64, Unsent<'a>), NotSent> {
        let state = &mut *lock(&writer.state);
        let now = clock::monotonic();
        let written = state.writer.write_to(now, stamp(), CdrFrame(frame), to)?;
        let evicted = state.writer.take_evicted();
        let wakes = self.settle(writer, state, now);
        Ok((number(written), Unsent { rtps: self, writer, wakes, evicted }))
    }

    /// Whether an endpoint of another participant is known.
    pub(crate) fn has_endpoint(&self, guid: Guid) -> bool {
        self.read(|participant| participant.endpoint(guid).is_some())
    }

    /// The DDS implementation of a participant.
    pub(crate) fn vendor_of(&self, participant: GuidPrefix) -> Option<VendorId> {
        Some(lock(&self.core).participant.peer(participant)?.data.vendor)
    }

    /// The readers of replies that may belong to a client's writer of requests: the matched reader of its participant
    /// with the same client id. If that has no id, all readers of the participant that have none.
    pub(crate) fn reply_readers(&self, replies: &Writer, requests: Guid) -> Vec<Guid> {
        self.read(|participant| {
            let readers = participant.matched_readers_of(replies.id(), requests.prefix);
            readers.filter(|reader| have_same_id(participant, CLIENT_KEY, (*reader, requests))).collect()
        })
    }

    /// Whether another process has announced both endpoints of a server of this service.
    pub(crate) fn has_server_of(&self, service: &str) -> bool {
        let (requests, replies) = (format!("rq{service}Request"), format!("rr{service}Reply"));
        self.read(|participant| {
            participant.peers().any(|peer| {
                let has = |role, topic: &str| {
                    peer.endpoints().any(|endpoint| endpoint.role() == role && endpoint.topic == topic)
                };
                has(Role::Reader, &requests) && has(Role::Writer, &replies)
            })
        })
    }

    /// The readers of requests of the servers that are ready for a client: the server's writer of replies is matched, and
    /// has addressed the client's reader.
    pub(crate) fn ready_servers(&self, client: &ServiceEnds) -> Vec<Guid> {
        self.read(|participant| {
            let mut servers = participant.matched(client.writer.id());
            servers.retain(|server| is_ready(participant, client.reader, *server));
            servers
        })
    }
}

impl Writer {
    /// Whether a reader is matched.
    pub(crate) fn has_reader(&self, reader: Guid) -> bool {
        lock(&self.state).writer.has_reader(reader)
    }

    /// The numbers of the messages that RTPS has yet to bring to a matched reader.
    pub(crate) fn unacknowledged_numbers(&self, reader: Guid) -> BTreeSet<u64> {
        let state = &*lock(&self.state);
        state.writer.unacknowledged_of(reader).map(|(at, _)| number(at)).collect()
    }

    /// The number of messages sent to a reader alone that it has not acknowledged.
    pub(crate) fn unacknowledged_by(&self, reader: Guid) -> usize {
        lock(&self.state).writer.unacknowledged_by(reader)
    }
}

fn is_ready(participant: &Participant, reader: EntityId, server: Guid) -> bool {
    let mut writers = participant.matched_writers_of(reader, server.prefix);
    writers.any(|writer| {
        have_same_id(participant, SERVICE_KEY, (writer, server))
            && participant.next_due(reader, writer).is_some()
    })
}

/// Whether two endpoints of one participant have the same id under a key, or one of them has none.
fn have_same_id(participant: &Participant, key: &[u8], (one, other): (Guid, Guid)) -> bool {
    let id =
        |guid| participant.endpoint(guid).and_then(|endpoint: &Endpoint| id_in(&endpoint.user_data, key));
    match (id(one), id(other)) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

/// The value of a key in user data.
fn id_in<'a>(user_data: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    user_data.split(|byte| *byte == b';').find_map(|entry| entry.strip_prefix(key))
}

fn options(topic: String, message: &ServiceMessageType, id: &str) -> EndpointOptions {
    let ServiceMessageType { dds_type, rihs01 } = message;
    let hash = if rihs01.is_empty() { String::new() } else { format!("typehash={rihs01};") };
    EndpointOptions {
        topic,
        type_name: dds_type.clone(),
        qos: QoS::keep_last(DEPTH),
        user_data: (hash + id).into_bytes(),
    }
}

fn random_id() -> io::Result<[u8; 16]> {
    let mut id = [0; 16];
    let (low, high) = id.split_at_mut(8);
    low.copy_from_slice(&host::random()?.to_le_bytes());
    high.copy_from_slice(&host::random()?.to_le_bytes());
    // A peer would pad a first byte of one digit with a blank.
    id[0] |= 0x10;
    Ok(id)
}

/// The entry of an id in user data, as rmw_cyclonedds writes it: bytes in hexadecimal without leading zeros.
fn id_entry(role: ServiceRole, id: [u8; 16]) -> String {
    let key = if role == ServiceRole::Client { CLIENT_KEY } else { SERVICE_KEY };
    let mut entry = String::from_utf8_lossy(key).into_owned();
    for (index, byte) in id.iter().enumerate() {
        let dot = if index == 0 { "" } else { "." };
        let _ = write!(entry, "{dot}{byte:x}");
    }
    entry + ";"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_written_as_cyclone_writes_it() {
        let mut id = [0; 16];
        id[..3].copy_from_slice(&[0x1f, 0x0a, 0]);
        let entry = id_entry(ServiceRole::Client, id);
        assert_eq!(entry, "clientid=1f.a.0.0.0.0.0.0.0.0.0.0.0.0.0.0;");
        let user_data = format!("typehash=RIHS01_ab;{entry}");
        assert_eq!(id_in(user_data.as_bytes(), CLIENT_KEY), Some(&b"1f.a.0.0.0.0.0.0.0.0.0.0.0.0.0.0"[..]));
        assert_eq!(id_in(user_data.as_bytes(), SERVICE_KEY), None);
        assert!(id_entry(ServiceRole::Server, id).starts_with("serviceid=1f.a.0"));
    }
}
