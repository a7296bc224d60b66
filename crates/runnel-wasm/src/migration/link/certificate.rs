//! Self-signed certificates.
//!
//! TLS wants a certificate (X.509, RFC 5280), and a host needs nothing of it but the key: hosts know each other by
//! fingerprint. So all but the key is the same in each, and a library that writes others would be larger than all of this.

use ring::signature::{Ed25519KeyPair, KeyPair};
use sha2::{Digest, Sha256};

/// Tags of DER (X.690).
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const UTF8_STRING: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;

/// The object identifier 1.3.101.112, id-Ed25519 (RFC 8410).
const ED25519: &[u8] = &[0x06, 3, 0x2b, 0x65, 0x70];

/// The object identifier 2.5.4.3, id-at-commonName.
const COMMON_NAME: &[u8] = &[0x06, 3, 0x55, 0x04, 0x03];

/// The certificate of a key, in DER. It does not expire (RFC 5280, section 4.1.2.5): hosts may have no clock.
pub fn self_signed(key: &Ed25519KeyPair) -> Vec<u8> {
    let public = key.public_key().as_ref();
    let algorithm = element(SEQUENCE, &[ED25519]);
    let name = element(SEQUENCE, &[COMMON_NAME, &element(UTF8_STRING, &[b"runnel"])]);
    let name = element(SEQUENCE, &[&element(SET, &[&name])]);
    let hash = Sha256::digest(public);
    let content = element(
        SEQUENCE,
        &[
            &element(VERSION, &[&element(INTEGER, &[&[2]])]),
            // A positive number, which differs from that of other keys.
            &element(INTEGER, &[&[1], &hash[..8]]),
            &algorithm,
            &name,
            &element(
                SEQUENCE,
                &[&element(UTC_TIME, &[b"700101000000Z"]), &element(GENERALIZED_TIME, &[b"99991231235959Z"])],
            ),
            &name,
            &element(SEQUENCE, &[&algorithm, &bits(public)]),
        ],
    );
    let signature = key.sign(&content);
    element(SEQUENCE, &[&content, &algorithm, &bits(signature.as_ref())])
}

/// Whole bytes as a string of bits.
fn bits(bytes: &[u8]) -> Vec<u8> {
    element(BIT_STRING, &[&[0], bytes])
}

/// An element with this content, which is shorter than 256 bytes in all that is written here.
fn element(tag: u8, content: &[&[u8]]) -> Vec<u8> {
    let content = content.concat();
    debug_assert!(content.len() < 256);
    let length = content.len() as u8;
    let header = if length < 0x80 { vec![tag, length] } else { vec![tag, 0x81, length] };
    [header, content].concat()
}

#[cfg(test)]
mod tests {
    use ring::signature::{ED25519, UnparsedPublicKey};

    use super::*;

    #[test]
    fn certificate_is_signed_with_its_key() {
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let certificate = self_signed(&key);
        // The outer element has a header of three bytes. At its end are the algorithm (7) and the signature (67).
        assert_eq!(certificate[..2], [SEQUENCE, 0x81]);
        assert_eq!(usize::from(certificate[2]), certificate.len() - 3);
        let (content, rest) = certificate[3..].split_at(certificate.len() - 3 - 7 - 67);
        assert_eq!(rest[..7], [SEQUENCE, 5, 0x06, 3, 0x2b, 0x65, 0x70]);
        assert_eq!(rest[7..10], [BIT_STRING, 65, 0]);
        let public = UnparsedPublicKey::new(&ED25519, key.public_key().as_ref());
        public.verify(content, &rest[10..]).unwrap();
        assert_eq!(self_signed(&key), certificate, "it depends on the key alone");
    }
}
