//! What endpoints promise and ask for: who meets, and what is told when a promise is not kept.

use crate::net;
use crate::net::{Net, Stranger, message, millis, number_of, sample, secs};
use runnel_core::qos::{Liveliness, Policy, QoS};
use runnel_rtps::Event;
use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{
    Data, DataFrag, EntityId, Heartbeat, Message, Parameter, Payload, SequenceNumber, Submessage, pid,
};

const TOPIC: &str = "rt/chatter";

/// Two participants with a writer and a reader, who had time to meet.
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
fn who_offers_what_is_asked_for_is_met_and_who_does_not_is_told_to_both() {
    for offered in qualities() {
        for asked in qualities().into_iter().step_by(3) {
            let (net, writer, reader) = pair(offered, asked);
            let expected = asked.incompatible_with(&offered);
            let met = net.is_matched(0, writer) && net.is_matched(1, reader);
            assert_eq!(met, expected.is_empty(), "{offered:?} {asked:?}");
            for node in 0..2 {
                let told = |event: &Event| matches!(event, Event::Incompatible { policies, .. } if *policies == expected);
                assert_eq!(count(&net, node, told), usize::from(!met), "{offered:?} {asked:?}");
            }
        }
    }
}

#[test]
fn a_mismatch_names_the_policies() {
    let (net, ..) = pair(QoS::sensor_data(), QoS::latched());
    let both = vec![Policy::Durability, Policy::Reliability];
    let told = |event: &Event| matches!(event, Event::Incompatible { policies, .. } if *policies == both);
    assert_eq!((count(&net, 0, told), count(&net, 1, told)), (1, 1));
}

fn missed(event: &Event) -> bool {
    matches!(event, Event::DeadlineMissed { .. })
}

#[test]
fn a_deadline_that_passes_is_told_to_both_sides_every_time() {
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

fn life(expected: bool) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::LivelinessChanged { alive, .. } if *alive == expected)
}

#[test]
fn a_participant_says_that_its_writers_live_and_when_it_stops_they_do_not() {
    let qos = QoS::default().liveliness(Liveliness::Automatic, Some(millis(200)));
    let (mut net, writer, reader) = pair(qos, qos);
    assert!(net.is_matched(0, writer) && net.is_matched(1, reader));
    net.run_for(secs(5));
    assert_eq!(count(&net, 1, life(false)), 0);
    net.nodes[0].stopped = true;
    net.run_for(millis(300));
    assert_eq!((count(&net, 1, life(false)), count(&net, 1, life(true))), (1, 0));
    net.nodes[0].stopped = false;
    net.run_for(millis(300));
    assert_eq!((count(&net, 1, life(false)), count(&net, 1, life(true))), (1, 1));
}

#[test]
fn a_writer_whose_user_must_say_that_it_lives_does_not_when_he_is_silent() {
    let qos = QoS::default().liveliness(Liveliness::ManualByTopic, Some(millis(200)));
    let (mut net, writer, _) = pair(qos, qos);
    assert_eq!(count(&net, 1, life(false)), 1, "half a second of silence since they met");
    for _ in 0..20 {
        let now = net.now;
        net.nodes[0].participant.assert_liveliness(now, writer);
        net.write(0, writer, &sample(1, 10)).unwrap();
        net.run_for(millis(150));
    }
    assert_eq!((count(&net, 1, life(false)), count(&net, 1, life(true))), (1, 1));
    let lost = |event: &Event| matches!(event, Event::LivelinessLost { .. });
    assert_eq!(count(&net, 0, lost), 0);
    net.run_for(secs(1));
    assert_eq!((count(&net, 0, lost), count(&net, 1, life(false))), (1, 2));
    let now = net.now;
    net.nodes[0].participant.assert_liveliness(now, writer);
    net.write(0, writer, &sample(1, 10)).unwrap();
    net.run_for(millis(50));
    assert_eq!(count(&net, 1, life(true)), 2, "it lives again");
}

#[test]
fn a_word_alone_is_a_sign_of_life() {
    for qos in [QoS::default(), QoS::default().best_effort()] {
        a_word_is_a_sign_of_life(qos.liveliness(Liveliness::ManualByTopic, Some(millis(200))));
    }
}

