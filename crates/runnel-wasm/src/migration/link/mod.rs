//! Authenticated, encrypted connections between two hosts, which carry frames of bytes.
//!
//! Each user of a host has an [`Identity`]: a key and a self-signed certificate. Hosts know each other by the
//! [`Fingerprint`] of that certificate, as those of ssh do: there is no authority that signs certificates. Two hosts connect
//! only if each has the other one among its [`TrustedHosts`].
//!
//! A [`Link`] is TLS 1.3 over TCP. Both hosts send frames at any time. Each link has a thread that owns its socket.
//!
//! | Module | Holds |
//! |---|---|
//! | `fingerprint`, `certificate`, `identity`, `trusted_hosts`, `folder` | who a host is, and which hosts it trusts: files of a folder |
//! | `tls`, `verifier` | how TLS is used, and the check of the peer's certificate |
//! | `tls_socket`, `handshake`, `connect` | a socket with TLS, until both hosts have accepted each other |
//! | `frames`, `keep_alive` | the protocol within TLS, without I/O |
//! | `queues`, `io_thread` | frames that wait, and the thread that sends and receives them |
//! | `channel` | a link as the channel of a migration |
//! | `connection`, `listener` | what users of this module have: one link, and the source of links that others begin |
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use runnel_wasm::migration::link::{Identity, Link, TrustedHosts, default_folder};
//!
//! let folder = default_folder()?;
//! let identity = Identity::load_or_create(&folder)?;
//! let link = Link::connect("robot2:7411", &identity, &TrustedHosts::in_folder(&folder), Duration::from_secs(10))?;
//! link.send(b"hello".to_vec())?;
//! if let Some(frame) = link.receive(Duration::from_secs(1))? {
//!     println!("{}: {} bytes", link.peer(), frame.len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod certificate;
mod channel;
mod connect;
mod connection;
mod error;
mod fingerprint;
mod folder;
mod frames;
mod handshake;
mod identity;
mod io_thread;
mod keep_alive;
mod listener;
mod log_throttle;
mod options;
mod queues;
#[cfg(test)]
mod tests;
mod tls;
mod tls_socket;
mod trusted_hosts;
mod verifier;

use std::time::Duration;

pub use connection::{Link, Peer};
pub use error::{FileError, LinkError};
pub use fingerprint::{Fingerprint, FingerprintError};
pub use folder::default_folder;
pub use identity::Identity;
pub use listener::Listener;
pub use options::LinkOptions;
pub use trusted_hosts::{TrustedHost, TrustedHosts};

/// Longer than any wait, and short enough to be added to the time.
const FOREVER: Duration = Duration::from_secs(1 << 32);
