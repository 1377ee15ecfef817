//! `tessera connect`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use tessera_commands::{Common, ConnectOptions, Load, LoadMode};

use super::common::CommonArguments;
use super::values;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tessera connect server.example:443                    carries standard input and output
  tessera connect localhost:4433 --ca certificate.pem
  tessera connect 127.0.0.1:4433 --fingerprint 3f...    the certificate that `tessera serve` printed
  tessera connect server.example:443 --sessions ~/.cache/tessera   resumes with a ticket
  (umask 077; openssl rand -hex 32 > $XDG_RUNTIME_DIR/sessions.key)
  tessera connect server.example:443 --sessions DIR --sessions-key $XDG_RUNTIME_DIR/sessions.key
  tessera connect server.example:443 --sessions DIR --forward-secret-early-data --early-data FILE
  tessera serve --certificate chain.pem --key key.pem --cache-certificates SERVERS-DIR
  tessera connect localhost:4433 --ca ca.pem --cache-certificates DIR
                                                        the second time no chain travels
  tessera connect localhost:4433 --ca ca.pem --kem-auth   a server with an ML-KEM certificate
  tessera connect localhost:4433 --known-key server.pem   a server whose key is known: no certificate travels
  tessera connect localhost:4433 --psk-file psks.txt --psk-hash sha384
  tessera connect localhost:4433 --udp --psk-file psks.txt --sessions DIR   DTLS 1.3 over UDP
  tessera connect server.example:5684 --udp --listen 5683 --ca ca.pem
                                                        any program's datagrams, sent to 127.0.0.1:5683
  tessera connect localhost:4433 --ca certificate.pem --count 1000 --parallel 8   measures
  tessera connect localhost:4433 --ca certificate.pem --count 1000 --mode full --json -

Exit codes: 0 all went well, 1 something failed, 2 the options are invalid.";

#[derive(Args)]
pub(crate) struct ConnectArguments {
    /// The server; the default port is 443.
    #[arg(value_name = "HOST:PORT", value_parser = server)]
    server: Server,

    /// The name that the server's certificate must have, also sent as SNI; HOST by default.
    #[arg(long, value_name = "NAME", help_heading = "Certificates")]
    server_name: Option<String>,

