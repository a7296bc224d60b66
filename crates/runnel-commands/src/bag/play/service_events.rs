//! Recorded calls of services: the events that clients and servers publish on `SERVICE/_service_event`.
//!
//! Source: REP-2012 and `service_msgs/msg/ServiceEventInfo`.

use std::sync::Arc;

use runnel::core::schema::{Generation, ResolveError, Schema, ServiceSchema, TypeName};
use runnel_bag::{Channel, Encoding};

use super::action_names;
use crate::bag::record::has_sum;
use crate::bag::service_topics::ServiceTopic;
use crate::ros2::event_schema;
use crate::types::Types;

/// The types of a service whose calls are recorded.
pub struct EventTypes {
    /// The service.
    pub service: Arc<ServiceSchema>,
    /// Its events.
    pub event: Arc<Schema>,
}

/// Whether a channel has such events.
pub fn are_in(channel: &Channel) -> bool {
    channel.encoding == Encoding::Cdr && ServiceTopic::of(channel).is_some()
}

/// The types of the service and of its events: as they are known here, or as the bag defines them.
///
/// # Errors
/// Why they are not known.
pub fn types(channel: &Channel, types: &Types) -> Result<EventTypes, String> {
    let topic = ServiceTopic::of(channel).ok_or("it has no events of a service")?;
    let name = TypeName::parse(&topic.type_name)
        .ok_or_else(|| format!("type {} is not that of a service", topic.type_name))?;
    let sum = channel.type_hash.as_deref().unwrap_or_default();
    let complete = |service: ServiceSchema| {
        let event = event_schema(types, &service).map_err(|error| error.to_string())?;
        Ok::<_, String>(EventTypes { service: Arc::new(service), event })
    };
    let known = known(&topic, &name, types).map_err(|error| error.to_string()).and_then(complete);
    if known.as_ref().is_ok_and(|known| has_sum(&known.event, sum)) {
        return known;
    }
    let defined = defined(channel, &name, &topic.type_name).ok_or_else(|| match &known {
        Ok(_) => format!(
            "the bag does not define its type {}, and the definition known here is another one",
            channel.type_name
        ),
        Err(why) => format!("the bag does not define its type, and {why}"),
    })?;
    let defined = complete(defined)?;
    match has_sum(&defined.event, sum) {
        true => Ok(defined),
        false => Err(format!("the definition of {} in the bag is not that of its hash", channel.type_name)),
    }
}

/// The service as it is known here. Those of an action follow from it.
fn known(topic: &ServiceTopic, name: &TypeName, types: &Types) -> Result<ServiceSchema, ResolveError> {
    let action = topic.action().and_then(|action| TypeName::parse(&action.type_name?));
    let Some(action) = action else { return types.library().service_in(Generation::Ros2, name) };
    let [send_goal, get_result] = types.library().action_services_in(Generation::Ros2, &action)?;
    Ok(if topic.type_name == send_goal.ros2_name { send_goal } else { get_result })
}

/// The service from the definition of its events in the bag.
fn defined(channel: &Channel, name: &TypeName, ros2_name: &str) -> Option<ServiceSchema> {
    let text = std::str::from_utf8(&channel.schema.data).ok()?;
    let event = Schema::from_full_text_in(Generation::Ros2, &name.with_suffix("_Event"), text).ok()?;
    let half = |field: &str, suffix: &str| {
        let position = event.def.fields.iter().position(|one| one.name == field)?;
        // Messages and halves of services have the same form in definitions, but not the same names.
        Some(action_names::named(event.parts.get(position)?.as_ref()?, &format!("{ros2_name}_{suffix}")))
    };
    Some(ServiceSchema {
        generation: Generation::Ros2,
        name: name.clone(),
        ros2_name: ros2_name.to_owned(),
        request: half("request", "Request")?,
        response: half("response", "Response")?,
        md5: event.md5.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_bag::SchemaLanguage;

    fn channel(type_name: &str, definition: &str, hash: Option<String>) -> Channel {
        Channel {
            topic: "/power/_service_event".into(),
            type_name: type_name.into(),
            encoding: Encoding::Cdr,
            schema: runnel_bag::Schema { language: SchemaLanguage::Ros2Msg, data: definition.into() },
            type_hash: hash,
            ..Channel::default()
        }
    }

    #[test]
    fn service_is_known_here_or_defined_in_the_bag() {
        let known = Types::new(&[]).expect("no folder to read");
        let found = types(&channel("std_srvs/srv/SetBool_Event", "", None), &known).expect("built in");
        assert_eq!(found.service.ros2_name, "std_srvs/srv/SetBool");
        assert!(types(&channel("own/srv/Power_Event", "", None), &known).is_err());
        // The same fields under another name, as ros2 bag stores them.
        let text = "service_msgs/ServiceEventInfo info\nPower_Request[<=1] request\nPower_Response[<=1] response\n\
            ================================================================================\nMSG: own/srv/Power_Request\nbool on\n\
            ================================================================================\nMSG: own/srv/Power_Response\nbool success\n\
            ================================================================================\nMSG: service_msgs/msg/ServiceEventInfo\n\
            uint8 event_type\nbuiltin_interfaces/Time stamp\nuint8[16] client_gid\nint64 sequence_number\n";
        let found = types(&channel("own/srv/Power_Event", text, None), &known).expect("in the bag");
        assert_eq!(found.service.request.def.dds_name(), "own::srv::dds_::Power_Request_");
        assert_eq!(found.event.def.dds_name(), "own::srv::dds_::Power_Event_");
        let other = Some(format!("RIHS01_{}", "0".repeat(64)));
        assert!(types(&channel("std_srvs/srv/SetBool_Event", "", other.clone()), &known).is_err());
        assert!(types(&channel("own/srv/Power_Event", text, other), &known).is_err());
    }
}
