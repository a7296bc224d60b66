//! QoS of endpoints: matching, and events when an obligation is violated.

use crate::net;
use crate::net::{Net, Stranger, message, millis, number_of, sample, secs};
use runnel_core::qos::{Liveliness, Policy, QoS};
use runnel_rtps::Event;
use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{
    Data, DataFrag, EntityId, Heartbeat, Message, Parameter, Payload, SequenceNumber, Submessage, pid,
};

const TOPIC: &str = "rt/chatter";

/// Creates two participants with a writer and a reader, and runs until they can have matched.
fn pair(offered: QoS, asked: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(1);
    let (a, b) = (net.add(), net.add());
    let writer = net.writer(a, TOPIC, offered);
    let reader = net.reader(b, TOPIC, asked);
    net.run_for(millis(500));
    (net, writer, reader)
}

fn count(net: &Net, node: usize, which: impl Fn(&Event) -> bool) -> usize {
    net.nodes[node].events.iter().filter(|event| which(event)).count()
}

fn qualities() -> Vec<QoS> {
    let mut all = Vec::new();
    for deadline in [None, Some(millis(100)), Some(millis(200))] {
        for lease in [None, Some(millis(100))] {
            for kind in [Liveliness::Automatic, Liveliness::ManualByTopic] {
                for base in [QoS::keep_last(1), QoS::keep_last(1).best_effort(), QoS::latched()] {
                    all.push(QoS { deadline, ..base.liveliness(kind, lease) });
                }
            }
        }
    }
    all
}

#[test]
fn qos_matches_or_incompatibility_is_reported() {
    for offered in qualities() {
        for asked in qualities().into_iter().step_by(3) {
            let (net, writer, reader) = pair(offered, asked);
            let expected = asked.incompatible_with(&offered);
            let matched = net.is_matched(0, writer) && net.is_matched(1, reader);
            assert_eq!(matched, expected.is_empty(), "{offered:?} {asked:?}");
            for node in 0..2 {
                let is_reported = |event: &Event| matches!(event, Event::Incompatible { policies, .. } if *policies == expected);
                assert_eq!(count(&net, node, is_reported), usize::from(!matched), "{offered:?} {asked:?}");
            }
        }
    }
}

#[test]
fn mismatch_names_policies() {
    let (net, ..) = pair(QoS::sensor_data(), QoS::latched());
    let both = vec![Policy::Durability, Policy::Reliability];
    let is_reported =
        |event: &Event| matches!(event, Event::Incompatible { policies, .. } if *policies == both);
    assert_eq!((count(&net, 0, is_reported), count(&net, 1, is_reported)), (1, 1));
}

fn missed(event: &Event) -> bool {
    matches!(event, Event::DeadlineMissed { .. })
}

#[test]
fn each_missed_deadline_is_reported_on_both_sides() {
    let qos = QoS::default().deadline(millis(100));
    let (mut net, writer, _) = pair(qos, qos);
    assert_eq!(
        (count(&net, 0, missed), count(&net, 1, missed)),
        (0, 0),
        "nothing is due before the first sample"
    );
    for number in 0..10 {
        net.write(0, writer, &sample(number, 10)).unwrap();
        net.run_for(millis(90));
    }
    assert_eq!((count(&net, 0, missed), count(&net, 1, missed)), (0, 0));
    net.run_for(millis(330));
    assert_eq!((count(&net, 0, missed), count(&net, 1, missed)), (4, 4));
}

fn liveliness_changed(expected: bool) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::LivelinessChanged { alive, .. } if *alive == expected)
}

