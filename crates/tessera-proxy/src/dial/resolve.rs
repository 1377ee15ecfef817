//! Looks names up.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::address::HostPort;

/// Looks names up as the system does, in threads: a few at a time, so that a name server which is silent holds a few
/// threads and not one for each connection.
#[derive(Debug, Clone)]
pub(super) struct Resolver(Arc<Semaphore>);

impl Default for Resolver {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(LOOKUPS)))
    }
}

impl Resolver {
    /// The addresses of a name, each once.
    pub(super) async fn addresses(&self, name: &HostPort) -> io::Result<Vec<SocketAddr>> {
        let permit = self.0.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (host, port) = (name.host.clone(), name.port);
        let found = spawn_blocking(move || {
            // Whoever waits may be gone: the thread is busy all the same.
            let _permit = permit;
            (host.as_str(), port).to_socket_addrs()
        });
        let mut addresses = Vec::new();
        for address in found.await.map_err(io::Error::other)?? {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        }
        Ok(addresses)
    }
}

const LOOKUPS: usize = 4;
