//! Clocks of other hosts that differ from the clock of this host.

use crate::commands::doctor::finding::{Area, Finding};
use crate::commands::doctor::ros2::found::{ClockReading, Ros2Found};

/// Differences up to this many seconds do not matter to tf and message filters.
const TOLERATED: f64 = 0.05;

pub fn judge(found: &Ros2Found) -> Vec<Finding> {
    found.clocks.iter().filter_map(difference).collect()
}

fn difference(reading: &ClockReading) -> Option<Finding> {
    let ClockReading { host, node, ahead: [least, most] } = reading;
    let certain = if *least > 0.0 { *least } else { (-most).max(0.0) };
    if certain <= TOLERATED {
        return None;
    }
    let (middle, doubt) = (f64::midpoint(*least, *most), (most - least) / 2.0);
    let word = if middle > 0.0 { "ahead of" } else { "behind" };
    let what = format!(
        "its clock is {:.3} s {word} the clock of this host, give or take {:.4} s, by the replies of {node}: stamps, tf and \
         message filters fail",
        middle.abs(),
        doubt
    );
    let advice = "on both hosts: sudo timedatectl set-ntp true, or synchronize them with chrony";
    Some(Finding::warning(Area::Clock, format!("host {host}"), what, advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(ahead: [f64; 2]) -> Vec<Finding> {
        let reading = ClockReading { host: [10, 0, 0, 2].into(), node: "/talker".into(), ahead };
        judge(&Ros2Found { clocks: vec![reading], ..Ros2Found::default() })
    }

    #[test]
    fn only_certain_differences_are_reported() {
        assert_eq!(findings([-0.3, 0.4]), [], "the reply took long");
        assert_eq!(findings([0.01, 0.04]), []);
        let ahead = findings([2.0, 2.002]);
        assert!(
            ahead[0]
                .what
                .starts_with("its clock is 2.001 s ahead of the clock of this host, give or take 0.0010 s"),
            "{ahead:?}"
        );
        assert!(findings([-1.5, -1.0])[0].what.contains("1.250 s behind"));
        assert_eq!(ahead[0].subject, "host 10.0.0.2");
    }
}
