//! Files of overrides.

use std::collections::BTreeMap;

use runnel_core::qos::QoS;
use runnel_core::yaml::{YamlNode, YamlValue, parse_documents};

use super::super::yaml::text;
use super::profile::{policies, set_policy, text_of};
use crate::Error;

/// The profiles of a file of overrides by the absolute names of their topics. Policies that are missing are those of
/// [`QoS::default`], as in `ros2 bag`:
///
/// ```
/// # use runnel_bag::rosbag2::offered_qos::overrides_from_yaml;
/// # use runnel_core::qos::QoS;
/// let overrides = overrides_from_yaml("/scan:\n  reliability: best_effort\n  depth: 3\n")?;
/// assert_eq!(overrides["/scan"], QoS::keep_last(3).best_effort());
/// # Ok::<(), runnel_bag::Error>(())
/// ```
///
/// # Errors
/// [`Error::Metadata`], which names topic and policy, if the text is not a YAML mapping of topics to profiles, or if a
/// policy or its value is unknown.
pub fn overrides_from_yaml(text: &str) -> Result<BTreeMap<String, QoS>, Error> {
    let documents = parse_documents(text).map_err(|error| Error::Metadata(error.to_string()))?;
    match documents.into_iter().next().map(|document| document.value) {
        None => Ok(BTreeMap::new()),
        Some(YamlValue::Plain(text)) if text.is_empty() => Ok(BTreeMap::new()),
        Some(YamlValue::Mapping(topics)) => topics.iter().map(|(topic, node)| read(topic, node)).collect(),
        Some(_) => Err(Error::Metadata("not a mapping of topics to QoS profiles".to_owned())),
    }
}

fn read(topic: &YamlNode, node: &YamlNode) -> Result<(String, QoS), Error> {
    let topic = text_of(topic);
    if !topic.starts_with('/') {
        return Err(Error::Metadata(format!("QoS of topic {topic:?}: not an absolute name. Try: /{topic}")));
    }
    let of_topic = |reason: &str| Error::Metadata(format!("QoS of topic {topic}: {reason}"));
    let mut qos = QoS::default();
    for (policy, value) in policies(node).map_err(|error| of_topic(&error.to_string()))? {
        let policy = text_of(policy);
        set_policy(&mut qos, policy, value).ok_or_else(|| {
            let value = text(value).map_or_else(|| "this value".to_owned(), |text| format!("{text:?}"));
            of_topic(&format!("policy {policy}: {value} is not supported"))
        })?;
    }
    Ok((topic.to_owned(), qos))
}
