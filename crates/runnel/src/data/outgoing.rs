//! Outgoing messages in the types in which users and the library have them.

mod publishable;

use std::any::TypeId;
use std::marker::PhantomData;
use std::sync::Arc;

use runnel_core::Message;
use runnel_core::wire::{Encoding, GrowingSink, SliceSink, cdr, decode_into};

use crate::data::{Outgoing, SharedMessage};
use crate::error::ConversionError;
pub use publishable::Publishable;

/// A message of a known type.
pub(crate) fn typed<M: Message>(message: M) -> impl Outgoing {
    Typed::<M, M>::of(message)
}

/// A message of type `M`.
pub(crate) struct Typed<M, P> {
    message: P,
    of: PhantomData<M>,
}

impl<M, P> Typed<M, P> {
    pub(crate) fn of(message: P) -> Self {
        Self { message, of: PhantomData }
    }
}

impl<M: Message, P: Publishable<M>> Outgoing for Typed<M, P> {
    fn shared_type(&self) -> Option<TypeId> {
        Some(TypeId::of::<M>())
    }
    fn wire_len(&self) -> usize {
        self.message.message().wire_len()
    }
    fn write(&self, out: &mut GrowingSink) -> Result<(), ConversionError> {
        self.message.message().write(out);
        Ok(())
    }
    fn write_cdr(&self, out: &mut GrowingSink) -> Result<(), ConversionError> {
        Ok(cdr::encode_into(self.message.message(), Encoding::Xcdr1, out)?)
    }
    fn write_slice(&self, out: &mut [u8]) -> bool {
        let expected = out.len();
        let mut sink = SliceSink::new(out);
        self.message.message().write(&mut sink);
        sink.len() == expected
    }
    fn copy_to_share(&self) -> Result<Option<SharedMessage>, ConversionError> {
        Ok(self.message.copy_to_share()?.map(|copy| copy as SharedMessage))
    }
    fn into_shared(self) -> SharedMessage {
        self.message.into_shared()
    }
}

/// A message with different types in ROS 1 and ROS 2. Subscriptions of this process get the ROS 1 type.
pub(crate) fn per_generation(ros1: impl Outgoing, ros2: impl Outgoing) -> impl Outgoing {
    PerGeneration { ros1, ros2 }
}

struct PerGeneration<A, B> {
    ros1: A,
    ros2: B,
}

impl<A: Outgoing, B: Outgoing> Outgoing for PerGeneration<A, B> {
    fn shared_type(&self) -> Option<TypeId> {
        self.ros1.shared_type()
    }
    fn wire_len(&self) -> usize {
        self.ros1.wire_len()
    }
    fn write(&self, out: &mut GrowingSink) -> Result<(), ConversionError> {
        self.ros1.write(out)
    }
    fn write_cdr(&self, out: &mut GrowingSink) -> Result<(), ConversionError> {
        self.ros2.write_cdr(out)
    }
    fn write_slice(&self, out: &mut [u8]) -> bool {
        self.ros1.write_slice(out)
    }
    fn copy_to_share(&self) -> Result<Option<SharedMessage>, ConversionError> {
        self.ros1.copy_to_share()
    }
    fn into_shared(self) -> SharedMessage {
        self.ros1.into_shared()
    }
}

/// Decodes a message from one encoding and appends it in another one.
pub(crate) fn convert<M: Message>(
    bytes: &[u8],
    from: Encoding,
    to: Encoding,
    out: &mut GrowingSink,
) -> Result<(), ConversionError> {
    let mut message = M::default();
    match from {
        Encoding::Ros1 => decode_into(&mut message, bytes)?,
        _ => cdr::decode_into(&mut message, bytes)?,
    }
    Ok(cdr::encode_into(&message, to, out)?)
}

/// A message given as a function that writes its encoding.
pub(crate) struct Written<W>(W);

impl<W> Written<W> {
    pub(crate) fn by(write: W) -> Self {
        Self(write)
    }
}

impl<W: Fn(Encoding, &mut GrowingSink) -> Result<(), ConversionError>> Outgoing for Written<W> {
    fn shared_type(&self) -> Option<TypeId> {
        None
    }
    /// The length is unknown before it is written, so such messages are copied.
    fn wire_len(&self) -> usize {
        0
    }
    fn write(&self, out: &mut GrowingSink) -> Result<(), ConversionError> {
        (self.0)(Encoding::Ros1, out)
    }
    fn write_cdr(&self, out: &mut GrowingSink) -> Result<(), ConversionError> {
        (self.0)(Encoding::Xcdr1, out)
    }
    fn write_slice(&self, _: &mut [u8]) -> bool {
        false
    }
    fn into_shared(self) -> SharedMessage {
        Arc::new(())
    }
}
