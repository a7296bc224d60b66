//! Definitions of the type of a service or an action in both generations, from what its server announces.

use std::sync::Arc;

use runnel_core::schema::{
    ActionSchema, Generation, Kind, Library, ResolveError, Schema, ServiceSchema, TypeName,
};

use crate::rules::Rules;
use crate::type_pair::TypeError;

/// The type of a service or an action as its server announces it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnouncedServer {
    /// Its name, in the spelling of either generation.
    pub name: String,
    /// In ROS 1 the MD5 sum. In ROS 2 the type hashes of request and response: for an action, those of the request and the
    /// response that send a goal. Unknown ones are empty.
    pub sums: Vec<String>,
}

/// The definitions of corresponding service types.
#[derive(Debug, PartialEq)]
pub struct ServiceTypes {
    /// The definition in ROS 1.
    pub ros1: ServiceSchema,
    /// The definition in ROS 2.
    pub ros2: ServiceSchema,
}

/// The definitions of corresponding action types.
#[derive(Debug, PartialEq)]
pub struct ActionTypes {
    /// The definition in ROS 1.
    pub ros1: Arc<ActionSchema>,
    /// The definition in ROS 2.
    pub ros2: Arc<ActionSchema>,
}

impl AnnouncedServer {
    fn type_name(&self) -> Result<TypeName, TypeError> {
        TypeName::parse(&self.name).ok_or_else(|| TypeError::NotRos { name: self.name.clone() })
    }

    /// The first sum that differs from that of a known definition, with that sum.
    fn difference(&self, known: Vec<String>) -> Option<(String, String)> {
        let announced = self.sums.iter().cloned();
        announced
            .zip(known)
            .find(|(announced, known)| !matches!(&**announced, "" | "*") && announced != known)
    }
}

impl ServiceTypes {
    /// The definitions for the type that a server of this generation announces.
    ///
    /// # Errors
    /// If a definition is missing or not that of the server.
    pub fn find(
        generation: Generation,
        announced: &AnnouncedServer,
        library: &Library,
        rules: &Rules,
    ) -> Result<Self, TypeError> {
        let name = announced.type_name()?;
        let counterparts = rules.counterparts(Kind::Service, generation, &name);
        let own = match library.service_in(generation, &name) {
            Ok(own) => {
                check(generation, announced, &name, service_sums(&own))?;
                own
            }
            Err(error) => same_as_counterpart(generation, announced, library, &counterparts)
                .map(|schema| ServiceSchema { name: name.clone(), ..schema })
                .ok_or_else(|| unknown(generation, &name, &error))?,
        };
        let other = first_known(other_than(generation), &counterparts, |generation, name| {
            library.service_in(generation, name)
        })?;
        Ok(match generation {
            Generation::Ros1 => Self { ros1: own, ros2: other },
            Generation::Ros2 => Self { ros1: other, ros2: own },
        })
    }
}

impl ActionTypes {
    /// The definitions for the type that a server of this generation announces.
    ///
    /// # Errors
    /// If a definition is missing or not that of the server.
    pub fn find(
        generation: Generation,
        announced: &AnnouncedServer,
        library: &Library,
        rules: &Rules,
    ) -> Result<Self, TypeError> {
        let name = announced.type_name()?;
        let own = library.action_in(generation, &name).map_err(|error| unknown(generation, &name, &error))?;
        if generation == Generation::Ros2 {
            let services = library.action_services_in(generation, &name);
            let [send_goal, _] = services.map_err(|error| unknown(generation, &name, &error))?;
            check(generation, announced, &name, service_sums(&send_goal))?;
        }
        let counterparts = rules.counterparts(Kind::Action, generation, &name);
        let find = |generation: Generation, name: &TypeName| library.action_in(generation, name);
        let other = first_known(other_than(generation), &counterparts, find)?;
        let [own, other] = [own, other].map(Arc::new);
        Ok(match generation {
            Generation::Ros1 => Self { ros1: own, ros2: other },
            Generation::Ros2 => Self { ros1: other, ros2: own },
        })
    }
}

fn other_than(generation: Generation) -> Generation {
    match generation {
        Generation::Ros1 => Generation::Ros2,
        Generation::Ros2 => Generation::Ros1,
    }
}

/// The MD5 sum of a service in ROS 1, the type hashes of its messages in ROS 2.
fn service_sums(schema: &ServiceSchema) -> Vec<String> {
    let hash = |message: &Schema| message.rihs01().unwrap_or_default();
    match schema.generation {
        Generation::Ros1 => vec![schema.md5.clone()],
        Generation::Ros2 => vec![hash(&schema.request), hash(&schema.response)],
    }
}

fn check(
    generation: Generation,
    announced: &AnnouncedServer,
    name: &TypeName,
    known: Vec<String>,
) -> Result<(), TypeError> {
    match announced.difference(known) {
        None => Ok(()),
        Some((announced, known)) => {
            Err(TypeError::DefinitionDiffers { generation, name: name.clone(), announced, known })
        }
    }
}

