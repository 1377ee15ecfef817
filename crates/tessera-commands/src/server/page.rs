//! The page about a connection.

use std::fmt::Write;

use serde_json::Value;
use tessera_kit::facts::ConnectionFacts;
use tessera_kit::report::FactLine;

/// Returns all facts for programs: the report's line, as of now.
pub(super) fn json(facts: &ConnectionFacts) -> String {
    let mut text = serde_json::to_string_pretty(&FactLine::new(facts)).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns the facts for people.
pub(super) fn html(facts: &ConnectionFacts) -> String {
    let verdict = if facts.post_quantum {
        "An observer who records this connection can't read it with a quantum computer."
    } else {
        "An observer who records this connection could read it with a quantum computer."
    };
    let mut rows = String::new();
    if let Ok(Value::Object(values)) = serde_json::to_value(facts) {
        for (name, value) in
            LABELS.iter().filter_map(|(key, label)| Some((label, values.get(*key)?)))
        {
            let value = match value {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                Value::Bool(true) => "yes".to_owned(),
                Value::Bool(false) => "no".to_owned(),
                other => other.to_string(),
            };
            let _ = writeln!(rows, "<tr><th>{name}</th><td>{}</td></tr>", escape(&value));
        }
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Your connection</title>\n<style>{STYLE}</style></head>\n<body><main>\
         <h1>Your connection</h1>\n<p class=\"how\">{}</p>\n<p>{verdict}</p>\n<table>{rows}</table>\n\
         <p><a href=\"/facts.json\">As JSON</a>. Load the page again, in a new connection, to see how your browser \
         reconnects.</p>\n</main></body></html>\n",
        escape(&facts.beginning())
    )
}

/// The facts on the page, in order.
const LABELS: &[(&str, &str)] = &[
    ("version", "Version"),
    ("suite", "Cipher suite"),
    ("group", "Key exchange"),
    ("server_signature_scheme", "Server's signature or KEM"),
    ("server_name", "Server name"),
    ("protocol", "Protocol (ALPN)"),
    ("peer", "You are"),
    ("external_psk", "PSK identity"),
    ("own_certificate", "The server's certificate came"),
    ("peer_certificate", "Your certificate came"),
    ("resumed", "Resumed"),
    ("psk", "Kind of PSK"),
    ("one_time_key", "One-time key"),
    ("continuation", "Continued with"),
    ("early_data", "Early data"),
    ("hello_retry_request", "HelloRetryRequest"),
    ("ancestry", "Weakest key exchange since the full handshake"),
    ("address", "Your address"),
    ("bytes_received", "Bytes received until now"),
    ("bytes_sent", "Bytes sent until now"),
    ("handshake_micros", "Handshake, in microseconds"),
];

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;margin:0;color:#1a1a1a;background:#f6f6f4}\
    main{max-width:44rem;margin:2rem auto;padding:0 1rem}h1{font-size:1.6rem;margin:0}\
    .how{font-size:1.15rem;margin:.25rem 0}table{border-collapse:collapse;width:100%;background:#fff}\
    th,td{text-align:left;padding:.4rem .75rem;border:1px solid #ddd;vertical-align:top}\
    th{font-weight:500;width:45%}td{font-family:ui-monospace,monospace;overflow-wrap:anywhere}\
    @media(prefers-color-scheme:dark){body{color:#eee;background:#1b1b1b}table{background:#262626}\
    th,td{border-color:#444}a{color:#9cf}}";

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}
