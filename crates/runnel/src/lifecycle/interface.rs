//! Callbacks of a lifecycle node's transitions.

use std::error::Error;

use super::node::LifecycleNode;
use super::state_machine::{CallbackReturn, LifecycleState};

/// Result of a callback. An error counts as [`CallbackReturn::Error`], and is logged.
pub type CallbackResult = Result<CallbackReturn, Box<dyn Error + Send + Sync>>;

/// Callbacks of a lifecycle node, one per transition. Those that are not implemented succeed, except `on_error`, which
/// fails, so that the node is finalized. Each gets the node, and its state before the transition.
///
/// ```no_run
/// use runnel::{CallbackResult, CallbackReturn, Context, LifecycleNode, LifecycleNodeInterface};
/// use runnel::{LifecyclePublisher, LifecycleState};
/// use runnel::msgs::std_msgs::msg::String as Text;
///
/// #[derive(Default)]
/// struct Talker {
///     publisher: Option<LifecyclePublisher<Text>>,
/// }
///
/// impl LifecycleNodeInterface for Talker {
///     fn on_configure(&mut self, node: &LifecycleNode, _: LifecycleState) -> CallbackResult {
///         self.publisher = Some(node.create_lifecycle_publisher("chatter", 10)?);
///         Ok(CallbackReturn::Success)
///     }
///
///     fn on_cleanup(&mut self, _: &LifecycleNode, _: LifecycleState) -> CallbackResult {
///         self.publisher = None;
///         Ok(CallbackReturn::Success)
///     }
/// }
///
/// # fn main() -> Result<(), runnel::Error> {
/// # let context = Context::new()?;
/// let _talker = context.create_lifecycle_node("talker", Talker::default())?;
/// context.spin()
/// # }
/// ```
pub trait LifecycleNodeInterface: Send + 'static {
    /// Prepares the node: reads parameters, creates publishers and subscriptions.
    ///
    /// # Errors
    /// Any: it counts as [`CallbackReturn::Error`].
    fn on_configure(&mut self, node: &LifecycleNode, previous: LifecycleState) -> CallbackResult {
        succeed(node, previous)
    }

    /// Drops what `on_configure` has created.
    ///
    /// # Errors
    /// Any: it counts as [`CallbackReturn::Error`].
    fn on_cleanup(&mut self, node: &LifecycleNode, previous: LifecycleState) -> CallbackResult {
        succeed(node, previous)
    }

    /// Ends the node's work, from any primary state.
    ///
    /// # Errors
    /// Any: it counts as [`CallbackReturn::Error`].
    fn on_shutdown(&mut self, node: &LifecycleNode, previous: LifecycleState) -> CallbackResult {
        succeed(node, previous)
    }

    /// Starts the node's work. The node's lifecycle publishers publish from here on.
    ///
    /// # Errors
    /// Any: it counts as [`CallbackReturn::Error`].
    fn on_activate(&mut self, node: &LifecycleNode, previous: LifecycleState) -> CallbackResult {
        succeed(node, previous)
    }

    /// Stops the node's work. The node's lifecycle publishers publish until it returns.
    ///
    /// # Errors
    /// Any: it counts as [`CallbackReturn::Error`].
    fn on_deactivate(&mut self, node: &LifecycleNode, previous: LifecycleState) -> CallbackResult {
        succeed(node, previous)
    }

    /// Cleans up after a callback that returned an error. With success the node is unconfigured, else finalized.
    ///
    /// # Errors
    /// Any: it counts as [`CallbackReturn::Error`].
    fn on_error(&mut self, node: &LifecycleNode, previous: LifecycleState) -> CallbackResult {
        let _ = (node, previous);
        Ok(CallbackReturn::Failure)
    }
}

fn succeed(_: &LifecycleNode, _: LifecycleState) -> CallbackResult {
    Ok(CallbackReturn::Success)
}

/// Calls the callback of a transition's state.
pub(super) fn call(
    interface: &mut dyn LifecycleNodeInterface,
    during: LifecycleState,
    node: &LifecycleNode,
    previous: LifecycleState,
) -> CallbackResult {
    match during {
        LifecycleState::Configuring => interface.on_configure(node, previous),
        LifecycleState::CleaningUp => interface.on_cleanup(node, previous),
        LifecycleState::ShuttingDown => interface.on_shutdown(node, previous),
        LifecycleState::Activating => interface.on_activate(node, previous),
        LifecycleState::Deactivating => interface.on_deactivate(node, previous),
        LifecycleState::ErrorProcessing => interface.on_error(node, previous),
        // No other state has a callback.
        _ => succeed(node, previous),
    }
}
