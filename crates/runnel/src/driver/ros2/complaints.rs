//! What is to be said of an endpoint of another process. It waits for the name of the endpoint's node, which is told apart from
//! the endpoint and mostly after it: a user knows nodes, and no numbers.

use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_ros1::told::told;
use runnel_rtps::wire::{Guid, GuidPrefix};

use super::{Driver, NodeKey};

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

/// Those that wait.
#[derive(Default)]
pub(super) struct Complaints(Vec<Complaint>);

impl Complaints {
    /// When the next is said whether or not a name has come. All wait equally long, so it is the first.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.first().map(|complaint| complaint.until)
    }
}

impl Driver {
    /// Has a node say something of an endpoint, between whose halves its node is named.
    pub(super) fn complain(&mut self, node: NodeKey, about: Guid, before: String, after: String) {
        let until = clock::monotonic() + PATIENCE;
        let complaint = Complaint { node, about, before, after, until };
        let waits = self.ros2.graph.node_of(about).is_none() && self.ros2.complaints.0.len() < MOST_WAITING;
        if waits { self.ros2.complaints.0.push(complaint) } else { self.say(&complaint) }
    }

    /// Says what is due.
    pub(super) fn say_what_is_due(&mut self, now: Instant) {
        self.say_those(|complaint| complaint.until <= now);
    }

    /// A participant has told of its nodes: of some endpoints it may tell later, by the next of its words.
    pub(super) fn say_of_named(&mut self, participant: GuidPrefix) {
        let is_of = |complaint: &&Complaint| complaint.about.prefix == participant;
        let about = self.ros2.complaints.0.iter().filter(is_of).map(|complaint| complaint.about);
        let named: Vec<Guid> = about.filter(|about| self.ros2.graph.node_of(*about).is_some()).collect();
        self.say_those(|complaint| named.contains(&complaint.about));
    }

    /// A participant is gone.
    pub(super) fn say_of_participant(&mut self, participant: GuidPrefix) {
        self.say_those(|complaint| complaint.about.prefix == participant);
    }

    /// The process leaves: there will be no more names.
    pub(super) fn say_all(&mut self) {
        self.say_those(|_| true);
    }

    fn say_those(&mut self, is_said: impl Fn(&Complaint) -> bool) {
        let said: Vec<Complaint> =
            self.ros2.complaints.0.extract_if(.., |complaint| is_said(complaint)).collect();
        said.iter().for_each(|complaint| self.say(complaint));
    }

    fn say(&mut self, complaint: &Complaint) {
        let Complaint { node, about, before, after, .. } = complaint;
        let who = self.ros2.graph.node_of(*about).map_or_else(|| about.to_string(), told);
        if let Some(node) = self.node_slot(*node) {
            node.warn_of_peer(format_args!("{before}{who}{after}"));
        }
    }
}
