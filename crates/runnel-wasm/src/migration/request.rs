//! Moves that one host asks of another, which has the node.

use std::time::Duration;

use super::channel::SharedChannel;
use super::message::{Greeting, MoveAnswer, VERSION};

/// How long a move may take.
const MOVE: Duration = Duration::from_secs(60);

/// A move that another host asks for.
pub struct MoveRequest {
    pub(super) node: String,
    pub(super) to: Option<String>,
    pub(super) channel: SharedChannel,
}

impl MoveRequest {
    /// The full name of the node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The address of the host to which it is to move. `None` if the host only asks whether it is here.
    pub fn to(&self) -> Option<&str> {
        self.to.as_deref()
    }

    /// Answers the host. The first answer counts.
    pub fn answer(&self, answer: &MoveAnswer) {
        // A host that is gone needs none.
        let _ = self.channel.send(answer);
    }
}

/// Asks the host at the other end of a channel to move a node, or whether it has it.
///
/// # Errors
/// If the channel breaks before the answer.
pub fn request_move(channel: &SharedChannel, node: &str, to: Option<&str>) -> Result<MoveAnswer, String> {
    let (version, node, to) = (VERSION, node.to_owned(), to.map(str::to_owned));
    channel.send(&Greeting::Request { version, node, to })?;
    channel.receive(MOVE)?.ok_or_else(|| format!("no answer within {MOVE:?}"))
}
