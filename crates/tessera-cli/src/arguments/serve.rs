//! `tessera serve`.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use tessera_commands::{Answer, ClientCertificates, Common, ServeOptions, SocketPolicy, Tickets};
use tessera_kit::KeySource;

use super::common::CommonArguments;
use super::values;

/// Where this build can't make a certificate, all examples need one.
pub(crate) fn examples() -> String {
    let needs = "Without --psk-file every server needs --certificate and --key.\n\n";
    format!("{}{EXAMPLES}", if cfg!(feature = "demo") { "" } else { needs })
}

const EXAMPLES: &str = "\
Examples:
  tessera serve                                         echoes, with a certificate made for this run
  tessera serve --http --listen 0.0.0.0:8443            a page about each connection, for browsers
  tessera serve --certificate chain.pem --key key.pem   with a certificate of its own
  tessera serve --ca clients.pem --require-client-certificate
  tessera serve --certificate chain.pem --key key.pem --cache-certificates DIRECTORY
                                                        chains travel once, as in connect --help
  tessera serve --kem-auth --certificate server.pem --key server.key   ML-KEM in place of signatures
  tessera serve --known-key server.key                  for clients that know the key; no certificate
  tessera serve --psk-file psks.txt --psk-hash sha384   PSKs, and no certificate
  tessera serve --forward-secret-early-data             0-RTT that is accepted at most once
  tessera serve --state /var/lib/tessera                clients resume after a restart too
  tessera serve --forward-secret-early-data --tcp-fast-open   its first bytes with TCP's SYN
  tessera serve --listen 0 --json -                     a free port; facts for programs
  tessera serve --udp --psk-file psks.txt               DTLS 1.3 over UDP
  tessera serve --udp --psk-file psks.txt --listen 0.0.0.0:5684 --forward 5683
                                                        in front of a CoAP server, or any other over UDP
  tessera serve --udp --sockets tcs --listen 0.0.0.0:5684    a socket for each association
  tessera serve --udp --listen 0.0.0.0:5684 --forward 5683 --forward-dtls12 15684
                                                        clients of DTLS 1.2 go on to their server

Ctrl-C and SIGTERM end it: handshakes and answers in progress are finished, within ten
seconds, and connections are closed properly. A listening socket of a supervisor (systemd.socket(5),
LISTEN_FDS) is used instead of --listen: clients that connect between two servers then wait, and
see no error.
SIGHUP reloads the files of --certificate, --key, --known-key, --ca, --crl and --psk-file, all or
none, for new connections; existing ones go on. If a file is invalid, the earlier ones stay in use,
and a line reports why.
Exit codes: 0 it was asked to end, 1 something failed, 2 the options are invalid.";

