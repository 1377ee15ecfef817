//! Many peers of the second proxy, each with its own connection and sessions, by the pools that a SEPP has.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Request;
use tessera::ClientConfig;
use tessera::resume::Continuation;
use tessera::wire::TicketRequest;
use tessera_kit::{SettingFile, credential, trust};
use tessera_proxy::address::DialAddress;
use tessera_proxy::demo::HOME;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{Addresses, Call, Pool, PoolOptions, Target, Tls};
use tessera_proxy::http::deadline::Deadline;
use tessera_tokio::{Connector, MemorySessionStore};

use crate::Failure;
use crate::files::Files;
use crate::request::{ANSWER, request};

/// How long one request may take before it is an error.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longer than a run: only the other end closes connections, and none is probed.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// The peers.
pub(crate) struct Peers(Vec<Pool>);

/// How a request was answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    /// The connection was resumed.
    pub(crate) resumed: bool,
    /// The request was in its first flight.
    pub(crate) was_early: bool,
}

impl Peers {
    pub(crate) fn new(count: usize, to: SocketAddr, files: &Files) -> Result<Self, Failure> {
        let config = config(files)?;
        let pool = |_| {
            let sessions = Arc::new(MemorySessionStore::new(4, 1));
            let connector = Connector::new(config.clone().checked()?).with_sessions(sessions);
            let target = Addresses::Fixed([Target::new(DialAddress::Tcp(to))].into());
            let options = PoolOptions {
                connections: 1,
                idle: NEVER,
                keep_alive: NEVER,
                max_age: NEVER,
                ..PoolOptions::default()
            };
            Ok(Pool::new(Arc::new(Tls::new(connector).named(HOME.fqdn)), target, options))
        };
        Ok(Self((0..count).map(pool).collect::<Result<_, Failure>>()?))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Makes a request of one of them, in the first flight of its connection if possible.
    pub(crate) async fn ask(&self, number: usize) -> Result<Answer, Failure> {
        let pool = self.0.get(number).ok_or("no such peer")?;
        let (parts, _) = request(HOME.fqdn, "https")?.into_parts();
        let call = Call::until(Deadline::after(PATIENCE)).early();
        let answer = pool.call(Request::from_parts(parts, Body::empty()), call).await?;
        let resumed = answer.facts().is_some_and(|facts| facts.psk.is_some());
        let was_early = answer.was_early();
        let status = answer.response.status();
        let body = answer.response.into_body().collect_up_to(ANSWER.len()).await?;
        if status != http::StatusCode::OK || body.data != ANSWER {
            return Err(format!("{status}").into());
        }
        Ok(Answer { resumed, was_early })
    }

    /// Waits until all their connections have ended.
    pub(crate) async fn have_ended(&self, limit: Duration) -> Result<(), Failure> {
        let began = Instant::now();
        while self.0.iter().any(|pool| pool.status().connections > 0) {
            if began.elapsed() > limit {
                return Err("idle connections don't end".into());
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Ok(())
    }
}

/// As a SEPP's to its peers, with the one group that all ways have.
fn config(files: &Files) -> Result<ClientConfig, Failure> {
    let file = |setting, path| SettingFile { setting, path };
    let error = |error: tessera_kit::ProgramError| error.to_string();
    let roots = trust::roots(file("roots", files.home.ca.as_ref())).map_err(error)?;
    let own = credential::load(
        file("certificate", files.visited.certificate.as_ref()),
        file("key", files.visited.key.as_ref()),
    );
    let mut config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(roots));
    config.groups = vec![tessera::wire::NamedGroup::X25519];
    config.protocols = vec![b"h2".to_vec()];
    config.credentials = vec![own.map_err(error)?];
    config.policy.tickets = TicketRequest { new_session_count: 1, resumption_count: 1 };
    config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    Ok(config)
}
