//! Parser of rule files.

use runnel_core::schema::Kind;
use runnel_core::yaml::{YamlNode, YamlValue, parse_documents};

use super::{FieldPair, FieldPath, Rule, RulesError, TypeNames};

/// Keys that `ros1_bridge` accepts and that need no action here.
const IGNORED: [&str; 1] = ["enable_foreign_mappings"];

pub(super) fn rules(text: &str) -> Result<Vec<Rule>, RulesError> {
    let whole = |reason: String| RulesError { rule: None, reason };
    let documents = parse_documents(text).map_err(|error| whole(error.to_string()))?;
    let mut rules = Vec::new();
    for document in &documents {
        let listed = match &document.value {
            YamlValue::List(listed) => listed.as_slice(),
            YamlValue::Plain(text) if text.is_empty() => &[],
            _ => return Err(whole("expected a list of rules".to_owned())),
        };
        for node in listed {
            let number = rules.len() + 1;
            rules.push(rule(node).map_err(|reason| RulesError { rule: Some(number), reason })?);
        }
    }
    Ok(rules)
}

fn rule(node: &YamlNode) -> Result<Rule, String> {
    let YamlValue::Mapping(members) = &node.value else { return Err("expected a mapping".to_owned()) };
    let mut rule = Rule::default();
    let (mut messages, mut services) = ([None, None], [None, None]);
    for (key, value) in members {
        let key = text(key).ok_or("expected text as key")?;
        match key {
            "ros1_package_name" => rule.ros1_package = required(key, value)?,
            "ros2_package_name" => rule.ros2_package = required(key, value)?,
            "ros1_message_name" => messages[0] = Some(required(key, value)?),
            "ros2_message_name" => messages[1] = Some(required(key, value)?),
            "ros1_service_name" => services[0] = Some(required(key, value)?),
            "ros2_service_name" => services[1] = Some(required(key, value)?),
            "fields_1_to_2" => rule.fields = fields(key, value)?,
            "request_fields_1_to_2" => rule.request_fields = fields(key, value)?,
            "response_fields_1_to_2" => rule.response_fields = fields(key, value)?,
            key if IGNORED.contains(&key) => {}
            key => return Err(format!("unknown key {key}")),
        }
    }
    rule.names = names(messages, services)?;
    check(&rule)?;
    Ok(rule)
}

fn names(messages: [Option<String>; 2], services: [Option<String>; 2]) -> Result<Option<TypeNames>, String> {
    let both = |[ros1, ros2]: [Option<String>; 2], kind: Kind, what: &str| match (ros1, ros2) {
        (Some(ros1), Some(ros2)) => Ok(Some(TypeNames { kind, ros1, ros2 })),
        (None, None) => Ok(None),
        _ => Err(format!("needs both ros1_{what}_name and ros2_{what}_name")),
    };
    match (both(messages, Kind::Message, "message")?, both(services, Kind::Service, "service")?) {
        (Some(_), Some(_)) => Err("names a message and a service".to_owned()),
        (message, service) => Ok(message.or(service)),
    }
}

fn check(rule: &Rule) -> Result<(), String> {
    for (package, key) in
        [(&rule.ros1_package, "ros1_package_name"), (&rule.ros2_package, "ros2_package_name")]
    {
        if package.is_empty() {
            return Err(format!("key {key} is missing"));
        }
    }
    let kind = rule.names.as_ref().map(|names| names.kind);
    let needs = |is_given: bool, needed: Kind, keys: &str, name: &str| {
        let is_good = !is_given || kind == Some(needed);
        if is_good { Ok(()) } else { Err(format!("{keys} needs ros1_{name}_name and ros2_{name}_name")) }
    };
    needs(!rule.fields.is_empty(), Kind::Message, "fields_1_to_2", "message")?;
    let is_given = !rule.request_fields.is_empty() || !rule.response_fields.is_empty();
    needs(is_given, Kind::Service, "fields of a request or response", "service")
}

fn fields(key: &str, node: &YamlNode) -> Result<Vec<FieldPair>, String> {
    let YamlValue::Mapping(members) = &node.value else {
        return Err(format!("{key}: expected a mapping of fields"));
    };
    let path = |node: &YamlNode| {
        let path = text(node).and_then(FieldPath::parse);
        path.ok_or_else(|| format!("{key}: expected a field such as header.stamp"))
    };
    members.iter().map(|(ros1, ros2)| Ok(FieldPair { ros1: path(ros1)?, ros2: path(ros2)? })).collect()
}

fn required(key: &str, node: &YamlNode) -> Result<String, String> {
    let value = text(node).filter(|value| !value.is_empty());
    value.map(str::to_owned).ok_or_else(|| format!("{key}: expected a name"))
}

fn text(node: &YamlNode) -> Option<&str> {
    match &node.value {
        YamlValue::Plain(text) | YamlValue::Quoted(text) => Some(text),
        _ => None,
    }
}
