//! MD5 sums of types, which ROS 1 nodes compare when they connect.
//!
//! The hashed text contains the constants, each `type name=value`, then the fields, each `type name`, without comments, one
//! per line and no line end after the last. A message field has that message's sum in place of its type, also if it is an
//! array. The text of a service is that of its request and that of its response, concatenated. Source: `compute_md5_text` in genmsg's `gentools.py`.

use super::full_text::ros1_spelling;
use super::types::{MessageDef, Schema};
use md5::{Digest, Md5};
use std::sync::Arc;

/// The sum of a message, 32 lower-case hex digits. `parts` are the schemas of its fields, as in [`Schema::parts`].
pub(super) fn message_md5(def: &MessageDef, parts: &[Option<Arc<Schema>>]) -> String {
    hex_sum(&[&hashed_text(def, parts)])
}

/// The sum of a service.
pub(super) fn service_md5(request: &Schema, response: &Schema) -> String {
    let text = |schema: &Schema| hashed_text(&schema.def, &schema.parts);
    hex_sum(&[&text(request), &text(response)])
}

fn hashed_text(def: &MessageDef, parts: &[Option<Arc<Schema>>]) -> String {
    let constants = def.constants.iter().map(|constant| {
        let type_name = ros1_spelling(&constant.spelling);
        format!("{type_name} {}={}", constant.name, constant.text)
    });
    let fields = def.fields.iter().zip(parts).map(|(field, part)| match part {
        Some(schema) => format!("{} {}", schema.md5, field.name),
        None => format!("{} {}", ros1_spelling(&field.spelling), field.name),
    });
    let lines: Vec<String> = constants.chain(fields).collect();
    // The last constant may be an empty string: the hashed text is trimmed.
    lines.join("\n").trim().to_owned()
}

fn hex_sum(texts: &[&str]) -> String {
    let mut hasher = Md5::new();
    texts.iter().for_each(|text| hasher.update(text));
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
