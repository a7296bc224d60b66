//! Callbacks of subscriptions, with and without what is known of each message.

use crate::message_info::MessageInfo;

/// A callback for messages of type `M`: a closure or function that takes `&M`, or `&M` and [`&MessageInfo`](MessageInfo).
///
/// `Args` tells the two apart, and is inferred. The parameter's type must be written in a closure, since it says which messages the
/// subscription gets: `|message: &Image|`.
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
    message = "`{Self}` is no callback of a subscription",
    note = "it takes `&M` or `&M, &MessageInfo`, with the type written: `|message: &Image|`; it is `Send` and `'static`"
)]
pub trait SubscriptionCallback<M, Args>: Send + 'static {
    /// Whether the callback takes a [`MessageInfo`]: if not, nothing is noted for it when messages come.
    const TAKES_INFO: bool;

    /// Calls back for a message, with what is known of it if [`TAKES_INFO`](Self::TAKES_INFO).
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
