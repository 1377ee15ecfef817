//! A link between a proxy and what it asks: another proxy, or a signer.

use tessera_link::{End, Link, LinkKind, LinkParameters};
use tokio::runtime::{Builder, Runtime};

use crate::bench::set_link;
use crate::endpoint::Result;
use crate::error::LabError;

/// The link, and a runtime at each end, whose sockets are there.
pub(super) struct Joined {
    // Before the link: their sockets are at its ends.
    pub(super) asking: Runtime,
    pub(super) answering: Runtime,
    pub(super) link: Link,
}

impl Joined {
    /// Opens a link of this kind, without delay yet.
    pub(super) fn open(kind: LinkKind) -> Result<Self> {
        let link = Link::open(kind, &LinkParameters::default())?;
        let asking = runtime_at(&link, End::Client)?;
        let answering = runtime_at(&link, End::Server)?;
        Ok(Self { asking, answering, link })
    }

    /// Changes the link.
    pub(super) fn set_link(
        &self,
        parameters: &LinkParameters,
    ) -> std::result::Result<(), LabError> {
        set_link(&self.link, parameters)
    }
}

fn runtime_at(link: &Link, end: End) -> Result<Runtime> {
    let build = || Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let built = link.spawn_thread(end, build)?;
    Ok(built.join().map_err(|_| "a thread failed")??)
}
