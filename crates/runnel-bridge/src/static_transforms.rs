//! Merge of the messages of several publishers on `/tf_static`.
//!
//! Each publisher's last message stays valid. A single publisher that carries them all must therefore have all their
//! transforms in its last message, which is the only one that a late subscriber gets.

use std::sync::Arc;

use runnel_core::dynamic::{Array, DynamicError, DynamicMessage, Value};
use runnel_core::schema::{Generation, Schema};
use runnel_core::wire::Encoding;

/// The most frames that are kept: peers can name any number.
const MAX_FRAMES: usize = 4096;

/// The field with the transforms, and the one with the name of the frame that a transform defines.
const TRANSFORMS: &str = "transforms";
const CHILD: &str = "child_frame_id";

/// The last transform of each frame.
#[derive(Debug)]
pub struct StaticTransforms {
    /// The definition of the messages, `tf2_msgs/TFMessage`.
    schema: Arc<Schema>,
    transforms: Vec<DynamicMessage>,
}

impl StaticTransforms {
    /// No transforms, of messages of this type; `None` if that is not a type of static transforms.
    pub fn new(topic: &str, schema: &Arc<Schema>) -> Option<Self> {
        let is_transforms = matches!(schema.def.name.name.as_str(), "TFMessage" | "tfMessage");
        let is_static = topic.rsplit('/').next() == Some("tf_static");
        (is_static && is_transforms).then(|| Self { schema: Arc::clone(schema), transforms: Vec::new() })
    }

    /// Adds the transforms of a serialized message, and replaces it by a message with all known transforms.
    ///
    /// # Errors
    /// If the bytes are not a message of the type.
    pub fn merge(&mut self, message: &mut Vec<u8>) -> Result<(), DynamicError> {
        let decoded = match self.schema.generation {
            Generation::Ros1 => DynamicMessage::decode(&self.schema, &*message)?,
            Generation::Ros2 => DynamicMessage::decode_payload(&self.schema, &*message)?,
        };
        if let Some(Value::Array(Array::Message(transforms))) = decoded.field(TRANSFORMS) {
            transforms.iter().for_each(|transform| self.add(transform));
        }
        let mut merged = decoded;
        merged.set(TRANSFORMS, Value::Array(Array::Message(self.transforms.clone())))?;
        *message = match self.schema.generation {
            Generation::Ros1 => merged.to_bytes(),
            Generation::Ros2 => merged.to_payload(Encoding::Xcdr1)?,
        };
        Ok(())
    }

    fn add(&mut self, transform: &DynamicMessage) {
        let child = transform.field(CHILD);
        let is_known = self.transforms.iter().any(|known| known.field(CHILD) == child);
        if !is_known && self.transforms.len() >= MAX_FRAMES {
            return;
        }
        self.transforms.retain(|known| known.field(CHILD) != child);
        self.transforms.push(transform.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_core::schema::TypeName;

    fn transforms(schema: &Arc<Schema>, frames: &[(&str, f64)]) -> Vec<u8> {
        let part = schema.parts[0].as_ref().unwrap();
        let one = |(child, x): &(&str, f64)| {
            let mut transform = DynamicMessage::default_of(part).unwrap();
            transform.set(CHILD, *child).unwrap();
            transform.set("transform.translation.x", *x).unwrap();
            transform
        };
        let mut message = DynamicMessage::default_of(schema).unwrap();
        message.set(TRANSFORMS, Value::Array(Array::Message(frames.iter().map(one).collect()))).unwrap();
        match schema.generation {
            Generation::Ros1 => message.to_bytes(),
            Generation::Ros2 => message.to_payload(Encoding::Xcdr1).unwrap(),
        }
    }

    #[test]
    fn last_transform_of_each_frame_is_kept() {
        let name = TypeName::new("tf2_msgs", "TFMessage");
        for generation in Generation::ALL {
            let schema = runnel_msgs::library().message_in(generation, &name).unwrap();
            let mut merged = StaticTransforms::new("/tf_static", &schema).unwrap();
            for (frames, expected) in [
                (&[("a", 1.0)][..], &[("a", 1.0)][..]),
                (&[("b", 2.0), ("c", 3.0)], &[("a", 1.0), ("b", 2.0), ("c", 3.0)]),
                (&[("a", 4.0)], &[("b", 2.0), ("c", 3.0), ("a", 4.0)]),
            ] {
                let mut message = transforms(&schema, frames);
                merged.merge(&mut message).unwrap();
                assert_eq!(message, transforms(&schema, expected));
            }
            assert!(StaticTransforms::new("/tf", &schema).is_none());
            assert!(StaticTransforms::new("/robot/tf_static", &schema).is_some());
        }
    }
}
