//! What the fuzz targets share: inputs cut into pieces, and a script that plays peers against an engine.

mod play;

pub use play::{Engine, play};

use std::sync::{Arc, LazyLock};

use runnel_core::schema::{Generation, Library, Schema, TypeName};

/// The input without its first byte, cut into pieces of lengths that this byte decides: a stream arrives as it likes.
pub fn pieces(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (first, mut rest) = data.split_first().map_or((0, data), |(first, rest)| (usize::from(*first), rest));
    let mut turn = 0;
    std::iter::from_fn(move || {
        turn += 1;
        // From byte by byte to all at once.
        let length = (first * turn % 61 + 1) << (first % 11);
        let (piece, later) = rest.split_at(length.min(rest.len()));
        rest = later;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Standard messages that between them have every kind of field.
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

/// The schema that a byte of the input chooses among the standard messages.
pub fn schema(choice: u8) -> &'static Arc<Schema> {
    static SCHEMAS: LazyLock<Vec<Arc<Schema>>> =
        LazyLock::new(|| TYPES.into_iter().map(|name| schema_of(Generation::Ros1, name)).collect());
    &SCHEMAS[usize::from(choice) % SCHEMAS.len()]
}

/// The form of a standard message in a generation.
pub fn schema_of(generation: Generation, name: &str) -> Arc<Schema> {
    LIBRARY.message_in(generation, &TypeName::parse(name).unwrap()).unwrap()
}
