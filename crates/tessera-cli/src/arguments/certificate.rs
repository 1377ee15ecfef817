//! `tessera certificate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueHint};
use tessera::wire::SignatureScheme;
use tessera_commands::{AuthorityOptions, IssueOptions, KEY_KINDS, KeyOptions, SubjectKey};

use super::values;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tessera certificate authority --kind ml-dsa-65 --name \"Example CA\" --certificate ca.pem --key ca.key
  tessera certificate issue --ca ca.pem --ca-key ca.key --kind ml-kem-768 --name localhost \\
          --certificate server.pem --key server.key
  tessera serve --kem-auth --certificate server.pem --key server.key
  tessera connect localhost:4433 --kem-auth --ca ca.pem";

/// The commands of `tessera certificate`.
#[derive(Subcommand)]
pub(crate) enum CertificateTask {
    /// Makes an authority: a key, and a certificate for it that the key signs. It issues certificates of servers and
    /// clients, and of no further authorities.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera certificate authority --kind p256 --name \"Example CA\" --certificate ca.pem --key ca.key
  tessera certificate authority --kind ml-dsa-65 --name \"Example CA\" --certificate ca.pem --key ca.key

Exit codes: 0 all went well, 1 something failed, 2 the options are invalid, or a file exists."
    )]
    Authority(AuthorityArguments),

    /// Issues a certificate for a server or a client: makes its key, or takes a public key.
    ///
    /// A request for a certificate (PKCS#10) is signed by its key, and keys of KEMs (ML-KEM, X25519) don't sign. So either
    /// the authority makes the key (--kind), and its operator hands it over; or the operator takes a public key from its
    /// owner (--public-key, made with `tessera certificate key`), over a channel that shows whose it is. Nothing shows the
    /// authority that the owner has the private key. That costs no security of TLS: who lacks it can't decapsulate, and
    /// completes no handshake. Where it must be shown beforehand, encrypt the new certificate to the key, and count it as
    /// issued when it comes back (RFC 4211 section 4.2, RFC 9810 section 5.2.8: the indirect method).
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera certificate issue --ca ca.pem --ca-key ca.key --kind ml-kem-768 \\
          --name server.example --certificate server.pem --key server.key
  tessera certificate issue --ca ca.pem --ca-key ca.key --kind ml-dsa-44 \\
          --name client.example --client --certificate client.pem --key client.key
  tessera certificate issue --ca ca.pem --ca-key ca.key --public-key device.pub \\
          --name device.example --certificate device.pem

Exit codes: 0 all went well, 1 something failed, 2 the options or files are invalid, or a file exists."
    )]
    Issue(IssueArguments),

    /// Makes a key without a certificate, and writes both halves: for an authority elsewhere, or for clients that know it
    /// (`tessera serve --known-key`, `tessera connect --known-key`).
    #[command(
        arg_required_else_help = true,
        after_help = "\
Examples:
  tessera certificate key --kind ml-kem-768 --key server.key --public-key server.pub
  tessera serve --known-key server.key
  tessera connect localhost:4433 --known-key server.pub

Exit codes: 0 all went well, 1 something failed, 2 the options are invalid, or a file exists."
    )]
    Key(KeyArguments),
}

#[derive(Args)]
pub(crate) struct AuthorityArguments {
    /// The kind of the authority's key.
    #[arg(long, value_name = "KIND", value_parser = kind(false))]
    kind: SignatureScheme,

    /// The authority's name: a common name, of up to 64 characters.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: String,

    /// How long the certificate is valid.
    #[arg(long, value_name = "TIME", default_value = "3650d", value_parser = lifetime)]
    lifetime: Duration,

    /// Writes the certificate to this file (PEM), for `--ca` of other commands.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    certificate: PathBuf,

    /// Writes the key to this file (PEM, PKCS#8), which its owner alone can read.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    key: PathBuf,

    /// Replaces files that exist.
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
pub(crate) struct IssueArguments {
    /// The authority's certificate (PEM), followed by those above it, if there are any.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    ca: PathBuf,

    /// The authority's key (PEM).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    ca_key: PathBuf,

    /// Makes a key of this kind, and writes it to the file after --key.
    #[arg(long, value_name = "KIND", value_parser = kind(true), requires = "key")]
    kind: Option<SignatureScheme>,

    /// Writes the new key to this file (PEM, PKCS#8; of ML-KEM and ML-DSA the seed), which its owner alone can read.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "kind")]
    key: Option<PathBuf>,

    /// Certifies the public key in this file (PEM, `PUBLIC KEY`), whose owner has the private one.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "kind",
          conflicts_with_all = ["kind", "key"])]
    public_key: Option<PathBuf>,

    /// A DNS name or an address (subjectAltName). May be repeated; the first is the subject, too.
    #[arg(long, value_name = "NAME", required = true, value_parser = NonEmptyStringValueParser::new())]
    name: Vec<String>,

    /// For a client (clientAuth). By default the certificate is for a server (serverAuth).
    #[arg(long)]
    client: bool,

    /// How long the certificate is valid, but not longer than the authority's.
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = lifetime)]
    lifetime: Duration,

    /// Writes the certificate to this file (PEM), followed by those between it and the root.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    certificate: PathBuf,

    /// Replaces files that exist.
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
pub(crate) struct KeyArguments {
    /// The kind of the key.
    #[arg(long, value_name = "KIND", value_parser = kind(true))]
    kind: SignatureScheme,

    /// Writes the private key to this file (PEM, PKCS#8), which its owner alone can read.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    key: PathBuf,

    /// Writes the public key to this file (PEM, SubjectPublicKeyInfo).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    public_key: PathBuf,

    /// Replaces files that exist.
    #[arg(long)]
    force: bool,
}

/// Parses a kind of key: one that signs, or any.
fn kind(kems_too: bool) -> impl TypedValueParser<Value = SignatureScheme> {
    let kinds = KEY_KINDS.iter().filter(move |(_, scheme)| kems_too || scheme.kem().is_none());
    let names = PossibleValuesParser::new(kinds.map(|(name, _)| *name));
    names.try_map(|name| {
        let found = KEY_KINDS.iter().find(|(known, _)| *known == name);
        found.map(|(_, scheme)| *scheme).ok_or("no such kind")
    })
}

fn lifetime(text: &str) -> Result<Duration, String> {
    values::time(text, ["1m", "36500d"])
}

impl From<AuthorityArguments> for AuthorityOptions {
    fn from(arguments: AuthorityArguments) -> Self {
        let AuthorityArguments { kind, name, lifetime, certificate, key, force } = arguments;
        Self { kind, name, lifetime, certificate, key, force }
    }
}

impl From<IssueArguments> for IssueOptions {
    fn from(arguments: IssueArguments) -> Self {
        let subject_key = match (arguments.kind, arguments.key) {
            (Some(kind), Some(file)) => SubjectKey::New(kind, file),
            // One of the two is required.
            _ => SubjectKey::Existing(arguments.public_key.unwrap_or_default()),
        };
        Self {
            ca: arguments.ca,
            ca_key: arguments.ca_key,
            subject_key,
            names: arguments.name,
            client: arguments.client,
            lifetime: arguments.lifetime,
            certificate: arguments.certificate,
            force: arguments.force,
        }
    }
}

impl From<KeyArguments> for KeyOptions {
    fn from(arguments: KeyArguments) -> Self {
        let KeyArguments { kind, key, public_key, force } = arguments;
        Self { kind, key, public_key, force }
    }
}
