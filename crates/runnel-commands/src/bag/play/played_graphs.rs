//! The graphs in which a bag is played.

use runnel::core::schema::Generation;
use runnel::{Context, Node};

/// A graph with a node in it.
pub struct PlayedGraph {
    /// The context, which is only in this graph.
    pub context: Context,
    /// The node that publishes.
    pub node: Node,
}

/// The graphs in which a bag is played.
#[derive(Default)]
pub struct PlayedGraphs {
    pub ros1: Option<PlayedGraph>,
    pub ros2: Option<PlayedGraph>,
}

impl PlayedGraphs {
    /// The graph of a generation, if it is used.
    pub fn of(&self, generation: Generation) -> Option<&PlayedGraph> {
        match generation {
            Generation::Ros1 => self.ros1.as_ref(),
            Generation::Ros2 => self.ros2.as_ref(),
        }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &PlayedGraph> {
        self.ros1.iter().chain(&self.ros2)
    }
}
