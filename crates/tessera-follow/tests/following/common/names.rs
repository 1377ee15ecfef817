//! A connector with its own names.

use std::collections::HashMap;
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

/// Connects to where a host's name leads, whatever the port; counts how often.
#[derive(Clone, Default)]
pub struct Names(Arc<Mutex<HashMap<String, Name>>>);

struct Name {
    address: SocketAddr,
    dialled: usize,
}

impl Names {
    pub fn lead(&self, host: &str, address: SocketAddr) {
        let mut names = self.0.lock().unwrap();
        let name = names.entry(host.into()).or_insert(Name { address, dialled: 0 });
        name.address = address;
    }

    /// Returns how many connections to this host were begun.
    pub fn dialled(&self, host: &str) -> usize {
        self.0.lock().unwrap().get(host).map_or(0, |name| name.dialled)
    }
}

impl Service<Uri> for Names {
    type Response = TokioIo<TcpStream>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<TcpStream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let mut names = self.0.lock().unwrap();
        let address = uri.host().and_then(|host| names.get_mut(host)).map(|name| {
            name.dialled += 1;
            name.address
        });
        Box::pin(async move {
            let address = address.ok_or_else(|| Error::from(ErrorKind::NotFound))?;
            Ok(TokioIo::new(TcpStream::connect(address).await?))
        })
    }
}
