//! Reports of connections to their pool.

use std::sync::Weak;
use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::state::Placement;
use super::{Grant, Inner};
use crate::http::client::addresses::Cause;
use crate::http::client::connection::{Connection, Owner, Standing};

impl Owner for Inner {
    fn serve(&self) {
        // Drop these after the lock is released: an untaken lease calls this again.
        let mut untaken = Vec::new();
        let mut state = self.state();
        let mut index = 0;
        while index < state.queue.len() {
            if state.queue[index].tell.is_closed() {
                state.queue.remove(index);
                continue;
            }
            let avoid = state.queue[index].avoid.as_ref().and_then(Weak::upgrade);
            match state.find(avoid.as_ref(), &self.options) {
                Placement::Place { lease, .. } => {
                    let granted = Grant { lease, is_early: false };
                    if let Some(waiter) = state.queue.remove(index)
                        && let Err(granted) = waiter.tell.send(Ok(granted))
                    {
                        untaken.push(granted);
                    }
                }
                Placement::Nothing if avoid.is_some() => index += 1,
                Placement::Nothing => break,
            }
        }
        self.waiting.store(state.queue.len(), Ordering::SeqCst);
        self.open_for_waiting(&mut state);
        drop(state);
    }

    fn forget(&self, connection: &Connection) {
        let mut gone = None;
        let mut state = self.state();
        let index = state.connections.iter().position(|other| std::ptr::eq(&**other, connection));
        if let Some(index) = index {
            gone = Some(state.connections.swap_remove(index));
        }
        self.open_for_waiting(&mut state);
        drop(state);
        drop(gone);
        self.keep_warm();
    }

    fn may_close(&self, connection: &Connection) -> bool {
        let state = self.state();
        let others = state.connections.iter().filter(|other| {
            !std::ptr::eq(&***other, connection) && other.standing() == Standing::Ready
        });
        state.is_closed || others.count() >= self.options.warm
    }

    fn note_opened(&self, connection: &Connection) {
        let mut state = self.state();
        if let Some(place) = state.places.of(connection.address()) {
            place.opened();
        }
    }

    fn note_unopened(&self, connection: &Connection) {
        let mut state = self.state();
        if let Some(place) = state.places.of(connection.address()) {
            place.opening = place.opening.saturating_sub(1);
        }
    }

    fn note_failure(&self, connection: &Connection, cause: Cause) {
        let mut state = self.state();
        if let Some(place) = state.places.of(connection.address()) {
            place.health.failed(Instant::now(), self.options.back_off, fastrand::f64(), cause);
        }
    }

    fn try_next(&self) {
        self.open_another();
    }

    fn maintain(&self) {
        self.keep_warm();
    }
}
