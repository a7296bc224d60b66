//! The topics of a bag that `ros2 bag convert` writes.

use regex_lite::Regex;
use runnel::core::schema::TypeName;
use runnel_bag::Channel;

use crate::bag::quantity;
use crate::bag::service_topics::ServiceTopic;
use crate::bag::yaml_members::Member;
use crate::graphs::is_hidden;

/// Keys of topics and services.
const KEYS: &str = "uri, all, all_topics, all_services, topics, topic_types, services, regex, exclude_regex, \
                    exclude_topics, exclude_topic_types, exclude_services or include_hidden_topics";

/// Selects the channels of a bag. Without keys it selects none, as in `ros2 bag`.
#[derive(Debug, Default)]
pub(super) struct TopicFilter {
    all_topics: bool,
    all_services: bool,
    topics: Vec<String>,
    types: Vec<TypeName>,
    services: Vec<String>,
    /// Topics and services that match.
    regex: Option<Regex>,
    excluded: Option<Regex>,
    excluded_topics: Vec<String>,
    excluded_types: Vec<TypeName>,
    excluded_services: Vec<String>,
    /// Also topics with a name part that begins with an underscore, which only `topics` selects otherwise.
    hidden: bool,
}

impl TopicFilter {
    /// Sets what a key says.
    ///
    /// # Errors
    /// When the key is unknown, or its value is malformed.
    pub(super) fn set(&mut self, member: Member<'_>) -> Result<(), String> {
        match member.key {
            "all" => {
                self.all_topics |= member.truth()?;
                self.all_services |= member.truth()?;
            }
            "all_topics" => self.all_topics |= member.truth()?,
            "all_services" => self.all_services |= member.truth()?,
            "topics" => self.topics = member.texts()?,
            "topic_types" => self.types = types(member)?,
            "services" => self.services = member.texts()?,
            "regex" => self.regex = regex(member)?,
            // The first one is the name in older releases.
            "exclude" | "exclude_regex" => self.excluded = regex(member)?,
            "exclude_topics" => self.excluded_topics = member.texts()?,
            "exclude_topic_types" => self.excluded_types = types(member)?,
            "exclude_services" => self.excluded_services = member.texts()?,
            "include_hidden_topics" => self.hidden = member.truth()?,
            key => return Err(format!("unknown key {key}. Try: {KEYS}")),
        }
        Ok(())
    }

    /// Whether the messages of a channel are written.
    pub(super) fn selects(&self, channel: &Channel) -> bool {
        match ServiceTopic::of(channel) {
            Some(service) => self.selects_service(&service.service, &channel.topic),
            None => self.selects_topic(&channel.topic, &channel.type_name),
        }
    }

    fn selects_topic(&self, name: &str, type_name: &str) -> bool {
        let type_name = TypeName::parse(type_name);
        let has_type = |types: &[TypeName]| type_name.as_ref().is_some_and(|name| types.contains(name));
        let is_named = has_name(&self.topics, name);
        let is_selected =
            self.all_topics || is_named || has_type(&self.types) || matches(self.regex.as_ref(), name);
        let is_excluded = has_name(&self.excluded_topics, name)
            || has_type(&self.excluded_types)
            || matches(self.excluded.as_ref(), name);
        is_selected && !is_excluded && (self.hidden || is_named || !is_hidden(name))
    }

    /// A service is named, or the topic of its events.
    fn selects_service(&self, service: &str, topic: &str) -> bool {
        let has = |names: &[String]| has_name(names, service) || has_name(names, topic);
        let is_selected = self.all_services || has(&self.services) || matches(self.regex.as_ref(), service);
        is_selected && !has(&self.excluded_services) && !matches(self.excluded.as_ref(), service)
    }
}

/// Whether a name is listed. Its leading slash may be left out.
fn has_name(names: &[String], name: &str) -> bool {
    names.iter().any(|listed| listed == name || name.strip_prefix('/') == Some(listed))
}

fn matches(regex: Option<&Regex>, name: &str) -> bool {
    regex.is_some_and(|regex| regex.is_match(name))
}

/// An empty expression is none.
fn regex(member: Member<'_>) -> Result<Option<Regex>, String> {
    let text = Some(member.text()?).filter(|text| !text.is_empty());
    let regex = text.map(quantity::regex).transpose();
    regex.map_err(|why| format!("{}: {why}", member.key))
}

fn types(member: Member<'_>) -> Result<Vec<TypeName>, String> {
    let parse = |name: &String| {
        let malformed = || format!("{}: {name:?} is not a type such as std_msgs/msg/String", member.key);
        TypeName::parse(name).ok_or_else(malformed)
    };
    member.texts()?.iter().map(parse).collect()
}
