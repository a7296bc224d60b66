//! Type mapping: a type known only at run time, with its definition in each generation.

use std::borrow::Cow;
use std::sync::Arc;

use runnel_core::dynamic::{DynamicError, DynamicMessage};
use runnel_core::schema::{Element, Generation, Primitive, Schema};
use runnel_core::wire::{Bytes, Encoding, GrowingSink, Reader, cdr};

use crate::error::ConversionError;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct TypeMapping {
    /// The definition that the user gave.
    own: Arc<Schema>,
    /// The definition of the other generation, or why there is none.
    other: Result<Arc<Schema>, String>,
    /// Both have the same fields, so that a message needs no conversion.
    is_same_layout: bool,
}

impl TypeMapping {
    pub(crate) fn of(schema: &Arc<Schema>) -> Self {
        let other = match schema.generation {
            Generation::Ros1 => Generation::Ros2,
            Generation::Ros2 => Generation::Ros1,
        };
        let definition = runnel_msgs::library().form_of(schema, other).map_err(|error| error.to_string());
        let is_same_layout = definition.as_ref().is_ok_and(|definition| definition.is_laid_out_as(schema));
        Self { own: Arc::clone(schema), other: definition, is_same_layout }
    }

    /// The definition that the user gave.
    pub(crate) fn own(&self) -> &Arc<Schema> {
        &self.own
    }

    /// The definition of a generation.
    ///
    /// # Errors
    /// If there is none: in ROS 2 because of a `wstring`.
    pub(crate) fn in_generation(&self, generation: Generation) -> Result<&Arc<Schema>, String> {
        let definition = if self.own.generation == generation { Ok(&self.own) } else { self.other.as_ref() };
        let definition = definition.map_err(Clone::clone)?;
        match find_wstring(definition, &mut Vec::new()) {
            Some(field) if generation == Generation::Ros2 => Err(format!(
                "field {field} is a wstring, which ROS 2 implementations encode in different ways"
            )),
            _ => Ok(definition),
        }
    }

    fn definition(&self, generation: Generation) -> &Arc<Schema> {
        match &self.other {
            Ok(other) if other.generation == generation => other,
            _ => &self.own,
        }
    }

    /// Appends the encoding of a message with either definition.
    pub(crate) fn encode(
        &self,
        message: &DynamicMessage,
        encoding: Encoding,
        out: &mut GrowingSink,
    ) -> Result<(), ConversionError> {
        Ok(self.form_for(message, encoding)?.encode_payload(encoding, out)?)
    }

    /// The message with the fields that it has in an encoding.
    pub(crate) fn form_for<'a>(
        &self,
        message: &'a DynamicMessage,
        encoding: Encoding,
    ) -> Result<Cow<'a, DynamicMessage>, DynamicError> {
        let wanted = generation_of(encoding);
        if self.is_same_layout || message.schema().generation == wanted {
            return Ok(Cow::Borrowed(message));
        }
        message.to_form(self.definition(wanted)).map(Cow::Owned)
    }

    /// Decodes a message to the definition that the user gave.
    pub(crate) fn decode(
        &self,
        bytes: Bytes<'_>,
        encoding: Encoding,
    ) -> Result<DynamicMessage, DynamicError> {
        let reader = if encoding.is_ros1() { Reader::new(bytes) } else { cdr::reader(bytes)? };
        self.read(reader)
    }

    /// Reads the rest of a message to the definition that the user gave.
    pub(crate) fn read(&self, reader: Reader<'_>) -> Result<DynamicMessage, DynamicError> {
        let from = generation_of(reader.encoding());
        let definition = if self.is_same_layout { &self.own } else { self.definition(from) };
        let message = DynamicMessage::read(definition, reader)?;
        if definition.generation == self.own.generation { Ok(message) } else { message.to_form(&self.own) }
    }

    /// The encoding of messages that the user gives as bytes.
    pub(crate) fn own_encoding(&self) -> Encoding {
        match self.own.generation {
            Generation::Ros1 => Encoding::Ros1,
            Generation::Ros2 => Encoding::Xcdr1,
        }
    }

    /// Appends the conversion of a message that the user gave as bytes.
    pub(crate) fn convert(
        &self,
        bytes: &[u8],
        encoding: Encoding,
        out: &mut GrowingSink,
    ) -> Result<(), ConversionError> {
        self.encode(&self.decode(bytes.into(), self.own_encoding())?, encoding, out)
    }
}

fn generation_of(encoding: Encoding) -> Generation {
    if encoding.is_ros1() { Generation::Ros1 } else { Generation::Ros2 }
}

/// The path of a `wstring` field.
fn find_wstring<'a>(schema: &'a Schema, seen: &mut Vec<&'a Schema>) -> Option<String> {
    if seen.iter().any(|other| std::ptr::eq(*other, schema)) {
        return None;
    }
    seen.push(schema);
    let mut fields = schema.def.fields.iter().zip(&schema.parts);
    fields.find_map(|(field, part)| match (&field.element, part) {
        (Element::Primitive(Primitive::WString(_)), _) => Some(field.name.clone()),
        (_, Some(part)) => Some(format!("{}.{}", field.name, find_wstring(part, seen)?)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_core::schema::{Kind, Library, TypeName};
    use runnel_core::wire::try_write;

    fn schema(generation: Generation, text: &'static str) -> Arc<Schema> {
        let name = TypeName::new("a", "B");
        let mut library = Library::new();
        library.add_text(Kind::Message, TypeName::new("a", "Wide"), "wstring text", "Wide.msg");
        library.add_text(Kind::Message, name.clone(), text, "B.msg");
        library.message_in(generation, &name).unwrap()
    }

    #[test]
    fn wstring_exists_only_in_ros1() {
        for generation in Generation::ALL {
            let mapping = TypeMapping::of(&schema(generation, "int8 x\nWide[] wide"));
            assert!(mapping.in_generation(Generation::Ros1).is_ok());
            let why = mapping.in_generation(Generation::Ros2).unwrap_err();
            assert!(why.starts_with("field wide.text is a wstring"), "{why}");
        }
    }

    #[test]
    fn message_of_either_generation_is_encoded_everywhere() {
        for generation in Generation::ALL {
            let mapping = TypeMapping::of(&schema(generation, "time At\nint8[<=3] small\nfloat64 x 1.5"));
            assert!(mapping.is_same_layout);
            let message = DynamicMessage::default_of(mapping.own()).unwrap();
            for encoding in Encoding::ALL {
                let mut bytes = Vec::new();
                try_write(&mut bytes, |out| mapping.encode(&message, encoding, out).unwrap()).unwrap();
                assert_eq!(mapping.decode(Bytes::from(&bytes), encoding).unwrap(), message);
            }
        }
    }
}
