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

    use tessera::ClientConfig;
    use tessera::handshake::Checked;
    use tessera::resume::{ClientSession, SessionStore};

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
        pub(crate) fn take(&self, config: &Checked<ClientConfig>) -> Option<Box<ClientSession>> {
            config.take_session(&*self.store, &self.server_name)
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

    use tessera::ClientConfig;
    use tessera::handshake::Checked;
    use tessera::resume::ClientSession;

    #[derive(Clone)]
    pub(crate) enum Store {}

    impl Store {
        pub(crate) fn with(&self, _: String) -> Sessions {
            match *self {}
        }
    }

    pub(crate) enum Sessions {}

    impl Sessions {
        pub(crate) fn take(&self, _: &Checked<ClientConfig>) -> Option<Box<ClientSession>> {
            match *self {}
        }

        pub(crate) fn put(&self, _: ClientSession) {
            match *self {}
        }
    }
}
