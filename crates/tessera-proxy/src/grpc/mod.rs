//! gRPC over HTTP/2, as far as servers of Envoy need it: a stream of requests and responses, or one of each.
//!
//! By hand, since libraries copy messages into buffers that they don't wipe. Source: "gRPC over HTTP2"
//! (`doc/PROTOCOL-HTTP2.md` of github.com/grpc/grpc).

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use prost::Message;
use tokio::sync::mpsc;
use zeroize::Zeroizing;

/// Why a stream ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The code.
    pub code: Code,
    /// Printable ASCII without percent signs.
    pub message: String,
}

/// gRPC's status codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// All is well.
    Ok = 0,
    /// A message isn't what the service has.
    InvalidArgument = 3,
    /// A message is too long.
    ResourceExhausted = 8,
    /// The service lacks what was asked for.
    Unimplemented = 12,
    /// The connection, or what the service needs, has failed.
    Unavailable = 14,
}

/// Longer messages are refused: an Envoy describes itself in less than a hundred kilobytes.
const LONGEST: usize = 256 * 1024;

/// A flag and a length stand before each message.
const PREFIX: usize = 5;

impl Status {
    /// Creates a status.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    fn headers(&self) -> HeaderMap {
        let code = HeaderValue::from(self.code as u16);
        let mut headers = HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), code)]);
        if let Ok(message) = HeaderValue::from_str(&self.message) {
            headers.insert("grpc-message", message);
        }
        headers
    }

    /// Returns a response that has this status alone.
    pub fn into_response(self) -> Response<Responses> {
        let (_, empty) = responses();
        let mut response = response(empty);
        response.headers_mut().extend(self.headers());
        response
    }
}

/// Returns the response to a request that is not gRPC.
pub fn unsupported() -> Response<Responses> {
    let (_, empty) = responses();
    let mut response = Response::new(empty);
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    response
}

/// Returns the head of a stream of responses.
pub fn response(body: Responses) -> Response<Responses> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// The requests of a stream.
pub struct Requests {
    body: Incoming,
    buffer: BytesMut,
}

impl Requests {
    /// Reads the requests in a body.
    pub fn new(body: Incoming) -> Self {
        Self { body, buffer: BytesMut::new() }
    }

    /// Returns the trailers, after skipping what comes before them.
    pub async fn trailers(&mut self) -> Option<HeaderMap> {
        while let Some(Ok(frame)) = self.body.frame().await {
            if let Ok(trailers) = frame.into_trailers() {
                return Some(trailers);
            }
        }
        None
    }

    /// Returns the next message; `None` at the end. Nothing is lost if the future is dropped.
    pub async fn message<M: Message + Default>(&mut self) -> Result<Option<M>, Status> {
        loop {
            if let Some(message) = take(&mut self.buffer)? {
                return Ok(Some(message));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => {
                    return Err(Status::new(Code::Unavailable, error.to_string()));
                }
            }
        }
    }
}

/// Takes a message from the front, if all of it is there.
fn take<M: Message + Default>(buffer: &mut BytesMut) -> Result<Option<M>, Status> {
    let Some((&[compressed, a, b, c, d], rest)) = buffer.split_first_chunk::<PREFIX>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if compressed != 0 {
        return Err(Status::new(Code::Unimplemented, "compressed messages are not supported"));
    }
    if length > LONGEST {
        let what = format!("a message has {length} bytes, and at most {LONGEST} are read");
        return Err(Status::new(Code::ResourceExhausted, what));
    }
    let Some(message) = rest.get(..length) else { return Ok(None) };
    let message = M::decode(message).map_err(|_| {
        Status::new(Code::InvalidArgument, "a message is not of the type that the service has")
    })?;
    buffer.advance(PREFIX + length);
    Ok(Some(message))
}

/// The responses of a stream.
pub struct Responses(mpsc::Receiver<Event>);

/// Sends the responses of a stream.
pub struct ResponseSender(mpsc::Sender<Event>);

enum Event {
    Message(Bytes),
    End(Status),
}

/// Returns both ends of a stream of responses.
pub fn responses() -> (ResponseSender, Responses) {
    let (sender, receiver) = mpsc::channel(1);
    (ResponseSender(sender), Responses(receiver))
}

impl ResponseSender {
    /// Sends a message, which is wiped when it was written; it fails silently if the client is gone.
    pub async fn send(&self, message: &[u8]) {
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
        let mut framed = Zeroizing::new(Vec::with_capacity(PREFIX + message.len()));
        framed.push(0);
        framed.extend_from_slice(&length.to_be_bytes());
        framed.extend_from_slice(message);
        let _ = self.0.send(Event::Message(Bytes::from_owner(framed))).await;
    }

    /// Ends the stream.
    pub async fn end(&self, status: Status) {
        let _ = self.0.send(Event::End(status)).await;
    }
}

impl Body for Responses {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|event| {
            event.map(|event| {
                Ok(match event {
                    Event::Message(bytes) => Frame::data(bytes),
                    Event::End(status) => Frame::trailers(status.headers()),
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, PartialEq, Message)]
    struct Node {
        #[prost(string, tag = "1")]
        id: String,
    }

    fn framed(message: &[u8]) -> BytesMut {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        BytesMut::from_iter([&[0], &length[..], message].concat())
    }

    #[test]
    fn messages_are_taken_when_they_are_whole() {
        let node = Node { id: "a".into() };
        let bytes = framed(&node.encode_to_vec());
        let mut buffer = BytesMut::new();
        for byte in &bytes[..bytes.len() - 1] {
            buffer.extend_from_slice(&[*byte]);
            assert_eq!(take::<Node>(&mut buffer), Ok(None));
        }
        buffer.extend_from_slice(&bytes[bytes.len() - 1..]);
        buffer.extend_from_slice(&framed(&[]));
        assert_eq!(take(&mut buffer), Ok(Some(node)));
        assert_eq!(take(&mut buffer), Ok(Some(Node::default())));
        assert!(buffer.is_empty());
    }

    #[test]
    fn what_is_no_message_ends_the_stream_with_the_reason() {
        let code = |bytes: &[u8]| take::<Node>(&mut BytesMut::from(bytes)).unwrap_err().code;
        assert_eq!(code(&[1, 0, 0, 0, 0]), Code::Unimplemented);
        assert_eq!(code(&[0, 0, 4, 0, 1]), Code::ResourceExhausted);
        assert_eq!(code(&[0, 0, 0, 0, 2, 10, 9]), Code::InvalidArgument);
    }
}
