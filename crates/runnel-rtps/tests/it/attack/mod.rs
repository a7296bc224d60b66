//! Stateful fuzzer: two participants with live links, and an attacker between them, in the virtual network. An input
//! encodes steps ([`steps`]); after any steps the links deliver again soon after the attacker stops.

mod attacker;
mod forge;
mod mutations;
mod steps;

pub use mutations::play_mutations;
pub use steps::{Attack, MAX_STEPS, STEP_LEN, Step, steps};

use std::time::Duration;

use runnel_core::qos::QoS;
use runnel_rtps::wire::{EntityId, Message};
use runnel_rtps::{Config, Limits};

use crate::net::{Captured, Conditions, Net, millis, number_of, sample, secs};

/// Attacks that live links survive, in any order.
pub const SURVIVED: &[Attack] = &Attack::ALL;

/// Interval of announcements of an honest participant.
const ANNOUNCE: Duration = Duration::from_secs(1);

/// Time from the attacker's end until all links deliver: the next announcement, and one second.
const RECOVERY: Duration = Duration::from_millis(2200);

/// Observation time of the links afterwards, and time for the last samples.
const WATCH: Duration = Duration::from_millis(200);
const LAST: Duration = Duration::from_secs(1);

/// Interval of samples of an honest writer, and while links recover: slow ones must heal as soon.
const PERIOD: Duration = Duration::from_millis(20);
const SLOW_PERIOD: Duration = Duration::from_millis(100);

/// Maximum number of datagrams of a participant during the observation.
const MAX_DATAGRAMS: usize = 600;

/// Numbers of samples after the attacker's end.
const AFTER: u32 = 1_000_000;

/// Number of captured datagrams that the attacker has.
const CAPTURE: usize = 200;

/// Maximum number of events of a participant in a report.
const MAX_REPORTED: usize = 60;

const LIMITS: (usize, usize) = (16, 32);

/// Writer of one honest participant and reader of the other.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    node: usize,
    writer: EntityId,
    reader: EntityId,
    len: usize,
}

/// As [`Link`], without the sample length; also for discovery.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    node: usize,
    writer: EntityId,
    reader: EntityId,
}

/// Scene of the fuzzer.
pub struct Scene {
    net: Net,
    links: Vec<Link>,
    published: u32,
    /// The attacker's last datagrams, for the report.
    forged: Vec<Captured>,
}

/// Plays an input, without the attacks that `allowed` refuses. The error states the violated expectation.
///
/// # Panics
/// A participant panics.
pub fn play(input: &[u8], allowed: impl Fn(Attack) -> bool) -> Result<(), String> {
    let (seed, rest) = input.split_first().map_or((0, input), |(seed, rest)| (*seed, rest));
    play_steps(seed, &steps(rest), allowed)
}

/// Plays steps, in the network of a seed.
///
/// # Errors
/// As [`play`].
pub fn play_steps(seed: u8, steps: &[Step], allowed: impl Fn(Attack) -> bool) -> Result<(), String> {
    let mut scene = Scene::new(seed.into());
    let result = scene.play(steps, &allowed);
    result.map_err(|why| format!("{why}\n{}", scene.report()))
}

impl Scene {
    /// Creates two participants whose links of four kinds deliver.
    fn new(seed: u64) -> Self {
        let mut net = Net::new(seed);
        net.capture_limit = CAPTURE;
        for _ in 0..2 {
            net.add_with(configure);
        }
        let mut links = Vec::new();
        let kinds = [
            (0, QoS::keep_all(), 20),
            (1, QoS::keep_last(10), 20),
            (0, QoS::sensor_data(), 20),
            (1, QoS::keep_all().transient_local(), 4000),
        ];
        for (index, (node, qos, len)) in kinds.into_iter().enumerate() {
            let topic = format!("rt/topic_{index}");
            let (writer, reader) = (net.writer(node, &topic, qos), net.reader(1 - node, &topic, qos));
            links.push(Link { node, writer, reader, len });
        }
        net.run_until("all links are matched", secs(3), |net| {
            links.iter().all(|link| {
                net.is_matched(link.node, link.writer) && net.is_matched(1 - link.node, link.reader)
            })
        });
        let mut scene = Self { net, links, published: 0, forged: Vec::new() };
        for _ in 0..3 {
            scene.publish_everywhere(PERIOD);
        }
        scene
    }

