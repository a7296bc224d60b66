//! Diagnostics of `topic echo` about messages that it skips, for its own options and those of ROS 2.

use runnel::core::dynamic::{DynamicError, DynamicErrorKind};

use crate::error::CliError;

/// Diagnostics about skipped messages. Some are given only once.
#[derive(Default)]
pub struct Diagnostics {
    /// Already given: a message has too few elements for the index that the user typed.
    too_short: bool,
    /// Already given: a message has a wstring in an element of a list.
    wide: bool,
}

impl Diagnostics {
    /// The line about a skipped message; `None` if the same was said about another.
    ///
    /// # Errors
    /// When no message of the type can be printed.
    pub fn line(
        &mut self,
        type_name: &str,
        publisher: &str,
        error: &DynamicError,
    ) -> Result<Option<String>, CliError> {
        use DynamicErrorKind::{BadPath, NoForm, NoParts, NoSuchElement, NoSuchField, SchemaMissing};
        let line = || format!("message of publisher {publisher}: {error}");
        let further = || line() + "; further such messages are skipped silently";
        match error.kind() {
            BadPath | NoParts { .. } | NoSuchField { .. } | SchemaMissing { .. } => {
                Err(CliError::failed(error))
            }
            NoForm(_) if error.path().contains('[') => Ok(once(&mut self.wide).then(further)),
            NoForm(_) => Err(CliError::Failed(format!(
                "messages of type {type_name} cannot be read: field {} is a wstring, which ROS 2 programs encode in \
                     different ways",
                error.path()
            ))),
            NoSuchElement { .. } => Ok(once(&mut self.too_short).then(further)),
            _ => Ok(Some(line())),
        }
    }
}

/// True the first time.
fn once(said: &mut bool) -> bool {
    !std::mem::replace(said, true)
}

#[cfg(test)]
mod tests {
    use runnel::core::dynamic::DynamicMessage;
    use runnel::core::schema::{Kind, Library, TypeName};

    use super::*;

    #[test]
    fn undecodable_type_is_an_error() {
        let mut library = Library::default();
        let name = TypeName::new("a", "Wide");
        library.add_text(Kind::Message, name.clone(), "wstring text", "Wide.msg");
        let error = undecodable(&library, &name, &[0, 1, 0, 0, 0, 0, 0, 0]);
        let ended = Diagnostics::default().line("a/msg/Wide", "/p", &error).expect_err("none is readable");
        let expected = "messages of type a/msg/Wide cannot be read: field text is a wstring, which ROS 2 programs encode in \
                                different ways";
        assert_eq!(ended.to_string(), expected);
    }

    #[test]
    fn undecodable_element_is_reported_once() {
        let mut library = Library::default();
        let name = TypeName::new("a", "Many");
        library.add_text(Kind::Message, TypeName::new("a", "Wide"), "wstring text", "Wide.msg");
        library.add_text(Kind::Message, name.clone(), "Wide[] parts", "Many.msg");
        let error = undecodable(&library, &name, &[0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        let mut diagnostics = Diagnostics::default();
        let mut line = || diagnostics.line("a/msg/Many", "/p", &error).expect("others are readable");
        assert!(line().is_some_and(|line| line.contains("parts[0].text") && line.contains("skipped")));
        assert_eq!(line(), None);
    }

    /// Why a message cannot be decoded.
    fn undecodable(library: &Library, name: &TypeName, payload: &[u8]) -> DynamicError {
        let schema = library.message(name).expect("sound");
        DynamicMessage::decode_payload(&schema, payload).expect_err("it has no form")
    }
}
