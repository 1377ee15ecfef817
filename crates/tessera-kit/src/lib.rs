//! Building blocks for programs that use Tessera.
//!
//! | module | purpose |
//! |---|---|
//! | [`pem`] | certificates, private keys and public keys in PEM files |
//! | [`credential`] | a certificate with its key, checked to match; fingerprints |
//! | [`trust`] | trust: roots from a file or from the system, revocation lists, raw public keys |
//! | [`cached_certificates`] | certificates that are sent once: caches kept in files |
//! | [`live`] | a configuration from files that can be reloaded while connections are made with it |
//! | [`psk`] | external PSKs in files |
//! | [`files`] | files named by settings: regular, of bounded length, read in time |
//! | [`names`] | groups and suites by name |
//! | [`key_file`], [`KeySource`] | keys of sealed directories |
//! | [`state`] | ticket keys and one-time keys that survive a restart |
//! | [`key_log`] | the secrets of connections in a file, for Wireshark |
//! | [`facts`], [`report`] | the outcome of a connection, as a line and as JSON; a slow reader delays no connection |
//! | [`inherited`] | listening sockets that a supervisor passes on |
//! | [`times`] | times as options have them |
//! | [`runtime`], [`signals`], [`open_files`] | the process: threads, its end, its limits |
//! | [`memory_guard`] | no core dumps, no tracing by others, no swap |
//! | [`volatile`] | places where secrets survive the process but not a power-off |
//! | `x509` (feature) | issuing certificates for keys of any algorithm, those of KEMs included |
//! | [`hex`] | hexadecimal |
//! | [`clock`] | the time, as vaults and tickets count it |
//!
//! An invalid setting is a [`ProgramError`] that names the setting, the file and the remedy. A
//! [`SettingFile`] is a file together with the setting that named it.
//!
//! A server's configuration from two files:
//!
//! ```no_run
//! use std::path::Path;
//!
//! use tessera::ServerConfig;
//! use tessera_kit::{ProgramError, SettingFile, credential};
//!
//! # fn main() -> Result<(), ProgramError> {
//! let credential = credential::load(
//!     SettingFile { setting: "--certificate", path: Path::new("chain.pem") },
//!     SettingFile { setting: "--key", path: Path::new("key.pem") },
//! )?;
//! let config = ServerConfig::new(tessera_aws_lc::provider(), vec![credential]);
//! # Ok(())
//! # }
//! ```
//!
//! The example `echo` of this crate is a whole server.
#![forbid(unsafe_code)]

pub mod cached_certificates;
pub mod clock;
pub mod credential;
mod error;
pub mod facts;
pub mod files;
pub mod hex;
pub mod inherited;
pub mod key_file;
pub mod key_log;
mod key_source;
pub mod live;
pub mod memory_guard;
pub mod names;
pub mod open_files;
pub mod pem;
pub mod psk;
pub mod report;
pub mod runtime;
mod setting;
pub mod signals;
pub mod state;
pub mod times;
pub mod trust;
pub mod volatile;
#[cfg(feature = "x509")]
pub mod x509;

pub use error::ProgramError;
pub use key_source::KeySource;
pub use setting::SettingFile;
