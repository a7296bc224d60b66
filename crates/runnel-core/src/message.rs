//! What generated message and service types offer.

use crate::wire::Wire;
use core::fmt::Debug;

/// A message type: serialization (by [`Wire`]) and the names by which peers know it.
///
/// Generated from `.msg` files; nobody writes it by hand.
pub trait Message: Wire + Clone + Debug + PartialEq + Default + Send + Sync + 'static {
    /// The ROS 1 type name, such as `std_msgs/String`.
    const TYPE: &'static str;
    /// ROS 1 MD5 sum, 32 lower-case hex digits.
    const MD5: &'static str;
    /// The ROS 1 definition with all it depends on, as connection headers carry it.
    const DEFINITION: &'static str;
    /// True if the first field is a `std_msgs/Header`, whose `seq` a ROS 1 publisher counts up.
    const HAS_HEADER: bool;
}

/// A service type: a request and a response message.
pub trait Service: Send + Sync + 'static {
    /// What a call carries.
    type Request: Message;
    /// What the answer carries.
    type Response: Message;
    /// The ROS 1 type name, such as `std_srvs/SetBool`.
    const TYPE: &'static str;
    /// ROS 1 MD5 sum, 32 lower-case hex digits.
    const MD5: &'static str;
}
