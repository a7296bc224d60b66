//! A talker and a listener on RustDDS: `rust talker|listener TOPIC [--OPTION VALUE]...`.
//!
//! The talker publishes numbered messages, printing `sent N len L crc C` for each, then `done`, and stays. The listener prints
//! `got N len L crc C` for each message, and ends after `--count` of them with `done`. Both print `ready` at first, and as
//! events `matched NOW` and `incompatible POLICY TOTAL`.

use std::thread::{park, sleep};
use std::time::Duration;

use rustdds::no_key::DataSample;
use rustdds::policy::{Durability, History, Reliability};
use rustdds::{
    DataReaderStatus, DataWriterStatus, DomainParticipantBuilder, Publisher, QosPolicies, QosPolicyBuilder,
    StatusEvented, Subscriber, Topic, TopicKind, no_key,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use words::{Kind, Words, say, tell_octets, tell_text};

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
        Octets { dim: Vec::new(), data_offset: 0, data: words.octets(number) }
    }

    fn tell(&self, word: &str, number: u64) {
        tell_octets(word, number, &self.data);
    }
}

fn main() {
    let words = Words::of_command_line();
    let participant = DomainParticipantBuilder::new(words.domain).build().expect("a participant");
    let qos = qos(&words);
    let name = words.kind.dds_name().to_owned();
    let topic = participant.create_topic(words.topic.clone(), name, &qos, TopicKind::NoKey).expect("a topic");
    if words.talks {
        let publisher = participant.create_publisher(&qos).expect("a publisher");
        match words.kind {
            Kind::Text => talk::<Text>(&words, &publisher, &topic),
            Kind::Octets => talk::<Octets>(&words, &publisher, &topic),
        }
    } else {
        let subscriber = participant.create_subscriber(&qos).expect("a subscriber");
        match words.kind {
            Kind::Text => listen::<Text>(&words, &subscriber, &topic),
            Kind::Octets => listen::<Octets>(&words, &subscriber, &topic),
        }
    }
}

fn qos(words: &Words) -> QosPolicies {
    let reliable = Reliability::Reliable { max_blocking_time: rustdds::Duration::from_secs(20) };
    let depth = words.depth as i32;
    QosPolicyBuilder::new()
        .reliability(if words.best_effort { Reliability::BestEffort } else { reliable })
        .durability(if words.transient_local { Durability::TransientLocal } else { Durability::Volatile })
        .history(if depth == 0 { History::KeepAll } else { History::KeepLast { depth } })
        .build()
}

fn talk<M: Message>(words: &Words, publisher: &Publisher, topic: &Topic) {
    let writer: no_key::DataWriter<M> =
        publisher.create_datawriter_no_key_cdr(topic, None).expect("a writer");
    say("ready");
    let mut readers = 0;
    while !words.may_begin(readers) {
        while let Some(status) = writer.try_recv_status() {
            readers = tell_writer_status(&status).unwrap_or(readers);
        }
        sleep(Duration::from_millis(10));
    }
    for number in (1..).take_while(|number| words.wants_more_than(number - 1)) {
        let message = M::numbered(words, number);
        message.tell("sent", number);
        assert!(writer.write(message, None).is_ok(), "RustDDS refuses to write");
        if words.rate > 0.0 {
            sleep(Duration::from_secs_f64(1.0 / words.rate));
        }
    }
    say("done");
    loop {
        park();
    }
}

/// How many readers there are, if that is what the status tells.
fn tell_writer_status(status: &DataWriterStatus) -> Option<i32> {
    match status {
        DataWriterStatus::PublicationMatched { current, .. } => {
            say(&format!("matched {}", current.count()));
            return Some(current.count());
        }
        DataWriterStatus::OfferedIncompatibleQos { count, last_policy_id, .. } => {
            say(&format!("incompatible {last_policy_id:?} {}", count.count()).to_lowercase());
        }
        _ => {}
    }
    None
}

fn listen<M: Message>(words: &Words, subscriber: &Subscriber, topic: &Topic) {
    let mut reader: no_key::DataReader<M> =
        subscriber.create_datareader_no_key_cdr(topic, None).expect("a reader");
    say("ready");
    let mut received = 0;
    while words.wants_more_than(received) {
        while let Some(status) = reader.try_recv_status() {
            tell_reader_status(&status);
        }
        match reader.take_next_sample().expect("to be let read").map(DataSample::into_value) {
            Some(message) => {
                received += 1;
                message.tell("got", received);
            }
            None => sleep(Duration::from_millis(5)),
        }
    }
    say("done");
}

fn tell_reader_status(status: &DataReaderStatus) {
    match status {
        DataReaderStatus::SubscriptionMatched { current, .. } => say(&format!("matched {}", current.count())),
        DataReaderStatus::RequestedIncompatibleQos { count, last_policy_id, .. } => {
            say(&format!("incompatible {last_policy_id:?} {}", count.count()).to_lowercase());
        }
        _ => {}
    }
}
