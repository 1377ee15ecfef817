//! A network of SEPPs in one process.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Mutex;

use bytes::Bytes;
use http::Request;
use tessera_proxy::http::deadline::Deadline;

use super::*;
use crate::n32c::initiator::{Target, Transport};
use crate::n32c::responder::respond;

/// The SEPPs, and the failures on the path to each.
#[derive(Default)]
pub(crate) struct Network {
    sites: Mutex<HashMap<Fqdn, Arc<Associations>>>,
    faults: Mutex<HashMap<Fqdn, Fault>>,
    /// Requests that were sent, as `path to name`.
    pub sent: Mutex<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Connections are refused.
    Down,
    /// No answer ever comes, whatever the deadline.
    Silent,
    /// The request arrives, and the answer is lost.
    LosesAnswers,
}

impl Network {
    /// Adds a SEPP with these peers, which records events.
    pub fn add(self: &Arc<Self>, site: Site, peers: Vec<PeerSettings>) -> Arc<Associations> {
        self.add_observed(site, peers, Arc::new(()))
    }

    pub fn add_observed(
        self: &Arc<Self>,
        site: Site,
        peers: Vec<PeerSettings>,
        observer: Arc<dyn Observer>,
    ) -> Arc<Associations> {
        let settings = Settings { local: site.local(), peers };
        let associations = Arc::new(Associations::new(&settings, observer));
        self.sites.lock().unwrap().insert(site.fqdn(), associations.clone());
        associations
    }

    pub fn start(self: &Arc<Self>, site: Site) {
        let associations = self.sites.lock().unwrap()[&site.fqdn()].clone();
        associations.start(Arc::new(OutgoingTransport { site, network: self.clone() }));
    }

    pub fn fault(&self, to: Site, fault: Option<Fault>) {
        let mut faults = self.faults.lock().unwrap();
        faults.remove(&to.fqdn());
        faults.extend(fault.map(|fault| (to.fqdn(), fault)));
    }

    async fn deliver(
        &self,
        from: Site,
        to: &Target,
        path: &str,
        body: Bytes,
    ) -> Result<Reply, TransportError> {
        self.sent.lock().unwrap().push(format!("{path} to {}", to.fqdn));
        tokio::time::sleep(Duration::from_millis(10)).await;
        let fault = self.faults.lock().unwrap().get(&to.fqdn).copied();
        let site = self.sites.lock().unwrap().get(&to.fqdn).cloned();
        let (Some(associations), true) = (site, fault != Some(Fault::Down)) else {
            return Err(TransportError::Connect("refused".to_owned()));
        };
        if fault == Some(Fault::Silent) {
            return std::future::pending().await;
        }
        let (parts, ()) = Request::post(path).body(()).unwrap().into_parts();
        let response = respond(&associations, &from.identity(), &parts, &body);
        tokio::time::sleep(Duration::from_millis(10)).await;
        if fault == Some(Fault::LosesAnswers) {
            return Err(TransportError::Cut("lost".to_owned()));
        }
        let to = [HOME, VISITED, THIRD].into_iter().find(|site| site.fqdn() == to.fqdn).unwrap();
        let (parts, body) = response.into_parts();
        let (status, headers) = (parts.status, parts.headers);
        Ok(Reply { identity: to.identity(), status, headers, body })
    }
}

/// The outgoing transport of a SEPP.
struct OutgoingTransport {
    site: Site,
    network: Arc<Network>,
}

impl Transport for OutgoingTransport {
    fn post<'a>(
        &'a self,
        _: &'a Fqdn,
        to: &'a Target,
        path: &'static str,
        body: Bytes,
        _: Deadline,
    ) -> Pin<Box<dyn Future<Output = Result<Reply, TransportError>> + Send + 'a>> {
        Box::pin(self.network.deliver(self.site, to, path, body))
    }
}

/// Records events.
#[derive(Default)]
pub(crate) struct Notes(pub Mutex<Vec<String>>);

impl Observer for Notes {
    fn on(&self, event: &Event<'_>) {
        let note = match event {
            Event::Agreed { role, .. } => format!("agreed as {}", role.as_str()),
            Event::Failed { failure, .. } => format!("failed: {}", failure.reason()),
            Event::Refused { peer, refusal, .. } => {
                format!("refused {}: {}", peer.is_some(), refusal.rule)
            }
            Event::Changed { state, .. } => state.as_str().to_owned(),
            Event::Reported { error, .. } => format!("reported {}", error.n32f_error_type),
        };
        self.0.lock().unwrap().push(note);
    }
}

impl Notes {
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}
