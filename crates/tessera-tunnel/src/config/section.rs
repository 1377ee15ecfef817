//! Declares sections: each key once, for the file and the command line.

use std::path::Path;

use tessera::wire::{CipherSuite, NamedGroup};

use super::Peers;

/// The keys of a section that both roles have.
pub(crate) struct End<'c> {
    /// The section as named in errors: `server.postgres`.
    pub(crate) label: String,
    pub(crate) certificate: Option<&'c Path>,
    pub(crate) key: Option<&'c Path>,
    pub(crate) peers: &'c Peers,
    pub(crate) groups: &'c [NamedGroup],
    pub(crate) suites: &'c [CipherSuite],
}

impl End<'_> {
    /// Returns a key of the section as named in errors.
    pub(crate) fn setting(&self, key: &str) -> String {
        format!("[{}] {key}", self.label)
    }
}

/// Declares a section: its required keys, its optional ones, and those that both ends have. The documentation of a key
/// is the help of its option.
macro_rules! section {
    (
        $(#[$doc:meta])*
        $section:ident as $role:literal with $limits:ident $needs:tt
        $($(#[$of_key:meta])* $key:ident: $type:ty,)+
    ) => {
        section! { $(#[$doc])* $section $needs
            $($(#[$of_key])* $key: $type,)+

            /// Limits on connections and times.
            #[command(flatten)]
            limits: $limits,

            /// This end's certificate chain (PEM), its own certificate first.
            #[arg(long, value_name = "FILE", help_heading = super::options::CERTIFICATES)]
            #[serde(deserialize_with = "super::values::some_path")]
            certificate: Option<std::path::PathBuf>,

            /// The private key (PEM); not needed if it is in the certificate's file. Without a certificate, this end
            /// authenticates with the raw public key.
            #[arg(long, value_name = "FILE", help_heading = super::options::CERTIFICATES)]
            #[serde(deserialize_with = "super::values::some_path")]
            key: Option<std::path::PathBuf>,

            /// Which peers are allowed.
            #[command(flatten)]
            peers: super::Peers,

            /// Whether to send data in the first flight: `fs`, forward-secret and accepted at most once, or `never`.
            #[arg(long, value_name = "fs|never", value_enum, default_value_t,
                  help_heading = super::options::EARLY_DATA)]
            early: super::Early,

            /// Sends first flights in TCP's SYN (TCP Fast Open, RFC 7413): one round trip less, but its cookie lets
            /// anyone on the path link this machine's connections. See docs/fast-open.md.
            #[arg(long, help_heading = super::options::EARLY_DATA)]
            tcp_fast_open: bool,

            /// The groups, in order of preference. Default: the common ones.
            #[arg(long, value_name = "GROUPS", value_delimiter = ',',
                  value_parser = tessera_kit::names::group, help = tessera_kit::names::groups_in_words())]
            #[serde(deserialize_with = "super::values::groups")]
            groups: Vec<tessera::wire::NamedGroup>,

            /// The cipher suites, in order of preference. Default: all.
            #[arg(long, value_name = "SUITES", value_delimiter = ',',
                  value_parser = tessera_kit::names::suite, help = tessera_kit::names::suites_in_words())]
            #[serde(deserialize_with = "super::values::suites")]
            suites: Vec<tessera::wire::CipherSuite>,
        }

        impl $section {
            /// Returns the keys that both ends have.
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
        }
    };

    (
        $(#[$doc:meta])*
        $section:ident { $($(#[$of_needed:meta])* $needed:ident: $of:ty,)+ }
        $($(#[$of_key:meta])* $key:ident: $type:ty,)+
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, clap::Args, serde::Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct $section {
            $($(#[$of_needed])* pub $needed: $of,)+
            $($(#[$of_key])* #[serde(default)] pub $key: $type,)+
        }

        impl $section {
            /// Returns a section with only the required keys.
            pub fn new($($needed: $of),+) -> Self {
                Self { $($needed,)+ $($key: Default::default(),)+ }
            }
        }
    };
}
