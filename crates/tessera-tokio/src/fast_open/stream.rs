//! The client's TCP stream, whose first write travels in the SYN.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};

use super::kernel::{self, State};

/// A TCP stream whose first write travels in the SYN if the kernel has the server's cookie, and an ordinary
/// TCP stream otherwise.
///
/// ```no_run
/// use tessera::Destination;
/// use tessera_tokio::Connector;
/// use tessera_tokio::fast_open::FastOpenStream;
///
/// # async fn example(connector: Connector) -> std::io::Result<()> {
/// let socket = FastOpenStream::connect(([192, 0, 2, 1], 443).into()).await?;
/// let destination = Destination { server_name: "server.example".into(), ..Default::default() };
/// let stream = connector.connect(destination, socket).await?;
/// println!("{:?}", stream.get_ref().opening());
/// # Ok(())
/// # }
/// ```
///
/// **With a cookie it is ready at once, and nothing was sent.** So the client must write first, as TLS does;
/// a read before that never returns. Errors that `connect()` would have reported, such as a refused
/// connection, come with the first write or read, and again with later ones. Data in the SYN may have been
/// executed by then, whatever the error: early data there has the verdict `unknown`. Early data that did not
/// fit into the SYN, or for which no SYN left because there is no route to the server, is reported as not
/// sent.
///
/// Shut the stream down before dropping it, as TLS does anyway: dropping it before the server's answer ends
/// the connection and loses what was not in the SYN.
///
/// If the network drops such a SYN, opening takes a second longer, the kernel's first time-out: it then sends
/// an ordinary SYN.
#[derive(Debug)]
pub struct FastOpenStream {
    stream: TcpStream,
    /// Remote address, if given here.
    address: Option<SocketAddr>,
    phase: Phase,
    /// Something was received.
    received: bool,
    /// The number of the error that kept the connection from opening.
    failure: Option<i32>,
}

/// How a connection began, as far as this end knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opening {
    /// As usual: Fast Open was not requested.
    Ordinary,
    /// As usual: the system doesn't support Fast Open, or its sysctl forbids it.
    Off,
    /// As usual: the kernel had no cookie of the server, or has seen SYNs with data get lost. It requested a
    /// cookie, so the next connection may have one.
    NoCookie,
    /// Not yet open: there is a cookie, and the first write opens the connection.
    Waiting,
    /// This many bytes left in the SYN. The server has not answered.
    Sent(usize),
    /// The server took this many bytes from the SYN.
    Taken(usize),
    /// The server did not take them, or the network dropped them; the kernel sent them after an ordinary
    /// handshake.
    NotTaken(usize),
}

