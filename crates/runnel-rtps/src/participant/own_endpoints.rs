//! Local endpoints: creation, announcement and removal.

use super::user_writers::UserWriterEntry;
use super::{ACCEPTED_REPRESENTATIONS, Audience, EndpointOptions, Participant};
use crate::announce::{Endpoint, Role};
use crate::config::Limits;
use crate::lend::Lend;
use crate::reader::Reader;
use crate::wire::{EntityId, EntityKind, Timestamp};
use crate::writer::UserWriter;
use alloc::vec::Vec;
use runnel_core::time::Instant;

impl Participant {
    /// Creates a writer. Later updates of [`Participant::poll_writer_update`] with its id are for it.
    pub fn create_writer<P: Lend>(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        options: EndpointOptions,
    ) -> UserWriter<P> {
        let id = self.new_id(EntityId::user_writer);
        self.begin_writer(now, stamp, id, options)
    }

    /// Creates a writer whose samples are for one reader each, such as requests and replies of services
    /// ([`UserWriter::write_to`]).
    pub fn create_addressed_writer<P: Lend>(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        options: EndpointOptions,
    ) -> UserWriter<P> {
        self.create_writer(now, stamp, options).addressed()
    }

    /// Creates a writer that matches only the readers of an audience.
    pub fn create_writer_for<P: Lend>(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        options: EndpointOptions,
        audience: Audience,
    ) -> UserWriter<P> {
        let id = self.new_id(EntityId::user_writer);
        self.audiences.insert(id, audience);
        self.begin_writer(now, stamp, id, options)
    }

    fn begin_writer<P: Lend>(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        id: EntityId,
        options: EndpointOptions,
    ) -> UserWriter<P> {
        let Limits { kept, kept_bytes, .. } = self.config.limits;
        let writer = UserWriter::new(self.config.prefix.with(id), options.qos, (kept, kept_bytes));
        self.user_writers.insert(id, UserWriterEntry::default());
        self.announce_endpoint(now, stamp, id, options);
        writer
    }

    /// Creates a reader.
    pub fn create_reader(&mut self, now: Instant, stamp: Timestamp, options: EndpointOptions) -> EntityId {
        let id = self.new_id(EntityId::user_reader);
        self.readers.insert(id, Reader::new());
        self.announce_endpoint(now, stamp, id, options);
        id
    }

    /// Returns a free entity id of this kind.
    fn new_id(&mut self, id: impl Fn(u32) -> EntityId) -> EntityId {
        id(self.entity_ids.next(|number| !self.endpoints.contains_key(&id(number))))
    }

    fn announce_endpoint(&mut self, now: Instant, stamp: Timestamp, id: EntityId, options: EndpointOptions) {
        let EndpointOptions { topic, type_name, qos, user_data } = options;
        let endpoint = Endpoint {
            guid: self.config.prefix.with(id),
            topic,
            type_name,
            qos,
            has_history: true,
            exclusive: false,
            in_default_partition: true,
            // Without an announced list, a writer offers XCDR1.
            representations: if id.kind() == EntityKind::Reader {
                ACCEPTED_REPRESENTATIONS.to_vec()
            } else {
                Vec::new()
            },
            expects_inline_qos: false,
            unicast: Vec::new(),
            user_data,
        };
        match endpoint.role() {
            Role::Writer => self.schedule_assertions(now, &qos),
            Role::Reader => self.monitor_deadline(id, &qos),
        }
        self.write_announcement(now, stamp, &endpoint);
        let announced_at = self.announced_at(endpoint.role());
        if let Some(writer) = self.user_writers.get_mut(&id) {
            writer.announced_at = announced_at;
        }
        self.endpoints.insert(id, endpoint);
        self.match_own(now, id);
    }

    /// Removes a local endpoint. It causes no events, but peers are notified.
    pub fn remove_endpoint(&mut self, now: Instant, stamp: Timestamp, id: EntityId) {
        if self.endpoints.remove(&id).is_none() {
            return;
        }
        self.write_disposal(now, stamp, id);
        self.audiences.remove(&id);
        self.corrections.remove(&id);
        self.user_writers.remove(&id);
        self.writer_updates.retain(|update| update.writer != id);
        self.readers.remove(&id);
        self.early.retain(|(_, reader), _| *reader != id);
        self.remove_monitors(id);
        self.readers_by_writer.retain(|_, readers| {
            readers.retain(|reader| *reader != id);
            !readers.is_empty()
        });
    }
}
