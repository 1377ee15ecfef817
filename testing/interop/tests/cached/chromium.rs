//! A browser.

use std::net::TcpListener;
use std::sync::Arc;

use tessera::handshake::ClientAuthentication;
use tessera_compression::Brotli;
use tessera_interop::{Form, forms, serve_pages};
use tessera_test_peers::chromium;

use crate::World;

#[test]
fn chromium_loads_a_page_of_a_server_with_a_cache() {
    let world = World::new();
    let mut config = world.server();
    config.client_authentication = ClientAuthentication::None;
    config.certificate_codecs.push(Arc::new(Brotli::default()));
    for _ in 0..2 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
        let browser = std::thread::spawn(move || chromium::show(&url, 1280).dom);
        let served = serve_pages(&listener, &config, &browser);
        let sent: Vec<_> = served
            .iter()
            .filter(|end| end.told.error.is_none())
            .map(|end| forms(end.facts()).0)
            .collect();
        let dom = browser.join().unwrap();
        assert!(dom.contains("from Tessera"), "{dom}");
        // Chromium supports Brotli.
        assert!(
            !sent.is_empty() && sent.iter().all(|form| *form == Form::Compressed(2)),
            "{sent:?}"
        );
    }
}
