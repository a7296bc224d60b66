//! ROS 2 descriptions of types, as the service `get_type_description` gives them: the fields of a type and of all types
//! that it uses, and the files that define them.
//!
//! Source: REP-2016; the numbers are those of `type_description_interfaces/msg/FieldType`.

use super::definition_text::parse_name;
use super::described_type::DescribedType;
use super::full_text::sections;
use super::generation::Generation;
use super::library::{Kind, Library};
use super::resolve::ResolveError;
use super::rihs01::{DURATION, EVENT_INFO, TIME, Types, UUID};
use super::types::{Schema, ServiceSchema};
use crate::sorted::SortedMap;

/// The text that defines a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeSource {
    /// The ROS 2 name of the type.
    pub type_name: String,
    /// `msg`, `srv` or `action`; `implicit` for a type that follows from another, whose text is empty.
    pub encoding: &'static str,
    /// The text of its file.
    pub text: String,
}

/// A type with all types that it uses, and their texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDescription {
    /// The type itself.
    pub own: DescribedType,
    /// The types that it uses, directly or not, in the order of their names.
    pub referenced: Vec<DescribedType>,
    /// The texts: that of the type itself first.
    pub sources: Vec<TypeSource>,
    /// The type hash, `RIHS01_` and 64 lower-case hex digits.
    pub hash: String,
}

impl TypeDescription {
    /// The description of a message from its ROS 2 definition with all that it depends on.
    ///
    /// # Errors
    /// If the name or the text is malformed.
    pub fn of_message(name: &str, definition: &str) -> Result<Self, ResolveError> {
        let name = parse_name(name)?;
        let schema = Schema::from_full_text_in(Generation::Ros2, &name, definition)?;
        let mut types = Types::default();
        types.add_schema(&schema);
        let mut texts = SortedMap::new();
        add_texts(&schema, &mut texts);
        Ok(Self::new(&schema.def.ros2_name, &types, &texts, ("msg", &schema.def.text)))
    }

    /// The description of a service from those definitions of its request and its response.
    ///
    /// # Errors
    /// As [`TypeDescription::of_message`].
    pub fn of_service(name: &str, request: &str, response: &str) -> Result<Self, ResolveError> {
        let (name, text, types, texts) = parts_of_service(name, request, response)?;
        Ok(Self::new(&name, &types, &texts, ("srv", &text)))
    }

    /// The description of the events of a service, `X_Event`, from those definitions.
    ///
    /// # Errors
    /// As [`TypeDescription::of_message`].
    pub fn of_service_event(name: &str, request: &str, response: &str) -> Result<Self, ResolveError> {
        let (name, _, types, texts) = parts_of_service(name, request, response)?;
        let event = format!("{name}_Event");
        Ok(Self::new(&event, &types.only_used_by(&event), &texts, ("implicit", "")))
    }

    /// The descriptions of the request and the response of a service, each a type of its own, from those definitions.
    ///
    /// # Errors
    /// As [`TypeDescription::of_message`].
    pub fn of_service_parts(name: &str, request: &str, response: &str) -> Result<[Self; 2], ResolveError> {
        let (schema, _) = service(name, request, response)?;
        Ok([&schema.request, &schema.response].map(|part| {
            let (mut types, mut texts) = (Types::default(), SortedMap::new());
            types.add_schema(part);
            add_texts(part, &mut texts);
            Self::new(&part.def.ros2_name, &types, &texts, ("implicit", ""))
        }))
    }

    fn new(
        name: &str,
        types: &Types,
        texts: &SortedMap<String, String>,
        (encoding, text): (&'static str, &str),
    ) -> Self {
        let own = TypeSource { type_name: name.to_owned(), encoding, text: text.to_owned() };
        let others: Vec<_> = types.names().filter(|other| *other != name).collect();
        let sources = others.iter().map(|other| source(other, texts));
        Self {
            own: types.describe(name),
            sources: std::iter::once(own).chain(sources).collect(),
            referenced: others.iter().map(|other| types.describe(other)).collect(),
            hash: types.hash(name),
        }
    }
}

/// The ROS 2 name of a service, its text, and its types with their texts.
fn parts_of_service(
    name: &str,
    request: &str,
    response: &str,
) -> Result<(String, String, Types, SortedMap<String, String>), ResolveError> {
    let (schema, text) = service(name, request, response)?;
    let (mut types, mut texts) = (Types::default(), SortedMap::new());
    for part in [&schema.request, &schema.response] {
        types.add_schema(part);
        add_texts(part, &mut texts);
    }
    types.add_service(&schema.ros2_name);
    Ok((schema.ros2_name, text, types, texts))
}

/// The service of these definitions, and its text.
fn service(name: &str, request: &str, response: &str) -> Result<(ServiceSchema, String), ResolveError> {
    let name = parse_name(name)?;
    let mut library = Library::new();
    let text = add_parts(&mut library, &[request, response])?;
    library.add_text(Kind::Service, name.clone(), text.clone(), &format!("definition of {name}"));
    Ok((library.service_in(Generation::Ros2, &name)?, text))
}

/// Adds the definitions that the parts of a service depend on. Returns the text of the service.
fn add_parts(library: &mut Library, parts: &[&str]) -> Result<String, ResolveError> {
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            text.push_str("---\n");
        }
        for section in sections(part) {
            let Some(name) = section.name else {
                text.push_str(section.text);
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                continue;
            };
            let name = parse_name(name)?;
            let file = format!("definition of {name}");
            library.add_text(Kind::Message, name, section.text.to_owned(), &file);
        }
    }
    Ok(text)
}

