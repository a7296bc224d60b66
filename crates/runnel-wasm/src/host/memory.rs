//! The memory of a guest, checked at each access.

use crate::refusal::{Refusal, Refused};

/// Longest name or text.
const LONGEST_TEXT: u32 = 64 << 10;

/// The linear memory of a guest while it calls a function.
pub struct GuestMemory<'a>(pub &'a mut [u8]);

impl GuestMemory<'_> {
    /// Bytes that the guest gives.
    pub fn bytes(&self, address: u32, length: u32) -> Result<&[u8], Refusal> {
        let (start, memory) = (address as usize, self.0.len());
        let bytes = start.checked_add(length as usize).and_then(|end| self.0.get(start..end));
        bytes.ok_or_else(|| Refusal::out_of_bounds(address, length as usize, memory))
    }

    /// A text that the guest gives.
    pub fn text(&self, address: u32, length: u32) -> Result<&str, Refusal> {
        std::str::from_utf8(self.text_bytes(address, length)?)
            .map_err(|error| Refusal::invalid(format!("a text is not UTF-8: {error}")))
    }

    /// The bytes of a text, which may be none of UTF-8.
    pub fn text_bytes(&self, address: u32, length: u32) -> Result<&[u8], Refusal> {
        if length > LONGEST_TEXT {
            return Err(Refusal::new(
                Refused::TooLong,
                format!("a text of {length} bytes: at most {LONGEST_TEXT}"),
            ));
        }
        self.bytes(address, length)
    }

    /// Writes bytes.
    pub fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Refusal> {
        self.place(address, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// Writes bytes if they fit into a capacity. Returns their length.
    pub fn write_bytes(&mut self, address: u32, capacity: u32, bytes: &[u8]) -> Result<i32, Refusal> {
        if bytes.len() <= capacity as usize {
            self.write(address, bytes)?;
        }
        i32::try_from(bytes.len()).map_err(|_| Refusal::new(Refused::TooLong, "it is longer than 2 GiB"))
    }

    /// Where the host writes.
    pub fn place(&mut self, address: u32, length: usize) -> Result<&mut [u8], Refusal> {
        let (start, memory) = (address as usize, self.0.len());
        let place = start.checked_add(length).and_then(|end| self.0.get_mut(start..end));
        place.ok_or_else(|| Refusal::out_of_bounds(address, length, memory))
    }
}
