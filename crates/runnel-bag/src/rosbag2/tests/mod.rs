#[cfg(feature = "files")]
mod folder;
mod metadata;
#[cfg(all(feature = "sqlite", feature = "zstd"))]
mod sqlite;
