//! What an idle server keeps of its handshake.

use alloc::boxed::Box;
use core::mem;

use super::application::Application;
use super::below::Epoch;
use super::core::{Core, ServerHandshake};
use super::idle_facts::IdleFacts;
use super::server::ServerState;
use super::server::connected::Connected;
use super::state::State;
use crate::auth::RemainingCodecs;
use crate::crypto::{StackDepth, Suite};
use crate::error::Error;
use crate::role::Role;
use crate::schedule::{IdleSecrets, KeyDerivation, Profile};

/// A server's [`Core`] after its handshake, without what only its next message needs.
pub(crate) struct IdleCore {
    pub(super) facts: IdleFacts,
    pub(super) suite: &'static Suite,
    pub(super) secrets: IdleSecrets,
    /// Most connections have none.
    pub(super) codecs: Option<Box<RemainingCodecs>>,
    pub(super) stack_depth: StackDepth,
    pub(super) post_handshake_in_a_row: u8,
    pub(super) update_requested: bool,
}

impl Core<ServerHandshake> {
    /// Moves everything out of the core after its handshake; what is left has ended. The last event of a server's handshake
    /// has been reported: it completes the record layer's.
    pub(crate) fn take_idle(&mut self) -> Option<IdleCore> {
        let ServerState::Connected(connected) = mem::replace(&mut self.state, State::failed())
        else {
            return None;
        };
        let Connected { application } = *connected;
        let Application {
            suite,
            secrets,
            role: _,
            codecs,
            post_handshake_in_a_row,
            update_requested,
        } = application;
        let facts = IdleFacts::from(mem::take(&mut self.facts));
        self.fail(Error::Closed);
        Some(IdleCore {
            facts,
            suite,
            secrets: secrets.idle(),
            codecs: (!codecs.is_empty()).then(|| Box::new(codecs)),
            stack_depth: self.stack_depth,
            post_handshake_in_a_row,
            update_requested,
        })
    }
}

impl IdleCore {
    /// Returns the suite.
    pub(crate) fn suite(&self) -> &'static Suite {
        self.suite
    }

    /// Returns the core that it was, over the same carrier.
    pub(crate) fn wake(self, profile: &'static Profile) -> Core<ServerHandshake> {
        let kdf = KeyDerivation { hash: self.suite.hash, profile };
        let codecs = self.codecs.map_or_else(RemainingCodecs::default, |codecs| *codecs);
        let secrets = self.secrets.wake(kdf);
        let mut application = Application::new(self.suite, Role::Server, secrets, codecs);
        application.post_handshake_in_a_row = self.post_handshake_in_a_row;
        application.update_requested = self.update_requested;
        let state = ServerState::Connected(Box::new(Connected { application }));
        Core::complete(state, profile, Epoch::Application, self.facts.into(), self.stack_depth)
    }
}