#[test]
fn stopped_participant_loses_automatic_liveliness() {
    let qos = QoS::default().liveliness(Liveliness::Automatic, Some(millis(200)));
    let (mut net, writer, reader) = pair(qos, qos);
    assert!(net.is_matched(0, writer) && net.is_matched(1, reader));
    net.run_for(secs(5));
    assert_eq!(count(&net, 1, liveliness_changed(false)), 0);
    net.nodes[0].stopped = true;
    net.run_for(millis(300));
    assert_eq!((count(&net, 1, liveliness_changed(false)), count(&net, 1, liveliness_changed(true))), (1, 0));
    net.nodes[0].stopped = false;
    net.run_for(millis(300));
    assert_eq!((count(&net, 1, liveliness_changed(false)), count(&net, 1, liveliness_changed(true))), (1, 1));
}

#[test]
fn silent_user_loses_manual_liveliness() {
    let qos = QoS::default().liveliness(Liveliness::ManualByTopic, Some(millis(200)));
    let (mut net, writer, _) = pair(qos, qos);
    assert_eq!(count(&net, 1, liveliness_changed(false)), 1, "half a second of silence after the match");
    for _ in 0..20 {
        let now = net.now;
        net.nodes[0].participant.assert_liveliness(now, writer);
        net.write(0, writer, &sample(1, 10)).unwrap();
        net.run_for(millis(150));
    }
    assert_eq!((count(&net, 1, liveliness_changed(false)), count(&net, 1, liveliness_changed(true))), (1, 1));
    let lost = |event: &Event| matches!(event, Event::LivelinessLost { .. });
    assert_eq!(count(&net, 0, lost), 0);
    net.run_for(secs(1));
    assert_eq!((count(&net, 0, lost), count(&net, 1, liveliness_changed(false))), (1, 2));
    let now = net.now;
    net.nodes[0].participant.assert_liveliness(now, writer);
    net.write(0, writer, &sample(1, 10)).unwrap();
    net.run_for(millis(50));
    assert_eq!(count(&net, 1, liveliness_changed(true)), 2, "it lives again");
}

#[test]
fn manual_assertion_renews_liveliness() {
    for qos in [QoS::default(), QoS::default().best_effort()] {
        assertion_renews_liveliness(qos.liveliness(Liveliness::ManualByTopic, Some(millis(200))));
    }
}

fn assertion_renews_liveliness(qos: QoS) {
    let (mut net, writer, _) = pair(qos, qos);
    net.write(0, writer, &sample(1, 10)).unwrap();
    net.run_for(millis(100));
    let before = count(&net, 1, liveliness_changed(false));
    for _ in 0..10 {
        let now = net.now;
        net.nodes[0].participant.assert_liveliness(now, writer);
        let timeout = net.nodes[0].participant.poll_timeout();
        assert!(timeout.is_some());
        net.touch(0);
        net.run_for(millis(150));
    }
    assert_eq!(count(&net, 1, liveliness_changed(false)), before);
}

#[test]
fn expired_samples_are_not_delivered_late() {
    let offered = QoS::keep_last(100).transient_local().lifespan(millis(500));
    let mut net = Net::new(2);
    let (a, b) = (net.add(), net.add());
    let writer = net.writer(a, TOPIC, offered);
    for number in 0..10 {
        net.write(a, writer, &sample(number, 10)).unwrap();
        net.run_for(millis(100));
    }
    let reader = net.reader(b, TOPIC, QoS::keep_last(100).transient_local());
    net.run_for(millis(50));
    let received: Vec<u32> = net.texts(b, reader).iter().map(|bytes| number_of(bytes)).collect();
    assert_eq!(received, [6, 7, 8, 9]);
}

#[test]
fn liveliness_survives_bad_network() {
    let qos = QoS::default().liveliness(Liveliness::Automatic, Some(secs(1)));
    for seed in 0..40 {
        let mut net = Net::new(seed);
        let (a, b) = (net.add(), net.add());
        let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
        net.run_until("the endpoints match", secs(2), |net| {
            net.is_matched(a, writer) && net.is_matched(b, reader)
        });
        net.conditions = net::Conditions::bad(30);
        net.run_for(secs(60));
        assert_eq!(count(&net, b, liveliness_changed(false)), 0, "seed {seed}");
    }
}

