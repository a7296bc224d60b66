//! Events of the files of folders: `/events/read_split` of rosbag2's player.

use std::path::absolute;

use runnel::msgs::rosbag2_interfaces::msg::ReadSplitEvent;
use runnel::{Node, Publisher, QoS};

use crate::bag::inputs::Input;
use crate::error::CliError;

/// The topic.
const READ_SPLIT: &str = "/events/read_split";

/// Events that wait for their subscribers.
const DEPTH: usize = 10;

/// Publishes an event when the playing comes from one file of a bag to the next.
pub struct ReadSplits {
    publisher: Publisher<ReadSplitEvent>,
    node_name: String,
    bags: Vec<Files>,
}

/// The files of a bag, and the one that is played.
struct Files {
    /// Full paths, and the log times of the first messages.
    files: Vec<(String, u64)>,
    current: usize,
}

impl ReadSplits {
    /// The publisher of a node in ROS 2.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(node: &Node, bags: &[Input]) -> Result<Self, CliError> {
        let publisher = node.create_publisher(READ_SPLIT, QoS::keep_last(DEPTH))?;
        Ok(Self {
            publisher,
            node_name: node.full_name().to_owned(),
            bags: bags.iter().map(Files::of).collect(),
        })
    }

    /// A message of this log time is played next.
    pub fn reach(&mut self, log_time: u64) {
        for files in &mut self.bags {
            while let Some((closed, opened)) = files.pass(log_time) {
                let (closed_file, opened_file) = (closed.to_owned(), opened.to_owned());
                let event = ReadSplitEvent { closed_file, opened_file, node_name: self.node_name.clone() };
                // The context ends: nobody is left to be notified.
                _ = self.publisher.publish(event);
            }
        }
    }

    /// The playing goes on at this log time.
    pub fn seek(&mut self, log_time: u64) {
        self.bags.iter_mut().for_each(|files| files.seek(log_time));
    }
}

impl Files {
    fn of(bag: &Input) -> Self {
        let folder = absolute(&bag.path).unwrap_or_else(|_| bag.path.clone());
        let full_path = |(name, start): (String, u64)| (folder.join(name).display().to_string(), start);
        Self { files: bag.reader.file_starts().into_iter().map(full_path).collect(), current: 0 }
    }

    /// The file that is left and the next one, if the next one has begun at this log time.
    fn pass(&mut self, log_time: u64) -> Option<(&str, &str)> {
        let ((closed, _), (opened, start)) =
            (self.files.get(self.current)?, self.files.get(self.current + 1)?);
        if *start > log_time {
            return None;
        }
        self.current += 1;
        Some((closed, opened))
    }

    fn seek(&mut self, log_time: u64) {
        let begun = self.files.iter().take_while(|(_, start)| *start <= log_time).count();
        self.current = begun.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_that_begins_is_passed_once() {
        let files = [("a", 10), ("b", 20), ("c", 30)].map(|(name, start)| (name.to_owned(), start));
        let mut files = Files { files: files.into(), current: 0 };
        let pass = |files: &mut Files, time| {
            std::iter::from_fn(|| files.pass(time).map(|(closed, opened)| format!("{closed}{opened}")))
                .collect::<Vec<_>>()
        };
        assert_eq!(pass(&mut files, 15), [""; 0]);
        assert_eq!(pass(&mut files, 20), ["ab"]);
        files.seek(12);
        assert_eq!(pass(&mut files, 35), ["ab", "bc"], "it was played again");
        files.seek(29);
        assert_eq!((files.current, pass(&mut files, 29)), (1, vec![]));
        files.seek(5);
        assert_eq!(files.current, 0);
    }
}
