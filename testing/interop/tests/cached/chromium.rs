//! A browser.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tessera::ServerConfig;
use tessera::handshake::ClientAuthentication;
use tessera_compression::Brotli;
use tessera_interop::{Form, Server, forms};
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
        let sent = serve(&listener, &config, &browser);
        let dom = browser.join().unwrap();
        assert!(dom.contains("from Tessera"), "{dom}");
        // Chromium supports Brotli.
        assert!(
            !sent.is_empty() && sent.iter().all(|form| *form == Form::Compressed(2)),
            "{sent:?}"
        );
    }
}

/// Answers requests until the browser ends; returns how the certificate was sent in each connection with a request.
fn serve<T>(listener: &TcpListener, config: &ServerConfig, browser: &JoinHandle<T>) -> Vec<Form> {
    const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 19\r\n\
        Connection: close\r\n\r\n<p>from Tessera</p>";
    listener.set_nonblocking(true).unwrap();
    let (mut open, mut sent) = (Vec::<Server>::new(), Vec::new());
    while !browser.is_finished() {
        open.extend(listener.accept().ok().map(|(stream, _)| Server::start(config, stream)));
        // A connection that the browser opens speculatively has no request.
        for end in &mut open {
            end.step();
        }
        if let Some(place) = open.iter().position(|end| end.told.heard("\r\n\r\n")) {
            let mut end = open.swap_remove(place);
            end.send(PAGE).close();
            sent.push(forms(end.facts()).0);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    sent
}