    fn play(&mut self, steps: &[Step], allowed: impl Fn(Attack) -> bool) -> Result<(), String> {
        for step in steps {
            self.step(*step, &allowed);
            self.check_bounds()?;
        }
        self.recover()
    }

    /// Returns the endpoints of each link, the forged datagrams, and the events of the participants.
    fn report(&self) -> String {
        let mut lines = Vec::new();
        for (index, Link { node, writer, reader, .. }) in self.links.iter().enumerate() {
            let (from, to) = (self.net.nodes[*node].address, self.net.nodes[1 - *node].address);
            lines.push(format!("link {index}: writer {writer:?} of {from}, reader {reader:?} of {to}"));
        }
        for Captured { from, to, bytes } in &self.forged {
            lines.push(format!("forged: {from} -> {to}, {} bytes", bytes.len()));
            let Ok(message) = Message::parse(bytes) else { continue };
            lines.push(format!("    in the name of {:?}", message.prefix));
            lines.extend(message.submessages().map(|submessage| match submessage {
                Ok(submessage) => format!("    {submessage:?}").chars().take(600).collect(),
                Err(why) => format!("    {why}"),
            }));
        }
        for node in &self.net.nodes {
            lines.push(format!("events of {}:", node.address));
            let from = node.events.len().saturating_sub(MAX_REPORTED);
            lines.extend(node.events[from..].iter().map(|event| format!("    {event:?}")));
        }
        lines.join("\n")
    }

    /// Returns every writer that the attacker can impersonate, with its reader.
    fn pairs(&self) -> Vec<Pair> {
        let discovery = [
            (EntityId::PUBLICATIONS_WRITER, EntityId::PUBLICATIONS_READER),
            (EntityId::SUBSCRIPTIONS_WRITER, EntityId::SUBSCRIPTIONS_READER),
            (EntityId::MESSAGE_WRITER, EntityId::MESSAGE_READER),
        ];
        let discovery =
            (0..2).flat_map(|node| discovery.map(|(writer, reader)| Pair { node, writer, reader }));
        let user = self.links.iter().map(|&Link { node, writer, reader, .. }| Pair { node, writer, reader });
        user.chain(discovery).collect()
    }

    fn step(&mut self, step: Step, allowed: impl Fn(Attack) -> bool) {
        match step {
            Step::Advance { millis: count } => self.net.run_for(millis(count)),
            Step::Publish { link, count } => {
                for _ in 0..count {
                    self.publish(self.links[link % self.links.len()]);
                }
            }
            Step::Conditions { kind } => {
                self.net.conditions =
                    [Conditions::GOOD, Conditions::bad(10), Conditions::bad(40), Conditions::bad(0)]
                        [kind % 4];
            }
            Step::Blackout { millis: count } => {
                self.net.blackout = true;
                self.net.run_for(millis(count));
                self.net.blackout = false;
            }
            Step::Attack { attack, args } if allowed(attack) => {
                self.attack(attack, args);
                self.net.run_for(millis(1));
            }
            Step::Attack { .. } => {}
        }
    }

    /// Writes a sample; returns false if a keep-all writer is full.
    fn publish(&mut self, link: Link) -> bool {
        self.published += 1;
        self.net.write(link.node, link.writer, &sample(self.published, link.len)).is_ok()
    }

    /// Publishes once on each link, and runs for `pause`; returns a link whose writer is full.
    fn publish_everywhere(&mut self, pause: Duration) -> Option<usize> {
        let full = (0..self.links.len()).filter(|index| !self.publish(self.links[*index])).min();
        self.net.run_for(pause);
        full
    }