/// The MD5 sum of a ROS 1 service does not depend on its name. So a counterpart with the same sum has its definition.
fn same_as_counterpart(
    generation: Generation,
    announced: &AnnouncedServer,
    library: &Library,
    counterparts: &[TypeName],
) -> Option<ServiceSchema> {
    if generation != Generation::Ros1 || announced.sums.is_empty() {
        return None;
    }
    let known = counterparts.iter().filter_map(|name| library.service_in(generation, name).ok());
    known.into_iter().find(|schema| announced.sums == [schema.md5.clone()])
}

/// The first counterpart with a definition.
fn first_known<S>(
    generation: Generation,
    counterparts: &[TypeName],
    find: impl Fn(Generation, &TypeName) -> Result<S, ResolveError>,
) -> Result<S, TypeError> {
    let mut first_error = None;
    for name in counterparts {
        match find(generation, name) {
            Ok(schema) => return Ok(schema),
            Err(error) => {
                first_error.get_or_insert_with(|| unknown(generation, name, &error));
            }
        }
    }
    Err(first_error.unwrap_or_else(|| TypeError::NotRos { name: String::new() }))
}

fn unknown(generation: Generation, name: &TypeName, error: &ResolveError) -> TypeError {
    TypeError::Unknown { generation, name: name.clone(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(name: &str, sums: &[&str]) -> AnnouncedServer {
        AnnouncedServer { name: name.to_owned(), sums: sums.iter().map(|sum| (*sum).to_owned()).collect() }
    }

    const MAPPED: &str = "[{ros1_package_name: old_msgs, ros1_service_name: Add, \
                          ros2_package_name: example_interfaces, ros2_service_name: AddTwoInts}]";

    #[test]
    fn service_of_a_standard_package_has_both_definitions() {
        let (library, rules) = (runnel_msgs::library(), Rules::default());
        for generation in Generation::ALL {
            let name = TypeName::new("std_srvs", "SetBool");
            let known = library.service_in(generation, &name).unwrap();
            let sums = service_sums(&known);
            let server = AnnouncedServer { name: "std_srvs/srv/SetBool".into(), sums };
            let types = ServiceTypes::find(generation, &server, &library, &rules).unwrap();
            assert_eq!(types.ros1.generation, Generation::Ros1);
            assert_eq!(types.ros2, library.service_in(Generation::Ros2, &name).unwrap());
        }
    }

    #[test]
    fn server_with_another_definition_is_refused() {
        let (library, rules) = (runnel_msgs::library(), Rules::default());
        let server = announced("std_srvs/SetBool", &["0123"]);
        let error = ServiceTypes::find(Generation::Ros1, &server, &library, &rules).unwrap_err();
        assert!(matches!(error, TypeError::DefinitionDiffers { .. }), "{error}");
        let server = announced("std_srvs/srv/SetBool", &["", "RIHS01_0"]);
        let error = ServiceTypes::find(Generation::Ros2, &server, &library, &rules).unwrap_err();
        assert!(matches!(error, TypeError::DefinitionDiffers { .. }), "{error}");
        let server = announced("no_such/Service", &["0123"]);
        let error = ServiceTypes::find(Generation::Ros1, &server, &library, &rules).unwrap_err();
        assert!(matches!(error, TypeError::Unknown { .. }), "{error}");
    }

    #[test]
    fn unknown_ros1_service_is_recognized_by_the_sum_of_its_counterpart() {
        let (library, mut rules) = (runnel_msgs::library(), Rules::default());
        rules.add(MAPPED).unwrap();
        let name = TypeName::new("example_interfaces", "AddTwoInts");
        let known = library.service_in(Generation::Ros1, &name).unwrap();
        let server = announced("old_msgs/Add", &[&known.md5]);
        let types = ServiceTypes::find(Generation::Ros1, &server, &library, &rules).unwrap();
        assert_eq!((types.ros1.name.to_string().as_str(), &types.ros2.name), ("old_msgs/Add", &name));
        let server = announced("old_msgs/Add", &["0123"]);
        assert!(ServiceTypes::find(Generation::Ros1, &server, &library, &rules).is_err());
    }

    #[test]
    fn action_has_both_definitions() {
        let (library, rules) = (runnel_msgs::library(), Rules::default());
        let name = TypeName::new("example_interfaces", "Fibonacci");
        let [send_goal, _] = library.action_services_in(Generation::Ros2, &name).unwrap();
        let server = AnnouncedServer {
            name: "example_interfaces/action/Fibonacci".into(),
            sums: service_sums(&send_goal),
        };
        let types = ActionTypes::find(Generation::Ros2, &server, &library, &rules).unwrap();
        assert_eq!((&types.ros1.name, types.ros1.goal.generation), (&name, Generation::Ros1));
        let other = announced("example_interfaces/action/Fibonacci", &["RIHS01_0"]);
        assert!(ActionTypes::find(Generation::Ros2, &other, &library, &rules).is_err());
        let server = announced("example_interfaces/Fibonacci", &[]);
        assert!(ActionTypes::find(Generation::Ros1, &server, &library, &rules).is_ok());
    }
}
