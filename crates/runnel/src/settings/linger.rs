//! Linger: how long the end of publishers or of the program waits for messages that have not arrived, and the report
//! of those that did not. The context does the wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::Error;
use crate::log_output::console;
use crate::settings::variables::variable;

/// The variable with the longest wait in seconds.
const VARIABLE: &str = "RUNNEL_LINGER";

/// The default.
const DEFAULT: Duration = Duration::from_secs(1);

/// The largest value of the variable, in seconds.
const LONGEST: f64 = 86_400.0;

/// The longest wait of a context, and whether its user has interrupted it.
pub(crate) struct Linger {
    time: Duration,
    /// A signal has interrupted a wait.
    is_over: AtomicBool,
    /// The context has left its graphs: publishers that end later do not wait.
    is_closed: AtomicBool,
}

/// The messages that a subscriber of a topic lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unarrived {
    /// The subscriber's node or endpoint.
    pub(crate) subscriber: String,
    pub(crate) messages: u64,
}

impl Linger {
    /// The program's setting, or else the environment's.
    ///
    /// # Errors
    /// If the variable is not a number of seconds.
    pub(crate) fn new(configured: Option<Duration>) -> Result<Self, Error> {
        let time = longest(configured, variable(VARIABLE).as_deref())?;
        Ok(Self { time, is_over: AtomicBool::new(false), is_closed: AtomicBool::new(false) })
    }

    /// Records that the context has left its graphs.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    /// True if the context has left its graphs.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Records that a signal has interrupted a wait: later waits end at once.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// True if a signal has interrupted a wait.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// The longest wait.
    pub(crate) fn time(&self) -> Duration {
        self.time
    }
}

/// The longest wait by the program's setting and the variable.
fn longest(configured: Option<Duration>, variable: Option<&str>) -> Result<Duration, Error> {
    match (configured, variable) {
        (Some(time), _) => Ok(time),
        (None, Some(text)) => seconds(text),
        (None, None) => Ok(DEFAULT),
    }
}

fn seconds(text: &str) -> Result<Duration, Error> {
    let seconds = text.trim().parse::<f64>().ok().filter(|seconds| (0.0..=LONGEST).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| Error::Environment {
        variable: VARIABLE,
        why: format!("{text:?} is not a number of seconds from 0 to {LONGEST}"),
    })
}

/// Logs which subscribers of a topic lack messages.
pub(crate) fn report(topic: &str, unarrived: &[Unarrived], linger: &Linger) {
    for Unarrived { subscriber, messages } in unarrived {
        let plural = if *messages == 1 { "message has" } else { "messages have" };
        let why = match linger.is_over() {
            true => "the wait was interrupted".to_owned(),
            false => format!("waited {} s, {VARIABLE} sets how long", linger.time.as_secs_f64()),
        };
        console::warning!("publisher {topic}: {messages} {plural} not arrived at {subscriber}: {why}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linger_is_one_second_unless_it_is_set() {
        let time = |configured, variable| longest(configured, variable).unwrap();
        assert_eq!(time(None, None), Duration::from_secs(1));
        assert_eq!(time(None, Some("2.5")), Duration::from_millis(2500));
        assert_eq!(time(Some(Duration::ZERO), Some("2.5")), Duration::ZERO);
        assert!(longest(None, Some("long")).is_err());
    }

    #[test]
    fn linger_is_parsed_as_seconds() {
        assert_eq!(seconds(" 2.5 ").unwrap(), Duration::from_millis(2500));
        assert_eq!(seconds("0").unwrap(), Duration::ZERO);
        assert!(["-1", "nan", "inf", "1e9", "x", ""].iter().all(|text| seconds(text).is_err()));
    }
}
