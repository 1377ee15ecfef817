//! `tessera certificate`: an authority, and certificates for keys of any algorithm, those of KEMs included.

mod authority;
mod keys;
mod names;
mod output;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::wire::SignatureScheme;
use tessera_aws_lc::SigningKey;
use tessera_kit::ProgramError;
use tessera_kit::credential::fingerprint;
use tessera_kit::report::print;
use tessera_kit::x509::{self, Contents, IssueError, Issuer, Purpose};

use self::authority::Authority;
use self::keys::{generate, public_key};
use self::names::{checked_name, named, subject};
use self::output::{Output, check_different, pem_of};

/// The kinds of keys that this program makes, by name: those that sign first.
pub const KEY_KINDS: &[(&str, SignatureScheme)] = &[
    ("p256", SignatureScheme::ECDSA_SECP256R1_SHA256),
    ("ed25519", SignatureScheme::ED25519),
    ("ml-dsa-44", SignatureScheme::MLDSA44),
    ("ml-dsa-65", SignatureScheme::MLDSA65),
    ("ml-kem-512", SignatureScheme::KEM_MLKEM512),
    ("ml-kem-768", SignatureScheme::KEM_MLKEM768),
    ("ml-kem-1024", SignatureScheme::KEM_MLKEM1024),
    ("x25519", SignatureScheme::KEM_X25519),
];

/// Options of an authority.
#[derive(Debug, Clone)]
pub struct AuthorityOptions {
    /// Its kind of key, which signs.
    pub kind: SignatureScheme,
    /// Its name.
    pub name: String,
    /// How long its certificate is valid.
    pub lifetime: Duration,
    /// The file for its certificate (PEM).
    pub certificate: PathBuf,
    /// The file for its key (PEM).
    pub key: PathBuf,
    /// Replace these files.
    pub force: bool,
}

/// Options of a certificate that an authority issues.
#[derive(Debug, Clone)]
pub struct IssueOptions {
    /// The certificates of the authority, its own first (PEM).
    pub ca: PathBuf,
    /// Its key (PEM).
    pub ca_key: PathBuf,
    /// The key of the certificate.
    pub subject_key: SubjectKey,
    /// The names of the server or client: DNS names and addresses, at least one.
    pub names: Vec<String>,
    /// For a client; otherwise for a server.
    pub client: bool,
    /// How long it is valid.
    pub lifetime: Duration,
    /// The file for the chain (PEM).
    pub certificate: PathBuf,
    /// Replace existing files.
    pub force: bool,
}

/// The key of a certificate.
#[derive(Debug, Clone)]
pub enum SubjectKey {
    /// One of this kind is made, and written to this file (PEM).
    New(SignatureScheme, PathBuf),
    /// The public key in this file (PEM), whose owner has the private one.
    Existing(PathBuf),
}

/// Options of a key without a certificate.
#[derive(Debug, Clone)]
pub struct KeyOptions {
    /// Its kind.
    pub kind: SignatureScheme,
    /// The file for the private key (PEM).
    pub key: PathBuf,
    /// The file for the public key (PEM).
    pub public_key: PathBuf,
    /// Replace existing files.
    pub force: bool,
}

/// Makes an authority: a key, and its self-signed certificate.
///
/// # Errors
/// If the name has no form in a certificate, or a file can't be written.
pub fn make_authority(options: &AuthorityOptions) -> Result<(), ProgramError> {
    let provider = tessera_aws_lc::provider();
    check_different(&[("--key", &options.key), ("--certificate", &options.certificate)])?;
    let key_file = Output::new("--key", &options.key, options.force)?;
    let certificate = Output::new("--certificate", &options.certificate, options.force)?;
    let name = named(&options.name)?;
    let made = generate(options.kind)?;
    let key = SigningKey::from_pkcs8(&made.private)
        .map_err(|error| ProgramError::failed("the key that was made", error))?;
    let now = now();
    let contents = Contents {
        subject: name.clone(),
        public_key_info: &made.public,
        validity: [now.saturating_sub(SKEW), end(now, options.lifetime)],
        purpose: Purpose::Authority,
    };
    let issuer = Issuer { name, public_key_info: &made.public, key: &key };
    let der = x509::issue(contents, issuer, &provider).map_err(|error| failed(&error))?;
    key_file.write_secret(&pem_of("PRIVATE KEY", &made.private)?)?;
    certificate.write(&pem_of("CERTIFICATE", &der)?)?;
    report(&options.certificate, &der)
}

