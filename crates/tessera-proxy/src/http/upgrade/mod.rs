//! What both ends of an upgrade need: WebSocket's handshake, and streams of bytes where HTTP was.

mod http2_stream;
mod leftover;
mod websocket;

pub(super) use self::http2_stream::Http2Stream;
pub(super) use self::leftover::Leftover;
pub(super) use self::websocket::{WEBSOCKET, accept_of, has_handshake, is_websocket, new_key};
