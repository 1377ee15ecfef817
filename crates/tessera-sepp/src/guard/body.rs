//! What a body is, and who looks into it.

use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use serde::de::IgnoredAny;

use super::hiding::{Way, rewritten};
use super::judge::{Judge, json};
use super::source::Source;
use super::{Refusal, Rule, patch, query};
use crate::multipart;

/// What the headers say that a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content<'a> {
    Json,
    Patch,
    Form,
    /// With this content type.
    Multipart(&'a str),
    /// Nothing is said.
    Unnamed,
    /// It is nothing of an SBI.
    Unknown(&'a str),
}

impl<'a> Content<'a> {
    fn of(headers: &'a HeaderMap) -> Self {
        let mut values = headers.get_all(CONTENT_TYPE).iter();
        match (values.next(), values.next()) {
            (None, _) => Self::Unnamed,
            // Which one would count?
            (Some(_), Some(_)) => Self::Unknown("two types"),
            (Some(value), None) => value.to_str().map_or(Self::Unknown("not ASCII"), Self::named),
        }
    }

    fn named(content_type: &'a str) -> Self {
        let (kind, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
        let kind = kind.trim();
        let is = |name: &str| kind.eq_ignore_ascii_case(name);
        let ends = |end: &str| {
            kind.len()
                .checked_sub(end.len())
                .and_then(|at| kind.get(at..))
                .is_some_and(|is| is.eq_ignore_ascii_case(end))
        };
        let begins =
            |start: &str| kind.get(..start.len()).is_some_and(|is| is.eq_ignore_ascii_case(start));
        // JSON is UTF-8 (RFC 8259 §8.1); whoever believes another charset reads another text.
        let is_utf8 = parameters.split(';').all(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = value.trim().trim_matches('"');
            !name.trim().eq_ignore_ascii_case("charset") || value.eq_ignore_ascii_case("utf-8")
        });
        match () {
            () if begins("multipart/") => Self::Multipart(content_type),
            () if !is_utf8 => Self::Unknown(content_type),
            () if is("application/json-patch+json") => Self::Patch,
            () if is("application/json") || ends("+json") => Self::Json,
            () if is("application/x-www-form-urlencoded") => Self::Form,
            () if kind.is_empty() => Self::Unnamed,
            () => Self::Unknown(content_type),
        }
    }
}

/// Whether a body with these headers is looked into.
pub(super) fn is_inspected(headers: &HeaderMap) -> bool {
    unread_coding(headers).is_none() && !matches!(Content::of(headers), Content::Unknown(_))
}

/// A coding that nobody here reads. `identity` is none (RFC 9110 §12.5.3): servers read the body as it is.
fn unread_coding(headers: &HeaderMap) -> Option<&str> {
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    codings.find_map(|coding| match coding.to_str() {
        Ok(coding) if coding.eq_ignore_ascii_case("identity") => None,
        coding => Some(coding.unwrap_or("not ASCII")),
    })
}

/// Judges a body. Without one, what the headers say of it.
pub(super) fn judge(
    judge: &mut Judge<'_>,
    headers: &HeaderMap,
    body: Option<&Bytes>,
) -> Result<(), Refusal> {
    if let Some(coding) = unread_coding(headers) {
        return judge.against(Rule::ContentCoding, "content-encoding", coding);
    }
    let content = Content::of(headers);
    if let Content::Unknown(kind) = content {
        // Functions answer with other things, which nobody reads as JSON.
        return match judge.kind.is_request {
            true => judge.against(Rule::ContentType, "content-type", kind),
            false => Ok(()),
        };
    }
    let Some(body) = body.filter(|body| !body.is_empty()) else { return Ok(()) };
    match content {
        Content::Json => json_text(judge, body, json::judge_content),
        Content::Patch => json_text(judge, body, patch::judge),
        Content::Form => form(judge, body),
        Content::Multipart(content_type) => parts(judge, content_type, body),
        Content::Unnamed if looks_like_json(body) => json_text(judge, body, json::judge_content),
        Content::Unnamed if judge.kind.is_request => {
            judge.against(Rule::ContentType, "content-type", "none")
        }
        Content::Unnamed | Content::Unknown(_) => Ok(()),
    }
}

fn looks_like_json(body: &[u8]) -> bool {
    matches!(body.trim_ascii_start().first(), Some(b'{' | b'['))
}

fn is_json(bytes: &[u8]) -> bool {
    looks_like_json(bytes) && serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

type OfText = fn(&mut Judge<'_>, &str, Source) -> Result<(), Refusal>;

/// Judges JSON, and rewrites it as a tree where slices aren't enough.
fn json_text(judge: &mut Judge<'_>, bytes: &[u8], of_text: OfText) -> Result<(), Refusal> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return judge.against(Rule::Malformed, "content", "is no UTF-8");
    };
    let before = judge.edits.len();
    of_text(judge, text, Source::Body)?;
    let Some(translation) = judge.translation else { return Ok(()) };
    let hides_addresses = translation.way == Way::Hide && judge.kind.service.has_profiles();
    if judge.edits.needs_tree(hides_addresses) {
        match rewritten(&translation, text) {
            Ok(Some(new)) => judge.edits.replace_whole(before, text, new),
            Ok(None) => {}
            Err(_) => return judge.against(Rule::Topology, "content", "a name"),
        }
    }
    Ok(())
}

fn form(judge: &mut Judge<'_>, body: &[u8]) -> Result<(), Refusal> {
    let Ok(text) = std::str::from_utf8(body) else {
        return judge.against(Rule::Malformed, "form", "is no UTF-8");
    };
    judge.rule = Rule::PlmnInTokenRequest;
    query::judge(judge, text)
}

fn parts(judge: &mut Judge<'_>, content_type: &str, body: &[u8]) -> Result<(), Refusal> {
    let found =
        multipart::boundary(content_type).and_then(|boundary| multipart::parts(body, boundary));
    let Some(found) = found else {
        return judge.against(Rule::Malformed, "multipart", "is malformed");
    };
    for part in found {
        match Content::named(part.content_type) {
            Content::Json => json_text(judge, part.content, json::judge_content)?,
            Content::Patch => json_text(judge, part.content, patch::judge)?,
            Content::Multipart(_) | Content::Form => {
                judge.against(Rule::ContentType, "multipart", part.content_type)?;
            }
            // Whoever believes its charset reads another text.
            Content::Unknown(kind) if kind.to_ascii_lowercase().contains("json") => {
                judge.against(Rule::ContentType, "multipart", kind)?;
            }
            Content::Unnamed if looks_like_json(part.content) => {
                json_text(judge, part.content, json::judge_content)?;
            }
            // NAS and NGAP messages. What is JSON is looked into whatever its type: some readers find parts by their
            // place.
            Content::Unknown(_) if is_json(part.content) => {
                json_text(judge, part.content, json::judge_content)?;
            }
            Content::Unnamed | Content::Unknown(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_known_by_its_type() {
        for text in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/problem+json",
            "application/merge-patch+json",
        ] {
            assert_eq!(Content::named(text), Content::Json, "{text}");
        }
        assert_eq!(Content::named("application/json-patch+json"), Content::Patch);
        assert_eq!(Content::named("application/x-www-form-urlencoded"), Content::Form);
        assert!(matches!(Content::named("Multipart/Related; boundary=x"), Content::Multipart(_)));
        for text in ["text/plain", "application/json; charset=utf-16", "application/jsonx", "json"]
        {
            assert!(matches!(Content::named(text), Content::Unknown(_)), "{text}");
        }
    }
}
