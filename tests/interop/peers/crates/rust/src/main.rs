//! A talker and a listener on RustDDS: `rust talker|listener TOPIC [--OPTION VALUE]...`.
//!
//! The talker publishes numbered messages and stays. It prints `sent N len L crc C` for each, then `done`. The listener
//! prints `got N len L crc C` for each message, and `done` after `--count` of them. Both print `ready` first, and the
//! events `matched NOW` and `incompatible POLICY TOTAL`.

use std::thread::{park, sleep};
use std::time::Duration;

use common::{Kind, Options, print_line, print_octets, print_text};
use rustdds::no_key::DataSample;
use rustdds::policy::{Durability, History, Reliability};
use rustdds::{
    DataReaderStatus, DataWriterStatus, DomainParticipantBuilder, Publisher, QosPolicies, QosPolicyBuilder,
    StatusEvented, Subscriber, Topic, TopicKind, no_key,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Text {
    data: String,
}

#[derive(Serialize, Deserialize)]
struct Octets {
    dim: Vec<Dimension>,
    data_offset: u32,
    data: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Dimension {
    label: String,
    size: u32,
    stride: u32,
}

trait Message: Serialize + DeserializeOwned + 'static {
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
        Octets { dim: Vec::new(), data_offset: 0, data: options.octets(number) }
    }

    fn print(&self, event: &str, number: u64) {
        print_octets(event, number, &self.data);
    }
}

fn main() {
    let options = Options::from_command_line();
    let participant = DomainParticipantBuilder::new(options.domain).build().expect("a participant");
    let qos = qos(&options);
    let name = options.kind.dds_name().to_owned();
    let topic =
        participant.create_topic(options.topic.clone(), name, &qos, TopicKind::NoKey).expect("a topic");
    if options.publishes {
        let publisher = participant.create_publisher(&qos).expect("a publisher");
        match options.kind {
            Kind::Text => talk::<Text>(&options, &publisher, &topic),
            Kind::Octets => talk::<Octets>(&options, &publisher, &topic),
        }
    } else {
        let subscriber = participant.create_subscriber(&qos).expect("a subscriber");
        match options.kind {
            Kind::Text => listen::<Text>(&options, &subscriber, &topic),
            Kind::Octets => listen::<Octets>(&options, &subscriber, &topic),
        }
    }
}

fn qos(options: &Options) -> QosPolicies {
    let reliable = Reliability::Reliable { max_blocking_time: rustdds::Duration::from_secs(20) };
    let depth = options.depth as i32;
    QosPolicyBuilder::new()
        .reliability(if options.best_effort { Reliability::BestEffort } else { reliable })
        .durability(if options.transient_local { Durability::TransientLocal } else { Durability::Volatile })
        .history(if depth == 0 { History::KeepAll } else { History::KeepLast { depth } })
        .build()
}

fn talk<M: Message>(options: &Options, publisher: &Publisher, topic: &Topic) {
    let writer: no_key::DataWriter<M> =
        publisher.create_datawriter_no_key_cdr(topic, None).expect("a writer");
    print_line("ready");
    let mut readers = 0;
    while !options.may_publish(readers) {
        while let Some(status) = writer.try_recv_status() {
            readers = print_writer_status(&status).unwrap_or(readers);
        }
        sleep(Duration::from_millis(10));
    }
    for number in (1..).take_while(|number| options.is_incomplete(number - 1)) {
        let message = M::numbered(options, number);
        message.print("sent", number);
        assert!(writer.write(message, None).is_ok(), "RustDDS refused to write");
        if options.rate > 0.0 {
            sleep(Duration::from_secs_f64(1.0 / options.rate));
        }
    }
    print_line("done");
    loop {
        park();
    }
}

/// The number of matched readers, if the status reports it.
fn print_writer_status(status: &DataWriterStatus) -> Option<i32> {
    match status {
        DataWriterStatus::PublicationMatched { current, .. } => {
            print_line(&format!("matched {}", current.count()));
            return Some(current.count());
        }
        DataWriterStatus::OfferedIncompatibleQos { count, last_policy_id, .. } => {
            print_line(&format!("incompatible {last_policy_id:?} {}", count.count()).to_lowercase());
        }
        _ => {}
    }
    None
}

fn listen<M: Message>(options: &Options, subscriber: &Subscriber, topic: &Topic) {
    let mut reader: no_key::DataReader<M> =
        subscriber.create_datareader_no_key_cdr(topic, None).expect("a reader");
    print_line("ready");
    let mut received = 0;
    while options.is_incomplete(received) {
        while let Some(status) = reader.try_recv_status() {
            print_reader_status(&status);
        }
        match reader.take_next_sample().expect("a readable reader").map(DataSample::into_value) {
            Some(message) => {
                received += 1;
                message.print("got", received);
            }
            None => sleep(Duration::from_millis(5)),
        }
    }
    print_line("done");
}

fn print_reader_status(status: &DataReaderStatus) {
    match status {
        DataReaderStatus::SubscriptionMatched { current, .. } => {
            print_line(&format!("matched {}", current.count()))
        }
        DataReaderStatus::RequestedIncompatibleQos { count, last_policy_id, .. } => {
            print_line(&format!("incompatible {last_policy_id:?} {}", count.count()).to_lowercase());
        }
        _ => {}
    }
}
