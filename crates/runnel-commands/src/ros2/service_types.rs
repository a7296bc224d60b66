//! Types of ROS 2 services: known here, or else described by a node that offers them.
//!
//! Servers announce a hash of the request and one of the response. A definition of another origin is used only if it
//! has these hashes.

use std::sync::Arc;

use runnel::core::names::DdsTopic;
use runnel::core::schema::{DescribedType, Generation, Kind, Library, ServiceSchema, TypeName};
use runnel::{EndpointInfo, EndpointType, Node, Ros2Graph};

use super::learned_types::described_types;
use crate::error::CliError;
use crate::originals::command_line::SERVICE_LIST;
use crate::similar::meant_or_listed;
use crate::types::{Types, other_definition, type_name, unknown_and};

/// The type that a server of a service announces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnouncedType {
    /// Such as `std_srvs/srv/SetBool`.
    pub name: String,
    /// The node of the server, if it is known.
    node: Option<String>,
    request_hash: Option<String>,
    response_hash: Option<String>,
}

/// The types that the servers of a service announce.
pub fn announced_types(graph: &Ros2Graph, service: &str) -> Vec<AnnouncedType> {
    let requests = graph.endpoints.iter().filter(|end| {
        end.endpoint_type == EndpointType::Subscription
            && end.ros_topic() == Some(DdsTopic::ServiceRequest(service))
    });
    let announced = |request: &EndpointInfo| {
        let is_its_reply = |end: &&EndpointInfo| {
            end.endpoint_type == EndpointType::Publisher
                && end.ros_topic() == Some(DdsTopic::ServiceReply(service))
                && end.gid.participant() == request.gid.participant()
                && end.node == request.node
        };
        AnnouncedType {
            name: request.ros_type(),
            node: request.node.clone(),
            request_hash: request.type_hash.clone(),
            response_hash: graph
                .endpoints
                .iter()
                .find(is_its_reply)
                .and_then(|reply| reply.type_hash.clone()),
        }
    };
    requests.map(announced).collect()
}

/// The type of a service in its ROS 2 form: that of its server, or if there is none yet, the typed one. `asker` asks
/// nodes for types that are not known here.
///
/// # Errors
/// When the server has another type than the typed one, or the type cannot be found.
pub fn service_type(
    types: &Types,
    asker: &Node,
    graph: &Ros2Graph,
    (service, typed): (&str, Option<&str>),
) -> Result<Arc<ServiceSchema>, CliError> {
    let announced = announced_types(graph, service);
    let Some(server) = announced.first() else {
        let unknown = || {
            let known = graph.service_names_and_types();
            let hint = meant_or_listed(service, known.keys().map(String::as_str), SERVICE_LIST);
            CliError::Failed(format!("no ROS 2 service {service}{hint}"))
        };
        let typed = typed.ok_or_else(unknown)?;
        return known_type(types, &type_name(typed)?).map(Arc::new);
    };
    let name = type_name(&server.name)?;
    if let Some(wanted) = typed.map(type_name).transpose()?.filter(|wanted| *wanted != name) {
        return Err(CliError::Failed(format!("service {service} is of type {}, not {wanted}", server.name)));
    }
    let why = match known_type(types, &name) {
        Ok(schema) if server.is_of(&schema) => return Ok(Arc::new(schema)),
        Ok(_) => other_definition(&server.name),
        Err(error) => error,
    };
    let learned = learned(asker, graph, service, server).map(Arc::new);
    learned.map_err(|reason| {
        let why = unknown_and(&why, &format!("It cannot be learned from its node: {reason}"));
        CliError::Failed(format!("service {service}: {why}"))
    })
}

/// The service type of this name, if its definition is known here.
///
/// # Errors
/// When it is not.
pub fn known_type(types: &Types, name: &TypeName) -> Result<ServiceSchema, CliError> {
    types.library().service_in(Generation::Ros2, name).map_err(|error| types.unknown(error))
}

impl AnnouncedType {
    /// Whether a definition has the announced hashes. Some implementations announce none.
    fn is_of(&self, schema: &ServiceSchema) -> bool {
        let pairs = [(&self.request_hash, &schema.request), (&self.response_hash, &schema.response)];
        pairs.into_iter().all(|(hash, part)| hash.is_none() || *hash == part.rihs01())
    }
}

