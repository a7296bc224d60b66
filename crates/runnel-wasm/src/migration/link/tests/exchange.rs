//! Frames between two hosts that trust each other.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::{TIMEOUT, end_of, hosts, linked};
use crate::migration::link::{Link, LinkError, LinkOptions};

/// A frame whose length and content depend on its number.
fn frame(number: usize) -> Vec<u8> {
    let length = number * number * 97 % 400_000;
    (0..length).map(|index| (index * 31 + number) as u8).collect()
}

fn receive_all(link: &Link, count: usize) {
    for number in 0..count {
        let received = link.receive(TIMEOUT).unwrap().unwrap_or_else(|| panic!("no frame {number}"));
        assert!(received == frame(number), "frame {number} of {} bytes differs", received.len());
    }
}

#[test]
fn frames_go_both_ways_at_the_same_time() {
    let options = LinkOptions { queue: 1 << 20, ..LinkOptions::default() };
    let (robot, station) = linked(&options, &options);
    assert_eq!((robot.peer().name.as_str(), station.peer().name.as_str()), ("station", "robot"));
    const FRAMES: usize = 100;
    thread::scope(|scope| {
        for link in [&robot, &station] {
            scope.spawn(|| (0..FRAMES).for_each(|number| link.send(frame(number)).unwrap()));
            scope.spawn(|| receive_all(link, FRAMES));
        }
    });
}

#[test]
fn frame_of_the_longest_length_arrives() {
    let options = LinkOptions::default();
    let (robot, station) = linked(&options, &options);
    let longest = vec![7; options.longest_frame];
    robot.send(longest.clone()).unwrap();
    assert!(station.receive(TIMEOUT).unwrap() == Some(longest));
    let refused = robot.send(vec![7; options.longest_frame + 1]).unwrap_err();
    assert!(
        matches!(refused, LinkError::FrameTooLong { length: 0x100_0001, limit: 0x100_0000, .. }),
        "{refused}"
    );
    robot.send(vec![1]).unwrap();
    assert_eq!(station.receive(Duration::MAX).unwrap(), Some(vec![1]), "the link goes on");
}

#[test]
fn program_is_notified_of_frames_and_of_the_end() {
    let options = LinkOptions::default();
    let (robot, station) = linked(&options, &options);
    robot.send(vec![1]).unwrap();
    let (sender, notified) = mpsc::channel();
    station.set_on_received(Box::new(move || _ = sender.send(())));
    notified.recv_timeout(TIMEOUT).unwrap();
    assert_eq!(station.try_receive().unwrap(), Some(vec![1]));
    assert_eq!(station.try_receive().unwrap(), None);
    drop(robot);
    notified.recv_timeout(TIMEOUT).unwrap();
    assert!(matches!(end_of(&station), LinkError::Closed { .. }));
    // One that is set later is called for what was before.
    let (sender, notified) = mpsc::channel();
    station.set_on_received(Box::new(move || _ = sender.send(())));
    notified.recv_timeout(TIMEOUT).unwrap();
}

#[test]
fn link_that_is_dropped_delivers_what_was_sent() {
    let options = LinkOptions::default();
    let (robot, station) = linked(&options, &options);
    const FRAMES: usize = 60;
    thread::scope(|scope| {
        scope.spawn(|| receive_all(&station, FRAMES));
        (0..FRAMES).for_each(|number| robot.send(frame(number)).unwrap());
        // The peer sends at the same time what is no longer received.
        station.send(vec![0; 1 << 20]).unwrap();
        drop(robot);
    });
    let end = end_of(&station);
    assert!(matches!(end, LinkError::Closed { .. }), "{end}");
    assert!(matches!(station.send(vec![1]), Err(LinkError::Closed { .. })));
}

#[test]
fn frames_of_a_link_that_is_dropped_at_once_arrive() {
    let (robot, station) = hosts();
    let listener = station.listen(LinkOptions::default());
    // Several times, as it depends on what the robot receives at a time.
    for number in 0..20 {
        thread::scope(|scope| {
            let connecting =
                scope.spawn(|| robot.connect(listener.address(), &LinkOptions::default()).unwrap());
            listener.accept(TIMEOUT).unwrap().expect("the robot connects").send(vec![number]).unwrap();
            let robot = connecting.join().unwrap();
            assert_eq!(robot.receive(TIMEOUT).unwrap(), Some(vec![number]));
            let end = end_of(&robot);
            assert!(matches!(end, LinkError::Closed { .. }), "{end}");
        });
    }
}

#[test]
fn link_to_a_peer_that_receives_nothing_is_dropped_in_time() {
    let robot_options = LinkOptions { linger: Duration::from_millis(300), ..LinkOptions::default() };
    let station_options = LinkOptions { queue: 1000, ..LinkOptions::default() };
    let (robot, _station) = linked(&robot_options, &station_options);
    robot.send(vec![0; 16 << 20]).unwrap();
    robot.send(vec![0; 10 << 20]).unwrap();
    let begun = Instant::now();
    drop(robot);
    let taken = begun.elapsed();
    assert!((Duration::from_millis(300)..TIMEOUT).contains(&taken), "{taken:?}");
}

#[test]
fn sender_waits_for_a_slow_receiver_within_limits() {
    let options = LinkOptions {
        queue: 1 << 20,
        send_timeout: Duration::from_millis(200),
        silence: Duration::from_millis(1500),
        keep_alive: Duration::from_millis(100),
        ..LinkOptions::default()
    };
    let (robot, station) = linked(&options, &options);
    let mut sent = 0;
    // Until the queues of both hosts and of both sockets are full.
    let refused = loop {
        match robot.send(vec![sent as u8; 100_000]) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
        assert!(sent < 5000, "nothing limits what waits");
    };
    assert!(matches!(refused, LinkError::Backlog { queued: 900_000..=1_048_576, .. }), "{refused}");
    // Neither side takes the other one for dead: this is longer than their silence.
    assert!(matches!(robot.receive(Duration::from_millis(2500)), Ok(None)));
    for number in 0..sent {
        assert_eq!(station.receive(TIMEOUT).unwrap().map(|frame| frame[0]), Some(number as u8));
    }
    robot.send(vec![1]).unwrap();
    assert_eq!(station.receive(TIMEOUT).unwrap(), Some(vec![1]));
}

#[test]
fn round_trip_is_measured_on_an_idle_link() {
    let options = LinkOptions {
        keep_alive: Duration::from_millis(20),
        silence: Duration::from_millis(1500),
        ..LinkOptions::default()
    };
    let (robot, station) = linked(&options, &options);
    let until = Instant::now() + TIMEOUT;
    while robot.round_trip().is_none() || station.round_trip().is_none() {
        assert!(Instant::now() < until, "no round trip is measured");
        assert_eq!(robot.receive(Duration::from_millis(10)).unwrap(), None);
    }
    assert!(robot.round_trip() < Some(TIMEOUT));
    // Keep-alives alone keep it: this is longer than the silence that ends a link.
    assert_eq!(station.receive(Duration::from_millis(2500)).unwrap(), None);
}
