//! Types of a node's topics and services in ROS 2, which the node describes on request.

use std::borrow::Cow;
use std::sync::{Arc, Weak};

use runnel_core::message::{Message, Service};
use runnel_core::schema::{DescribedType, ResolveError, TypeDescription};
use runnel_core::sorted::SortedMap;
use runnel_msgs::type_description_interfaces::msg::{
    Field, FieldType, IndividualTypeDescription, TypeDescription as DescriptionMessage, TypeSource,
};
use runnel_msgs::type_description_interfaces::srv::{GetTypeDescriptionRequest, GetTypeDescriptionResponse};

use crate::data::ServiceEventType;
use crate::sync::{Class, Mutex, lock};
use crate::types::announced::Ros2Type;

/// Form of a type hash: a version, and 64 hex digits.
const HASH_PREFIX: &str = "RIHS01_";
const HASH_DIGITS: usize = 64;

/// Types in use by their hashes, in lower case, each with the number of its uses.
pub(crate) struct NodeTypes(Mutex<SortedMap<String, (NodeType, usize)>>);

/// Use of a type by a topic, a service or a client of a node. The node describes the type until the last use is dropped.
pub(crate) struct TypeUse {
    types: Weak<NodeTypes>,
    hash: String,
}

impl Drop for TypeUse {
    fn drop(&mut self) {
        let Some(types) = self.types.upgrade() else { return };
        let mut types = lock(&types.0);
        if let Some((_, uses)) = types.get_mut(&self.hash) {
            *uses -= 1;
            if *uses == 0 {
                types.remove(&self.hash);
            }
        }
    }
}

/// A type by its definitions. It is described on request, which is rare.
#[derive(Clone)]
enum NodeType {
    Message {
        name: String,
        definition: Cow<'static, str>,
    },
    Service(ServiceType),
    /// The request or the response of a service: its servers and clients announce the hashes of these.
    ServicePart(ServiceType, usize),
    ServiceEvent(ServiceEventType),
}

/// A service type.
#[derive(Clone, Copy)]
struct ServiceType {
    name: &'static str,
    /// The definitions of request and response.
    parts: [&'static str; 2],
    /// The hashes of request and response.
    hashes: [&'static str; 2],
}

impl NodeType {
    fn describe(&self) -> Result<TypeDescription, ResolveError> {
        match self {
            Self::Message { name, definition } => TypeDescription::of_message(name, definition),
            Self::Service(ServiceType { name, parts: [request, response], .. }) => {
                TypeDescription::of_service(name, request, response)
            }
            Self::ServicePart(ServiceType { name, parts: [request, response], .. }, index) => {
                let [of_request, of_response] = TypeDescription::of_service_parts(name, request, response)?;
                Ok(if *index == 0 { of_request } else { of_response })
            }
            Self::ServiceEvent(ServiceEventType { service, definitions: [request, response], .. }) => {
                TypeDescription::of_service_event(service, request, response)
            }
        }
    }

    /// The part of a service that has this hash.
    fn part(&self, hash: &str) -> Option<Self> {
        let Self::Service(of) = self else { return None };
        let index = of.hashes.iter().position(|part| *part == hash)?;
        Some(Self::ServicePart(*of, index))
    }
}

impl NodeTypes {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Class::NodeTypes, SortedMap::new())))
    }

    /// Adds a use of the type of a topic. `None` if its definition is not known.
    pub(crate) fn use_message(self: &Arc<Self>, of: &Ros2Type) -> Option<TypeUse> {
        let name = of.ros2_name().filter(|_| of.is_known() && !of.definition.is_empty())?;
        let message = || NodeType::Message { name, definition: of.definition.clone() };
        Some(self.add(&of.rihs01, message))
    }

    /// Adds a use of the type of a service.
    pub(crate) fn use_service<S: Service>(self: &Arc<Self>) -> TypeUse {
        let parts = [S::Request::ROS2_DEFINITION, S::Response::ROS2_DEFINITION];
        let hashes = [S::Request::RIHS01, S::Response::RIHS01];
        self.add(S::RIHS01, || NodeType::Service(ServiceType { name: S::ROS2_TYPE, parts, hashes }))
    }

    fn add(self: &Arc<Self>, hash: &str, node_type: impl FnOnce() -> NodeType) -> TypeUse {
        lock(&self.0).entry(hash.to_owned()).or_insert_with(|| (node_type(), 0)).1 += 1;
        TypeUse { types: Arc::downgrade(self), hash: hash.to_owned() }
    }

    /// Adds the type of a service's events, which stays.
    pub(crate) fn add_service_event(&self, of: &ServiceEventType) {
        let added = NodeType::ServiceEvent(of.clone());
        if let Ok(description) = added.describe() {
            lock(&self.0).entry(description.hash).or_insert((added, 0)).1 += 1;
        }
    }

    fn with_hash(&self, hash: &str) -> Option<NodeType> {
        let types = lock(&self.0);
        let found = types.get(hash).map(|(of, _)| of.clone());
        found.or_else(|| types.values().find_map(|(of, _)| of.part(hash)))
    }

    /// Answers a request. The reasons of a failure are those of rcl.
    pub(crate) fn get_type_description(
        &self,
        request: &GetTypeDescriptionRequest,
    ) -> GetTypeDescriptionResponse {
        let Some(hash) = parse_hash(&request.type_hash) else {
            return failure("Failed to parse type hash".to_owned());
        };
        let Some(found) = self.with_hash(&hash) else {
            return failure("Type not currently in use by this node".to_owned());
        };
        match found.describe() {
            Ok(description) if description.hash == hash => success(description, request.include_type_sources),
            Ok(_) => failure("The definition of the type gives another hash".to_owned()),
            Err(error) => failure(format!("The definition of the type is malformed: {error}")),
        }
    }
}

