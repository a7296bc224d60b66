//! Time that the processor spends on this process.

use std::fs;
use std::time::Duration;

/// Clock ticks of `/proc/self/stat` in a second.
const TICKS: u64 = 100;

/// Time in user and kernel mode of all threads of this process.
pub fn time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = fields.get(11..13).into_iter().flatten().filter_map(|ticks| ticks.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * 1000 / TICKS)
}
