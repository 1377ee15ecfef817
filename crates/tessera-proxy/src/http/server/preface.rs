//! Detects a client's protocol.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::{Cause, ServerOptions};
use crate::http::deadline::Deadline;

/// The start of an HTTP/2 connection (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/2 if the client begins with its preface (prior knowledge, RFC 9113 §3.3), else HTTP/1.1.
    #[default]
    Detect,
    /// HTTP/2.
    Http2,
    /// HTTP/1.1 and 1.0.
    Http1,
}

impl Protocol {
    /// Returns the protocol that ALPN chose (RFC 7301); without ALPN HTTP/1.1, as RFC 9113 §3.2 has it for TLS.
    pub fn of_alpn(chosen: Option<&[u8]>) -> Self {
        if chosen == Some(b"h2") { Self::Http2 } else { Self::Http1 }
    }

    /// Reads as much as it needs to decide, and returns it.
    pub(super) async fn find<IO: AsyncRead + Unpin>(
        self,
        io: &mut IO,
        options: &ServerOptions,
    ) -> Result<(Self, Bytes), Cause> {
        if self != Self::Detect {
            return Ok((self, Bytes::new()));
        }
        let mut read = BytesMut::with_capacity(PREFACE.len());
        // An HTTP/1.1 client may connect ahead of need.
        let first = Deadline::after(options.idle_time).limit(io.read_buf(&mut read)).await;
        if first.map_err(|_| Cause::Idle)?.map_err(Cause::Io)? == 0 {
            return Err(Cause::Closed);
        }
        let rest = async {
            while read.len() < PREFACE.len() && PREFACE.starts_with(&read) {
                if io.read_buf(&mut read).await? == 0 {
                    break;
                }
            }
            Ok(())
        };
        let rest = Deadline::after(options.head_time).limit(rest).await;
        rest.map_err(|_| Cause::SlowHead)?.map_err(Cause::Io)?;
        let protocol = if read.starts_with(PREFACE) { Self::Http2 } else { Self::Http1 };
        Ok((protocol, read.freeze()))
    }
}
