//! Announcements of writers and readers (SEDP).

use super::fields::{addresses, duration, text, user_data};
use super::{AnnounceError, PL_CDR_LE, parameters};
use crate::wire::{
    Cursor, EntityId, EntityKind, Guid, Locator, Parameters, ParametersOut, RtpsDuration, pid,
};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;
use runnel_core::qos::{Durability, History, Liveliness, QoS, Reliability};

/// Maximum blocking time of our writers in announcements; peers do not use it.
const MAX_BLOCKING: Duration = Duration::from_millis(100);

/// Data representation XCDR1. Source: DDS-XTypes 1.3, section 7.6.3.1.1.
pub const XCDR1: i16 = 0;

/// Data representation XCDR2.
pub const XCDR2: i16 = 2;

/// Side of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Publishes.
    Writer,
    /// Subscribes.
    Reader,
}

/// Announced data of a writer or reader. Source: RTPS 2.5, sections 8.5.4 and 9.6.3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// GUID of the endpoint.
    pub guid: Guid,
    /// DDS topic name, such as `rt/chatter`.
    pub topic: String,
    /// DDS type name, such as `std_msgs::msg::dds_::String_`.
    pub type_name: String,
    /// Offered or requested QoS. Only some peers announce history and depth.
    pub qos: QoS,
    /// The announcement contains history and depth; otherwise their values are unknown.
    pub has_history: bool,
    /// The ownership is exclusive, which ROS does not use.
    pub exclusive: bool,
    /// The endpoint is in the unnamed partition, as all ROS endpoints. Other partitions are ignored.
    pub in_default_partition: bool,
    /// Offered or accepted data representations; an empty list means only XCDR1.
    pub representations: Vec<i16>,
    /// Each sample must carry the writer's QoS.
    pub expects_inline_qos: bool,
    /// Own addresses, if they differ from the participant's.
    pub unicast: Vec<SocketAddr>,
    /// User data; in ROS 2 `typehash=RIHS01_...;`.
    pub user_data: Vec<u8>,
}

impl Endpoint {
    /// Returns the side of the endpoint.
    pub fn role(&self) -> Role {
        if self.guid.entity.kind() == EntityKind::Writer { Role::Writer } else { Role::Reader }
    }

    /// Parses an announcement, encapsulation header first.
    ///
    /// # Errors
    /// It is no parameter list, lacks a mandatory field, or has an invalid field.
    pub fn parse(role: Role, bytes: &[u8]) -> Result<Self, AnnounceError> {
        let list = parameters(bytes)?;
        let must = |id, field| list.find(id).ok_or(AnnounceError::Missing(field));
        let guid = Guid::from_bytes(must(pid::ENDPOINT_GUID, "endpoint GUID")?.array()?);
        let expected = if role == Role::Writer { EntityKind::Writer } else { EntityKind::Reader };
        if guid.entity.kind() != expected {
            return Err(AnnounceError::Field("endpoint GUID"));
        }
        Ok(Self {
            guid,
            topic: text(must(pid::TOPIC_NAME, "topic")?, "topic")?,
            type_name: text(must(pid::TYPE_NAME, "type")?, "type")?,
            qos: parse_qos(role, list)?,
            has_history: list.find(pid::HISTORY).is_some(),
            exclusive: list.find(pid::OWNERSHIP).map_or(Ok(0), |mut value| value.u32())? == 1,
            in_default_partition: list.find(pid::PARTITION).map_or(Ok(true), names_default_partition)?,
            representations: list.find(pid::DATA_REPRESENTATION).map_or(Ok(Vec::new()), representations)?,
            expects_inline_qos: list
                .find(pid::EXPECTS_INLINE_QOS)
                .map_or(Ok([0]), |mut value| value.array())?
                != [0],
            unicast: addresses(list, pid::UNICAST_LOCATOR)?,
            user_data: list.find(pid::USER_DATA).map_or(Ok(Vec::new()), user_data)?,
        })
    }