fn a_word_is_a_sign_of_life(qos: QoS) {
    let (mut net, writer, _) = pair(qos, qos);
    net.write(0, writer, &sample(1, 10)).unwrap();
    net.run_for(millis(100));
    let before = count(&net, 1, life(false));
    for _ in 0..10 {
        let now = net.now;
        net.nodes[0].participant.assert_liveliness(now, writer);
        let timeout = net.nodes[0].participant.poll_timeout();
        assert!(timeout.is_some());
        net.touch(0);
        net.run_for(millis(150));
    }
    assert_eq!(count(&net, 1, life(false)), before);
}

#[test]
fn samples_that_are_older_than_their_lifespan_are_not_delivered_late() {
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
    let heard: Vec<u32> = net.texts(b, reader).iter().map(|bytes| number_of(bytes)).collect();
    assert_eq!(heard, [6, 7, 8, 9]);
}

#[test]
fn signs_of_life_survive_foul_weather() {
    let qos = QoS::default().liveliness(Liveliness::Automatic, Some(secs(1)));
    for seed in 0..40 {
        let mut net = Net::new(seed);
        let (a, b) = (net.add(), net.add());
        let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
        net.run_until("they meet", secs(2), |net| net.is_matched(a, writer) && net.is_matched(b, reader));
        net.weather = net::Weather::foul(30);
        net.run_for(secs(60));
        assert_eq!(count(&net, b, life(false)), 0, "seed {seed}");
    }
}

/// "Manual by participant", which ROS does not have: its user says for all of them together that they live.
#[test]
fn what_a_participant_says_by_hand_is_a_sign_of_life_of_its_writers() {
    let qos = QoS::default().liveliness(Liveliness::Automatic, Some(millis(200)));
    let mut net = Net::new(1);
    let a = net.add();
    let (reader, stranger) = (net.reader(a, TOPIC, qos), Stranger::meet(&mut net, 1));
    let endpoint = stranger.endpoint(&net, reader, EntityId::user_writer(1));
    stranger.has(&mut net, &endpoint);
    let (reader, writer) = (EntityId::MESSAGE_READER, EntityId::MESSAGE_WRITER);
    let first = SequenceNumber(1);
    let heartbeat =
        Heartbeat { reader, writer, first, last: first, count: 1, is_final: true, liveliness: false };
    stranger.say(&mut net, &message(stranger.prefix, |out| heartbeat.emit(out)));
    for number in 1..20 {
        let mut sign = vec![0, 1, 0, 0];
        sign.extend(stranger.prefix.0);
        sign.extend([0, 0, 0, 2, 0, 0, 0, 0]);
        let told = message(stranger.prefix, |out| {
            Data::emit(out, (reader, writer), SequenceNumber(number), &[], Payload::Value(&sign));
        });
        stranger.say(&mut net, &told);
        net.run_for(millis(100));
    }
    assert_eq!(count(&net, a, life(false)), 0);
    net.run_for(millis(300));
    assert_eq!(count(&net, a, life(false)), 1);
}

/// The topic that each sample and fragment names which a participant is sent next.
fn topics_told(net: &mut Net, node: usize) -> Vec<Option<String>> {
    let (now, participant) = (net.now, &mut net.nodes[node].participant);
    let mut told = Vec::new();
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
            told.push(topic.map(|mut topic| {
                let len = topic.u32().unwrap() as usize;
                String::from_utf8(topic.take(len - 1).unwrap().to_vec()).unwrap()
            }));
        }
    }
    told
}

#[test]
fn who_asks_for_it_is_told_topic_and_qos_with_each_sample() {
    let qos = QoS::sensor_data().lifespan(secs(9));
    for expects_inline_qos in [false, true] {
        let mut net = Net::new(1);
        let a = net.add();
        let topic = format!("rt/{}", "a".repeat(200));
        let (writer, like) = (net.writer(a, &topic, qos), net.reader(a, &topic, QoS::sensor_data()));
        let stranger = Stranger::meet(&mut net, 1);
        let endpoint = stranger.endpoint(&net, like, EntityId::user_reader(1));
        stranger.has(&mut net, &Endpoint { expects_inline_qos, ..endpoint });
        for len in [100, 1280, 5000] {
            let (now, stamp) = (net.now, net.stamp());
            net.nodes[a].participant.write(now, stamp, writer, sample(1, len)[..].into()).unwrap();
            let told = topics_told(&mut net, a);
            let expected = expects_inline_qos.then(|| topic.clone());
            assert!(!told.is_empty() && told.iter().all(|topic| *topic == expected), "{told:?}");
        }
    }
}
