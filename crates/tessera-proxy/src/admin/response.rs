//! Answers of the admin port.

use super::AdminState;
use super::request::{Refusal, Request};
use super::routes::{Answer, RouteMatch};

/// An answer, ready to write.
pub(super) struct Response {
    pub(super) bytes: Vec<u8>,
    /// The connection stays open.
    pub(super) keeps: bool,
}

/// OpenMetrics 1.0.0, "Content Negotiation". Clients that don't know it can read it as Prometheus' older format.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) fn answer(request: &Request, served: &AdminState) -> Response {
    let AdminState { metrics, health, routes } = served;
    let own = |answer| if request.is_post { None } else { Some(answer) };
    let answer = match request.path.as_str() {
        "/metrics" => own(Answer { status: "200 OK", kind: OPEN_METRICS, body: metrics.text() }),
        // An answer alone shows that the process is alive.
        "/healthz" => own(Answer::line("200 OK", "ok")),
        "/readyz" => own(match health.reasons() {
            reasons if reasons.is_empty() => Answer::line("200 OK", "ready"),
            reasons => Answer::line("503 Service Unavailable", reasons.join("\n")),
        }),
        path => match routes.find(request.is_post, path) {
            RouteMatch::Answer(answer) => Some(answer),
            // A POST elsewhere is refused, whether the path exists or not.
            RouteMatch::Nothing if !request.is_post => Some(nowhere(served)),
            RouteMatch::OtherMethod if !request.is_post => {
                let text = "use POST here";
                let answer = Answer::line("405 Method Not Allowed", text);
                return written(answer, "Allow: POST\r\n", request.is_head, request.keeps);
            }
            RouteMatch::OtherMethod | RouteMatch::Nothing => None,
        },
    };
    match answer {
        Some(answer) => written(answer, "", request.is_head, request.keeps),
        None => refuse(Refusal::Method),
    }
}

fn nowhere(served: &AdminState) -> Answer {
    let further: Vec<_> = served.routes.paths().collect();
    match further.as_slice() {
        [] => Answer::not_found("this port serves /metrics, /healthz and /readyz"),
        further => Answer::not_found(format_args!(
            "this port serves /metrics, /healthz, /readyz, {}",
            further.join(", ")
        )),
    }
}

pub(super) fn refuse(refusal: Refusal) -> Response {
    let (status, line) = match refusal {
        Refusal::Malformed => {
            ("400 Bad Request", "only HTTP/1 requests without a body are answered here")
        }
        Refusal::TooLarge => ("431 Request Header Fields Too Large", "the request is too large"),
        Refusal::TooSlow => ("408 Request Timeout", "the request did not arrive in time"),
        Refusal::Method => ("405 Method Not Allowed", "only GET and HEAD are answered here"),
        Refusal::WebPage => ("403 Forbidden", "requests from web pages (Origin) are refused"),
    };
    let allow = if refusal == Refusal::Method { "Allow: GET, HEAD\r\n" } else { "" };
    written(Answer::line(status, line), allow, false, false)
}

fn written(answer: Answer, fields: &str, is_head: bool, keeps: bool) -> Response {
    let Answer { status, kind, body } = answer;
    let connection = if keeps { "" } else { "Connection: close\r\n" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\n{fields}{connection}\r\n",
        body.len()
    );
    let mut bytes = head.into_bytes();
    if !is_head {
        bytes.extend_from_slice(body.as_bytes());
    }
    Response { bytes, keeps }
}
