use std::time::Duration;

use super::*;
use crate::streams::meeting::digest;
use crate::streams::passing::{Passed, Passing};

const NOW: Instant = Instant(1_000_000_000);

/// A small generator of numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn arrived(publisher: &Publisher, number: u64, message: u64) -> Arrived<u64> {
    Arrived { publisher: publisher.clone(), number, digest: digest(&message.to_le_bytes()), message }
}

fn delivered(steps: Vec<Step<u64>>) -> Vec<u64> {
    let message = |step| if let Step::Deliver(message) = step { Some(message) } else { None };
    steps.into_iter().filter_map(message).collect()
}

/// What a guest gets of `messages` that moves while they arrive: each host receives them in order, with delays of its own,
/// and so does the target receive what the source passes on. The source receives them from the first on, the target from
/// `first` on, and the guest moves after the source has received `cut`.
fn moved(
    publisher: &Publisher,
    messages: &[u64],
    (first, cut): (usize, usize),
    random: &mut Random,
) -> Vec<u64> {
    let (mut tail, mut got) = (Tail::default(), Vec::new());
    for message in &messages[..cut] {
        tail.add(digest(&message.to_le_bytes()));
        got.push(*message);
    }
    let positions = match publisher {
        Publisher::Ros2(gid) => Positions { numbers: vec![(*gid, cut as u64)], tails: Vec::new() },
        Publisher::Ros1(name) => Positions { numbers: Vec::new(), tails: vec![(name.clone(), tail)] },
    };
    let (mut passing, mut joining) = (Passing::new(&positions), Joining::new(positions, NOW));
    let (mut to_target, mut to_source) = (VecDeque::new(), VecDeque::new());
    let (mut of_source, mut of_target, mut now) = (cut, first, NOW);
    let is_left = |of_source, of_target| of_source < messages.len() || of_target < messages.len();
    while is_left(of_source, of_target) || !to_target.is_empty() || !to_source.is_empty() {
        let mut steps = Vec::new();
        now += Duration::from_millis(1);
        match random.below(4) {
            0 if of_source < messages.len() => {
                passing.receive(arrived(publisher, of_source as u64 + 1, messages[of_source]));
                of_source += 1;
            }
            1 if of_target < messages.len() => {
                let own = arrived(publisher, of_target as u64 + 1, messages[of_target]);
                of_target += 1;
                joining.receive_own(own, now, &mut steps);
            }
            2 => match to_target.pop_front() {
                Some(Passed::Message(message)) => joining.receive_relayed(message, now, &mut steps),
                Some(Passed::End(publisher)) => joining.end_of_relayed(&publisher, &mut steps),
                None => {}
            },
            3 => match to_source.pop_front() {
                Some(Step::Ask { publisher, before }) => passing.ask(publisher, before, now),
                Some(Step::Enough(publisher)) => passing.enough(&publisher),
                Some(Step::Deliver(_)) | None => {}
            },
            _ => {}
        }
        to_target.extend(passing.take_due());
        for step in steps {
            match step {
                Step::Deliver(message) => got.push(message),
                other => to_source.push_back(other),
            }
        }
    }
    let mut steps = Vec::new();
    joining.handle_timeout(now + Duration::from_secs(2), &mut steps);
    assert!(joining.is_joined(), "the streams have met");
    got.extend(delivered(steps));
    got
}

#[test]
fn numbered_messages_arrive_once_and_in_order() {
    let messages: Vec<u64> = (1..=60).collect();
    let publisher = Publisher::Ros2([7; 16]);
    for seed in 0..2000 {
        let mut random = Random(seed);
        let cut = random.below(40) as usize;
        let first = random.below(50) as usize;
        let got = moved(&publisher, &messages, (first, cut), &mut random);
        assert_eq!(got, messages, "seed {seed}: the target from {first} on, the cut after {cut}");
    }
}

#[test]
fn messages_without_numbers_arrive_once_and_in_order() {
    let publisher = Publisher::Ros1("/talker".to_owned());
    for seed in 0..2000 {
        let mut random = Random(seed);
        // Some repeat, some do not.
        let kinds = [1, 2, 5, 1000][random.below(4) as usize];
        let messages: Vec<u64> = (0..80).map(|_| random.below(kinds)).collect();
        let cut = 1 + random.below(50) as usize;
        // The links of the target stand before the guest is suspended.
        let first = random.below(cut as u64 + 1) as usize;
        let got = moved(&publisher, &messages, (first, cut), &mut random);
        assert_eq!(got, messages, "seed {seed}: the target from {first} on, the cut after {cut}");
    }
}

#[test]
fn without_the_source_this_host_goes_on_by_itself() {
    let (ros1, ros2) = (Publisher::Ros1("/talker".to_owned()), Publisher::Ros2([1; 16]));
    let mut tail = Tail::default();
    (0..3).for_each(|_| tail.add(digest(&5_u64.to_le_bytes())));
    let positions = Positions { numbers: vec![([1; 16], 4)], tails: vec![("/talker".to_owned(), tail)] };
    let mut joining = Joining::new(positions, NOW);
    let mut steps = Vec::new();
    joining.receive_own(arrived(&ros1, 0, 5), NOW, &mut steps);
    joining.receive_own(arrived(&ros2, 9, 90), NOW, &mut steps);
    assert_eq!(steps, [Step::Ask { publisher: ros2.clone(), before: 9 }]);
    steps.clear();
    assert!(!joining.end(&mut steps), "they had not met");
    assert_eq!(delivered(std::mem::take(&mut steps)), [90]);
    joining.receive_own(arrived(&ros1, 0, 6), NOW, &mut steps);
    joining.receive_own(arrived(&ros2, 10, 100), NOW, &mut steps);
    assert_eq!(delivered(steps), [6, 100]);
    assert!(joining.is_joined());
}
