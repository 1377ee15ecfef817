//! A function of another network.

use crate::sbi::api_root::Scheme;

/// What a label stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// How its own network reaches it.
    pub scheme: Scheme,
    /// Its name.
    pub host: String,
    /// If it isn't the scheme's default.
    pub port: Option<u16>,
}

impl Foreign {
    /// As `3gpp-Sbi-Target-apiRoot` has it.
    pub fn api_root(&self) -> String {
        let Self { scheme, host, port } = self;
        match port {
            Some(port) => format!("{}://{host}:{port}", scheme.as_str()),
            None => format!("{}://{host}", scheme.as_str()),
        }
    }
}
