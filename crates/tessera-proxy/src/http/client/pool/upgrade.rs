//! Upgrades: over connections of their own, or over streams of the pool's HTTP/2 connections.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::Request;
use tokio::sync::{OwnedSemaphorePermit, TryAcquireError};
use tokio::time::Instant;

use super::{Inner, Pool};
use crate::address::DialAddress;
use crate::http::body::Body;
use crate::http::client::addresses::Cause;
use crate::http::client::call::{Call, Early};
use crate::http::client::connect::{Protocol, Stream, Transport};
use crate::http::client::error::{CallError, CallErrorKind, Delivery};
use crate::http::client::retry::{Attempts, spare};
use crate::http::client::upgrade::{Handshake, UpgradeAnswer, switch_http1, switch_http2};
use crate::http::deadline::Deadline;

impl Pool {
    /// Requests to switch to `protocol`, such as `websocket`, over an HTTP/1.1 connection of its own, and waits for the
    /// head of the response. The request is a GET without content, as for [`call`](Self::call); the fields of the
    /// connection it came from are replaced, WebSocket's key too. It isn't resent once anything was sent. Of the call the
    /// deadline and the permission matter.
    ///
    /// # Errors
    /// As for a call. [`CallErrorKind::Busy`] above the limit on [`upgrades`](super::super::PoolOptions::upgrades),
    /// [`CallErrorKind::NoUpgrade`] if the connection speaks HTTP/2, [`CallErrorKind::InvalidSwitch`] if the response
    /// isn't what RFC 9110 §7.8 and RFC 6455 §4.2.2 require.
    pub async fn upgrade(
        &self,
        request: Request<Body>,
        protocol: &str,
        call: impl Into<Call>,
    ) -> Result<UpgradeAnswer, CallError> {
        let (inner, call) = (&*self.inner, call.into());
        let deadline = call.deadline;
        let permit = inner.upgrade_place()?;
        let (request, handshake) = Handshake::over_http1(request, protocol)?;
        let (address, stream) = inner.connect_http1(deadline).await?;
        call.check()?;
        let facts = match &stream {
            Stream::Tls(stream) => Some(stream.facts().clone()),
            Stream::Plain(_) => None,
        };
        let switch = switch_http1(stream, request, handshake, permit, &inner.options);
        let outcome = deadline.limit(switch).await.unwrap_or_else(|_| Err(late()))?;
        Ok(UpgradeAnswer { outcome, address, facts })
    }

    /// Requests the same over a stream of one of the pool's HTTP/2 connections, by Extended CONNECT (RFC 8441). It is
    /// resent if it was surely not executed.
    ///
    /// # Errors
    /// As for [`upgrade`](Self::upgrade). [`CallErrorKind::NoUpgrade`] if the connection speaks HTTP/1.1, or the server
    /// doesn't allow Extended CONNECT.
    pub async fn extended_connect(
        &self,
        request: Request<Body>,
        protocol: &str,
        call: impl Into<Call>,
    ) -> Result<UpgradeAnswer, CallError> {
        let (inner, call) = (&*self.inner, call.into());
        let deadline = call.deadline;
        // It is never repeated, and never early.
        let mut attempts = Attempts::new(&Call::until(deadline));
        let mut avoid = None;
        loop {
            let permit = inner.upgrade_place()?;
            let granted = inner.acquire(Early::Never, avoid.as_ref(), deadline).await?;
            let connection = granted.lease.connection().clone();
            if connection.protocol() != Protocol::Http2 {
                let error = CallError::unsent(CallErrorKind::NoUpgrade);
                return Err(error.because("it speaks HTTP/1.1"));
            }
            let Some(request) = spare(&request) else {
                return Err(CallError::unsent(CallErrorKind::InvalidRequest)
                    .because("an upgrade is a GET without content"));
            };
            call.check()?;
            let switch = switch_http2(granted.lease, request, protocol, permit, &inner.options);
            let failure = match deadline.limit(switch).await {
                Err(_) => return Err(late()),
                Ok(Ok(outcome)) => {
                    let (address, facts) = (connection.address(), connection.facts());
                    return Ok(UpgradeAnswer {
                        outcome,
                        address: address.clone(),
                        facts: facts.cloned(),
                    });
                }
                Ok(Err(failure)) => failure.error,
            };
            if !attempts.again_after(&failure) {
                return Err(failure);
            }
            inner.tally.retried.fetch_add(1, Ordering::Relaxed);
            let is_alive = matches!(failure.kind, CallErrorKind::Reset(_));
            avoid = (!is_alive).then_some(connection);
        }
    }
}

fn late() -> CallError {
    CallError::new(CallErrorKind::DeadlineExceeded, Delivery::Maybe)
}

impl Inner {
    fn upgrade_place(&self) -> Result<OwnedSemaphorePermit, CallError> {
        let place = self.upgrades.clone().try_acquire_owned();
        place.map_err(|error| {
            CallError::unsent(match error {
                TryAcquireError::NoPermits => CallErrorKind::Busy,
                TryAcquireError::Closed => CallErrorKind::Closed,
            })
        })
    }

    /// Connects to one address after another, until one can be reached.
    async fn connect_http1(&self, deadline: Deadline) -> Result<(DialAddress, Stream), CallError> {
        let late = || CallError::unsent(CallErrorKind::DeadlineExceeded);
        let unreachable =
            |cause| CallError::unsent(CallErrorKind::Unreachable).because_of(Some(cause));
        let mut may_pause = true;
        loop {
            deadline.limit(self.refresh()).await.map_err(|_| late())?.map_err(unreachable)?;
            let aim = match self.aim(true) {
                Ok(aim) => aim,
                Err(_) if may_pause && self.let_recover(deadline).await => {
                    may_pause = false;
                    continue;
                }
                Err(cause) => return Err(unreachable(cause)),
            };
            let address = aim.dialler.address().clone();
            let opening = Opening { pool: self, address: &address };
            let connect = self.connect.connect_http1(&aim.dialler);
            let made = deadline.at_most(self.options.connect).limit(connect).await;
            if let Ok(Ok(Transport { stream, protocol })) = made {
                opening.succeeded();
                if protocol != Protocol::Http1 {
                    let error = CallError::unsent(CallErrorKind::NoUpgrade);
                    return Err(error.because("it speaks HTTP/2: see `Tls::for_upgrades`"));
                }
                return Ok((address, stream));
            }
            if deadline.is_over() {
                return Err(late());
            }
            let timed_out = || io::Error::new(io::ErrorKind::TimedOut, "no connection in time");
            let error =
                made.map_or_else(|_| timed_out(), |made| made.err().unwrap_or_else(timed_out));
            opening.failed(error);
        }
    }
}

/// An address to which a connection is being opened.
struct Opening<'p> {
    pool: &'p Inner,
    address: &'p DialAddress,
}

impl Opening<'_> {
    fn succeeded(self) {
        self.pool.tally.opened.fetch_add(1, Ordering::Relaxed);
        if let Some(place) = self.pool.state().places.of(self.address) {
            place.health.recovered();
        }
    }

    fn failed(self, error: io::Error) {
        self.pool.tally.failed.fetch_add(1, Ordering::Relaxed);
        let cause: Cause =
            Arc::new(io::Error::new(error.kind(), format!("{}: {error}", self.address)));
        if let Some(place) = self.pool.state().places.of(self.address) {
            let (back_off, random) = (self.pool.options.back_off, fastrand::f64());
            place.health.failed(Instant::now(), back_off, random, cause);
        }
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.pool.state().places.of(self.address) {
            place.opening = place.opening.saturating_sub(1);
        }
    }
}
