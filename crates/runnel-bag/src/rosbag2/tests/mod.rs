mod folder;
mod metadata;
#[cfg(feature = "sqlite")]
mod sqlite;
