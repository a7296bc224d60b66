//! Figures of rate, bandwidth and delay, over a window of the last messages. Times are arguments.

use std::collections::VecDeque;

use runnel::core::time::Instant;

/// The widest window, in messages: what "all" means, since memory is not without end.
pub const WIDEST: usize = 50_000;

/// Numbers in brief. The standard deviation is that of a whole population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Their mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// How far they scatter.
    pub std_dev: f64,
}

impl Summary {
    /// Sums up numbers; `None` if there are none.
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

/// A window over numbers, one a message.
#[derive(Debug)]
struct Window {
    numbers: VecDeque<f64>,
    width: usize,
    /// A number came since the last summary.
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

    /// What the window holds, if anything came since this was last asked for.
    fn news(&mut self) -> Option<Summary> {
        if !std::mem::take(&mut self.fresh) {
            return None;
        }
        Summary::of(&self.numbers)
    }
}

/// The times between messages, in seconds.
#[derive(Debug)]
pub struct Intervals {
    last: Option<Instant>,
    window: Window,
}

impl Intervals {
    /// A window of so many messages, so of one interval less.
    pub fn new(messages: usize) -> Self {
        Self { last: None, window: Window::new(messages.saturating_sub(1)) }
    }

    /// A message arrives.
    pub fn arrived(&mut self, now: Instant) {
        if let Some(last) = self.last.replace(now) {
            self.window.push(now.since(last).as_secs_f64());
        }
    }

    /// The intervals and the number of messages that they lie between; `None` if nothing came since the last time.
    pub fn news(&mut self) -> Option<(Summary, usize)> {
        let summary = self.window.news()?;
        Some((summary, self.window.numbers.len() + 1))
    }
}

/// How old messages are when they arrive, in seconds.
#[derive(Debug)]
pub struct Delays {
    window: Window,
}

impl Delays {
    /// A window of so many messages.
    pub fn new(messages: usize) -> Self {
        Self { window: Window::new(messages) }
    }

    /// A message arrives that is so old.
    pub fn arrived(&mut self, age: f64) {
        self.window.push(age);
    }

    /// The ages and the number of messages; `None` if nothing came since the last time.
    pub fn news(&mut self) -> Option<(Summary, usize)> {
        let summary = self.window.news()?;
        Some((summary, self.window.numbers.len()))
    }
}

/// How many bytes arrive.
#[derive(Debug)]
pub struct Bandwidth {
    times: VecDeque<Instant>,
    sizes: Window,
}

/// Bytes a second, and bytes a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Bytes a second from the first message of the window until now.
    pub bytes_per_second: f64,
    /// Bytes of a message.
    pub size: Summary,
    /// Messages in the window.
    pub window: usize,
}

impl Bandwidth {
    /// A window of so many messages.
    pub fn new(messages: usize) -> Self {
        Self { times: VecDeque::new(), sizes: Window::new(messages) }
    }

    /// A message of so many bytes arrives.
    pub fn arrived(&mut self, now: Instant, bytes: usize) {
        self.sizes.push(bytes as f64);
        self.times.push_back(now);
        while self.times.len() > self.sizes.numbers.len() {
            self.times.pop_front();
        }
    }

    /// What flows, until `now`; `None` before the second message.
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
        assert_eq!(intervals.news(), None);
        for time in [5100, 5200, 5400] {
            intervals.arrived(at(time));
        }
        let (summary, window) = intervals.news().expect("three intervals");
        assert_eq!(window, 4);
        assert!(close(summary.mean, 0.4 / 3.0) && close(summary.min, 0.1) && close(summary.max, 0.2));
        assert!(close(summary.std_dev, (2.0_f64 / 9.0).sqrt() / 10.0), "{}", summary.std_dev);
        assert_eq!(intervals.news(), None, "nothing new");
    }

    #[test]
    fn a_window_forgets_the_oldest_interval() {
        let mut intervals = Intervals::new(3);
        for time in [0, 1000, 1100, 1200] {
            intervals.arrived(at(time));
        }
        let (summary, window) = intervals.news().expect("two intervals");
        assert_eq!(window, 3);
        assert!(close(summary.max, 0.1));
    }

    #[test]
    fn bandwidth_counts_from_the_first_message_of_the_window_until_now() {
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
    fn delays_may_be_negative_where_clocks_disagree() {
        let mut delays = Delays::new(2);
        assert_eq!(delays.news(), None);
        for age in [9.0, -0.5, 0.5] {
            delays.arrived(age);
        }
        let (summary, window) = delays.news().expect("two messages");
        assert_eq!((summary.mean, summary.min, summary.max, window), (0.0, -0.5, 0.5, 2));
    }
}
