//! What is to be said of an endpoint of another process. It waits for the name of the endpoint's node, which is told apart from
//! the endpoint and mostly after it: a user knows nodes, and no numbers.

use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_ros1::peer_text::sanitize;
use runnel_rtps::wire::{Guid, GuidPrefix};

use super::Ros2;
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::nodes::NodeKey;

/// How long a name is waited for: programs that have no ROS never tell one.
const PATIENCE: Duration = Duration::from_millis(500);

/// How many complaints wait. Those beyond are said at once.
const MOST_WAITING: usize = 64;

/// Such as `topic /scan: the publisher of ` and ` is not met: ...`.
struct Complaint {
    node: NodeKey,
    about: Guid,
    before: String,
    after: String,
    until: Instant,
}

/// Those that wait, all of them equally long.
#[derive(Default)]
pub(super) struct Complaints(Vec<Complaint>);

impl Ros2 {
    /// Has a node say something of an endpoint, between whose halves its node is named.
    pub(super) fn complain(
        &mut self,
        node: NodeKey,
        about: Guid,
        before: String,
        after: String,
        effects: &mut Effects,
    ) {
        let until = clock::monotonic() + PATIENCE;
        let complaint = Complaint { node, about, before, after, until };
        let waits = self.graph.node_of(about).is_none() && self.complaints.0.len() < MOST_WAITING;
        if waits {
            effects.deadlines.schedule_if_earlier(Deadline::Complaints, until);
            self.complaints.0.push(complaint);
        } else {
            effects.push_back(self.say(complaint));
        }
    }

    /// Says what has waited long enough for a name.
    pub(in crate::driver) fn say_what_is_due(&mut self, now: Instant, effects: &mut Effects) {
        self.say_those(|complaint| complaint.until <= now, effects);
    }

    /// A participant has told of its nodes: of some endpoints it may tell later, by the next of its words.
    pub(super) fn say_of_named(&mut self, participant: GuidPrefix, effects: &mut Effects) {
        let is_of = |complaint: &&Complaint| complaint.about.prefix == participant;
        let about = self.complaints.0.iter().filter(is_of).map(|complaint| complaint.about);
        let named: Vec<Guid> = about.filter(|about| self.graph.node_of(*about).is_some()).collect();
        self.say_those(|complaint| named.contains(&complaint.about), effects);
    }

    /// A participant is gone.
    pub(super) fn say_of_participant(&mut self, participant: GuidPrefix, effects: &mut Effects) {
        self.say_those(|complaint| complaint.about.prefix == participant, effects);
    }

    /// The process leaves: there will be no more names.
    pub(super) fn say_all(&mut self, effects: &mut Effects) {
        self.say_those(|_| true, effects);
    }

    fn say_those(&mut self, is_said: impl Fn(&Complaint) -> bool, effects: &mut Effects) {
        let said: Vec<Complaint> = self.complaints.0.extract_if(.., |complaint| is_said(complaint)).collect();
        effects.extend(said.into_iter().map(|complaint| self.say(complaint)));
        match self.complaints.0.first() {
            Some(complaint) => effects.schedule(Deadline::Complaints, complaint.until),
            None => effects.cancel(Deadline::Complaints),
        }
    }

    fn say(&self, Complaint { node, about, before, after, .. }: Complaint) -> Effect {
        let who = self.graph.node_of(about).map_or_else(|| about.to_string(), sanitize);
        Effect::NodeTrouble { node, line: format!("{before}{who}{after}") }
    }
}
