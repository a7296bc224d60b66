//! What a writer owes each of its readers: several of one process, on several hosts, slow ones and late ones.

mod net;

use net::{Net, Weather, millis, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::Event;
use runnel_rtps::wire::EntityId;
use std::time::Duration;

const TOPIC: &str = "rt/chatter";

fn pair(seed: u64, qos: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(seed);
    let (a, b) = (net.add(), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
    net.run_until("they meet", secs(2), |net| net.is_matched(0, writer) && net.is_matched(1, reader));
    net.run_for(millis(20));
    (net, writer, reader)
}

#[test]
fn a_second_reader_of_a_process_does_not_make_the_first_give_up_what_it_misses() {
    let (mut net, writer, reader) = pair(1, QoS::default());
    for number in 0..3 {
        net.write(0, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(1));
    }
    net.blackout = true;
    net.write(0, writer, &sample(3, 100)).unwrap();
    net.run_for(Duration::from_micros(100));
    net.blackout = false;
    net.reader(1, TOPIC, QoS::default());
    net.run_for(secs(3));
    assert_eq!(net.texts(1, reader).len(), 4);
}

#[test]
fn readers_that_join_one_after_another_in_foul_weather_make_the_first_lose_nothing() {
    for seed in 0..20 {
        let (mut net, writer, reader) = pair(seed, QoS::keep_all());
        for number in 0..100 {
            net.weather = Weather::foul(30);
            net.write(0, writer, &sample(number, 100)).unwrap();
            net.run_for(millis(4));
            if number % 10 == 5 {
                net.weather = Weather::FAIR;
                net.reader(1, TOPIC, QoS::keep_all());
                net.run_for(millis(1));
            }
        }
        net.weather = Weather::FAIR;
        net.run_for(secs(20));
        let lost = |event: &Event| matches!(event, Event::SampleLost { reader: of, .. } if *of == reader);
        assert!(!net.nodes[1].events.iter().any(lost), "seed {seed}");
        assert_eq!(net.texts(1, reader).len(), 100, "seed {seed}");
    }
}

#[test]
fn readers_of_a_process_that_joined_at_different_times_share_datagrams() {
    let (mut net, writer, first) = pair(1, QoS::default());
    for number in 0..10 {
        net.write(0, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(5));
    }
    let second = net.reader(1, TOPIC, QoS::default());
    net.run_for(millis(100));
    let before = net.nodes[0].sent;
    for number in 10..110 {
        net.write(0, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(1));
    }
    let sent = net.nodes[0].sent - before;
    assert_eq!((net.texts(1, first).len(), net.texts(1, second).len()), (110, 100));
    assert!(sent < 150, "{sent} datagrams for 100 samples");
}
