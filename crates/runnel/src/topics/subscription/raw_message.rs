//! Raw messages.

use std::sync::Arc;

use runnel_core::dynamic::{DynamicError, DynamicMessage};
use runnel_core::schema::{Generation, Schema};
use runnel_core::wire::{Bytes, Encoding};

use crate::data::{LinkInfo, Received, SampleInfo};
use crate::topics::message_info::MessageInfo;

/// A serialized message, with its publisher's description of it.
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

    /// Metadata of the message: its times and its publisher.
    pub fn info(&self) -> MessageInfo {
        MessageInfo::new(self.from, self.info, self.is_intra_process)
    }

    /// Whether the publisher is in this process, belongs to a bridge, or to a node in both graphs. For Runnel's own
    /// programs.
    #[doc(hidden)]
    pub fn is_relayed(&self) -> bool {
        self.is_intra_process || self.from.is_relay()
    }

    /// The serialized message.
    pub fn bytes(&self) -> Bytes<'a> {
        self.bytes
    }

    /// The encoding of the message. ROS 2 messages have an encapsulation header, as [`runnel_core::wire::cdr`] reads it.
    pub fn encoding(&self) -> Encoding {
        self.from.encoding
    }

    /// The publisher's node.
    pub fn publisher(&self) -> &'a str {
        &self.from.publisher
    }

    /// The ROS generation of the message, which is that of its encoding.
    pub fn generation(&self) -> Generation {
        if self.encoding().is_ros1() { Generation::Ros1 } else { Generation::Ros2 }
    }

    /// The message type: from a ROS 1 publisher such as `std_msgs/String`, from a ROS 2 publisher such as
    /// `std_msgs/msg/String`. [`TypeName::parse`](runnel_core::schema::TypeName::parse) accepts both.
    pub fn type_name(&self) -> &'a str {
        &self.from.type_name
    }

    /// MD5 sum of the message type; `*` if unknown, as from ROS 2 publishers.
    pub fn md5(&self) -> &'a str {
        &self.from.md5
    }

    /// The ROS 2 type hash, such as `RIHS01_df66...`, which can be compared with [`Schema::rihs01`]; empty if unknown,
    /// as from publishers of ROS 1 and of ROS 2 before Iron.
    pub fn type_hash(&self) -> &'a str {
        &self.from.type_hash
    }

    /// Decodes the message from any encoding with its schema, which must be from the generation
    /// [`RawMessage::generation`].
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

    /// Definition of the message type with its dependencies; empty if unknown.
    pub fn definition(&self) -> &'a str {
        &self.from.definition
    }

    /// Whether the publisher gives its last message to late joiners.
    pub fn latching(&self) -> bool {
        self.from.latching
    }
}
