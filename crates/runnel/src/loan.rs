//! Messages whose last array is written where subscribers read it.

use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use runnel_core::Message;
use runnel_core::message::{len_with_tail, write_with_tail};
use runnel_core::wire::{Encoding, GrowingSink};

use crate::data::{Blank, Filled};
use crate::error::{Error, Unfit};
use crate::forms::Forms;
use crate::outgoing::translate;
use crate::publisher::{DynamicPublisher, Publisher, PublisherBase};

/// A message that is being written in its publisher's memory, where subscribers of other processes of this host read it:
/// the bytes of its last array, or of the whole message if its type is known only while the program runs. What rclcpp
/// gives by `borrow_loaned_message`, for messages of any length.
///
/// What it holds at first is whatever was in that memory, earlier messages of this process for the most part, and what is
/// not written is published so. Numbers are little-endian and lie at any alignment.
///
/// A message below 4 KiB has ordinary memory, and so has any while no subscriber reads shared memory or none can be had:
/// publishing copies it then as it does without a loan. Dropping a loan gives its memory back.
///
/// Subscribers of ROS 1 and of ROS 2 have different encodings. The memory holds one of them, chosen by who listens when it
/// is lent: see [`Publisher::loan`](crate::Publisher::loan). Whoever listens when it is published gets the message.
#[must_use = "a loan is heard of once it is published"]
pub struct Loan {
    base: PublisherBase,
    blank: Blank,
    /// What the user writes.
    part: Range<usize>,
    translation: Translation,
}

/// Reads a message in the first encoding and appends it in the second.
type Translate = fn(&[u8], Encoding, Encoding, &mut GrowingSink) -> Result<(), Unfit>;

/// Has a message in another encoding.
enum Translation {
    Typed(Translate),
    Dynamic(Arc<Forms>),
}

impl Loan {
    /// Memory for a message whose last array gets so many elements.
    pub(crate) fn of_tail<M: Message>(
        base: &PublisherBase,
        message: &M,
        elements: usize,
    ) -> Result<Self, Error> {
        let failed = |why| Error::Loan { topic: base.topic().to_owned(), why };
        let encoding = match base.is_for_ros2_alone() {
            true if len_with_tail(message, Encoding::Xcdr1, elements).is_ok() => Encoding::Xcdr1,
            _ => Encoding::Ros1,
        };
        let bytes = len_with_tail(message, encoding, elements).map_err(failed)?;
        let mut loan = Self::of(base, bytes, encoding, Translation::Typed(translate::<M>))?;
        let Range { start, end } =
            write_with_tail(message, encoding, elements, loan.deref_mut()).map_err(failed)?.elements;
        loan.part = start..end;
        Ok(loan)
    }

    /// Memory for a serialized message of so many bytes.
    pub(crate) fn of_bytes(base: &PublisherBase, bytes: usize, forms: &Arc<Forms>) -> Result<Self, Error> {
        Self::of(base, bytes, forms.own_encoding(), Translation::Dynamic(Arc::clone(forms)))
    }

    fn of(
        base: &PublisherBase,
        bytes: usize,
        encoding: Encoding,
        translation: Translation,
    ) -> Result<Self, Error> {
        let blank = base.blank(bytes, encoding)?;
        Ok(Self { base: base.clone(), blank, part: 0..bytes, translation })
    }

    /// Publishes the message without a copy for those who read shared memory. Subscribers of this process get it as bytes.
    ///
    /// # Errors
    /// [`Error::Blocked`] as [`Publisher::publish`](crate::Publisher::publish) has it, and [`Error::Encode`] or
    /// [`Error::Transcode`] when it is to be translated and cannot be, [`Error::NoMemory`] when there is no memory for that.
    /// The message is lost then.
    pub fn publish(self) -> Result<(), Error> {
        let Self { base, blank, translation, .. } = self;
        let from = blank.encoding();
        let translate = |bytes: &[u8], to, out: &mut GrowingSink| translation.run(bytes, from, to, out);
        base.publish_filled(Filled { blank, translate: &translate })
    }
}

impl<M: Message> Publisher<M> {
    /// Memory for a message whose last array, such as the pixels of an image, is to be written where subscribers of this
    /// host read it. `message` is the message with that array empty, which gets room for so many elements.
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
    /// While subscribers in the ROS 2 graph alone listen, what is written is sent as it is; while only others do, they read
    /// it there. While both do, it is translated when it is published, which copies it twice; and so it is while ROS 2
    /// alone listens to a topic that is [`transient_local`](crate::QoS::transient_local), whose last messages subscribers of this
    /// process may want.
    ///
    /// # Errors
    /// [`Error::Loan`] when the message does not end in an array of numbers, or that array is not empty;
    /// [`Error::TooLong`] when the message would be longer than subscribers accept; [`Error::NoMemory`] when there is no
    /// memory for it.
    pub fn loan(&self, message: &M, elements: usize) -> Result<Loan, Error> {
        Loan::of_tail(&self.base, message, elements)
    }
}

impl DynamicPublisher {
    /// Memory for a whole serialized message of so many bytes, as [`DynamicPublisher::publish_bytes`] has it, to be written
    /// where subscribers of this host read it, or from where it is sent if the schema is of ROS 2. Subscribers of the other
    /// generation get it translated, as there.
    ///
    /// # Errors
    /// [`Error::TooLong`] when that is longer than subscribers accept, [`Error::NoMemory`] when there is no memory for it.
    pub fn loan(&self, bytes: usize) -> Result<Loan, Error> {
        Loan::of_bytes(&self.base, bytes, &self.forms)
    }
}

impl Translation {
    fn run(&self, bytes: &[u8], from: Encoding, to: Encoding, out: &mut GrowingSink) -> Result<(), Unfit> {
        match self {
            Self::Typed(translate) => translate(bytes, from, to, out),
            Self::Dynamic(forms) => forms.translate(bytes, to, out),
        }
    }
}

impl Deref for Loan {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.blank.bytes().get(self.part.clone()).unwrap_or(&[])
    }
}

impl DerefMut for Loan {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.blank.bytes_mut().get_mut(self.part.clone()).unwrap_or(&mut [])
    }
}

impl fmt::Debug for Loan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loan({} bytes for {})", self.len(), self.base.topic())
    }
}
