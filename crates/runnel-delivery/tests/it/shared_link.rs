//! Nodes of both graphs whose subscriptions share a link of ROS 1: each subscription gets each message once and in order, while
//! RTPS takes pairs over, loses them, and takes them over again.

use std::collections::{BTreeMap, VecDeque};

use runnel_delivery::{
    AskFault, LeftLink, PairId, PairMatch, ReachedError, ShareFault, SharedLinkReceiver, SharedLinkSender,
    Statement,
};

use crate::random::Random;

const WRITERS: u32 = 2;
const SUBSCRIPTIONS: u32 = 3;

/// What the link carries.
enum Frame {
    Statement(Statement),
    Message(u32, u64),
}

/// A pair as RTPS has it: in order, and what is under way is lost when the writer loses the reader.
#[derive(Default)]
struct Pair {
    is_compatible: bool,
    at_writer: bool,
    at_reader: bool,
    /// The link has left it to RTPS.
    is_active: bool,
    waiting: Option<Vec<u64>>,
    /// The epoch of the Leave that these wait for.
    leaves_at: Option<u32>,
    under_way: VecDeque<u64>,
    /// RTPS owes nothing before.
    floor: u64,
}

struct Scene {
    random: Random,
    sender: SharedLinkSender,
    receiver: SharedLinkReceiver<u32>,
    down: VecDeque<Frame>,
    /// What the path before has not given of that.
    down_before: VecDeque<Frame>,
    up: VecDeque<Statement>,
    pairs: Vec<Pair>,
    published: [u64; WRITERS as usize],
    /// By subscription and writer.
    heard: Vec<Vec<u64>>,
    is_there: [bool; SUBSCRIPTIONS as usize],
    /// Messages that RTPS has lost.
    lost: u64,
    carried: u64,
    /// Messages that waited for a Reached when a Return came: lost if the subscriber lets the pair leave all the same.
    given_up: BTreeMap<(PairId, u32), u64>,
}

fn index(id: PairId) -> usize {
    ((id.reader - 1) * WRITERS + id.writer - 1) as usize
}

fn ids() -> impl Iterator<Item = PairId> {
    (1..=SUBSCRIPTIONS).flat_map(|reader| (1..=WRITERS).map(move |writer| PairId { writer, reader }))
}

