//! `runnel interface show`

use std::sync::Arc;

use runnel::core::schema::{Arity, Element, Field, Generation, Kind, Schema};
use serde_json::{Value as Json, json};

use super::found::Found;
use crate::completion;
use crate::error::CliError;
use crate::session::Session;
use crate::types::Types;

/// Show the fields of a type, those of messages within it indented
///
/// A message that is spelt as in ROS 2, std_msgs/msg/Header, is shown as it is there, with the hash of its type in JSON;
/// std_msgs/Header is that of ROS 1.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The type: std_msgs/String, std_srvs/srv/SetBool, or String to look in all packages
    #[arg(value_name = "TYPE", add = completion::all_types())]
    type_name: String,

    /// Show the file as it is, with comments
    #[arg(short, long)]
    raw: bool,
}

/// What stands between the parts of a service or an action.
const SEPARATOR: &str = "---\n";

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let types = session.types()?;
    if let Some(schema) = of_ros2(&types, &args.type_name) {
        let found = [Found::Message(Arc::clone(&schema))];
        return session.output.answer(|| text(args, &found), || json!([ros2_json(&found[0], &schema)]));
    }
    let found = Found::all(&types, &args.type_name)?;
    session.output.answer(|| text(args, &found), || found.iter().map(to_json).collect())
}

/// The message that this names in the words of ROS 2, if that has it.
fn of_ros2(types: &Types, name: &str) -> Option<Arc<Schema>> {
    let is_spelt_so = name.split('/').nth(1) == Some(Kind::Message.extension());
    types.message_in(Generation::Ros2, name).ok().filter(|_| is_spelt_so && name.matches('/').count() == 2)
}

fn text(args: &Args, found: &[Found]) -> String {
    let definition = |found: &Found| definition_text(found, args.raw);
    match found {
        [one] if args.type_name.contains('/') => definition(one),
        several => {
            several.iter().map(|found| format!("[{}]:\n{}\n", found.name(), definition(found))).collect()
        }
    }
}

/// The fields of all parts of a type, or the texts of its file.
pub fn definition_text(found: &Found, as_written: bool) -> String {
    let part = |schema: &Schema| if as_written { raw(schema) } else { expanded(schema) };
    found.parts().into_iter().map(part).collect::<Vec<_>>().join(SEPARATOR)
}

/// The file's text, with one line end after it.
fn raw(schema: &Schema) -> String {
    match schema.def.text.trim_end() {
        "" => String::new(),
        text => format!("{text}\n"),
    }
}

fn expanded(schema: &Schema) -> String {
    let mut text = String::new();
    expand(schema, 0, &mut text);
    text
}

fn expand(schema: &Schema, indent: usize, text: &mut String) {
    for constant in &schema.def.constants {
        text.push_str(&format!("{:indent$}{} {}={}\n", "", constant.spelling, constant.name, constant.text));
    }
    for (field, part) in schema.def.fields.iter().zip(&schema.parts) {
        text.push_str(&format!("{:indent$}{} {}\n", "", full_type(field), field.name));
        if let Some(part) = part {
            expand(part, indent + 2, text);
        }
    }
}

/// The type of a field as its file spells it, but with the package of a message.
pub fn full_type(field: &Field) -> String {
    let Element::Message(name) = &field.element else { return field.spelling.clone() };
    match field.arity {
        Arity::One => name.to_string(),
        Arity::Fixed(length) => format!("{name}[{length}]"),
        Arity::Bounded(bound) => format!("{name}[<={bound}]"),
        Arity::Unbounded => format!("{name}[]"),
    }
}

/// ROS 2 has another sum of a definition.
fn ros2_json(found: &Found, schema: &Schema) -> Json {
    let mut json = to_json(found);
    json["md5"] = Json::Null;
    json["type_hash"] = json!(schema.rihs01());
    json
}

fn to_json(found: &Found) -> Json {
    let part = |schema: &Schema| {
        let constant = |c: &runnel::core::schema::Constant| json!({ "type": c.spelling, "name": c.name, "value": c.text });
        let field = |field: &Field| json!({ "type": full_type(field), "name": field.name });
        json!({
            "name": schema.def.name.to_string(),
            "constants": schema.def.constants.iter().map(constant).collect::<Json>(),
            "fields": schema.def.fields.iter().map(field).collect::<Json>(),
        })
    };
    let parts = found.parts().into_iter().map(part).collect::<Json>();
    json!({ "name": found.name().to_string(), "kind": found.kind().extension(), "md5": found.md5(), "parts": parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(type_name: &str, raw: bool) -> String {
        let types = Types::new(&[]).expect("no folder to read");
        let found = Found::all(&types, type_name).expect("known");
        text(&Args { type_name: type_name.to_owned(), raw }, &found)
    }

    #[test]
    fn messages_within_a_message_are_indented() {
        let expected = "std_msgs/Header header\n  uint32 seq\n  time stamp\n  string frame_id\n\
                        geometry_msgs/Point point\n  float64 x\n  float64 y\n  float64 z\n";
        assert_eq!(shown("geometry_msgs/PointStamped", false), expected);
    }

    #[test]
    fn a_message_spelt_as_in_ros_2_is_that_of_ros_2() {
        let types = Types::new(&[]).expect("no folder to read");
        let header = of_ros2(&types, "std_msgs/msg/Header").expect("ROS 2 has it");
        let expected = "builtin_interfaces/Time stamp\nstring frame_id\n";
        assert_eq!(expanded(&header), expected);
        let json = ros2_json(&Found::Message(Arc::clone(&header)), &header);
        assert!(json["type_hash"].as_str().is_some_and(|hash| hash.starts_with("RIHS01_")), "{json}");
        for other in ["std_msgs/Header", "std_srvs/srv/SetBool", "msg/msg", "Header"] {
            assert!(of_ros2(&types, other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_service_has_two_parts() {
        assert_eq!(shown("std_srvs/SetBool", false), "bool data\n---\nbool success\nstring message\n");
        assert_eq!(shown("std_srvs/Empty", false), "---\n");
    }

    #[test]
    fn a_name_without_package_gets_a_heading() {
        assert_eq!(
            shown("SetBool", false),
            "[std_srvs/SetBool]:\nbool data\n---\nbool success\nstring message\n\n"
        );
    }
}
