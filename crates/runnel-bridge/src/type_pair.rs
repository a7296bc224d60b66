//! Definitions of a topic's type in both generations, from what its ends announce.

use std::fmt;
use std::sync::Arc;

use runnel_core::schema::{Generation, Kind, Library, Schema, TypeName};

use crate::rules::Rules;

/// A type as an end of a topic announces it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnouncedType {
    /// Its name, in the spelling of either generation.
    pub name: String,
    /// Its MD5 sum in ROS 1, or its type hash in ROS 2; empty or `*` if that is unknown.
    pub sum: String,
    /// Its definition with all that it depends on; empty if that is unknown.
    pub definition: String,
}

/// The definitions of corresponding types.
#[derive(Clone, Debug, PartialEq)]
pub struct TypePair {
    /// The definition in ROS 1.
    pub ros1: Arc<Schema>,
    /// The definition in ROS 2.
    pub ros2: Arc<Schema>,
}

/// A topic's types cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeError {
    /// A name is not that of a ROS type.
    NotRos {
        /// The name.
        name: String,
    },
    /// The ends have types that do not correspond.
    NamesDiffer {
        /// The type in ROS 1.
        ros1: TypeName,
        /// The type in ROS 2.
        ros2: TypeName,
    },
    /// No definition is known.
    Unknown {
        /// The generation of the end.
        generation: Generation,
        /// The type.
        name: TypeName,
        /// Why there is none.
        reason: String,
    },
    /// An end has another definition of the type than the known one.
    DefinitionDiffers {
        /// The generation of the end.
        generation: Generation,
        /// The type.
        name: TypeName,
        /// MD5 sum or type hash of the end's definition.
        announced: String,
        /// MD5 sum or type hash of the known definition.
        known: String,
    },
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let graph = |generation: &Generation| match generation {
            Generation::Ros1 => "ROS 1",
            Generation::Ros2 => "ROS 2",
        };
        match self {
            Self::NotRos { name } => write!(f, "type {name} is not a ROS type"),
            Self::NamesDiffer { ros1, ros2 } => write!(
                f,
                "type {ros1} of ROS 1 does not correspond to {ros2} of ROS 2. Try: --rules FILE with a message rule"
            ),
            Self::Unknown { generation, name, reason } => write!(
                f,
                "no definition of {name} for {} is known: {reason}. Try: --interfaces DIR",
                graph(generation)
            ),
            Self::DefinitionDiffers { generation, name, announced, known } => write!(
                f,
                "the {} end has another definition of {name}: {announced}, known is {known}. Try: --interfaces DIR",
                graph(generation)
            ),
        }
    }
}

impl std::error::Error for TypeError {}

impl AnnouncedType {
    /// Its name.
    ///
    /// # Errors
    /// If that is not the name of a ROS type.
    pub fn type_name(&self) -> Result<TypeName, TypeError> {
        TypeName::parse(&self.name).ok_or_else(|| TypeError::NotRos { name: self.name.clone() })
    }

    fn known_sum(&self) -> Option<&str> {
        Some(self.sum.as_str()).filter(|sum| !matches!(*sum, "" | "*"))
    }

    /// The definition that it carries.
    fn carried(&self, name: &TypeName) -> Option<Arc<Schema>> {
        if self.definition.is_empty() && self.known_sum() != Some(EMPTY_MD5) {
            return None;
        }
        let schema = Schema::from_full_text(name, &self.definition).ok()?;
        self.known_sum().is_none_or(|sum| sum == schema.md5).then_some(schema)
    }
}

/// MD5 sum of a message without fields, such as `std_msgs/Empty`.
const EMPTY_MD5: &str = "d41d8cd98f00b204e9800998ecf8427e";

impl TypePair {
    /// The definitions for the types that the ends of a topic announce, of which at least one must be given.
    ///
    /// # Errors
    /// If the types do not correspond, or a definition is missing or not that of an end.
    pub fn find(
        ros1: Option<&AnnouncedType>,
        ros2: Option<&AnnouncedType>,
        library: &Library,
        rules: &Rules,
    ) -> Result<Self, TypeError> {
        let search = Search { library, rules };
        let (ros1, ros2) = (Named::of(ros1)?, Named::of(ros2)?);
        match (ros1, ros2) {
            (Some(ros1), Some(ros2)) => {
                if !rules.correspond(Kind::Message, &ros1.name, &ros2.name) {
                    return Err(TypeError::NamesDiffer { ros1: ros1.name, ros2: ros2.name });
                }
                search.both(&ros1, &ros2)
            }
            (Some(one), None) => search.by_counterpart(&one, Generation::Ros1),
            (None, Some(one)) => search.by_counterpart(&one, Generation::Ros2),
            (None, None) => Err(TypeError::NotRos { name: String::new() }),
        }
    }

