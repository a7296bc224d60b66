//! Schemas from ROS 2 descriptions of types, as nodes give them on request.
//!
//! Peers send descriptions. The type hash of the schema proves that a description is that of an announced type: see
//! [`Schema::rihs01`].

use super::definition_text::parse_name;
use super::described_type::DescribedType;
use super::generation::Generation;
use super::parse::MAX_DECLARATIONS;
use super::resolve::ResolveError;
use super::rihs01::{DURATION, TIME};
use super::types::{Schema, TypeName};
use crate::sorted::SortedMap;
use std::fmt::{self, Write};
use std::sync::Arc;

/// Limit of the types of a description. Peers send descriptions, so their size is checked before the work begins.
const MOST_TYPES: usize = 1000;

/// A description is not that of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescriptionError {
    /// A field has a type that messages cannot have, such as `long double`.
    FieldType {
        /// The type that has the field.
        of: String,
        /// The field.
        field: String,
        /// The number of the field's type.
        type_id: u8,
    },
    /// Two described types have one name in different folders, such as `a/msg/B` and `a/srv/B`.
    SameName(TypeName),
    /// A name is not valid, or a type that is used is not described.
    Resolve(ResolveError),
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FieldType { of, field, type_id } => {
                write!(f, "field {field} of {of} has a type that messages cannot have (number {type_id})")
            }
            Self::SameName(name) => write!(f, "the description has two types {name}"),
            Self::Resolve(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DescriptionError {}

impl From<ResolveError> for DescriptionError {
    fn from(error: ResolveError) -> Self {
        Self::Resolve(error)
    }
}

impl Schema {
    /// The ROS 2 form of a described message, without constants and defaults. `types` has the descriptions of the message
    /// and of all types that it uses.
    ///
    /// # Errors
    /// If a description is malformed or missing.
    pub fn from_description(name: &str, types: &[DescribedType]) -> Result<Arc<Self>, DescriptionError> {
        let wanted = parse_name(name)?;
        let fields = types.iter().fold(0, |sum: usize, one| sum.saturating_add(one.fields.len()));
        if types.len() > MOST_TYPES || fields > MAX_DECLARATIONS {
            return Err(ResolveError::TooLarge(wanted).into());
        }
        let mut described = SortedMap::new();
        for one in types.iter().filter(|one| !is_time(&one.name)) {
            let key = parse_name(&one.name)?;
            if described.insert(key.clone(), one).is_some_and(|other| other.name != one.name) {
                return Err(DescriptionError::SameName(key));
            }
        }
        let own = described.get(&wanted).map(|own| own.definition()).transpose()?.unwrap_or_default();
        let mut text = own;
        for (key, one) in described.iter().filter(|(key, _)| **key != wanted) {
            // Writing to a string does not fail.
            let _ = write!(text, "\n{:=<80}\nMSG: {key}\n{}", "", one.definition()?);
        }
        let schema = Self::from_full_text_in(Generation::Ros2, &wanted, &text)?;
        let names = described.iter().map(|(key, one)| (key.clone(), one.name.clone())).collect();
        Ok(Renamed { names, done: SortedMap::new() }.schema(&schema))
    }
}

fn is_time(name: &str) -> bool {
    matches!(name, TIME | DURATION)
}

/// Gives schemas the ROS 2 names of the description: parts of services and actions are not in folder `msg`.
struct Renamed {
    names: SortedMap<TypeName, String>,
    done: SortedMap<TypeName, Arc<Schema>>,
}

impl Renamed {
    fn schema(&mut self, schema: &Arc<Schema>) -> Arc<Schema> {
        if let Some(done) = self.done.get(&schema.def.name) {
            return Arc::clone(done);
        }
        let mut renamed = Schema::clone(schema);
        if let Some(name) = self.names.get(&schema.def.name) {
            renamed.def.ros2_name.clone_from(name);
        }
        renamed.parts = schema.parts.iter().map(|part| part.as_ref().map(|part| self.schema(part))).collect();
        let renamed = Arc::new(renamed);
        self.done.insert(schema.def.name.clone(), Arc::clone(&renamed));
        renamed
    }
}

#[cfg(test)]
mod tests {
    use super::super::described_type::DescribedField;
    use super::super::library::{Kind, Library};
    use super::super::type_description::TypeDescription;
    use super::*;

    fn all(description: TypeDescription) -> Vec<DescribedType> {
        [vec![description.own], description.referenced].concat()
    }

    #[test]
    fn described_message_has_the_announced_hash() {
        let text = "int8 a 1\nuint8 b\nint16 c\nuint16 d\nint32 e\nuint32 f\nint64 g\nuint64 h\nfloat32 i\nfloat64 j\n\
                    bool k\nbyte l\nstring m \"x\"\nwstring n\nstring<=5 o\nwstring<=6 p\nchar q\n\
                    my_msgs/Inner[2] r\nmy_msgs/Inner[<=3] s\nbuiltin_interfaces/Time[] t\nmy_msgs/Nothing u\n\
                    byte[4] v\nstring<=7[<=8] w\nbuiltin_interfaces/Duration x\n\n\
                    ================================================================================\n\
                    MSG: my_msgs/Inner\nmy_msgs/Nothing[] nothing\n\n\
                    ================================================================================\n\
                    MSG: my_msgs/Nothing\nint8 CONSTANT=1\n";
        let described = TypeDescription::of_message("my_msgs/msg/All", text).unwrap();
        let hash = described.hash.clone();
        let schema = Schema::from_description("my_msgs/msg/All", &all(described)).unwrap();
        assert_eq!(schema.rihs01(), Some(hash));
        assert_eq!(schema.def.fields.len(), 24);
        assert!(schema.parts[20].as_ref().is_some_and(|nothing| nothing.def.fields.is_empty()));
    }

    #[test]
    fn part_of_a_service_keeps_its_name() {
        let described = TypeDescription::of_service("std_srvs/srv/SetBool", "bool data\n", "bool success\n");
        let types = all(described.unwrap());
        let schema = Schema::from_description("std_srvs/srv/SetBool_Event", &types).unwrap();
        assert_eq!(schema.def.dds_name(), "std_srvs::srv::dds_::SetBool_Event_");
        let request = schema.parts[1].as_ref().unwrap();
        assert_eq!(request.def.ros2_name, "std_srvs/srv/SetBool_Request");
        let mut library = Library::new();
        library.add_text(
            Kind::Service,
            TypeName::new("std_srvs", "SetBool"),
            "bool data\n---\n",
            "SetBool.srv",
        );
        let known = library.service_in(Generation::Ros2, &TypeName::new("std_srvs", "SetBool")).unwrap();
        assert_eq!(request.rihs01(), known.request.rihs01());
    }

    #[test]
    fn malformed_description_is_an_error() {
        let field = |type_id: u8, nested: &str| DescribedField {
            name: "x".into(),
            type_id,
            capacity: 0,
            string_capacity: 0,
            nested_type_name: nested.into(),
            default_value: String::new(),
        };
        let of = |field: DescribedField| {
            let types = [DescribedType { name: "p/msg/A".into(), fields: vec![field] }];
            Schema::from_description("p/msg/A", &types).unwrap_err()
        };
        for type_id in [0, 12, 13, 19, 48, 1 + 192, 255] {
            assert!(matches!(of(field(type_id, "p/msg/B")), DescriptionError::FieldType { .. }), "{type_id}");
        }
        for nested in ["", "p/msg/B", "p/msg/A", "no name"] {
            assert!(matches!(of(field(1, nested)), DescriptionError::Resolve(_)), "{nested}");
        }
        let many = |types: usize, fields: usize| {
            let name = |number| if number == 0 { "p/msg/A".to_owned() } else { format!("p/msg/B{number}") };
            let fields = vec![field(2, ""); fields];
            let of = |number| DescribedType { name: name(number), fields: fields.clone() };
            Schema::from_description("p/msg/A", &(0..types).map(of).collect::<Vec<_>>())
        };
        for (types, fields) in [(MOST_TYPES + 1, 0), (2, MAX_DECLARATIONS / 2 + 1)] {
            let too_large = Err(DescriptionError::Resolve(ResolveError::TooLarge(TypeName::new("p", "A"))));
            assert_eq!(many(types, fields).map(drop), too_large);
        }
        let same = ["p/msg/A", "p/srv/A"].map(|name| DescribedType { name: name.into(), fields: Vec::new() });
        assert!(matches!(Schema::from_description("p/msg/A", &same), Err(DescriptionError::SameName(_))));
        assert!(Schema::from_description("no name", &[]).is_err());
        let injected = DescribedField { name: "x\nint8 y".into(), ..field(2, "") };
        let types = [DescribedType { name: "p/msg/A".into(), fields: vec![injected] }];
        assert!(matches!(Schema::from_description("p/msg/A", &types), Err(DescriptionError::Resolve(_))));
    }
}
