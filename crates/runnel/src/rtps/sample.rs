//! Message type of the RTPS engine.

use runnel_rtps::Lend;

use crate::frame::Frame;

/// A message in a ROS 2 encoding.
#[derive(Clone)]
pub(crate) struct CdrFrame(pub(crate) Frame);

impl Lend for CdrFrame {
    fn bytes(&self) -> &[u8] {
        self.0.as_ref()
    }
}
