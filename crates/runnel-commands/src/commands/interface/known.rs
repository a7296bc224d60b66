//! Filters of the known types: kinds, and generations.

use std::collections::BTreeSet;

use runnel::core::schema::{Generation, Kind, TypeName};

use crate::error::CliError;
use crate::originals::command_line::{INTERFACE_PACKAGES, definitions_advice};
use crate::types::{Types, spelt};

/// One generation, if the user restricts the search.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Only {
    /// Only ROS 1 types
    #[arg(long, conflicts_with = "ros2")]
    ros1: bool,

    /// Only ROS 2 types
    #[arg(long)]
    ros2: bool,
}

impl Only {
    /// The requested generation, if there is one.
    pub fn generation(self) -> Option<Generation> {
        match self {
            Self { ros1: true, .. } => Some(Generation::Ros1),
            Self { ros2: true, .. } => Some(Generation::Ros2),
            _ => None,
        }
    }

    /// The names of the wanted types of a kind, as their generation spells them. Types of both generations are spelt
    /// as in ROS 2, unless only ROS 1 is wanted.
    pub fn names(self, types: &Types, kind: Kind) -> Vec<(&TypeName, String)> {
        let ros2: BTreeSet<&TypeName> = match self.ros1 {
            true => BTreeSet::new(),
            false => types.names_in(Generation::Ros2, kind).collect(),
        };
        let names = match self.generation() {
            Some(generation) => types.names_in(generation, kind).collect(),
            None => types.every_name(kind),
        };
        let generation = |name| if ros2.contains(name) { Generation::Ros2 } else { Generation::Ros1 };
        names.into_iter().map(|name| (name, spelt(generation(name), kind, name))).collect()
    }

    /// All packages with such types.
    pub fn packages(self, types: &Types, kinds: &[Kind]) -> BTreeSet<String> {
        let names = kinds.iter().flat_map(|kind| self.names(types, *kind));
        names.map(|(name, _)| name.package.clone()).collect()
    }

    /// Checks that a package is known.
    ///
    /// # Errors
    /// When no type of it is known.
    pub fn check(self, types: &Types, package: &str) -> Result<(), CliError> {
        if self.packages(types, &Kind::ALL).contains(package) {
            return Ok(());
        }
        let generation = self.generation().map_or("", |only| match only {
            Generation::Ros1 => " in ROS 1",
            Generation::Ros2 => " in ROS 2",
        });
        let text = format!("no package {package} is known{generation} (see '{INTERFACE_PACKAGES}')");
        Err(CliError::Failed(format!("{text}. {}", definitions_advice())))
    }
}

/// Kinds of types.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Kinds {
    /// Only messages
    #[arg(short = 'm', long)]
    only_msgs: bool,

    /// Only services
    #[arg(short = 's', long)]
    only_srvs: bool,

    /// Only actions
    #[arg(short = 'a', long)]
    only_actions: bool,
}

impl Kinds {
    /// The requested kinds; all if none is named.
    pub fn wanted(self) -> Vec<Kind> {
        let wanted = [self.only_msgs, self.only_srvs, self.only_actions];
        let all = !wanted.contains(&true);
        Kind::ALL.into_iter().zip(wanted).filter(|(_, wanted)| all || *wanted).map(|(kind, _)| kind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Only = Only { ros1: false, ros2: false };
    const ROS1: Only = Only { ros1: true, ros2: false };
    const ROS2: Only = Only { ros1: false, ros2: true };

    fn names(only: Only, kind: Kind) -> Vec<String> {
        let types = Types::new(&[]).expect("no folder to read");
        only.names(&types, kind).into_iter().map(|(_, name)| name).collect()
    }

    fn has(only: Only, kind: Kind, name: &str) -> bool {
        names(only, kind).iter().any(|known| known == name)
    }

    #[test]
    fn types_of_both_generations_are_listed_once() {
        for (name, [in_both, in_ros1, in_ros2]) in [
            ("std_msgs/msg/String", [true, false, true]),
            ("std_msgs/String", [false, true, false]),
            ("roscpp/Logger", [true, true, false]),
            ("rcl_interfaces/msg/Log", [true, false, true]),
            ("rcl_interfaces/Log", [false, false, false]),
        ] {
            let known = [BOTH, ROS1, ROS2].map(|only| has(only, Kind::Message, name));
            assert_eq!(known, [in_both, in_ros1, in_ros2], "{name}");
        }
        assert!(has(BOTH, Kind::Service, "std_srvs/srv/SetBool"));
        assert!(has(ROS2, Kind::Action, "tf2_msgs/action/LookupTransform"));
    }

    #[test]
    fn action_parts_are_messages_only_in_ros_1() {
        let part = |only| names(only, Kind::Message).iter().any(|name| name.contains("LookupTransform"));
        assert_eq!([part(ROS1), part(ROS2)], [true, false]);
        assert!(has(BOTH, Kind::Message, "tf2_msgs/LookupTransformGoal"));
        assert!(has(ROS1, Kind::Message, "actionlib/TestActionGoal"));
        for made_by_ros2 in ["actionlib/TestFeedbackMessage", "tf2_msgs/LookupTransformGetResultRequest"] {
            assert!(![BOTH, ROS1, ROS2].iter().any(|only| has(*only, Kind::Message, made_by_ros2)));
        }
    }

    #[test]
    fn packages_are_known_by_generation() {
        let types = Types::new(&[]).expect("no folder to read");
        let known = |package: &str| [BOTH, ROS1, ROS2].map(|only| only.check(&types, package).is_ok());
        assert_eq!(known("std_msgs"), [true, true, true]);
        assert_eq!(known("roscpp"), [true, true, false]);
        assert_eq!(known("lifecycle_msgs"), [true, false, true]);
        assert_eq!(known("no_msgs"), [false, false, false]);
        assert!(!BOTH.packages(&types, &[Kind::Action]).contains("std_msgs"));
    }
}