/// The hash in lower case; `None` if it is malformed or of an unknown version.
fn parse_hash(text: &str) -> Option<String> {
    let digits = text.strip_prefix(HASH_PREFIX)?;
    let is_valid = digits.len() == HASH_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_valid.then(|| format!("{HASH_PREFIX}{}", digits.to_ascii_lowercase()))
}

fn failure(failure_reason: String) -> GetTypeDescriptionResponse {
    GetTypeDescriptionResponse { failure_reason, ..GetTypeDescriptionResponse::default() }
}

fn success(description: TypeDescription, with_sources: bool) -> GetTypeDescriptionResponse {
    let TypeDescription { own, referenced, sources, .. } = description;
    let source = |source: runnel_core::schema::TypeSource| TypeSource {
        type_name: source.type_name,
        encoding: source.encoding.to_owned(),
        raw_file_contents: source.text,
    };
    GetTypeDescriptionResponse {
        successful: true,
        type_description: DescriptionMessage {
            type_description: individual(own),
            referenced_type_descriptions: referenced.into_iter().map(individual).collect(),
        },
        type_sources: sources.into_iter().filter(|_| with_sources).map(source).collect(),
        ..GetTypeDescriptionResponse::default()
    }
}

fn individual(described: DescribedType) -> IndividualTypeDescription {
    let field = |field: runnel_core::schema::DescribedField| Field {
        name: field.name,
        type_: FieldType {
            type_id: field.type_id,
            capacity: field.capacity as u64,
            string_capacity: field.string_capacity as u64,
            nested_type_name: field.nested_type_name,
        },
        default_value: field.default_value,
    };
    IndividualTypeDescription {
        type_name: described.name,
        fields: described.fields.into_iter().map(field).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_msgs::std_msgs::msg::Header;
    use runnel_msgs::type_description_interfaces::srv::GetTypeDescription;

    /// Types of a topic and a service, with their uses.
    fn types() -> (Arc<NodeTypes>, [TypeUse; 2]) {
        let types = NodeTypes::new();
        let message = types.use_message(&Ros2Type::of::<Header>()).expect("a known type");
        let service = types.use_service::<GetTypeDescription>();
        (types, [message, service])
    }

    fn ask(type_hash: &str, include_type_sources: bool) -> GetTypeDescriptionResponse {
        let request = GetTypeDescriptionRequest {
            type_name: String::new(),
            type_hash: type_hash.to_owned(),
            include_type_sources,
        };
        types().0.get_type_description(&request)
    }

    #[test]
    fn topic_type_is_described_with_sources() {
        let response = ask(Header::RIHS01, true);
        assert!(response.successful, "{}", response.failure_reason);
        let description = response.type_description;
        assert_eq!(description.type_description.type_name, "std_msgs/msg/Header");
        let fields = description.type_description.fields.iter();
        let fields: Vec<_> = fields.map(|field| (field.name.as_str(), field.type_.type_id)).collect();
        assert_eq!(fields, [("stamp", 1), ("frame_id", 17)]);
        let referenced = description.referenced_type_descriptions.iter();
        let referenced: Vec<_> = referenced.map(|one| one.type_name.as_str()).collect();
        assert_eq!(referenced, ["builtin_interfaces/msg/Time"]);
        let sources: Vec<_> =
            response.type_sources.iter().map(|one| (one.type_name.as_str(), one.encoding.as_str())).collect();
        assert_eq!(sources, [("std_msgs/msg/Header", "msg"), ("builtin_interfaces/msg/Time", "msg")]);
        assert!(response.type_sources[0].raw_file_contents.contains("frame_id"));
    }

    #[test]
    fn sources_are_left_out_on_request() {
        let response = ask(&Header::RIHS01.to_uppercase(), false);
        assert!(response.successful && response.type_sources.is_empty(), "{response:?}");
    }

    #[test]
    fn service_type_is_described() {
        let response = ask(GetTypeDescription::RIHS01, true);
        assert!(response.successful, "{}", response.failure_reason);
        let name = response.type_description.type_description.type_name;
        assert_eq!(name, "type_description_interfaces/srv/GetTypeDescription");
        assert_eq!(response.type_sources[0].encoding, "srv");
    }

    #[test]
    fn parts_of_service_type_are_described() {
        type Request = GetTypeDescriptionRequest;
        for (hash, suffix) in [(Request::RIHS01, "Request"), (GetTypeDescriptionResponse::RIHS01, "Response")]
        {
            let response = ask(hash, true);
            assert!(response.successful, "{}", response.failure_reason);
            let name = response.type_description.type_description.type_name;
            assert_eq!(name, format!("type_description_interfaces/srv/GetTypeDescription_{suffix}"));
            assert_eq!(response.type_sources[0].encoding, "implicit");
        }
    }

    #[test]
    fn malformed_and_unknown_hashes_are_refused() {
        for hash in ["", "RIHS01_", "RIHS02_", &Header::RIHS01[1..], &format!("{}0", Header::RIHS01)] {
            assert_eq!(ask(hash, true).failure_reason, "Failed to parse type hash", "{hash}");
        }
        let unknown = ask(&format!("RIHS01_{}", "0".repeat(64)), true);
        assert_eq!(unknown.failure_reason, "Type not currently in use by this node");
        assert!(!unknown.successful);
    }

    #[test]
    fn untyped_topic_has_no_description() {
        let types = NodeTypes::new();
        let any = crate::types::announced::Topic::of_any("/a".into()).ros2.expect("in ROS 2");
        assert!(types.use_message(&any).is_none());
    }

    #[test]
    fn type_is_described_until_its_last_use_ends() {
        let (types, [header, service]) = types();
        let second = types.use_message(&Ros2Type::of::<Header>());
        drop(header);
        assert_eq!(lock(&types.0).len(), 2);
        drop((second, service));
        assert!(lock(&types.0).is_empty());
    }
}
