//! Resolves a name, and caches the result.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::address::HostPort;

/// The addresses of one name, as resolved by the system (getaddrinfo(3)).
///
/// There is one look-up at a time, in its own thread; concurrent callers share it, so that a silent name server costs
/// one thread, not one for each connection. The result is used for a minute and refreshed in the background, so that a
/// slow name server delays only the first connection.
#[derive(Clone)]
pub(super) struct Resolver {
    name: Arc<HostPort>,
    lookup: Arc<Lookup>,
    known: Arc<Mutex<LookupState>>,
}

type Lookup = dyn Fn(&HostPort) -> io::Result<Vec<SocketAddr>> + Send + Sync;

#[derive(Default)]
struct LookupState {
    found: Option<ResolvedAddresses>,
    /// The current or last look-up.
    under_way: Option<watch::Receiver<Option<Answer>>>,
}

struct ResolvedAddresses {
    addresses: Vec<SocketAddr>,
    when: Instant,
}

/// Shared by all waiting callers. Errors can't be cloned.
type Answer = Result<Vec<SocketAddr>, (io::ErrorKind, String)>;

impl Resolver {
    pub(super) fn new(name: HostPort) -> Self {
        Self::with(name, by_the_system)
    }

    fn with(
        name: HostPort,
        lookup: impl Fn(&HostPort) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Self {
        Self { name: Arc::new(name), lookup: Arc::new(lookup), known: Arc::default() }
    }

    /// Returns the addresses of the name, each once, and at least one.
    pub(super) async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let mut answer = {
            let mut known = self.known();
            match &known.found {
                Some(found) if found.when.elapsed() < FRESH => return Ok(found.addresses.clone()),
                Some(found) if found.when.elapsed() < USABLE => {
                    let addresses = found.addresses.clone();
                    self.look_up(&mut known);
                    return Ok(addresses);
                }
                _ => self.look_up(&mut known),
            }
        };
        let answer = answer.wait_for(Option::is_some).await.map_err(io::Error::other)?.clone();
        // `wait_for` returns only once it is there.
        let Some(answer) = answer else { return Err(io::ErrorKind::NotFound.into()) };
        answer.map_err(|(kind, what)| io::Error::new(kind, what))
    }

    /// Drops the cached result: the name may have other addresses by now.
    pub(super) fn forget(&self) {
        self.known().found = None;
    }

    /// Returns the current look-up, or starts one.
    fn look_up(&self, known: &mut LookupState) -> watch::Receiver<Option<Answer>> {
        if let Some(under_way) = &known.under_way
            && under_way.borrow().is_none()
            // Its thread may have ended with its runtime.
            && under_way.has_changed().is_ok()
        {
            return under_way.clone();
        }
        let (tell, told) = watch::channel(None);
        known.under_way = Some(told.clone());
        let resolver = self.clone();
        spawn_blocking(move || {
            let answer = resolver.ask().map_err(|error| (error.kind(), error.to_string()));
            if let Ok(addresses) = &answer {
                let found =
                    ResolvedAddresses { addresses: addresses.clone(), when: Instant::now() };
                resolver.known().found = Some(found);
            }
            tell.send_replace(Some(answer));
        });
        told
    }

    fn ask(&self) -> io::Result<Vec<SocketAddr>> {
        let mut addresses = Vec::new();
        for address in (self.lookup)(&self.name)? {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        }
        Ok(addresses)
    }

    fn known(&self) -> MutexGuard<'_, LookupState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn by_the_system(name: &HostPort) -> io::Result<Vec<SocketAddr>> {
    Ok((name.host.as_str(), name.port).to_socket_addrs()?.collect())
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Resolver").field(&self.name).finish()
    }
}

const FRESH: Duration = Duration::from_secs(5);
const USABLE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};
    use std::sync::mpsc;

    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn name() -> HostPort {
        HostPort { host: "db.example".into(), port: 1 }
    }

    fn address(host: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, host], 1))
    }

    /// The nth look-up returns 192.0.2.n.
    fn counting() -> Resolver {
        let asked = AtomicU8::new(0);
        Resolver::with(name(), move |_| {
            let nth = asked.fetch_add(1, Ordering::SeqCst) + 1;
            Ok(vec![address(nth); 2])
        })
    }

    /// Waits for the current look-up.
    async fn settle(resolver: &Resolver) {
        let mut under_way = resolver.known().under_way.clone().unwrap();
        under_way.wait_for(Option::is_some).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_result_is_used_while_it_is_looked_up_again() {
        let resolver = counting();
        let found = async || resolver.addresses().await.unwrap();
        assert_eq!(found().await, [address(1)]);
        advance(4 * SECOND).await;
        assert_eq!(found().await, [address(1)]);
        advance(2 * SECOND).await;
        assert_eq!(found().await, [address(1)], "no caller waits");
        settle(&resolver).await;
        assert_eq!(found().await, [address(2)]);
        advance(61 * SECOND).await;
        assert_eq!(found().await, [address(3)], "too old to be used");
        resolver.forget();
        assert_eq!(found().await, [address(4)]);
    }

    #[tokio::test]
    async fn all_waiting_callers_share_one_look_up() {
        let (answer, answers) = mpsc::channel();
        let answers = Mutex::new(answers);
        // It would block forever on a second answer.
        let resolver = Resolver::with(name(), move |_| Ok(answers.lock().unwrap().recv().unwrap()));
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..1000 {
            let resolver = resolver.clone();
            waiting.spawn(async move { resolver.addresses().await.unwrap() });
        }
        // An abandoned wait doesn't stop the look-up.
        let given_up = tokio::time::timeout(Duration::ZERO, resolver.addresses()).await;
        assert!(given_up.is_err());
        answer.send(vec![address(1)]).unwrap();
        while let Some(found) = waiting.join_next().await {
            assert_eq!(found.unwrap(), [address(1)]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_server_that_fails_costs_nothing_for_a_minute() {
        let asked = AtomicU8::new(0);
        let resolver =
            Resolver::with(name(), move |_| match asked.fetch_add(1, Ordering::SeqCst) {
                0 => Ok(vec![address(1)]),
                1 => Err(io::Error::other("no name server answers")),
                _ => Ok(Vec::new()),
            });
        assert!(resolver.addresses().await.is_ok());
        advance(30 * SECOND).await;
        assert!(resolver.addresses().await.is_ok());
        settle(&resolver).await;
        assert!(resolver.addresses().await.is_ok());
        settle(&resolver).await;
        advance(31 * SECOND).await;
        let error = resolver.addresses().await.unwrap_err();
        assert_eq!(error.to_string(), "the name has no address");
    }
}
