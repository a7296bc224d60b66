//! Messages that the user writes in YAML: on the command line, or as documents of standard input or a file.

use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::Schema;
use runnel::core::yaml::{self, YamlError, YamlErrorKind};
use runnel_io::clock;

use crate::error::CliError;

/// The message of typed values: one text for the whole, or one per field. `now` is the current time.
///
/// # Errors
/// When they do not describe a message of this type.
pub fn typed_message(schema: &Arc<Schema>, values: &[String]) -> Result<DynamicMessage, YamlError> {
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    yaml::from_yaml_args(schema, &values, clock::realtime())
}

/// Why values are not a message, a request or a goal, which `what` names; `see` says where its fields are shown.
pub fn wrong_values(what: &str, error: &YamlError, see: &str) -> String {
    match error.kind() {
        YamlErrorKind::Syntax(_) => format!("not YAML: {error}"),
        _ => format!("not a {what}: {error} (see {see})"),
    }
}

/// The documents of a source such as standard input. Another thread reads it, so that this one notices Ctrl-C.
pub fn documents<R: io::Read>(
    source: impl FnOnce() -> R + Send + 'static,
) -> Receiver<Result<String, CliError>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut lines = io::BufReader::new(source()).lines();
        while let Some(document) = next_document(&mut lines).transpose() {
            let failed = document.is_err();
            if sender.send(document).is_err() || failed {
                break;
            }
        }
    });
    receiver
}

/// The lines until the next `---` or the end, if any is not blank.
fn next_document(lines: &mut impl Iterator<Item = io::Result<String>>) -> Result<Option<String>, CliError> {
    let mut document = String::new();
    for line in lines {
        let line = line?;
        let ends = line.trim_end() == "---";
        if ends && !document.trim().is_empty() {
            return Ok(Some(document));
        }
        if !ends {
            document.push_str(&line);
            document.push('\n');
        }
        if document.len() > yaml::MAX_TEXT {
            return Err(CliError::Failed(format!("a document exceeds {} bytes", yaml::MAX_TEXT)));
        }
    }
    Ok(Some(document).filter(|document| !document.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(text: &str) -> Vec<String> {
        let mut lines = text.lines().map(|line| Ok(line.to_owned()));
        std::iter::from_fn(|| next_document(&mut lines).expect("lines can be read")).collect()
    }

    #[test]
    fn broken_yaml_is_named_as_such() {
        let schema =
            crate::types::Types::new(&[]).and_then(|types| types.message("std_msgs/Int8")).expect("built in");
        let wrong = |value: &str| {
            let error = typed_message(&schema, &[value.to_owned()]).expect_err("it is wrong");
            wrong_values("std_msgs/Int8", &error, "there")
        };
        assert!(wrong("{data: [").starts_with("not YAML: "), "{}", wrong("{data: ["));
        assert!(
            wrong("text").starts_with("not a std_msgs/Int8: ") && wrong("text").ends_with(" (see there)")
        );
    }

    #[test]
    fn documents_are_separated_by_rules() {
        assert_eq!(documents("a: 1\nb: 2\n---\nc: 3\n---\n"), ["a: 1\nb: 2\n", "c: 3\n"]);
        assert_eq!(documents("---\nx\n"), ["x\n"]);
        assert_eq!(documents("\n---\n \n---"), [""; 0]);
        assert_eq!(documents(""), [""; 0]);
    }
}
