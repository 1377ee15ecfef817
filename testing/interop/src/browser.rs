//! A server for a browser.

use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use tessera::ServerConfig;

use crate::end::Server;

/// Answers requests until the browser ends, with a page that has `from Tessera` in it; returns the connections with a
/// request, and those that failed.
pub fn serve_pages<T>(
    listener: &TcpListener,
    config: &ServerConfig,
    browser: &JoinHandle<T>,
) -> Vec<Server> {
    const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 19\r\n\
        Connection: close\r\n\r\n<p>from Tessera</p>";
    listener.set_nonblocking(true).unwrap();
    let (mut open, mut done) = (Vec::<Server>::new(), Vec::new());
    while !browser.is_finished() {
        open.extend(listener.accept().ok().map(|(stream, _)| Server::start(config, stream)));
        // A connection that the browser opens speculatively has no request.
        for end in &mut open {
            end.step();
        }
        let over = |end: &Server| end.told.error.is_some() || end.told.heard("\r\n\r\n");
        if let Some(place) = open.iter().position(over) {
            let mut end = open.swap_remove(place);
            if end.told.error.is_none() {
                end.send(PAGE).close();
            }
            done.push(end);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    done
}
