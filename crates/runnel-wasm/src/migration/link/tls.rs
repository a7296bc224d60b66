//! How links use TLS: version 1.3 only, keys of Ed25519, both sides with a certificate, no session tickets.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::server::NoServerSessionStorage;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, Connection, Error, ServerConfig, ServerConnection};

use super::Identity;
use super::verifier::PeerVerifier;

/// The protocol within TLS and its version (RFC 7301).
const PROTOCOL: &[u8] = b"runnel-link/1";

/// Bytes of TLS that wait for the socket. More would delay keep-alives, less costs system calls.
const BUFFER: usize = 256 << 10;

/// The cryptography.
pub fn provider() -> CryptoProvider {
    ring::default_provider()
}

/// The side that connects.
///
/// # Errors
/// None in practice.
pub fn client(identity: &Identity, verifier: &Arc<PeerVerifier>) -> Result<Connection, Error> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(verifier) as _)
        .with_client_cert_resolver(identity.certificate_and_key());
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // A resumed session would be one whose host may no longer be trusted.
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    let name = ServerName::try_from("runnel").map_err(|error| Error::General(error.to_string()))?;
    Ok(buffered(ClientConnection::new(Arc::new(config), name)?.into()))
}

/// The side that listens.
///
/// # Errors
/// None in practice.
pub fn server(identity: &Identity, verifier: &Arc<PeerVerifier>) -> Result<Connection, Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::clone(verifier) as _)
        .with_cert_resolver(identity.certificate_and_key());
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(buffered(ServerConnection::new(Arc::new(config))?.into()))
}

/// Whether both sides have agreed on the protocol.
pub fn has_agreed(connection: &Connection) -> bool {
    connection.alpn_protocol() == Some(PROTOCOL)
}

fn buffered(mut connection: Connection) -> Connection {
    connection.set_buffer_limit(Some(BUFFER));
    connection
}
