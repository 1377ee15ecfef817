//! A function of another network.

use crate::sbi::api_root::Scheme;

/// The function that a label represents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignFunction {
    /// How its own network reaches it.
    pub scheme: Scheme,
    /// Its name.
    pub host: String,
    /// The port, unless it is the scheme's default.
    pub port: Option<u16>,
}

impl ForeignFunction {
    /// Returns it as in `3gpp-Sbi-Target-apiRoot`.
    pub fn api_root(&self) -> String {
        let Self { scheme, host, port } = self;
        match port {
            Some(port) => format!("{}://{host}:{port}", scheme.as_str()),
            None => format!("{}://{host}", scheme.as_str()),
        }
    }
}