    /// The definitions of a type that is known in one generation, such as that of messages in a bag.
    ///
    /// # Errors
    /// If no corresponding type is known.
    pub fn of_schema(known: &Arc<Schema>, library: &Library, rules: &Rules) -> Result<Self, TypeError> {
        let search = Search { library, rules };
        let (from, to) = match known.generation {
            Generation::Ros1 => (Generation::Ros1, Generation::Ros2),
            Generation::Ros2 => (Generation::Ros2, Generation::Ros1),
        };
        let mut first_error = None;
        for name in rules.counterparts(Kind::Message, from, &known.def.name) {
            let announced = AnnouncedType { name: name.to_string(), ..AnnouncedType::default() };
            let other = Named { name, announced: &announced };
            let found =
                search.known(&other, to).or_else(|missing| search.derived(known, &other, to).ok_or(missing));
            match (found, from) {
                (Ok(other), Generation::Ros1) => return Ok(Self { ros1: Arc::clone(known), ros2: other }),
                (Ok(other), Generation::Ros2) => return Ok(Self { ros1: other, ros2: Arc::clone(known) }),
                (Err(error), _) => _ = first_error.get_or_insert(error),
            }
        }
        Err(first_error.unwrap_or_else(|| TypeError::NotRos { name: known.def.name.to_string() }))
    }
}

/// An announced type with its name.
struct Named<'a> {
    name: TypeName,
    announced: &'a AnnouncedType,
}

impl<'a> Named<'a> {
    fn of(announced: Option<&'a AnnouncedType>) -> Result<Option<Self>, TypeError> {
        let named = |announced: &'a AnnouncedType| Ok(Self { name: announced.type_name()?, announced });
        announced.map(named).transpose()
    }
}

struct Search<'a> {
    library: &'a Library,
    rules: &'a Rules,
}

