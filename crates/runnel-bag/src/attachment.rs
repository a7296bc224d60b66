//! Files that are added to a bag.

/// A file to add to a bag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attachment {
    /// Name of the file.
    pub name: String,
    /// Its media type, such as `text/plain`.
    pub media_type: String,
    /// When it was added, in nanoseconds since 1970.
    pub log_time: u64,
    /// When it was created, in nanoseconds since 1970; 0 if unknown.
    pub create_time: u64,
    /// Its bytes.
    pub data: Vec<u8>,
}
