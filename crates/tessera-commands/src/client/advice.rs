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
        Some(error) => advice(options, error),
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

fn advice(options: &ConnectOptions, error: &Error) -> Option<&'static str> {
    let Error::AlertReceived(alert) = error else { return None };
    let common = &options.common;
    Some(match *alert {
        // The second: from a server that has known keys alone.
        AlertDescription::HANDSHAKE_FAILURE | AlertDescription::UNSUPPORTED_CERTIFICATE
            if !common.known_keys.is_empty() && common.certificates.is_none() =>
        {
            "maybe the server doesn't have the key of --known-key, or asks clients for certificates, and has no \
             certificate that this side accepts, or there is no common group or suite: check the file after \
             --known-key, or accept certificates with --ca FILE, and --kem-auth for those of KEMs; check --groups and \
             --suites"
        }
        AlertDescription::HANDSHAKE_FAILURE => {
            "maybe there is no common group or suite, or no common PSK, or the server's certificate has the key of a \
             KEM: check --groups, --suites, --psk, --import-psks and --kem-auth"
        }
        AlertDescription::UNSUPPORTED_CERTIFICATE if common.certificates.is_none() => {
            "the server has no certificate, but a public key, which must be known here: --known-key FILE"
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
        AlertDescription::CERTIFICATE_REQUIRED if common.certificates.is_some() => {
            "it requires a certificate, and this side's was not sent: its key must be one of a KEM where the server's \
             is, one that signs where the server signs, and of an algorithm that the server accepts; name another \
             after --certificate"
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
