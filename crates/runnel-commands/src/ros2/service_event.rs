//! The messages of service introspection: what a client or a server publishes about each call.
//!
//! Source: REP-2012 and `service_msgs/msg/ServiceEventInfo`.

use std::sync::Arc;

use runnel::core::schema::{Generation, Schema, ServiceSchema, parse};

use crate::error::CliError;
use crate::types::Types;

/// The names of the numbers of `event_type`.
pub const EVENTS: [&str; 4] = ["REQUEST_SENT", "REQUEST_RECEIVED", "RESPONSE_SENT", "RESPONSE_RECEIVED"];

/// The type of the events of a service, `X_Event`.
///
/// # Errors
/// When the types have no definition of what all events have.
pub fn event_schema(types: &Types, service: &ServiceSchema) -> Result<Arc<Schema>, CliError> {
    let info = types.message_in(Generation::Ros2, "service_msgs/msg/ServiceEventInfo")?;
    let [request, response] = [&service.request, &service.response];
    let name = service.name.with_suffix("_Event");
    let [request_type, response_type] = [request, response].map(|part| part.def.name.to_string());
    let text = format!(
        "service_msgs/ServiceEventInfo info\n{request_type}[<=1] request\n{response_type}[<=1] response\n"
    );
    let mut def = parse::parse_message(&name, &text, "event").map_err(CliError::failed)?;
    def.ros2_name = format!("{}_Event", service.ros2_name);
    Ok(Arc::new(Schema {
        generation: Generation::Ros2,
        def,
        parts: [info, Arc::clone(request), Arc::clone(response)].map(Some).into(),
        md5: service.md5.clone(),
        full_text: text,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel::core::schema::TypeName;

    /// The hash is the one that rclpy of Kilted announces for `/power/_service_event`.
    #[test]
    fn event_type_has_hash_of_original() {
        let types = Types::new(&[]).expect("no folder to read");
        let name = TypeName::new("std_srvs", "SetBool");
        let service = types.library().service_in(Generation::Ros2, &name).expect("built in");
        let event = event_schema(&types, &service).expect("it has a form in ROS 2");
        assert_eq!(event.def.dds_name(), "std_srvs::srv::dds_::SetBool_Event_");
        let hash = "RIHS01_3c4c20015afb4303eafd347b1d6a786f171a89c814726961a9593ef10df878cf";
        assert_eq!(event.rihs01().as_deref(), Some(hash));
    }
}
