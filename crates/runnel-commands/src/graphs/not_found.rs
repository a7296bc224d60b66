//! Notes about graphs that a command has not found.

use std::time::Duration;

use runnel::core::names::DdsTopic;
use runnel::{Context, DiscoveryRange, Graphs, ParticipantInfo, Ros2Graph};

use super::{Discovery, is_hidden};
use crate::cli_context::CliContext;
use crate::output::counted;

/// Prints a note if neither graph was found, or if only the master that the user named is missing. If ROS 2
/// participants exist, nothing is missing; without discovery nothing is known.
pub fn note_missing(
    cli: &CliContext,
    no_master_at: Option<&str>,
    discovered: &Ros2Graph,
    listener: &Listener,
) {
    let is_empty = discovered.participants.is_empty() && !listener.within.is_zero();
    match no_master_at {
        _ if is_empty => {
            let option = if cli.is_only_in_ros2() { "--spin-time" } else { "--wait" };
            cli.output.note(&nothing_found_text(no_master_at, listener, option));
        }
        Some(uri) if cli.names_master() => {
            let then = if listener.awaits_master { "joined when it answers" } else { "left out" };
            cli.output.note(&format!("no master at {uri}: ROS 1 is {then}"));
        }
        _ => {}
    }
}

/// How a command listens for ROS 2 participants.
pub struct Listener {
    domain: u16,
    range: DiscoveryRange,
    within: Duration,
    /// No network interface is up.
    has_no_interface: bool,
    /// The command keeps running, and joins the ROS 1 graph when its master starts.
    awaits_master: bool,
}

impl Listener {
    /// How a context listens, for at least this time.
    pub fn of(context: &Context, within: Duration) -> Self {
        let up = runnel_io::interfaces::interfaces();
        Self {
            domain: context.domain_id().unwrap_or_default(),
            range: context.discovery_range().unwrap_or(DiscoveryRange::Subnet),
            within,
            has_no_interface: up.is_ok_and(|up| up.iter().all(|interface| interface.addresses.is_empty())),
            awaits_master: context.graphs() == Graphs::Both,
        }
    }

    /// Why participants may exist without being discovered.
    fn limits(&self) -> &'static str {
        match self.range {
            _ if self.has_no_interface => "; no network interface is up",
            DiscoveryRange::Off => "; the discovery range is OFF, so no participant is discovered",
            DiscoveryRange::Localhost => {
                "; the discovery range is LOCALHOST, so other hosts are not discovered"
            }
            DiscoveryRange::Subnet => "",
        }
    }

    fn no_participant(&self) -> String {
        format!("no ROS 2 participant in domain {} within {} s", self.domain, self.within.as_secs_f64())
    }
}

/// The ROS 2 graph, for notes of a command that uses only ROS 1.
pub struct DiscoveredRos2 {
    /// Without this program's own participant.
    pub graph: Ros2Graph,
    listener: Listener,
}

impl DiscoveredRos2 {
    /// Listens as long as participants usually take to answer, and up to `max_wait` for those that have not yet
    /// announced all their endpoints; `None` if ROS 2 is not available.
    pub fn in_ros2(cli: &CliContext, max_wait: Duration) -> Option<Self> {
        Self::of(&cli.query_context_in(Graphs::Ros2).ok()?, max_wait)
    }

    /// The same in a context of the caller.
    pub fn of(context: &Context, max_wait: Duration) -> Option<Self> {
        let discovery = Discovery::default();
        let graph = discovery.discover_within(context, max_wait).ok()?;
        let listener = Listener::of(context, discovery.minimum());
        Some(Self { graph, listener })
    }

    /// True if there is no participant but those of commands.
    pub fn is_empty(&self) -> bool {
        participant_count(&self.graph) == 0
    }