impl Scene {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let pairs = ids().map(|_| Pair { is_compatible: !random.is(3), ..Pair::default() }).collect();
        Self {
            random,
            sender: SharedLinkSender::default(),
            receiver: SharedLinkReceiver::default(),
            down: VecDeque::new(),
            down_before: VecDeque::new(),
            up: VecDeque::new(),
            pairs,
            published: [0; WRITERS as usize],
            heard: ids().map(|_| Vec::new()).collect(),
            is_there: [false; SUBSCRIPTIONS as usize],
            lost: 0,
            carried: 0,
            given_up: BTreeMap::new(),
        }
    }

    /// The link goes over to another path, which the subscriber may read first once it has all messages of the one before.
    fn switch_path(&mut self) {
        if self.down_before.is_empty() {
            self.down_before = std::mem::take(&mut self.down);
            self.down.extend(self.sender.restate().map(Frame::Statement));
        }
    }

    fn publish(&mut self, writer: u32) {
        self.published[writer as usize - 1] += 1;
        let number = self.published[writer as usize - 1];
        if self.sender.carries(writer) {
            self.down.extend(self.sender.before_message(writer).map(Frame::Statement));
            self.down.push_back(Frame::Message(writer, number));
            self.carried += 1;
        }
        for id in ids().filter(|id| id.writer == writer) {
            let pair = &mut self.pairs[index(id)];
            match &mut pair.waiting {
                Some(waiting) => waiting.push(number),
                None if pair.is_active => pair.under_way.push_back(number),
                None => {}
            }
        }
    }

    fn next(&self, id: PairId) -> u64 {
        self.published[id.writer as usize - 1] + 1
    }

    fn leave(&mut self, id: PairId) {
        let from = self.next(id);
        self.down.push_back(Frame::Statement(self.sender.leave(id, from)));
        let pair = &mut self.pairs[index(id)];
        (pair.waiting, pair.leaves_at) = (Some(Vec::new()), Some(self.sender.epoch()));
    }

    /// The writer serves the reader no longer.
    fn give_back(&mut self, id: PairId) {
        let from = self.next(id);
        self.down.push_back(Frame::Statement(self.sender.serve(id, from)));
        let pair = &mut self.pairs[index(id)];
        self.lost += pair.under_way.len() as u64;
        pair.under_way.clear();
        pair.is_active = false;
        let waiting = pair.waiting.take();
        if let Some((epoch, waiting)) = pair.leaves_at.take().zip(waiting) {
            self.given_up.insert((id, epoch), waiting.len() as u64);
        }
    }

    fn match_at_writer(&mut self, id: PairId) {
        if !std::mem::replace(&mut self.pairs[index(id)].at_writer, true) && self.sender.matched(id) {
            self.leave(id);
        }
    }

    fn lose_at_writer(&mut self, id: PairId) {
        if std::mem::replace(&mut self.pairs[index(id)].at_writer, false) {
            self.give_back(id);
        }
    }

    fn set_at_reader(&mut self, id: PairId, is_matched: bool) {
        if !self.is_there[id.reader as usize - 1]
            || std::mem::replace(&mut self.pairs[index(id)].at_reader, is_matched) == is_matched
        {
            return;
        }
        match is_matched {
            true => self.receiver.matched(id, id.reader),
            false => self.receiver.unmatched(id),
        }
    }

    fn add(&mut self, subscription: u32) {
        if std::mem::replace(&mut self.is_there[subscription as usize - 1], true) {
            return;
        }
        self.receiver.add(subscription, true);
        for writer in 1..=WRITERS {
            let id = PairId { writer, reader: subscription };
            if self.pairs[index(id)].is_compatible && !self.random.is(3) {
                self.set_at_reader(id, true);
            }
        }
        self.receiver.review();
    }

    fn hear(&mut self, id: PairId, number: u64) {
        let heard = &mut self.heard[index(id)];
        assert!(heard.last().is_none_or(|last| *last < number), "{id:?}: {number} after {heard:?}");
        heard.push(number);
    }

    fn read_link(&mut self) {
        let is_owed = self.down_before.iter().any(|frame| matches!(frame, Frame::Message(..)));
        let has_both = !self.down_before.is_empty() && !self.down.is_empty();
        let before = is_owed || self.down.is_empty() || has_both && self.random.is(2);
        match if before { self.down_before.pop_front() } else { self.down.pop_front() } {
            Some(Frame::Statement(statement)) => {
                if let Some(LeftLink { pair, before }) = self.receiver.statement(&statement).unwrap() {
                    self.pairs[index(pair)].floor = before;
                }
            }
            Some(Frame::Message(writer, number)) => {
                for reader in 1..=SUBSCRIPTIONS {
                    if self.is_there[reader as usize - 1] && self.receiver.delivers(reader) {
                        self.hear(PairId { writer, reader }, number);
                    }
                }
                self.receiver.note_message();
            }
            None => {}
        }
    }

    fn read_statement(&mut self) {
        let Some(statement) = self.up.pop_front() else { return };
        let id = PairId::of(&statement).unwrap();
        match statement {
            Statement::Ask { .. } => {
                let pair = &self.pairs[index(id)];
                let is = match (pair.at_writer, pair.is_active || pair.waiting.is_some()) {
                    (false, _) => PairMatch::Unmatched,
                    (true, false) => PairMatch::OnLink,
                    (true, true) => PairMatch::OnRtps,
                };
                if self.sender.ask(id, is).unwrap() {
                    self.leave(id);
                }
            }
            Statement::Return { .. } => self.give_back(id),
            Statement::Standby { epoch, .. } => drop(self.sender.stand_by(id.writer, epoch)),
            Statement::Needed { .. } => {
                let from = self.next(id);
                self.down.push_back(Frame::Statement(self.sender.needed(id.writer, from)));
            }
            Statement::Reached { epoch, next, .. } => {
                self.lost += self.given_up.remove(&(id, epoch)).unwrap_or(0);
                if let Some(from) = self.sender.reached(id, epoch, next).unwrap() {
                    let next = self.next(id);
                    let pair = &mut self.pairs[index(id)];
                    let waiting = pair.waiting.take().unwrap();
                    // What is kept comes before.
                    let first = waiting.first().copied().unwrap_or(next);
                    pair.under_way = if from == 1 { (1..first).collect() } else { VecDeque::new() };
                    pair.under_way.extend(waiting);
                    pair.is_active = true;
                }
            }
            other => panic!("{other:?}"),
        }
    }

    fn read_rtps(&mut self, id: PairId) {
        let pair = &mut self.pairs[index(id)];
        if let Some(number) = pair.under_way.pop_front() {
            if pair.at_reader && number >= pair.floor && self.receiver.takes_rtps(id) {
                self.hear(id, number);
            } else {
                self.lost += 1;
            }
        }
    }

    fn any_pair(&mut self) -> PairId {
        let at = self.random.below(u64::from(WRITERS * SUBSCRIPTIONS)) as usize;
        ids().nth(at).unwrap()
    }

    fn step(&mut self, loses: bool) {
        let id = self.any_pair();
        let is_compatible = self.pairs[index(id)].is_compatible;
        match self.random.below(12) {
            0 | 1 => self.publish(id.writer),
            2 if self.random.is(4) => self.add(id.reader),
            3 if is_compatible && self.is_there[id.reader as usize - 1] => self.match_at_writer(id),
            4 if is_compatible => self.set_at_reader(id, true),
            5 if loses && self.random.is(8) => self.lose_at_writer(id),
            6 if loses && self.random.is(8) => self.set_at_reader(id, false),
            7 | 8 => self.read_link(),
            9 => self.read_statement(),
            10 if self.random.is(4) => self.switch_path(),
            _ => self.read_rtps(id),
        }
        self.up.extend(std::iter::from_fn(|| self.receiver.poll_statement()));
    }

    /// All are matched that can be, and all that is under way arrives.
    fn come_to_rest(&mut self) {
        (1..=SUBSCRIPTIONS).for_each(|subscription| self.add(subscription));
        for id in ids().filter(|id| self.pairs[index(*id)].is_compatible).collect::<Vec<_>>() {
            self.match_at_writer(id);
            self.set_at_reader(id, true);
        }
        self.up.extend(std::iter::from_fn(|| self.receiver.poll_statement()));
        for _ in 0..100 {
            while !(self.down.is_empty() && self.down_before.is_empty()) {
                self.read_link();
            }
            self.up.extend(std::iter::from_fn(|| self.receiver.poll_statement()));
            while !self.up.is_empty() {
                self.read_statement();
            }
            for id in ids() {
                while !self.pairs[index(id)].under_way.is_empty() {
                    self.read_rtps(id);
                }
            }
        }
    }
}

