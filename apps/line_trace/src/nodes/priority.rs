//! Priority of `cmd_vel` publishers: any other publisher takes over from the tracer, until it falls silent.

use std::time::Duration;

use runnel::core::time::Instant;

/// A publisher that has been silent for this long returns control to the tracer.
pub(super) const RELEASE: Duration = Duration::from_millis(500);

/// Arbiter: which publisher's commands move the robot.
#[derive(Debug)]
pub(super) struct Priority {
    tracer: String,
    /// When the last command of another publisher was received, while that publisher has control.
    taken_over: Option<Instant>,
}

impl Priority {
    /// The tracer has control. `tracer` is the full name of its node.
    pub(super) fn new(tracer: String) -> Self {
        Self { tracer, taken_over: None }
    }

    /// Whether a publisher is the tracer. A publisher whose node is not discovered yet (first moments in ROS 2)
    /// counts as the tracer.
    pub(super) fn is_tracer(&self, publisher: &str) -> bool {
        publisher == self.tracer || !publisher.starts_with('/')
    }

    /// Gives control to a publisher other than the tracer; true if the tracer had it.
    pub(super) fn take_over(&mut self, now: Instant) -> bool {
        self.taken_over.replace(now).is_none()
    }

    /// True while a publisher other than the tracer has control.
    pub(super) fn is_taken_over(&self) -> bool {
        self.taken_over.is_some()
    }

    /// Returns control to the tracer if the other publisher has been silent for [`RELEASE`]; true if this call did
    /// so.
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
    fn other_publisher_has_control_until_silent() {
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
    fn tracer_is_recognized_by_name() {
        let priority = Priority::new("/a/tracer".into());
        for (publisher, is_tracer) in
            [("/a/tracer", true), ("010f.42|0.0.1.c2", true), ("/tracer", false), ("/teleop", false)]
        {
            assert_eq!(priority.is_tracer(publisher), is_tracer, "{publisher}");
        }
    }
}
