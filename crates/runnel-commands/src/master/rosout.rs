//! The node `/rosout`, which collects the log lines of all nodes.

use std::path::Path;

use runnel::core::qos::QoS;
use runnel::logging::{Level, LogFile};
use runnel::msgs::rosgraph_msgs::msg::Log;
use runnel::{Context, Subscription};

use crate::error::CliError;

/// Most lines that wait, here and for each subscriber.
const DEPTH: usize = 10_000;

/// Collects until the subscription is dropped.
///
/// # Errors
/// When the node cannot be created.
pub fn collect(context: &Context) -> Result<Subscription, CliError> {
    let node = context.create_node("/rosout")?;
    let file = file();
    let all = node.create_publisher("/rosout_agg", QoS::keep_last(DEPTH))?;
    let take = move |line: &Log| {
        // A subscriber too slow for ten thousand lines gets the newest.
        let _ = all.publish(line);
        if let Some(file) = &file {
            // A full disk does not stop the node.
            let _ = file.line(&text(line));
        }
    };
    Ok(node.create_subscription("/rosout", QoS::keep_last(DEPTH), take)?)
}

/// The log file, if ROS_LOG_DIR is set. A robot needs its master even if the file cannot be opened.
fn file() -> Option<LogFile> {
    let folder = std::env::var_os("ROS_LOG_DIR").filter(|folder| !folder.is_empty())?;
    let path = Path::new(&folder).join("rosout.log");
    let opened = LogFile::open(path.clone());
    opened.inspect_err(|error| log::warn!("cannot log to {}: {error}", path.display())).ok()
}

/// A line in the format of the original.
fn text(line: &Log) -> String {
    let Log { header, level, name, msg, file, function, line, topics } = line;
    let (stamp, level) = (header.stamp, Level::from_number(level.cast_unsigned()));
    format!("{stamp} {level} {name} [{file}:{line}({function})] [topics: {}] {msg}", topics.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel::Time;

    #[test]
    fn log_line_shows_its_origin() {
        let mut line = Log { level: Log::WARN, name: "/a".into(), msg: "low".into(), ..Log::default() };
        line.header.stamp = Time::from_nanos(1_500_000_000);
        (line.file, line.line, line.function) = ("m.rs".into(), 3, "f".into());
        line.topics = vec!["/rosout".into(), "/b".into()];
        assert_eq!(text(&line), "1.500000000 WARN /a [m.rs:3(f)] [topics: /rosout, /b] low");
    }
}