fn run(seed: u64, loses: bool) {
    let mut scene = Scene::new(seed);
    for _ in 0..400 {
        scene.step(loses);
    }
    scene.come_to_rest();
    let ended = scene.published;
    let lost = scene.lost;
    for _ in 0..5 {
        (1..=WRITERS).for_each(|writer| scene.publish(writer));
        scene.come_to_rest();
    }
    assert_eq!(scene.lost, lost, "seed {seed}: nothing is lost once all are matched");
    for id in ids() {
        let heard = &scene.heard[index(id)];
        let last = ended[id.writer as usize - 1];
        let all: Vec<u64> = heard.iter().copied().filter(|number| *number > last).collect();
        assert_eq!(all, (last + 1..=last + 5).collect::<Vec<_>>(), "seed {seed} {id:?}");
        if !loses {
            assert!(heard.windows(2).all(|pair| pair[1] == pair[0] + 1), "seed {seed} {id:?}: {heard:?}");
        }
    }
    let missing = |heard: &Vec<u64>| match (heard.first(), heard.last()) {
        (Some(first), Some(last)) => last + 1 - first - heard.len() as u64,
        _ => 0,
    };
    let missing: u64 = scene.heard.iter().map(missing).sum();
    assert!(missing <= scene.lost, "seed {seed}: {missing} are missing, of which RTPS lost {}", scene.lost);
    let is_needed =
        |writer| ids().filter(|id| id.writer == writer).any(|id| !scene.pairs[index(id)].is_compatible);
    for writer in 1..=WRITERS {
        assert_eq!(
            scene.sender.carries(writer),
            is_needed(writer),
            "seed {seed}: the link carries what is needed"
        );
    }
}

