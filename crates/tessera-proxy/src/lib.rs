//! The byte half of a proxy: what the products of Tessera share.
#![forbid(unsafe_code)]
