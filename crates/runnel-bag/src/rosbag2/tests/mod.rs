#[cfg(feature = "files")]
mod folder;
mod folder_writer;
mod metadata;
#[cfg(all(feature = "sqlite", feature = "zstd"))]
mod sqlite;
