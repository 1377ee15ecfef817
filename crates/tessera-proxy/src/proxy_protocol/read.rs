//! Reads a header, and nothing after it.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

use super::error::{DetectedProtocol, HeaderError};
use super::{FIXED, Header, PREFIX};

/// Limits on a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderLimits {
    /// The most bytes of a header. Default: 4096. The format allows 65551.
    pub len: usize,
    /// The time from the first read to the last byte. Default: 5 seconds.
    pub time: Duration,
}

impl Default for HeaderLimits {
    fn default() -> Self {
        Self { len: 4096, time: Duration::from_secs(5) }
    }
}

/// Reads a header, and nothing after it. Anything else is detected at the first byte that differs.
///
/// If it fails or is dropped, bytes may be lost: the connection can't be used any more.
pub async fn read_header<R: AsyncRead + Unpin>(
    io: &mut R,
    limits: HeaderLimits,
) -> Result<Header, HeaderError> {
    let limit = limits.time;
    timeout(limit, read(io, limits.len)).await.map_err(|_| HeaderError::TimedOut { limit })?
}

async fn read<R: AsyncRead + Unpin>(io: &mut R, limit: usize) -> Result<Header, HeaderError> {
    let mut header = vec![0; FIXED];
    let mut received = 0;
    while received < header.len() {
        let count = io.read(&mut header[received..]).await.map_err(HeaderError::Io)?;
        if count == 0 {
            return Err(HeaderError::Truncated { received });
        }
        received += count;
        let begin = &header[..received.min(PREFIX.len())];
        if !PREFIX.starts_with(begin) {
            return Err(HeaderError::NotAHeader { looks_like: looks_like(begin) });
        }
        if received == FIXED && header.len() == FIXED {
            let len = FIXED + usize::from(u16::from_be_bytes([header[14], header[15]]));
            if len > limit {
                return Err(HeaderError::TooLong { len, limit });
            }
            header.resize(len, 0);
        }
    }
    Header::parse(&header)
}

fn looks_like(begin: &[u8]) -> DetectedProtocol {
    const VERSION_1: &[u8] = b"PROXY ";
    match begin {
        // handshake(22), and any legacy_record_version.
        [22] | [22, 3, ..] => DetectedProtocol::Tls,
        _ if begin.starts_with(VERSION_1) || VERSION_1.starts_with(begin) => {
            DetectedProtocol::Version1
        }
        _ => DetectedProtocol::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;

    /// For every split into packets, even within the length.
    #[tokio::test]
    async fn a_header_in_two_pieces_is_read() {
        let header = Header { flight: Some(vec![7; 300]), ..Header::default() };
        let bytes = header.write().unwrap();
        for at in 1..bytes.len() {
            let (mut near, mut far) = duplex(1000);
            let (first, second) = bytes.split_at(at);
            near.write_all(first).await.unwrap();
            let reading = read_header(&mut far, HeaderLimits::default());
            let writing = async {
                // By now the first piece has been read.
                tokio::task::yield_now().await;
                near.write_all(second).await.unwrap();
            };
            let (read, ()) = tokio::join!(reading, writing);
            assert_eq!(read.unwrap(), header, "{at}");
        }
    }
}
