//! Base64 of XML-RPC: wrapped lines and missing padding are accepted, one line is written.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const CODEC: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Encodes bytes as text.
pub(super) fn encode(bytes: &[u8]) -> String {
    CODEC.encode(bytes)
}

/// Decodes text, ignoring white space anywhere in it; `None` if it is not base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let dense: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    CODEC.decode(dense).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_and_missing_padding_are_accepted() {
        assert_eq!(decode("\nYWJj\r\n YQ==\n"), Some(b"abca".to_vec()));
        assert_eq!(decode("YQ"), Some(b"a".to_vec()));
        assert_eq!(decode("  \n"), Some(Vec::new()));
    }

    #[test]
    fn malformed_base64_is_refused() {
        for text in ["Y", "YQ=x", "Y*==", "YQ==YQ==", "é"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
