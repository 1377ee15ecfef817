//! The client's TCP stream, whose first write travels in the SYN.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};

use super::kernel::{self, State};

/// A TCP stream whose first write travels in the SYN, where the kernel has the server's cookie, and which
/// is an ordinary one everywhere else.
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
/// **With a cookie it is ready at once, and nothing was sent.** So the client has to write first, as TLS
/// does; to read first waits for ever. Whatever `connect()` would have reported, such as that nobody listens,
/// comes with the first write or read, and again with those after it. What was in the SYN may have been
/// executed then, whatever the error says: early data there has the verdict `unknown`. Early data that did not
/// fit into the SYN, or for which no SYN left since there is no way to the server, is reported as not sent.
///
/// Shut it down before you drop it, as TLS does anyway: to drop it before the server's answer ends the
/// connection, and what was not in the SYN is lost.
///
/// A network that drops such a SYN costs a second, the kernel's first time-out: it then sends an ordinary one.
#[derive(Debug)]
pub struct FastOpenStream {
    stream: TcpStream,
    /// Where it goes, if that was said here.
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
    /// As usual: nobody asked for more.
    Ordinary,
    /// As usual: the system can't connect otherwise, or its sysctl says no.
    Off,
    /// As usual: the kernel had no cookie of the server, or has seen SYNs with data get lost on the way. It
    /// asked for a cookie, so the next connection may have one.
    NoCookie,
    /// Not at all yet: there is a cookie, and the first write begins the connection.
    Waiting,
    /// So many bytes left in the SYN. The server has not answered.
    Sent(usize),
    /// The server took them.
    Taken(usize),
    /// The server did not take them, or the network dropped them, so the kernel sent them after an ordinary
    /// handshake.
    NotTaken(usize),
}

impl Opening {
    /// Its name in reports.
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

    /// How many bytes the SYN carried; 0 for ordinary ones.
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
    /// The SYN left with so many bytes.
    Sent(usize),
}

impl FastOpenStream {
    /// Connects: at once where the kernel has a cookie of the server, else with an ordinary handshake,
    /// which asks for one. An error is that of an ordinary handshake.
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

    /// How the connection began, as far as is known until now.
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

    /// The server's address, also before the connection is there.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.address.map_or_else(|| self.stream.peer_addr(), Ok)
    }

    /// The stream underneath, to look at its own address and options.
    pub fn get_ref(&self) -> &TcpStream {
        &self.stream
    }

    /// Why the connection did not open. The kernel tells it once, to whoever asks first, and an end of the
    /// stream to the others.
    fn check_opened(&self) -> io::Result<()> {
        let Some(code) = self.failure else { return Ok(()) };
        Err(self.readable(io::Error::from_raw_os_error(code)))
    }

    /// The kernel has no word of its own for a SYN that it could not send.
    fn readable(&self, error: io::Error) -> io::Error {
        if self.phase == Phase::Waiting && kernel::is_before_syn(&error) {
            return io::Error::new(
                error.kind(),
                "the system can't begin the connection: it has no way to the server, or no memory",
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

    /// Waits for the server's answer to a SYN that left: to shut down before it would drop the connection,
    /// and with it what the SYN didn't carry.
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
                // It is not writable any more, as far as tokio knows: the next round waits.
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
            // It would begin the connection with an empty SYN.
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
                // It is gone since connect(). The next write waits for the handshake.
                Err(error) if self.phase == Phase::Waiting && kernel::has_no_cookie(&error) => {
                    self.phase = Phase::NoCookie;
                }
                Err(error) => {
                    // A write that fails has taken nothing; but the first may fail when its SYN has left.
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

/// An ordinary connection, for programs that have both.
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

/// An error of a write of which, for certain, nothing left.
#[derive(Debug)]
struct NeverLeft(io::Error);

impl fmt::Display for NeverLeft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for NeverLeft {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

fn nothing_left(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), NeverLeft(error))
}

/// Whether nothing of what was to be written has left, for certain.
pub(crate) fn never_left(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NeverLeft>())
}
