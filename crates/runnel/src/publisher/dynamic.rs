//! Publishers of types that are known only while the program runs.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::Schema;
use runnel_core::wire::{Encoding, GrowingSink, try_write};

use super::PublisherBase;
use crate::error::{Error, Unfit};
use crate::forms::Forms;
use crate::outgoing::Written;

/// Publishes messages of a type that is known only while the program runs, from any thread.
///
/// Its schema is the form that the type has in one generation of ROS. Subscribers of the other get the message in the form
/// that the type has there: of a standard type as the standard packages of that generation define it, otherwise as it follows
/// from the schema, with a header that has a `seq` in ROS 1 alone, and fields that are in lower case in ROS 2. A type with a
/// `wstring` is in ROS 1 alone.
#[derive(Clone)]
pub struct DynamicPublisher {
    pub(crate) base: PublisherBase,
    pub(crate) forms: Arc<Forms>,
}

impl DynamicPublisher {
    pub(crate) fn new(base: PublisherBase, forms: Forms) -> Self {
        let forms = Arc::new(forms);
        let of_messages = Arc::clone(&forms);
        base.publication.set_to_ros1(move |bytes, out| {
            of_messages.encode(&of_messages.decode(bytes.into(), Encoding::Xcdr1)?, Encoding::Ros1, out)
        });
        Self { base, forms }
    }

    /// The type of its messages.
    pub fn schema(&self) -> &Arc<Schema> {
        self.forms.own()
    }

    /// Publishes a message, which must be of the publisher's schema.
    ///
    /// # Errors
    /// As [`Publisher::publish`](crate::Publisher::publish), and [`Error::Transcode`] when it cannot be had in the form of
    /// the other generation, to whose subscribers it goes.
    pub fn publish(&self, message: &DynamicMessage) -> Result<(), Error> {
        self.send(|encoding, out| self.forms.encode(message, encoding, out))
    }

    /// Publishes the serialized message that `write` appends: as ROS 1 has it if the schema is of ROS 1, and otherwise a
    /// payload of ROS 2, with its header (see [`runnel_core::wire::cdr`]). It is asked again if a subscriber has no room
    /// meanwhile.
    ///
    /// Those who get it as it is get it unread. For subscribers of the other generation it is read and written anew, which
    /// takes its time.
    ///
    /// # Errors
    /// As [`Publisher::publish`](crate::Publisher::publish), and [`Error::Transcode`] when such subscribers are there and it
    /// is no message of the schema.
    pub fn publish_bytes(&self, write: impl Fn(&mut GrowingSink)) -> Result<(), Error> {
        let own = self.forms.own_encoding();
        self.send(|encoding, out| {
            if encoding == own {
                write(out);
                return Ok(());
            }
            let mut bytes = Vec::new();
            try_write(&mut bytes, &write)?;
            self.forms.translate(&bytes, encoding, out)
        })
    }

    /// Sets how long publishing waits at most for a subscriber when all messages are to be kept; 100 ms at first. It
    /// holds for this handle and for clones made of it later.
    pub fn set_max_blocking_time(&mut self, time: Duration) {
        self.base.max_blocking = time;
    }

    fn send(&self, write: impl Fn(Encoding, &mut GrowingSink) -> Result<(), Unfit>) -> Result<(), Error> {
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
