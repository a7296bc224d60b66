//! Fingerprints of certificates.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha2::{Digest, Sha256};

const PREFIX: &str = "SHA256:";

/// The SHA-256 of a host's certificate, written as ssh writes those of keys: `SHA256:` and base64 without padding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// That of a certificate in DER.
    pub fn of_certificate(der: &[u8]) -> Self {
        Self(Sha256::digest(der).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", STANDARD_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is no fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FingerprintError(String);

impl fmt::Display for FingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self.0.chars().take(80).collect();
        write!(
            f,
            "{text:?} is no fingerprint: that is {PREFIX} and 43 characters of base64, as runnel wasm certificate prints it"
        )
    }
}

impl Error for FingerprintError {}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = text.strip_prefix(PREFIX).and_then(|base64| STANDARD_NO_PAD.decode(base64).ok());
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| FingerprintError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of "abc", of FIPS 180-2 (B.1).
    const ABC: &str = "SHA256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0";

    #[test]
    fn fingerprint_is_printed_and_parsed() {
        let fingerprint = Fingerprint::of_certificate(b"abc");
        assert_eq!(fingerprint.to_string(), ABC);
        assert_eq!(ABC.parse(), Ok(fingerprint));
    }

    #[test]
    fn other_text_is_refused() {
        let padded = format!("{ABC}=");
        let other_spare_bits = ABC.replace("Fa0", "Fa1");
        for text in ["", "SHA256:", &ABC[7..], &ABC[..49], &padded, &other_spare_bits, "MD5:ab", "SHA256:é"]
        {
            let error = text.parse::<Fingerprint>().unwrap_err();
            assert!(error.to_string().contains("43 characters of base64"), "{error}");
        }
    }
}
