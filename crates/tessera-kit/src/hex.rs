//! Hexadecimal encoding.

use std::fmt::Write;

use zeroize::Zeroizing;

/// Encodes bytes in hexadecimal, in lower case.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Decodes hexadecimal of either case; `None` for anything else. The bytes may be a secret.
#[must_use]
pub fn decode(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() / 2));
    for pair in text.as_bytes().chunks_exact(2) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        bytes.push((digit(*pair.first()?)? * 16 + digit(*pair.last()?)?) as u8);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_decoded_to_what_was_encoded() {
        assert_eq!(encode(&[0, 0x1f, 0xff]), "001fff");
        assert_eq!(decode("001FfF").unwrap().as_slice(), [0, 0x1f, 0xff]);
        for wrong in ["0", "0g", "+1", "é0"] {
            assert!(decode(wrong).is_none(), "{wrong}");
        }
    }
}