/// Adds the texts of a message and of all that it depends on.
fn add_texts(schema: &Schema, texts: &mut SortedMap<String, String>) {
    let name = &schema.def.ros2_name;
    if !texts.contains_key(name) {
        texts.insert(name.clone(), schema.def.text.clone());
        schema.parts.iter().flatten().for_each(|part| add_texts(part, texts));
    }
}

/// The source of a referenced type. Times and what every service has are in no definition.
fn source(name: &str, texts: &SortedMap<String, String>) -> TypeSource {
    let text = match name {
        TIME | DURATION => "int32 sec\nuint32 nanosec\n",
        EVENT_INFO => {
            "uint8 REQUEST_SENT=0\nuint8 REQUEST_RECEIVED=1\nuint8 RESPONSE_SENT=2\nuint8 RESPONSE_RECEIVED=3\n\
             uint8 event_type\nbuiltin_interfaces/Time stamp\nchar[16] client_gid\nint64 sequence_number\n"
        }
        UUID => "uint8[16] uuid\n",
        _ => texts.get(name).map_or("", String::as_str),
    };
    let is_file = name.split('/').nth(1) == Some("msg");
    let (encoding, text) = if is_file { ("msg", text) } else { ("implicit", "") };
    TypeSource { type_name: name.to_owned(), encoding, text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMPED: &str = "std_msgs/Header header\nfloat64[<=3] values\nstring<=5[2] names\n\n\
        ================================================================================\n\
        MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n";

    #[test]
    fn description_has_referenced_types_and_texts() {
        let found = TypeDescription::of_message("my_msgs/msg/Stamped", STAMPED).unwrap();
        let names: Vec<_> = found.referenced.iter().map(|other| other.name.as_str()).collect();
        assert_eq!(
            (found.own.name.as_str(), names),
            ("my_msgs/msg/Stamped", vec![TIME, "std_msgs/msg/Header"])
        );
        let fields = found.own.fields.iter();
        let fields: Vec<_> = fields
            .map(|field| (field.name.as_str(), field.type_id, field.capacity, field.string_capacity))
            .collect();
        assert_eq!(fields, [("header", 1, 0, 0), ("values", 107, 3, 0), ("names", 69, 2, 5)]);
        assert_eq!(found.own.fields[0].nested_type_name, "std_msgs/msg/Header");
        let sources: Vec<_> =
            found.sources.iter().map(|it| (it.type_name.as_str(), it.encoding, it.text.as_str())).collect();
        let own = "std_msgs/Header header\nfloat64[<=3] values\nstring<=5[2] names\n";
        let header = "builtin_interfaces/Time stamp\nstring frame_id\n";
        let expected = [
            ("my_msgs/msg/Stamped", "msg", own),
            (TIME, "msg", "int32 sec\nuint32 nanosec\n"),
            ("std_msgs/msg/Header", "msg", header),
        ];
        assert_eq!(sources, expected);
    }

    #[test]
    fn description_of_service_has_hash_of_ros2() {
        let found = TypeDescription::of_service(
            "std_srvs/srv/SetBool",
            "bool data\n",
            "bool success\nstring message",
        );
        let found = found.unwrap();
        assert_eq!(found.hash, "RIHS01_abe9e4bb6b41b40e6789712c00ec8871923e089af3f667a79992a428cff2da0a");
        let sources: Vec<_> = found.sources.iter().map(|it| (it.type_name.as_str(), it.encoding)).collect();
        let expected = [
            ("std_srvs/srv/SetBool", "srv"),
            (TIME, "msg"),
            (EVENT_INFO, "msg"),
            ("std_srvs/srv/SetBool_Event", "implicit"),
            ("std_srvs/srv/SetBool_Request", "implicit"),
            ("std_srvs/srv/SetBool_Response", "implicit"),
        ];
        assert_eq!(sources, expected);
        assert_eq!(found.sources[0].text, "bool data\n---\nbool success\nstring message\n");
    }

    #[test]
    fn description_of_events_has_types_that_they_use() {
        let found = TypeDescription::of_service_event(
            "std_srvs/srv/SetBool",
            "bool data",
            "bool success\nstring message",
        );
        let found = found.unwrap();
        assert_eq!(found.own.name, "std_srvs/srv/SetBool_Event");
        let names: Vec<_> = found.referenced.iter().map(|other| other.name.as_str()).collect();
        let parts = ["std_srvs/srv/SetBool_Request", "std_srvs/srv/SetBool_Response"];
        assert_eq!(names, [&[TIME, EVENT_INFO][..], &parts[..]].concat());
        assert_eq!((found.sources[0].encoding, found.sources[0].text.as_str()), ("implicit", ""));
        assert_eq!(found.hash, "RIHS01_3c4c20015afb4303eafd347b1d6a786f171a89c814726961a9593ef10df878cf");
    }

    #[test]
    fn defaults_have_the_form_of_rosidl() {
        let text =
            "bool a true\nfloat32 b 1\nstring c \"it's\"\nint8[] d [1]\nstring[2] e [\"\", \"x\"]\nint8 f\n";
        let found = TypeDescription::of_message("p/msg/Defaults", text).unwrap();
        let defaults: Vec<_> = found.own.fields.iter().map(|field| field.default_value.as_str()).collect();
        assert_eq!(defaults, ["True", "1.0", "it's", "(1,)", "('', 'x')", ""]);
    }

    #[test]
    fn malformed_definition_is_an_error() {
        assert!(TypeDescription::of_message("not a name", "").is_err());
        assert!(TypeDescription::of_message("p/msg/A", "p/B b").is_err());
        assert!(TypeDescription::of_service("p/srv/A", "int8 a", "nonsense").is_err());
    }
}
