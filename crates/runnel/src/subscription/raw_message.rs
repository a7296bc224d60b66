//! Messages as their bytes.

use std::sync::Arc;

use runnel_core::dynamic::{DynamicError, DynamicMessage};
use runnel_core::schema::{Generation, Schema};
use runnel_core::wire::{Bytes, Encoding};

use crate::data::{LinkInfo, Received, SampleInfo};
use crate::message_info::MessageInfo;

/// A message as its bytes, with what its publisher says of it.
#[derive(Clone, Copy, Debug)]
pub struct RawMessage<'a> {
    bytes: Bytes<'a>,
    from: &'a Arc<LinkInfo>,
    info: SampleInfo,
    is_intra_process: bool,
}

impl<'a> RawMessage<'a> {
    pub(crate) fn new(message: &'a Received, from: &'a Arc<LinkInfo>, info: SampleInfo) -> Self {
        Self { bytes: message.bytes(), from, info, is_intra_process: message.is_intra_process() }
    }

    /// What is known of the message besides: when it was published, when it came, and from whom.
    pub fn info(&self) -> MessageInfo {
        MessageInfo::new(self.from, self.info, self.is_intra_process)
    }

    /// The serialized message.
    pub fn bytes(&self) -> Bytes<'a> {
        self.bytes
    }

    /// How it is serialized: by ROS 2 publishers with a header that says so, as [`runnel_core::wire::cdr`] reads it.
    pub fn encoding(&self) -> Encoding {
        self.from.encoding
    }

    /// The publisher's node.
    pub fn publisher(&self) -> &'a str {
        &self.from.publisher
    }

    /// The generation of ROS whose form of the message this is, which is that of its encoding.
    pub fn generation(&self) -> Generation {
        if self.encoding().is_ros1() { Generation::Ros1 } else { Generation::Ros2 }
    }

    /// The message type: of a publisher of ROS 1 such as `std_msgs/String`, of one of ROS 2 such as `std_msgs/msg/String`.
    /// [`TypeName::parse`](runnel_core::schema::TypeName::parse) reads both.
    pub fn type_name(&self) -> &'a str {
        &self.from.type_name
    }

    /// MD5 sum of the message type; `*` if the publisher does not tell, as those of ROS 2 do not.
    pub fn md5(&self) -> &'a str {
        &self.from.md5
    }

    /// The type hash of ROS 2, such as `RIHS01_df66...`, against which [`Schema::rihs01`] can be held; empty if the publisher
    /// does not tell, as those of ROS 1 and of ROS 2 before Iron do not.
    pub fn type_hash(&self) -> &'a str {
        &self.from.type_hash
    }

    /// The message by its schema, in whichever encoding it came: a schema of the form that [`RawMessage::generation`] has.
    ///
    /// ```
    /// use runnel::RawMessage;
    /// use runnel::core::dynamic::DynamicMessage;
    /// use runnel::core::schema::{Library, TypeName};
    ///
    /// fn read(message: &RawMessage<'_>, library: &Library) -> Result<DynamicMessage, Box<dyn std::error::Error>> {
    ///     let name = TypeName::parse(message.type_name()).ok_or("a type that is not of ROS")?;
    ///     let schema = library.message_in(message.generation(), &name)?;
    ///     Ok(message.decode(&schema)?)
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`DynamicMessage::decode`] and [`DynamicMessage::decode_payload`].
    pub fn decode(&self, schema: &Arc<Schema>) -> Result<DynamicMessage, DynamicError> {
        match self.generation() {
            Generation::Ros1 => DynamicMessage::decode(schema, self.bytes),
            Generation::Ros2 => DynamicMessage::decode_payload(schema, self.bytes),
        }
    }

    /// Definition of the message type with all it depends on; empty if the publisher does not tell.
    pub fn definition(&self) -> &'a str {
        &self.from.definition
    }

    /// Whether the publisher gives its last message to those who come later, too.
    pub fn latching(&self) -> bool {
        self.from.latching
    }
}
