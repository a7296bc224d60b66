//! Spellings of offered QoS in the versions of rosbag2.

use runnel_core::yaml::{YamlNode, YamlValue, parse_documents};

use super::super::yaml::{int, member_int, put, text};

/// Words of version 9 for the numbers of earlier ones, which are those of rmw.
const WORDS: [(&str, &[&str]); 4] = [
    ("history", &["system_default", "keep_last", "keep_all", "unknown"]),
    ("reliability", &["system_default", "reliable", "best_effort", "unknown", "best_available"]),
    ("durability", &["system_default", "transient_local", "volatile", "unknown", "best_available"]),
    (
        "liveliness",
        &["system_default", "automatic", "manual_by_node", "manual_by_topic", "unknown", "best_available"],
    ),
];

/// Seconds and nanoseconds of an infinite duration in rmw.
pub(super) const INFINITE: [(&str, i128); 2] = [("sec", 9_223_372_036), ("nsec", 854_775_807)];

/// Seconds from which a duration is infinite: Fast DDS and Connext write 2^31-1 s.
const LONGEST: i128 = 0x7FFF_FFFF;

/// The list of profiles as text, from the list of version 9 or the text of earlier ones; `None` without profiles.
pub(in super::super) fn offered_qos(node: &YamlNode) -> Option<String> {
    match text(node) {
        Some(text) => Some(text.to_owned()).filter(|text| !["", "[]", "~"].contains(&text.trim())),
        None => {
            let mut text = String::new();
            put(node, 0, &mut text);
            Some(text).filter(|text| text != "[]\n")
        }
    }
}

/// The profiles in the spelling of version 9, indented by this many spaces; `None` if the text is no list of
/// profiles.
pub(in super::super) fn in_words(offered: &str, indent: usize) -> Option<String> {
    let mut documents = parse_documents(offered).ok()?;
    let YamlValue::List(profiles) = &mut documents.first_mut()?.value else { return None };
    for profile in profiles.iter_mut() {
        let YamlValue::Mapping(policies) = &mut profile.value else { return None };
        for (name, value) in policies {
            spell(text(name)?, value)?;
        }
    }
    let mut text = String::new();
    put(&documents[0], indent, &mut text);
    (text.trim() != "[]").then_some(text)
}

/// Spells a policy; `None` if it is neither a scalar nor a duration.
fn spell(policy: &str, value: &mut YamlNode) -> Option<()> {
    if let YamlValue::Mapping(members) = &value.value {
        members.iter().try_for_each(|(name, number)| text(name).and(text(number)).map(|_| ()))?;
    } else {
        text(value)?;
    }
    if let (true, Some(word)) = (int(value).is_some(), word(policy, value)) {
        value.value = YamlValue::Plain(word);
    }
    if member_int(value, "sec").is_some_and(|sec| sec >= LONGEST) {
        let plain = |text: String| YamlNode { tag: None, value: YamlValue::Plain(text) };
        let members = INFINITE.map(|(name, number)| (plain(name.to_owned()), plain(number.to_string())));
        value.value = YamlValue::Mapping(members.into());
    }
    Some(())
}

/// The word of a policy in lower case, also for a number of earlier versions; `None` for a list or mapping, or if the
/// policy has no words.
pub(super) fn word(policy: &str, value: &YamlNode) -> Option<String> {
    let Some(number) = int(value) else { return Some(text(value)?.to_lowercase()) };
    let (_, words) = WORDS.into_iter().find(|(name, _)| *name == policy)?;
    let word = usize::try_from(number).ok().and_then(|number| words.get(number)).unwrap_or(&"unknown");
    Some((*word).to_owned())
}
