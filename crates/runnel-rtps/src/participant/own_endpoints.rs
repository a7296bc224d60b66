//! Endpoints of ours: made, announced and removed.

use super::watch::Watched;
use super::{Audience, EndpointOptions, Participant, READ, Timer};
use crate::announce::{Endpoint, Role};
use crate::config::Limits;
use crate::reader::Reader;
use crate::stored::Lend;
use crate::wire::{EntityId, EntityKind, Timestamp};
use crate::writer::Writer;
use alloc::vec::Vec;
use runnel_core::time::Instant;

impl<P: Lend> Participant<P> {
    /// Makes a writer.
    pub fn create_writer(&mut self, now: Instant, stamp: Timestamp, options: EndpointOptions) -> EntityId {
        let id = self.new_id(EntityId::user_writer);
        self.begin_writer(now, stamp, id, options);
        id
    }

    /// Makes a writer that meets only those of the readers which `audience` is true for.
    pub fn create_writer_for(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        options: EndpointOptions,
        audience: Audience,
    ) -> EntityId {
        let id = self.new_id(EntityId::user_writer);
        self.audiences.insert(id, audience);
        self.begin_writer(now, stamp, id, options);
        id
    }

    fn begin_writer(&mut self, now: Instant, stamp: Timestamp, id: EntityId, options: EndpointOptions) {
        let Limits { kept, kept_bytes, .. } = self.config.limits;
        self.writers.insert(id, Writer::new(id, options.qos, kept).within(kept_bytes));
        self.announce_endpoint(now, stamp, id, options);
    }

    /// Makes a reader.
    pub fn create_reader(&mut self, now: Instant, stamp: Timestamp, options: EndpointOptions) -> EntityId {
        let id = self.new_id(EntityId::user_reader);
        self.readers.insert(id, Reader::new());
        self.announce_endpoint(now, stamp, id, options);
        id
    }

    /// A name of this kind for an endpoint of ours, which no other bears.
    fn new_id(&mut self, id: impl Fn(u32) -> EntityId) -> EntityId {
        id(self.numbers.next(|number| !self.endpoints.contains_key(&id(number))))
    }

    fn announce_endpoint(&mut self, now: Instant, stamp: Timestamp, id: EntityId, options: EndpointOptions) {
        let EndpointOptions { topic, type_name, qos, user_data } = options;
        let endpoint = Endpoint {
            guid: self.config.prefix.with(id),
            topic,
            type_name,
            qos,
            tells_history: true,
            exclusive: false,
            in_default_partition: true,
            // What a writer offers when nothing is said is XCDR1.
            representations: if id.kind() == EntityKind::Reader { READ.to_vec() } else { Vec::new() },
            expects_inline_qos: false,
            unicast: Vec::new(),
            user_data,
        };
        self.watch_own(now, id, &qos, endpoint.role() == Role::Writer);
        self.tell_of_endpoint(now, stamp, &endpoint);
        let told_at = self.told_at(endpoint.role());
        if let Some(writer) = self.writers.get_mut(&id) {
            writer.told_at = told_at;
        }
        self.endpoints.insert(id, endpoint);
        self.match_own(now, id);
    }

    /// Ends an endpoint of ours. Nobody is told by events, but the peers are.
    pub fn remove_endpoint(&mut self, now: Instant, stamp: Timestamp, id: EntityId) {
        if self.endpoints.remove(&id).is_none() {
            return;
        }
        self.tell_of_end(now, stamp, id);
        self.audiences.remove(&id);
        self.corrections.remove(&id);
        self.writers.remove(&id);
        self.timers.cancel(&Timer::Writer(id));
        self.elsewhere.forget_writer(id);
        self.readers.remove(&id);
        self.early.retain(|(_, reader), _| *reader != id);
        self.unwatch(|what| match what {
            Watched::Deadline(of) | Watched::OwnLife(of) | Watched::Life(of, _) => *of == id,
        });
        self.heard.retain(|_, readers| {
            readers.retain(|reader| *reader != id);
            !readers.is_empty()
        });
    }
}
