//! Priority of `cmd_vel` publishers: any publisher takes the robot over from the tracer, until it falls silent.

use std::time::Duration;

use runnel::core::time::Instant;

/// A publisher that has been silent for this long gives the robot back to the tracer.
pub(super) const RELEASE: Duration = Duration::from_millis(500);

/// Which publisher's commands move the robot.
#[derive(Debug)]
pub(super) struct Priority {
    tracer: String,
    /// When the last command of another publisher came, while that publisher has the robot.
    taken_over: Option<Instant>,
}

impl Priority {
    /// The tracer has the robot. `tracer` is the full name of its node.
    pub(super) fn new(tracer: String) -> Self {
        Self { tracer, taken_over: None }
    }

    /// Whether a publisher is the tracer. One whose node is not known yet, as in the first moments in ROS 2, counts as it.
    pub(super) fn is_tracer(&self, publisher: &str) -> bool {
        publisher == self.tracer || !publisher.starts_with('/')
    }

    /// Takes the robot over for a publisher other than the tracer; true if the tracer had it.
    pub(super) fn take_over(&mut self, now: Instant) -> bool {
        self.taken_over.replace(now).is_none()
    }

    /// True while another publisher than the tracer has the robot.
    pub(super) fn is_taken_over(&self) -> bool {
        self.taken_over.is_some()
    }

    /// Gives the robot back to the tracer if the other publisher has been silent for [`RELEASE`]; true if it did so now.
    pub(super) fn release(&mut self, now: Instant) -> bool {
        let is_silent = self.taken_over.is_some_and(|last| now.since(last) >= RELEASE);
        if is_silent {
            self.taken_over = None;
        }
        is_silent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_publisher_has_the_robot_until_it_is_silent() {
        let mut priority = Priority::new("/tracer".into());
        let start = Instant(1_000_000_000);
        assert!(!priority.is_taken_over());
        assert!(priority.take_over(start));
        assert!(!priority.take_over(start + Duration::from_millis(400)));
        assert!(!priority.release(start + Duration::from_millis(899)));
        assert!(priority.is_taken_over());
        assert!(priority.release(start + Duration::from_millis(900)));
        assert!(!priority.is_taken_over() && !priority.release(start + Duration::from_secs(9)));
    }

    #[test]
    fn tracer_is_known_by_its_name() {
        let priority = Priority::new("/a/tracer".into());
        for (publisher, is_tracer) in
            [("/a/tracer", true), ("010f.42|0.0.1.c2", true), ("/tracer", false), ("/teleop", false)]
        {
            assert_eq!(priority.is_tracer(publisher), is_tracer, "{publisher}");
        }
    }
}
