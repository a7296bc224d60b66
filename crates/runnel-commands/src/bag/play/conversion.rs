//! Messages of one generation that are played in the graph of the other, by the rules of the bridge.

use std::collections::BTreeSet;
use std::sync::Arc;

use runnel::core::schema::{Generation, Schema};
use runnel::core::wire::Encoding;
use runnel_bridge::{Plan, Rules, TypePair};

use crate::types::Types;

/// Most remarks about a topic.
const MOST_REMARKS: usize = 16;

/// The conversion of the messages of a topic.
pub struct Conversion {
    plan: Plan,
    encoding: Encoding,
    remarked: BTreeSet<String>,
}

impl Conversion {
    /// The conversion from this type, and its type in the other generation.
    ///
    /// # Errors
    /// Why there is none.
    pub fn to_other(
        schema: &Arc<Schema>,
        types: &Types,
        rules: &Rules,
    ) -> Result<(Self, Arc<Schema>), String> {
        let pair = TypePair::of_schema(schema, types.library(), rules).map_err(|error| error.to_string())?;
        let (to, encoding) = match schema.generation {
            Generation::Ros1 => (pair.ros2, Encoding::Ros1),
            Generation::Ros2 => (pair.ros1, Encoding::Xcdr1),
        };
        let plan = Plan::compile(schema, &to, rules).map_err(|error| error.to_string())?;
        Ok((Self { plan, encoding, remarked: BTreeSet::new() }, to))
    }

    /// Replaces the content of `out` by the converted message. What subscribers may not expect of it is logged once.
    ///
    /// # Errors
    /// Why it cannot be converted.
    pub fn convert(&mut self, topic: &str, message: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        match self.plan.convert(message.into(), self.encoding, out) {
            Ok(notes) => {
                if !notes.is_empty() {
                    notes.remarks().into_iter().for_each(|remark| self.remark(topic, remark));
                }
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn remark(&mut self, topic: &str, remark: String) {
        if self.remarked.len() < MOST_REMARKS && !self.remarked.contains(&remark) {
            log::warn!("topic {topic}: {remark}");
            self.remarked.insert(remark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel::core::schema::TypeName;

    fn schema(generation: Generation, name: &str, text: &str) -> Arc<Schema> {
        let name = TypeName::parse(name).expect("a name");
        Schema::from_full_text_in(generation, &name, text).expect("a definition")
    }

    #[test]
    fn messages_of_each_generation_become_those_of_the_other() {
        let types = Types::new(&[]).expect("no folder to read");
        let (ros1, ros2) = (&b"\x02\0\0\0ab"[..], &b"\0\x01\0\0\x03\0\0\0ab\0"[..]);
        for (generation, message, expected) in
            [(Generation::Ros1, ros1, ros2), (Generation::Ros2, ros2, ros1)]
        {
            let string = schema(generation, "std_msgs/String", "string data\n");
            let (mut conversion, to) =
                Conversion::to_other(&string, &types, &Rules::default()).expect("it has a counterpart");
            assert_ne!(to.generation, generation);
            let mut out = Vec::new();
            conversion.convert("/a", message, &mut out).expect("sound");
            assert_eq!(out, expected);
            assert!(conversion.convert("/a", &message[..message.len() - 2], &mut out).is_err(), "cut");
        }
    }

    #[test]
    fn type_without_counterpart_is_refused_with_the_reason() {
        let types = Types::new(&[]).expect("no folder to read");
        let wide = schema(Generation::Ros2, "own/Wide", "wstring text\n");
        let why = Conversion::to_other(&wide, &types, &Rules::default()).err().expect("refused");
        assert!(why.contains("text"), "{why}");
    }
}
