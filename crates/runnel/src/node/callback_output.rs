//! What a callback may return.

use std::fmt::{self, Display};

use runnel_io::clock;

use crate::log_output::throttle::Throttle;
use crate::node_log::Logger;

/// What the callback of a subscription or timer may return: nothing, or a `Result`, whose error is logged. So `?` works in
/// callbacks. At most 20 errors of a callback are logged in 10 s.
///
/// ```no_run
/// # use std::time::Duration;
/// # use runnel::msgs::std_msgs::msg::{Empty, String};
/// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
/// let publisher = node.create_publisher::<Empty>("alive", 1)?;
/// let _timer = node.create_timer(Duration::from_secs(1), move || publisher.publish(Empty {}));
///
/// let _numbers = node.create_subscription("number", 10, |message: &String| {
///     let number: i32 = message.data.parse()?;
///     println!("{number}");
///     Ok::<_, std::num::ParseIntError>(())
/// })?;
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "a callback returns `()` or a `Result<(), E>` whose error can be displayed, not `{Self}`",
    note = "a closure that never returns needs a type: write `-> ()` behind its parameters"
)]
pub trait CallbackOutput: sealed::Output {}

impl<O: sealed::Output> CallbackOutput for O {}

mod sealed {
    use std::fmt::Display;

    pub trait Output {
        /// The error, if there is one.
        fn error(self) -> Option<impl Display>;
    }

    impl Output for () {
        fn error(self) -> Option<impl Display> {
            None::<&str>
        }
    }

    impl<E: Display> Output for Result<(), E> {
        fn error(self) -> Option<impl Display> {
            self.err()
        }
    }
}

/// Logs the errors that a callback returns.
pub(crate) struct ErrorLog {
    logger: Logger,
    /// What it logs about, such as `callback of topic /scan`.
    entity: String,
    throttle: Throttle,
}

impl ErrorLog {
    pub(crate) fn new(logger: &Logger, entity: impl Display) -> Self {
        Self { logger: logger.clone(), entity: entity.to_string(), throttle: Throttle::default() }
    }

    /// Logs the error, if the output is one.
    #[inline]
    pub(crate) fn note(&mut self, output: impl CallbackOutput) {
        if let Some(error) = output.error() {
            self.log(format_args!("{error}"));
        }
    }

    #[cold]
    fn log(&mut self, error: fmt::Arguments<'_>) {
        let Self { logger, entity, throttle } = self;
        let line = format_args!("{entity}: {error}");
        throttle.warn(clock::monotonic(), line, |line| crate::log_error!(logger, "{line}"));
    }
}
