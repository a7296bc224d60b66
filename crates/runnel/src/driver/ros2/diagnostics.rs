//! Diagnostics about endpoints of other processes. Each waits for the name of the endpoint's node, which usually
//! arrives after the endpoint: users know nodes by their names only.

use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_ros1::peer_text::sanitize;
use runnel_rtps::wire::{Guid, GuidPrefix};

use super::Ros2;
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::nodes::NodeKey;

/// Maximum wait for a name. Participants that do not use ROS never announce one.
const NAME_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum number of waiting diagnostics. Further ones are logged at once.
const MAX_DIAGNOSTICS: usize = 64;

/// The texts before and after the node's name, such as `topic /scan: the publisher of ` and ` is not matched: ...`.
struct Diagnostic {
    node: NodeKey,
    about: Guid,
    before: String,
    after: String,
    until: Instant,
}

/// Waiting diagnostics, with the earliest deadline first.
#[derive(Default)]
pub(super) struct Diagnostics(Vec<Diagnostic>);

impl Ros2 {
    /// Logs a diagnostic about an endpoint in a node's name, once the name of the endpoint's node is known or has been
    /// waited for.
    pub(super) fn diagnose(
        &mut self,
        node: NodeKey,
        about: Guid,
        before: String,
        after: String,
        effects: &mut Effects,
    ) {
        let until = clock::monotonic() + NAME_TIMEOUT;
        let diagnostic = Diagnostic { node, about, before, after, until };
        let waits = self.graph.node_of(about).is_none() && self.diagnostics.0.len() < MAX_DIAGNOSTICS;
        if waits {
            effects.deadlines.schedule_if_earlier(Deadline::Diagnostics, until);
            self.diagnostics.0.push(diagnostic);
        } else {
            effects.push_back(self.to_effect(diagnostic));
        }
    }

    /// Logs the diagnostics that have waited long enough.
    pub(in crate::driver) fn log_due_diagnostics(&mut self, now: Instant, effects: &mut Effects) {
        self.log_diagnostics(|diagnostic| diagnostic.until <= now, effects);
    }

    /// Logs the diagnostics about endpoints whose nodes this participant has announced. It may announce others later.
    pub(super) fn log_named_diagnostics(&mut self, participant: GuidPrefix, effects: &mut Effects) {
        let is_of = |diagnostic: &&Diagnostic| diagnostic.about.prefix == participant;
        let about = self.diagnostics.0.iter().filter(is_of).map(|diagnostic| diagnostic.about);
        let with_known_node: Vec<Guid> = about.filter(|about| self.graph.node_of(*about).is_some()).collect();
        self.log_diagnostics(|diagnostic| with_known_node.contains(&diagnostic.about), effects);
    }

    /// Logs the diagnostics about a lost participant.
    pub(super) fn log_participant_diagnostics(&mut self, participant: GuidPrefix, effects: &mut Effects) {
        self.log_diagnostics(|diagnostic| diagnostic.about.prefix == participant, effects);
    }

    /// Logs all diagnostics: no more names will arrive, since the process leaves.
    pub(super) fn log_all_diagnostics(&mut self, effects: &mut Effects) {
        self.log_diagnostics(|_| true, effects);
    }

    fn log_diagnostics(&mut self, is_due: impl Fn(&Diagnostic) -> bool, effects: &mut Effects) {
        let due: Vec<Diagnostic> =
            self.diagnostics.0.extract_if(.., |diagnostic| is_due(diagnostic)).collect();
        effects.extend(due.into_iter().map(|diagnostic| self.to_effect(diagnostic)));
        match self.diagnostics.0.first() {
            Some(diagnostic) => effects.schedule(Deadline::Diagnostics, diagnostic.until),
            None => effects.cancel(Deadline::Diagnostics),
        }
    }

    fn to_effect(&self, Diagnostic { node, about, before, after, .. }: Diagnostic) -> Effect {
        let name = self.graph.node_of(about).map_or_else(|| about.to_string(), sanitize);
        Effect::NodeWarning { node, line: format!("{before}{name}{after}") }
    }
}
