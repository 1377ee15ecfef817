//! Two sites in one process: one ring, two vaults, and the time between them.

use std::future::ready;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;

use tessera::crypto::KeyForm;
use tessera::handshake::Reply;
use tessera::resume::{FlightHandle, Incarnation, PutRefused, PutSecret, TakeSecret, Taken, Vault};
use tessera_vault::{Acknowledgement, AnswerFromHome, BurnAtHome, SiteChannel, SiteVault};

use super::pipes::Result;
use super::stores::{Stores, unix_time};
use crate::control::{Acknowledges, Sites};

/// The stores of the home site, and of another one that asks it.
pub(super) fn two(sites: &Sites, first: &Stores) -> Result<(Stores, Stores)> {
    let site = |stores: &Stores, channel| -> Result<Arc<SiteVault>> {
        let vault = stores.vault.clone();
        Ok(Arc::new(SiteVault::named(vault, name()?, channel)))
    };
    let home = site(first, Arc::new(Nowhere))?;
    let second = first.of_another()?;
    let away = site(&second, Arc::new(Channel { home: home.clone(), sites: *sites }))?;
    Ok((first.with_vault(Arc::new(Waits(home))), second.with_vault(Arc::new(Waits(away)))))
}

fn name() -> Result<[u8; 16]> {
    let mut name = [0; 16];
    let random = tessera_aws_lc::provider().random;
    random.fill(&mut name).map_err(|_| "no random bytes for the name of a site")?;
    Ok(name)
}

/// The channel between the sites. Both are in this process, so that nobody else can speak on it; the
/// time that messages take is slept.
struct Channel {
    home: Arc<SiteVault>,
    sites: Sites,
}

impl SiteChannel for Channel {
    fn burn_at_home(&self, request: &BurnAtHome) -> AnswerFromHome {
        let Sites { rtt, patience, acknowledges } = self.sites;
        let acknowledgement = match acknowledges {
            Acknowledges::Home if rtt <= patience => {
                thread::sleep(rtt / 2);
                let answer = self.home.burn_for_another(request, unix_time().ok());
                thread::sleep(rtt / 2);
                match answer {
                    Reply::Now(acknowledgement) => Some(acknowledgement),
                    Reply::Later => None,
                }
            }
            Acknowledges::Home | Acknowledges::Nobody => {
                thread::sleep(patience);
                None
            }
            Acknowledges::Guess => Some(Acknowledgement::Burned),
        };
        Box::pin(ready(acknowledgement))
    }
}

/// For the home site, which has nobody to ask: the lab's tickets are all its own.
struct Nowhere;

impl SiteChannel for Nowhere {
    fn burn_at_home(&self, _: &BurnAtHome) -> AnswerFromHome {
        Box::pin(ready(None))
    }
}

/// A site's vault that lets its one connection wait.
struct Waits(Arc<SiteVault>);

impl Vault for Waits {
    fn put(&self, put: PutSecret<'_>) -> std::result::Result<(), PutRefused> {
        self.0.put(put)
    }

    fn take(&self, question: &TakeSecret) -> Reply<Taken> {
        if self.0.is_home(question) {
            return self.0.take(question);
        }
        // The channel sleeps for as long as messages take, or patience lasts, and answers then.
        let mut answer = pin!(self.0.take_from_afar(question));
        match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(taken) => Reply::Now(taken),
            Poll::Pending => Reply::Now(Taken::Unavailable),
        }
    }

    fn burn(&self, handle: &FlightHandle) {
        self.0.burn(handle);
    }

    fn key_form(&self) -> KeyForm {
        self.0.key_form()
    }

    fn incarnation(&self) -> Option<Incarnation> {
        self.0.incarnation()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
