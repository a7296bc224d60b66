//! Publishers and subscriptions.

use std::sync::Arc;
use std::time::Duration;

use runnel::QoS;
use runnel::{Liveliness, SubscriptionOptions};
use wasmtime::{Caller, Linker};

use super::{MODULE, answer, count, create};
use crate::host::{
    Description, Entity, GuestMemory, Host, Incoming, KeptMessages, PublisherEntity, QOS_RECORD,
    SubscriptionEntity, Topic, generation,
};
use crate::refusal::{Refusal, Refused};

/// Depth of a history that a guest may ask for.
const MOST_DEPTH: u32 = 1000;

pub fn add(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "create-publisher",
        |mut caller: Caller<'_, Host>, node, topic, topic_len, of_type, type_len, encoding, qos| {
            answer(&mut caller, |host, memory| {
                let (name, of_type) = ((topic, topic_len), (of_type, type_len));
                let topic = read(memory, node, name, of_type, (encoding, qos))?;
                create(host, Description::Publisher(topic))
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "publish",
        |mut caller: Caller<'_, Host>, publisher: u32, message: u32, length: u32| {
            answer(&mut caller, |host, memory| {
                let message = memory.bytes(message, length)?;
                host.entities.publisher(publisher)?.publish(message)?;
                Ok(0)
            })
        },
    )?;
    linker.func_wrap(MODULE, "subscription-count", |mut caller: Caller<'_, Host>, publisher: u32| {
        answer(&mut caller, |host, _| {
            Ok(count(host.entities.publisher(publisher)?.publisher.subscription_count()))
        })
    })?;
    linker.func_wrap(
        MODULE,
        "create-subscription",
        |mut caller: Caller<'_, Host>, node, topic, topic_len, of_type, type_len, encoding, qos| {
            answer(&mut caller, |host, memory| {
                let (name, of_type) = ((topic, topic_len), (of_type, type_len));
                let topic = read(memory, node, name, of_type, (encoding, qos))?;
                create(host, Description::Subscription(topic))
            })
        },
    )?;
    linker.func_wrap(MODULE, "publisher-count", |mut caller: Caller<'_, Host>, subscription: u32| {
        answer(&mut caller, |host, _| Ok(count(host.entities.subscription(subscription)?.publisher_count())))
    })?;
    Ok(())
}

/// Reads what the guest says of a topic.
fn read(
    memory: &GuestMemory<'_>,
    node: u32,
    name: (u32, u32),
    type_name: (u32, u32),
    (encoding, qos): (u32, u32),
) -> Result<Topic, Refusal> {
    Ok(Topic {
        node,
        name: memory.text(name.0, name.1)?.to_owned(),
        type_name: memory.text(type_name.0, type_name.1)?.to_owned(),
        encoding,
        qos: memory.bytes(qos, QOS_RECORD as u32)?.to_vec(),
    })
}

pub fn create_publisher(host: &mut Host, topic: &Topic) -> Result<Entity, Refusal> {
    host.check_name(|manifest| &manifest.publish, "publish", &topic.name)?;
    let (schema, qos) =
        (host.types.message(generation(topic.encoding)?, &topic.type_name)?, qos_of(&topic.qos)?);
    let node = host.entities.node(topic.node)?;
    let create = || node.create_dynamic_publisher(&topic.name, &schema, qos);
    let mut publisher = host.pace.wait_for_others(create)?;
    // A guest gets an error in place of a wait.
    publisher.set_max_blocking_time(Duration::ZERO);
    let kept = KeptMessages::of(&qos, host.manifest.limits.queue).filter(|_| host.asyncify.is_some());
    Ok(Entity::Publisher(PublisherEntity { publisher, kept }))
}

