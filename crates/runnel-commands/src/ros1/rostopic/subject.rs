//! The object of a `rostopic` command: a topic, or a field of its messages.

use runnel::Context;
use runnel::core::schema::{Arity, Schema};

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;
use crate::interfaces::full_type;
use crate::ros1::print_error;
use crate::streaming::POLL_PERIOD;
use crate::types::Types;

/// The type of a topic whose type is unknown.
const ANY: &str = "*";

/// A topic of known type, and perhaps a field of its messages.
#[derive(Debug, PartialEq, Eq)]
pub struct Subject {
    /// The topic's absolute name.
    pub topic: String,
    /// Its type.
    pub type_name: String,
    /// The path of a field as typed: `pose/position`, `ranges[3]`.
    pub field: Option<String>,
}

impl Subject {
    /// The topic or field that the user named, if the master knows the type.
    ///
    /// # Errors
    /// When the name is not valid, or the master does not answer.
    pub fn find(
        cli: &CliContext,
        types: &Types,
        graph: &Graph<'_>,
        typed: &str,
    ) -> Result<Option<Self>, CliError> {
        let (name, index) = typed.split_at(typed.find('[').unwrap_or(typed.len()));
        let name = cli.resolve(name.trim_end_matches('/'))? + index;
        let known = graph.listed_topic_types()?;
        let has_field = |type_name: &str, field: &str| {
            // With an unknown type, any name may be a field.
            types.message(type_name).map_or(true, |schema| field_type(&schema, field).is_some())
        };
        Ok(Self::among(&known, &name, has_field))
    }

    /// Waits until the master knows the type. `None` after Ctrl-C.
    ///
    /// # Errors
    /// As [`Subject::find`].
    pub fn wait_for(
        cli: &CliContext,
        types: &Types,
        context: &Context,
        typed: &str,
    ) -> Result<Option<Self>, CliError> {
        let graph = Graph::new(context);
        let mut is_noted = false;
        while context.ok() {
            if let Some(subject) = Self::find(cli, types, &graph, typed)? {
                return Ok(Some(subject));
            }
            if !is_noted {
                let name = cli.resolve(typed.split('[').next().unwrap_or(typed))?;
                print_error(&format!("WARNING: topic [{name}] does not appear to be published yet"));
            }
            is_noted = true;
            context.sleep(POLL_PERIOD)?;
        }
        Ok(None)
    }

    /// The topic of this name, or else the topic with the longest name of which it names a field.
    fn among(known: &[(String, String)], name: &str, has_field: impl Fn(&str, &str) -> bool) -> Option<Self> {
        let known = || known.iter().filter(|(_, type_name)| type_name != ANY);
        let subject = |topic: &str, type_name: &str, field: Option<&str>| Self {
            topic: topic.to_owned(),
            type_name: type_name.to_owned(),
            field: field.map(str::to_owned),
        };
        if let Some((topic, type_name)) = known().find(|(topic, _)| topic == name) {
            return Some(subject(topic, type_name, None));
        }
        let mut outer: Vec<_> = known()
            .filter_map(|row| Some((row, name.strip_prefix(row.0.as_str())?.strip_prefix('/')?)))
            .filter(|((_, type_name), field)| has_field(type_name, field))
            .collect();
        outer.sort_by_key(|((topic, _), _)| topic.len());
        outer.last().map(|((topic, type_name), field)| subject(topic, type_name, Some(field)))
    }

    /// The type of the field, or of the topic without a field.
    pub fn field_type(&self, types: &Types) -> String {
        let of_field =
            self.field.as_deref().and_then(|field| field_type(&*types.message(&self.type_name).ok()?, field));
        of_field.unwrap_or_else(|| self.type_name.clone())
    }
}

/// The type of a field as its file spells it; `None` if there is none. A field below an array needs an index.
fn field_type(schema: &Schema, path: &str) -> Option<String> {
    let (name, rest) = path.split_once('/').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let (name, picks) = name.split_once('[').map_or((name, false), |(name, _)| (name, true));
    let index = schema.def.fields.iter().position(|field| field.name == name)?;
    let field = schema.def.fields.get(index)?;
    match rest.filter(|rest| !rest.is_empty()) {
        None => Some(full_type(field)),
        Some(_) if picks == (field.arity == Arity::One) => None,
        Some(rest) => field_type(schema.parts.get(index)?.as_ref()?, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> Option<(String, Option<String>)> {
        let known = [("/pose", "geometry_msgs/PoseStamped"), ("/pose/pose", "std_msgs/Int8"), ("/any", "*")];
        let known = known.map(|(topic, name)| (topic.to_owned(), name.to_owned()));
        let types = Types::new(&[]).expect("no folder to read");
        let has_field = |type_name: &str, field: &str| {
            field_type(&types.message(type_name).expect("built in"), field).is_some()
        };
        Subject::among(&known, name, has_field).map(|subject| (subject.topic, subject.field))
    }

    #[test]
    fn topic_takes_precedence_over_a_field() {
        assert_eq!(found("/pose"), Some(("/pose".into(), None)));
        assert_eq!(found("/pose/pose"), Some(("/pose/pose".into(), None)));
        assert_eq!(found("/pose/pose/data"), Some(("/pose/pose".into(), Some("data".into()))));
        assert_eq!(found("/pose/pose/position"), Some(("/pose".into(), Some("pose/position".into()))));
        for name in ["/any", "/any/x", "/pose/none", "/pos", "/poses"] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn field_types_are_found() {
        let types = Types::new(&[]).expect("no folder to read");
        let field_type = |name: &str, path: &str| field_type(&types.message(name).expect("built in"), path);
        assert_eq!(field_type("geometry_msgs/PoseStamped", "pose"), Some("geometry_msgs/Pose".into()));
        assert_eq!(field_type("geometry_msgs/PoseStamped", "header/stamp"), Some("time".into()));
        assert_eq!(field_type("geometry_msgs/PoseArray", "poses[3]/position/x"), Some("float64".into()));
        assert_eq!(field_type("sensor_msgs/Imu", "angular_velocity_covariance"), Some("float64[9]".into()));
        assert_eq!(field_type("sensor_msgs/Imu", "header/none"), None);
        assert_eq!(field_type("geometry_msgs/PoseArray", "poses/position"), None);
    }
}
