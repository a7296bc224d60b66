//! The key and the certificate by which other hosts recognize this one.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::error::Unspecified;
use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use super::folder::{self, Others};
use super::{FileError, Fingerprint, certificate, tls};

const FILE: &str = "identity.pem";

/// Bytes of the file that are read.
const LONGEST: u64 = 64 << 10;

/// The key and the certificate of one user of this host. Both are in one file, `identity.pem`, so that they always belong to
/// each other.
#[derive(Clone, Debug)]
pub struct Identity {
    key: Arc<CertifiedKey>,
    fingerprint: Fingerprint,
}

impl Identity {
    /// Reads the identity from a folder. At the first use, it is created there: a new key of Ed25519, and a certificate that
    /// does not expire.
    ///
    /// # Errors
    /// If the folder or the file cannot be read or created, other users have access to them, or the key does not belong to
    /// the certificate.
    pub fn load_or_create(folder: &Path) -> Result<Self, FileError> {
        folder::create(folder)?;
        let path = folder.join(FILE);
        match File::open(&path) {
            Ok(file) => Self::read(&path, file),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                create(folder, &path)?;
                // It is that of another process, if that one was faster.
                Self::read(&path, File::open(&path).map_err(|error| FileError::new(&path, error))?)
            }
            Err(error) => Err(FileError::new(&path, error)),
        }
    }

    /// The fingerprint by which other hosts know this one.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// What a side of a TLS connection presents.
    pub(super) fn certificate_and_key(&self) -> Arc<SingleCertAndKey> {
        Arc::new(SingleCertAndKey::from(Arc::clone(&self.key)))
    }

    /// This certificate, which is no secret, with the key of another one.
    #[cfg(test)]
    pub(super) fn with_key_of(&self, other: &Self) -> Self {
        let key = CertifiedKey::new(self.key.cert.clone(), Arc::clone(&other.key.key));
        Self { key: Arc::new(key), fingerprint: self.fingerprint }
    }

    fn read(path: &Path, file: File) -> Result<Self, FileError> {
        let failed = |error: io::Error| FileError::new(path, error);
        folder::check(path, &file.metadata().map_err(failed)?, Others::Nothing)?;
        let mut text = Vec::new();
        file.take(LONGEST).read_to_end(&mut text).map_err(failed)?;
        Self::parse(&text).map_err(|why| {
            let why = format!(
                "{why}. Restore the file, or remove it: a new identity is then created, to be trusted anew"
            );
            FileError::new(path, why)
        })
    }

    fn parse(text: &[u8]) -> Result<Self, String> {
        let key = PrivateKeyDer::from_pem_slice(text).map_err(|_| "it has no private key in PEM")?;
        let certificate = CertificateDer::from_pem_slice(text).map_err(|_| "it has no certificate in PEM")?;
        let fingerprint = Fingerprint::of_certificate(&certificate);
        let key = CertifiedKey::from_der(vec![certificate], key, &tls::provider())
            .map_err(|error| format!("its key and certificate cannot be used: {error}"))?;
        Ok(Self { key: Arc::new(key), fingerprint })
    }
}

/// Creates the file, whole and readable for this user only. One that exists already is kept.
fn create(folder: &Path, path: &Path) -> Result<(), FileError> {
    let failed = |error: io::Error| FileError::new(path, error);
    let text = generate().map_err(|_| FileError::new(path, "the system has no random numbers for a key"))?;
    let mut file = tempfile::Builder::new().prefix(".identity-").tempfile_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    match file.persist_noclobber(path) {
        Ok(_) => File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(error.error)),
    }
}

fn generate() -> Result<String, Unspecified> {
    let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())?;
    let certificate =
        certificate::self_signed(&Ed25519KeyPair::from_pkcs8(key.as_ref()).map_err(|_| Unspecified)?);
    Ok(pem("PRIVATE KEY", key.as_ref()) + &pem("CERTIFICATE", &certificate))
}

/// Data as text, in lines of 64 characters (RFC 7468, section 2).
fn pem(label: &str, der: &[u8]) -> String {
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in der.chunks(48) {
        text += &STANDARD.encode(line);
        text += "\n";
    }
    _ = writeln!(text, "-----END {label}-----");
    text
}