/// "Manual by participant", which ROS does not have: the user asserts the liveliness of all such writers together.
#[test]
fn manual_by_participant_renews_all_writers() {
    let qos = QoS::default().liveliness(Liveliness::Automatic, Some(millis(200)));
    let mut net = Net::new(1);
    let a = net.add();
    let (reader, stranger) = (net.reader(a, TOPIC, qos), Stranger::discover(&mut net, 1));
    let endpoint = stranger.endpoint(&net, reader, EntityId::user_writer(1));
    stranger.announce(&mut net, &endpoint);
    let (reader, writer) = (EntityId::MESSAGE_READER, EntityId::MESSAGE_WRITER);
    let first = SequenceNumber(1);
    let heartbeat =
        Heartbeat { reader, writer, first, last: first, count: 1, is_final: true, liveliness: false };
    stranger.send(&mut net, &message(stranger.prefix, |out| heartbeat.emit(out)));
    for number in 1..20 {
        let mut sign = vec![0, 1, 0, 0];
        sign.extend(stranger.prefix.0);
        sign.extend([0, 0, 0, 2, 0, 0, 0, 0]);
        let assertion = message(stranger.prefix, |out| {
            Data::emit(out, (reader, writer), SequenceNumber(number), &[], Payload::Value(&sign));
        });
        stranger.send(&mut net, &assertion);
        net.run_for(millis(100));
    }
    assert_eq!(count(&net, a, liveliness_changed(false)), 0);
    net.run_for(millis(300));
    assert_eq!(count(&net, a, liveliness_changed(false)), 1);
}

/// Returns the inline topic of each sample and fragment in the next datagrams to a participant.
fn inline_topics(net: &mut Net, node: usize) -> Vec<Option<String>> {
    let (now, participant) = (net.now, &mut net.nodes[node].participant);
    let mut topics = Vec::new();
    while let Some(transmit) = participant.poll_transmit(now) {
        let bytes = transmit.parts.concat();
        assert!(bytes.len() <= 1444, "{} bytes", bytes.len());
        for submessage in Message::parse(&bytes).unwrap().submessages() {
            let (Submessage::Data(Data { inline_qos, .. })
            | Submessage::DataFrag(DataFrag { inline_qos, .. })) = submessage.unwrap()
            else {
                continue;
            };
            let is_lifespan = |parameter: Parameter| parameter.id == pid::LIFESPAN;
            let topic = inline_qos.find(pid::TOPIC_NAME).filter(|_| inline_qos.iter().any(is_lifespan));
            topics.push(topic.map(|mut topic| {
                let len = topic.u32().unwrap() as usize;
                String::from_utf8(topic.take(len - 1).unwrap().to_vec()).unwrap()
            }));
        }
    }
    topics
}

#[test]
fn inline_qos_is_sent_when_expected() {
    let qos = QoS::sensor_data().lifespan(secs(9));
    for expects_inline_qos in [false, true] {
        let mut net = Net::new(1);
        let a = net.add();
        let topic = format!("rt/{}", "a".repeat(200));
        let (writer, like) = (net.writer(a, &topic, qos), net.reader(a, &topic, QoS::sensor_data()));
        let stranger = Stranger::discover(&mut net, 1);
        let endpoint = stranger.endpoint(&net, like, EntityId::user_reader(1));
        stranger.announce(&mut net, &Endpoint { expects_inline_qos, ..endpoint });
        for len in [100, 1280, 5000] {
            let (now, stamp) = (net.now, net.stamp());
            net.nodes[a].participant.write(now, stamp, writer, sample(1, len)[..].into()).unwrap();
            let topics = inline_topics(&mut net, a);
            let expected = expects_inline_qos.then(|| topic.clone());
            assert!(!topics.is_empty() && topics.iter().all(|topic| *topic == expected), "{topics:?}");
        }
    }
}
