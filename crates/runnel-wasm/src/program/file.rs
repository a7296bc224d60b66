//! The files of compiled nodes.
//!
//! A file is what the engine writes, an ELF object, followed by a trailer: a text in TOML (the target, the hash of the
//! module, why its node cannot be checkpointed if it cannot, and the manifest if there is one), its length in four bytes, the format's version in four bytes, and eight bytes
//! that are the same in each file. Numbers are little-endian.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::engine::Target;
use crate::manifest::Manifest;

const MAGIC: &[u8; 8] = b"runnelwa";
const VERSION: u32 = 2;
/// Longest text of a trailer.
const LONGEST: usize = 1 << 20;

/// SHA-256 of a WebAssembly module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModuleHash(pub [u8; 32]);

impl ModuleHash {
    /// The hash of a module.
    pub fn of(module: &[u8]) -> Self {
        Self(Sha256::digest(module).into())
    }

    fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for ModuleHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ModuleHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a file says of its program.
#[derive(Debug)]
pub struct Trailer {
    /// What it is compiled for.
    pub target: Target,
    /// The module that it was compiled from.
    pub hash: ModuleHash,
    /// What the node may do.
    pub manifest: Option<Manifest>,
    /// Why the node cannot be checkpointed.
    pub checkpoint_refusal: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Text {
    target: String,
    module: String,
    checkpoint: Option<String>,
    manifest: Option<String>,
}

impl Trailer {
    /// Reads the trailer of a file.
    ///
    /// # Errors
    /// Why it is not a program.
    pub fn read(file: &[u8]) -> Result<Self, String> {
        if file.starts_with(b"\0asm") {
            return Err("it is a WebAssembly module, not a compiled one. Try: runnel wasm compile".to_owned());
        }
        let (rest, magic) = file.split_last_chunk::<8>().ok_or("it is too short for a compiled node")?;
        let (rest, version) = rest.split_last_chunk::<4>().ok_or("it is too short for a compiled node")?;
        let (rest, length) = rest.split_last_chunk::<4>().ok_or("it is too short for a compiled node")?;
        if magic != MAGIC {
            return Err("it is no compiled node, or its end is missing".to_owned());
        }
        let version = u32::from_le_bytes(*version);
        if version != VERSION {
            return Err(format!(
                "it has version {version} of the format, and this host reads {VERSION}. Compile it again"
            ));
        }
        let length = u32::from_le_bytes(*length) as usize;
        let start = rest.len().checked_sub(length).filter(|_| length <= LONGEST);
        let text = start.and_then(|start| std::str::from_utf8(&rest[start..]).ok());
        Self::parse(text.ok_or("its description is damaged")?)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let text: Text =
            toml::from_str(text).map_err(|error| format!("its description is damaged: {error}"))?;
        let target = Target::named(&text.target);
        let target = target.ok_or_else(|| format!("it is compiled for {}, which is unknown", text.target))?;
        let hash = ModuleHash::parse(&text.module).ok_or("the hash in its description is damaged")?;
        let manifest = text.manifest.map(|manifest| Manifest::parse(&manifest)).transpose();
        let manifest = manifest.map_err(|error| format!("its manifest: {error}"))?;
        Ok(Self { target, hash, manifest, checkpoint_refusal: text.checkpoint })
    }
}

/// Appends a trailer to what the engine wrote.
#[cfg(feature = "compile")]
pub fn append_trailer(
    object: &mut Vec<u8>,
    target: Target,
    hash: ModuleHash,
    manifest: Option<&str>,
    checkpoint_refusal: Option<&str>,
) -> Result<(), String> {
    let text = Text {
        target: target.name().to_owned(),
        module: hash.to_string(),
        checkpoint: checkpoint_refusal.map(str::to_owned),
        manifest: manifest.map(str::to_owned),
    };
    let text = toml::to_string(&text).map_err(|error| error.to_string())?;
    let length = u32::try_from(text.len()).ok().filter(|_| text.len() <= LONGEST);
    let length = length.ok_or("the manifest is longer than 1 MiB")?;
    object.extend(text.as_bytes());
    object.extend(length.to_le_bytes());
    object.extend(VERSION.to_le_bytes());
    object.extend(MAGIC);
    Ok(())
}
