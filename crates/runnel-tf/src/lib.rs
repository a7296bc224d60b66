//! Transform buffer of tf: frames, their transforms over time, and look-ups between them.
//!
//! It does no I/O and reads no clock. Crate `runnel` connects it to `/tf` and `/tf_static`.
#![forbid(unsafe_code)]

mod buffer_core;
mod error;
mod frame_info;
mod frame_names;
mod history;
mod lookup;
mod path;
mod quaternion;
mod replacement;
mod transform;
mod transformable;
mod vector;

pub use buffer_core::{BufferCore, BufferLimits, DEFAULT_CACHE_TIME};
pub use error::{Available, InsertError, TransformError};
pub use frame_info::FrameInfo;
pub use quaternion::Quaternion;
pub use transform::Transform;
pub use transformable::Transformable;
pub use vector::Vector3;

use runnel_core::time::Time;

/// The time of a look-up that is to use the latest transforms: time 0, as in tf2.
pub const LATEST: Time = Time { sec: 0, nanosec: 0 };
