//! Messages as the participant holds them.

use runnel_rtps::Lend;

use crate::frame::Frame;

/// A message in an encoding of ROS 2.
#[derive(Clone)]
pub(crate) struct CdrFrame(pub(crate) Frame);

impl Lend for CdrFrame {
    fn bytes(&self) -> &[u8] {
        self.0.as_ref()
    }
}
