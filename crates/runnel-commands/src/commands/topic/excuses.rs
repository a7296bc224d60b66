//! What is said of messages that are not printed.

use runnel::core::dynamic::{DynamicError, DynamicErrorKind};

use crate::error::CliError;

/// What has been said of them.
#[derive(Default)]
pub struct Excuses {
    /// A message was too short for the index that the user typed.
    too_short: bool,
    /// A message had a wstring in an element of a list, which others may have none of.
    wide: bool,
}

impl Excuses {
    /// What is to be said of a message that is passed over; nothing if it was said of another.
    ///
    /// # Errors
    /// When no other message of its type would do.
    pub fn of(
        &mut self,
        type_name: &str,
        publisher: &str,
        error: &DynamicError,
    ) -> Result<Option<String>, CliError> {
        use DynamicErrorKind::{BadPath, NoForm, NoParts, NoSuchElement, NoSuchField, SchemaMissing};
        let line = || format!("message of publisher {publisher}: {error}");
        let of_others = || line() + "; messages of which that is true are passed over from here on";
        match error.kind() {
            BadPath | NoParts { .. } | NoSuchField { .. } | SchemaMissing { .. } => {
                Err(CliError::failed(error))
            }
            NoForm(_) if error.path().contains('[') => Ok(once(&mut self.wide).then(of_others)),
            NoForm(_) => Err(CliError::Failed(format!(
                "messages of type {type_name} cannot be read: field {} is a wstring, of which the programs of ROS 2 \
                 send different forms",
                error.path()
            ))),
            NoSuchElement { .. } => Ok(once(&mut self.too_short).then(of_others)),
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
    fn a_type_that_no_message_of_which_can_be_read_ends_it_in_words_for_who_looks_on() {
        let mut library = Library::default();
        let name = TypeName::new("a", "Wide");
        library.add_text(Kind::Message, name.clone(), "wstring text", "Wide.msg");
        let error = undecodable(&library, &name, &[0, 1, 0, 0, 0, 0, 0, 0]);
        let ended = Excuses::default().of("a/msg/Wide", "/p", &error).expect_err("no other will do");
        let expected = "messages of type a/msg/Wide cannot be read: field text is a wstring, of which the programs of \
                        ROS 2 send different forms";
        assert_eq!(ended.to_string(), expected);
    }

    #[test]
    fn a_message_with_such_an_element_is_passed_over_and_that_is_said_once() {
        let mut library = Library::default();
        let name = TypeName::new("a", "Many");
        library.add_text(Kind::Message, TypeName::new("a", "Wide"), "wstring text", "Wide.msg");
        library.add_text(Kind::Message, name.clone(), "Wide[] parts", "Many.msg");
        let error = undecodable(&library, &name, &[0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        let mut excuses = Excuses::default();
        let mut said = || excuses.of("a/msg/Many", "/p", &error).expect("another may do");
        assert!(said().is_some_and(|line| line.contains("parts[0].text") && line.contains("passed over")));
        assert_eq!(said(), None);
    }

    /// Why a message cannot be decoded.
    fn undecodable(library: &Library, name: &TypeName, payload: &[u8]) -> DynamicError {
        let schema = library.message(name).expect("sound");
        DynamicMessage::decode_payload(&schema, payload).expect_err("it has no form")
    }
}