#[test]
fn each_subscription_gets_each_message_once_while_pairs_leave_the_link() {
    (0..1_000).for_each(|seed| run(seed, false));
}

#[test]
fn what_rtps_loses_is_neither_doubled_nor_reordered_by_the_link() {
    (0..1_000).for_each(|seed| run(seed, true));
}

const A: PairId = PairId { writer: 1, reader: 2 };

#[test]
fn a_publisher_refuses_what_a_subscriber_cannot_have_reached() {
    let mut sender = SharedLinkSender::default();
    assert_eq!(sender.reached(A, 1, 1), Err(ReachedError::UnknownEpoch(1)));
    sender.leave(A, 7);
    assert_eq!(sender.reached(A, 1, 8), Err(ReachedError::NotPublished(8)));
    assert_eq!(sender.reached(PairId { reader: 3, ..A }, 1, 7), Ok(None), "another is not waited for");
    assert_eq!((sender.reached(A, 1, 7), sender.reached(A, 1, 7)), (Ok(Some(7)), Ok(None)));
    assert!(!sender.stand_by(1, 0), "it had not seen the last change");
    assert!(sender.carries(1) && sender.stand_by(1, 1) && !sender.carries(1));
}

#[test]
fn a_publisher_remembers_a_limited_number_of_asks() {
    let mut sender = SharedLinkSender::default();
    let ask = |sender: &mut SharedLinkSender, reader| {
        sender.ask(PairId { writer: 1, reader }, PairMatch::Unmatched)
    };
    (0..1024).for_each(|reader| assert_eq!(ask(&mut sender, reader), Ok(false)));
    assert_eq!((ask(&mut sender, 5), ask(&mut sender, 5000)), (Ok(false), Err(AskFault)));
    assert!(sender.matched(PairId { writer: 1, reader: 5 }));
    assert_eq!(ask(&mut sender, 5000), Ok(false));
}

#[test]
fn a_subscriber_returns_pairs_that_it_does_not_know_and_refuses_nonsense() {
    let mut receiver = SharedLinkReceiver::<u32>::default();
    let leave = |epoch| Statement::Leave { id: A.id(), epoch, from: 1 };
    assert_eq!(receiver.statement(&leave(u32::MAX)), Err(ShareFault::EpochLeap(u32::MAX)));
    assert_eq!(receiver.statement(&Statement::Ask { id: A.id() }), Err(ShareFault::OfSubscriber));
    for epoch in 1..=4096 {
        assert_eq!(receiver.statement(&leave(epoch)), Ok(None));
    }
    assert_eq!(receiver.statement(&leave(4097)), Err(ShareFault::TooManyAnswers));
    assert!(
        std::iter::from_fn(|| receiver.poll_statement())
            .all(|answer| answer == Statement::Return { id: A.id() })
    );
}
