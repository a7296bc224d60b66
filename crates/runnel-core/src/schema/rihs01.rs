//! ROS 2 type hashes.
//!
//! The hashed text is a JSON description of the type and of every type that it uses, directly or not: names, type numbers
//! and bounds, without constants and defaults. Its SHA-256 in hex follows `RIHS01_`.
//!
//! Source: REP-2016 and REP-2011; the numbers are those of `type_description_interfaces/msg/FieldType`.

use super::described_type::{DescribedField, DescribedType, default_value};
use super::generation::Generation;
use super::types::{ActionSchema, Arity, Element, Field, Primitive, Schema, ServiceSchema, TypeName};
use crate::sorted::SortedMap;
use sha2::{Digest, Sha256};
use std::fmt::Write;

pub(super) const TIME: &str = "builtin_interfaces/msg/Time";
pub(super) const DURATION: &str = "builtin_interfaces/msg/Duration";
pub(super) const UUID: &str = "unique_identifier_msgs/msg/UUID";
pub(super) const EVENT_INFO: &str = "service_msgs/msg/ServiceEventInfo";

impl Schema {
    /// The ROS 2 type hash, `RIHS01_` and 64 lower-case hex digits; `None` for a ROS 1 form.
    pub fn rihs01(&self) -> Option<String> {
        if self.generation != Generation::Ros2 {
            return None;
        }
        let mut types = Types::default();
        types.add_schema(self);
        Some(types.hash(&self.def.ros2_name))
    }
}

impl ServiceSchema {
    /// The ROS 2 type hash, as [`Schema::rihs01`].
    pub fn rihs01(&self) -> Option<String> {
        if self.generation != Generation::Ros2 {
            return None;
        }
        let mut types = Types::default();
        [&self.request, &self.response].into_iter().for_each(|part| types.add_schema(part));
        types.add_service(&self.ros2_name);
        Some(types.hash(&self.ros2_name))
    }
}

impl ActionSchema {
    /// The action's name in ROS 2, such as `tf2_msgs/action/LookupTransform`.
    pub fn ros2_name(&self) -> String {
        format!("{}/action/{}", self.name.package, self.name.name)
    }

    /// The ROS 2 type hash, as [`Schema::rihs01`], of the action with the services and messages that ROS 2 makes of it.
    pub fn rihs01(&self) -> Option<String> {
        if self.goal.generation != Generation::Ros2 {
            return None;
        }
        let mut types = Types::default();
        [&self.goal, &self.result, &self.feedback].into_iter().for_each(|part| types.add_schema(part));
        let name = self.ros2_name();
        types.add_action(&name);
        Some(types.hash(&name))
    }
}

/// The messages that ROS 2 derives from an action besides its goal, result and feedback, which are given in their ROS 2
/// form: request and response of `send_goal`, request and response of `get_result`, and the feedback message. Each with
/// its name in DDS and its type hash; see [`MessageDef::dds_name`](super::MessageDef::dds_name) and [`Schema::rihs01`].
pub fn ros2_action_messages(
    action: &TypeName,
    [goal, result, feedback]: [&Schema; 3],
) -> [(String, String); 5] {
    let TypeName { package, name } = action;
    let mut types = Types::default();
    [goal, result, feedback].into_iter().for_each(|part| types.add_schema(part));
    types.add_action(&format!("{package}/action/{name}"));
    let suffixes = [
        "SendGoal_Request",
        "SendGoal_Response",
        "GetResult_Request",
        "GetResult_Response",
        "FeedbackMessage",
    ];
    suffixes.map(|suffix| {
        let hash = types.used_by(&format!("{package}/action/{name}_{suffix}"));
        (format!("{package}::action::dds_::{name}_{suffix}_"), hash)
    })
}

/// Type of a field: type ids and the name of a message.
#[derive(Clone, Default)]
struct Type {
    id: u8,
    capacity: usize,
    string_capacity: usize,
    nested: String,
    /// Its default value, which the hash leaves out.
    default: String,
}

impl Type {
    fn message(name: &str) -> Self {
        Self { id: 1, nested: name.to_owned(), ..Self::default() }
    }

    fn number(primitive: Primitive) -> Self {
        Self::primitive(primitive, "")
    }

