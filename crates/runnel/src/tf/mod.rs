//! Transforms between coordinate frames, as tf2: a buffer of what nodes broadcast on `/tf` and `/tf_static`, in both
//! graphs.
//!
//! ```no_run
//! use std::time::Duration;
//! use runnel::tf::{Buffer, LATEST, TransformListener};
//!
//! # fn on_node(node: &runnel::Node) -> Result<(), Box<dyn std::error::Error>> {
//! let buffer = Buffer::new(node.context());
//! let _listener = TransformListener::new(node, &buffer)?;
//! let timeout = Duration::from_secs(1);
//! let map_from_base = buffer.wait_for_transform("map", "base_link", LATEST, timeout)?;
//! println!("x = {}", map_from_base.transform.translation.x);
//! # Ok(())
//! # }
//! ```
//!
//! | tf2 | here |
//! |---|---|
//! | `tf2_ros::Buffer`, `tf2_ros::TransformListener` | [`Buffer`], [`TransformListener`] |
//! | `lookupTransform`, `canTransform` | [`Buffer::lookup_transform`], [`Buffer::can_transform`] (with the reason: [`Buffer::check_transform`]) |
//! | the same with a timeout, `waitForTransform` | [`Buffer::wait_for_transform`], [`Buffer::wait_for_transform_async`] |
//! | the same with a fixed frame | [`Buffer::lookup_transform_full`] |
//! | `buffer.transform(point, "map")` | [`Buffer::transform`] |
//! | `TransformBroadcaster`, `StaticTransformBroadcaster` | [`TransformBroadcaster`], [`StaticTransformBroadcaster`] |
//! | `LookupException` and the other exceptions | the variants of [`TransformError`] |
//! | `tf2::BufferCore`, without a node | [`BufferCore`] |
//!
//! The listener's callbacks run on the thread that receives, which also is one that waits in a callback. So a callback
//! may wait for a transform.

mod broadcaster;
mod buffer;
mod listener;
mod store;

pub use broadcaster::{StaticTransformBroadcaster, TransformBroadcaster};
pub use buffer::Buffer;
pub use listener::TransformListener;
pub use runnel_tf::{
    Available, BufferCore, BufferLimits, DEFAULT_CACHE_TIME, FrameInfo, InsertError, LATEST, Quaternion,
    Transform, TransformError, Transformable, Vector3,
};

/// The topic of transforms that change.
const TF: &str = "/tf";

/// The topic of static transforms.
const TF_STATIC: &str = "/tf_static";
