//! Converts the head of an answer to HTTP/2.

use std::time::{SystemTime, UNIX_EPOCH};

use http::header::{CONNECTION, CONTENT_LENGTH, DATE, HeaderName, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderValue, Method, Response, StatusCode};

use crate::http::body::Body;

/// Fields of a connection, not allowed in HTTP/2 (RFC 9113 §8.2.2).
const OF_A_CONNECTION: [HeaderName; 5] = [
    CONNECTION,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Returns the head to send, and the body if one follows.
pub(super) fn prepare(
    response: Response<Body>,
    method: &Method,
    date: Option<&mut DateField>,
) -> (Response<()>, Option<Body>) {
    let (mut parts, body) = response.into_parts();
    if parts.status.is_informational() {
        // An informational status is never final, and HTTP/2 has no 101 (RFC 9113 §8.6).
        parts.status = StatusCode::INTERNAL_SERVER_ERROR;
    }
    // Most answers have none of them: a pass over the names finds that out, without a lookup for each.
    if parts.headers.keys().any(|name| OF_A_CONNECTION.contains(name)) {
        for name in OF_A_CONNECTION {
            parts.headers.remove(name);
        }
    }
    let has_no_content = matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let body = (!body.is_end()).then_some(body);
    if !has_no_content
        && let Some(len) = body.as_ref().and_then(|body| http_body::Body::size_hint(body).exact())
        && len > 0
        && !parts.headers.contains_key(CONTENT_LENGTH)
    {
        parts.headers.insert(CONTENT_LENGTH, len.into());
    }
    if let Some(date) = date
        && !parts.headers.contains_key(DATE)
    {
        parts.headers.insert(DATE, date.now());
    }
    let body = body.filter(|_| !has_no_content && method != Method::HEAD);
    (Response::from_parts(parts, ()), body)
}

/// The field `Date`, updated once a second.
#[derive(Default)]
pub(super) struct DateField {
    second: u64,
    value: Option<HeaderValue>,
}

impl DateField {
    fn now(&mut self) -> HeaderValue {
        let now = SystemTime::now();
        let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if let Some(value) = &self.value
            && self.second == second
        {
            return value.clone();
        }
        let value = HeaderValue::try_from(httpdate::fmt_http_date(now));
        // A date is ASCII.
        let value = value.unwrap_or_else(|_| HeaderValue::from_static(""));
        (self.second, self.value) = (second, Some(value.clone()));
        value
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn response(status: u16, body: &'static str) -> Response<Body> {
        Response::builder()
            .status(status)
            .body(Body::full(Bytes::from_static(body.as_bytes())))
            .unwrap()
    }

    #[test]
    fn a_known_length_is_sent_and_no_body_where_none_may_be() {
        let (head, body) = prepare(response(200, "hello"), &Method::GET, None);
        assert_eq!(head.headers()[CONTENT_LENGTH], "5");
        assert!(body.is_some());
        let (head, body) = prepare(response(200, "hello"), &Method::HEAD, None);
        assert_eq!(head.headers()[CONTENT_LENGTH], "5");
        assert!(body.is_none());
        for status in [204, 304] {
            let (head, body) = prepare(response(status, "hello"), &Method::GET, None);
            assert!(head.headers().is_empty() && body.is_none());
        }
    }

    #[test]
    fn connection_specific_headers_are_not_sent() {
        let mut response = response(101, "");
        for name in OF_A_CONNECTION {
            response.headers_mut().insert(name, HeaderValue::from_static("x"));
        }
        let (head, _) = prepare(response, &Method::GET, None);
        assert!(head.headers().is_empty());
        assert_eq!(head.status(), 500);
    }

    #[test]
    fn an_existing_date_stays() {
        let mut date = DateField::default();
        let (head, _) = prepare(response(200, ""), &Method::GET, Some(&mut date));
        assert!(head.headers()[DATE].to_str().unwrap().ends_with(" GMT"));
        let mut response = response(200, "");
        response.headers_mut().insert(DATE, HeaderValue::from_static("then"));
        let (head, _) = prepare(response, &Method::GET, Some(&mut date));
        assert_eq!(head.headers()[DATE], "then");
    }
}
