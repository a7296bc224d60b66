//! Callbacks of subscriptions, with and without metadata.

use crate::message_info::MessageInfo;

/// A callback for messages of type `M`: a closure or function that takes `&M`, or `&M` and [`&MessageInfo`](MessageInfo).
///
/// `Args` distinguishes the two, and is inferred. Write the parameter's type in a closure, since it determines the
/// message type of the subscription: `|message: &Image|`.
///
/// ```no_run
/// use runnel::MessageInfo;
/// use runnel::msgs::sensor_msgs::msg::Imu;
///
/// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
/// let _plain = node.create_subscription("imu", 10, |imu: &Imu| println!("{}", imu.linear_acceleration.x))?;
/// let _with_info = node.create_subscription("imu", 10, |_: &Imu, info: &MessageInfo| println!("{info:?}"))?;
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a callback of a subscription",
    note = "it takes `&M` or `&M, &MessageInfo`, with the type written: `|message: &Image|`; it is `Send` and `'static`"
)]
pub trait SubscriptionCallback<M, Args>: Send + 'static {
    /// Whether the callback takes a [`MessageInfo`]. If not, no metadata is recorded.
    const TAKES_INFO: bool;

    /// Calls the callback for a message, with its metadata if [`TAKES_INFO`](Self::TAKES_INFO).
    fn call(&mut self, message: &M, info: Option<&MessageInfo>);
}

impl<M, F: FnMut(&M) + Send + 'static> SubscriptionCallback<M, fn(&M)> for F {
    const TAKES_INFO: bool = false;

    fn call(&mut self, message: &M, _: Option<&MessageInfo>) {
        self(message);
    }
}

impl<M, F: FnMut(&M, &MessageInfo) + Send + 'static> SubscriptionCallback<M, fn(&M, &MessageInfo)> for F {
    const TAKES_INFO: bool = true;

    fn call(&mut self, message: &M, info: Option<&MessageInfo>) {
        if let Some(info) = info {
            self(message, info);
        }
    }
}
