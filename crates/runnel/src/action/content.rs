//! Goals, results and feedback within the messages and service calls that carry them.

use std::sync::Arc;

use runnel_core::Message;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::wire::{Bytes, DecodeError, Encoding, GrowingSink, Reader, Sink, Wire, cdr};

use crate::error::ConversionError;
use crate::types::type_mapping::TypeMapping;

/// A goal, a result or feedback to be sent.
pub(super) trait Content {
    /// Appends a message that ends in it: what `head` writes, then the content. ROS 2 messages get their encapsulation
    /// header.
    fn encode(
        &self,
        encoding: Encoding,
        head: &dyn Fn(&mut dyn Sink),
        out: &mut GrowingSink,
    ) -> Result<(), ConversionError>;
}

impl<M: Message> Content for M {
    fn encode(
        &self,
        encoding: Encoding,
        head: &dyn Fn(&mut dyn Sink),
        out: &mut GrowingSink,
    ) -> Result<(), ConversionError> {
        if !encoding.is_ros1() {
            self.check()?;
        }
        cdr::write_payload(encoding, out, &|out| {
            head(out);
            self.write(out);
        });
        Ok(())
    }
}

/// Content of a type known only at run time.
pub(super) struct DynamicContent<'a> {
    pub(super) message: &'a DynamicMessage,
    pub(super) mapping: &'a TypeMapping,
}

impl Content for DynamicContent<'_> {
    fn encode(
        &self,
        encoding: Encoding,
        head: &dyn Fn(&mut dyn Sink),
        out: &mut GrowingSink,
    ) -> Result<(), ConversionError> {
        let message = self.mapping.form_for(self.message, encoding)?;
        cdr::write_payload(encoding, out, &|out| {
            head(out);
            message.encode(out);
        });
        Ok(())
    }
}

/// Received content: the end of a message.
#[derive(Clone, Debug)]
pub(super) struct ReceivedContent {
    message: Arc<[u8]>,
    encoding: Encoding,
    /// Bytes before the content, without the encapsulation header.
    head_len: usize,
}

impl ReceivedContent {
    /// The content behind the first `head_len` bytes of a message. ROS 2 messages begin with an encapsulation header,
    /// which does not count.
    pub(super) fn new(message: Bytes<'_>, encoding: Encoding, head_len: usize) -> Self {
        Self { message: message.to_cow().into(), encoding, head_len }
    }

    /// Size of the message in bytes.
    pub(super) fn len(&self) -> usize {
        self.message.len()
    }

    /// A cursor at the content.
    pub(super) fn reader(&self) -> Result<Reader<'_>, DecodeError> {
        let mut reader = message_reader(self.encoding, Bytes::from(&*self.message))?;
        reader.take(self.head_len)?;
        Ok(reader)
    }
}

/// A cursor at the begin of a message in an encoding; in ROS 2 the encapsulation header names the exact one.
pub(super) fn message_reader(encoding: Encoding, message: Bytes<'_>) -> Result<Reader<'_>, DecodeError> {
    if encoding.is_ros1() { Ok(Reader::new(message)) } else { cdr::reader(message) }
}

/// Reads the rest of a message as one value.
pub(super) fn read<M: Wire + Default>(mut reader: Reader<'_>) -> Result<M, String> {
    let mut value = M::default();
    let read = value.read_into(&mut reader).and_then(|()| reader.finish());
    read.map(|()| value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_core::schema::TypeName;
    use runnel_core::wire::{encode, try_write};
    use runnel_msgs::actionlib::action::TwoIntsGoal;

    const GOAL: TwoIntsGoal = TwoIntsGoal { a: 3, b: -4 };

    /// A message of a single byte and a goal.
    fn message(content: &dyn Content, encoding: Encoding) -> Vec<u8> {
        let mut bytes = Vec::new();
        let head = |out: &mut dyn Sink| out.put(&[9]);
        try_write(&mut bytes, |out| content.encode(encoding, &head, out).unwrap()).unwrap();
        bytes
    }

    #[test]
    fn content_is_aligned_within_its_message() {
        assert_eq!(message(&GOAL, Encoding::Ros1)[1..], encode(&GOAL));
        let ros2 = message(&GOAL, Encoding::Xcdr1);
        assert_eq!(ros2[..12], [0, 1, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(ros2[12..], encode(&GOAL));
    }

    #[test]
    fn received_content_is_read_behind_its_head() {
        for encoding in Encoding::ALL {
            let message = message(&GOAL, encoding);
            let content = ReceivedContent::new(Bytes::from(&message), encoding, 1);
            assert_eq!(read::<TwoIntsGoal>(content.reader().unwrap()), Ok(GOAL), "{encoding:?}");
            assert_eq!(content.len(), message.len());
        }
        let cut = ReceivedContent::new(Bytes::from(&[0, 1, 0, 0, 9, 0]), Encoding::Xcdr1, 1);
        assert!(read::<TwoIntsGoal>(cut.reader().unwrap()).is_err());
        assert!(ReceivedContent::new(Bytes::from(&[0, 1, 0, 0]), Encoding::Xcdr1, 1).reader().is_err());
    }

    #[test]
    fn dynamic_content_is_encoded_as_typed_content() {
        let name = TypeName::new("actionlib", "TwoInts");
        let schema = runnel_msgs::library().action(&name).unwrap();
        let mapping = TypeMapping::of(&schema.goal);
        let dynamic = DynamicMessage::decode(&schema.goal, &encode(&GOAL)).unwrap();
        let content = DynamicContent { message: &dynamic, mapping: &mapping };
        for encoding in Encoding::ALL {
            assert_eq!(message(&content, encoding), message(&GOAL, encoding));
        }
    }
}
