//! What the player waits for: subscribers and servers before the first message, and answers after the last.

use std::time::{Duration, Instant};

use runnel::Ros2Graph;
use runnel::core::schema::Generation;

use super::Publishers;
use crate::bag::MASTER_DEADLINE;
use crate::bag::play::played_graphs::{PlayedGraph, PlayedGraphs};
use crate::error::{CliError, unless_interrupted};
use crate::graph::Graph;

/// How long to wait for subscribers that are in the graph.
const MATCHING: Duration = Duration::from_secs(2);

/// How often it is asked whether the waiting goes on.
const STEP: Duration = Duration::from_millis(100);

impl Publishers {
    /// Waits until the subscribers that are in the graphs get what is published from now on, for a limited time.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn wait_for_known_subscribers(
        &self,
        graphs: &PlayedGraphs,
        discovery: Duration,
    ) -> Result<(), CliError> {
        let until = Instant::now() + MATCHING.max(discovery);
        let graph = match &graphs.ros2 {
            Some(PlayedGraph { context, .. }) => {
                unless_interrupted(context.wait_for_ros2_graph(discovery, |_| false))?;
                unless_interrupted(context.wait_for_ros2_graph(discovery, Ros2Graph::is_complete))?;
                context.ros2_graph()?.unwrap_or_default()
            }
            None => Ros2Graph::default(),
        };
        let ros1 = graphs.ros1.as_ref();
        let state = ros1.map(|ros1| Graph::within(&ros1.context, MASTER_DEADLINE).system_state());
        let subscribers = state.and_then(Result::ok).unwrap_or_default().subscribers;
        for entry in &self.topics {
            let topic = entry.publisher.topic();
            let count = match entry.key.generation() {
                Generation::Ros1 => subscribers.get(topic).map_or(0, Vec::len),
                Generation::Ros2 => entry.subscriptions(&graph),
            };
            unless_interrupted(
                entry.publisher.wait_for_subscribers(count, until.saturating_duration_since(Instant::now())),
            )?;
        }
        for requests in &self.services {
            requests.wait(until.saturating_duration_since(Instant::now()));
        }
        for goals in &self.actions {
            goals.wait_for_server(until.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }

    /// Waits until each topic has a subscriber. False if `goes_on` says so before.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn wait_for_any_subscribers(&self, goes_on: impl Fn() -> bool) -> Result<bool, CliError> {
        for entry in &self.topics {
            while !unless_interrupted(entry.publisher.wait_for_subscribers(1, STEP))? {
                if !goes_on() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Waits until the requests and goals that were sent are answered, at most for this long or until `goes_on` says no.
    /// Services and actions that have not answered all are logged.
    pub fn wait_for_answers(&self, timeout: Duration, goes_on: impl Fn() -> bool) {
        let until = Instant::now() + timeout;
        let wait = |wait_for_answers: &dyn Fn(Instant) -> usize| {
            let mut pending = wait_for_answers(until.min(Instant::now() + STEP));
            while pending > 0 && goes_on() && Instant::now() < until {
                pending = wait_for_answers(until.min(Instant::now() + STEP));
            }
            pending
        };
        for requests in &self.services {
            let pending = wait(&|until| requests.wait_for_responses(until));
            if pending > 0 {
                log::warn!("service {}: requests without a response: {pending}", requests.service());
            }
        }
        for goals in &self.actions {
            let pending = wait(&|until| goals.wait_for_answers(until));
            if pending > 0 {
                log::warn!("action {}: goals without an answer: {pending}", goals.action());
            }
        }
    }
}
