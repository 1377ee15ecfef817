//! Carries the bytes of an upgraded connection.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tessera_tokio::Stall;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until};

use super::OtherSide;
use super::request::Stream;
use crate::http::deadline::after;
use crate::http::server::io::{Io, WriteState};
use crate::http::server::{Cause, ServerOptions, UpgradeEnd};
use crate::pump::{End, Pump, Side, pump};

/// An upgraded connection, until its end.
pub(in crate::http::server) struct Carrier<C> {
    pump: Pump<C, Io<Box<dyn Stream + Send>>>,
    end: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// When the last byte moved, and how many have.
    moved: Instant,
    carried: u64,
    idle: Duration,
    timer: Stall,
    /// What the answer holds.
    _held: Option<Box<dyn Any + Send>>,
}

impl<C: AsyncRead + AsyncWrite + Unpin> Carrier<C> {
    pub(in crate::http::server) fn new(
        client: C,
        other: OtherSide,
        held: Option<impl Any + Send>,
        options: &ServerOptions,
    ) -> Self {
        let tracker = WriteState::new(Bytes::new(), options.stall_time);
        let OtherSide { stream, end } = other;
        Self {
            pump: pump(client, Io { stream, tracker }),
            end,
            moved: Instant::now(),
            carried: 0,
            idle: options.upgrades.as_ref().map_or(Duration::MAX, |upgrades| upgrades.idle_time),
            timer: Stall::default(),
            _held: held.map(|held| Box::new(held) as Box<dyn Any + Send>),
        }
    }

    /// Returns the client's stream.
    pub(in crate::http::server) fn client(&mut self) -> &mut C {
        self.pump.streams().0
    }
}

impl<C: AsyncRead + AsyncWrite + Unpin> Future for Carrier<C> {
    type Output = UpgradeEnd;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<UpgradeEnd> {
        let this = self.get_mut();
        if let Poll::Ready(pumped) = Pin::new(&mut this.pump).poll(cx) {
            return Poll::Ready(match pumped.end {
                End::Closed { .. } => UpgradeEnd::Closed,
                End::EndedEarly { side, error } | End::Failed { side, error, .. } => match side {
                    Side::A => UpgradeEnd::Client(error),
                    Side::B => UpgradeEnd::OtherSide(error),
                },
            });
        }
        if this.end.as_mut().is_some_and(|end| end.as_mut().poll(cx).is_ready()) {
            return Poll::Ready(UpgradeEnd::Signal);
        }
        let carried = this.pump.carried();
        if carried != this.carried {
            (this.carried, this.moved) = (carried, Instant::now());
        }
        this.timer.poll(this.moved, this.idle, cx).map(|()| UpgradeEnd::Idle)
    }
}

/// Carries an upgraded connection's bytes until its end, or for a while after `drain` is ready.
pub(in crate::http::server) async fn carry<C: AsyncRead + AsyncWrite + Unpin>(
    carrier: Box<Carrier<C>>,
    options: &ServerOptions,
    drain: Pin<&mut impl Future<Output = ()>>,
) -> Cause {
    let drained = async {
        drain.await;
        sleep_until(after(Instant::now(), options.drain_time)).await;
    };
    tokio::select! {
        end = carrier => Cause::Upgraded(end),
        () = drained => Cause::Drained { cut: 1 },
    }
}