#[derive(Args)]
pub(crate) struct ServeArguments {
    /// The address to listen on: an address or a name with a port, or a bare port, which only this machine can reach.
    /// Port 0 picks a free one.
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "127.0.0.1:4433",
          value_parser = values::address)]
    listen: SocketAddr,

    /// Listens for DTLS 1.3 (RFC 9147) over UDP, and echoes datagrams. Clients prove their address before anything is kept
    /// for them, and may change it later. Not with --http, --tcp-fast-open and --cache-certificates.
    #[arg(long, conflicts_with = "write_timeout")]
    udp: bool,

    /// Forwards clients' datagrams to the UDP server at this address, and its answers back, instead of echoing: one for
    /// one, and none is sent again. Each client has a socket of its own to that server, which may be down for a while.
    /// Empty answers, and those too long for --max-datagram (1,170 bytes or so), are dropped and counted, never
    /// fragmented. A client to which nothing gets through any more is given up after 30 to 45 seconds.
    #[arg(long, value_name = "[ADDRESS:]PORT", requires = "udp", value_parser = values::target)]
    forward: Option<SocketAddr>,

    /// Relays clients of DTLS 1.2 to the server at this address, which speaks it: their datagrams pass as they are, by
    /// address. --max-connections, --max-connections-per-address and --idle-timeout hold for them too; further addresses
    /// are refused. That server gets datagrams of forged addresses as if it had the port itself.
    #[arg(long, value_name = "[ADDRESS:]PORT", requires = "udp", value_parser = values::target)]
    forward_dtls12: Option<SocketAddr>,

    /// How a client that changes its address is known again, also one whose library has no connection IDs:
    ///   one  all share the socket, and records have a connection ID
    ///   tcs  each association has a socket of its own, at another port, which clients that follow (connect --udp
    ///        --follow-server) learn in the handshake; others have a connection ID
    ///   ipc  the same, and the server answers from there at once: any client can follow whose socket isn't connected
    ///
    /// What a NAT does to them (yes: clients connect, and survive a change of their address):
    ///                       one   tcs   ipc
    ///   full cone           yes   yes   yes
    ///   address-restricted  yes   yes   yes
    ///   port-restricted     yes   yes   no
    ///   symmetric           yes   yes   no
    ///   expiring            yes   yes   as the NAT is
    ///
    /// Each socket takes a port and a file of the server's, until --idle-timeout; a firewall must admit the ports. Where
    /// they run out, and without a cookie (0-RTT), associations share the socket.
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "one",
        requires = "udp",
        verbatim_doc_comment
    )]
    sockets: SocketsArgument,

    /// The ports of the sockets of --sockets tcs or ipc, in random order. Without it any that the system chooses.
    #[arg(long, value_name = "FIRST-LAST", requires = "udp", value_parser = values::ports)]
    socket_ports: Option<RangeInclusive<u16>>,

    /// Accepts a client's first bytes with its SYN (TCP Fast Open, RFC 7413): early data arrives half a round trip
    /// after the client began. Needs 2 in the sysctl net.ipv4.tcp_fastopen; otherwise connections begin without it.
    /// Clients send a cookie, which links their connections for observers on the path, and a SYN may be delivered
    /// twice: see docs/fast-open.md.
    #[arg(long)]
    tcp_fast_open: bool,

    /// Answers HTTP/2 and HTTP/1.1 with a page about the connection, also as /facts.json; /keyupdate changes the keys
    /// first. Without --alpn it negotiates h2, http/1.1 or http/1.0. Without --http the server echoes.
    #[arg(long)]
    http: bool,

    /// Authenticates with the key of a KEM: ML-KEM (RFC 9935) or X25519 (RFC 8410), which --key has; `tessera certificate`
    /// makes one. The server decapsulates in place of signing (KEM authentication, docs/kem-auth.md), and so do the clients
    /// that it asks for certificates. Clients need --kem-auth, or must know the key (--known-key); others are refused.
    #[arg(long, requires = "certificate", help_heading = "Certificates")]
    kem_auth: bool,

    /// A private key of a KEM (PEM) that clients may know (`tessera connect --known-key`): to them the server shows no
    /// certificate, and is authenticated by the key alone, with or without --udp. May be repeated, as while keys are replaced.
    /// Clients that know another key get a full handshake. Without --certificate and --name the server has no certificate.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Certificates",
          conflicts_with_all = ["ask_client_certificate", "require_client_certificate"])]
    known_key: Vec<PathBuf>,

    /// Caches clients' certificates in this directory. A full handshake with a known client then sends 44 bytes in
    /// place of each chain, if the client caches too. The rest of the handshake is unchanged, and every certificate is
    /// judged each time. Clients cache the server's own with or without client certificates. The directory belongs to
    /// this server alone, and is private: it reveals which clients connected. It is written every five minutes if it
    /// has changed, and at the end: a server that is killed loses later entries, and these clients send their
    /// certificates whole once more.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Certificates")]
    cache_certificates: Option<PathBuf>,

    /// A name or address for the certificate that the server makes without --certificate. May be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "certificate", hide = !cfg!(feature = "demo"),
          value_parser = clap::builder::NonEmptyStringValueParser::new(), help_heading = "Certificates")]
    name: Vec<String>,

    /// Writes the certificate that the server makes to this file (PEM), for clients to trust.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "certificate",
        hide = !cfg!(feature = "demo"),
        help_heading = "Certificates"
    )]
    write_certificate: Option<PathBuf>,

    /// Asks clients for a certificate that --ca accepts; clients without one are accepted too.
    #[arg(long, requires = "ca", help_heading = "Certificates")]
    ask_client_certificate: bool,

    /// Refuses clients without a certificate that --ca accepts.
    #[arg(
        long,
        requires = "ca",
        conflicts_with = "ask_client_certificate",
        help_heading = "Certificates"
    )]
    require_client_certificate: bool,

    /// Revocation lists (PEM) for clients' certificates. May be repeated. Every certificate between a client and its
    /// root then needs a current list that doesn't contain it.
    #[arg(long, value_name = "FILE", requires = "ca", help_heading = "Certificates")]
    crl: Vec<PathBuf>,

    /// How many tickets a full handshake issues at most; 0 disables resumption.
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = values::tickets)]
    tickets: u8,

    /// The lifetime of a ticket: 24h, or a number of seconds; at most 7d.
    #[arg(long, value_name = "TIME", default_value = "24h",
          value_parser = |text: &str| values::time(text, ["1s", "7d"]))]
    ticket_lifetime: Duration,

    /// Keeps ticket keys and one-time keys in this directory, sealed, so that a restart costs clients nothing; and,
    /// without --certificate, the certificate that the server makes, with its key. If a signal other than Ctrl-C and
    /// SIGTERM ends the server, the one-time keys are lost: clients resume, and their early data is rejected once. Each
    /// server needs its own directory; don't back it up. With --udp a restart keeps connections, too, if no old copy of the
    /// directory could be used (not with --state-key alone), and a client whose connection is lost, as after a crash,
    /// learns it with its next datagram, by a reset: two servers behind one address must not have copies of one directory.
    /// Without --state such clients wait until they give up.
    #[arg(long, value_name = "DIR", help_heading = STATE)]
    state: Option<PathBuf>,

    /// The key of that directory: a file that only its owner can read, with 32 bytes or 64 hexadecimal digits (`openssl
    /// rand -hex 32`), or a credential of the service (systemd.exec(5)). By default the server makes a key at each
    /// start and keeps it below $RUNTIME_DIRECTORY, /run/tessera (root) or $XDG_RUNTIME_DIR, or if those two are no
    /// tmpfs (containers) in /dev/shm: the state then ends with the power, or the container.
    #[arg(long, value_name = "FILE|credential:NAME", requires = "state", help_heading = STATE,
          value_parser = values::state_key)]
    state_key: Option<KeySource>,

    /// Detects with this directory that the state was rolled back (from a backup), which would bring used one-time keys
    /// back: with --state-key nothing else detects that. It belongs on another file system, which isn't rolled back
    /// together with the state. If it doesn't recognise the state, one-time keys are destroyed: clients resume.
    #[arg(long, value_name = "DIR", requires = "state_key", help_heading = STATE)]
    state_witness: Option<PathBuf>,

    /// How long a handshake may take: 500ms, 10s, or a number of seconds.
    #[arg(long, value_name = "TIME", default_value = "10s", help_heading = LIMITS,
          value_parser = |text: &str| values::time(text, ["1ms", "1h"]))]
    handshake_timeout: Duration,

    /// The most connections at a time; further ones wait.
    #[arg(long, value_name = "N", default_value_t = 100_000, help_heading = LIMITS,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    max_connections: usize,

    /// The most connections, and the most handshakes, per address, which is an IPv4 address or an IPv6 network of 64
    /// bits; further ones are refused. An eighth of all by default.
    #[arg(long, value_name = "N", help_heading = LIMITS,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    max_connections_per_address: Option<usize>,

    /// Ends a connection that is idle for this long.
    #[arg(long, value_name = "TIME", default_value = "5m", help_heading = LIMITS,
          value_parser = |text: &str| values::time(text, ["1ms", "7d"]))]
    idle_timeout: Duration,

    /// Ends a connection whose client leaves sent data unread for this long.
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = LIMITS,
          value_parser = |text: &str| values::time(text, ["1ms", "1h"]))]
    write_timeout: Duration,

    #[command(flatten)]
    common: CommonArguments,
}

