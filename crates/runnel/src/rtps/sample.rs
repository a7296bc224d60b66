//! Messages as the participant holds them.

use runnel_rtps::Lend;

use crate::frame::{Frame, LENGTH};

/// A message in an encoding of ROS 2, with its length before it.
#[derive(Clone)]
pub(crate) struct CdrFrame(pub(crate) Frame);

impl Lend for CdrFrame {
    fn bytes(&self) -> &[u8] {
        self.0.as_ref().get(LENGTH..).unwrap_or_default()
    }
}
