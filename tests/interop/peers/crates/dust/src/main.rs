//! A talker and a listener on dust_dds: `dust talker|listener TOPIC [--OPTION VALUE]...`.
//!
//! The talker publishes numbered messages and stays. It prints `sent N len L crc C` for each, then `done`. The listener
//! prints `got N len L crc C` for each message, and `done` after `--count` of them. Both print `ready` first, and
//! `matched NOW` for each change.

use std::thread::{park, sleep};
use std::time::Duration;

use common::{Kind, Options, print_line, print_octets, print_text};
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
    fn numbered(options: &Options, number: u64) -> Self;
    fn print(&self, event: &str, number: u64);
}

impl Message for Text {
    fn numbered(options: &Options, number: u64) -> Text {
        Text { data: options.text(number) }
    }

    fn print(&self, event: &str, number: u64) {
        print_text(event, number, &self.data);
    }
}

impl Message for Octets {
    fn numbered(options: &Options, number: u64) -> Octets {
        Octets { layout: Layout { dim: Vec::new(), data_offset: 0 }, data: options.octets(number) }
    }

    fn print(&self, event: &str, number: u64) {
        print_octets(event, number, &self.data);
    }
}

fn main() {
    let options = Options::from_command_line();
    let participant = DomainParticipantFactory::get_instance()
        .create_participant(options.domain.into(), QosKind::Default, NO_LISTENER, NO_STATUS)
        .expect("a participant");
    match (options.publishes, options.kind) {
        (true, Kind::Text) => talk::<Text>(&options, &participant),
        (true, Kind::Octets) => talk::<Octets>(&options, &participant),
        (false, Kind::Text) => listen::<Text>(&options, &participant),
        (false, Kind::Octets) => listen::<Octets>(&options, &participant),
    }
    .expect("dust_dds failed");
    participant.delete_contained_entities().expect("entities to be deleted");
}

fn topic<M: Message>(options: &Options, participant: &DomainParticipant) -> DdsResult<Topic> {
    let name = options.kind.dds_name();
    participant.create_topic::<M>(&options.topic, name, QosKind::Default, NO_LISTENER, NO_STATUS)
}

fn reliability(options: &Options) -> ReliabilityQosPolicy {
    let kind = match options.best_effort {
        true => ReliabilityQosPolicyKind::BestEffort,
        false => ReliabilityQosPolicyKind::Reliable,
    };
    ReliabilityQosPolicy { kind, max_blocking_time: DurationKind::Finite(DdsDuration::new(20, 0)) }
}

fn durability(options: &Options) -> DurabilityQosPolicy {
    let kind = match options.transient_local {
        true => DurabilityQosPolicyKind::TransientLocal,
        false => DurabilityQosPolicyKind::Volatile,
    };
    DurabilityQosPolicy { kind }
}

fn history(options: &Options) -> HistoryQosPolicy {
    let kind = match options.depth {
        0 => HistoryQosPolicyKind::KeepAll,
        depth => HistoryQosPolicyKind::KeepLast(depth),
    };
    HistoryQosPolicy { kind }
}

fn talk<M: Message>(options: &Options, participant: &DomainParticipant) -> DdsResult<()> {
    let publisher = participant.create_publisher(QosKind::Default, NO_LISTENER, NO_STATUS)?;
    let qos = DataWriterQos {
        reliability: reliability(options),
        durability: durability(options),
        history: history(options),
        ..DataWriterQos::default()
    };
    let topic = topic::<M>(options, participant)?;
    let writer = publisher.create_datawriter::<M>(&topic, QosKind::Specific(qos), NO_LISTENER, NO_STATUS)?;
    print_line("ready");
    let mut readers = 0;
    while !options.may_publish(readers) {
        print_matched(&mut readers, writer.get_publication_matched_status()?.current_count);
        sleep(Duration::from_millis(10));
    }
    for number in (1..).take_while(|number| options.is_incomplete(number - 1)) {
        let message = M::numbered(options, number);
        message.print("sent", number);
        writer.write(message, None)?;
        if options.rate > 0.0 {
            sleep(Duration::from_secs_f64(1.0 / options.rate));
        }
    }
    print_line("done");
    loop {
        park();
    }
}

fn listen<M: Message>(options: &Options, participant: &DomainParticipant) -> DdsResult<()> {
    let subscriber = participant.create_subscriber(QosKind::Default, NO_LISTENER, NO_STATUS)?;
    let qos = DataReaderQos {
        reliability: reliability(options),
        durability: durability(options),
        history: history(options),
        ..DataReaderQos::default()
    };
    let topic = topic::<M>(options, participant)?;
    let reader = subscriber.create_datareader::<M>(&topic, QosKind::Specific(qos), NO_LISTENER, NO_STATUS)?;
    print_line("ready");
    let (mut received, mut writers) = (0, 0);
    while options.is_incomplete(received) {
        print_matched(&mut writers, reader.get_subscription_matched_status()?.current_count);
        match reader.take_next_sample().map(|sample| sample.data) {
            Ok(Some(message)) => {
                received += 1;
                message.print("got", received);
            }
            Ok(None) => {}
            Err(DdsError::NoData) => sleep(Duration::from_millis(5)),
            Err(error) => return Err(error),
        }
    }
    print_line("done");
    Ok(())
}

fn print_matched(previous: &mut i32, now: i32) {
    if *previous != now {
        *previous = now;
        print_line(&format!("matched {now}"));
    }
}
