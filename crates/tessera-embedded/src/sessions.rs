//! Where a connector takes sessions from, and where new ones go.

#[cfg(feature = "sessions")]
pub(crate) use kept::{Sessions, Store};
#[cfg(not(feature = "sessions"))]
pub(crate) use left_out::{Sessions, Store};

#[cfg(feature = "sessions")]
mod kept {
    use alloc::boxed::Box;
    use alloc::string::String;
    use alloc::sync::Arc;

    use tessera::handshake::Checked;
    use tessera::resume::{ClientSession, SessionStore};
    use tessera::{ClientConfig, Destination};

    /// A store of sessions.
    #[derive(Clone)]
    pub(crate) struct Store(pub(crate) Arc<dyn SessionStore>);

    impl Store {
        /// Returns the sessions with a server.
        pub(crate) fn with(&self, server_name: String) -> Sessions {
            Sessions { store: self.0.clone(), server_name }
        }
    }

    /// The sessions with one server.
    pub(crate) struct Sessions {
        store: Arc<dyn SessionStore>,
        server_name: String,
    }

    impl Sessions {
        pub(crate) fn take(
            &self,
            config: &Checked<ClientConfig>,
            destination: &Destination,
        ) -> Option<Box<ClientSession>> {
            let known_key = destination.known_server_key.as_deref();
            config.take_session(&*self.store, &self.server_name, known_key)
        }

        pub(crate) fn put(&self, session: ClientSession) {
            self.store.put(&self.server_name, session);
        }
    }
}

/// Types without a value, so that the code that would use one isn't linked.
#[cfg(not(feature = "sessions"))]
mod left_out {
    use alloc::boxed::Box;
    use alloc::string::String;

    use tessera::handshake::Checked;
    use tessera::resume::ClientSession;
    use tessera::{ClientConfig, Destination};

    #[derive(Clone)]
    pub(crate) enum Store {}

    impl Store {
        pub(crate) fn with(&self, _: String) -> Sessions {
            match *self {}
        }
    }

    pub(crate) enum Sessions {}

    impl Sessions {
        pub(crate) fn take(
            &self,
            _: &Checked<ClientConfig>,
            _: &Destination,
        ) -> Option<Box<ClientSession>> {
            match *self {}
        }

        pub(crate) fn put(&self, _: ClientSession) {
            match *self {}
        }
    }
}