    /// Appends the announcement, encapsulation header first.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&PL_CDR_LE);
        let mut list = ParametersOut::new(out);
        list.bytes(pid::ENDPOINT_GUID, &self.guid.to_bytes());
        list.bytes(pid::PARTICIPANT_GUID, &self.guid.prefix.with(EntityId::PARTICIPANT).to_bytes());
        list.text(pid::TOPIC_NAME, &self.topic);
        list.text(pid::TYPE_NAME, &self.type_name);
        emit_qos(&self.qos, self.role(), &mut list);
        if self.has_history {
            emit_history(&self.qos, &mut list);
        }
        self.unicast
            .iter()
            .for_each(|address| list.put(pid::UNICAST_LOCATOR, |out| Locator(*address).emit(out)));
        if !self.representations.is_empty() {
            list.put(pid::DATA_REPRESENTATION, |out| {
                out.extend_from_slice(&(self.representations.len() as u32).to_le_bytes());
                self.representations.iter().for_each(|id| out.extend_from_slice(&id.to_le_bytes()));
            });
        }
        if self.expects_inline_qos {
            list.bytes(pid::EXPECTS_INLINE_QOS, &[1]);
        }
        if !self.user_data.is_empty() {
            list.octets(pid::USER_DATA, &self.user_data);
        }
        list.end();
    }

    /// Returns the inline QoS of the writer's samples, for readers that request it: a parameter list. Source: RTPS 2.5,
    /// sections 8.7.2.2 and 9.6.4.
    pub(crate) fn inline_qos(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut list = ParametersOut::new(&mut out);
        list.text(pid::TOPIC_NAME, &self.topic);
        emit_qos(&self.qos, self.role(), &mut list);
        list.end();
        out
    }

    /// Returns the approximate memory of the endpoint in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.topic.len()
            + self.type_name.len()
            + self.user_data.len()
            + self.unicast.len() * size_of::<SocketAddr>()
    }

    /// Returns the representation that a writer uses: the first of its list. Source: DDS-XTypes 1.3, section 7.6.3.1.1.
    pub fn written_representation(&self) -> i16 {
        self.representations.first().copied().unwrap_or(XCDR1)
    }

    /// Returns whether a reader accepts a representation.
    pub fn accepts_representation(&self, representation: i16) -> bool {
        match self.representations.as_slice() {
            [] => representation == XCDR1,
            named => named.contains(&representation),
        }
    }
}

fn parse_qos(role: Role, list: Parameters<'_>) -> Result<QoS, AnnounceError> {
    let number = |id, default| list.find(id).map_or(Ok(default), |mut value| value.u32());
    let time = |id| list.find(id).map_or(Ok(None), duration);
    let default_kind = if role == Role::Writer { 2 } else { 1 };
    let (kind, lease) = match list.find(pid::LIVELINESS) {
        Some(mut value) => (value.u32()?, duration(value)?),
        None => (0, None),
    };
    let mut qos = QoS {
        reliability: match number(pid::RELIABILITY, default_kind)? {
            2.. => Reliability::Reliable,
            _ => Reliability::BestEffort,
        },
        durability: match number(pid::DURABILITY, 0)? {
            0 => Durability::Volatile,
            _ => Durability::TransientLocal,
        },
        deadline: time(pid::DEADLINE)?,
        lifespan: time(pid::LIFESPAN)?,
        liveliness: liveliness(role, kind),
        liveliness_lease: lease,
        ..QoS::keep_last(1)
    };
    if let Some(mut history) = list.find(pid::HISTORY) {
        qos.history = if history.u32()? == 1 { History::KeepAll } else { History::KeepLast };
        qos.depth = usize::try_from(history.i32()?).unwrap_or(1).max(1);
    }
    Ok(qos)
}

/// Maps the liveliness kind. "Manual by participant" is between the two kinds of ROS: offered, it counts as the
/// lesser; requested, as the greater.
fn liveliness(role: Role, kind: u32) -> Liveliness {
    match (kind, role) {
        (0, _) | (1, Role::Writer) => Liveliness::Automatic,
        _ => Liveliness::ManualByTopic,
    }
}

