//! Servers of other makers as members of the ring: each is an [`Installer`](tessera_ring::Installer).

pub mod haproxy;
pub(crate) mod key_file;
pub mod nginx;
