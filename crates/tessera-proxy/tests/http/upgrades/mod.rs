//! Connections and streams that switch to another protocol: at the server, at the pool, and through both.

mod early;
mod http1;
mod http2;
mod limits;
mod pool;
mod service;
mod websocket;
