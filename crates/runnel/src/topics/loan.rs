//! Loaned messages: their last array is written in the memory in which subscribers read it.

use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use runnel_core::Message;
use runnel_core::message::{len_with_tail, write_with_tail};
use runnel_core::wire::{Encoding, GrowingSink};

use crate::data::outgoing::convert;
use crate::data::{LoanedBuffer, WrittenLoan};
use crate::error::{ConversionError, Error};
use crate::topics::publisher::{DynamicPublisher, Publisher, PublisherBase};
use crate::types::type_mapping::TypeMapping;

/// A message that is being written in its publisher's memory, where subscribers in other processes of this host read
/// it: the bytes of its last array, or of the whole message if its type is known only at run time. It corresponds to
/// rclcpp's `borrow_loaned_message`, for messages of any length.
///
/// Its initial content is unspecified, mostly earlier messages of this process, and bytes that you do not write are
/// published like that. Numbers are little-endian and may be unaligned.
///
/// A message below 4 KiB has ordinary memory, and so has any message while no subscriber uses shared memory or none is
/// available: publishing then copies it as without a loan. Dropping a loan frees its memory.
///
/// ROS 1 and ROS 2 subscribers have different encodings. The memory has one of them, chosen by the current
/// subscribers: see [`Publisher::loan`](crate::Publisher::loan). All subscribers at the time of publishing get the
/// message.
#[must_use = "a loan that is dropped is not published: call `Loan::publish`"]
pub struct Loan {
    base: PublisherBase,
    buffer: LoanedBuffer,
    /// The part that the user writes.
    part: Range<usize>,
    conversion: Conversion,
}

/// Decodes a message from the first encoding and appends it in the second.
type Convert = fn(&[u8], Encoding, Encoding, &mut GrowingSink) -> Result<(), ConversionError>;

/// Conversion to another encoding.
enum Conversion {
    Typed(Convert),
    Dynamic(Arc<TypeMapping>),
}

impl Loan {
    /// A loan for a message whose last array has so many elements.
    pub(crate) fn of_tail<M: Message>(
        base: &PublisherBase,
        message: &M,
        elements: usize,
    ) -> Result<Self, Error> {
        let failed = |why| Error::Loan { topic: base.topic().to_owned(), why };
        let encoding = match base.has_only_ros2_subscribers() {
            true if len_with_tail(message, Encoding::Xcdr1, elements).is_ok() => Encoding::Xcdr1,
            _ => Encoding::Ros1,
        };
        let bytes = len_with_tail(message, encoding, elements).map_err(failed)?;
        let mut loan = Self::of(base, bytes, encoding, Conversion::Typed(convert::<M>))?;
        let Range { start, end } =
            write_with_tail(message, encoding, elements, loan.deref_mut()).map_err(failed)?.elements;
        loan.part = start..end;
        Ok(loan)
    }

    /// A loan for a serialized message of `bytes` bytes.
    pub(crate) fn of_bytes(
        base: &PublisherBase,
        bytes: usize,
        mapping: &Arc<TypeMapping>,
    ) -> Result<Self, Error> {
        Self::of(base, bytes, mapping.own_encoding(), Conversion::Dynamic(Arc::clone(mapping)))
    }

    fn of(
        base: &PublisherBase,
        bytes: usize,
        encoding: Encoding,
        conversion: Conversion,
    ) -> Result<Self, Error> {
        let buffer = base.loan(bytes, encoding)?;
        Ok(Self { base: base.clone(), buffer, part: 0..bytes, conversion })
    }

    /// Publishes the message without a copy for subscribers that use shared memory. Subscriptions of this process get
    /// it as bytes.
    ///
    /// # Errors
    /// [`Error::Blocked`] as for [`Publisher::publish`](crate::Publisher::publish). If a conversion is needed:
    /// [`Error::Encode`] or [`Error::Transcode`] if it fails, [`Error::NoMemory`] if there is no memory for it. The
    /// message is lost then.
    pub fn publish(self) -> Result<(), Error> {
        let Self { base, buffer, conversion, .. } = self;
        let from = buffer.encoding();
        let convert = |bytes: &[u8], to, out: &mut GrowingSink| conversion.run(bytes, from, to, out);
        base.publish_loan(WrittenLoan { buffer, convert: &convert })
    }
}

impl<M: Message> Publisher<M> {
    /// A loan for a message whose last array, such as the pixels of an image, is written where subscribers on this
    /// host read it. `message` is the message with that array empty, which gets `elements` elements.
    ///
    /// ```no_run
    /// # use runnel::msgs::sensor_msgs::msg::Image;
    /// # fn on_node(node: &runnel::Node, frame: &[u8]) -> Result<(), runnel::Error> {
    /// let camera = node.create_publisher::<Image>("camera/image", 2)?;
    /// let image = Image { height: 1080, width: 1920, step: 1920 * 3, encoding: "rgb8".into(), ..Image::default() };
    /// let mut pixels = camera.loan(&image, 1080 * 1920 * 3)?;
    /// pixels.copy_from_slice(frame);
    /// pixels.publish()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// With ROS 2 subscribers only, the message is sent in the encoding in which it is written. With ROS 1 subscribers
    /// only, they read it without copying. With both, it is converted when it is published, which copies it twice. The
    /// same holds for ROS 2 subscribers only if the topic is [`transient_local`](crate::QoS::transient_local), since
    /// later subscriptions of this process may need its last messages.
    ///
    /// # Errors
    /// [`Error::Loan`] if the message does not end in an array of numbers, or that array is not empty;
    /// [`Error::TooLong`] if the message would be longer than subscribers accept; [`Error::NoMemory`] if there is no
    /// memory for it.
    pub fn loan(&self, message: &M, elements: usize) -> Result<Loan, Error> {
        Loan::of_tail(&self.base, message, elements)
    }
}

impl DynamicPublisher {
    /// A loan for a serialized message of `bytes` bytes, as for [`DynamicPublisher::publish_bytes`], which is written
    /// where subscribers on this host read it or, with a ROS 2 schema, from where it is sent. Subscribers of the other
    /// generation get it converted, as there.
    ///
    /// # Errors
    /// [`Error::TooLong`] if it is longer than subscribers accept, [`Error::NoMemory`] if there is no memory for it.
    pub fn loan(&self, bytes: usize) -> Result<Loan, Error> {
        Loan::of_bytes(&self.base, bytes, &self.mapping)
    }
}

impl Conversion {
    fn run(
        &self,
        bytes: &[u8],
        from: Encoding,
        to: Encoding,
        out: &mut GrowingSink,
    ) -> Result<(), ConversionError> {
        match self {
            Self::Typed(convert) => convert(bytes, from, to, out),
            Self::Dynamic(mapping) => mapping.convert(bytes, to, out),
        }
    }
}

impl Deref for Loan {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.buffer.bytes().get(self.part.clone()).unwrap_or(&[])
    }
}

impl DerefMut for Loan {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.buffer.bytes_mut().get_mut(self.part.clone()).unwrap_or(&mut [])
    }
}

impl fmt::Debug for Loan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loan({} bytes for {})", self.len(), self.base.topic())
    }
}
