//! Percent-encoding (RFC 3986 §2.1).

use std::borrow::Cow;

/// Decodes `%20`. Returns `None` if a `%` lacks its two digits, or the result is not UTF-8.
pub(super) fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !has_percent(text) {
        return Some(Cow::Borrowed(text));
    }
    let (bytes, is_whole) = decoded(text);
    String::from_utf8(bytes).ok().filter(|_| is_whole).map(Cow::Owned)
}

/// Decodes what is encoded, and keeps each `%` without its two digits, as most readers do.
pub(super) fn decode_lossy(text: &str) -> Cow<'_, str> {
    if !has_percent(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(String::from_utf8_lossy(&decoded(text).0).into_owned())
}

/// Returns the decoded bytes, and whether each `%` had its two digits.
fn decoded(text: &str) -> (Vec<u8>, bool) {
    let mut bytes = Vec::with_capacity(text.len());
    let mut is_whole = true;
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digit = |at: usize| after.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        match (digit(0), digit(1)) {
            (Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                is_whole = false;
                bytes.push(b'%');
            }
        }
    }
    (bytes, is_whole)
}

/// Most texts are too short for a search by words to pay.
fn has_percent(text: &str) -> bool {
    text.bytes().any(|byte| byte == b'%')
}

/// Decodes a name or value of a query or form, where `+` is a space (application/x-www-form-urlencoded of the URL
/// standard).
pub(super) fn decode_form(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('+') {
        return decode(text);
    }
    decode(&text.replace('+', " ")).map(|text| Cow::Owned(text.into_owned()))
}

/// A set of bytes, one bit each.
#[derive(Clone, Copy)]
pub(super) struct Letters([u64; 4]);

impl Letters {
    pub(super) const NONE: Self = Self([0; 4]);

    /// The characters that need no encoding in a path, a query or a form (RFC 3986 §2.3).
    pub(super) const UNRESERVED: Self =
        Self::NONE.and(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~");

    pub(super) const fn and(mut self, letters: &[u8]) -> Self {
        let mut rest = letters;
        while let [letter, after @ ..] = rest {
            self.0[*letter as usize / 64] |= 1 << (*letter % 64);
            rest = after;
        }
        self
    }

    pub(super) fn has(self, byte: u8) -> bool {
        self.0[usize::from(byte / 64)] >> (byte % 64) & 1 == 1
    }
}

/// Writes a text percent-encoded, except for these characters.
pub(super) fn encode(out: &mut String, text: &str, plain: Letters) {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !plain.has(byte)) {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let len = after.chars().next().map_or(1, char::len_utf8);
        for byte in after[..len].bytes() {
            let start = usize::from(byte) * "%00".len();
            out.push_str(ESCAPES.get(start..start + "%00".len()).unwrap_or_default());
        }
        rest = &after[len..];
    }
    out.push_str(rest);
}

/// `%00%01%02`, up to `%FF`.
const ESCAPES: &str = {
    const BYTES: [u8; 256 * 3] = {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        let mut bytes = [b'%'; 256 * 3];
        let mut byte = 0;
        while byte < 256 {
            bytes[3 * byte + 1] = DIGITS[byte / 16];
            bytes[3 * byte + 2] = DIGITS[byte % 16];
            byte += 1;
        }
        bytes
    };
    match std::str::from_utf8(&BYTES) {
        Ok(text) => text,
        Err(_) => "",
    }
};

/// Returns whether an encoded text may also be a URI undecoded: `http://a%2F@b/` leads to `b`, and decoded to `a`. A
/// URI encoded as a whole contains none of these characters.
pub(super) fn is_read_as_it_is(text: &str) -> bool {
    text.contains([':', '/', '@', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_and_decoding_are_inverse() {
        for text in ["", "a-b c", "{\"a\":[1,\"\u{e4}\"]}", "%2f&=;+/?#'"] {
            let mut encoded = String::new();
            encode(&mut encoded, text, Letters::UNRESERVED);
            assert_eq!(decode_form(&encoded).unwrap(), text);
            assert!(
                encoded
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"%-._~".contains(&byte))
            );
        }
    }

    #[test]
    fn text_comes_out_or_nothing() {
        assert_eq!(decode("a-b").unwrap(), "a-b");
        assert_eq!(decode("%7B%22a%22%3a1%7d").unwrap(), r#"{"a":1}"#);
        assert_eq!(decode_form("a+b%2B").unwrap(), "a b+");
        assert_eq!(decode("+").unwrap(), "+");
        for text in ["%", "a%4", "%zz", "%+1", "%ff", "%-1"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
