//! Fields of messages.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use runnel::core::dynamic::{DynamicMessage, ValueRef};
use runnel::{Context, Node, QoS, RawMessage, Subscription, SubscriptionOptions};

use crate::cli_context::CliContext;
use crate::commands::place::quantity::{Measurements, Quantity, Value};
use crate::error::CliError;
use crate::received_types::ReceivedTypes;
use crate::streaming::lock;

/// Messages of a topic that wait.
const DEPTH: usize = 10;

/// Subscribes to the topics of these quantities. Each message replaces the values of its fields.
///
/// # Errors
/// If a subscription cannot be created.
pub fn subscribe(
    quantities: &[Quantity],
    measurements: &Arc<Mutex<Measurements>>,
    (context, node): (&Context, &Node),
    cli: &CliContext,
) -> Result<Vec<Subscription>, CliError> {
    let mut paths = BTreeMap::<String, Vec<String>>::new();
    for quantity in quantities {
        if let Quantity::Field { topic, path } = quantity {
            paths.entry(topic.clone()).or_default().push(path.clone());
        }
    }
    let subscribe = |(topic, paths): (String, Vec<String>)| {
        let mut fields = Fields {
            topic: topic.clone(),
            paths,
            types: ReceivedTypes::new(cli.types_loader()).learning(context, node),
            measurements: Arc::clone(measurements),
            last_fault: None,
        };
        let qos = QoS::keep_last(DEPTH).reliability_best_available().durability_best_available();
        let options = SubscriptionOptions::from(qos).strict_qos();
        let take = move |message: &RawMessage<'_>| fields.take(message);
        Ok(node.create_raw_subscription(&cli.resolve(&topic)?, None, options, take)?)
    };
    paths.into_iter().map(subscribe).collect()
}

/// The fields of one topic.
struct Fields {
    topic: String,
    paths: Vec<String>,
    types: ReceivedTypes,
    measurements: Arc<Mutex<Measurements>>,
    /// What was logged last: the same is not logged for each message.
    last_fault: Option<String>,
}

impl Fields {
    fn take(&mut self, message: &RawMessage<'_>) {
        if let Err(why) = self.measure(message)
            && self.last_fault.as_ref() != Some(&why)
        {
            log::error!("topic {}: {why}", self.topic);
            self.last_fault = Some(why);
        }
    }

    fn measure(&mut self, message: &RawMessage<'_>) -> Result<(), String> {
        let schema = self.types.find(message, &self.topic).map_err(|error| error.to_string())?;
        let Some(schema) = schema else { return Ok(()) };
        let decoded = message.decode(&schema).map_err(|error| error.to_string())?;
        for path in &self.paths {
            let value = field(&decoded, path)?;
            let quantity = Quantity::Field { topic: self.topic.clone(), path: path.clone() };
            lock(&self.measurements).set(quantity, value, Instant::now());
        }
        Ok(())
    }
}

/// The value of a field.
///
/// # Errors
/// If there is no such field, or if its value cannot be compared.
fn field(message: &DynamicMessage, path: &str) -> Result<Value, String> {
    let value = message.get(path).map_err(|error| error.to_string())?;
    match value {
        ValueRef::Bool(value) => Ok(Value::Bool(value)),
        ValueRef::String(text) => Ok(Value::Text(text.to_owned())),
        _ => value.as_f64().map(Value::Number).ok_or_else(|| {
            format!("field {path} is neither a number, nor a truth value, nor text. Choose a part of it")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel::core::schema::TypeName;

    #[test]
    fn values_of_fields_are_those_that_can_be_compared() {
        let schema = runnel::msgs::library().message(&TypeName::new("sensor_msgs", "BatteryState")).unwrap();
        let mut message = DynamicMessage::default_of(&schema).unwrap();
        message.set("percentage", 0.5).unwrap();
        message.set("present", true).unwrap();
        message.set("location", "rear".to_owned()).unwrap();
        assert_eq!(field(&message, "percentage"), Ok(Value::Number(0.5)));
        assert_eq!(field(&message, "present"), Ok(Value::Bool(true)));
        assert_eq!(field(&message, "location"), Ok(Value::Text("rear".into())));
        assert!(field(&message, "header").unwrap_err().contains("Choose a part of it"));
        assert!(field(&message, "percentag").unwrap_err().contains("percentag"));
    }
}
