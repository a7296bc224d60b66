//! Statistics of rate, bandwidth and delay over a window of the last messages. Times are arguments.

use std::collections::VecDeque;

use runnel::core::time::Instant;

/// The largest window, in messages: the meaning of "all", to bound memory.
pub const WIDEST: usize = 50_000;

/// Statistics of numbers. The standard deviation is that of a population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// The standard deviation.
    pub std_dev: f64,
}

impl Summary {
    /// Statistics of numbers; `None` if there are none.
    fn of(numbers: &VecDeque<f64>) -> Option<Self> {
        if numbers.is_empty() {
            return None;
        }
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / count;
        let min = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let max = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { mean, min, max, std_dev: variance.sqrt() })
    }
}

/// A window of numbers, one per message.
#[derive(Debug)]
struct Window {
    numbers: VecDeque<f64>,
    width: usize,
    /// A number was added since the last summary.
    fresh: bool,
}

impl Window {
    fn new(width: usize) -> Self {
        Self { numbers: VecDeque::new(), width: width.clamp(1, WIDEST), fresh: false }
    }

    fn push(&mut self, number: f64) {
        if self.numbers.len() == self.width {
            self.numbers.pop_front();
        }
        self.numbers.push_back(number);
        self.fresh = true;
    }

    /// Statistics of the window, if a number was added since the last call.
    fn take_summary(&mut self) -> Option<Summary> {
        if !std::mem::take(&mut self.fresh) {
            return None;
        }
        Summary::of(&self.numbers)
    }
}

/// The intervals between messages, in seconds.
#[derive(Debug)]
pub struct Intervals {
    last: Option<Instant>,
    window: Window,
}

impl Intervals {
    /// A window of this many messages, which has one interval less.
    pub fn new(messages: usize) -> Self {
        Self { last: None, window: Window::new(messages.saturating_sub(1)) }
    }

    /// Records the arrival of a message.
    pub fn arrived(&mut self, now: Instant) {
        if let Some(last) = self.last.replace(now) {
            self.window.push(now.since(last).as_secs_f64());
        }
    }

    /// Statistics of the intervals and the number of messages; `None` if none came since the last call.
    pub fn take_summary(&mut self) -> Option<(Summary, usize)> {
        let summary = self.window.take_summary()?;
        Some((summary, self.window.numbers.len() + 1))
    }
}

/// The ages of messages when they arrive, in seconds.
#[derive(Debug)]
pub struct Delays {
    window: Window,
}

impl Delays {
    /// A window of this many messages.
    pub fn new(messages: usize) -> Self {
        Self { window: Window::new(messages) }
    }

    /// Records the arrival of a message of this age.
    pub fn arrived(&mut self, age: f64) {
        self.window.push(age);
    }

    /// Statistics of the ages and the number of messages; `None` if none came since the last call.
    pub fn take_summary(&mut self) -> Option<(Summary, usize)> {
        let summary = self.window.take_summary()?;
        Some((summary, self.window.numbers.len()))
    }
}

/// Sizes and arrival times of messages.
#[derive(Debug)]
pub struct Bandwidth {
    times: VecDeque<Instant>,
    sizes: Window,
}

/// Bytes per second and per message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Bytes per second from the first message of the window until now.
    pub bytes_per_second: f64,
    /// Bytes per message.
    pub size: Summary,
    /// Messages in the window.
    pub window: usize,
}

impl Bandwidth {
    /// A window of this many messages.
    pub fn new(messages: usize) -> Self {
        Self { times: VecDeque::new(), sizes: Window::new(messages) }
    }

    /// Records the arrival of a message of this size.
    pub fn arrived(&mut self, now: Instant, bytes: usize) {
        self.sizes.push(bytes as f64);
        self.times.push_back(now);
        while self.times.len() > self.sizes.numbers.len() {
            self.times.pop_front();
        }
    }

    /// The bandwidth until `now`; `None` before the second message.
    pub fn flow(&self, now: Instant) -> Option<Flow> {
        let first = self.times.front().filter(|_| self.times.len() > 1)?;
        let size = Summary::of(&self.sizes.numbers)?;
        let total: f64 = self.sizes.numbers.iter().sum();
        let seconds = now.since(*first).as_secs_f64();
        let bytes_per_second = if seconds > 0.0 { total / seconds } else { 0.0 };
        Some(Flow { bytes_per_second, size, window: self.times.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Instant {
        Instant(milliseconds * 1_000_000)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn intervals_lie_between_messages() {
        let mut intervals = Intervals::new(WIDEST);
        intervals.arrived(at(5000));
        assert_eq!(intervals.take_summary(), None);
        for time in [5100, 5200, 5400] {
            intervals.arrived(at(time));
        }
        let (summary, window) = intervals.take_summary().expect("three intervals");
        assert_eq!(window, 4);
        assert!(close(summary.mean, 0.4 / 3.0) && close(summary.min, 0.1) && close(summary.max, 0.2));
        assert!(close(summary.std_dev, (2.0_f64 / 9.0).sqrt() / 10.0), "{}", summary.std_dev);
        assert_eq!(intervals.take_summary(), None, "nothing new");
    }

    #[test]
    fn window_forgets_the_oldest_interval() {
        let mut intervals = Intervals::new(3);
        for time in [0, 1000, 1100, 1200] {
            intervals.arrived(at(time));
        }
        let (summary, window) = intervals.take_summary().expect("two intervals");
        assert_eq!(window, 3);
        assert!(close(summary.max, 0.1));
    }

    #[test]
    fn bandwidth_spans_the_window_until_now() {
        let mut bandwidth = Bandwidth::new(3);
        bandwidth.arrived(at(0), 1_000_000);
        assert_eq!(bandwidth.flow(at(10)), None);
        for (time, bytes) in [(1000, 100), (1500, 200), (2000, 300)] {
            bandwidth.arrived(at(time), bytes);
        }
        let flow = bandwidth.flow(at(3000)).expect("three messages");
        assert!(close(flow.bytes_per_second, 300.0));
        assert_eq!((flow.size.mean, flow.size.min, flow.size.max, flow.window), (200.0, 100.0, 300.0, 3));
        assert!(
            bandwidth.flow(at(1000)).is_some_and(|flow| flow.bytes_per_second == 0.0),
            "no time has passed"
        );
    }

    #[test]
    fn delays_may_be_negative() {
        let mut delays = Delays::new(2);
        assert_eq!(delays.take_summary(), None);
        for age in [9.0, -0.5, 0.5] {
            delays.arrived(age);
        }
        let (summary, window) = delays.take_summary().expect("two messages");
        assert_eq!((summary.mean, summary.min, summary.max, window), (0.0, -0.5, 0.5, 2));
    }
}
