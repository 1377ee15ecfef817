//! Identifies, judges and rewrites bodies, so that a receiver reads what was judged.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};

use super::fields::Kind;
use super::judge::{Judge, Scope, json};
use super::media::{self, Media};
use super::{Refusal, Rule, query};
use crate::multipart::{self, Part};

/// Returns whether a body with these headers is inspected. `passes_others`: don't refuse types that no API has.
pub(super) fn is_inspected(headers: &HeaderMap, passes_others: bool) -> bool {
    let is_other = || only(headers).is_ok_and(|kind| Media::of(kind).is_none());
    unread_coding(headers).is_none() && !(passes_others && is_other())
}

/// Returns a content coding that isn't decoded here. `identity` doesn't count as one (RFC 9110 §12.5.3): servers read
/// the body as it is.
fn unread_coding(headers: &HeaderMap) -> Option<&str> {
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    codings.find_map(|coding| match coding.to_str() {
        Ok(coding) if coding.eq_ignore_ascii_case("identity") => None,
        coding => Some(coding.unwrap_or("not ASCII")),
    })
}

/// Judges a body, and replaces it with what was read unless these are the same bytes. For a body that isn't inspected,
/// judges its coding. `is_error`: an answer of which only the status counts.
pub(super) fn judge(
    judge: &mut Judge<'_>,
    headers: &mut HeaderMap,
    body: Option<&mut Bytes>,
    is_error: bool,
) -> Result<(), Refusal> {
    let has_coding = headers.contains_key(CONTENT_ENCODING);
    if has_coding && let Some(coding) = unread_coding(headers) {
        return judge.against(Rule::ContentCoding, "content-encoding", coding);
    }
    let content_type = only(headers);
    let Some(body) = body.filter(|body| !body.is_empty()) else {
        // No body, or one that isn't inspected.
        let claimed = content_type.unwrap_or_else(|why| why);
        let is_typed = judge.kind.is_request && headers.contains_key(CONTENT_TYPE);
        return match is_typed && Media::of(claimed).is_none() {
            true => judge.against(Rule::ContentType, "content-type", claimed),
            false => Ok(()),
        };
    };
    let known = content_type.ok().and_then(Media::of);
    let Kind { service, is_request, .. } = judge.kind;
    let is_allowed = known.is_some_and(|media| media::allows(service, is_request, media));
    if !is_allowed && is_error {
        // An error page of a proxy on the path, meant for people. Programs read the status.
        *body = Bytes::new();
        headers.remove(CONTENT_TYPE);
        set_length(headers, 0);
        return Ok(());
    }
    if !is_allowed {
        judge.against(Rule::ContentType, "content-type", content_type.unwrap_or_else(|why| why))?;
    }
    // If the rule only logs, judge what can be read.
    let Some(media) = known else { return Ok(()) };
    let is_list = body.trim_ascii_start().first() == Some(&b'[');
    if media == Media::MergePatch && is_list {
        // It would replace the whole resource (RFC 7396 §2), and some functions take it for a list of changes.
        judge.against(Rule::Malformed, "content", "not a merge patch of an object")?;
    }
    let of_text = |text: Cow<'_, str>| match text {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text.into_bytes()),
    };
    let read = match media {
        Media::Form => form(judge, body)?.map(|text| (None, Some(text.into_bytes()))),
        Media::Multipart => {
            let content_type = content_type.unwrap_or_default();
            parts(judge, content_type, body)?
                .map(|(content_type, bytes)| (Some(content_type), Some(bytes)))
        }
        Media::Patch => {
            json_text(judge, json::patch::PATCH, body)?.map(|text| (None, of_text(text)))
        }
        _ => json_text(judge, scope_of(judge, body), body)?.map(|text| (None, of_text(text))),
    };
    // `None` if a log-only rule lets an unreadable body pass.
    let Some((multipart, other)) = read else { return Ok(()) };
    let new_type = match multipart {
        Some(multipart) => HeaderValue::try_from(multipart).ok(),
        None if content_type == Ok(media.name()) => None,
        None => Some(HeaderValue::from_static(media.name())),
    };
    if let Some(new_type) = new_type {
        headers.insert(CONTENT_TYPE, new_type);
    }
    if has_coding {
        headers.remove(CONTENT_ENCODING);
    }
    if let Some(other) = other {
        *body = Bytes::from(other);
    }
    set_length(headers, body.len());
    Ok(())
}