pub fn create_subscription(host: &mut Host, handle: u32, topic: &Topic) -> Result<Entity, Refusal> {
    host.check_name(|manifest| &manifest.subscribe, "subscribe", &topic.name)?;
    let (schema, qos) =
        (host.types.message(generation(topic.encoding)?, &topic.type_name)?, qos_of(&topic.qos)?);
    let incoming = match host.is_expected {
        true => Incoming::gathering(handle, &host.events, host.manifest.limits.queue / 2),
        false => Incoming::new(handle, &host.events),
    };
    let incoming = Arc::new(incoming);
    let received = Arc::clone(&incoming);
    let receive = move |bytes: runnel::core::wire::Bytes<'_>, info: &runnel::MessageInfo| {
        received.receive(bytes, info);
    };
    let node = host.entities.node(topic.node)?;
    let options = SubscriptionOptions::from(qos);
    let create = || node.create_bytes_subscription(&topic.name, &schema, options, receive);
    let subscription = host.pace.wait_for_others(create)?;
    Ok(Entity::Subscription(SubscriptionEntity { subscription, incoming }))
}

/// Reads the record `qos`.
fn qos_of(record: &[u8]) -> Result<QoS, Refusal> {
    let Ok(record) = <&[u8; QOS_RECORD]>::try_from(record) else {
        return Err(Refusal::invalid(format!("{} bytes are no quality of service", record.len())));
    };
    let word = |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
    let duration = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let optional = |at| Some(duration(at)).filter(|length| *length > 0).map(Duration::from_nanos);
    let qos = match word(0) {
        0 if word(4) > MOST_DEPTH => return Err(deeper(word(4))),
        0 => QoS::keep_last(word(4) as usize),
        1 => QoS::keep_all(),
        other => return Err(unknown("history", other)),
    };
    let qos = match word(8) {
        0 => qos.best_effort(),
        1 => qos.reliable(),
        2 => qos.reliability_best_available(),
        other => return Err(unknown("reliability", other)),
    };
    let qos = match word(12) {
        0 => qos.volatile(),
        1 => qos.transient_local(),
        2 => qos.durability_best_available(),
        other => return Err(unknown("durability", other)),
    };
    let qos = match word(16) {
        0 => qos.liveliness(Liveliness::Automatic, optional(40)),
        1 => qos.liveliness(Liveliness::ManualByTopic, optional(40)),
        2 => qos.liveliness_best_available(),
        other => return Err(unknown("liveliness", other)),
    };
    Ok(QoS { deadline: optional(24), lifespan: optional(32), ..qos })
}

fn deeper(depth: u32) -> Refusal {
    Refusal::new(Refused::TooMany, format!("a depth of {depth} messages: at most {MOST_DEPTH}"))
}

fn unknown(policy: &str, value: u32) -> Refusal {
    Refusal::invalid(format!("{value} is no {policy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(words: [u32; 5], durations: [u64; 3]) -> Vec<u8> {
        let mut record: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        record.extend([0; 4]);
        record.extend(durations.iter().flat_map(|duration| duration.to_le_bytes()));
        record
    }

    #[test]
    fn record_of_qos_is_read() {
        let read = qos_of(&record([0, 7, 1, 1, 1], [1_000_000_000, 2_000_000_000, 3_000_000_000])).unwrap();
        let lease = Some(Duration::from_secs(3));
        let expected =
            QoS::keep_last(7).reliable().transient_local().liveliness(Liveliness::ManualByTopic, lease);
        let expected = expected.deadline(Duration::from_secs(1)).lifespan(Duration::from_secs(2));
        assert_eq!(read, expected);
        assert!(qos_of(&record([0, MOST_DEPTH + 1, 1, 1, 1], [0; 3])).is_err());
        let read = qos_of(&record([1, 0, 0, 0, 0], [0; 3])).unwrap();
        assert_eq!(read, QoS::keep_all().best_effort().volatile());
    }

    #[test]
    fn unknown_policy_is_refused() {
        for (place, name) in
            ["history", "", "reliability", "durability", "liveliness"].into_iter().enumerate()
        {
            let mut words = [0; 5];
            words[place] = 9;
            let read = qos_of(&record(words, [0; 3]));
            assert_eq!(read.is_err(), !name.is_empty(), "{name}: {read:?}");
        }
    }
}
