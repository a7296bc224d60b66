//! The check of a peer's certificate: it is that of a trusted host, and the peer has its key.

use std::sync::OnceLock;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible, SignatureScheme,
};

use super::{FileError, Fingerprint, TrustedHost, TrustedHosts, tls};

/// Checks the certificate of one connection. Names and dates in certificates do not count, nor does who signed them.
#[derive(Debug)]
pub struct PeerVerifier {
    trusted: TrustedHosts,
    /// This host's own, which it trusts.
    own: Fingerprint,
    algorithms: WebPkiSupportedAlgorithms,
    verdict: OnceLock<Verdict>,
}

/// Whose certificate it is.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// That of a trusted host, if the peer also has its key.
    Trusted(TrustedHost),
    /// That of another host.
    Unknown(Fingerprint),
    /// The list of trusted hosts cannot be read.
    Unreadable(FileError),
}

impl PeerVerifier {
    /// For one connection.
    pub fn new(trusted: &TrustedHosts, own: Fingerprint) -> Self {
        let algorithms = tls::provider().signature_verification_algorithms;
        Self { trusted: trusted.clone(), own, algorithms, verdict: OnceLock::new() }
    }

    /// What the check has found, if the peer has come as far as this.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.verdict.get()
    }

    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let fingerprint = Fingerprint::of_certificate(certificate);
        let found = match self.trusted.find(fingerprint) {
            Ok(None) if fingerprint == self.own => {
                Verdict::Trusted(TrustedHost { fingerprint, name: "this host".to_owned() })
            }
            Ok(Some(host)) => Verdict::Trusted(host),
            Ok(None) => Verdict::Unknown(fingerprint),
            Err(error) => Verdict::Unreadable(error),
        };
        match self.verdict.get_or_init(|| found) {
            Verdict::Trusted(host) if host.fingerprint == fingerprint => Ok(()),
            // The peer is notified by the alert access_denied.
            _ => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }
}

impl ServerCertVerifier for PeerVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(certificate).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::ServerDoesNotSupportTls12Or13.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

impl ClientCertVerifier for PeerVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(certificate).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}
