//! Shared by the benchmarks on loopback: a backend, certificates, and ways to start.

use std::net::SocketAddr;

use tessera_link::{Link, LinkKind, LinkParameters};
use tokio::runtime::Runtime;

use crate::files::Files;
use crate::options::Options;
use crate::proxies::Proxies;
use crate::ways::{HAPROXY, HAPROXY_AWS_LC, STUNNEL, Way};
use crate::{Failure, backend};

/// A machine with a backend.
pub(crate) struct Scene<'a> {
    /// Clients and backend run in it.
    pub(crate) runtime: Runtime,
    link: Link,
    backend: SocketAddr,
    files: Files,
    options: &'a Options,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(options: &'a Options) -> Result<Self, Failure> {
        let runtime = Runtime::new()?;
        let backend = runtime.block_on(backend::start())?;
        let link = Link::open(LinkKind::Loopback, &LinkParameters::default())?;
        Ok(Self { runtime, link, backend, files: Files::new()?, options })
    }

    /// Returns stunnel, HAProxy, and these of ours, as far as their programs are available.
    pub(crate) fn ways(&self, ours: &[Way]) -> Vec<Way> {
        let ways = [&[STUNNEL, HAPROXY, HAPROXY_AWS_LC], ours].concat();
        ways.into_iter().filter(|way| way.is_available(&self.options.programs)).collect()
    }

    /// Starts both ends; with `logs_connections` they log each connection.
    pub(crate) fn start(&self, way: Way, logs_connections: bool) -> Result<Proxies, Failure> {
        let programs = &self.options.programs;
        Proxies::start(way, &self.link, self.backend, &self.files, programs, logs_connections)
    }
}
