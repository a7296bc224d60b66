//! A talker and a listener on dust_dds: `dust talker|listener TOPIC [--OPTION VALUE]...`.
//!
//! The talker publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays. The listener prints
//! `got N len L crc C` for each message, and ends after `--count` of them with `done`. Both print `ready` at first, and
//! `matched NOW` when that changes.

use std::thread::{park, sleep};
use std::time::Duration;

use dust_dds::domain::domain_participant::DomainParticipant;
use dust_dds::domain::domain_participant_factory::DomainParticipantFactory;
use dust_dds::infrastructure::error::{DdsError, DdsResult};
use dust_dds::infrastructure::listener::NO_LISTENER;
use dust_dds::infrastructure::qos::{DataReaderQos, DataWriterQos, QosKind};
use dust_dds::infrastructure::qos_policy::{
    DurabilityQosPolicy, DurabilityQosPolicyKind, HistoryQosPolicy, HistoryQosPolicyKind,
    ReliabilityQosPolicy, ReliabilityQosPolicyKind,
};
use dust_dds::infrastructure::status::NO_STATUS;
use dust_dds::infrastructure::time::{Duration as DdsDuration, DurationKind};
use dust_dds::infrastructure::type_support::DdsType;
use dust_dds::topic_definition::topic::Topic;
use dust_dds::xtypes::type_support::TypeSupport;
use words::{Kind, Words, say, tell_octets, tell_text};

#[derive(DdsType)]
struct Text {
    data: String,
}

#[derive(DdsType)]
struct Octets {
    layout: Layout,
    data: Vec<u8>,
}

#[derive(DdsType)]
#[dust_dds(nested)]
struct Layout {
    dim: Vec<Dimension>,
    data_offset: u32,
}

#[derive(DdsType)]
#[dust_dds(nested)]
struct Dimension {
    label: String,
    size: u32,
    stride: u32,
}

trait Message: TypeSupport + 'static {
    fn numbered(words: &Words, number: u64) -> Self;
    fn tell(&self, word: &str, number: u64);
}

impl Message for Text {
    fn numbered(words: &Words, number: u64) -> Text {
        Text { data: words.text(number) }
    }

    fn tell(&self, word: &str, number: u64) {
        tell_text(word, number, &self.data);
    }
}

impl Message for Octets {
    fn numbered(words: &Words, number: u64) -> Octets {
        Octets { layout: Layout { dim: Vec::new(), data_offset: 0 }, data: words.octets(number) }
    }

    fn tell(&self, word: &str, number: u64) {
        tell_octets(word, number, &self.data);
    }
}

fn main() {
    let words = Words::of_command_line();
    let participant = DomainParticipantFactory::get_instance()
        .create_participant(words.domain.into(), QosKind::Default, NO_LISTENER, NO_STATUS)
        .expect("a participant");
    match (words.talks, words.kind) {
        (true, Kind::Text) => talk::<Text>(&words, &participant),
        (true, Kind::Octets) => talk::<Octets>(&words, &participant),
        (false, Kind::Text) => listen::<Text>(&words, &participant),
        (false, Kind::Octets) => listen::<Octets>(&words, &participant),
    }
    .expect("dust_dds to do it");
    participant.delete_contained_entities().expect("to be let go");
}

fn topic<M: Message>(words: &Words, participant: &DomainParticipant) -> DdsResult<Topic> {
    let name = words.kind.dds_name();
    participant.create_topic::<M>(&words.topic, name, QosKind::Default, NO_LISTENER, NO_STATUS)
}

fn reliability(words: &Words) -> ReliabilityQosPolicy {
    let kind = match words.best_effort {
        true => ReliabilityQosPolicyKind::BestEffort,
        false => ReliabilityQosPolicyKind::Reliable,
    };
    ReliabilityQosPolicy { kind, max_blocking_time: DurationKind::Finite(DdsDuration::new(20, 0)) }
}

fn durability(words: &Words) -> DurabilityQosPolicy {
    let kind = match words.transient_local {
        true => DurabilityQosPolicyKind::TransientLocal,
        false => DurabilityQosPolicyKind::Volatile,
    };
    DurabilityQosPolicy { kind }
}

fn history(words: &Words) -> HistoryQosPolicy {
    let kind = match words.depth {
        0 => HistoryQosPolicyKind::KeepAll,
        depth => HistoryQosPolicyKind::KeepLast(depth),
    };
    HistoryQosPolicy { kind }
}

fn talk<M: Message>(words: &Words, participant: &DomainParticipant) -> DdsResult<()> {
    let publisher = participant.create_publisher(QosKind::Default, NO_LISTENER, NO_STATUS)?;
    let qos = DataWriterQos {
        reliability: reliability(words),
        durability: durability(words),
        history: history(words),
        ..DataWriterQos::default()
    };
    let topic = topic::<M>(words, participant)?;
    let writer = publisher.create_datawriter::<M>(&topic, QosKind::Specific(qos), NO_LISTENER, NO_STATUS)?;
    say("ready");
    let mut readers = 0;
    while !words.may_begin(readers) {
        tell_matched(&mut readers, writer.get_publication_matched_status()?.current_count);
        sleep(Duration::from_millis(10));
    }
    for number in (1..).take_while(|number| words.wants_more_than(number - 1)) {
        let message = M::numbered(words, number);
        message.tell("sent", number);
        writer.write(message, None)?;
        if words.rate > 0.0 {
            sleep(Duration::from_secs_f64(1.0 / words.rate));
        }
    }
    say("done");
    loop {
        park();
    }
}

fn listen<M: Message>(words: &Words, participant: &DomainParticipant) -> DdsResult<()> {
    let subscriber = participant.create_subscriber(QosKind::Default, NO_LISTENER, NO_STATUS)?;
    let qos = DataReaderQos {
        reliability: reliability(words),
        durability: durability(words),
        history: history(words),
        ..DataReaderQos::default()
    };
    let topic = topic::<M>(words, participant)?;
    let reader = subscriber.create_datareader::<M>(&topic, QosKind::Specific(qos), NO_LISTENER, NO_STATUS)?;
    say("ready");
    let (mut received, mut writers) = (0, 0);
    while words.wants_more_than(received) {
        tell_matched(&mut writers, reader.get_subscription_matched_status()?.current_count);
        match reader.take_next_sample().map(|sample| sample.data) {
            Ok(Some(message)) => {
                received += 1;
                message.tell("got", received);
            }
            Ok(None) => {}
            Err(DdsError::NoData) => sleep(Duration::from_millis(5)),
            Err(error) => return Err(error),
        }
    }
    say("done");
    Ok(())
}

fn tell_matched(known: &mut i32, now: i32) {
    if *known != now {
        *known = now;
        say(&format!("matched {now}"));
    }
}
