//! What to do about a connection that failed.

use std::io::{self, ErrorKind};

use tessera::Error;
use tessera::wire::AlertDescription;
use tessera_kit::ProgramError;

use crate::options::ConnectOptions;

/// Describes why there is no connection, and what may help. `silent`: the server sent nothing.
pub(super) fn failed(
    options: &ConnectOptions,
    error: &io::Error,
    silent: bool,
    also: Option<String>,
) -> ProgramError {
    let of_engine = error.get_ref().and_then(|error| error.downcast_ref());
    let advice = match of_engine {
        _ if silent && is_end(error, of_engine) => Some(SILENT),
        Some(Error::TimedOut) if silent => Some(NO_ANSWER),
        Some(Error::TimedOut) if options.udp => Some(DATAGRAMS_LOST),
        Some(error) => advice(error),
        // With TCP Fast Open, connection errors surface only here.
        None => of_network(error.kind()),
    };
    let advice = advice.map_or_else(String::new, |advice| format!("; {advice}"));
    let also = also.map_or_else(String::new, |also| format!("; {also}"));
    ProgramError::Failed(format!("{}:{}: {error}{advice}{also}", options.host, options.port))
}

/// Whether the peer closed the connection.
fn is_end(error: &io::Error, of_engine: Option<&Error>) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
        || matches!(of_engine, Some(Error::Truncated))
}

/// For a server that closes without sending anything.
const SILENT: &str = "the server closed the connection before it answered: it may refuse this address for a while, as \
                      `tessera serve` does with --max-connections-per-address, or speak no TLS, or be \
    a proxy without a server behind it";

/// For a server that neither answers nor closes.
const NO_ANSWER: &str = "nothing answered: check host and port, and whether TLS is spoken there over TCP, or DTLS over \
                         UDP (--udp)";

/// For a handshake over UDP that began, and did not end.
const DATAGRAMS_LOST: &str = "datagrams are lost, or too long for the path: try --max-datagram 548, here and at the \
                              server; one with --sockets ipc needs --follow-server here, and no port-restricted or \
                              symmetric NAT between the two";

/// Explains why TCP could not reach the server.
pub(super) fn of_network(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ConnectionRefused => "nothing listens there: check host and port",
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => {
            "no route to the host: check the network, or try another address of the host"
        }
        _ => return None,
    })
}

fn advice(error: &Error) -> Option<&'static str> {
    let Error::AlertReceived(alert) = error else { return None };
    Some(match *alert {
        AlertDescription::HANDSHAKE_FAILURE => {
            "maybe there is no common group or suite, or no common PSK, or the server has a KEM certificate or known \
             keys alone: check --groups, --suites, --psk, --import-psks, --kem-auth and --known-key"
        }
        AlertDescription::DECRYPT_ERROR => {
            "a PSK may have another key or hash there: check --psk, --psk-file and --psk-hash; if this side's \
             certificate was cached, connect again: the server then reports why it refuses it"
        }
        AlertDescription::PROTOCOL_VERSION => "the server has no TLS 1.3, or it is turned off",
        AlertDescription::UNRECOGNIZED_NAME => "the server has another name: check --server-name",
        AlertDescription::NO_APPLICATION_PROTOCOL => {
            "it speaks none of these protocols: check --alpn"
        }
        AlertDescription::CERTIFICATE_REQUIRED => "it requires a certificate: --certificate FILE",
        AlertDescription::BAD_CERTIFICATE
        | AlertDescription::UNSUPPORTED_CERTIFICATE
        | AlertDescription::CERTIFICATE_REVOKED
        | AlertDescription::CERTIFICATE_EXPIRED
        | AlertDescription::CERTIFICATE_UNKNOWN
        | AlertDescription::UNKNOWN_CA => {
            "it does not accept this side's certificate: check --certificate"
        }
        _ => return None,
    })
}
