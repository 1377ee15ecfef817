//! Decodes JSON into a message, or into a description of the error.

use std::fmt;

use http::StatusCode;
use serde_path_to_error::Segment;

use super::message::Message;
use super::present::Object;
use super::shortened::shortened;
use super::{Cause, ProblemDetails};

/// Reads a message.
///
/// # Errors
/// If it isn't JSON or isn't this message.
pub fn decode<T: Message>(body: &[u8]) -> Result<T, MalformedMessage> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let Object(message): Object<T> =
        serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let path = error.path().iter().cloned().collect();
            MalformedMessage::new(T::REQUIRED, path, error.inner())
        })?;
    json.end().map_err(|error| MalformedMessage::new(T::REQUIRED, Vec::new(), &error))?;
    Ok(message)
}

/// Something that isn't the expected message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedMessage {
    /// The member at fault, as a JSON pointer (RFC 6901). `None`: no JSON.
    pub pointer: Option<String>,
    /// What is wrong, for people. Long values of the message aren't quoted.
    pub reason: String,
    /// The same for machines.
    pub cause: Cause,
}

impl MalformedMessage {
    fn new(required: &[&str], path: Vec<Segment>, error: &serde_json::Error) -> Self {
        let text = error.to_string();
        // With the member known, "... at line 1 column 7" is no help.
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
        let reason = shortened(reason);
        if !error.is_data() {
            return Self { pointer: None, reason, cause: Cause::InvalidMsgFormat };
        }
        let missing = named(&reason, "missing field `");
        let doubled = named(&reason, "duplicate field `");
        let mut pointer = String::new();
        for segment in &path {
            match segment {
                Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
                Segment::Map { key } => push_name(&mut pointer, key),
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        for name in [missing, doubled].into_iter().flatten() {
            if !pointer.ends_with(&format!("/{name}")) {
                push_name(&mut pointer, name);
            }
        }
        let top = pointer.split('/').nth(1).unwrap_or_default();
        let cause = match (missing.is_some(), top) {
            (_, "") => Cause::InvalidMsgFormat,
            (missing, top) if required.contains(&top) => {
                if missing {
                    Cause::MandatoryIeMissing
                } else {
                    Cause::MandatoryIeIncorrect
                }
            }
            _ => Cause::OptionalIeIncorrect,
        };
        Self { pointer: Some(pointer), reason, cause }
    }

    /// Converts it into the answer: 400.
    pub fn into_problem(self) -> ProblemDetails {
        let problem = ProblemDetails::new(StatusCode::BAD_REQUEST).with_cause(self.cause);
        match self.pointer {
            Some(pointer) => problem.with_invalid_param(pointer, self.reason),
            None => problem.with_detail(self.reason),
        }
    }
}

/// Returns the name that an error of serde quotes after a prefix.
fn named<'a>(reason: &'a str, prefix: &str) -> Option<&'a str> {
    reason.strip_prefix(prefix)?.strip_suffix('`')
}

/// RFC 6901 §3
fn push_name(pointer: &mut String, name: &str) {
    pointer.push('/');
    pointer.push_str(&shortened(name).replace('~', "~0").replace('/', "~1"));
}

impl fmt::Display for MalformedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pointer {
            Some(pointer) => write!(f, "{pointer}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for MalformedMessage {}
