//! What the parts of a running bridge share: its nodes, the known types, the rules, and its output.

use std::time::{Duration, Instant};

use runnel::Node;
use runnel_bridge::Rules;
use runnel_bridge::decision::{BridgeId, Direction};
use serde_json::{Map, Value as Json};

use super::selection::Unsubscribed;
use super::{Options, report};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::log_once::LogOnce;
use crate::types::Types;

/// How often definitions are read again from their folders, while something cannot be carried.
const RELOAD_PERIOD: Duration = Duration::from_secs(10);

/// See the module's documentation.
pub struct Resources<'a> {
    cli: &'a CliContext,
    /// The number of this bridge.
    pub id: BridgeId,
    /// The node in ROS 1.
    pub ros1: Node,
    /// The node in ROS 2.
    pub ros2: Node,
    /// The known types.
    pub types: Types,
    types_loaded: Instant,
    /// The rules for names.
    pub rules: Rules,
    /// Length of queues.
    pub depth: usize,
    /// The directions in which topics are carried without a subscriber.
    pub unsubscribed: Unsubscribed,
    /// How often the master has described the ROS 1 graph.
    pub ros1_views: u64,
    /// The warnings.
    pub log: LogOnce,
}

/// A topic, a service or an action of the output.
#[derive(Clone, Copy, Debug)]
pub struct Carried<'a> {
    /// `topic`, `service` or `action`.
    pub kind: &'static str,
    /// Its name.
    pub name: &'a str,
    /// The direction in which it is carried.
    pub direction: Direction,
}

impl<'a> Resources<'a> {
    /// # Errors
    /// If a folder with definitions cannot be read.
    pub fn new(
        cli: &'a CliContext,
        id: BridgeId,
        [ros1, ros2]: [Node; 2],
        options: &Options,
    ) -> Result<Self, CliError> {
        let Options { rules, depth, unsubscribed, .. } = options;
        Ok(Self {
            cli,
            id,
            ros1,
            ros2,
            types: cli.types()?,
            types_loaded: Instant::now(),
            rules: rules.clone(),
            depth: *depth,
            unsubscribed: *unsubscribed,
            ros1_views: 0,
            log: LogOnce::default(),
        })
    }

    /// Reads the definitions again, if that was not done just before. A definition may have changed or appeared.
    pub fn reload_types(&mut self) {
        if self.types_loaded.elapsed() < RELOAD_PERIOD {
            return;
        }
        self.types_loaded = Instant::now();
        match self.cli.types() {
            Ok(types) => self.types = types,
            Err(error) => self.log.warn(error.to_string()),
        }
    }

    /// Prints what the bridge begins or ends to carry.
    pub fn announce(&self, event: &str, carried: Carried<'_>) -> Result<(), CliError> {
        let Carried { kind, name, direction } = carried;
        let (output, to) = (self.cli.output, report::destination(direction));
        if output.json {
            let members = [("event", event), (kind, name), ("to", to)];
            let members = members.map(|(key, value)| (key.to_owned(), Json::from(value)));
            return output.json(&Json::Object(Map::from_iter(members)));
        }
        let what = if kind == "topic" { name.to_owned() } else { format!("{kind} {name}") };
        output.line(&format!("{event} {what} from {}", report::direction_text(to)))
    }

    /// Warns once about what cannot be carried.
    pub fn warn_refused(&mut self, carried: Carried<'_>, reason: &str) {
        let Carried { kind, name, direction } = carried;
        let direction = report::direction_text(report::destination(direction));
        self.log.warn(format!("{kind} {name} is not carried from {direction}: {reason}"));
    }
}
