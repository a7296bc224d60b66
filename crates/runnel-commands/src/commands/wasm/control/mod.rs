//! Control of the nodes in WebAssembly that run on this host, by other processes of the same user.
//!
//! Each process that hosts nodes has a socket in a folder that only its user can enter. A request and the head of its answer
//! are one line of JSON each; the content of a checkpoint follows the head.

mod client;
mod moving;
mod server;
mod timed_stream;

use std::env;
use std::path::{Path, PathBuf};

use runnel_wasm::migration::Migrated;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

pub use client::{find, is_here, resolve};
pub use moving::{Hosted, connect};
pub use server::serve;

use super::private_folder::{self, Others};

/// What can be asked.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    /// The full names of the nodes.
    Nodes,
    /// A checkpoint. The node ends with it, or goes on.
    Checkpoint { ends: bool },
    /// Move the node to the host at this address.
    Migrate { to: String },
    /// Whether a node of this name has come here from another host.
    HasCome { node: String },
    /// Where a node of this name goes on, if this process does not know it.
    Resolve { node: String, side: Side },
}

/// One of the hosts between which a node moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The node goes on where it was
    Source,
    /// The node goes on where it was to go
    Target,
}

/// The head of an answer.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Nodes(Vec<String>),
    /// So many bytes of a checkpoint follow.
    Checkpoint(u64),
    Moved(Migrated),
    /// It is not known where the node goes on, and why.
    InDoubt(String),
    HasCome(bool),
    /// Whether the process had such a node.
    Resolved(bool),
    Refused(String),
}

/// The line by which a client says that it has kept the checkpoint of a node that ends with it.
const KEPT: &str = "kept\n";

/// The line by which the process says that the node has ended.
const ENDED: &str = "ended\n";

/// Where the sockets are: `$XDG_RUNTIME_DIR/runnel/wasm`, or `/tmp/runnel-UID/wasm` for programs without a login. Those that
/// exist or can be created, the usual one first.
fn folders() -> impl Iterator<Item = PathBuf> {
    let given = env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    let of_login = given.map(|folder| Path::new(&folder).join("runnel"));
    let of_host = env::temp_dir().join(format!("runnel-{}", geteuid().as_raw()));
    let private = |folder: PathBuf| {
        private_folder::create(&folder, Others::None)?;
        private_folder::create(&folder.join("wasm"), Others::None)
    };
    of_login.into_iter().chain([of_host]).filter_map(private)
}
