//! Answers HTTP/1.x requests with a page about the connection (RFC 9112).

use std::io;

use tokio::io::AsyncWriteExt;

use super::client::Client;
use super::heads::Heads;
use super::page;
use crate::receive::receive;

pub(super) async fn answer(client: &mut Client) -> io::Result<()> {
    let mut heads = Heads::default();
    loop {
        while let Some(head) = heads.take() {
            let request = Request::read(heads.head(head));
            let keep = request.as_ref().is_some_and(|request| request.keep_alive);
            if request.as_ref().is_some_and(Request::changes_keys) {
                client.stream.handshake().await?;
                client.stream.update_keys(true).await?;
            }
            let response = request.map_or_else(
                || Response::plain("400 Bad Request"),
                |request| request.response(client),
            );
            respond(client, &response, keep).await?;
            if !keep {
                // The answer to early data has left. Its ticket follows the end of the handshake, and nothing
                // follows the goodbye.
                client.stream.handshake().await?;
                client.note_handshake();
                return client.stream.shutdown().await;
            }
        }
        if heads.is_too_long() {
            respond(client, &Response::plain("431 Request Header Fields Too Large"), false).await?;
            return client.stream.shutdown().await;
        }
        heads.wait();
        let more = tokio::select! {
            more = receive(&mut client.stream) => more?,
            () = client.ending.begun() => return client.stream.shutdown().await,
        };
        client.note_handshake();
        if more.is_empty() {
            return client.stream.shutdown().await;
        }
        heads.add(&more);
    }
}

/// As much of a request as matters here.
struct Request<'a> {
    head_only: bool,
    is_get: bool,
    path: &'a str,
    keep_alive: bool,
}

impl<'a> Request<'a> {
    fn read(head: &'a [u8]) -> Option<Self> {
        let head = std::str::from_utf8(head).ok()?;
        let mut lines = head.lines();
        let mut words = lines.next()?.split(' ');
        let (method, path, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        let mut keep_alive = version != "HTTP/1.0";
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':')?;
            if name.eq_ignore_ascii_case("connection") {
                let wants = |what: &str| {
                    value.split(',').any(|option| option.trim().eq_ignore_ascii_case(what))
                };
                keep_alive = !wants("close") && (keep_alive || wants("keep-alive"));
            }
            // What a request brings along is not read: nothing after it would be a request.
            let has_content = name.eq_ignore_ascii_case("transfer-encoding")
                || (name.eq_ignore_ascii_case("content-length") && value.trim() != "0");
            if has_content {
                keep_alive = false;
            }
        }
        let head_only = method == "HEAD";
        let is_get = head_only || method == "GET";
        Some(Self { head_only, is_get, path, keep_alive })
    }

    fn path(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// Whether both sides shall change their keys before the answer (RFC 8446 §4.6.3).
    fn changes_keys(&self) -> bool {
        self.is_get && self.path() == "/keyupdate"
    }

    fn response(&self, client: &Client) -> Response {
        if !self.is_get {
            return Response { allow: true, ..Response::plain("405 Method Not Allowed") };
        }
        let (content_type, body) = match self.path() {
            "/" | "/keyupdate" => ("text/html; charset=utf-8", page::html(&client.facts(None))),
            "/facts.json" => ("application/json", page::json(&client.facts(None))),
            _ => return Response { head_only: self.head_only, ..Response::plain("404 Not Found") },
        };
        Response { status: "200 OK", content_type, body, head_only: self.head_only, allow: false }
    }
}

struct Response {
    status: &'static str,
    content_type: &'static str,
    body: String,
    head_only: bool,
    allow: bool,
}

impl Response {
    fn plain(status: &'static str) -> Self {
        let body = format!("{status}\n");
        Self { status, content_type: "text/plain", body, head_only: false, allow: false }
    }
}

async fn respond(client: &mut Client, response: &Response, keep: bool) -> io::Result<()> {
    let Response { status, content_type, body, .. } = response;
    let allow = if response.allow { "Allow: GET, HEAD\r\n" } else { "" };
    let connection = if keep { "keep-alive" } else { "close" };
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{allow}\
         Cache-Control: no-store\r\nConnection: {connection}\r\n\r\n",
        body.len()
    );
    if !response.head_only {
        bytes.push_str(body);
    }
    client.stream.write_all(bytes.as_bytes()).await
}
