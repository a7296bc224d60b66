//! Borrowed text of a message.

use super::{Bytes, DecodeErrorKind};
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// The longest text that is copied without heap memory, in bytes. Most frame names are shorter.
const SHORT: usize = 38;

/// The text of a view, which dereferences to `&str`: borrowed, or copied if another process can write the memory. A copy is
/// checked as UTF-8 after copying, so that it stays valid.
#[derive(Clone)]
pub struct Text<'a>(Place<'a>);

#[derive(Clone)]
enum Place<'a> {
    Borrowed(&'a str),
    /// The first `len` bytes, which are UTF-8.
    Short {
        len: u8,
        bytes: [u8; SHORT],
    },
    Long(Box<str>),
}

impl<'a> Text<'a> {
    pub(super) fn read(bytes: Bytes<'a>) -> Result<Self, DecodeErrorKind> {
        let Some(bytes) = bytes.as_slice() else { return Self::copy(bytes) };
        Ok(Self(Place::Borrowed(checked(bytes)?)))
    }

    fn copy(bytes: Bytes<'_>) -> Result<Self, DecodeErrorKind> {
        if bytes.len() > SHORT {
            let text = String::from_utf8(bytes.try_to_vec()?).map_err(|_| DecodeErrorKind::NotUtf8)?;
            return Ok(Self(Place::Long(text.into_boxed_str())));
        }
        let mut copy = [0; SHORT];
        let len = bytes.copy_to_slice(&mut copy);
        checked(copy.get(..len).unwrap_or_default())?;
        Ok(Self(Place::Short { len: len as u8, bytes: copy }))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Place::Borrowed(text) => text,
            Place::Short { len, bytes } => {
                // It was checked, and only this value has owned it since.
                bytes.get(..usize::from(*len)).and_then(|text| checked(text).ok()).unwrap_or_default()
            }
            Place::Long(text) => text,
        }
    }
}

fn checked(bytes: &[u8]) -> Result<&str, DecodeErrorKind> {
    core::str::from_utf8(bytes).map_err(|_| DecodeErrorKind::NotUtf8)
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Place::Borrowed(text))
    }
}

impl From<Text<'_>> for String {
    fn from(text: Text<'_>) -> Self {
        match text.0 {
            Place::Long(text) => text.into(),
            _ => text.as_str().into(),
        }
    }
}

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text<'_> {
    fn as_ref(&self) -> &str {
        self
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text<'_> {}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialEq<String> for Text<'_> {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other
    }
}

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
