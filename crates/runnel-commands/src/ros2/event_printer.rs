//! Output of `service echo` and `action echo`: events of service introspection, and topics of actions.

use runnel::core::dynamic::{DynamicMessage, ValueRef};
use runnel::core::schema::Generation;
use runnel::core::yaml;
use serde_json::json;

use super::service_event::EVENTS;
use crate::error::CliError;
use crate::output::Output;
use crate::python_yaml::{PrintOptions, to_csv, tree};

/// The form of the output.
#[derive(Clone, Debug, clap::Args)]
pub struct EventForm {
    /// Print values on one line, separated by commas
    #[arg(long)]
    csv: bool,

    /// Do not print the elements of arrays
    #[arg(long)]
    no_arr: bool,

    /// Do not print strings
    #[arg(long)]
    no_str: bool,

    /// Print long arrays and strings completely
    #[arg(short, long)]
    full_length: bool,

    /// Print this many elements of an array and characters of a string
    #[arg(short = 'l', long, value_name = "LENGTH", default_value_t = 128, conflicts_with = "full_length")]
    truncate_length: usize,
}

/// Prints messages in this form.
#[derive(Clone, Copy, Debug)]
pub struct EventPrinter {
    output: Output,
    options: PrintOptions,
    csv: bool,
}

impl EventForm {
    /// A printer of this form.
    pub fn printer(&self, output: Output) -> EventPrinter {
        let options = PrintOptions {
            generation: Generation::Ros2,
            no_arr: self.no_arr,
            no_str: self.no_str,
            truncate: (!self.full_length).then_some(self.truncate_length),
        };
        EventPrinter { output, options, csv: self.csv }
    }
}

impl EventPrinter {
    /// Prints an event or another message. `interface` names the part of an action that it belongs to.
    ///
    /// # Errors
    /// When the output is closed.
    pub fn print(&self, interface: Option<&str>, message: &DynamicMessage) -> Result<(), CliError> {
        if self.output.json {
            let mut value = yaml::to_json_in(Generation::Ros2, message);
            if let Some(event) = event_name(message) {
                value["info"]["event_type"] = json!(event);
            }
            return self.output.json(&match interface {
                Some(interface) => json!({ "interface": interface, "message": value }),
                None => value,
            });
        }
        let heading = interface.map_or_else(String::new, |interface| format!("interface: {interface}\n"));
        self.output.paragraph(&(heading + &self.text(message)))
    }

    fn text(&self, message: &DynamicMessage) -> String {
        if self.csv {
            return to_csv(message, self.options);
        }
        let text = tree(message, self.options).block() + "---";
        match (event_name(message), text.split_once("event_type: ")) {
            (Some(event), Some((before, after))) => {
                let rest = after.split_once('\n').map_or("", |(_, rest)| rest);
                format!("{before}event_type: {event}\n{rest}")
            }
            _ => text,
        }
    }
}

/// The name of what the message is an event about; `None` if it is no event.
fn event_name(message: &DynamicMessage) -> Option<&'static str> {
    let Ok(ValueRef::UInt(number)) = message.get("info.event_type") else { return None };
    EVENTS.get(usize::try_from(number).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::typed_message;
    use crate::ros2::event_schema;
    use crate::types::Types;
    use runnel::core::schema::TypeName;

    #[test]
    fn event_has_name_instead_of_number() {
        let types = Types::new(&[]).expect("no folder to read");
        let name = TypeName::new("std_srvs", "SetBool");
        let service = types.library().service_in(Generation::Ros2, &name).expect("built in");
        let schema = event_schema(&types, &service).expect("it has a form in ROS 2");
        let values = "{info: {event_type: 2, stamp: {sec: 1, nanosec: 2}, sequence_number: 7}, \
                      response: [{success: true, message: 'event_type: 1'}]}";
        let event = typed_message(&schema, &[values.to_owned()]).expect("good values");
        let form =
            EventForm { csv: false, no_arr: false, no_str: false, full_length: false, truncate_length: 2 };
        let printer = form.printer(Output { json: false });
        let expected = "info:\n  event_type: RESPONSE_SENT\n  stamp:\n    sec: 1\n    nanosec: 2\n  client_gid:\n  \
                        - 0\n  - 0\n  - '...'\n  sequence_number: 7\nrequest: []\nresponse:\n- success: true\n  \
                        message: ev...\n---";
        assert_eq!(printer.text(&event), expected);
        let printer = EventForm { csv: true, ..form }.printer(Output { json: false });
        assert!(printer.text(&event).starts_with("2,1,2,0,0,"), "{}", printer.text(&event));
    }
}
