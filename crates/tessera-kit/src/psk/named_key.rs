//! A key with its identity, in its text form.

use zeroize::Zeroizing;

use crate::hex;

/// A key with its identity. `Debug` is not implemented.
#[derive(Clone)]
pub struct NamedKey {
    /// The name that both ends use for it.
    pub identity: Vec<u8>,
    /// At least 16 bytes.
    pub secret: Zeroizing<Vec<u8>>,
}

impl std::fmt::Debug for NamedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamedKey").finish_non_exhaustive()
    }
}

impl NamedKey {
    /// Parses `IDENTITY:HEX`. An identity may contain colons, a key can't.
    ///
    /// # Errors
    /// Returns a message if the text has another form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (identity, key) = text
            .rsplit_once(':')
            .ok_or("a PSK is IDENTITY:HEX, such as client1:000102030405060708090a0b0c0d0e0f")?;
        let secret = hex::decode(key).ok_or("the key, after the last colon, is not hexadecimal")?;
        if identity.is_empty() {
            return Err("the identity, before the last colon, is empty".to_owned());
        }
        // RFC 9257 §6.
        if secret.len() < 16 {
            return Err("the key is too short: 16 bytes (32 digits) or more".to_owned());
        }
        Ok(Self { identity: identity.as_bytes().to_vec(), secret })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_psk_option_is_parsed_as_name_and_key() {
        let key = NamedKey::parse("urn:client:000102030405060708090a0b0c0d0e0f").unwrap();
        assert_eq!(key.identity, b"urn:client");
        assert_eq!(key.secret.len(), 16);
        for (wrong, why) in [
            ("00010203", "IDENTITY:HEX"),
            (":000102030405060708090a0b0c0d0e0f", "empty"),
            ("client:xyz", "hexadecimal"),
            ("client:0001", "too short"),
        ] {
            assert!(NamedKey::parse(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }
}
