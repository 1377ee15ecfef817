//! What is answered.

use super::request::{Refusal, Request};
use super::{Health, Metrics};

/// An answer, as it is written.
pub(super) struct Response {
    pub(super) bytes: Vec<u8>,
    /// The connection stays for more.
    pub(super) keeps: bool,
}

struct Content {
    status: &'static str,
    kind: &'static str,
    body: String,
}

const TEXT: &str = "text/plain; charset=utf-8";
/// OpenMetrics 1.0.0, "Content Negotiation". Whoever doesn't know it reads it as Prometheus' older format.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) fn answer(request: &Request, metrics: &Metrics, health: &Health) -> Response {
    let text = |status, body: &str| Content { status, kind: TEXT, body: body.to_owned() };
    let content = match request.path.as_str() {
        "/metrics" => Content { status: "200 OK", kind: OPEN_METRICS, body: metrics.text() },
        // Whoever answers is alive.
        "/healthz" => text("200 OK", "ok\n"),
        "/readyz" => match health.reasons() {
            reasons if reasons.is_empty() => text("200 OK", "ready\n"),
            reasons => text("503 Service Unavailable", &format!("{}\n", reasons.join("\n"))),
        },
        _ => text("404 Not Found", "there are /metrics, /healthz and /readyz here\n"),
    };
    content.response(request.is_head, request.keeps)
}

pub(super) fn refuse(refusal: Refusal) -> Response {
    let (status, body) = match refusal {
        Refusal::Malformed => ("400 Bad Request", "this is no request of HTTP/1 without a body\n"),
        Refusal::TooLarge => ("431 Request Header Fields Too Large", "this request is too large\n"),
        Refusal::TooSlow => ("408 Request Timeout", "the request didn't come in time\n"),
        Refusal::Method => ("405 Method Not Allowed", "only GET and HEAD are answered here\n"),
    };
    Content { status, kind: TEXT, body: body.to_owned() }.response(false, false)
}

impl Content {
    fn response(self, is_head: bool, keeps: bool) -> Response {
        let Self { status, kind, body } = self;
        let connection = if keeps { "" } else { "Connection: close\r\n" };
        let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\n{allow}{connection}\r\n",
            body.len()
        );
        let mut bytes = head.into_bytes();
        if !is_head {
            bytes.extend_from_slice(body.as_bytes());
        }
        Response { bytes, keeps }
    }
}
