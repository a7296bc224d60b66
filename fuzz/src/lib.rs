//! Shared parts of the fuzz targets: inputs split into chunks, and scripts of peers against an engine.

mod script;

pub use script::{Engine, run_script};

use std::sync::{Arc, LazyLock};

use runnel_core::schema::{Generation, Library, Schema, TypeName};

/// The input without its first byte, split into chunks as a stream may arrive. The first byte determines their lengths.
pub fn chunks(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (first, mut rest) = data.split_first().map_or((0, data), |(first, rest)| (usize::from(*first), rest));
    let mut index = 0;
    std::iter::from_fn(move || {
        index += 1;
        // From single bytes to all bytes in one chunk.
        let length = (first * index % 61 + 1) << (first % 11);
        let (chunk, later) = rest.split_at(length.min(rest.len()));
        rest = later;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// Standard messages that together have every kind of field.
const TYPES: [&str; 9] = [
    "std_msgs/String",
    "std_msgs/UInt8MultiArray",
    "geometry_msgs/PoseWithCovarianceStamped",
    "sensor_msgs/PointCloud2",
    "sensor_msgs/JointState",
    "diagnostic_msgs/DiagnosticArray",
    "visualization_msgs/Marker",
    "rosgraph_msgs/TopicStatistics",
    "nav_msgs/Path",
];

static LIBRARY: LazyLock<Library> = LazyLock::new(runnel_msgs::library);

/// The standard message that a byte of the input selects.
pub fn schema(choice: u8) -> &'static Arc<Schema> {
    static SCHEMAS: LazyLock<Vec<Arc<Schema>>> =
        LazyLock::new(|| TYPES.into_iter().map(|name| schema_of(Generation::Ros1, name)).collect());
    &SCHEMAS[usize::from(choice) % SCHEMAS.len()]
}

/// A standard message in a generation.
pub fn schema_of(generation: Generation, name: &str) -> Arc<Schema> {
    LIBRARY.message_in(generation, &TypeName::parse(name).unwrap()).unwrap()
}