    fn primitive(primitive: Primitive, spelling: &str) -> Self {
        let id = match primitive {
            Primitive::Time => return Self::message(TIME),
            Primitive::Duration => return Self::message(DURATION),
            Primitive::I8 if spelling.starts_with("byte") => 16,
            Primitive::I8 => 2,
            Primitive::U8 => 3,
            Primitive::I16 => 4,
            Primitive::U16 => 5,
            Primitive::I32 => 6,
            Primitive::U32 => 7,
            Primitive::I64 => 8,
            Primitive::U64 => 9,
            Primitive::F32 => 10,
            Primitive::F64 => 11,
            Primitive::Bool => 15,
            Primitive::String(None) => 17,
            Primitive::WString(None) => 18,
            Primitive::String(Some(_)) => 21,
            Primitive::WString(Some(_)) => 22,
        };
        let string_capacity = match primitive {
            Primitive::String(bound) | Primitive::WString(bound) => bound.unwrap_or_default(),
            _ => 0,
        };
        Self { id, string_capacity, ..Self::default() }
    }

    /// An array of it; type ids of arrays follow those of their elements.
    fn times(mut self, arity: Arity) -> Self {
        let (offset, capacity) = match arity {
            Arity::One => (0, 0),
            Arity::Fixed(count) => (48, count),
            Arity::Bounded(most) => (96, most),
            Arity::Unbounded => (144, 0),
        };
        self.id += offset;
        self.capacity = capacity;
        self
    }

    fn of(field: &Field, part: Option<&Schema>) -> Self {
        let element = match (&field.element, part) {
            (Element::Primitive(primitive), _) => Self::primitive(*primitive, &field.spelling),
            (Element::Message(_), Some(part)) => Self::message(&part.def.ros2_name),
            (Element::Message(name), None) => Self::message(&format!("{}/msg/{}", name.package, name.name)),
        };
        let default = field.default.as_ref().map(default_value).unwrap_or_default();
        Self { default, ..element.times(field.arity) }
    }
}

/// Types by name, each with the names and types of its fields.
#[derive(Default)]
pub(super) struct Types {
    by_name: SortedMap<String, Vec<(String, Type)>>,
}

