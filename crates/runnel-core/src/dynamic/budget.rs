//! Memory budget of one message under construction.

use super::{Array, DynamicErrorKind, MAX_MEMORY, Value};

/// Counts down what a message under construction takes up. Schemas and bytes from peers can each ask for far more
/// memory than they have bytes: fixed arrays in fixed arrays, empty messages, one-byte messages.
pub(crate) struct Budget {
    left: usize,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { left: MAX_MEMORY }
    }

    /// Takes `count` times `size` bytes.
    ///
    /// # Errors
    /// When no more is left.
    pub(crate) fn take(&mut self, count: usize, size: usize) -> Result<(), DynamicErrorKind> {
        let bytes = count.checked_mul(size).ok_or(DynamicErrorKind::TooLarge)?;
        self.left = self.left.checked_sub(bytes).ok_or(DynamicErrorKind::TooLarge)?;
        Ok(())
    }

    /// Takes what a message of `fields` fields is itself, without memory that its fields point to.
    ///
    /// # Errors
    /// When no more is left.
    pub(crate) fn take_message(&mut self, fields: usize) -> Result<(), DynamicErrorKind> {
        self.take(fields + 1, size_of::<Value>())
    }

    /// Takes the memory that a value of a definition points to: the bytes of a text, the elements of an array.
    /// Definitions give no messages.
    ///
    /// # Errors
    /// When no more is left.
    pub(crate) fn take_held(&mut self, value: &Value) -> Result<(), DynamicErrorKind> {
        match value {
            Value::String(text) => self.take(text.len(), 1),
            Value::Array(array) => {
                self.take(array.len(), array.element_size())?;
                let Array::String(texts) = array else { return Ok(()) };
                texts.iter().try_for_each(|text| self.take(text.len(), 1))
            }
            _ => Ok(()),
        }
    }
}