/// The sockets of associations over UDP.
#[derive(Clone, Copy, ValueEnum)]
enum SocketsArgument {
    One,
    Tcs,
    Ipc,
}

impl From<SocketsArgument> for Option<SocketPolicy> {
    fn from(sockets: SocketsArgument) -> Self {
        match sockets {
            SocketsArgument::One => None,
            SocketsArgument::Tcs => Some(SocketPolicy::Tcs),
            SocketsArgument::Ipc => Some(SocketPolicy::Ipc),
        }
    }
}

const LIMITS: &str = "Limits";
const STATE: &str = "Restarts";

impl From<ServeArguments> for ServeOptions {
    fn from(arguments: ServeArguments) -> Self {
        Self {
            listen: arguments.listen,
            udp: arguments.udp,
            forward: arguments.forward,
            forward_dtls12: arguments.forward_dtls12,
            sockets: arguments.sockets.into(),
            socket_ports: arguments.socket_ports,
            tcp_fast_open: arguments.tcp_fast_open,
            answer: if arguments.http { Answer::Http } else { Answer::Echo },
            names: arguments.name,
            write_certificate: arguments.write_certificate,
            client_certificates: match arguments {
                ServeArguments { require_client_certificate: true, .. } => {
                    ClientCertificates::Require
                }
                ServeArguments { ask_client_certificate: true, .. } => ClientCertificates::Ask,
                _ => ClientCertificates::No,
            },
            revocation_lists: arguments.crl,
            tickets: Tickets { count: arguments.tickets, lifetime: arguments.ticket_lifetime },
            max_connections: arguments.max_connections,
            max_connections_per_address: arguments.max_connections_per_address,
            idle_timeout: arguments.idle_timeout,
            write_timeout: arguments.write_timeout,
            handshake_timeout: arguments.handshake_timeout,
            state: arguments.state,
            state_key: arguments.state_key,
            state_witness: arguments.state_witness,
            common: Common {
                cache_certificates: arguments.cache_certificates,
                kem_auth: arguments.kem_auth,
                known_keys: arguments.known_key,
                ..arguments.common.into()
            },
        }
    }
}
