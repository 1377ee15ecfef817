//! An HTTP/2 client that writes its frames by hand (RFC 9113 §4.1, RFC 7541).

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;

pub const PROTOCOL_ERROR: u32 = 1;
pub const CANCEL: u32 = 8;
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// A received frame.
#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    /// Returns the error of a RST_STREAM or GOAWAY.
    pub fn error(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[at..at + 4].try_into().unwrap())
    }

    /// Returns the status in an answer's head: h2 indexes those in the static table, and writes others as literals.
    pub fn status(&self) -> u16 {
        assert_eq!(self.kind, HEADERS);
        match self.payload[0] {
            0x88 => 200,
            0x89 => 204,
            0x8a => 206,
            0x8b => 304,
            0x8c => 400,
            0x8d => 404,
            0x8e => 500,
            _ => {
                let digits = status_digits(&self.payload);
                digits.iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'))
            }
        }
    }
}

/// Returns `:status` from a literal with an indexed name (RFC 7541 §6.2): three digits, in Huffman code or plain.
fn status_digits(payload: &[u8]) -> Vec<u8> {
    let (len, value) = (payload[1], &payload[2..]);
    let (huffman, len) = (len & 0x80 != 0, usize::from(len & 0x7f));
    if !huffman {
        return value[..len].to_vec();
    }
    // RFC 7541, appendix B: the digits have five or six bits.
    let mut bits =
        value[..len].iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    let mut digits = Vec::new();
    while digits.len() < 3 {
        let mut code = 0;
        for _ in 0..5 {
            code = code << 1 | bits.next().unwrap();
        }
        digits.push(if code < 3 {
            b'0' + code
        } else {
            code = code << 1 | bits.next().unwrap();
            b'3' + code - 0b011001
        });
    }
    digits
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Encodes a field as a plain literal without indexing (RFC 7541 §6.2.2).
pub fn field(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0];
    for text in [name, value] {
        integer(&mut field, 0, 7, text.len());
        field.extend(text.as_bytes());
    }
    field
}

/// RFC 7541 §5.1.
pub fn integer(out: &mut Vec<u8>, pattern: u8, bits: u8, value: usize) {
    let most = (1 << bits) - 1;
    if value < most {
        return out.push(pattern | value as u8);
    }
    out.push(pattern | most as u8);
    let mut rest = value - most;
    while rest >= 128 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// The head of a request.
pub fn head(method: &str) -> Vec<u8> {
    [(":method", method), (":scheme", "http"), (":authority", "a"), (":path", "/")]
        .iter()
        .flat_map(|(name, value)| field(name, value))
        .collect()
}

/// A client's connection.
pub struct Raw<IO = DuplexStream> {
    pub io: IO,
}

/// The start of a client's connection (RFC 9113 §3.4).
pub fn preface(settings: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = settings
        .iter()
        .flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
        .collect();
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &frame(SETTINGS, 0, 0, &payload)[..]].concat()
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Raw<IO> {
    /// Sends the preface and these settings.
    pub async fn begin(io: IO, settings: &[(u16, u32)]) -> Self {
        let mut raw = Self { io };
        raw.write(&preface(settings)).await;
        raw
    }

    /// Writes, and returns whether the server is still there.
    pub async fn write(&mut self, bytes: &[u8]) -> bool {
        self.io.write_all(bytes).await.is_ok() && self.io.flush().await.is_ok()
    }

    pub async fn get(&mut self, stream: u32) -> bool {
        self.write(&frame(HEADERS, END_STREAM | END_HEADERS, stream, &head("GET"))).await
    }

    /// Returns the next frame; `None` at the end of the connection.
    pub async fn read(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.io.read_exact(&mut head).await.ok()?;
        let len = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; len];
        self.io.read_exact(&mut payload).await.ok()?;
        let stream = u32::from_be_bytes(head[5..].try_into().unwrap());
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// Returns the next frame of this kind; acknowledges SETTINGS and PING on the way.
    pub async fn next(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = self.read().await?;
            if frame.kind == kind {
                return Some(frame);
            }
            self.acknowledge(&frame).await;
        }
    }

    pub async fn acknowledge(&mut self, got: &Frame) {
        if matches!(got.kind, SETTINGS | PING) && got.flags & ACK == 0 {
            let payload = if got.kind == PING { &got.payload[..] } else { &[] };
            self.write(&frame(got.kind, ACK, 0, payload)).await;
        }
    }
}
