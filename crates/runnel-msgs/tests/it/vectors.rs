//! Messages and their bytes in every encoding, as `vectors/encodings.json` has them for every language.
//!
//! `RUNNEL_WRITE_VECTORS=1 cargo test -p runnel-msgs --test it vectors` writes the file anew.

use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::{Generation, TypeName};
use runnel_core::time::Time;
use runnel_core::wire::Encoding;
use runnel_core::yaml::{from_json, to_json};
use runnel_testkit::messages::distinct_message;
use std::fmt::Write;
use std::fs;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/encodings.json");

/// Between them they have every rule of the encodings.
const TYPES: [&str; 10] = [
    "std_msgs/Empty",
    "std_msgs/String",
    "std_msgs/Header",
    "geometry_msgs/PoseStamped",
    "sensor_msgs/Range",
    "sensor_msgs/JointState",
    "stereo_msgs/DisparityImage",
    "diagnostic_msgs/DiagnosticArray",
    "visualization_msgs/Marker",
    "rmw_dds_common/ParticipantEntitiesInfo",
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The message of a type in a generation, by its JSON form, and its bytes in the encodings of that generation.
fn vector(generation: Generation, name: &str) -> String {
    let library = runnel_msgs::library();
    let schema = library.message_in(generation, &TypeName::parse(name).unwrap()).unwrap();
    let message = distinct_message(&schema);
    let json = to_json(&message).to_string();
    assert_eq!(from_json(&schema, &json, Time::default()).as_ref(), Ok(&message));
    let payload = |encoding| hex(&message.to_payload(encoding).unwrap());
    match generation {
        Generation::Ros1 => format!(
            "{{\"type\":\"{name}\",\"md5\":\"{}\",\"value\":{json},\n\"ros1\":\"{}\"}}",
            schema.md5,
            payload(Encoding::Ros1)
        ),
        Generation::Ros2 => format!(
            "{{\"type\":\"{}\",\"rihs01\":\"{}\",\"value\":{json},\n\"xcdr1\":\"{}\",\n\"xcdr2\":\"{}\"}}",
            schema.def.ros2_name,
            schema.rihs01().unwrap(),
            payload(Encoding::Xcdr1),
            payload(Encoding::Xcdr2)
        ),
    }
}

#[test]
fn the_vectors_are_what_is_written() {
    let mut written = String::from("[\n");
    for (index, name) in TYPES.into_iter().enumerate() {
        let comma = if index + 1 < TYPES.len() { "," } else { "" };
        let ros1 = vector(Generation::Ros1, name);
        writeln!(written, "{ros1},\n{}{comma}", vector(Generation::Ros2, name)).unwrap();
    }
    written.push_str("]\n");
    if std::env::var_os("RUNNEL_WRITE_VECTORS").is_some() {
        fs::write(FILE, &written).unwrap();
    }
    assert_eq!(fs::read_to_string(FILE).unwrap(), written);
}

#[test]
fn what_a_payload_holds_is_what_was_written() {
    let library = runnel_msgs::library();
    for name in TYPES {
        let schema = library.message_in(Generation::Ros2, &TypeName::parse(name).unwrap()).unwrap();
        let message = distinct_message(&schema);
        for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
            let payload = message.to_payload(encoding).unwrap();
            assert_eq!(DynamicMessage::decode_payload(&schema, &payload).as_ref(), Ok(&message), "{name}");
        }
    }
}
