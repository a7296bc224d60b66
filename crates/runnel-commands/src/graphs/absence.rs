//! What people are told where a command has found nobody to ask.

use std::time::Duration;

use runnel::core::names::DdsTopic;
use runnel::{Context, DiscoveryRange, Graphs, Ros2Graph};

use super::Listening;
use crate::output::counted;
use crate::session::Session;

/// Says that nobody is there; or, of the master alone, that the one which the user named is not. Somebody is there who runs in
/// ROS 2, and whoever did not listen does not know.
pub fn tell(session: &Session, no_master_at: Option<&str>, heard: &Ros2Graph, ear: &Ear) {
    let nobody = heard.participants.is_empty() && !ear.within.is_zero();
    match no_master_at {
        _ if nobody => session.output.note(&nobody_text(no_master_at, ear)),
        Some(uri) if session.names_master() => {
            let then = if ear.awaits_master { "joined when it answers" } else { "left out" };
            session.output.note(&format!("no master at {uri}: ROS 1 is {then}"));
        }
        _ => {}
    }
}

/// Where a command listens for ROS 2.
pub struct Ear {
    domain: u16,
    range: DiscoveryRange,
    within: Duration,
    /// There is no interface by which anybody could be heard.
    has_no_interface: bool,
    /// The command goes on, and joins the graph of ROS 1 when its master comes.
    awaits_master: bool,
}

impl Ear {
    /// Where a context listens, for so long at least.
    pub fn of(context: &Context, within: Duration) -> Self {
        let up = runnel::io::interfaces::interfaces();
        Self {
            domain: context.domain_id().unwrap_or_default(),
            range: context.discovery_range().unwrap_or(DiscoveryRange::Subnet),
            within,
            has_no_interface: up.is_ok_and(|up| up.iter().all(|interface| interface.addresses.is_empty())),
            awaits_master: context.graphs() == Graphs::Both,
        }
    }

    /// Why somebody may be there and not be heard.
    fn limits(&self) -> &'static str {
        match self.range {
            _ if self.has_no_interface => "; no network interface is up",
            DiscoveryRange::Off => "; the discovery range is OFF, by which nobody is met",
            DiscoveryRange::Localhost => {
                "; the discovery range is LOCALHOST, by which other hosts are not met"
            }
            DiscoveryRange::Subnet => "",
        }
    }

    fn nobody(&self) -> String {
        format!("nobody of ROS 2 in domain {} within {} s", self.domain, self.within.as_secs_f64())
    }
}

/// The ROS 2 graph as a command finds it that serves only ROS 1.
pub struct Heard {
    /// Without what is this program's own.
    pub graph: Ros2Graph,
    ear: Ear,
}

impl Heard {
    /// Listens as long as participants usually take to answer, and at most for so long for those that have not yet announced all
    /// they have; `None` where none can be heard.
    pub fn in_ros2(session: &Session, for_stragglers: Duration) -> Option<Self> {
        let context = session.asking_in(Graphs::Ros2).ok()?;
        let listening = Listening::default();
        let graph = listening.look(&context, for_stragglers).ok()?;
        let ear = Ear::of(&context, listening.least());
        Some(Self { graph, ear })
    }

    /// True if no participant is heard.
    pub fn nobody(&self) -> bool {
        self.graph.participants.is_empty()
    }

    /// True if a text names a node or a service of this graph, or something below one.
    pub fn is_named_in(&self, text: &str) -> bool {
        let nodes = self.graph.nodes.iter().map(|node| node.full_name.as_str());
        let services = self.graph.endpoints.iter().filter_map(|end| match end.ros_topic() {
            Some(DdsTopic::ServiceRequest(service) | DdsTopic::ServiceReply(service)) => Some(service),
            _ => None,
        });
        let end = |next: Option<char>| next.is_none_or(|next| !next.is_alphanumeric() && next != '_');
        nodes
            .chain(services)
            .any(|name| text.match_indices(name).any(|(at, _)| end(text[at + name.len()..].chars().next())))
    }

    /// As part of a sentence.
    pub fn text(&self) -> String {
        match self.graph.participants.len() {
            0 => self.ear.nobody() + self.ear.limits(),
            count => format!("{} of ROS 2 in domain {}", counted(count, "participant"), self.ear.domain),
        }
    }
}

fn nobody_text(no_master_at: Option<&str>, ear: &Ear) -> String {
    let ros1 = no_master_at.map_or_else(String::new, |uri| format!("no master answers at {uri}, and "));
    let (yet, hint) = if ear.awaits_master { (" yet", "") } else { ("", " (see --wait)") };
    format!("nobody is there{yet}: {ros1}{}{hint}{}", ear.nobody(), ear.limits())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ear(domain: u16, range: DiscoveryRange, within: Duration) -> Ear {
        Ear { domain, range, within, has_no_interface: false, awaits_master: false }
    }

    #[test]
    fn which_graphs_were_asked_is_told_and_for_how_long() {
        let soon = ear(0, DiscoveryRange::Subnet, Duration::from_millis(200));
        let expected = "nobody is there: no master answers at http://localhost:11311/, and nobody of ROS 2 in \
                        domain 0 within 0.2 s (see --wait)";
        assert_eq!(nobody_text(Some("http://localhost:11311/"), &soon), expected);
        let late = ear(7, DiscoveryRange::Subnet, Duration::from_secs(3));
        let expected = "nobody is there: nobody of ROS 2 in domain 7 within 3 s (see --wait)";
        assert_eq!(nobody_text(None, &late), expected);
        let going_on = Ear { awaits_master: true, ..soon };
        let expected = "nobody is there yet: no master answers at http://m:1/, and nobody of ROS 2 in domain 0 within 0.2 s";
        assert_eq!(nobody_text(Some("http://m:1/"), &going_on), expected);
    }

    #[test]
    fn what_keeps_others_from_being_heard_is_told() {
        let limits = |range| ear(0, range, Duration::ZERO).limits();
        assert!(limits(DiscoveryRange::Off).contains("range is OFF"));
        assert!(limits(DiscoveryRange::Localhost).contains("range is LOCALHOST"));
        let deaf = Ear { has_no_interface: true, ..ear(0, DiscoveryRange::Off, Duration::from_secs(1)) };
        assert!(nobody_text(None, &deaf).ends_with("(see --wait); no network interface is up"));
    }
}