impl Search<'_> {
    /// The other end's type is not known: the first counterpart with a definition.
    fn by_counterpart(&self, one: &Named<'_>, generation: Generation) -> Result<TypePair, TypeError> {
        let mut first_error = None;
        for name in self.rules.counterparts(Kind::Message, generation, &one.name) {
            let announced = AnnouncedType { name: name.to_string(), ..AnnouncedType::default() };
            let other = Named { name, announced: &announced };
            let found = match generation {
                Generation::Ros1 => self.both(one, &other),
                Generation::Ros2 => self.both(&other, one),
            };
            match found {
                Ok(pair) => return Ok(pair),
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        Err(first_error.unwrap_or_else(|| TypeError::NotRos { name: one.name.to_string() }))
    }

    fn both(&self, ros1: &Named<'_>, ros2: &Named<'_>) -> Result<TypePair, TypeError> {
        match (self.known(ros1, Generation::Ros1), self.known(ros2, Generation::Ros2)) {
            (Ok(ros1), Ok(ros2)) => Ok(TypePair { ros1, ros2 }),
            (Ok(known), Err(missing)) => {
                let ros2 = self.derived(&known, ros2, Generation::Ros2).ok_or(missing)?;
                Ok(TypePair { ros1: known, ros2 })
            }
            (Err(missing), Ok(known)) => {
                let ros1 = self.derived(&known, ros1, Generation::Ros1).ok_or(missing)?;
                Ok(TypePair { ros1, ros2: known })
            }
            (Err(missing), Err(_)) => Err(missing),
        }
    }

    /// The definition that an end carries, or the one of the library if it is the same.
    fn known(&self, of: &Named<'_>, generation: Generation) -> Result<Arc<Schema>, TypeError> {
        if generation == Generation::Ros1
            && let Some(carried) = of.announced.carried(&of.name)
        {
            return Ok(carried);
        }
        let unknown = |reason: String| TypeError::Unknown { generation, name: of.name.clone(), reason };
        let known = self.library.message_in(generation, &of.name);
        let known = known.map_err(|error| unknown(error.to_string()))?;
        let sum = sum_of(&known);
        match of.announced.known_sum().filter(|announced| *announced != sum) {
            None => Ok(known),
            Some(announced) => Err(TypeError::DefinitionDiffers {
                generation,
                name: of.name.clone(),
                announced: announced.to_owned(),
                known: sum,
            }),
        }
    }

    /// The definition that follows from the other generation's, if the end has the same.
    fn derived(&self, known: &Arc<Schema>, of: &Named<'_>, generation: Generation) -> Option<Arc<Schema>> {
        if known.def.name != of.name {
            return None;
        }
        let derived = self.library.form_of(known, generation).ok()?;
        let is_same = of.announced.known_sum().is_none_or(|sum| sum == sum_of(&derived));
        is_same.then_some(derived)
    }
}

/// MD5 sum of a ROS 1 definition, type hash of a ROS 2 definition.
fn sum_of(schema: &Schema) -> String {
    schema.rihs01().unwrap_or_else(|| schema.md5.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(name: &str, sum: &str, definition: &str) -> AnnouncedType {
        let [name, sum, definition] = [name, sum, definition].map(str::to_owned);
        AnnouncedType { name, sum, definition }
    }

    fn find(
        ros1: Option<AnnouncedType>,
        ros2: Option<AnnouncedType>,
        library: &Library,
    ) -> Result<TypePair, TypeError> {
        TypePair::find(ros1.as_ref(), ros2.as_ref(), library, &Rules::default())
    }

    fn library(types: &[(&str, &str)]) -> Library {
        let mut library = runnel_msgs::library();
        for (name, text) in types {
            library.add_text(Kind::Message, TypeName::parse(name).unwrap(), (*text).to_owned(), name);
        }
        library
    }

    #[test]
    fn standard_type_is_known_by_name() {
        let library = library(&[]);
        for (ros1, ros2) in [
            (Some(announced("std_msgs/String", "*", "")), None),
            (None, Some(announced("std_msgs/msg/String", "", ""))),
            (Some(announced("std_msgs/String", "", "")), Some(announced("std_msgs/msg/String", "", ""))),
        ] {
            let pair = find(ros1, ros2, &library).unwrap();
            assert_eq!((pair.ros1.generation, pair.ros2.generation), (Generation::Ros1, Generation::Ros2));
            assert_eq!(pair.ros1.def.name, pair.ros2.def.name);
        }
    }

    #[test]
    fn unknown_type_is_learned_from_header() {
        let header = announced(
            "own/Type",
            "",
            "int32 Count\nstd_msgs/Header header\n================================================================================\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n",
        );
        let pair =
            find(Some(header.clone()), Some(announced("own/msg/Type", "", "")), &library(&[])).unwrap();
        assert_eq!(pair.ros2.def.fields[0].name, "count");
        let hash = pair.ros2.rihs01().unwrap();
        let ros2 = announced("own/msg/Type", &hash, "");
        assert!(find(Some(header.clone()), Some(ros2), &library(&[])).is_ok());
        let error = find(Some(header), Some(announced("own/msg/Type", "RIHS01_00", "")), &library(&[]));
        assert!(matches!(error, Err(TypeError::Unknown { .. })), "{error:?}");
    }

    #[test]
    fn definition_that_is_not_of_its_sum_is_not_used() {
        let sum = "992ce8a1687cec8c8bd883ec73ca41d1";
        let pair = find(Some(announced("std_msgs/String", sum, "int8 other")), None, &library(&[])).unwrap();
        assert_eq!((pair.ros1.md5.as_str(), pair.ros1.def.fields[0].name.as_str()), (sum, "data"));
    }

    #[test]
    fn differing_hash_is_reported() {
        let ros2 = announced("std_msgs/msg/String", "RIHS01_00", "");
        let error = find(None, Some(ros2), &library(&[])).unwrap_err();
        assert!(
            matches!(error, TypeError::DefinitionDiffers { generation: Generation::Ros2, .. }),
            "{error}"
        );
        let ros1 = announced("std_msgs/String", "0123", "");
        let error = find(Some(ros1), None, &library(&[])).unwrap_err();
        assert!(
            matches!(error, TypeError::DefinitionDiffers { generation: Generation::Ros1, .. }),
            "{error}"
        );
    }

    #[test]
    fn type_of_a_bag_has_a_counterpart_in_the_other_generation() {
        let library = library(&[]);
        let schema = |generation: Generation, name: &str, text: &str| {
            Schema::from_full_text_in(generation, &TypeName::parse(name).unwrap(), text).unwrap()
        };
        let own = schema(Generation::Ros2, "own/Type", "int32 count\nbuiltin_interfaces/Time at\n");
        let pair = TypePair::of_schema(&own, &library, &Rules::default()).unwrap();
        assert_eq!(
            (pair.ros1.generation, pair.ros1.def.fields[0].name.as_str()),
            (Generation::Ros1, "count")
        );
        let log = library.message_in(Generation::Ros1, &TypeName::new("rosgraph_msgs", "Log")).unwrap();
        let pair = TypePair::of_schema(&log, &library, &Rules::default()).unwrap();
        assert_eq!(pair.ros2.def.name, TypeName::new("rcl_interfaces", "Log"));
    }

    #[test]
    fn types_that_do_not_correspond_are_named() {
        let error = find(
            Some(announced("std_msgs/String", "", "")),
            Some(announced("std_msgs/msg/Bool", "", "")),
            &library(&[]),
        );
        assert!(error.unwrap_err().to_string().contains("std_msgs/Bool"));
        let error = find(None, Some(announced("Square", "", "")), &library(&[])).unwrap_err();
        assert_eq!(error, TypeError::NotRos { name: "Square".into() });
    }

    #[test]
    fn built_in_rule_renames_log() {
        let pair = find(Some(announced("rosgraph_msgs/Log", "", "")), None, &library(&[])).unwrap();
        assert_eq!(pair.ros2.def.name, TypeName::new("rcl_interfaces", "Log"));
        let pair = find(None, Some(announced("tf2_msgs/msg/TFMessage", "", "")), &library(&[])).unwrap();
        assert_eq!(pair.ros1.def.name, TypeName::new("tf2_msgs", "TFMessage"));
    }
}