impl Opening {
    /// Returns its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::Off => "off",
            Self::NoCookie => "no-cookie",
            Self::Waiting => "waiting",
            Self::Sent(_) => "sent",
            Self::Taken(_) => "taken",
            Self::NotTaken(_) => "not-taken",
        }
    }

    /// Returns how many bytes the SYN carried; 0 for ordinary ones.
    #[must_use]
    pub fn syn_bytes(self) -> usize {
        match self {
            Self::Sent(count) | Self::Taken(count) | Self::NotTaken(count) => count,
            _ => 0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Ordinary,
    Off,
    NoCookie,
    /// Before the first write.
    Waiting,
    /// The SYN left with this many bytes.
    Sent(usize),
}

impl FastOpenStream {
    /// Connects: at once if the kernel has a cookie of the server, otherwise with an ordinary handshake,
    /// which requests one. Errors are those of the ordinary handshake.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        let asked = kernel::connect(&socket);
        let stream = socket.connect(address).await?;
        let phase = match asked {
            Err(_) => Phase::Off,
            Ok(()) => match kernel::info(&stream) {
                Some(info) if info.state == State::Opening => Phase::Waiting,
                _ => Phase::NoCookie,
            },
        };
        Ok(Self { stream, address: Some(address), phase, received: false, failure: None })
    }

    /// Returns how the connection opened, as far as known so far.
    pub fn opening(&self) -> Opening {
        match self.phase {
            Phase::Ordinary => Opening::Ordinary,
            Phase::Off => Opening::Off,
            Phase::NoCookie => Opening::NoCookie,
            Phase::Waiting => Opening::Waiting,
            Phase::Sent(count) => match kernel::info(&self.stream) {
                Some(info) if info.syn_data_taken => Opening::Taken(count),
                Some(info) if info.state == State::Open || self.received => {
                    Opening::NotTaken(count)
                }
                _ => Opening::Sent(count),
            },
        }
    }

    /// Returns the server's address, even before the connection is open.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.address.map_or_else(|| self.stream.peer_addr(), Ok)
    }

    /// Returns the underlying stream, for its local address and options.
    pub fn get_ref(&self) -> &TcpStream {
        &self.stream
    }

    /// Returns the error that kept the connection from opening. The kernel reports it once; later calls would
    /// see an end of the stream.
    fn check_opened(&self) -> io::Result<()> {
        let Some(code) = self.failure else { return Ok(()) };
        Err(self.readable(io::Error::from_raw_os_error(code)))
    }

    /// Makes the error readable: the kernel has no error number specific to a SYN that it could not send.
    fn readable(&self, error: io::Error) -> io::Error {
        if self.phase == Phase::Waiting && kernel::is_before_syn(&error) {
            return io::Error::new(
                error.kind(),
                "the system can't start the connection: it has no route to the server, or no memory",
            );
        }
        error
    }

    fn failed(&mut self, error: io::Error) -> io::Error {
        let is_opening = matches!(self.phase, Phase::Waiting | Phase::Sent(_) | Phase::NoCookie);
        if is_opening && !self.received {
            self.failure = error.raw_os_error();
        }
        self.readable(error)
    }

    /// Waits for the server's answer to a SYN that left: a shutdown before then would drop the connection,
    /// and what the SYN didn't carry.
    fn poll_answered(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let may_be_opening = matches!(self.phase, Phase::Sent(_) | Phase::NoCookie);
        if !may_be_opening || self.received || self.failure.is_some() {
            return Poll::Ready(Ok(()));
        }
        let answered = || match kernel::info(&self.stream) {
            Some(info) if info.state == State::Opening => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(()),
        };
        loop {
            ready!(self.stream.poll_write_ready(cx))?;
            match self.stream.try_io(Interest::WRITABLE, answered) {
                // tokio still believes it is writable; wait for the next readiness event.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_write_with(
        &mut self,
        is_empty: bool,
        mut write: impl FnMut(Pin<&mut TcpStream>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.check_opened().map_err(nothing_left)?;
        if is_empty && self.phase == Phase::Waiting {
            // An empty write would open the connection with an empty SYN.
            return Poll::Ready(Ok(0));
        }
        loop {
            match ready!(write(Pin::new(&mut self.stream))) {
                Ok(count) => {
                    if self.phase == Phase::Waiting {
                        self.phase = Phase::Sent(count);
                    }
                    return Poll::Ready(Ok(count));
                }
                // The cookie is gone since connect(). The next write waits for the handshake.
                Err(error) if self.phase == Phase::Waiting && kernel::has_no_cookie(&error) => {
                    self.phase = Phase::NoCookie;
                }
                Err(error) => {
                    // A failed write took nothing, except that the first may fail after its SYN left.
                    let may_have_left =
                        self.phase == Phase::Waiting && !kernel::is_before_syn(&error);
                    let error = self.failed(error);
                    let error = if may_have_left { error } else { nothing_left(error) };
                    return Poll::Ready(Err(error));
                }
            }
        }
    }
}

/// Wraps an ordinary connection, for programs that use both kinds.
impl From<TcpStream> for FastOpenStream {
    fn from(stream: TcpStream) -> Self {
        let phase = Phase::Ordinary;
        Self { stream, address: None, phase, received: false, failure: None }
    }
}

impl AsyncRead for FastOpenStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.check_opened()?;
        let read = ready!(Pin::new(&mut this.stream).poll_read(cx, buffer));
        this.received |= read.is_ok();
        Poll::Ready(read.map_err(|error| this.failed(error)))
    }
}

impl AsyncWrite for FastOpenStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().poll_write_with(data.is_empty(), |stream| stream.poll_write(cx, data))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let is_empty = slices.iter().all(|slice| slice.is_empty());
        self.get_mut().poll_write_with(is_empty, |stream| stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_answered(cx))?;
        Pin::new(&mut this.stream).poll_shutdown(cx)
    }
}

/// A write error that is certain to have sent nothing.
#[derive(Debug)]
struct UnsentError(io::Error);

impl fmt::Display for UnsentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for UnsentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

fn nothing_left(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), UnsentError(error))
}

/// Whether the failed write is certain to have sent nothing.
pub(crate) fn never_left(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<UnsentError>())
}
