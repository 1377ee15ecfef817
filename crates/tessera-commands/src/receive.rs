//! Reading without a buffer that waits.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Receives what is there, as soon as there is something; nothing at the end. While it waits it
/// holds no buffer: idle connections are many.
pub(crate) async fn receive<R: AsyncRead + Unpin>(reader: &mut R) -> io::Result<Vec<u8>> {
    poll_fn(|cx| {
        let mut room = [const { MaybeUninit::uninit() }; ROOM];
        let mut buffer = ReadBuf::uninit(&mut room);
        ready!(Pin::new(&mut *reader).poll_read(cx, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().to_vec()))
    })
    .await
}

/// One full record (RFC 8446 §5.1).
const ROOM: usize = 1 << 14;
