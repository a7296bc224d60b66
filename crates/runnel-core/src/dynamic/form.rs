//! Conversion of a message to another form of its type, such as that of the other generation.

use super::fit::{check_len, fit_field};
use super::{Array, Budget, DynamicError, DynamicErrorKind, DynamicMessage, Value, default_field, parts};
use crate::schema::{Arity, Field, MAX_MESSAGE_DEPTH, Schema, snake_case};
use crate::wire::with_exact_capacity;
use std::sync::Arc;

impl DynamicMessage {
    /// Converts the message to another form of its type: see [`Library::form_of`](crate::schema::Library::form_of). Fields
    /// are matched by name, in lower case for ROS 2. Fields that only this form has are dropped, such as the `seq` of a
    /// header; fields that only the other form has get their defaults.
    ///
    /// # Errors
    /// If a field has another type or is longer than its bound there, the message would use too much memory, or memory is
    /// exhausted.
    pub fn to_form(&self, form: &Arc<Schema>) -> Result<Self, DynamicError> {
        self.formed(form, &mut Budget::new(), 0)
    }

    fn formed(&self, form: &Arc<Schema>, budget: &mut Budget, depth: usize) -> Result<Self, DynamicError> {
        if depth >= MAX_MESSAGE_DEPTH {
            return Err(DynamicErrorKind::TooDeep.into());
        }
        budget.take_message(form.def.fields.len())?;
        let mut fields = with_exact_capacity(form.def.fields.len())?;
        for (index, (field, part)) in parts(form).enumerate() {
            let value = match self.counterpart(index, &field.name) {
                Some((own, value)) => form_value(own, value, field, part, budget, depth),
                None => default_field(field, part, budget, depth),
            };
            fields.push(value.map_err(|error| error.within(&field.name))?);
        }
        Ok(Self { schema: Arc::clone(form), fields })
    }

    /// The field that is of this name, or in lower case, with its value. It mostly has the same place.
    fn counterpart(&self, index: usize, name: &str) -> Option<(&Field, &Value)> {
        let is_it = |(field, _): &(&Field, &Value)| field.name == name;
        let alike = |(field, _): &(&Field, &Value)| snake_case(&field.name) == snake_case(name);
        let same = || self.fields().nth(index).filter(is_it);
        same().or_else(|| self.fields().find(is_it)).or_else(|| self.fields().find(alike))
    }
}

fn form_value(
    own: &Field,
    value: &Value,
    field: &Field,
    part: Option<&Arc<Schema>>,
    budget: &mut Budget,
    depth: usize,
) -> Result<Value, DynamicError> {
    match (value, part, field.arity) {
        (Value::Message(message), Some(part), Arity::One) => {
            Ok(Value::Message(message.formed(part, budget, depth + 1)?))
        }
        (Value::Array(Array::Message(messages)), Some(part), arity) if arity != Arity::One => {
            check_len(arity, messages.len())?;
            let form = |(index, message): (usize, &DynamicMessage)| {
                let formed = message.formed(part, budget, depth + 1);
                formed.map_err(|error| error.within_element(index))
            };
            let mut formed = with_exact_capacity(messages.len())?;
            for message in messages.iter().enumerate().map(form) {
                formed.push(message?);
            }
            Ok(Value::Array(Array::Message(formed)))
        }
        (Value::Array(array), None, arity) if own.element == field.element && arity != Arity::One => {
            check_len(arity, array.len())?;
            budget.take_held(value)?;
            Ok(value.view().try_to_value()?)
        }
        _ => {
            budget.take_held(value)?;
            fit_field(field, part, value.view().try_to_value()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Generation, Kind, Library, TypeName};

    fn forms(types: &[(&str, &str)]) -> [Arc<Schema>; 2] {
        let mut library = Library::new();
        for (name, text) in types {
            library.add_text(Kind::Message, TypeName::parse(name).unwrap(), (*text).to_owned(), name);
        }
        let name = TypeName::parse(types[0].0).unwrap();
        Generation::ALL.map(|generation| library.message_in(generation, &name).unwrap())
    }

    #[test]
    fn fields_convert_by_name_in_both_directions() {
        let [ros1, ros2] = forms(&[
            ("a/Info", "std_msgs/Header header\nfloat64[2] K\nPart[] roiList\ntime[] at\nuint8[] data"),
            ("a/Part", "string frameName\nbool on"),
            ("std_msgs/Header", "uint32 seq\ntime stamp\nstring frame_id"),
        ]);
        let mut message = DynamicMessage::default_of(&ros1).unwrap();
        message.set("header.seq", 7_u32).unwrap();
        message.set("header.frame_id", "map").unwrap();
        message.set("K", Value::Array(Array::F64(vec![1.0, 2.0]))).unwrap();
        message.set("data", Value::Array(Array::U8(vec![1, 2]))).unwrap();
        let mut part = DynamicMessage::default_of(ros1.parts[2].as_ref().unwrap()).unwrap();
        part.set("frameName", "left").unwrap();
        message.set("roiList", Value::Array(Array::Message(vec![part]))).unwrap();
        let other = message.to_form(&ros2).unwrap();
        assert_eq!(other.get("k[1]").unwrap().as_f64(), Some(2.0));
        assert_eq!(other.get("roi_list[0].frame_name").unwrap().as_str(), Some("left"));
        assert_eq!(other.get("header.frame_id").unwrap().as_str(), Some("map"));
        assert!(other.get("header.seq").is_err());
        message.set("header.seq", 0_u32).unwrap();
        assert_eq!(other.to_form(&ros1).unwrap(), message);
    }

    #[test]
    fn field_of_other_type_or_length_is_named() {
        let [words, _] = forms(&[("a/B", "Part part"), ("a/Part", "string[] names")]);
        let mut message = DynamicMessage::default_of(&words).unwrap();
        let names = Value::Array(Array::String(vec!["one".into(), "two".into()]));
        message.set("part.names", names).unwrap();
        for text in ["int32[] names", "string names", "string[<=1] names", "string<=2[] names"] {
            let [_, other] = forms(&[("a/B", "Part part"), ("a/Part", text)]);
            let error = message.to_form(&other).unwrap_err();
            assert!(error.path().starts_with("part.names"), "{text}: {error}");
        }
    }

    #[test]
    fn field_of_other_form_has_its_default() {
        let [_, one] = forms(&[("a/B", "int8 x")]);
        let [_, other] = forms(&[("a/B", "string name \"nobody\"\nint32 x")]);
        let mut message = DynamicMessage::default_of(&one).unwrap();
        message.set("x", -5_i8).unwrap();
        let formed = message.to_form(&other).unwrap();
        assert_eq!(
            (formed.field("name"), formed.field("x")),
            (Some(&"nobody".into()), Some(&(-5_i8).into()))
        );
    }
}
