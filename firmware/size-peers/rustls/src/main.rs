//! A client of rustls: sends a line over the UART, and ends when one comes back.
#![no_std]
#![no_main]

extern crate alloc;

mod aead;
mod groups;
mod hash;
mod provider;

use alloc::sync::Arc;
use core::time::Duration;

use cortex_m_rt::entry;
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore};
use size_peer_board::{INPUT, LINE, NOW, SERVER_NAME, board, finish, receive_record, start};

/// Room for a ClientHello.
const OUTPUT: usize = if cfg!(feature = "hybrid") { 1536 } else { 512 };

#[entry]
fn main() -> ! {
    start();
    finish(run().is_some())
}

#[derive(Debug)]
struct Clock;

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(NOW)))
    }
}

fn config() -> Option<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from(&include_bytes!("../../../pki/root.der")[..]);
    roots.add(root).ok()?;
    let mut config =
        ClientConfig::builder_with_details(Arc::new(provider::provider()), Arc::new(Clock))
            .with_protocol_versions(&[&TLS13])
            .ok()?
            .with_root_certificates(roots)
            .with_no_client_auth();
    config.resumption = Resumption::disabled();
    Some(config)
}

fn run() -> Option<()> {
    let mut input = [0; INPUT];
    let mut output = [0; OUTPUT];
    let (mut received, mut encoded) = (0, 0);
    let (mut is_sent, mut is_answered) = (false, false);
    let name = ServerName::try_from(SERVER_NAME).ok()?;
    let mut connection = UnbufferedClientConnection::new(Arc::new(config()?), name).ok()?;
    loop {
        let UnbufferedStatus { mut discard, state, .. } =
            connection.process_tls_records(&mut input[..received]);
        let mut waits = false;
        match state.ok()? {
            ConnectionState::EncodeTlsData(mut data) => {
                encoded += data.encode(&mut output[encoded..]).ok()?;
            }
            ConnectionState::TransmitTlsData(data) => {
                board::send(&output[..encoded]);
                encoded = 0;
                data.done();
            }
            ConnectionState::BlockedHandshake => waits = true,
            ConnectionState::WriteTraffic(mut traffic) if is_answered => {
                let len = traffic.queue_close_notify(&mut output).ok()?;
                board::send(&output[..len]);
                return Some(());
            }
            ConnectionState::WriteTraffic(mut traffic) if !is_sent => {
                let len = traffic.encrypt(LINE, &mut output).ok()?;
                board::send(&output[..len]);
                is_sent = true;
            }
            ConnectionState::WriteTraffic(_) => waits = true,
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    discard += record.ok()?.discard;
                    is_answered = true;
                }
            }
            _ => return None,
        }
        input.copy_within(discard..received, 0);
        received -= discard;
        if waits {
            received += receive_record(&mut input[received..])?;
        }
    }
}
