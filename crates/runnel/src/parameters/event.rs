//! The message on `/parameter_events` for a change.

use runnel_core::time::Time;
use runnel_msgs::rcl_interfaces::msg;

use super::{Change, Parameter};

/// The topic of events.
pub(crate) const PARAMETER_EVENTS: &str = "/parameter_events";

/// The event of a change of a node's parameters; `None` if nothing changed.
pub(crate) fn event_message(node: &str, stamp: Time, change: &Change) -> Option<msg::ParameterEvent> {
    let messages = |parameters: &[Parameter]| -> Vec<msg::Parameter> {
        parameters.iter().map(Parameter::to_message).collect()
    };
    (*change != Change::default()).then(|| msg::ParameterEvent {
        stamp,
        node: node.to_owned(),
        new_parameters: messages(&change.new),
        changed_parameters: messages(&change.changed),
        deleted_parameters: messages(&change.deleted),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_names_node_and_values() {
        let change = Change {
            new: vec![Parameter::new("a", 1)],
            changed: vec![Parameter::new("b", "text")],
            deleted: vec![Parameter::new("c", true)],
        };
        let event = event_message("/robot/arm", Time::from_nanos(5), &change).expect("something changed");
        assert_eq!((event.node.as_str(), event.stamp), ("/robot/arm", Time::from_nanos(5)));
        assert_eq!(event.new_parameters[0].value.integer_value, 1);
        assert_eq!(event.changed_parameters[0].value.string_value, "text");
        assert_eq!(
            (event.deleted_parameters[0].name.as_str(), event.deleted_parameters[0].value.type_),
            ("c", 1)
        );
        assert_eq!(event_message("/a", Time::from_nanos(5), &Change::default()), None);
    }
}
