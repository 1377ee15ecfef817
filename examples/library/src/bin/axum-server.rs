//! `axum-server CHAIN KEY ADDRESS`

use std::env::args;
use std::error::Error;

use axum::extract::ConnectInfo;
use axum::{Router, routing::get};
use tessera_example_library::acceptor;
use tessera_tokio::{Limits, Server, StreamInfo, TlsListener};
use tokio::net::TcpListener;
use tokio::signal::ctrl_c;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [_, chain, key, address] = &args().collect::<Vec<_>>()[..] else {
        return Err("CHAIN KEY ADDRESS".into());
    };
    let socket = TcpListener::bind(address).await?;
    println!("listening on {}", socket.local_addr()?);
    let acceptor = acceptor(chain.as_ref(), key.as_ref())?;
    let listener = TlsListener::new(Server::new(socket, acceptor, Limits::default()));
    let router = Router::new().route("/", get(hello));
    let service = router.into_make_service_with_connect_info::<StreamInfo>();
    let serving = axum::serve(listener, service);
    serving.with_graceful_shutdown(async { drop(ctrl_c().await) }).await?;
    Ok(())
}

async fn hello(ConnectInfo(client): ConnectInfo<StreamInfo>) -> String {
    format!("early data: {:?}", client.facts.early_data)
}
