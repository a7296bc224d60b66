//! The names of the bags that begin, published as `rosbag record --publish` does.

use std::path::Path;

use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Node, Publisher, QoS};

use crate::bag::files::ACTIVE;
use crate::error::CliError;

/// The topic, in the namespace of the node.
const TOPIC: &str = "begin_write";

/// The publisher of the names.
pub struct BegunBags(Publisher<Text>);

impl BegunBags {
    /// The publisher of a recording whose first bag has this file.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn new(node: &Node, first: Option<&Path>) -> Result<Self, CliError> {
        let begun = Self(node.create_publisher(TOPIC, QoS::latched())?);
        first.into_iter().for_each(|first| begun.publish(first));
        Ok(begun)
    }

    /// Publishes the name of the file of a bag that has begun.
    pub fn publish(&self, file: &Path) {
        // The context ends: nobody is left to be notified.
        _ = self.0.publish(Text { data: name(file) });
    }
}

/// The name that the file gets once it is finished.
fn name(file: &Path) -> String {
    let is_active = file.extension().is_some_and(|extension| extension == ACTIVE);
    let file = if is_active { &file.with_extension("") } else { file };
    file.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_that_of_the_finished_file() {
        assert_eq!(["a.bag.active", "b.mcap"].map(|file| name(Path::new(file))), ["a.bag", "b.mcap"]);
    }
}