    /// Accepts only the certificate with this SHA-256, as `tessera serve` prints it.
    #[arg(long, value_name = "SHA256", value_parser = fingerprint, conflicts_with = "ca",
          help_heading = "Certificates")]
    fingerprint: Option<[u8; 32]>,

    /// Accepts any certificate: an attacker on the path can impersonate the server.
    #[arg(long, conflicts_with_all = ["ca", "fingerprint"], help_heading = "Certificates")]
    insecure_accept_any_certificate: bool,

    /// Accepts servers whose certificate has the key of a KEM (ML-KEM or X25519), which decapsulate in place of signing
    /// (KEM authentication, docs/kem-auth.md), as well as those that sign. The client authenticates as the server does, with
    /// --certificate: where the server has a KEM, the client's key must be one of a KEM, too. Nothing is sent before the
    /// server has shown that it has the key.
    #[arg(long, help_heading = "Certificates")]
    kem_auth: bool,

    /// The server's public key, known in advance (PEM, `PUBLIC KEY`), or the certificate that has it: a key of a KEM. Such a
    /// server (`tessera serve --known-key`, or --kem-auth) shows no certificate, and is authenticated by its key alone, with
    /// or without --udp: dates and revocation don't count. If it has another key, or asks for this side's certificate,
    /// certificates follow in the same round trip: they are accepted only with --ca, --fingerprint, and --kem-auth for
    /// certificates of KEMs. Observers can tell which key it is, by its hash.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Certificates")]
    known_key: Option<PathBuf>,

    /// Caches servers' certificates in this directory. A full handshake with a known server then sends 44 bytes in
    /// place of each chain, if the server caches too. The rest of the handshake is unchanged, and every certificate is
    /// judged each time. The server's is cached with or without --certificate. A resumption sends no certificates:
    /// with --count, only --mode full measures what caching saves. The directory is private: it reveals which servers a
    /// client visited. It has a part for each --ca and each client certificate, and may be that of --sessions.
    /// Concurrent clients may share one. Each takes the one-time tickets that it may send, and writes what it learned
    /// when its handshake is complete and again at its end; a client killed before that loses them. A connection leaves
    /// two tickets; concurrent ones leave eight to the next; a client without a ticket sends its own certificate whole.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Certificates")]
    cache_certificates: Option<PathBuf>,

    /// Connects with DTLS 1.3 (RFC 9147) over UDP. What standard input brings at once is sent as one datagram, or as
    /// several if it is longer than about 1,170 bytes; nothing is sent again, unless the server has lost the connection, as
    /// after a crash: then the program connects again, and sends what it sent last. After its end the program waits for the
    /// server's, and for at most five seconds without a datagram. On Linux a connection follows the machine's network: when
    /// datagrams to the server would leave from another address, it continues there, and leaves the earlier one only once
    /// the server has answered, if both work. Not with --count, --tcp-fast-open and
    /// --cache-certificates.
    #[arg(long)]
    udp: bool,

    /// With --udp: carries the datagrams of local programs that send to this address, instead of standard input, to the
    /// server (`tessera serve --udp --forward`) and its answers back: one for one, and none is sent again but the newest
    /// when the server has lost the connection, as after a crash (docs/dtls-mobility.md). Each program,
    /// by its own address, has a connection of its own, up to 1,000 at a time; further ones are refused. A connection
    /// ends when it is idle for five minutes, or the server ends it; the next datagram begins another, which resumes, and
    /// is early data if that is allowed. Empty datagrams, and those too long for --max-datagram (1,170 bytes or so), are
    /// dropped and counted, never fragmented. A server that answers nothing is given up after 30 to 45 seconds, then tried
    /// again.
    #[arg(long, value_name = "[ADDRESS:]PORT", requires = "udp", conflicts_with_all = ["count", "early_data", "keep_open"],
          value_parser = values::address)]
    listen: Option<SocketAddr>,

    /// With --udp: follows a server to a socket of the connection's own (`tessera serve --udp --sockets tcs` or `ipc`), at
    /// the server's address alone, so that the connection survives a change of this machine's address without a connection
    /// ID. A port at which nothing listens is then noticed only by its silence.
    #[arg(long, requires = "udp")]
    follow_server: bool,

    /// Sends the first flight with TCP's SYN (TCP Fast Open, RFC 7413), from the second connection to a server on. If
    /// the system, the server or the network doesn't support it, connections begin without it. The server and observers
    /// on the path recognise this machine by a cookie that the kernel keeps: see docs/fast-open.md. Early data may be
    /// executed although the server seems to refuse the connection; the program reports this.
    #[arg(long)]
    tcp_fast_open: bool,

    /// Keeps sessions in this directory, for this and later runs to resume.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "count")]
    sessions: Option<PathBuf>,

    /// Wraps these sessions under the key in this file: 32 random bytes, raw or as 64 hexadecimal digits. A deleted
    /// session stays on the disk for a while; without the key it is useless. So keep the key elsewhere: in memory, such
    /// as below $XDG_RUNTIME_DIR, where it ends with the login and the sessions with it, or in a systemd credential
    /// ($CREDENTIALS_DIRECTORY). Sessions stored without it, or under another key, are removed.
    #[arg(long, value_name = "FILE")]
    sessions_key: Option<PathBuf>,

    /// How many tickets to request in a full handshake (RFC 9149).
    #[arg(long, value_name = "N", value_parser = values::tickets)]
    tickets: Option<u8>,

    /// Sends this file as early data if --sessions has a ticket for it, and otherwise after the handshake. If the
    /// server rejects it and states that it was not executed, it is sent again; if it, or a prefix of it, may have been
    /// executed, the program reports that and exits with 1.
    #[arg(long, value_name = "FILE", help_heading = "Early data")]
    early_data: Option<PathBuf>,

    /// After the end of standard input, waits for the server to end the connection. By default, standard input ends
    /// this side; what the server still sends is shown either way.
    #[arg(long, conflicts_with = "count")]
    keep_open: bool,

    /// Makes this many connections, and measures them.
    #[arg(long, value_name = "N", help_heading = "Load",
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=100_000_000))]
    count: Option<usize>,

    /// How many connections at a time.
    #[arg(long, value_name = "P", default_value_t = 1, requires = "count", help_heading = "Load",
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    parallel: usize,

    /// How the connections begin.
    #[arg(
        long,
        value_name = "MODE",
        default_value = "psk-dhe",
        requires = "count",
        help_heading = "Load"
    )]
    mode: ModeArgument,

    #[command(flatten)]
    common: CommonArguments,
}

