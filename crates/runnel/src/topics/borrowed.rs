//! Borrowed messages, which are kept without copying.

use std::fmt;
use std::marker::PhantomData;

use runnel_core::Message;
use runnel_core::wire::{Bytes, DecodeError, Wire};

use crate::data::Kept;
use crate::topics::message_info::MessageInfo;

/// A message that is kept without copying: in the memory of a publisher on this host, or in its receive buffer. iceoryx
/// calls this a sample. Dropping it releases the memory.
///
/// A message in a publisher's memory does not change while it is held, unless that process violates the protocol: see
/// [`Bytes`] for the consequences. It counts against the quota of that process for this one, over all topics: 4096
/// messages, and the bytes set by [`ContextOptions::shared_memory`](crate::ContextOptions::shared_memory). Beyond the
/// quota, messages are copied instead (see
/// [`PublisherBase::shm_fallback_count`](crate::PublisherBase::shm_fallback_count)), and none is lost. A message of
/// this process is held likewise, but does not count.
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

    /// The message as a view: arrays are borrowed from its bytes, and so is text unless another process could write
    /// it.
    ///
    /// # Errors
    /// If it cannot be read. It was readable when it arrived, so a publisher on this host has altered it since.
    pub fn view(&self) -> Result<<M as Wire>::View<'_>, DecodeError> {
        self.kept.from().read_view::<M>(self.bytes())
    }

    /// The serialized message.
    pub fn bytes(&self) -> Bytes<'_> {
        self.kept.bytes()
    }

    /// Metadata of the message: its times and its publisher.
    pub fn info(&self) -> MessageInfo {
        MessageInfo::from_kept(&self.kept)
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
