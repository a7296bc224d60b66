//! What `action send_goal` prints, in the form of ros2 if the goal is in ROS 2.

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::Generation;
use runnel::core::yaml;
use runnel::{DynamicGoalHandle, GoalId, GoalOutcome, GoalStatus};
use serde_json::json;

use crate::error::CliError;
use crate::output::Output;
use crate::python_yaml::{PrintOptions, tree};

/// See the module's documentation.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub output: Output,
    /// The generation of the goal's graph.
    pub generation: Generation,
    /// Whether feedback is wanted.
    pub feedback: bool,
}

impl Report {
    /// A note for people on standard error.
    pub fn note(self, text: &str) {
        self.output.note(text);
    }

    /// Says that the command waits for a server.
    ///
    /// # Errors
    /// When the output is closed; the same holds for all methods.
    pub fn waiting(self, action: &str) -> Result<(), CliError> {
        match self.generation {
            Generation::Ros1 => {
                self.note(&format!("waiting for a server of {action}"));
                Ok(())
            }
            Generation::Ros2 => self.ros2("Waiting for an action server to become available..."),
        }
    }

    /// Says what is sent.
    pub fn sending(self, goal: &DynamicMessage) -> Result<(), CliError> {
        self.ros2(&format!("Sending goal:\n     {}\n", ros2_yaml(goal)))
    }

    /// Says that the goal is sent.
    pub fn sent(self, id: &GoalId) {
        if self.generation == Generation::Ros1 {
            self.note(&format!("sent as goal {id}"));
        }
    }

    /// Says that the server has accepted the goal, unless it has rejected it.
    pub fn accepted(self, handle: &DynamicGoalHandle) -> Result<(), CliError> {
        if handle.status() == GoalStatus::Rejected {
            return Ok(());
        }
        let id = handle.id().uuid().unwrap_or_default();
        let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        self.ros2(&format!("Goal accepted with ID: {id}\n\n"))
    }

    /// Prints feedback.
    pub fn feedback(self, feedback: &DynamicMessage) -> Result<(), CliError> {
        let text = || match self.generation {
            Generation::Ros1 => format!("Feedback:\n{}\n", self.indented(feedback)),
            Generation::Ros2 => format!("Feedback:\n    {}\n", ros2_yaml(feedback)),
        };
        self.output.answer(text, || json!({ "feedback": yaml::to_json_in(self.generation, feedback) }))
    }

    /// Prints the result. It is an error if the goal has not succeeded.
    pub fn outcome(self, outcome: GoalOutcome<DynamicMessage>) -> Result<(), CliError> {
        let GoalOutcome { status, text, result } = outcome;
        let name = self.status(status);
        let shown = || {
            if (self.generation, status) == (Generation::Ros2, GoalStatus::Rejected) {
                return "Goal was rejected.\n".to_owned();
            }
            let result = result.as_ref().map(|result| match self.generation {
                Generation::Ros1 => format!("Result:\n{}\n", self.indented(result)),
                Generation::Ros2 => format!("Result:\n    {}\n", ros2_yaml(result)),
            });
            format!("{}Goal finished with status: {name}\n", result.unwrap_or_default())
        };
        self.output.answer(shown, || {
            let result = result.as_ref().map(|result| yaml::to_json_in(self.generation, result));
            json!({ "status": name, "text": text, "result": result })
        })?;
        match (status, text.as_str()) {
            (GoalStatus::Succeeded, _) => Ok(()),
            (_, "") => Err(CliError::Failed(format!("the goal is {name}"))),
            (_, text) => Err(CliError::Failed(format!("the goal is {name}: {text}"))),
        }
    }

    /// Prints a line of ros2, unless the output is JSON.
    fn ros2(self, text: &str) -> Result<(), CliError> {
        if self.generation == Generation::Ros1 || self.output.json {
            return Ok(());
        }
        self.output.text(text)
    }

    fn status(self, status: GoalStatus) -> String {
        match (self.generation, status) {
            (Generation::Ros2, GoalStatus::Preempted) => "CANCELED".to_owned(),
            (Generation::Ros2, GoalStatus::Lost) => "UNKNOWN".to_owned(),
            _ => status.to_string(),
        }
    }

    /// A message as YAML, indented.
    fn indented(self, message: &DynamicMessage) -> String {
        let text = yaml::to_yaml(message, &yaml::EchoOptions::default());
        text.lines().map(|line| format!("    {line}\n")).collect()
    }
}

fn ros2_yaml(message: &DynamicMessage) -> String {
    tree(message, PrintOptions::default()).block()
}
