//! Types that ROS 2 makes of services and actions for topics: the events of services, and the feedback of actions.

use runnel::core::schema::{Generation, Schema, ServiceSchema, TypeDescription, TypeName};

use crate::ros2::event_schema;
use crate::types::Types;

/// A type that follows from a service or an action that is known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedType {
    /// Its type hash.
    pub hash: Option<String>,
    /// Its definition with all that it depends on.
    pub full_text: String,
}

/// The type of this name, such as `std_srvs/srv/SetBool_Event` or `example_interfaces/action/Fibonacci_FeedbackMessage`.
pub fn derived_type(types: &Types, name: &str) -> Option<DerivedType> {
    let parsed = TypeName::parse(name)?;
    let without = |suffix: &str| {
        let base = parsed.name.strip_suffix(suffix)?;
        Some(TypeName::new(&parsed.package, base))
    };
    let library = types.library();
    let service_of_action = |suffix: &str, position: usize| {
        let services = library.action_services_in(Generation::Ros2, &without(suffix)?).ok()?;
        services.into_iter().nth(position)
    };
    match name.split('/').nth(1)? {
        "srv" => event(types, name, &library.service_in(Generation::Ros2, &without("_Event")?).ok()?),
        "action" => {
            if let Some(action) = without("_FeedbackMessage") {
                let message =
                    library.message_in(Generation::Ros2, &action.with_suffix("FeedbackMessage")).ok()?;
                return Some(DerivedType { hash: message.rihs01(), full_text: message.full_text.clone() });
            }
            let service = service_of_action("_SendGoal_Event", 0);
            event(types, name, &service.or_else(|| service_of_action("_GetResult_Event", 1))?)
        }
        _ => None,
    }
}

/// The type of the events of a service.
fn event(types: &Types, name: &str, service: &ServiceSchema) -> Option<DerivedType> {
    let hash = event_schema(types, service).ok()?.rihs01();
    let [request, response] = [&service.request.full_text, &service.response.full_text];
    let described = TypeDescription::of_service_event(&service.ros2_name, request, response).ok()?;
    let all = [&[described.own][..], &described.referenced].concat();
    let full_text = Schema::from_description(name, &all).ok()?.full_text.clone();
    Some(DerivedType { hash, full_text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_feedback_follow_from_services_and_actions() {
        let types = Types::new(&[]).expect("no folder to read");
        let derived =
            |name: &str| derived_type(&types, name).unwrap_or_else(|| panic!("{name} is not known"));
        // The hash is the one that rclpy of Kilted announces.
        let hash = "RIHS01_3c4c20015afb4303eafd347b1d6a786f171a89c814726961a9593ef10df878cf";
        assert_eq!(derived("std_srvs/srv/SetBool_Event").hash.as_deref(), Some(hash));
        for (name, fields) in [
            ("std_srvs/srv/SetBool_Event", &["info", "request", "response"][..]),
            ("action_msgs/srv/CancelGoal_Event", &["info", "request", "response"]),
            ("example_interfaces/action/Fibonacci_SendGoal_Event", &["info", "request", "response"]),
            ("example_interfaces/action/Fibonacci_GetResult_Event", &["info", "request", "response"]),
            ("example_interfaces/action/Fibonacci_FeedbackMessage", &["goal_id", "feedback"]),
        ] {
            let text = derived(name).full_text;
            let parsed = TypeName::parse(name).expect("a name");
            let schema =
                Schema::from_full_text_in(Generation::Ros2, &parsed, &text).expect("a whole definition");
            let names: Vec<&str> = schema.def.fields.iter().map(|field| field.name.as_str()).collect();
            assert_eq!(names, fields, "{text}");
        }
        for other in
            ["std_msgs/msg/String", "std_srvs/srv/SetBool", "a/srv/B_Event", "a/action/B_FeedbackMessage"]
        {
            assert_eq!(derived_type(&types, other), None, "{other}");
        }
    }
}
