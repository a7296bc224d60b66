//! What people are told where a command has found nobody to ask.

use std::time::Duration;

use runnel::{Graphs, Ros2Graph};

use super::Listening;
use crate::output::counted;
use crate::session::Session;

/// Says that nobody is there; or, of the master alone, that the one which the user named is not. Somebody is there who runs in
/// ROS 2, and whoever did not listen does not know.
pub fn tell(
    session: &Session,
    no_master_at: Option<&str>,
    heard: &Ros2Graph,
    in_domain: u16,
    within: Duration,
) {
    let nobody = heard.participants.is_empty() && !within.is_zero();
    match no_master_at {
        _ if nobody => session.output.note(&nobody_text(no_master_at, in_domain, within)),
        Some(uri) if session.names_master() => {
            session.output.note(&format!("no master at {uri}: ROS 1 is left out"));
        }
        _ => {}
    }
}

/// Who is heard in ROS 2 by a command that serves ROS 1 alone.
pub struct Heard {
    participants: usize,
    domain: u16,
    within: Duration,
}

impl Heard {
    /// Listens as long as those who are there take to answer; `None` where nobody can be heard.
    pub fn in_ros2(session: &Session) -> Option<Self> {
        let context = session.asking_in(Graphs::Ros2).ok()?;
        let listening = Listening::default();
        let heard = listening.look(&context, Duration::ZERO).ok()?;
        let domain = context.domain_id().unwrap_or_default();
        Some(Self { participants: heard.participants.len(), domain, within: listening.least() })
    }

    /// True if nobody is heard.
    pub fn nobody(&self) -> bool {
        self.participants == 0
    }

    /// As part of a sentence.
    pub fn text(&self) -> String {
        let Self { participants, domain, within } = self;
        match participants {
            0 => format!("nobody of ROS 2 in domain {domain} within {} s", within.as_secs_f64()),
            count => format!("{} of ROS 2 in domain {domain}", counted(*count, "participant")),
        }
    }
}

fn nobody_text(no_master_at: Option<&str>, domain: u16, within: Duration) -> String {
    let ros1 = no_master_at.map_or_else(String::new, |uri| format!("no master answers at {uri}, and "));
    let seconds = within.as_secs_f64();
    format!("nobody is there: {ros1}nobody of ROS 2 in domain {domain} within {seconds} s (see --wait)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_graphs_were_asked_is_told_and_for_how_long() {
        let within = Duration::from_millis(200);
        let both = nobody_text(Some("http://localhost:11311/"), 0, within);
        let expected = "nobody is there: no master answers at http://localhost:11311/, and nobody of ROS 2 in \
                        domain 0 within 0.2 s (see --wait)";
        assert_eq!(both, expected);
        let ros2 = nobody_text(None, 7, Duration::from_secs(3));
        assert_eq!(ros2, "nobody is there: nobody of ROS 2 in domain 7 within 3 s (see --wait)");
    }
}
