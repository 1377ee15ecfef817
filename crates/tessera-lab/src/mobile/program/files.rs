//! Certificates and keys in files.

use std::path::Path;
use std::{fs, io};

/// Returns the contents of a PEM file.
pub(super) fn pem_file(path: &Path) -> io::Result<Vec<u8>> {
    let text = fs::read(path)?;
    pem::parse(text).map(pem::Pem::into_contents).map_err(io::Error::other)
}
