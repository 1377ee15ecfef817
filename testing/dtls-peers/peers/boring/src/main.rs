//! BoringSSL.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use boring::ssl::{
    Error, ErrorCode, Ssl, SslContext, SslContextBuilder, SslFiletype, SslMethod, SslSession,
    SslSessionCacheMode, SslStream, SslVerifyMode, SslVersion,
};
use dtls_peer::{Facts, MOMENT, Options, PATIENCE, Peer, Result, bound, shown};
use foreign_types::ForeignTypeRef;

struct Boring {
    options: Options,
    context: SslContext,
    socket: UdpSocket,
    live: Option<SslStream<Datagrams>>,
    /// What came between commands; `None` after close_notify.
    received: VecDeque<Option<String>>,
    /// The newest session, and the one of the connection that was closed last.
    newest: Arc<Mutex<Option<SslSession>>>,
    session: Option<SslSession>,
}

/// A socket that remembers its peer: the first that sends.
struct Datagrams {
    socket: UdpSocket,
    remote: Option<SocketAddr>,
}

impl Read for Datagrams {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let (len, from) = self.socket.recv_from(buffer)?;
            // What comes before a ClientHello belongs to the association before.
            if self.remote.is_none() && buffer[0] != 22 {
                continue;
            }
            if *self.remote.get_or_insert(from) == from {
                return Ok(len);
            }
        }
    }
}

