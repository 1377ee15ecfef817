//! The options of both sides.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tessera::wire::{CipherSuite, NamedGroup};
use tessera_commands::{CertificateFiles, Common, EarlyData, PskHash, PskOptions};
use tessera_kit::names;
use tessera_kit::psk::NamedKey;

use super::values;

#[derive(Args)]
pub(crate) struct CommonArguments {
    /// The certificate chain (PEM), the end entity first.
    #[arg(long, value_name = "FILE", help_heading = CERTIFICATES)]
    certificate: Option<PathBuf>,

    /// The private key of the certificate (PEM), unless it is in the same file.
    #[arg(long, value_name = "FILE", requires = "certificate", help_heading = CERTIFICATES)]
    key: Option<PathBuf>,

    /// The roots that peers' certificates must chain to (PEM).
    #[arg(long, value_name = "FILE", help_heading = CERTIFICATES)]
    ca: Option<PathBuf>,

    /// A PSK that both sides know. Other users of this machine can read it in the process list: prefer --psk-file. May
    /// be repeated.
    #[arg(long, value_name = "IDENTITY:HEX", value_parser = NamedKey::parse, help_heading = PSKS)]
    psk: Vec<NamedKey>,

    /// A file of PSKs, IDENTITY:HEX per line. May be repeated.
    #[arg(long, value_name = "FILE", help_heading = PSKS)]
    psk_file: Vec<PathBuf>,

    /// The hash of the PSKs; must be the same on both sides.
    #[arg(long, value_name = "HASH", default_value = "sha256", help_heading = PSKS)]
    psk_hash: HashArgument,

    /// Imports the PSKs (RFC 9258); both sides must do so, or neither.
    #[arg(long, help_heading = PSKS)]
    import_psks: bool,

    /// The context that both sides agreed on for imported PSKs, such as which of them is the client.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true,
          requires = "import_psks", help_heading = PSKS)]
    psk_context: String,

    /// Uses PSKs, tickets included, without a key exchange (psk_ke). A PSK that is stolen later decrypts everything.
    #[arg(long, help_heading = PSKS)]
    psk_only_without_forward_secrecy: bool,

    #[arg(long, value_name = "GROUPS", value_delimiter = ',', value_parser = names::group,
          help = names::groups_in_words())]
    groups: Vec<NamedGroup>,

    #[arg(long, value_name = "SUITES", value_delimiter = ',', value_parser = names::suite,
          help = names::suites_in_words())]
    suites: Vec<CipherSuite>,

    /// The application protocols (ALPN), in order of preference, separated by commas.
    #[arg(long, value_name = "PROTOCOLS", value_delimiter = ',', value_parser = values::protocol)]
    alpn: Vec<String>,

    /// The largest record to receive, in bytes (RFC 8449).
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(64..=16385))]
    record_size_limit: Option<u16>,

    /// With --udp: the longest datagram to send, in bytes, without the headers of UDP and IP: what the path is known to
    /// carry. By default 1200. If answers fail to come, the handshake tries shorter ones. A server's request for a cookie,
    /// some 230 bytes, is sent whole.
    #[arg(long, value_name = "BYTES", requires = "udp", value_parser = clap::value_parser!(u16).range(96..=16384))]
    max_datagram: Option<u16>,

    /// Forward-secret early data, accepted at most once.
    #[arg(long, help_heading = EARLY_DATA)]
    forward_secret_early_data: bool,

    /// Early data as in RFC 8446. A ticket key that is stolen later decrypts it, and it can be replayed to servers that
    /// share no state.
    #[arg(long, help_heading = EARLY_DATA)]
    replayable_early_data_without_forward_secrecy: bool,

    /// Appends the secrets of connections to this file (SSLKEYLOGFILE format), for Wireshark. The file suffices to
    /// decrypt the connections.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    key_log: Option<PathBuf>,

    /// Appends facts to this file as JSON, one object per line, as docs/facts.md lists them; `-` is standard output,
    /// which then has nothing else.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    json: Option<PathBuf>,

    /// Prints no lines about connections for people.
    #[arg(long, short, help_heading = OUTPUT)]
    quiet: bool,
}

const CERTIFICATES: &str = "Certificates";
const PSKS: &str = "Pre-shared keys";
const EARLY_DATA: &str = "Early data";
const OUTPUT: &str = "Output";

/// The hash of a PSK.
#[derive(Clone, Copy, ValueEnum)]
enum HashArgument {
    Sha256,
    Sha384,
}

impl From<CommonArguments> for Common {
    fn from(arguments: CommonArguments) -> Self {
        let key = arguments.key;
        let certificate = arguments.certificate;
        Self {
            certificates: certificate.map(|certificate| CertificateFiles { certificate, key }),
            ca: arguments.ca,
            psks: PskOptions {
                keys: arguments.psk,
                files: arguments.psk_file,
                hash: match arguments.psk_hash {
                    HashArgument::Sha256 => PskHash::Sha256,
                    HashArgument::Sha384 => PskHash::Sha384,
                },
                import: arguments.import_psks.then_some(arguments.psk_context),
            },
            psk_only_without_forward_secrecy: arguments.psk_only_without_forward_secrecy,
            groups: arguments.groups,
            suites: arguments.suites,
            protocols: arguments.alpn,
            record_size_limit: arguments.record_size_limit,
            max_datagram: arguments.max_datagram,
            early_data: EarlyData {
                forward_secret: arguments.forward_secret_early_data,
                replayable_without_forward_secrecy: arguments
                    .replayable_early_data_without_forward_secrecy,
            },
            // Each side documents it differently, and sets it itself.
            cache_certificates: None,
            kem_auth: false,
            known_keys: Vec::new(),
            key_log: arguments.key_log,
            json: arguments.json,
            quiet: arguments.quiet,
        }
    }
}
