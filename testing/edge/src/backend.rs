//! An instance that keeps every byte that it receives, and understands no more of HTTP/1.1 than where a message ends.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// An instance.
pub struct RawBackend {
    /// Where it listens.
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
}

/// A request, as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The head, with the empty line.
    pub head: String,
    /// The content, as it was framed.
    pub body: Vec<u8>,
}

impl RecordedRequest {
    /// Returns the first line.
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    /// Returns all values of a field.
    pub fn values(&self, name: &str) -> Vec<&str> {
        let fields = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let of = fields.filter(|(is, _)| is.eq_ignore_ascii_case(name));
        of.map(|(_, value)| value.trim()).collect()
    }
}

impl RawBackend {
    /// Starts it. To `/hints` it sends early hints before the answer, to `/codings` an answer that it has compressed as a
    /// transfer coding, to `/both` one with a length that isn't that of its chunks, and to `/old` one in HTTP/1.0.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let all = requests.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let all = all.clone();
                tokio::spawn(async move { drop(answer(socket, &all).await) });
            }
        });
        Self { address, requests }
    }

    /// Takes what has arrived.
    pub fn take(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut *self.requests.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn answer(mut socket: TcpStream, all: &Mutex<Vec<RecordedRequest>>) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        let head = loop {
            if let Some(end) = find(&bytes, b"\r\n\r\n") {
                break bytes.drain(..end + 4).collect::<Vec<u8>>();
            }
            if socket.read_buf(&mut bytes).await? == 0 {
                return keep_rest(bytes, all);
            }
        };
        let mut request =
            RecordedRequest { head: String::from_utf8_lossy(&head).into_owned(), body: Vec::new() };
        let len = request.values("content-length").first().map_or(0, |len| len.parse().unwrap());
        let is_chunked = !request.values("transfer-encoding").is_empty();
        let is_whole = |bytes: &[u8]| match is_chunked {
            true => find(bytes, b"0\r\n\r\n").map(|end| end + 5),
            false => (bytes.len() >= len).then_some(len),
        };
        let end = loop {
            if let Some(end) = is_whole(&bytes) {
                break end;
            }
            if socket.read_buf(&mut bytes).await? == 0 {
                // Cut off: it isn't executed.
                return Ok(());
            }
        };
        request.body = bytes.drain(..end).collect();
        let asks = |what: &str| request.line().contains(what);
        let (has_hints, has_codings, has_both) = (asks("/hints"), asks("/codings"), asks("/both"));
        let asks_old = asks("/old");
        all.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        if has_hints {
            socket
                .write_all(b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n")
                .await?;
        }
        let (head, body) = match (has_codings, has_both) {
            (true, _) => {
                ("1.1 200 OK\r\nTransfer-Encoding: gzip, chunked", "8\r\nanswered\r\n0\r\n\r\n")
            }
            (_, true) => (
                "1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked",
                "8\r\nanswered\r\n0\r\n\r\n",
            ),
            _ if asks_old => ("1.0 200 OK\r\nContent-Length: 8", "answered"),
            _ => ("1.1 200 OK\r\nContent-Length: 8", "answered"),
        };
        socket.write_all(format!("HTTP/{head}\r\n\r\n{body}").as_bytes()).await?;
    }
}

/// Bytes that are no request are kept as one, so that no smuggled prefix is missed.
fn keep_rest(bytes: Vec<u8>, all: &Mutex<Vec<RecordedRequest>>) -> std::io::Result<()> {
    if !bytes.is_empty() {
        let head = String::from_utf8_lossy(&bytes).into_owned();
        let rest = RecordedRequest { head, body: Vec::new() };
        all.lock().unwrap_or_else(PoisonError::into_inner).push(rest);
    }
    Ok(())
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
