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
