//! `runnel interface show`

use runnel::core::schema::{Field, Schema};
use serde_json::{Value as Json, json};

use super::Only;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::interfaces::{Found, definition_text, full_type};

/// Show the fields of a type, with those of nested messages indented
///
/// A type spelt as in ROS 2, std_msgs/msg/Header, is shown in its ROS 2 form, in JSON with its hash. A type spelt as
/// in ROS 1, std_msgs/Header, is shown in its ROS 1 form if it has one.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The type: std_msgs/String, std_srvs/srv/SetBool, or String to search all packages
    #[arg(value_name = "TYPE", add = completion::all_types())]
    type_name: String,

    /// Show the definition file with comments
    #[arg(short, long)]
    raw: bool,

    #[command(flatten)]
    only: Only,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let types = cli.types()?;
    let found = Found::all(&types, &args.type_name, args.only.generation())?;
    cli.output.answer(|| text(args, &found), || found.iter().map(to_json).collect())
}

fn text(args: &Args, found: &[Found]) -> String {
    let definition = |found: &Found| definition_text(found, args.raw);
    match found {
        [one] if args.type_name.contains('/') => definition(one),
        several => {
            several.iter().map(|found| format!("[{}]:\n{}\n", found.spelling(), definition(found))).collect()
        }
    }
}

fn to_json(found: &Found) -> Json {
    let part = |schema: &Schema| {
        let constant = |c: &runnel::core::schema::Constant| json!({ "type": c.spelling, "name": c.name, "value": c.text });
        let field = |field: &Field| {
            let mut json = json!({ "type": full_type(field), "name": field.name });
            if let Some(value) = &field.default {
                json["default"] = json!(value.to_string());
            }
            json
        };
        json!({
            "name": schema.def.name.to_string(),
            "constants": schema.def.constants.iter().map(constant).collect::<Json>(),
            "fields": schema.def.fields.iter().map(field).collect::<Json>(),
        })
    };
    let parts = found.parts().into_iter().map(part).collect::<Json>();
    let name = found.name().to_string();
    let mut json =
        json!({ "name": name, "kind": found.kind().extension(), "md5": found.md5(), "parts": parts });
    // ROS 2 has a type hash instead of an MD5 sum.
    if let Some(hash) = found.type_hash() {
        (json["md5"], json["type_hash"]) = (Json::Null, json!(hash));
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Types;

    fn shown(type_name: &str, raw: bool) -> String {
        let types = Types::new(&[]).expect("no folder to read");
        let found = Found::all(&types, type_name, None).expect("known");
        text(&Args { type_name: type_name.to_owned(), raw, only: Only::default() }, &found)
    }

    #[test]
    fn nested_messages_are_indented() {
        let expected = "std_msgs/Header header\n  uint32 seq\n  time stamp\n  string frame_id\n\
                        geometry_msgs/Point point\n  float64 x\n  float64 y\n  float64 z\n";
        assert_eq!(shown("geometry_msgs/PointStamped", false), expected);
    }

    #[test]
    fn default_value_follows_the_field_name() {
        assert_eq!(
            shown("geometry_msgs/msg/Quaternion", false),
            "float64 x 0.0
float64 y 0.0
float64 z 0.0
float64 w 1.0
"
        );
        assert!(!shown("geometry_msgs/Quaternion", false).contains('0'));
    }

    #[test]
    fn ros_2_spelling_selects_the_ros_2_type() {
        let expected = "builtin_interfaces/Time stamp\nstring frame_id\n";
        assert_eq!(shown("std_msgs/msg/Header", false), expected);
        let types = Types::new(&[]).expect("no folder to read");
        let hash = |name| {
            let found = Found::all(&types, name, None).expect("known");
            let json = to_json(&found[0]);
            assert_ne!(json["md5"].is_null(), json["type_hash"].is_null(), "{json}");
            json["type_hash"].as_str().is_some_and(|hash| hash.starts_with("RIHS01_"))
        };
        for name in ["std_msgs/msg/Header", "std_srvs/srv/SetBool", "tf2_msgs/action/LookupTransform"] {
            assert!(hash(name), "{name}");
        }
        for name in ["std_msgs/Header", "std_srvs/SetBool", "Header", "roscpp/msg/Logger"] {
            assert!(!hash(name), "{name}");
        }
    }

    #[test]
    fn example_interfaces_are_built_in() {
        let types = Types::new(&[]).expect("no folder to read");
        let found = Found::all(&types, "example_interfaces/srv/AddTwoInts", None).expect("known");
        let hash = "RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a";
        assert_eq!(to_json(&found[0])["type_hash"], hash);
        let sequences = "int32 order\n---\nint32[] sequence\n---\nint32[] sequence\n";
        assert_eq!(shown("example_interfaces/action/Fibonacci", false), sequences);
    }

    #[test]
    fn service_has_two_parts() {
        assert_eq!(shown("std_srvs/SetBool", false), "bool data\n---\nbool success\nstring message\n");
        assert_eq!(shown("std_srvs/Empty", false), "---\n");
    }

    #[test]
    fn name_without_package_gets_a_heading() {
        let fields = "bool data\n---\nbool success\nstring message\n\n";
        let expected = format!("[example_interfaces/srv/SetBool]:\n{fields}[std_srvs/SetBool]:\n{fields}");
        assert_eq!(shown("SetBool", false), expected);
    }
}
