//! Choice of graphs by the user, for programs that allow it.

use super::Graphs;
use crate::error::Error;

/// The variable that names the graphs.
pub(crate) const VARIABLE: &str = "RUNNEL_GRAPHS";

/// The values of the variable; with two hyphens before them, the arguments.
const WORDS: [(&str, Graphs); 3] = [("ros1", Graphs::Ros1), ("ros2", Graphs::Ros2), ("both", Graphs::Both)];

/// The graphs that arguments name, or else the variable, if one does, and the remaining arguments. Arguments behind
/// `--` are the program's own.
///
/// # Errors
/// If the variable has an unknown value.
pub(crate) fn chosen(
    arguments: Vec<String>,
    variable: Option<&str>,
) -> Result<(Option<Graphs>, Vec<String>), Error> {
    let named = variable.map(|text| of_word(text).ok_or_else(|| unknown(text))).transpose()?;
    let (mut by_argument, mut rest) = (None, Vec::new());
    let (mut in_ros_args, mut ended) = (false, false);
    for argument in arguments {
        let graphs = argument.strip_prefix("--").and_then(of_word).filter(|_| !ended);
        ended |= argument == "--" && !in_ros_args;
        in_ros_args = argument == "--ros-args" || in_ros_args && argument != "--";
        match graphs {
            Some(graphs) => by_argument = Some(graphs),
            None => rest.push(argument),
        }
    }
    Ok((by_argument.or(named), rest))
}

fn of_word(word: &str) -> Option<Graphs> {
    WORDS.iter().find(|(known, _)| *known == word).map(|(_, graphs)| *graphs)
}

fn unknown(text: &str) -> Error {
    let words = WORDS.map(|(word, _)| word).join(", ");
    Error::Environment { variable: VARIABLE, why: format!("{text:?} is unknown. Try: {words}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, variable: Option<&str>) -> (Option<Graphs>, String) {
        let arguments = line.split_whitespace().map(str::to_owned).collect();
        let (graphs, rest) = chosen(arguments, variable).expect("good words");
        (graphs, rest.join(" "))
    }

    #[test]
    fn argument_wins_over_the_variable() {
        assert_eq!(of("a --ros2 b:=c", Some("both")), (Some(Graphs::Ros2), "a b:=c".into()));
        assert_eq!(of("a", Some("both")), (Some(Graphs::Both), "a".into()));
        assert_eq!(of("a", None), (None, "a".into()));
        assert_eq!(
            of("--ros-args -r a:=b -- --ros1", None),
            (Some(Graphs::Ros1), "--ros-args -r a:=b --".into())
        );
        assert_eq!(of("-- --ros1", None), (None, "-- --ros1".into()));
    }

    #[test]
    fn unknown_graphs_are_refused() {
        let refused = chosen(Vec::new(), Some("ros3")).expect_err("no such graphs").to_string();
        assert_eq!(refused, "RUNNEL_GRAPHS: \"ros3\" is unknown. Try: ros1, ros2, both");
    }
}
