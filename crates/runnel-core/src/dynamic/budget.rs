//! Memory budget of one message under construction.

use super::{Array, DynamicErrorKind, MAX_MEMORY, Value};

/// Memory budget of a message under construction. Schemas and bytes of peers can require far more memory than their own
/// size: nested fixed arrays, empty messages, one-byte messages.
pub(crate) struct Budget {
    remaining: usize,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { remaining: MAX_MEMORY }
    }

    /// Takes `count` times `size` bytes.
    ///
    /// # Errors
    /// If the budget is exceeded.
    pub(crate) fn take(&mut self, count: usize, size: usize) -> Result<(), DynamicErrorKind> {
        let bytes = count.checked_mul(size).ok_or(DynamicErrorKind::TooLarge)?;
        self.remaining = self.remaining.checked_sub(bytes).ok_or(DynamicErrorKind::TooLarge)?;
        Ok(())
    }

    /// Takes the size of a message with `fields` fields, without memory that its fields point to.
    ///
    /// # Errors
    /// If the budget is exceeded.
    pub(crate) fn take_message(&mut self, fields: usize) -> Result<(), DynamicErrorKind> {
        self.take(fields + 1, size_of::<Value>())
    }

    /// Takes the memory that a default value points to: the bytes of a text, the elements of an array. Defaults are never
    /// messages.
    ///
    /// # Errors
    /// If the budget is exceeded.
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