impl Types {
    fn add(&mut self, name: &str, fields: impl IntoIterator<Item = (&'static str, Type)>) {
        let fields = fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect();
        self.by_name.insert(name.to_owned(), fields);
    }

    pub(super) fn add_schema(&mut self, schema: &Schema) {
        if self.by_name.contains_key(&schema.def.ros2_name) {
            return;
        }
        let fields = schema.def.fields.iter().zip(&schema.parts);
        let mut fields: Vec<_> =
            fields.map(|(field, part)| (field.name.clone(), Type::of(field, part.as_deref()))).collect();
        if fields.is_empty() {
            fields.push(("structure_needs_at_least_one_member".to_owned(), Type::number(Primitive::U8)));
        }
        for (_, field) in &fields {
            if let name @ (TIME | DURATION) = field.nested.as_str() {
                self.add_time(name);
            }
        }
        self.by_name.insert(schema.def.ros2_name.clone(), fields);
        schema.parts.iter().flatten().for_each(|part| self.add_schema(part));
    }

    fn add_time(&mut self, name: &str) {
        self.add(name, [("sec", Type::number(Primitive::I32)), ("nanosec", Type::number(Primitive::U32))]);
    }

    /// A service with its request, its response and its event message.
    pub(super) fn add_service(&mut self, name: &str) {
        let [request, response, event] =
            ["Request", "Response", "Event"].map(|part| format!("{name}_{part}"));
        self.add_time(TIME);
        self.add(
            EVENT_INFO,
            [
                ("event_type", Type::number(Primitive::U8)),
                ("stamp", Type::message(TIME)),
                ("client_gid", Type::number(Primitive::U8).times(Arity::Fixed(16))),
                ("sequence_number", Type::number(Primitive::I64)),
            ],
        );
        self.add(
            &event,
            [
                ("info", Type::message(EVENT_INFO)),
                ("request", Type::message(&request).times(Arity::Bounded(1))),
                ("response", Type::message(&response).times(Arity::Bounded(1))),
            ],
        );
        self.add(
            name,
            [
                ("request_message", Type::message(&request)),
                ("response_message", Type::message(&response)),
                ("event_message", Type::message(&event)),
            ],
        );
    }

    /// Adds an action whose goal, result and feedback are present.
    fn add_action(&mut self, name: &str) {
        let part = |part: &str| format!("{name}_{part}");
        let message = |name: &str| Type::message(&part(name));
        let (send_goal, get_result) = (part("SendGoal"), part("GetResult"));
        let goal_id = || ("goal_id", Type::message(UUID));
        self.add(UUID, [("uuid", Type::number(Primitive::U8).times(Arity::Fixed(16)))]);
        self.add(&part("SendGoal_Request"), [goal_id(), ("goal", message("Goal"))]);
        self.add(
            &part("SendGoal_Response"),
            [("accepted", Type::number(Primitive::Bool)), ("stamp", Type::message(TIME))],
        );
        self.add(&part("GetResult_Request"), [goal_id()]);
        self.add(
            &part("GetResult_Response"),
            [("status", Type::number(Primitive::I8)), ("result", message("Result"))],
        );
        self.add(&part("FeedbackMessage"), [goal_id(), ("feedback", message("Feedback"))]);
        self.add_service(&send_goal);
        self.add_service(&get_result);
        self.add(
            name,
            [
                ("goal", message("Goal")),
                ("result", message("Result")),
                ("feedback", message("Feedback")),
                ("send_goal_service", Type::message(&send_goal)),
                ("get_result_service", Type::message(&get_result)),
                ("feedback_message", message("FeedbackMessage")),
            ],
        );
    }

    /// The hash of the type `name`, which uses some of the others.
    fn used_by(&self, name: &str) -> String {
        self.only_used_by(name).hash(name)
    }

    /// A type and those that it uses.
    pub(super) fn only_used_by(&self, name: &str) -> Self {
        let mut used = Self::default();
        self.copy_used(name, &mut used);
        used
    }

    /// Copies a type and those that it uses.
    fn copy_used(&self, name: &str, to: &mut Self) {
        let Some(fields) = self.by_name.get(name).filter(|_| !to.by_name.contains_key(name)) else { return };
        to.by_name.insert(name.to_owned(), fields.clone());
        fields.iter().for_each(|(_, field)| self.copy_used(&field.nested, to));
    }

    /// The names of all types, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The fields of a type.
    pub(super) fn describe(&self, name: &str) -> DescribedType {
        let field = |(name, field): &(String, Type)| DescribedField {
            name: name.clone(),
            type_id: field.id,
            capacity: field.capacity,
            string_capacity: field.string_capacity,
            nested_type_name: field.nested.clone(),
            default_value: field.default.clone(),
        };
        let fields = self.by_name.get(name).into_iter().flatten().map(field).collect();
        DescribedType { name: name.to_owned(), fields }
    }

    /// The hash of the type `name`, which names all others.
    pub(super) fn hash(&self, name: &str) -> String {
        let mut json = String::from("{\"type_description\": ");
        self.write_json(name, &mut json);
        json.push_str(", \"referenced_type_descriptions\": [");
        let others = self.by_name.keys().filter(|other| *other != name);
        for (index, other) in others.enumerate() {
            json.push_str(if index == 0 { "" } else { ", " });
            self.write_json(other, &mut json);
        }
        json.push_str("]}");
        let sum = Sha256::digest(json);
        sum.iter().fold(String::from("RIHS01_"), |hash, byte| format!("{hash}{byte:02x}"))
    }

    fn write_json(&self, name: &str, json: &mut String) {
        // Writing to a string does not fail. Names contain only characters that need no escape.
        let _ = write!(json, "{{\"type_name\": \"{name}\", \"fields\": [");
        for (index, (name, field)) in self.by_name.get(name).into_iter().flatten().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let Type { id, capacity, string_capacity, nested, .. } = field;
            let _ = write!(
                json,
                "{comma}{{\"name\": \"{name}\", \"type\": {{\"type_id\": {id}, \"capacity\": {capacity}, \
                 \"string_capacity\": {string_capacity}, \"nested_type_name\": \"{nested}\"}}}}"
            );
        }
        json.push_str("]}");
    }
}
