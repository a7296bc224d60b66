//! Messages with a frame, and their transformation to another frame.

use runnel_core::time::Time;
use runnel_msgs::geometry_msgs::msg::{
    PointStamped, PoseArray, PoseStamped, QuaternionStamped, Vector3Stamped,
};
use runnel_msgs::std_msgs::msg::Header;

use crate::buffer_core::BufferCore;
use crate::error::TransformError;
use crate::quaternion::Quaternion;
use crate::transform::Transform;
use crate::vector::Vector3;

/// A message whose content is in the frame of its header.
pub trait Transformable: Clone {
    /// The header: frame and time.
    fn header(&self) -> &Header;

    /// The header, to change it.
    fn header_mut(&mut self) -> &mut Header;

    /// Takes the content to another frame. The header stays.
    fn apply(&mut self, transform: &Transform);
}

impl BufferCore {
    /// The message in frame `target`, by the transform at the message's time. A message of time 0 takes the
    /// [latest](crate::LATEST) transform.
    ///
    /// # Errors
    /// As [`BufferCore::lookup_transform`].
    pub fn transform<M: Transformable>(&self, message: &M, target: &str) -> Result<M, TransformError> {
        let header = message.header();
        let (transform, stamp) = self.lookup(target, &header.frame_id, header.stamp)?;
        Ok(transformed(message, target, stamp, &transform))
    }
}

fn transformed<M: Transformable>(message: &M, target: &str, stamp: Time, transform: &Transform) -> M {
    let mut message = message.clone();
    message.apply(transform);
    let header = message.header_mut();
    header.stamp = stamp;
    target.clone_into(&mut header.frame_id);
    message
}

macro_rules! transformable {
    ($message:ident, |$content:ident, $transform:ident| $apply:expr) => {
        impl Transformable for $message {
            fn header(&self) -> &Header {
                &self.header
            }

            fn header_mut(&mut self) -> &mut Header {
                &mut self.header
            }

            fn apply(&mut self, $transform: &Transform) {
                let $content = self;
                $apply;
            }
        }
    };
}

transformable!(PointStamped, |message, transform| {
    message.point = (*transform * Vector3::from(message.point)).into();
});
transformable!(Vector3Stamped, |message, transform| {
    message.vector = transform.rotation.rotate(message.vector.into()).into();
});
transformable!(QuaternionStamped, |message, transform| {
    message.quaternion = (transform.rotation * Quaternion::from(message.quaternion)).into();
});
transformable!(PoseStamped, |message, transform| {
    message.pose = (*transform * Transform::from(message.pose)).into();
});
transformable!(PoseArray, |message, transform| {
    for pose in &mut message.poses {
        *pose = (*transform * Transform::from(*pose)).into();
    }
});

#[cfg(test)]
mod tests {
    use core::f64::consts::FRAC_PI_2;

    use runnel_msgs::geometry_msgs::msg::{Point, TransformStamped};

    use super::*;

    /// A map in which a robot stands at (10, 0, 0) and looks along y.
    fn buffer() -> BufferCore {
        let mut buffer = BufferCore::default();
        let mut message = TransformStamped::default();
        (message.header.frame_id, message.child_frame_id) = ("map".into(), "robot".into());
        message.header.stamp = Time { sec: 3, nanosec: 0 };
        let turned = Quaternion::from_rpy(0.0, 0.0, FRAC_PI_2);
        message.transform = Transform::new(Vector3::new(10.0, 0.0, 0.0), turned).into();
        buffer.set_transform(&message, "", false).unwrap();
        buffer
    }

    fn header() -> Header {
        Header { frame_id: "robot".into(), ..Header::default() }
    }

    #[test]
    fn point_moves_and_direction_only_turns() {
        let ahead = Point { x: 1.0, y: 0.0, z: 0.0 };
        let point = buffer().transform(&PointStamped { header: header(), point: ahead }, "map").unwrap();
        assert!((Vector3::from(point.point) - Vector3::new(10.0, 1.0, 0.0)).norm() < 1e-12);
        assert_eq!((&*point.header.frame_id, point.header.stamp.sec), ("map", 3));
        let vector = Vector3Stamped { header: header(), vector: Vector3::from(ahead).into() };
        let vector = buffer().transform(&vector, "map").unwrap();
        assert!((Vector3::from(vector.vector) - Vector3::new(0.0, 1.0, 0.0)).norm() < 1e-12);
    }

    #[test]
    fn poses_turn_with_the_frame() {
        let pose = PoseStamped { header: header(), ..PoseStamped::default() };
        let moved = buffer().transform(&pose, "map").unwrap();
        let expected = Quaternion::from_rpy(0.0, 0.0, FRAC_PI_2);
        assert!(Quaternion::from(moved.pose.orientation).angle_to(expected) < 1e-12);
        assert_eq!(moved.pose.position.x, 10.0);
        let poses = PoseArray { header: header(), poses: vec![pose.pose; 2] };
        assert_eq!(buffer().transform(&poses, "map").unwrap().poses, [moved.pose; 2]);
        let turned = QuaternionStamped { header: header(), ..QuaternionStamped::default() };
        let turned = buffer().transform(&turned, "map").unwrap().quaternion;
        assert!(Quaternion::from(turned).angle_to(expected) < 1e-12);
    }

    #[test]
    fn message_of_unknown_frame_stays() {
        let point = PointStamped::default();
        let error = buffer().transform(&point, "map").unwrap_err();
        assert!(matches!(error, TransformError::InvalidArgument { argument: "source_frame", .. }));
    }
}
