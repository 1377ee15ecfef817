//! Replaces strings in a JSON text in place.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

/// Replaces strings: `exchange` gets each string value with its key (for elements of an array, the array's), and
/// returns the replacement. Everything else stays as written, including white space and order: numbers keep their
/// digits, and duplicate members remain for readers that check for them. Returns `None` if nothing changes.
///
/// It is one pass without a tree. Invalid JSON is skipped to its end, or to where the error shows.
pub fn exchange_strings(
    text: &[u8],
    exchange: impl FnMut(&str, &str) -> Option<String>,
) -> Option<Bytes> {
    exchange_decoded(text, decoded, exchange)
}

/// Decodes each string once, a key too: a long one may have many values.
fn exchange_decoded<'t>(
    text: &'t [u8],
    mut decode: impl FnMut(&'t [u8]) -> Option<Cow<'t, str>>,
    mut exchange: impl FnMut(&str, &str) -> Option<String>,
) -> Option<Bytes> {
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    let mut key = Some(Cow::Borrowed(""));
    let mut at = 0;
    while let Some(start) = find_quote(text, at) {
        let Some(end) = string_end(text, start + 1) else { break };
        let content = &text[start + 1..end];
        at = end + 1;
        let is_key = text[at..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
        if is_key {
            key = decode(content);
            continue;
        }
        let (Some(key), Some(value)) = (&key, decode(content)) else { continue };
        if let Some(new) = exchange(key, &value)
            && let Ok(new) = serde_json::to_string(&new)
        {
            changes.push((start..at, new));
        }
    }
    splice(text, &changes)
}

fn splice(text: &[u8], changes: &[(Range<usize>, String)]) -> Option<Bytes> {
    if changes.is_empty() {
        return None;
    }
    let longer: usize = changes.iter().map(|(_, new)| new.len()).sum();
    let mut spliced = Vec::with_capacity(text.len() + longer);
    let mut from = 0;
    for (range, new) in changes {
        spliced.extend_from_slice(&text[from..range.start]);
        spliced.extend_from_slice(new.as_bytes());
        from = range.end;
    }
    spliced.extend_from_slice(&text[from..]);
    Some(spliced.into())
}

fn find_quote(text: &[u8], from: usize) -> Option<usize> {
    text.get(from..)?.iter().position(|&byte| byte == b'"').map(|at| from + at)
}

/// Returns the position of a string's closing quote.
fn string_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += text.get(at..)?.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Decodes a string: escapes are rare, and `\/` is one that occurs in URIs.
fn decoded(content: &[u8]) -> Option<Cow<'_, str>> {
    let content = std::str::from_utf8(content).ok()?;
    if !content.contains('\\') {
        return Some(Cow::Borrowed(content));
    }
    serde_json::from_str(&format!("\"{content}\"")).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str) -> Option<String> {
        let upper = |key: &str, value: &str| {
            (key == "u" || value.starts_with("http")).then(|| value.to_uppercase())
        };
        let bytes = exchange_strings(text.as_bytes(), upper)?;
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn only_what_changes_is_written_again() {
        let text = r#"{ "a" : 1.00, "u":"x", "l":["http:\/\/a","b",{"u" :"é\"\\"}], "a":1e5 }"#;
        let expected = r#"{ "a" : 1.00, "u":"X", "l":["HTTP://A","b",{"u" :"É\"\\"}], "a":1e5 }"#;
        assert_eq!(changed(text).unwrap(), expected);
        assert_eq!(changed(r#"{"http":"x","y":"z"}"#), None);
        assert_eq!(changed("\"http\"").unwrap(), "\"HTTP\"");
    }

    #[test]
    fn malformed_json_ends_it() {
        for text in ["", "\"", "\"\\", "{\"u\":\"\\", "{\"u\":\"x", "{\"u\":\"\\x\"}", "\\\"u\\\""]
        {
            assert_eq!(changed(text), None, "{text}");
        }
    }

    /// A text of quotes is as cheap as any other.
    #[test]
    fn a_long_text_of_empty_strings_is_passed_over() {
        let text = "\"\",".repeat(100_000);
        assert_eq!(changed(&text), None);
    }

    #[test]
    fn a_long_key_of_many_values_is_decoded_once() {
        let key = "\\u0001".repeat(1_000);
        let text = format!("{{\"{key}\":[{}0]}}", "\"\",".repeat(1_000));
        let (mut keys, mut values) = (0, 0);
        let count = |_: &str, _: &str| {
            values += 1;
            None
        };
        let decode = |content| {
            keys += usize::from(content != b"");
            decoded(content)
        };
        assert_eq!(exchange_decoded(text.as_bytes(), decode, count), None);
        assert_eq!((keys, values), (1, 1_000));
    }
}