/// Issues a certificate.
///
/// # Errors
/// If the authority's files or the public key can't be read, don't belong together or are no authority's, a name is
/// invalid, or a file can't be written.
pub fn issue(options: &IssueOptions) -> Result<(), ProgramError> {
    let provider = tessera_aws_lc::provider();
    let (setting, path) = match &options.subject_key {
        SubjectKey::New(_, path) => ("--key", path),
        SubjectKey::Existing(path) => ("--public-key", path),
    };
    let inputs = [("--ca", options.ca.as_path()), ("--ca-key", &options.ca_key)];
    for input in inputs {
        check_different(&[input, (setting, path), ("--certificate", &options.certificate)])?;
    }
    let key_file = match &options.subject_key {
        SubjectKey::New(_, path) => Some(Output::new("--key", path, options.force)?),
        SubjectKey::Existing(_) => None,
    };
    let output = Output::new("--certificate", &options.certificate, options.force)?;
    let authority = Authority::load(options)?;
    let names = options.names.iter().map(|name| checked_name(name));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    let (private, public) = match &options.subject_key {
        SubjectKey::New(kind, _) => {
            let made = generate(*kind)?;
            (Some(made.private), made.public)
        }
        SubjectKey::Existing(path) => (None, public_key(path, &provider)?),
    };
    let now = now();
    let contents = Contents {
        subject: subject(&names)?,
        public_key_info: &public,
        validity: [now.saturating_sub(SKEW), end(now, options.lifetime).min(authority.expires_at)],
        purpose: Purpose::EndEntity { names: &names, is_client: options.client },
    };
    let issuer = Issuer {
        name: authority.name,
        public_key_info: &authority.public_key_info,
        key: &*authority.key,
    };
    let der = x509::issue(contents, issuer, &provider).map_err(|error| failed(&error))?;
    let mut chain = pem_of("CERTIFICATE", &der)?;
    for above in &authority.above {
        chain.push_str(&pem_of("CERTIFICATE", above)?);
    }
    if let (Some(file), Some(private)) = (key_file, private) {
        file.write_secret(&pem_of("PRIVATE KEY", &private)?)?;
    }
    output.write(&chain)?;
    report(&options.certificate, &der)
}

/// Makes a key without a certificate, and writes both halves.
///
/// # Errors
/// If a file can't be written.
pub fn make_key(options: &KeyOptions) -> Result<(), ProgramError> {
    check_different(&[("--key", &options.key), ("--public-key", &options.public_key)])?;
    let key = Output::new("--key", &options.key, options.force)?;
    let public_key = Output::new("--public-key", &options.public_key, options.force)?;
    let made = generate(options.kind)?;
    key.write_secret(&pem_of("PRIVATE KEY", &made.private)?)?;
    public_key.write(&pem_of("PUBLIC KEY", &made.public)?)
}

fn failed(error: &IssueError) -> ProgramError {
    match error {
        IssueError::IssuerKey => ProgramError::settings(
            "--ca-key: certificates are signed with ECDSA on P-256 or P-384, Ed25519, ML-DSA-44 or ML-DSA-65: name \
             such a key",
        ),
        IssueError::SubjectKey => ProgramError::settings(format!("--public-key: {error}")),
        IssueError::Provider => ProgramError::Failed("signing the certificate failed".to_owned()),
        IssueError::Form(error) => ProgramError::failed("making the certificate", error),
    }
}

fn report(path: &Path, der: &[u8]) -> Result<(), ProgramError> {
    print(format!("{}: SHA-256 {}\n", path.display(), fingerprint(der)).into_bytes())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn end(now: u64, lifetime: Duration) -> u64 {
    now.saturating_add(lifetime.as_secs())
}

/// How much later other clocks may be, in seconds.
const SKEW: u64 = 300;
