//! Messages of tests.

use runnel_core::time::Time;
use runnel_msgs::geometry_msgs::msg::TransformStamped;
use runnel_tf::{BufferCore, Quaternion, Transform, Vector3};

/// A time in milliseconds.
pub fn at(milliseconds: i64) -> Time {
    Time::from_nanos(milliseconds * 1_000_000)
}

/// A translation along x.
pub fn along_x(x: f64) -> Transform {
    Transform::new(Vector3::new(x, 0.0, 0.0), Quaternion::IDENTITY)
}

/// The message that a broadcaster sends.
pub fn stamped(parent: &str, child: &str, milliseconds: i64, transform: Transform) -> TransformStamped {
    let mut message = TransformStamped { transform: transform.into(), ..TransformStamped::default() };
    message.header.stamp = at(milliseconds);
    message.header.frame_id = parent.to_owned();
    message.child_frame_id = child.to_owned();
    message
}

/// Stores a transform that must be accepted.
pub fn set(buffer: &mut BufferCore, parent: &str, child: &str, milliseconds: i64, transform: Transform) {
    let message = stamped(parent, child, milliseconds, transform);
    buffer.set_transform(&message, "/test", false).expect("a sound transform");
}

/// Stores a static transform that must be accepted.
pub fn set_static(buffer: &mut BufferCore, parent: &str, child: &str, transform: Transform) {
    let message = stamped(parent, child, 0, transform);
    buffer.set_transform(&message, "/test", true).expect("a sound transform");
}

/// The looked-up translation along x, at a time in milliseconds (0: the latest).
pub fn x(buffer: &BufferCore, target: &str, source: &str, milliseconds: i64) -> f64 {
    let found = buffer.lookup_transform(target, source, at(milliseconds)).expect("a transform");
    found.transform.translation.x
}