/// Corrects `content-length`, if there is one.
pub(crate) fn set_length(headers: &mut HeaderMap, length: usize) {
    let mut announced = headers.get_all(CONTENT_LENGTH).iter();
    let is_right = match (announced.next(), announced.next()) {
        (None, _) => true,
        (Some(value), None) => is_number(value.as_bytes(), length),
        _ => false,
    };
    if !is_right {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
}

/// Returns whether a text is this number, without a sign or zeros before it.
fn is_number(text: &[u8], number: usize) -> bool {
    let is_plain = matches!(text, [b'0'] | [b'1'..=b'9', ..]);
    is_plain && std::str::from_utf8(text).is_ok_and(|text| text.parse::<usize>() == Ok(number))
}

/// Returns the `content-type` if there is exactly one, else why not.
fn only(headers: &HeaderMap) -> Result<&str, &'static str> {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    match (values.next(), values.next()) {
        (None, _) => Err("none"),
        // Receivers may take either.
        (Some(_), Some(_)) => Err("two types"),
        (Some(value), None) => value.to_str().map_err(|_| "not ASCII"),
    }
}

/// Returns the scope of JSON: that of changes if a PATCH has a list.
fn scope_of(judge: &Judge<'_>, json: &[u8]) -> Scope {
    let is_list = json.trim_ascii_start().first() == Some(&b'[');
    if judge.is_patch && is_list { json::patch::PATCH } else { json::OUTSIDE }
}

fn json_text<'b>(
    judge: &mut Judge<'_>,
    scope: Scope,
    bytes: &'b [u8],
) -> Result<Option<Cow<'b, str>>, Refusal> {
    match std::str::from_utf8(bytes) {
        Ok(text) => json::judge(judge, scope, text).map(Some),
        Err(_) => judge.against(Rule::Malformed, "content", "not UTF-8").map(|()| None),
    }
}

fn form(judge: &mut Judge<'_>, body: &[u8]) -> Result<Option<String>, Refusal> {
    let Ok(text) = std::str::from_utf8(body) else {
        return judge.against(Rule::Malformed, "form", "not UTF-8").map(|()| None);
    };
    judge.rule = Rule::PlmnInTokenRequest;
    query::judge(judge, text).map(Some)
}

/// Judges a multipart body and returns its content type and bytes: JSON first (RFC 2387 §3.2), then NAS, NGAP and
/// similar messages.
fn parts(
    judge: &mut Judge<'_>,
    content_type: &str,
    body: &[u8],
) -> Result<Option<(String, Vec<u8>)>, Refusal> {
    let found =
        multipart::boundary(content_type).and_then(|boundary| multipart::parts(body, boundary));
    let Some(found) = found.filter(|found| !found.is_empty()) else {
        return judge.against(Rule::Malformed, "multipart", "is malformed").map(|()| None);
    };
    let mut read = Vec::with_capacity(found.len());
    for (index, part) in found.iter().enumerate() {
        let kind = part.content_type.split(';').next().unwrap_or_default().trim();
        let (content_type, content) = match Media::of(part.content_type) {
            Some(Media::Json) => {
                match json_text(judge, scope_of(judge, part.content), part.content)? {
                    Some(text) => (Media::Json.name(), text.into_owned().into_bytes()),
                    None => return Ok(None),
                }
            }
            None if index > 0 && media::is_binary_part(kind) => {
                if has_json(part.content) {
                    judge.against(Rule::Malformed, "multipart", "JSON in a binary part")?;
                }
                (kind, part.content.to_vec())
            }
            // If the rule only logs, judge the other parts.
            _ => {
                judge.against(Rule::ContentType, "multipart", part.content_type)?;
                (kind, part.content.to_vec())
            }
        };
        read.push((part, content_type, content));
    }
    let parts =
        read.iter().map(|(part, content_type, content)| Part { content_type, content, ..**part });
    let (boundary, bytes) = multipart::write(parts);
    let related = Media::Multipart.name();
    let json = Media::Json.name();
    Ok(Some((format!("{related}; boundary={boundary}; type=\"{json}\""), bytes)))
}