impl Write for Datagrams {
    fn write(&mut self, datagram: &[u8]) -> io::Result<usize> {
        self.remote
            .map_or(Err(io::ErrorKind::NotConnected.into()), |to| self.socket.send_to(datagram, to))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Repeats a call until it is done; timers expire meanwhile.
fn until_done<T>(
    stream: &mut SslStream<Datagrams>,
    patience: Duration,
    mut call: impl FnMut(&mut SslStream<Datagrams>) -> std::result::Result<T, Error>,
) -> std::result::Result<T, Error> {
    let began = Instant::now();
    loop {
        let mut left = boring_sys::timeval { tv_sec: 0, tv_usec: 100_000 };
        // SAFETY: `stream` holds the SSL.
        unsafe { boring_sys::DTLSv1_get_timeout(stream.ssl().as_ptr(), &mut left) };
        let wait = Duration::new(left.tv_sec.cast_unsigned(), left.tv_usec as u32 * 1000);
        let wait = wait.clamp(Duration::from_millis(1), MOMENT);
        let _ = stream.get_mut().socket.set_read_timeout(Some(wait));
        match call(stream) {
            Err(error) if error.code() == ErrorCode::WANT_READ && began.elapsed() < patience => {
                // SAFETY: as above.
                unsafe { boring_sys::DTLSv1_handle_timeout(stream.ssl().as_ptr()) };
            }
            result => return result,
        }
    }
}

impl Boring {
    fn ssl(&self) -> Result<Ssl> {
        let mut ssl = Ssl::new(&self.context).map_err(shown)?;
        if let Some(mtu) = self.options.mtu {
            ssl.set_mtu(mtu as u32).map_err(shown)?;
        }
        Ok(ssl)
    }

    fn stream(&mut self) -> Result<&mut SslStream<Datagrams>> {
        self.live.as_mut().ok_or_else(|| "no connection".into())
    }

    fn read(&mut self, patience: Duration) -> Result<Option<String>> {
        let mut buffer = vec![0; 4096];
        match until_done(self.stream()?, patience, |stream| stream.ssl_read(&mut buffer)) {
            Ok(len) => Ok(Some(String::from_utf8_lossy(&buffer[..len]).into())),
            Err(error) if error.code() == ErrorCode::ZERO_RETURN => Ok(None),
            Err(error) => Err(shown(error)),
        }
    }

    fn facts(&mut self) -> Result<Facts> {
        let ssl = self.stream()?.ssl();
        Ok(Facts {
            version: ssl.version_str().into(),
            resumed: ssl.session_reused(),
            early_data: "not-offered",
            group: ssl.curve_name().unwrap_or_default().into(),
            ..Facts::default()
        })
    }
}

impl Peer for Boring {
    const NAME: &str = "BoringSSL (boring 5.4)";

    fn new(options: Options, socket: UdpSocket) -> Result<Self> {
        let mut context = SslContext::builder(SslMethod::dtls()).map_err(shown)?;
        let newest = Arc::default();
        configure(&mut context, &options, Arc::clone(&newest)).map_err(shown)?;
        let context = context.build();
        let received = VecDeque::new();
        Ok(Self { options, context, socket, live: None, received, newest, session: None })
    }

    fn connect(&mut self, port: u16, resumes: bool, early: &str) -> Result<Facts> {
        if !early.is_empty() {
            return Err("has no early data over datagrams".into());
        }
        let mut ssl = self.ssl()?;
        ssl.set_hostname(&self.options.name).map_err(shown)?;
        ssl.param_mut().set_host(&self.options.name).map_err(shown)?;
        if resumes {
            let session = self.session.as_ref().ok_or("no session")?;
            // SAFETY: the session is of this context.
            unsafe { ssl.set_session(session) }.map_err(shown)?;
        }
        let remote = Some(SocketAddr::from(([127, 0, 0, 1], port)));
        let mut stream =
            SslStream::new(ssl, Datagrams { socket: bound()?, remote }).map_err(shown)?;
        until_done(&mut stream, PATIENCE, SslStream::connect).map_err(shown)?;
        self.live = Some(stream);
        self.received.clear();
        self.facts()
    }

    fn accept(&mut self) -> Result<Facts> {
        let socket = self.socket.try_clone().map_err(shown)?;
        let mut stream =
            SslStream::new(self.ssl()?, Datagrams { socket, remote: None }).map_err(shown)?;
        until_done(&mut stream, PATIENCE, SslStream::accept).map_err(shown)?;
        self.live = Some(stream);
        self.received.clear();
        self.facts()
    }

    fn send(&mut self, data: &str) -> Result<()> {
        until_done(self.stream()?, PATIENCE, |stream| stream.ssl_write(data.as_bytes()))
            .map_err(shown)?;
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<String>> {
        match self.received.pop_front() {
            Some(received) => Ok(received),
            None => self.read(PATIENCE),
        }
    }

    fn update(&mut self) -> Result<()> {
        let ssl = self.stream()?.ssl().as_ptr();
        // SAFETY: `self` holds the SSL.
        match unsafe { boring_sys::SSL_key_update(ssl, boring_sys::SSL_KEY_UPDATE_REQUESTED) } {
            1 => Ok(()),
            _ => Err("no key update".into()),
        }
    }

    fn close(&mut self) -> Result<()> {
        self.session = self.newest.lock().map_err(shown)?.take();
        self.stream()?.shutdown().map_err(shown)?;
        // What comes now may be for the next.
        self.live = None;
        Ok(())
    }

    fn idle(&mut self) -> Result<()> {
        if self.received.back() != Some(&None) {
            let received = self.read(MOMENT)?;
            self.received.push_back(received);
        }
        Ok(())
    }
}

fn configure(
    context: &mut SslContextBuilder,
    options: &Options,
    newest: Arc<Mutex<Option<SslSession>>>,
) -> std::result::Result<(), boring::error::ErrorStack> {
    context.set_min_proto_version(Some(SslVersion::DTLS1_3))?;
    context.set_max_proto_version(Some(SslVersion::DTLS1_3))?;
    context.set_ca_file(&options.ca)?;
    context.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    if let Some(chain) = &options.chain {
        context.set_certificate_chain_file(chain)?;
        context.set_private_key_file(&options.key, SslFiletype::PEM)?;
    }
    if let Some(group) = &options.group {
        context.set_curves_list(group)?;
    }
    context.set_session_id_context(b"peers")?;
    if !options.is_server {
        context
            .set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL);
        context.set_new_session_callback(move |_, session| {
            if let Ok(mut newest) = newest.lock() {
                *newest = Some(session);
            }
        });
    }
    Ok(())
}

fn main() {
    dtls_peer::run::<Boring>();
}
