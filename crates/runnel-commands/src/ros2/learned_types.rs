//! Types that the nodes that use them describe, by the service `~/get_type_description`.

use std::time::Duration;

use runnel::core::schema::{DescribedField, DescribedType};
use runnel::msgs::type_description_interfaces::msg::IndividualTypeDescription;
use runnel::msgs::type_description_interfaces::srv::{GetTypeDescription, GetTypeDescriptionRequest};
use runnel::{Node, Ros2Graph};

/// How long a node may take to answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(3);

/// The types that a node describes by a hash: that type, and those that it uses.
///
/// # Errors
/// Why there is no description.
pub fn described_types(
    asker: &Node,
    graph: &Ros2Graph,
    node: &str,
    hash: &str,
) -> Result<Vec<DescribedType>, String> {
    let service = format!("{node}/get_type_description");
    if graph.count_services(&service) == 0 {
        return Err(format!("node {node} does not describe its types"));
    }
    let request = GetTypeDescriptionRequest { type_hash: hash.to_owned(), ..Default::default() };
    let client = asker.create_client::<GetTypeDescription>(&service).map_err(|error| error.to_string())?;
    // A call would turn to ROS 1 while the server is announced in part.
    if !client.wait_for_service(CALL_TIMEOUT).map_err(|error| error.to_string())? {
        return Err(format!("service {service} is not ready"));
    }
    let answer = client.call_timeout(&request, CALL_TIMEOUT).map_err(|error| error.to_string())?;
    if !answer.successful {
        return Err(format!("node {node} does not describe the type: {}", answer.failure_reason));
    }
    let description = answer.type_description;
    let referenced = description.referenced_type_descriptions.into_iter();
    Ok(std::iter::once(description.type_description).chain(referenced).map(described).collect())
}

fn described(of: IndividualTypeDescription) -> DescribedType {
    let fields = of.fields.into_iter().map(|field| DescribedField {
        name: field.name,
        type_id: field.type_.type_id,
        capacity: usize::try_from(field.type_.capacity).unwrap_or(usize::MAX),
        string_capacity: usize::try_from(field.type_.string_capacity).unwrap_or(usize::MAX),
        nested_type_name: field.type_.nested_type_name,
        default_value: field.default_value,
    });
    DescribedType { name: of.type_name, fields: fields.collect() }
}
