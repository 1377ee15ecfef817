//! Where a signer is.

use std::fmt;

/// The address of a signer, and the name that its certificate must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignerAddress {
    /// Host and port, such as `signer.internal:9444`. A name is resolved for each new connection.
    pub address: String,
    /// The name in the signer's certificate.
    pub server_name: String,
}

impl SignerAddress {
    /// Creates an address from host and port; the host is the name in the certificate.
    ///
    /// # Errors
    /// If it is no host and port.
    pub fn new(address: &str) -> Result<Self, SignerAddressError> {
        let (host, port) = address.rsplit_once(':').ok_or(SignerAddressError)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = bare.unwrap_or(host);
        if host.is_empty() || (bare.is_none() && host.contains(':')) || port.parse() == Ok(0_u16) {
            return Err(SignerAddressError);
        }
        port.parse::<u16>().map_err(|_| SignerAddressError)?;
        Ok(Self { address: address.to_owned(), server_name: host.to_owned() })
    }
}

/// The text is not the address of a signer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignerAddressError;

impl fmt::Display for SignerAddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the address of a signer: a host and a port, such as signer.internal:9444")
    }
}

impl std::error::Error for SignerAddressError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        let name = |text| SignerAddress::new(text).map(|it| it.server_name);
        assert_eq!(name("signer.internal:9444").as_deref(), Ok("signer.internal"));
        assert_eq!(name("[2001:db8::1]:9444").as_deref(), Ok("2001:db8::1"));
        for wrong in ["signer.internal", ":9444", "a:0", "a:65536", "a:b", "2001:db8::1:9444", ""] {
            assert_eq!(name(wrong), Err(SignerAddressError), "{wrong}");
        }
    }
}
