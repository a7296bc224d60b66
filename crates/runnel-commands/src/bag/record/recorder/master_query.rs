//! The ROS 1 graph, which the master describes on request.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use runnel::{Context, Graphs};

use crate::bag::MASTER_DEADLINE;
use crate::graph::{Graph, SystemState};

/// How often the master is asked.
const PERIOD: Duration = Duration::from_millis(500);

/// The ROS 1 graph.
pub struct Ros1Graph {
    /// Nodes by topic and service.
    pub state: SystemState,
    /// Types of topics.
    pub types: BTreeMap<String, String>,
}

/// Asks the master from time to time.
#[derive(Debug, Default)]
pub struct MasterQuery {
    asked: Option<Instant>,
}

impl MasterQuery {
    /// The graph, if it is time to ask and the master answers.
    pub fn poll(&mut self, context: &Context) -> Option<Ros1Graph> {
        let is_due = self.asked.is_none_or(|asked| asked.elapsed() >= PERIOD);
        if context.graphs() == Graphs::Ros2 || !is_due {
            return None;
        }
        self.asked = Some(Instant::now());
        let master = Graph::within(context, MASTER_DEADLINE);
        let state = master.system_state().ok()?;
        Some(Ros1Graph { state, types: master.topic_types().ok()? })
    }
}
