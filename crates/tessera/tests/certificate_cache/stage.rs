//! Two ends with scripted codecs, which record their calls.

use std::sync::{Arc, Mutex};

use tessera::auth::CertificateCodecFactory;
use tessera_harness::{Mode, Pair, Scene, at};

/// The script of one end's codecs, and what they recorded.
pub struct Script<P, H> {
    pub play: P,
    heard: Mutex<H>,
}

impl<P, H: Default> Script<P, H> {
    pub fn new(play: P) -> Arc<Self> {
        Arc::new(Self { play, heard: Mutex::default() })
    }

    pub fn hear(&self, hear: impl FnOnce(&mut H)) {
        hear(&mut self.heard.lock().expect("unpoisoned"));
    }

    /// Returns what was recorded since the last call.
    pub fn heard(&self) -> H {
        std::mem::take(&mut self.heard.lock().expect("unpoisoned"))
    }
}

/// Two ends with a script each.
pub struct Stage<P, H> {
    pub scene: Scene,
    pub client: Arc<Script<P, H>>,
    pub server: Arc<Script<P, H>>,
}

impl<P, H: Default> Stage<P, H>
where
    Script<P, H>: CertificateCodecFactory + 'static,
{
    pub fn new(mode: Mode, client: P, server: P) -> Self {
        let (client, server) = (Script::new(client), Script::new(server));
        let mut scene = Scene::new(tessera_null_provider::provider(), mode);
        scene.client.certificate_codecs = vec![client.clone()];
        scene.server.certificate_codecs = vec![server.clone()];
        Self { scene, client, server }
    }

    /// Connects in the scene's mode. Discards the records of earlier connections, that which the session
    /// comes from included.
    pub fn connect(&self) -> Pair {
        let session = self.scene.session();
        self.client.heard();
        self.server.heard();
        let mut pair = self.scene.start(session, at(0));
        pair.run();
        pair
    }

    /// Connects successfully.
    pub fn connected(&self) -> Pair {
        let pair = self.connect();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
        assert!(pair.to_client.complete && pair.to_server.complete);
        pair
    }
}
