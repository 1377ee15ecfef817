//! How a section is declared: each key once, for the file and the command line.

use std::path::Path;

use tessera::wire::{CipherSuite, NamedGroup};

use super::Peers;

/// The keys of a section that are no matter of its role.
pub(crate) struct End<'c> {
    /// The section, as errors name it: `server.postgres`.
    pub(crate) label: String,
    pub(crate) certificate: Option<&'c Path>,
    pub(crate) key: Option<&'c Path>,
    pub(crate) peers: &'c Peers,
    pub(crate) groups: &'c [NamedGroup],
    pub(crate) suites: &'c [CipherSuite],
}

impl End<'_> {
    /// A key of it, as errors name it.
    pub(crate) fn setting(&self, key: &str) -> String {
        format!("[{}] {key}", self.label)
    }
}

/// A section: keys that it needs, its other keys, and those that both ends have. What documents a key is the help of its
/// option.
macro_rules! section {
    (
        $(#[$doc:meta])*
        $section:ident as $role:literal with $limits:ident needs { $($(#[$of_needed:meta])* $needed:ident: $of:ty,)+ }
        $($(#[$of_key:meta])* $key:ident: $type:ty,)+
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, clap::Args, serde::Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct $section {
            $($(#[$of_needed])* pub $needed: $of,)+
            $($(#[$of_key])* #[serde(default)] pub $key: $type,)+

            /// How much clients or programs may have, and how long things may take.
            #[command(flatten)]
            #[serde(default)]
            pub limits: $limits,

            /// This end's certificate chain (PEM), its own certificate first.
            #[arg(long, value_name = "FILE", help_heading = super::options::CERTIFICATES)]
            #[serde(default, deserialize_with = "super::values::some_path")]
            pub certificate: Option<std::path::PathBuf>,

            /// The private key (PEM); may be left out if it is in the file of the certificate. Without a certificate
            /// this end shows the raw public key of it.
            #[arg(long, value_name = "FILE", help_heading = super::options::CERTIFICATES)]
            #[serde(default, deserialize_with = "super::values::some_path")]
            pub key: Option<std::path::PathBuf>,

            /// Who the other end may be.
            #[command(flatten)]
            #[serde(default)]
            pub peers: super::Peers,

            /// Whether data goes in the first flight: `fs`, forward-secret and accepted at most once, or `never`.
            #[arg(long, value_name = "fs|never", default_value = "fs",
                  value_parser = super::values::early(), help_heading = super::options::EARLY_DATA)]
            #[serde(default)]
            pub early: super::Early,

            /// First flights in TCP's SYN (TCP Fast Open, RFC 7413): one round trip less, and a cookie that links this
            /// machine's connections for whoever sees the path. See docs/fast-open.md.
            #[arg(long, help_heading = super::options::EARLY_DATA)]
            #[serde(default)]
            pub tcp_fast_open: bool,

            /// The groups, in order of preference. Default: those that are not rare.
            #[arg(long, value_name = "GROUPS", value_delimiter = ',',
                  value_parser = tessera_kit::names::group, help = tessera_kit::names::groups_in_words())]
            #[serde(default, deserialize_with = "super::values::groups")]
            pub groups: Vec<tessera::wire::NamedGroup>,

            /// The cipher suites, in order of preference. Default: all.
            #[arg(long, value_name = "SUITES", value_delimiter = ',',
                  value_parser = tessera_kit::names::suite, help = tessera_kit::names::suites_in_words())]
            #[serde(default, deserialize_with = "super::values::suites")]
            pub suites: Vec<tessera::wire::CipherSuite>,
        }

        impl $section {
            /// What both ends have.
            pub(crate) fn end(&self, name: &str) -> super::section::End<'_> {
                super::section::End {
                    label: format!("{}.{name}", $role),
                    certificate: self.certificate.as_deref(),
                    key: self.key.as_deref(),
                    peers: &self.peers,
                    groups: &self.groups,
                    suites: &self.suites,
                }
            }

            /// A section with nothing but what it needs.
            pub fn new($($needed: $of),+) -> Self {
                Self {
                    $($needed,)+
                    $($key: Default::default(),)+
                    limits: Default::default(),
                    certificate: None,
                    key: None,
                    peers: Default::default(),
                    early: Default::default(),
                    tcp_fast_open: false,
                    groups: Vec::new(),
                    suites: Vec::new(),
                }
            }
        }
    };
}