    /// True if a text contains the name of a node or a service of this graph, or a name below one.
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
        self.text_with("ROS 2 participant")
    }

    /// The same where the text before it names ROS 2.
    pub fn text_after_ros2(&self) -> String {
        self.text_with("participant")
    }

    fn text_with(&self, word: &str) -> String {
        match participant_count(&self.graph) {
            0 => self.listener.no_participant() + self.listener.limits(),
            count => format!("{} in domain {}", counted(count, word), self.listener.domain),
        }
    }
}

/// Number of participants. Those with only hidden nodes, as commands have, do not count.
fn participant_count(graph: &Ros2Graph) -> usize {
    let counts = |participant: &&ParticipantInfo| {
        let mut nodes = graph.nodes.iter().filter(|node| node.participant == participant.gid).peekable();
        nodes.peek().is_none() || nodes.any(|node| !is_hidden(&node.full_name))
    };
    graph.participants.iter().filter(counts).count()
}

fn nothing_found_text(no_master_at: Option<&str>, listener: &Listener, option: &str) -> String {
    let ros1 = no_master_at.map_or_else(String::new, |uri| format!("no master answers at {uri}, and "));
    let hint = if listener.awaits_master { String::new() } else { format!(" (see {option})") };
    let yet = if listener.awaits_master { " yet" } else { "" };
    format!("no graph found{yet}: {ros1}{}{hint}{}", listener.no_participant(), listener.limits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::{graph, participant};
    use runnel::NodeInfo;

    fn listener(domain: u16, range: DiscoveryRange, within: Duration) -> Listener {
        Listener { domain, range, within, has_no_interface: false, awaits_master: false }
    }

    #[test]
    fn note_names_searched_graphs_and_time() {
        let soon = listener(0, DiscoveryRange::Subnet, Duration::from_millis(200));
        let expected = "no graph found: no master answers at http://localhost:11311/, and no ROS 2 participant in \
                        domain 0 within 0.2 s (see --wait)";
        assert_eq!(nothing_found_text(Some("http://localhost:11311/"), &soon, "--wait"), expected);
        let late = listener(7, DiscoveryRange::Subnet, Duration::from_secs(3));
        let expected = "no graph found: no ROS 2 participant in domain 7 within 3 s (see --wait)";
        assert_eq!(nothing_found_text(None, &late, "--wait"), expected);
        assert!(nothing_found_text(None, &late, "--spin-time").ends_with(" (see --spin-time)"));
        let going_on = Listener { awaits_master: true, ..soon };
        let expected = "no graph found yet: no master answers at http://m:1/, and no ROS 2 participant in domain 0 within 0.2 s";
        assert_eq!(nothing_found_text(Some("http://m:1/"), &going_on, "--wait"), expected);
    }

    #[test]
    fn participants_of_commands_do_not_count() {
        let mut graph = graph(&[("rt/a", 1, true), ("rt/a", 2, true), ("rt/a", 3, true)]);
        let node = |number: u8, name: &str| NodeInfo {
            full_name: name.into(),
            participant: participant(number).gid,
        };
        graph.nodes = vec![node(1, "/_runnel_echo_1"), node(2, "/_hidden"), node(2, "/shown")];
        let discovered =
            |graph| DiscoveredRos2 { graph, listener: listener(7, DiscoveryRange::Subnet, Duration::ZERO) };
        let two = discovered(graph.clone());
        assert_eq!(two.text(), "2 ROS 2 participants in domain 7", "one is of a command, one has no node");
        assert_eq!(two.text_after_ros2(), "2 participants in domain 7");
        graph.participants.truncate(1);
        assert!(discovered(graph).is_empty());
    }

    #[test]
    fn note_names_limits_of_discovery() {
        let limits = |range| listener(0, range, Duration::ZERO).limits();
        assert!(limits(DiscoveryRange::Off).contains("range is OFF"));
        assert!(limits(DiscoveryRange::Localhost).contains("range is LOCALHOST"));
        let offline =
            Listener { has_no_interface: true, ..listener(0, DiscoveryRange::Off, Duration::from_secs(1)) };
        assert!(
            nothing_found_text(None, &offline, "--wait")
                .ends_with("(see --wait); no network interface is up")
        );
    }
}
