//! Values of parameters in announcements.

use super::{MAX_ADDRESSES, MAX_NAME, MAX_USER_DATA};
use crate::wire::{Cursor, Locator, Parameters, RtpsDuration, WireError};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

/// Reason why an announcement is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnnounceError {
    /// It is no parameter list.
    Encapsulation,
    /// It is malformed.
    Wire(WireError),
    /// A mandatory field is missing.
    Missing(&'static str),
    /// A field is longer than its limit, or has an invalid value.
    Field(&'static str),
}

impl From<WireError> for AnnounceError {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl fmt::Display for AnnounceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encapsulation => f.write_str("it is no parameter list"),
            Self::Wire(error) => error.fmt(f),
            Self::Missing(field) => write!(f, "it has no {field}"),
            Self::Field(field) => write!(f, "its {field} is too long or invalid"),
        }
    }
}

impl core::error::Error for AnnounceError {}

/// Reads bytes with a length prefix.
fn counted<'a>(value: &mut Cursor<'a>) -> Result<&'a [u8], WireError> {
    let count = value.u32()? as usize;
    value.take(count)
}

/// Reads a string with a length prefix, which includes the terminating NUL.
pub(super) fn text(mut value: Cursor<'_>, field: &'static str) -> Result<String, AnnounceError> {
    let bytes = counted(&mut value)?;
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    let text = core::str::from_utf8(bytes).map_err(|_| AnnounceError::Field(field))?;
    if text.len() > MAX_NAME || text.contains('\0') {
        return Err(AnnounceError::Field(field));
    }
    Ok(text.into())
}

/// Reads user data.
pub(super) fn user_data(mut value: Cursor<'_>) -> Result<Vec<u8>, AnnounceError> {
    let bytes = counted(&mut value)?;
    if bytes.len() > MAX_USER_DATA {
        return Err(AnnounceError::Field("user data"));
    }
    Ok(bytes.to_vec())
}

/// Reads a duration; `None` if infinite.
pub(super) fn duration(mut value: Cursor<'_>) -> Result<Option<Duration>, AnnounceError> {
    Ok(RtpsDuration::parse(&mut value)?.finite())
}

/// Reads the addresses of all parameters of a kind, up to a limit.
pub(super) fn addresses(list: Parameters<'_>, id: u16) -> Result<Vec<SocketAddr>, AnnounceError> {
    let mut addresses = Vec::new();
    for mut parameter in list.iter().filter(|parameter| parameter.id == id) {
        if let Some(locator) = Locator::parse(&mut parameter.value)?
            && addresses.len() < MAX_ADDRESSES
        {
            addresses.push(locator.0);
        }
    }
    Ok(addresses)
}
