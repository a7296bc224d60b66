//! Messages for late subscribers only: a publisher that takes the place of another one keeps what that had kept.

use super::{Outgoing, Publication, WriterGroup};
use crate::error::ConversionError;
use crate::sync::lock;

impl Publication {
    /// Keeps a message as if it had been published before the subscribers of now joined.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub(crate) fn keep_for_late(
        &self,
        message: &impl Outgoing,
        group: &WriterGroup,
    ) -> Result<(), ConversionError> {
        let mut state = lock(&self.state);
        if let Some(frame) = state.written_cdr(message, group)?
            && let Some(writer) = group.writer()
        {
            writer.write_for_late(frame).into_iter().for_each(|displaced| state.recycle(displaced));
        }
        if state.options.latching {
            let frame = state.written(message, None)?;
            state.keep(frame, group.lifespan_end());
        }
        Ok(())
    }
}
