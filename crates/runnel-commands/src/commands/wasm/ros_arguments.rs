//! The ROS arguments of a checkpoint.

use std::fmt;

/// Names and parameters that the arguments of a checkpoint give to a node. What chooses masters, addresses and files of the
/// host is left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RosArguments {
    /// As in ROS 1: `NAME:=VALUE`. The last one of a name counts.
    assignments: Vec<String>,
    /// As in ROS 2, after `--ros-args`: flags and values. The first one of a name counts.
    flags: Vec<String>,
}

impl RosArguments {
    /// Those of a checkpoint.
    pub fn of_checkpoint(all: &[String]) -> Self {
        let mut kept = Self::default();
        let (mut words, mut is_in_ros2) = (all.iter(), false);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--ros-args" => is_in_ros2 = true,
                "--" => is_in_ros2 = false,
                "-r" | "--remap" | "-p" | "--param" if is_in_ros2 => {
                    kept.flags.extend(
                        words.next().map(|value| [word.clone(), value.clone()]).into_iter().flatten(),
                    );
                }
                _ if !is_in_ros2 && is_kept_assignment(word) => kept.assignments.push(word.clone()),
                _ => {}
            }
        }
        kept
    }

    pub fn is_empty(&self) -> bool {
        self.assignments.is_empty() && self.flags.is_empty()
    }

    /// All arguments of a context: these, and those of the process, which count more.
    pub fn before(self, process: Vec<String>) -> Vec<String> {
        // Those of the process may end within `--ros-args`.
        let close = || "--".to_owned();
        let flags = if self.flags.is_empty() {
            Vec::new()
        } else {
            [vec![close(), "--ros-args".to_owned()], self.flags, vec![close()]].concat()
        };
        [self.assignments, process, flags].concat()
    }
}

/// Whether an argument gives a name, a namespace or a parameter.
fn is_kept_assignment(word: &str) -> bool {
    let name = word.split_once(":=").map(|(name, _)| name);
    name.is_some_and(|name| ["__name", "__ns"].contains(&name) || !name.starts_with("__"))
}

impl fmt::Display for RosArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&[self.assignments.as_slice(), self.flags.as_slice()].concat().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn only_names_and_parameters_are_kept() {
        let all = "a:=b __log:=/etc/passwd __ns:=/robot __master:=http://far:1 --ros-args --params-file /f -p x:=1 \
                   --log-file-name y -r c:=d -- _p:=2 __ip:=1.2.3.4 --ros-args -r";
        let kept = RosArguments::of_checkpoint(&words(all));
        assert_eq!(kept.to_string(), "a:=b __ns:=/robot _p:=2 -p x:=1 -r c:=d");
    }

    #[test]
    fn arguments_of_the_process_count_more() {
        let kept = RosArguments::of_checkpoint(&words("a:=b --ros-args -p x:=1"));
        let all = kept.before(words("restore file --ros-args -p x:=2"));
        assert_eq!(all.join(" "), "a:=b restore file --ros-args -p x:=2 -- --ros-args -p x:=1 --");
    }
}
