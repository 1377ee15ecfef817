//! krabitls: a client alone, without a certificate of its own.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use dtls_peer::{Facts, MOMENT, Options, PATIENCE, Peer, Result, bound, shown};
use getrandom::SysRng;
use krabitls::backends::DerCert;
use krabitls::client::{Anchor, PinnedRoots};
use krabitls::dtls::{DatagramTransport, DtlsStream};
use pki_types::CertificateDer;
use pki_types::pem::PemObject;

struct Krabi {
    options: Options,
    live: Option<DtlsStream<Datagrams>>,
    /// What came between commands.
    received: VecDeque<String>,
}

struct Datagrams(UdpSocket);

impl DatagramTransport for Datagrams {
    type Error = Error;

    fn send(&mut self, datagram: &[u8]) -> std::result::Result<(), Error> {
        self.0.send(datagram).map(|_| ())
    }

    fn recv(&mut self, buffer: &mut [u8]) -> std::result::Result<Option<usize>, Error> {
        match self.0.recv(buffer) {
            Ok(len) => Ok(Some(len)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl Peer for Krabi {
    const NAME: &str = "krabitls 0.6.1";

    fn new(options: Options, _: UdpSocket) -> Result<Self> {
        Ok(Self { options, live: None, received: VecDeque::new() })
    }

    fn connect(&mut self, port: u16, resumes: bool, _: &str) -> Result<Facts> {
        if resumes {
            return Err("has no resumption".into());
        }
        let socket = bound()?;
        socket.connect(("127.0.0.1", port)).map_err(shown)?;
        // It sends a flight again after each.
        socket.set_read_timeout(Some(Duration::from_secs(1))).map_err(shown)?;
        let authority = CertificateDer::from_pem_file(&self.options.ca).map_err(shown)?;
        let anchors = [Anchor::Cert(&authority)];
        let strategy = PinnedRoots::<DerCert>::new(&anchors);
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(shown)?;
        let (mut flight, mut parts) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
        let stream = DtlsStream::<Datagrams>::connect::<_, _, 4>(
            Datagrams(socket),
            &strategy,
            Some(&self.options.name),
            self.options.cid.as_deref(),
            &mut SysRng,
            &random,
            &mut flight,
            &mut parts,
        );
        self.live = Some(stream.map_err(shown)?);
        Ok(Facts { version: "DTLSv1.3".into(), early_data: "not-offered", ..Facts::default() })
    }

    fn send(&mut self, data: &str) -> Result<()> {
        let stream = self.live.as_mut().ok_or("no connection")?;
        stream.send(data.as_bytes(), &mut vec![0; data.len() + 64]).map_err(shown)
    }

    fn receive(&mut self) -> Result<Option<String>> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Some(data) = self.received.pop_front() {
                return Ok(Some(data));
            }
            self.idle()?;
        }
        Err("nothing came".into())
    }

    fn close(&mut self) -> Result<()> {
        Err("has no close_notify".into())
    }

    fn idle(&mut self) -> Result<()> {
        let stream = self.live.as_mut().ok_or("no connection")?;
        stream.transport_mut().0.set_read_timeout(Some(MOMENT)).map_err(shown)?;
        let mut buffer = vec![0; 4096];
        if let Some(len) = stream.recv(&mut buffer).map_err(shown)? {
            self.received.push_back(String::from_utf8_lossy(&buffer[..len]).into());
        }
        Ok(())
    }
}

fn main() {
    dtls_peer::run::<Krabi>();
}
