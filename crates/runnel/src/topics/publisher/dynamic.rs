//! Publishers of types known only at run time.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::Schema;
use runnel_core::wire::{Encoding, GrowingSink, try_write};

use super::PublisherBase;
use crate::data::outgoing::Written;
use crate::error::{ConversionError, Error};
use crate::types::type_mapping::TypeMapping;

/// Publishes messages of a type known only at run time, from any thread.
///
/// Its schema is the definition of the type in one ROS generation. Subscribers of the other generation get the message
/// converted to the definition there: that of the standard packages for a standard type, otherwise one derived from
/// the schema, with `seq` in headers only in ROS 1, and lower-case fields in ROS 2. A type with a `wstring` exists
/// only in ROS 1.
#[derive(Clone)]
#[must_use = "a publisher is unregistered when it is dropped: bind it to a name, `let chatter = ...`, not `let _ = ...`"]
pub struct DynamicPublisher {
    pub(crate) base: PublisherBase,
    pub(crate) mapping: Arc<TypeMapping>,
}

impl DynamicPublisher {
    pub(crate) fn new(base: PublisherBase, mapping: TypeMapping) -> Self {
        let mapping = Arc::new(mapping);
        let of_messages = Arc::clone(&mapping);
        base.publication.set_to_ros1(move |bytes, out| {
            of_messages.encode(&of_messages.decode(bytes.into(), Encoding::Xcdr1)?, Encoding::Ros1, out)
        });
        Self { base, mapping }
    }

    /// The schema of the publisher's messages.
    pub fn schema(&self) -> &Arc<Schema> {
        self.mapping.own()
    }

    /// Publishes a message, which must have the publisher's schema.
    ///
    /// # Errors
    /// As [`Publisher::publish`](crate::Publisher::publish), and [`Error::Transcode`] if it cannot be converted to the
    /// other generation and has subscribers there.
    pub fn publish(&self, message: &DynamicMessage) -> Result<(), Error> {
        self.send(|encoding, out| self.mapping.encode(message, encoding, out))
    }

    /// Publishes the serialized message that `write` appends: in the ROS 1 encoding if the schema is from ROS 1,
    /// otherwise a ROS 2 payload with its header (see [`runnel_core::wire::cdr`]). `write` is called again if
    /// publishing has to wait.
    ///
    /// Subscribers of the same generation get the bytes unchecked. For those of the other generation they are decoded
    /// and encoded, which takes time.
    ///
    /// # Errors
    /// As [`Publisher::publish`](crate::Publisher::publish), and [`Error::Transcode`] if there are such subscribers
    /// and the bytes are not a message of the schema.
    pub fn publish_bytes(&self, write: impl Fn(&mut GrowingSink)) -> Result<(), Error> {
        self.send(|encoding, out| self.write_in(encoding, &write, out))
    }

    /// Writes in an encoding what `write` writes in the publisher's own.
    fn write_in(
        &self,
        encoding: Encoding,
        write: &impl Fn(&mut GrowingSink),
        out: &mut GrowingSink,
    ) -> Result<(), ConversionError> {
        if encoding == self.mapping.own_encoding() {
            write(out);
            return Ok(());
        }
        let mut bytes = Vec::new();
        try_write(&mut bytes, write)?;
        self.mapping.convert(&bytes, encoding, out)
    }

    /// Keeps a serialized message, as [`publish_bytes`](Self::publish_bytes) takes it, for late subscribers with
    /// transient-local durability, and for those of a latched topic in ROS 1. The subscribers of now do not get it: they have
    /// it from the publisher whose place this one takes.
    ///
    /// # Errors
    /// As [`publish_bytes`](Self::publish_bytes).
    pub fn keep_bytes(&self, write: impl Fn(&mut GrowingSink)) -> Result<(), Error> {
        let write = |encoding, out: &mut GrowingSink| self.write_in(encoding, &write, out);
        self.base.keep(Written::by(write))
    }

    /// Sets how long publishing waits for a subscriber with keep-all history; 100 ms by default. It applies to this
    /// handle and to later clones of it.
    pub fn set_max_blocking_time(&mut self, time: Duration) {
        self.base.max_blocking = time;
    }

    fn send(
        &self,
        write: impl Fn(Encoding, &mut GrowingSink) -> Result<(), ConversionError>,
    ) -> Result<(), Error> {
        self.base.publish(Written::by(write), self.base.max_blocking)
    }
}

impl Deref for DynamicPublisher {
    type Target = PublisherBase;

    fn deref(&self) -> &PublisherBase {
        &self.base
    }
}

impl fmt::Debug for DynamicPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicPublisher").field("topic", &self.topic()).finish_non_exhaustive()
    }
}
