//! A client of embedded-tls: sends a line over the UART, and ends when one comes back.
#![no_std]
#![no_main]

mod random;

use cortex_m_rt::entry;
use embedded_tls::blocking::{TlsConnection, TlsContext};
use embedded_tls::{Aes128GcmSha256, TlsConfig, TlsError};
use size_peer_board::uart::Uart;
use size_peer_board::{INPUT, LINE, SERVER_NAME, finish, start};

/// Room for a record that it sends: a ClientHello, its Finished, a line.
const OUTPUT: usize = 512;

#[entry]
fn main() -> ! {
    start();
    finish(run().is_ok())
}

#[cfg(feature = "psk")]
fn config() -> TlsConfig<'static> {
    TlsConfig::new().with_psk(&[7; 32], &[b"device"])
}

#[cfg(feature = "p256")]
fn config() -> TlsConfig<'static> {
    TlsConfig::new()
}

fn run() -> Result<(), TlsError> {
    let mut input = [0; INPUT];
    let mut output = [0; OUTPUT];
    let config = config().with_server_name(SERVER_NAME);
    let mut connection = TlsConnection::new(Uart, &mut input, &mut output);
    connection.open(TlsContext::new(&config, provider()))?;
    connection.write(LINE)?;
    connection.flush()?;
    connection.read(&mut [0; 64])?;
    connection.close().map(|_| ()).map_err(|(_, error)| error)
}

#[cfg(feature = "psk")]
fn provider() -> impl embedded_tls::CryptoProvider<CipherSuite = Aes128GcmSha256> {
    embedded_tls::UnsecureProvider::new::<Aes128GcmSha256>(random::NotRandom)
}

#[cfg(feature = "p256")]
use chain::provider;

#[cfg(feature = "p256")]
mod chain {
    use embedded_tls::pki::CertVerifier;
    use embedded_tls::{Certificate, CryptoProvider, CryptoRngCore};
    use embedded_tls::{TlsClock, TlsVerifier};
    use size_peer_board::NOW;

    use super::*;

    pub(super) struct Clock;

    impl TlsClock for Clock {
        fn now() -> Option<u64> {
            Some(NOW)
        }
    }

    /// Room for the server's certificates, which the verifier keeps.
    const CERTIFICATES: usize = 2048;

    pub(super) struct Provider(CertVerifier<'static, Aes128GcmSha256, Clock, CERTIFICATES>);

    pub(super) fn provider() -> Provider {
        let root = Certificate::X509(&include_bytes!("../../../pki/root.der")[..]);
        Provider(CertVerifier::new(root))
    }

    impl CryptoProvider for Provider {
        type CipherSuite = Aes128GcmSha256;
        type Signature = [u8; 0];

        fn rng(&mut self) -> impl CryptoRngCore {
            random::NotRandom
        }

        fn verifier(&mut self) -> Result<&mut impl TlsVerifier<Aes128GcmSha256>, TlsError> {
            Ok(&mut self.0)
        }
    }
}