/// How the connections of a load begin.
#[derive(Clone, Copy, ValueEnum)]
enum ModeArgument {
    /// With certificates each time.
    Full,
    /// With a ticket and a key exchange.
    PskDhe,
    /// With a ticket alone; no forward secrecy.
    PskOnly,
    /// With early data as in RFC 8446; no forward secrecy for it.
    #[value(name = "0rtt")]
    ZeroRtt,
    /// With forward-secret early data.
    #[value(name = "0rtt-fs")]
    ZeroRttFs,
}

impl From<ModeArgument> for LoadMode {
    fn from(mode: ModeArgument) -> Self {
        match mode {
            ModeArgument::Full => Self::Full,
            ModeArgument::PskDhe => Self::PskDhe,
            ModeArgument::PskOnly => Self::PskOnly,
            ModeArgument::ZeroRtt => Self::ZeroRtt,
            ModeArgument::ZeroRttFs => Self::ZeroRttFs,
        }
    }
}

impl From<ConnectArguments> for ConnectOptions {
    fn from(arguments: ConnectArguments) -> Self {
        let ConnectArguments { parallel, mode, .. } = arguments;
        let load = arguments.count.map(|count| Load { count, parallel, mode: mode.into() });
        // A load begins with as many sessions as it can get.
        let tickets = arguments.tickets.unwrap_or(if load.is_some() { 32 } else { 2 });
        Self {
            host: arguments.server.host,
            port: arguments.server.port,
            udp: arguments.udp,
            listen: arguments.listen,
            follow_server: arguments.follow_server,
            tcp_fast_open: arguments.tcp_fast_open,
            server_name: arguments.server_name,
            fingerprint: arguments.fingerprint,
            insecure_accept_any_certificate: arguments.insecure_accept_any_certificate,
            sessions: arguments.sessions,
            sessions_key: arguments.sessions_key,
            tickets,
            early_data_file: arguments.early_data,
            keep_open: arguments.keep_open,
            load,
            common: Common {
                cache_certificates: arguments.cache_certificates,
                kem_auth: arguments.kem_auth,
                known_keys: arguments.known_key.into_iter().collect(),
                ..arguments.common.into()
            },
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Server {
    host: String,
    port: u16,
}

/// Parses `HOST`, `HOST:PORT`, `[IPv6]:PORT` or a bare IPv6 address.
fn server(text: &str) -> Result<Server, String> {
    const RIGHT: &str = "a server is HOST:PORT, such as localhost:4433 or [::1]:4433";
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return Ok(Server { host: text.to_owned(), port: 443 });
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| RIGHT)?),
        None => (text, 443),
    };
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').ok_or(RIGHT)?,
        None => host,
    };
    if host.is_empty() || port == 0 {
        return Err(RIGHT.to_owned());
    }
    Ok(Server { host: host.to_owned(), port })
}

/// Parses 64 hexadecimal digits, with or without colons.
fn fingerprint(text: &str) -> Result<[u8; 32], String> {
    const RIGHT: &str = "a fingerprint is a SHA-256: 64 hexadecimal digits";
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| *c != ':')
        .map(|c| c.to_digit(16).ok_or(RIGHT))
        .collect::<Result<_, _>>()?;
    let bytes: Vec<u8> = digits
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte * 16 + digit) as u8)
        .collect();
    if digits.len() != 64 {
        return Err(RIGHT.to_owned());
    }
    bytes.try_into().map_err(|_| RIGHT.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_parsed_as_host_and_port() {
        let is = |text, host: &str, port| {
            assert_eq!(server(text), Ok(Server { host: host.to_owned(), port }), "{text}");
        };
        is("server.example", "server.example", 443);
        is("localhost:4433", "localhost", 4433);
        is("[::1]:4433", "::1", 4433);
        is("::1", "::1", 443);
        for wrong in ["", ":1", "host:", "host:x", "host:0", "host:65536", "[::1:4433"] {
            assert!(server(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn fingerprints_are_parsed_with_and_without_colons() {
        let text = "0a".repeat(32);
        assert_eq!(fingerprint(&text), Ok([10; 32]));
        let with_colons = ["0A"; 32].join(":");
        assert_eq!(fingerprint(&with_colons), Ok([10; 32]));
        for wrong in ["", "0a", &text[1..], &text.replace('a', "g")] {
            assert!(fingerprint(wrong).is_err(), "{wrong}");
        }
    }
}