/// Returns whether a binary message contains JSON: some readers find parts by position, and JSON after a byte order
/// mark or garbage.
fn has_json(content: &[u8]) -> bool {
    if let Ok(text) = std::str::from_utf8(content) {
        let text = text.trim_start_matches('\u{feff}').trim();
        let is_text = !text.contains(|letter: char| letter.is_control() && !letter.is_whitespace());
        let is_closed = text.starts_with('{') && text.ends_with('}')
            || text.starts_with('[') && text.ends_with(']');
        if is_text && is_closed {
            return true;
        }
    }
    if begins_json(content) {
        return true;
    }
    // UTF-16.
    if matches!(content, [0xff, 0xfe, b'{' | b'[', 0, ..] | [0xfe, 0xff, 0, b'{' | b'[', ..]) {
        return true;
    }
    let braces = content.iter().enumerate().filter(|(_, byte)| **byte == b'{');
    braces.map(|(at, _)| &content[at + 1..]).any(|rest| {
        let name = rest.trim_ascii_start().strip_prefix(b"\"").unwrap_or_default();
        let len =
            name.iter().take_while(|byte| (b' '..=b'~').contains(*byte) && **byte != b'"').count();
        let behind = name.get(len + 1..).unwrap_or_default();
        len > 0 && behind.trim_ascii_start().first() == Some(&b':')
    })
}

/// Returns whether the content begins with JSON, whatever follows: cJSON skips a byte order mark and all bytes up to a
/// space, accepts any byte in a string, and stops after the value.
fn begins_json(content: &[u8]) -> bool {
    let skip = |bytes: &'_ [u8]| bytes.iter().take_while(|byte| **byte <= b' ').count();
    let trim = |bytes| -> &[u8] { &content[content.len() - <[u8]>::len(bytes) + skip(bytes)..] };
    let mut rest = trim(content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content));
    let is_list = rest.first() == Some(&b'[');
    while let Some(inner) = rest.strip_prefix(b"[") {
        rest = trim(inner);
    }
    let is_object = rest.first() == Some(&b'{');
    if is_object {
        rest = trim(&rest[1..]);
    }
    let Some(text) = rest.strip_prefix(b"\"") else { return false };
    let mut is_escaped = false;
    let end = text.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    let behind = end.and_then(|end| trim(&text[end + 1..]).first());
    match behind {
        Some(b':') => is_object,
        Some(b',' | b']') => is_list && !is_object,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announced_length_is_right_or_corrected() {
        let corrected = |announced: &[&'static str], length| {
            let mut headers = HeaderMap::new();
            for value in announced {
                headers.append(CONTENT_LENGTH, HeaderValue::from_static(value));
            }
            set_length(&mut headers, length);
            headers.get_all(CONTENT_LENGTH).iter().cloned().collect::<Vec<_>>()
        };
        assert!(corrected(&[], 5).is_empty());
        for (announced, length) in [
            (&["0"][..], 0),
            (&["170"], 170),
            (&["0170"], 170),
            (&["+170"], 170),
            (&[""], 0),
            (&["70"], 170),
            (&["1170"], 170),
            (&["170"], 17),
            (&["00"], 0),
            (&["5", "5"], 5),
        ] {
            assert_eq!(corrected(announced, length), [length.to_string()], "{announced:?}");
        }
    }

    #[test]
    fn json_is_found_in_a_binary_part() {
        for content in [
            &b"{\"plmnId\": 1}"[..],
            b"\xef\xbb\xbf{\"a\":1}",
            b"garbage { \n \"a b\" : 1",
            b"[[{\"a\":",
            b"{{{\"a\":1",
            b"{\"\\\"\":0,\"supi\":1}",
            b"\xff\xfe{\0/\0*\0*\0/\0\"\0s\0\"\0:\x001\0}\0",
            b"[\"imsi-208930000000001\"]\n",
            b"[1,\n2]",
            b"{\"\":",
            b"{\"\xe9\":0}\x01",
            b"\x01\x02{\"\x01\":0",
            b"\xef\xbb\xbf {\"\\\"\":0}\x01",
            b"[\"imsi-208930000000001\"]\x01",
            b"[[ {\"\" :",
        ] {
            assert!(has_json(content), "{:?}", content.escape_ascii().to_string());
        }
        for content in [
            &b"\x7e\x00{\"\x01\":"[..],
            b"",
            b" ",
            b"\"a\",",
            b"{",
            b"{\"",
            b"\xff{\"\":",
            b"[\"a\":",
            b"[{\"a\",",
            b"{\"a\"",
            b"\x00{a:1",
            b"{1",
            b"1}",
            b"[1",
            b"1]",
            b"[\x01]",
        ] {
            assert!(!has_json(content), "{:?}", content.escape_ascii().to_string());
        }
    }
}
