//! What the user of `rostopic` names: a topic, or a field of its messages.

use runnel::Context;
use runnel::core::schema::{Arity, Schema};

use crate::error::CliError;
use crate::graph::Graph;
use crate::interfaces::full_type;
use crate::ros1::tell;
use crate::session::Session;
use crate::streaming::GLANCE;
use crate::types::Types;

/// The type of a topic of which nobody has said it.
const ANY: &str = "*";

/// A topic whose type is known, and perhaps a field of its messages.
#[derive(Debug, PartialEq, Eq)]
pub struct Subject {
    /// The topic's absolute name.
    pub topic: String,
    /// Its type.
    pub type_name: String,
    /// The path of a field as it was typed: `pose/position`, `ranges[3]`.
    pub field: Option<String>,
}

impl Subject {
    /// What the user named, if the master knows its type.
    ///
    /// # Errors
    /// When the name is not valid, or the master does not answer.
    pub fn find(
        session: &Session,
        types: &Types,
        graph: &Graph<'_>,
        typed: &str,
    ) -> Result<Option<Self>, CliError> {
        let (name, index) = typed.split_at(typed.find('[').unwrap_or(typed.len()));
        let name = session.resolve(name.trim_end_matches('/'))? + index;
        let known = graph.listed_topic_types()?;
        let has_field = |type_name: &str, field: &str| {
            // Of a type that is not known here anything may be a field.
            types.message(type_name).map_or(true, |schema| field_type(&schema, field).is_some())
        };
        Ok(Self::among(&known, &name, has_field))
    }

    /// The same, and waits until the master knows it. `None` if the user does not wait so long.
    ///
    /// # Errors
    /// As [`Subject::find`].
    pub fn wait_for(
        session: &Session,
        types: &Types,
        context: &Context,
        typed: &str,
    ) -> Result<Option<Self>, CliError> {
        let graph = Graph::new(context);
        let mut told = false;
        while context.ok() {
            if let Some(subject) = Self::find(session, types, &graph, typed)? {
                return Ok(Some(subject));
            }
            if !told {
                let name = session.resolve(typed.split('[').next().unwrap_or(typed))?;
                tell(&format!("WARNING: topic [{name}] does not appear to be published yet"));
            }
            told = true;
            context.sleep(GLANCE)?;
        }
        Ok(None)
    }

    /// The topic of this name; otherwise the one with the longest name of which it names a field.
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

    /// The type of the field, or of the topic if no field is meant.
    pub fn field_type(&self, types: &Types) -> String {
        let of_field =
            self.field.as_deref().and_then(|field| field_type(&*types.message(&self.type_name).ok()?, field));
        of_field.unwrap_or_else(|| self.type_name.clone())
    }
}

/// The type of a field as its file spells it; `None` if there is no such field. Of an array some elements must be
/// picked before one of their fields.
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
    fn a_topic_comes_before_a_field_and_a_field_must_be_there() {
        assert_eq!(found("/pose"), Some(("/pose".into(), None)));
        assert_eq!(found("/pose/pose"), Some(("/pose/pose".into(), None)));
        assert_eq!(found("/pose/pose/data"), Some(("/pose/pose".into(), Some("data".into()))));
        assert_eq!(found("/pose/pose/position"), Some(("/pose".into(), Some("pose/position".into()))));
        for name in ["/any", "/any/x", "/pose/none", "/pos", "/poses"] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn fields_have_types() {
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