    fn check_bounds(&self) -> Result<(), String> {
        for node in &self.net.nodes {
            let count = node.participant.announced().count();
            if count > LIMITS.0 + LIMITS.1 {
                return Err(format!("{} knows {count} participants", node.address));
            }
            if let Some(peer) = node.participant.peers().find(|peer| peer.endpoints.len() > 32) {
                return Err(format!("{} knows {} endpoints of one", node.address, peer.endpoints.len()));
            }
        }
        Ok(())
    }

    /// Checks after the attacker's end that all links deliver again, everything once and in order.
    fn recover(&mut self) -> Result<(), String> {
        self.net.conditions = Conditions::GOOD;
        self.net.capture_limit = 0;
        self.published = AFTER;
        let end = self.net.now + RECOVERY;
        while self.net.now < end {
            self.publish_everywhere(SLOW_PERIOD);
        }
        let (first, sent) = (self.published + 1, self.sent());
        let end = self.net.now + WATCH;
        while self.net.now < end {
            if let Some(link) = self.publish_everywhere(PERIOD) {
                return Err(format!("link {link}: its writer is full: {}", self.state(link)));
            }
        }
        let (most, before) = (self.sent(), sent);
        let busiest = most.iter().zip(&before).map(|(after, before)| after - before).max().unwrap_or(0);
        if busiest > MAX_DATAGRAMS {
            return Err(format!("{busiest} datagrams in {WATCH:?}"));
        }
        self.net.run_for(LAST);
        (0..self.links.len()).try_for_each(|link| self.check_delivery(link, first))
    }

    fn sent(&self) -> Vec<usize> {
        self.net.nodes.iter().map(|node| node.sent).collect()
    }

    fn check_delivery(&self, index: usize, first: u32) -> Result<(), String> {
        let link = self.links[index];
        let texts = self.net.texts(1 - link.node, link.reader);
        let numbered = texts.iter().filter(|bytes| bytes.len() >= 8).map(|bytes| (number_of(bytes), bytes));
        // Samples that the attacker has written do not count.
        let honest =
            numbered.filter(|(number, bytes)| *number > AFTER && **bytes == sample(*number, link.len));
        let received: Vec<u32> = honest.map(|(number, _)| number).collect();
        if let Some(pair) = received.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(format!("link {index}: sample {} after {}", pair[1] - AFTER, pair[0] - AFTER));
        }
        let count = self.links.len() as u32;
        let expected = (first..=self.published).filter(|number| (number - AFTER - 1) % count == index as u32);
        let missing = expected.clone().filter(|number| !received.contains(number)).count();
        if missing > 0 {
            let all = expected.count();
            return Err(format!(
                "link {index}: {missing} of {all} samples are missing: {}",
                self.state(index)
            ));
        }
        Ok(())
    }

    /// Returns the participants' state of a link, for the report.
    fn state(&self, index: usize) -> String {
        let link = self.links[index];
        let matched = |node: usize, id| if self.net.is_matched(node, id) { "matched" } else { "NOT matched" };
        let knows = |node: usize| {
            let other = self.net.nodes[1 - node].participant.prefix();
            if self.net.nodes[node].participant.peer(other).is_some() { "known" } else { "NOT known" }
        };
        format!(
            "writer {} (peer {}), reader {} (peer {}), {} unacknowledged",
            matched(link.node, link.writer),
            knows(link.node),
            matched(1 - link.node, link.reader),
            knows(1 - link.node),
            self.net.nodes[link.node].participant.unacknowledged(link.writer),
        )
    }
}

fn configure(config: &mut Config) {
    config.announce = ANNOUNCE;
    config.limits = Limits {
        participants: LIMITS.0,
        participants_per_address: LIMITS.0 / 2,
        candidates: LIMITS.1,
        endpoints: 32,
        endpoint_bytes: 1 << 20,
        sample_bytes: 1 << 20,
        waiting_bytes: 4 << 20,
        kept: 100,
        kept_bytes: 4 << 20,
        ..Limits::default()
    };
}
