//! What a callback may return.

use std::fmt::Display;

/// What the callback of a timer may return: nothing, or a `Result`, whose error is logged.
///
/// ```no_run
/// # use std::time::Duration;
/// # use runnel::msgs::std_msgs::msg::Empty;
/// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
/// let publisher = node.create_publisher::<Empty>("alive", 1)?;
/// let _timer = node.create_timer(Duration::from_secs(1), move || publisher.publish(Empty {}));
/// # Ok(())
/// # }
/// ```
pub trait CallbackOutput {
    /// The text of the error, if there is one.
    fn error(self) -> Option<String>;
}

impl CallbackOutput for () {
    fn error(self) -> Option<String> {
        None
    }
}

impl<E: Display> CallbackOutput for Result<(), E> {
    fn error(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}
