//! Messages that are kept where they lie.

use std::fmt;
use std::marker::PhantomData;

use runnel_core::Message;
use runnel_core::wire::{Bytes, DecodeError, Wire};

use crate::data::Kept;
use crate::message_info::MessageInfo;

/// A message where it lies, for as long as it is wanted: in memory of a publisher of this host, or where it was received.
/// What iceoryx calls a sample. Dropping it gives the memory back.
///
/// A message in a publisher's memory stays as it was published while it is held, unless that process breaks its word: see
/// [`Bytes`] for what comes of that. It counts against what that process
/// lends to this one, all topics together: 4096 messages, and as many bytes as
/// [`ContextOptions::shared_memory`](crate::ContextOptions::shared_memory) says. Beyond that messages are copied instead (see
/// [`PublisherBase::copied`](crate::PublisherBase::copied)), and none is lost for it. A message of this process is held likewise, and
/// does not count.
///
/// ```no_run
/// # use runnel::msgs::sensor_msgs::msg::Image;
/// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
/// let (into, images) = std::sync::mpsc::channel::<runnel::Borrowed<Image>>();
/// let _camera = node.create_borrowing_subscription("camera/image", 2, move |image| drop(into.send(image)))?;
/// std::thread::spawn(move || {
///     for image in images {
///         if let Ok(image) = image.view() {
///             println!("{} pixels of a row, {} bytes", image.width, image.data.len());
///         }
///     }
/// });
/// # Ok(())
/// # }
/// ```
pub struct Borrowed<M> {
    kept: Kept,
    message: PhantomData<fn() -> M>,
}

impl<M: Message> Borrowed<M> {
    pub(crate) fn new(kept: Kept) -> Self {
        Self { kept, message: PhantomData }
    }

    /// The message as a view: arrays borrowed from its bytes, and so is text unless another process could write it.
    ///
    /// # Errors
    /// When it cannot be read. It could when it arrived, so that this tells of a publisher on this host that has altered
    /// what it had published.
    pub fn view(&self) -> Result<<M as Wire>::View<'_>, DecodeError> {
        self.kept.from().read_view::<M>(self.bytes())
    }

    /// The serialized message.
    pub fn bytes(&self) -> Bytes<'_> {
        self.kept.bytes()
    }

    /// What is known of the message besides: when it was published, when it came, and from whom.
    pub fn info(&self) -> MessageInfo {
        MessageInfo::of_kept(&self.kept)
    }

    /// The publisher's node.
    pub fn publisher(&self) -> &str {
        &self.kept.from().publisher
    }
}

impl<M: Message> fmt::Debug for Borrowed<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Borrowed({}, {} bytes of {})", M::TYPE, self.bytes().len(), self.publisher())
    }
}
