//! A message, and its meaning.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, request, response};
use serde_json::Value;

#[derive(Debug, Clone)]
pub(super) struct Message {
    method: String,
    pub(super) target: String,
    /// Of an answer.
    pub(super) status: Option<u16>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// What a receiver reads in a body.
#[derive(Debug, PartialEq)]
pub(super) enum Content {
    Nothing,
    Json(Value),
    Pairs(Vec<(String, String)>),
    /// For each part, the type, the Content-ID and the content.
    Parts(Vec<(String, String, Content)>),
    Binary(Vec<u8>),
}

const BOUNDARY: &str = "=-rbkXYvUpWbSS4l5HSdF1jA==";

impl Message {
    /// Reads the members of an exchange that hold its type, its JSON or form, its binary parts and its headers.
    pub(super) fn new(exchange: &Value, [kind, body, parts, headers]: [&str; 4]) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut message = Self {
            method: text(&exchange["method"]),
            target: text(&exchange["path"]),
            status: None,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        };
        for (name, value) in exchange[headers].as_object().into_iter().flatten() {
            message.header(name, &text(value));
        }
        let Some(body) = exchange.get(body) else { return message };
        let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
        let Some(parts) = exchange[parts].as_array() else {
            message.header("content-type", &text(&exchange[kind]));
            message.body = body.into();
            return message;
        };
        message.header("content-type", &format!("multipart/related; boundary=\"{BOUNDARY}\""));
        // As open5gs writes it.
        let mut bytes =
            format!("--{BOUNDARY}\r\nContent-Type: application/json\r\n\r\n{body}").into_bytes();
        for part in parts {
            let [id, kind, hex] = [0, 1, 2].map(|at| text(&part[at]));
            let head =
                format!("\r\n--{BOUNDARY}\r\nContent-Id: {id}\r\nContent-Type: {kind}\r\n\r\n");
            bytes.extend(head.bytes());
            let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
            bytes.extend(digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8));
        }
        bytes.extend(format!("\r\n--{BOUNDARY}--\r\n").bytes());
        message.body = bytes.into();
        message
    }

    pub(super) fn header(&mut self, name: &str, value: &str) {
        let name: HeaderName = name.parse().unwrap();
        self.headers.insert(name, HeaderValue::from_str(value).unwrap());
    }

    /// Returns the head of a request, or of the one that was answered.
    pub(super) fn request(&self) -> request::Parts {
        let built = Request::builder().method(&*self.method).uri(&self.target).body(()).unwrap();
        let (mut parts, ()) = built.into_parts();
        if self.status.is_none() {
            parts.headers = self.headers.clone();
        }
        parts
    }

    pub(super) fn response(&self) -> Option<response::Parts> {
        let (mut parts, ()) =
            Response::builder().status(self.status?).body(()).unwrap().into_parts();
        parts.headers = self.headers.clone();
        Some(parts)
    }

    /// Returns the path, and the names and values of the query.
    pub(super) fn pairs(&self) -> (String, Vec<(String, String)>) {
        let url = url::Url::parse(&format!("http://host{}", self.target)).unwrap();
        (url.path().to_owned(), url.query_pairs().into_owned().collect())
    }

    /// Returns all headers except those of the body, which [`content`](Self::content) covers.
    pub(super) fn headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.remove("content-length");
        if self.kind().starts_with("multipart/") {
            headers.remove("content-type");
        }
        headers
    }

    /// Puts the texts of the request as its receiver saw them in place of those that were sent: an answer repeats them.
    pub(super) fn repeat(&mut self, sent: &Self, seen: &Self) {
        let (Content::Json(sent), Content::Json(seen)) = (sent.content(false), seen.content(false))
        else {
            return;
        };
        let Ok(mut text) = String::from_utf8(self.body.to_vec()) else { return };
        for (sent, seen) in texts(&sent).into_iter().zip(texts(&seen)) {
            if sent != seen {
                text = text.replace(&format!("\"{sent}\""), &format!("\"{seen}\""));
            }
        }
        self.body = text.into();
    }

    fn kind(&self) -> &str {
        self.headers.get("content-type").map_or("", |kind| kind.to_str().unwrap())
    }

    /// Returns the content of the body; `without_addresses`: those in profiles of functions are removed.
    pub(super) fn content(&self, without_addresses: bool) -> Content {
        content(self.kind(), &self.body, without_addresses)
    }
}

fn content(kind: &str, body: &[u8], without_addresses: bool) -> Content {
    let (media, parameters) = kind.split_once(';').unwrap_or((kind, ""));
    match media {
        "" => {
            assert!(body.is_empty());
            Content::Nothing
        }
        "application/x-www-form-urlencoded" => {
            Content::Pairs(url::form_urlencoded::parse(body).into_owned().collect())
        }
        "multipart/related" => {
            let boundary = parameters.split(';').find_map(|it| it.trim().strip_prefix("boundary="));
            Content::Parts(parts(body, boundary.unwrap().trim_matches('"'), without_addresses))
        }
        json if json.ends_with("json") => {
            let mut value = serde_json::from_slice(body).unwrap();
            if without_addresses {
                leave_out_addresses(&mut value);
            }
            Content::Json(value)
        }
        _ => Content::Binary(body.to_vec()),
    }
}

fn parts(body: &[u8], boundary: &str, without_addresses: bool) -> Vec<(String, String, Content)> {
    let text: String = body.iter().map(|byte| char::from(*byte)).collect();
    let open = format!("--{boundary}");
    let pieces: Vec<_> = text.split(&*open).collect();
    let inner = &pieces[1..pieces.len() - 1];
    let part = |piece: &&str| {
        let (head, bytes) = piece.trim_start_matches("\r\n").split_once("\r\n\r\n").unwrap();
        let bytes = bytes.strip_suffix("\r\n").unwrap();
        let header = |name: &str| {
            let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
            line.map_or_else(String::new, |line| line[name.len()..].trim().to_owned())
        };
        let bytes: Vec<u8> = bytes.chars().map(|byte| byte as u8).collect();
        let kind = header("content-type:");
        let content = content(&kind, &bytes, without_addresses);
        (kind, header("content-id:"), content)
    };
    inner.iter().map(part).collect()
}

/// Returns the strings in a value, in their order.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

fn leave_out_addresses(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(leave_out_addresses),
        Value::Object(members) => {
            for name in ["ipv4Addresses", "ipv6Addresses"] {
                members.remove(name);
            }
            for end in
                members.get_mut("ipEndPoints").and_then(Value::as_array_mut).into_iter().flatten()
            {
                let _ = end.as_object_mut().map(|end| end.remove("ipv4Address"));
            }
            members.values_mut().for_each(leave_out_addresses);
        }
        _ => {}
    }
}