/// Appends the QoS. Defaults are omitted, also because some peers do not understand an infinite duration.
fn emit_qos(qos: &QoS, role: Role, list: &mut ParametersOut<'_>) {
    let put_time = |out: &mut Vec<u8>, time: Option<Duration>| RtpsDuration::from(time).emit(out);
    list.put(pid::RELIABILITY, |out| {
        let kind: u32 = if qos.reliability == Reliability::Reliable { 2 } else { 1 };
        out.extend_from_slice(&kind.to_le_bytes());
        put_time(out, Some(MAX_BLOCKING));
    });
    if qos.durability == Durability::TransientLocal {
        list.u32(pid::DURABILITY, 1);
    }
    if qos.deadline.is_some() {
        list.put(pid::DEADLINE, |out| put_time(out, qos.deadline));
    }
    if qos.liveliness != Liveliness::Automatic || qos.liveliness_lease.is_some() {
        list.put(pid::LIVELINESS, |out| {
            let kind: u32 = if qos.liveliness == Liveliness::ManualByTopic { 2 } else { 0 };
            out.extend_from_slice(&kind.to_le_bytes());
            put_time(out, qos.liveliness_lease);
        });
    }
    if role == Role::Writer && qos.lifespan.is_some() {
        list.put(pid::LIFESPAN, |out| put_time(out, qos.lifespan));
    }
}

fn emit_history(qos: &QoS, list: &mut ParametersOut<'_>) {
    list.put(pid::HISTORY, |out| {
        let kind: u32 = u32::from(qos.history == History::KeepAll);
        out.extend_from_slice(&kind.to_le_bytes());
        out.extend_from_slice(&i32::try_from(qos.depth).unwrap_or(i32::MAX).to_le_bytes());
    });
}

/// Returns whether a list of partitions is empty or contains the unnamed one.
fn names_default_partition(mut value: Cursor<'_>) -> Result<bool, AnnounceError> {
    let count = value.u32()?;
    let mut is_named = count == 0;
    for _ in 0..count.min(64) {
        let len = value.u32()? as usize;
        let bytes = value.take(len)?;
        let name = bytes.strip_suffix(&[0]).unwrap_or(bytes);
        is_named |= name.is_empty() || name == b"*";
        value.take(value.rest().len().min(len.next_multiple_of(4) - len))?;
    }
    Ok(is_named)
}