/// The type as the server's node describes it. A node of Runnel describes the request and the response. Other nodes
/// know their types by the hash of the whole service, which nobody announces; but they describe its events if the
/// service publishes them.
fn learned(
    asker: &Node,
    graph: &Ros2Graph,
    service: &str,
    server: &AnnouncedType,
) -> Result<ServiceSchema, String> {
    let node = server.node.as_deref().ok_or("the node of its server is not known")?;
    let describe = |hash: &str| described_types(asker, graph, node, hash);
    let halves = || {
        let hashes = [&server.request_hash, &server.response_hash];
        let hashes = hashes.map(|hash| hash.as_deref().ok_or_else(|| "it announces no hash".to_owned()));
        let mut described = describe(hashes[0].clone()?)?;
        described.extend(describe(hashes[1].clone()?)?);
        Ok::<_, String>(described)
    };
    let described = match event_hash(graph, service, node) {
        Some(hash) => describe(&hash).or_else(|_| halves()),
        None => halves(),
    };
    let schema = defined(&server.name, &described?)?;
    if server.is_of(&schema) {
        return Ok(schema);
    }
    Err(format!("the description that node {node} gives has another hash than it announces"))
}

/// The hash of the events that a node publishes about a service.
fn event_hash(graph: &Ros2Graph, service: &str, node: &str) -> Option<String> {
    let topic = format!("{service}/_service_event");
    let is_it = |end: &&EndpointInfo| {
        end.ros_topic() == Some(DdsTopic::Topic(&topic)) && end.node.as_deref() == Some(node)
    };
    graph.endpoints.iter().find(is_it)?.type_hash.clone()
}

/// The service of this name from described types.
fn defined(service: &str, described: &[DescribedType]) -> Result<ServiceSchema, String> {
    let name = TypeName::parse(service).ok_or_else(|| format!("{service} is not the name of a service"))?;
    let half = |suffix: &str| {
        let wanted = format!("{service}_{suffix}");
        let found = described.iter().find(|one| one.name == wanted);
        let definition = found.map(DescribedType::definition);
        let definition =
            definition.ok_or_else(|| format!("the description has no definition of {wanted}"))?;
        definition.map_err(|error| format!("the description is malformed: {error}"))
    };
    let text = format!("{}---\n{}", half("Request")?, half("Response")?);
    let mut library = Library::new();
    library.add_text(Kind::Service, name.clone(), text, service);
    for one in described {
        let is_message = one.name.split('/').nth(1) == Some("msg");
        if let (Some(name), Ok(text)) = (TypeName::parse(&one.name).filter(|_| is_message), one.definition())
        {
            library.add_text(Kind::Message, name, text, &one.name);
        }
    }
    library.service_in(Generation::Ros2, &name).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel::core::schema::TypeDescription;

    #[test]
    fn described_service_has_announced_hashes() {
        let types = Types::new(&[]).expect("no folder to read");
        for name in ["std_srvs/SetBool", "std_srvs/Empty", "rcl_interfaces/SetParameters"] {
            let schema = known_type(&types, &TypeName::parse(name).expect("a name")).expect("built in");
            let [request, response] = [&schema.request, &schema.response].map(|part| part.full_text.clone());
            let description =
                TypeDescription::of_service(&schema.ros2_name, &request, &response).expect("good texts");
            let described = defined(&schema.ros2_name, &description.referenced).expect("it is whole");
            let server = AnnouncedType {
                name: schema.ros2_name.clone(),
                node: None,
                request_hash: schema.request.rihs01(),
                response_hash: schema.response.rihs01(),
            };
            assert!(server.is_of(&described) && server.is_of(&schema), "{name}");
            let other = AnnouncedType { response_hash: Some("RIHS01_00".to_owned()), ..server };
            assert!(!other.is_of(&described), "{name}");
        }
    }

    #[test]
    fn incomplete_description_is_named() {
        let error = defined("p/srv/X", &[]).expect_err("it has no request");
        assert_eq!(error, "the description has no definition of p/srv/X_Request");
    }
}
