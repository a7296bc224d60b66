//! One goal, from sending to its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::time::Instant;
use runnel::{DynamicActionClient, DynamicGoalHandle, GoalOutcome};
use runnel_io::clock;

use super::goal_report::Report;
use crate::error::CliError;
use crate::output;
use crate::streaming::{POLL_PERIOD, lock};

/// How long a canceled goal may take to end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// One goal, from sending to its end.
pub struct Job {
    pub client: DynamicActionClient,
    pub report: Report,
    /// How long to wait at most for the server, and then for the result.
    pub timeout: Option<Duration>,
    /// Set by Ctrl-C.
    pub interrupted: Arc<AtomicBool>,
}

impl Job {
    /// When to stop waiting.
    fn deadline(&self) -> Option<Instant> {
        self.timeout.map(|timeout| clock::monotonic() + timeout)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    /// Waits for the server; `waited` if the command has said so before.
    ///
    /// # Errors
    /// When there is none in time, or before Ctrl-C.
    pub fn wait_for_server(&self, waited: bool) -> Result<(), CliError> {
        let (action, deadline) = (self.client.action(), self.deadline());
        if !waited {
            self.report.waiting(action)?;
        }
        while !self.client.wait_for_server(POLL_PERIOD)? {
            if self.is_interrupted() {
                return Err(CliError::Failed(format!(
                    "action {action}: interrupted while waiting for a server"
                )));
            }
            if is_over(deadline) {
                return Err(CliError::Failed(format!("action {action}: no server found")));
            }
        }
        output::mark_found();
        Ok(())
    }

    /// Sends the goal and waits for its result.
    ///
    /// # Errors
    /// When the goal cannot be sent, or does not end after it was canceled.
    pub fn reach(&self, goal: &DynamicMessage) -> Result<GoalOutcome<DynamicMessage>, CliError> {
        let failed = Arc::new(Mutex::new(None));
        self.report.sending(goal)?;
        let handle = match self.report.feedback {
            true => {
                let (report, failed) = (self.report, Arc::clone(&failed));
                let print = move |feedback: &DynamicMessage| {
                    if let Err(error) = report.feedback(feedback) {
                        *lock(&failed) = Some(error);
                    }
                };
                self.client.send_goal_with(goal, print, |_| {})?
            }
            false => self.client.send_goal(goal)?,
        };
        self.report.sent(handle.id());
        let deadline = self.deadline();
        let (mut connected, mut accepted) = (true, false);
        while !self.is_interrupted() && !is_over(deadline) {
            let end = handle.wait_for_result(POLL_PERIOD)?;
            if !accepted && handle.is_acknowledged() {
                accepted = true;
                self.report.accepted(&handle)?;
            }
            if let Some(outcome) = end {
                return Ok(outcome);
            }
            if let Some(error) = lock(&failed).take() {
                // The output is closed: no reader is left for the result.
                handle.cancel()?;
                return Err(error);
            }
            if connected && !self.client.server_is_ready() {
                self.report.note("the server is gone; waiting for another");
            }
            connected = self.client.server_is_ready();
        }
        self.give_up(&handle)
    }

    /// Cancels the goal and waits briefly for its end.
    fn give_up(&self, handle: &DynamicGoalHandle) -> Result<GoalOutcome<DynamicMessage>, CliError> {
        let why = if self.is_interrupted() { "interrupted" } else { "time-out" };
        self.report.note(&format!("{why}: canceling the goal"));
        handle.cancel()?;
        let end = handle.wait_for_result(CANCEL_TIMEOUT)?;
        end.ok_or_else(|| {
            let (id, status) = (handle.id(), handle.status());
            CliError::Failed(format!(
                "goal {id} was canceled and is still {status} after {} s",
                CANCEL_TIMEOUT.as_secs()
            ))
        })
    }
}

fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| clock::monotonic() >= deadline)
}
