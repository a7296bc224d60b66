#[cfg(all(feature = "files", feature = "zstd"))]
mod compressed;
#[cfg(feature = "files")]
mod folder;
#[cfg(feature = "files")]
mod folder_writer;
#[cfg(feature = "files")]
mod listed_files;
mod metadata;
#[cfg(feature = "files")]
mod rebuilt_metadata;
#[cfg(all(feature = "sqlite", feature = "zstd"))]
mod sqlite;