fn representations(mut value: Cursor<'_>) -> Result<Vec<i16>, AnnounceError> {
    let mut ids = Vec::new();
    for _ in 0..value.u32()?.min(16) {
        ids.push(value.u16()?.cast_signed());
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::GuidPrefix;
    use alloc::vec;
    use proptest::prelude::*;

    fn endpoint(entity: EntityId) -> Endpoint {
        Endpoint {
            guid: GuidPrefix([7; 12]).with(entity),
            topic: "rt/chatter".into(),
            type_name: "std_msgs::msg::dds_::String_".into(),
            qos: QoS::keep_all()
                .transient_local()
                .deadline(Duration::from_millis(100))
                .liveliness(Liveliness::ManualByTopic, Some(Duration::from_secs(1))),
            has_history: true,
            exclusive: false,
            in_default_partition: true,
            representations: vec![XCDR1],
            expects_inline_qos: false,
            unicast: vec!["127.0.0.1:7411".parse().unwrap()],
            user_data: b"typehash=RIHS01_00;".to_vec(),
        }
    }

    fn emitted(endpoint: &Endpoint) -> Vec<u8> {
        let mut out = vec![];
        endpoint.emit(&mut out);
        out
    }

    #[test]
    fn parsed_announcement_equals_emitted_one() {
        let reader = endpoint(EntityId::user_reader(1));
        assert_eq!(Endpoint::parse(Role::Reader, &emitted(&reader)), Ok(reader));
        let mut writer = endpoint(EntityId::user_writer(1));
        writer.qos.lifespan = Some(Duration::from_secs(2));
        writer.qos.reliability = Reliability::BestEffort;
        assert_eq!(Endpoint::parse(Role::Writer, &emitted(&writer)), Ok(writer));
    }

    fn minimal(entity: EntityId, more: impl FnOnce(&mut ParametersOut<'_>)) -> Vec<u8> {
        let mut bytes = PL_CDR_LE.to_vec();
        let mut list = ParametersOut::new(&mut bytes);
        list.bytes(pid::ENDPOINT_GUID, &GuidPrefix([7; 12]).with(entity).to_bytes());
        list.text(pid::TOPIC_NAME, "t");
        list.text(pid::TYPE_NAME, "T");
        more(&mut list);
        list.end();
        bytes
    }

    #[test]
    fn omitted_parameters_have_specified_defaults() {
        let writer = Endpoint::parse(Role::Writer, &minimal(EntityId::user_writer(1), |_| {})).unwrap();
        let reader = Endpoint::parse(Role::Reader, &minimal(EntityId::user_reader(1), |_| {})).unwrap();
        assert_eq!(writer.qos, QoS::keep_last(1));
        assert_eq!(reader.qos, QoS::keep_last(1).best_effort());
        assert!(!writer.has_history && !reader.has_history);
        assert_eq!(
            (
                writer.written_representation(),
                reader.accepts_representation(XCDR1),
                reader.accepts_representation(XCDR2)
            ),
            (XCDR1, true, false)
        );
        assert!(writer.in_default_partition);
    }

    #[test]
    fn manual_by_participant_maps_to_lesser_or_greater_kind() {
        let by_participant = |list: &mut ParametersOut<'_>| {
            list.bytes(pid::LIVELINESS, &[1, 0, 0, 0, 255, 255, 255, 127, 255, 255, 255, 255]);
        };
        let writer =
            Endpoint::parse(Role::Writer, &minimal(EntityId::user_writer(1), by_participant)).unwrap();
        let reader =
            Endpoint::parse(Role::Reader, &minimal(EntityId::user_reader(1), by_participant)).unwrap();
        let kinds = (writer.qos.liveliness, reader.qos.liveliness);
        assert_eq!(kinds, (Liveliness::Automatic, Liveliness::ManualByTopic));
    }

    #[test]
    fn partitions_and_representations_are_parsed() {
        let bytes = minimal(EntityId::user_reader(1), |list| {
            list.bytes(pid::PARTITION, &[2, 0, 0, 0, 2, 0, 0, 0, b'a', 0, 0, 0, 1, 0, 0, 0, 0]);
            list.bytes(pid::DATA_REPRESENTATION, &[1, 0, 0, 0, 2, 0]);
        });
        let reader = Endpoint::parse(Role::Reader, &bytes).unwrap();
        assert_eq!((reader.in_default_partition, reader.accepts_representation(XCDR1)), (true, false));
        let other_partition = minimal(EntityId::user_reader(1), |list| {
            list.bytes(pid::PARTITION, &[1, 0, 0, 0, 2, 0, 0, 0, b'a', 0, 0, 0]);
        });
        assert!(!Endpoint::parse(Role::Reader, &other_partition).unwrap().in_default_partition);
    }

    #[test]
    fn writer_with_reader_guid_is_refused() {
        let bytes = minimal(EntityId::user_reader(1), |_| {});
        assert_eq!(Endpoint::parse(Role::Writer, &bytes), Err(AnnounceError::Field("endpoint GUID")));
    }

    proptest! {
        #[test]
        fn damaged_announcement_causes_no_panic(at in 0usize..300, byte in any::<u8>(), len in 0usize..400) {
            let mut bytes = emitted(&endpoint(EntityId::user_reader(1)));
            bytes.truncate(len);
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            let _ = Endpoint::parse(Role::Reader, &bytes);
        }
    }
}
