//! The use of this host's processors.

use std::fs;

/// Computes the share of the processors' time that was used since the last call.
#[derive(Debug, Default)]
pub struct Cpu {
    last: Option<Times>,
}

/// Time of all processors since the start of the system, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    all: u64,
    idle: u64,
}

impl Cpu {
    /// The share since the last call, from 0 to 1. `None` for the first call, and if no time has passed.
    pub fn measure(&mut self) -> Option<f64> {
        let now = parse(&fs::read_to_string("/proc/stat").ok()?)?;
        share(self.last.replace(now)?, now)
    }
}

fn share(before: Times, now: Times) -> Option<f64> {
    let all = now.all.checked_sub(before.all).filter(|all| *all > 0)?;
    // The kernel may count less idle time than before.
    let idle = now.idle.saturating_sub(before.idle).min(all);
    Some((all - idle) as f64 / all as f64)
}

/// The first line: user, nice, system, idle, iowait, irq, softirq, steal, and the time of guests, which is in that of users
/// (proc_stat(5)).
fn parse(text: &str) -> Option<Times> {
    let numbers: Vec<u64> = text
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    let idle = numbers.get(3)?.saturating_add(*numbers.get(4).unwrap_or(&0));
    let all = numbers.iter().take(8).fold(0, |sum: u64, ticks| sum.saturating_add(*ticks));
    Some(Times { all, idle })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_is_that_of_the_time_between() {
        let before = parse("cpu  100 0 50 800 50 0 0 0 70 0\ncpu0 1 2 3 4\n").unwrap();
        assert_eq!(before, Times { all: 1000, idle: 850 });
        let now = parse("cpu  160 0 60 880 70 10 10 10 90 0\n").unwrap();
        assert_eq!(share(before, now), Some(0.5));
        assert_eq!(share(now, now), None);
        assert_eq!(share(now, before), None);
    }

    #[test]
    fn other_text_is_not_measured() {
        for text in ["", "intr 5", "cpu", "cpu  1 2 3", "cpu  a b c d"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn this_host_is_measured() {
        let mut cpu = Cpu::default();
        assert_eq!(cpu.measure(), None);
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let share = loop {
            assert!(std::time::Instant::now() < until, "no time passes in /proc/stat");
            if let Some(share) = cpu.measure() {
                break share;
            }
        };
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
}
