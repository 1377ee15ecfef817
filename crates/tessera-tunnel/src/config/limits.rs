//! Limits for one peer and for all peers, and time limits.

use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use tessera_proxy::check::in_words;
use tessera_proxy::gate::GateSettings;
use tessera_proxy::with_defaults;

use super::options::{LIMITS, limit};

/// Defines a limits section: the limits of both ends, and those of one.
macro_rules! limits {
    ($(#[$doc:meta])* $limits:ident { $($(#[$of_key:meta])* $key:ident: $type:ty,)* }) => {
        with_defaults! {
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq, Args, Deserialize)]
            #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
            pub struct $limits {
                /// How many connections to serve at a time; others wait.
                #[arg(id = "limit_connections", long = "limit-connections", value_name = "N",
                      default_value_t = Self::default().connections, help_heading = LIMITS)]
                pub connections: usize = 10_000,

                /// How many of them one address may have. By default all of them at a client, and an eighth at a
                /// server.
                // The programs of one machine share an address.
                #[arg(id = "limit_connections_per_address", long = "limit-connections-per-address", value_name = "N",
                      help_heading = LIMITS)]
                pub connections_per_address: Option<usize> = None,

                /// How long a TLS handshake may take. At a server a PROXY header before it may take as long again.
                #[arg(id = "limit_handshake", long = "limit-handshake", value_name = "TIME", value_parser = limit,
                      default_value = in_words(Self::default().handshake), help_heading = LIMITS)]
                #[serde(deserialize_with = "super::values::duration")]
                pub handshake: Duration = Duration::from_secs(10),

                /// How long dialling may take, all addresses together.
                // Less than `handshake`, so that dialling ends first at a server: a client with early data waits for it.
                #[arg(id = "limit_connect", long = "limit-connect", value_name = "TIME", value_parser = limit,
                      default_value = in_words(Self::default().connect), help_heading = LIMITS)]
                #[serde(deserialize_with = "super::values::duration")]
                pub connect: Duration = Duration::from_secs(5),

                /// Ends a connection on which nothing moves for this long.
                // Pools keep database connections idle for hours.
                #[arg(id = "limit_idle", long = "limit-idle", value_name = "TIME", value_parser = limit,
                      default_value = in_words(Self::default().idle), help_heading = LIMITS)]
                #[serde(deserialize_with = "super::values::duration")]
                pub idle: Duration = Duration::from_secs(12 * 3600),

                /// Ends a connection whose reader doesn't read for this long.
                #[arg(id = "limit_write", long = "limit-write", value_name = "TIME", value_parser = limit,
                      default_value = in_words(Self::default().write), help_heading = LIMITS)]
                #[serde(deserialize_with = "super::values::duration")]
                pub write: Duration = Duration::from_secs(30),

                $($(#[$of_key])* pub $key: $type = None,)*
            }
        }

        impl $limits {
            /// Returns the time limits with their keys.
            pub(crate) fn times(&self) -> [(&'static str, Duration); 4] {
                let (handshake, connect) = (("handshake", self.handshake), ("connect", self.connect));
                [handshake, connect, ("idle", self.idle), ("write", self.write)]
            }
        }
    };
}

limits! {
    /// `[client.NAME.limits]`.
    ClientLimits {}
}

impl ClientLimits {
    /// Returns those of the gate. Programs of one machine share an address, and each connection needs a handshake with
    /// the server.
    pub(crate) fn gate(&self) -> GateSettings {
        let all = self.connections;
        GateSettings {
            connections: all,
            connections_per_address: Some(self.connections_per_address.unwrap_or(all)),
            handshakes: Some(all),
            handshakes_per_address: Some(all),
            new_per_second_per_address: None,
            idle: self.idle,
            write: self.write,
        }
    }
}

limits! {
    /// `[server.NAME.limits]`.
    ServerLimits {
        /// How many handshakes to serve at a time; others wait.
        #[arg(long = "limit-handshakes", value_name = "N", help_heading = LIMITS)]
        handshakes: Option<usize>,

        /// How many of them one address may have; an eighth of all by default.
        #[arg(long = "limit-handshakes-per-address", value_name = "N", help_heading = LIMITS)]
        handshakes_per_address: Option<usize>,

        /// How many new connections to accept from one address in a second; any number by default.
        #[arg(long = "limit-new-per-second-per-address", value_name = "N", help_heading = LIMITS)]
        new_per_second_per_address: Option<u32>,
    }
}

impl ServerLimits {
    /// Returns those of the gate.
    pub(crate) fn gate(&self) -> GateSettings {
        GateSettings {
            connections: self.connections,
            connections_per_address: self.connections_per_address,
            handshakes: self.handshakes,
            handshakes_per_address: self.handshakes_per_address,
            new_per_second_per_address: self.new_per_second_per_address,
            idle: self.idle,
            write: self.write,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine<L: Args> {
        #[command(flatten)]
        limits: L,
    }

    #[test]
    fn a_command_line_without_limits_has_those_of_a_file_without() {
        let of_server = CommandLine::<ServerLimits>::parse_from(["tessera"]).limits;
        assert_eq!(of_server, ServerLimits::default());
        let of_client = CommandLine::<ClientLimits>::parse_from(["tessera"]).limits;
        assert_eq!(of_client, ClientLimits::default());
    }
}
